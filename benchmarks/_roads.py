"""What the child processes of ``protect`` do: python -m benchmarks._roads ROAD IN OUT."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

SIZES = (2, 5, 10, 18, 12, 3, 50, 7)
"""Values of each key column."""

CODEC = "snappy"


def generate(records: int, path: Path) -> None:
    """Key columns of text with uniformly scattered values, as DuckDB writes them."""
    import duckdb

    columns = ", ".join(
        f"'value {at} ' || (hash(i * {len(SIZES)} + {at}) % {size})::VARCHAR AS key{at}"
        for at, size in enumerate(SIZES)
    )
    _copy(duckdb, f"SELECT {columns} FROM range({records}) t(i)", path)


def duckdb_shuffled(source: Path, target: Path) -> None:
    import duckdb

    _copy(duckdb, f"SELECT * FROM '{source}' ORDER BY random()", target)


def duckdb_copy(source: Path, target: Path) -> None:
    import duckdb

    _copy(duckdb, f"SELECT * FROM '{source}'", target)


def polars_copy(source: Path, target: Path) -> None:
    import polars

    polars.read_parquet(source).write_parquet(target, compression=CODEC)


def plan():
    """The schema of the generated table, and a retention for every column."""
    from pramana.matrices.families import UniformMixture
    from pramana.matrices.mechanism import Mechanism, Step
    from pramana.table.domains import Categories
    from pramana.table.schema import Column, Role, Schema

    columns = [
        Column(f"key{at}", Role.KEY, Categories(tuple(f"value {at} {v}" for v in range(size))))
        for at, size in enumerate(SIZES)
    ]
    steps = [Step((c.name,), UniformMixture.of(c.labels, retention=0.3)) for c in columns]
    return Schema(tuple(columns)), Mechanism(tuple(steps))


def pramana(source: Path, target: Path) -> None:
    from pramana.engines.local.table import LocalTable
    from pramana.randomise.protect import Randomiser
    from pramana.randomness import Keystream

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


def release(source: Path, target: Path) -> None:
    """The whole verb: a release folder with its certificate and fingerprint."""
    import pyarrow.parquet as pq

    import pramana as pm

    pm.protect(source, whole_plan(pq.read_metadata(source).num_rows), to=target)


def command(source: Path, target: Path) -> None:
    """The same as it is typed: ``pramana protect``, from its start to its last line."""
    from pramana.__main__ import main

    described = source.with_suffix(".toml")
    if not described.exists():
        described.write_text(plan()[0].to_toml())
    options = ["--schema", str(described), "--k", "100", "--method", "retention"]
    options += ["-o", str(target)]
    sys.argv = ["pramana", "protect", str(source), *options]
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


def _copy(duckdb, query: str, path: Path) -> None:
    connection = duckdb.connect()
    connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION {CODEC})")


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
