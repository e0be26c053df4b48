"""Protecting a Parquet file against the bare engine's shuffled copy of it.

Each road runs in a process of its own; seconds are from its start to its end, imports included.
Rounds alternate between the roads, and the median round of each counts. Cores busy are processor
seconds over seconds on the clock: of all, and after start-up, which is what the same road takes for
a thousand records.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import _roads
from benchmarks._measure import Result, Run, in_child

ROADS = {
    "duckdb_shuffled": "DuckDB, ORDER BY random()",
    "duckdb_copy": "DuckDB, plain copy",
    "polars_copy": "Polars, plain copy",
    "protect": "pramana protect --k 2, no method named",
    "retention": "pramana protect --k 2 --method retention",
}
FOLDERS = ("protect", "retention")
"""Roads that leave a folder."""

SHORT = 0.1
"""Seconds after start-up that tell nothing."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=list(ROADS))
    parser.add_argument("--folder", type=Path, help="keep the generated data here")


def run(options: argparse.Namespace) -> Result:
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        source, small = (_people(records, folder) for records in (options.records, 1000))
        runs: dict[str, list[Run]] = {road: [] for road in options.roads}
        starts: dict[str, list[Run]] = {road: [] for road in options.roads}
        for _ in range(options.rounds):
            for road in options.roads:
                runs[road].append(_once(road, source, Path(temporary)))
                starts[road].append(_once(road, small, Path(temporary)))
    result = Result(
        f"{options.records:,} records x {len(_roads.SIZES)} keys, Parquet to Parquet, "
        f"median of {options.rounds} rounds",
        (
            "road",
            "seconds",
            "of DuckDB's shuffle",
            "processor seconds",
            "of DuckDB's",
            "cores busy",
            "after start-up",
            "peak GiB",
        ),
    )

    def typical(road: str, clock: str) -> float:
        return median(getattr(run, clock) for run in runs[road])

    base = "duckdb_shuffled"
    for road, own in runs.items():
        times: list[str] = []
        for clock in ("seconds", "processor"):
            of_base = typical(road, clock) / typical(base, clock) if base in runs else math.nan
            times += [f"{typical(road, clock):.2f}", f"{of_base:.2f} x" if base in runs else "-"]
        busy = median(run.processor / run.seconds for run in own)
        peak = max(run.peak for run in own) / 2**30
        numbers = (f"{busy:.2f}", _after(own, starts[road]), f"{peak:.2f}")
        result.rows.append((ROADS[road], *times, *numbers))
    result.notes.append(f"Load of the machine before: {before:.1f}, of {os.cpu_count()} cores.")
    return result


def _after(wholes: list[Run], starts: list[Run]) -> str:
    """Processors that were busy while records were worked on, if that took a while."""
    pairs = list(zip(wholes, starts, strict=True))
    seconds = median(whole.seconds - start.seconds for whole, start in pairs)
    processor = median(whole.processor - start.processor for whole, start in pairs)
    return f"{processor / seconds:.2f}" if seconds > SHORT else "-"


def _people(records: int, folder: Path) -> Path:
    path = folder / f"people-{records}.parquet"
    if not path.exists():
        _roads.generate(records, path)
    return path


def _once(road: str, source: Path, folder: Path) -> Run:
    """One road from start to end; what it wrote is removed first, outside the time."""
    target = folder / ("out" if road in FOLDERS else "out.parquet")
    shutil.rmtree(target, ignore_errors=True)
    target.unlink(missing_ok=True)
    return in_child("benchmarks._roads", road, str(source), str(target))
