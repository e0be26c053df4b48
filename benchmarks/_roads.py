"""What measured processes do to a table: python -m benchmarks._roads ROAD IN OUT.

A road loads what it needs itself: what stands up here would be part of every road's start-up.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # the module of that name takes a while to load
if TYPE_CHECKING:
    from pathlib import Path

SIZES = (2, 5, 10, 18, 12, 3, 50, 7)
"""Values of each key column."""

CODEC = "snappy"


TABLES = (2, 5, 10, 18, 12, 3, 20, 7, 4, 9, 2, 6, 15, 8, 3, 11, 5, 2, 16, 4)
"""The same where all tables of one and two columns are counted."""


def generate(records: int, path: Path, sizes: tuple[int, ...] = SIZES) -> None:
    """Key columns of text with uniformly scattered values, as DuckDB writes them; and a schema."""
    import duckdb

    columns = ", ".join(
        f"'value {at} ' || (hash(i * {len(sizes)} + {at}) % {size})::VARCHAR AS key{at}"
        for at, size in enumerate(sizes)
    )
    copy(duckdb, f"SELECT {columns} FROM range({records}) t(i)", str(path))
    path.with_suffix(".toml").write_text(schema(sizes).to_toml())


def duckdb_shuffled(source: str, target: str) -> None:
    import duckdb

    form = source.rpartition(".")[2]
    copy(duckdb, f"SELECT * FROM '{source}' ORDER BY random()", target, form)


def duckdb_copy(source: str, target: str) -> None:
    import duckdb

    copy(duckdb, f"SELECT * FROM '{source}'", target)


def polars_copy(source: str, target: str) -> None:
    import polars

    polars.read_parquet(source).write_parquet(target, compression=CODEC)


def duckdb_tables(source: str, target: str) -> None:
    """All tables of one and two columns, as DuckDB counts them."""
    import itertools

    import duckdb

    del target
    connection, names = duckdb.connect(), [f"key{at}" for at in range(len(TABLES))]
    tables = [*((name,) for name in names), *itertools.combinations(names, 2)]
    for table in tables:
        group = ", ".join(table)
        query = f"SELECT {group}, count(*) FROM '{source}' GROUP BY {group}"
        connection.sql(query).to_arrow_table()


def rounds(source: str, target: str) -> None:
    """``pramana protect`` by shuffled marginals: the same tables, counted and released."""
    _pramana("protect", source, *_CENTRAL, "--schema", _schema_of(source), "-o", target)


def design_rounds(source: str, target: str) -> None:
    """The design from the schema and a number of records alone."""
    records = source.rpartition("-")[2].partition(".")[0]
    _pramana("design", "--records", records, *_CENTRAL, "--schema", _schema_of(source),
             "--save-plan", target)  # fmt: skip


_CENTRAL = ("--central-epsilon", "1", "--method", "shuffled-marginals")


def schema(sizes: tuple[int, ...] = SIZES):
    """The schema of the generated table."""
    from pramana.schema.domains import Categories
    from pramana.schema.roles import Role
    from pramana.schema.schema import Column, Schema

    columns = [
        Column(f"key{at}", Role.KEY, Categories(tuple(f"value {at} {v}" for v in range(size))))
        for at, size in enumerate(sizes)
    ]
    return Schema(tuple(columns))


def protect(source: str, target: str) -> None:
    """``pramana protect`` as it is typed, without a method, from its start to its last line."""
    _pramana("protect", source, "--schema", _schema_of(source), "--k", "2", "-o", target)


def retention(source: str, target: str) -> None:
    """The same with ``--method retention``."""
    _pramana("protect", source, "--schema", _schema_of(source), "--k", "2",
             "--method", "retention", "-o", target)  # fmt: skip


def central(source: str, target: str) -> None:
    """``pramana protect`` with a central epsilon of 10 and no method named."""
    _pramana("protect", source, "--schema", _schema_of(source), "--central-epsilon", "10",
             "-o", target)  # fmt: skip


def verify(source: str, target: str) -> None:
    """``pramana verify`` of a release folder."""
    del target
    _pramana("verify", source)


def audit(source: str, target: str) -> None:
    """``pramana audit`` by all keys of the generated table."""
    del target
    _pramana("audit", source, "--keys", ",".join(f"key{at}" for at in range(len(SIZES))))


def show_help(source: str, target: str) -> None:
    """``pramana --help``."""
    del source, target
    _pramana("--help")


def demo(source: str, target: str) -> None:
    """``pramana demo``, which leaves its folders in the target."""
    import os

    del source
    os.makedirs(target)  # noqa: PTH103 - a library for paths is loaded late
    os.chdir(target)
    _pramana("demo")


def _schema_of(source: str) -> str:
    return source.rpartition(".")[0] + ".toml"


def _pramana(*words: str) -> None:
    from contextlib import redirect_stdout
    from io import StringIO

    from pramana.__main__ import main

    sys.argv = ["pramana", *words]
    try:
        with redirect_stdout(StringIO()):
            main()
    except SystemExit as left:
        if left.code:
            raise


def copy(duckdb, query: str, path: str, form: str = "parquet") -> None:
    how = "FORMAT csv, HEADER" if form == "csv" else f"FORMAT parquet, COMPRESSION {CODEC}"
    duckdb.connect().execute(f"COPY ({query}) TO '{path}' ({how})")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], sys.argv[3])
