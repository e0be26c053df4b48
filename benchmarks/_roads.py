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
    path.with_suffix(".toml").write_text(plan()[0].to_toml())


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


def arrow_shuffled(source: str, target: str) -> None:
    """As little as a program in Python can do: no promise, no certificate, no secure order.

    Nor is pandas loaded, which Arrow would look for when it makes its first array.
    """
    sys.meta_path.insert(0, _WithoutPandas())
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    order = np.random.default_rng().permutation(len(table))
    pq.write_table(table.take(order), target, compression=CODEC, write_statistics=False)


class _WithoutPandas:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def plan():
    """The schema of the generated table, and a retention for every column."""
    from pramana.mechanisms.mechanism import Mechanism, Step
    from pramana.mechanisms.transition import UniformMixture
    from pramana.schema.domains import Categories
    from pramana.schema.schema import Column, Role, Schema

    columns = [
        Column(f"key{at}", Role.KEY, Categories(tuple(f"value {at} {v}" for v in range(size))))
        for at, size in enumerate(SIZES)
    ]
    steps = [Step((c.name,), UniformMixture.of(c.labels, retention=0.3)) for c in columns]
    return Schema(tuple(columns)), Mechanism(tuple(steps))


def pramana(source: str, target: str) -> None:
    from pramana.base.randomness import Keystream
    from pramana.engine.local import LocalTable
    from pramana.mechanisms.randomiser import Randomiser

    schema, mechanism = plan()
    keystream = Keystream.from_system()
    table = LocalTable.of(source, coded=schema.names)
    work = Randomiser(schema, mechanism, table.schema(), keystream)
    (
        table.map_batches(work.encode, schema=work.coded)
        .shuffle(keystream=keystream)
        .map_batches(work.decode, schema=work.released)
        .write(target)
    )


def release(source: str, target: str) -> None:
    """The whole verb: a release folder with its certificate and fingerprint."""
    import pyarrow.parquet as pq

    import pramana as pm

    pm.protect(source, whole_plan(pq.read_metadata(source).num_rows), to=target)


def command(source: str, target: str) -> None:
    """The same as it is typed: ``pramana protect``, from its start to its last line."""
    from contextlib import redirect_stdout
    from io import StringIO

    from pramana.__main__ import main

    described = source.rpartition(".")[0] + ".toml"
    options = ["--schema", described, "--k", "100", "--method", "retention"]
    sys.argv = ["pramana", "protect", source, *options, "-o", target]
    try:
        with redirect_stdout(StringIO()):
            main()
    except SystemExit as left:
        if left.code:
            raise


def whole_plan(records: int):
    """What ``release`` promises: that nobody is found among fewer than 100."""
    import pramana as pm

    return pm.design(plan()[0], pm.PkAnonymity(k=100), records=records, method="retention")


def copy(duckdb, query: str, path: str, form: str = "parquet") -> None:
    how = "FORMAT csv, HEADER" if form == "csv" else f"FORMAT parquet, COMPRESSION {CODEC}"
    duckdb.connect().execute(f"COPY ({query}) TO '{path}' ({how})")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2], sys.argv[3])
