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


def generate(records: int, path: Path) -> None:
    """Key columns of text with uniformly scattered values, as DuckDB writes them; and a schema."""
    import duckdb

    columns = ", ".join(
        f"'value {at} ' || (hash(i * {len(SIZES)} + {at}) % {size})::VARCHAR AS key{at}"
        for at, size in enumerate(SIZES)
    )
    copy(duckdb, f"SELECT {columns} FROM range({records}) t(i)", str(path))
    path.with_suffix(".toml").write_text(schema().to_toml())


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


def schema():
    """The schema of the generated table."""
    from pramana.schema.domains import Categories
    from pramana.schema.roles import Role
    from pramana.schema.schema import Column, Schema

    columns = [
        Column(f"key{at}", Role.KEY, Categories(tuple(f"value {at} {v}" for v in range(size))))
        for at, size in enumerate(SIZES)
    ]
    return Schema(tuple(columns))


def protect(source: str, target: str) -> None:
    """``pramana protect`` as it is typed, without a method, from its start to its last line."""
    _protect(source, target)


def retention(source: str, target: str) -> None:
    """The same with ``--method retention``."""
    _protect(source, target, "--method", "retention")


def _protect(source: str, target: str, *options: str) -> None:
    from contextlib import redirect_stdout
    from io import StringIO

    from pramana.__main__ import main

    described = source.rpartition(".")[0] + ".toml"
    sys.argv = ["pramana", "protect", source, "--schema", described, "--k", "2", *options]
    sys.argv += ["-o", target]
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
