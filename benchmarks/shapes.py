"""Small, wide, long tables, texts and CSV: ``pramana protect`` beside DuckDB's shuffled copy.

Both roads read and write the same format, each in a process of its own, from its start to its end;
rounds alternate, and the median counts. Sizes are those that a shape is known by; ``--share`` takes
a part of the records, for a machine in a hurry.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import _roads
from benchmarks._measure import Result, Run, in_child

SIZES = (2, 5, 10, 18, 12, 3, 50, 7)
"""Values of key columns, over and over."""


@dataclass(frozen=True)
class Shape:
    """A table to generate: so many records of so many keys, and texts beside them or none."""

    title: str
    records: int
    keys: int
    texts: int = 0
    form: str = "parquet"

    @property
    def columns(self) -> dict[str, str]:
        """Each column as DuckDB makes it of the number ``i`` of a record."""
        keys = {
            f"key{at}": f"'value {at} ' || (hash(i * {self.keys} + {at}) % {_size(at)})::VARCHAR"
            for at in range(self.keys)
        }
        return keys | {f"text{at}": f"'number {at} ' || hash(i)" for at in range(self.texts)}


SHAPES = {
    "small": Shape("1 million x 8 keys", 10**6, 8),
    "texts": Shape("1 million, 2 keys and a text of their own each", 10**6, 2, texts=1),
    "wide": Shape("500,000 x 200 keys", 500_000, 200),
    "csv": Shape("20 million x 12 keys as CSV", 20 * 10**6, 12, form="csv"),
    "long": Shape("50 million x 8 keys", 50 * 10**6, 8),
}
ROADS = {
    "duckdb_shuffled": "DuckDB, ORDER BY random()",
    "protect": "pramana protect",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the records of each shape")


def run(options: argparse.Namespace) -> Result:
    before = os.getloadavg()[0]
    result = Result(
        f"Tables of other shapes, {options.share:g} of their records, median of {options.rounds}",
        (
            "shape",
            "size",
            "road",
            "seconds",
            "of DuckDB's shuffle",
            "processor seconds",
            "peak GiB",
        ),
    )
    for name in options.shapes:
        with tempfile.TemporaryDirectory() as temporary:
            source = Path(temporary) / f"in.{SHAPES[name].form}"
            generate(SHAPES[name], options.share, source)
            runs: dict[str, list[Run]] = {road: [] for road in ROADS}
            for _ in range(options.rounds):
                for road, own in runs.items():
                    target = Path(temporary) / "out"
                    own.append(in_child("benchmarks._roads", road, str(source), str(target)))
                    shutil.rmtree(target, ignore_errors=True)
                    target.unlink(missing_ok=True)
            _tell(result, name, source.stat().st_size, runs)
    result.notes.append(f"Load of the machine before: {before:.1f}, of {os.cpu_count()} cores.")
    return result


def _tell(result: Result, name: str, size: int, runs: dict[str, list[Run]]) -> None:
    typical = {road: median(one.seconds for one in own) for road, own in runs.items()}
    for road, own in runs.items():
        result.rows.append(
            (
                SHAPES[name].title,
                f"{size / 1e6:,.0f} MB",
                ROADS[road],
                f"{typical[road]:.2f}",
                f"{typical[road] / typical['duckdb_shuffled']:.2f} x",
                f"{median(one.processor for one in own):.2f}",
                f"{max(one.peak for one in own) / 2**30:.2f}",
            )
        )


def _size(at: int) -> int:
    return SIZES[at % len(SIZES)]


def generate(shape: Shape, share: float, path: Path) -> None:
    """Write a part of the records of a shape, and their schema."""
    import duckdb

    from pramana.schema.domains import Categories
    from pramana.schema.roles import Role
    from pramana.schema.schema import Column, Schema

    made = ", ".join(f"{what} AS {name}" for name, what in shape.columns.items())
    records = max(1000, round(share * shape.records))
    _roads.copy(duckdb, f"SELECT {made} FROM range({records}) t(i)", str(path), shape.form)
    labels = [tuple(f"value {at} {v}" for v in range(_size(at))) for at in range(shape.keys)]
    keys = [Column(f"key{at}", Role.KEY, Categories(own)) for at, own in enumerate(labels)]
    texts = [Column(f"text{at}", Role.SENSITIVE) for at in range(shape.texts)]
    path.with_suffix(".toml").write_text(Schema((*keys, *texts)).to_toml())
