"""How protecting scales with processors: seconds on 1, 2, 4, ... of them, and the law that fits.

Each run may use so many processors and no more. Amdahl's law says a + b / c seconds on c of them;
a and b are fitted to the medians, and a / (a + b) is the part that one processor must do alone.
Roads are ``release`` (the verb in Python) and ``command`` (as it is typed); of each, the seconds of
a table of a thousand records are start-up, which grows with nothing.

The law takes processors that share caches and memory, and so slow each other down, for work that
one does alone, and neighbours on the machine for either. Counted is what does not hang on them: two
hundred times a second it is looked which threads run or could run, on all processors. The seconds
in which there was one, over those of all that ran or could, are the part that one does alone; both
less those of half the records, which has the same start-up, done alone or meanwhile.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import _roads
from benchmarks._measure import Result, Run, in_child

ROADS = ("release", "command")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=list(ROADS))
    parser.add_argument("--folder", type=Path, help="keep the generated data here")


def run(options: argparse.Namespace) -> Result:
    cores = sorted(os.sched_getaffinity(0))
    numbers = [2**power for power in range(8) if 2**power <= len(cores)]
    result = Result(
        f"{options.records:,} records x {len(_roads.SIZES)} keys by processors, "
        f"median of {options.rounds}",
        (
            "road",
            *(f"on {number}" for number in numbers),
            "start-up",
            "alone",
            "without start-up",
            "counted",
        ),
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        sizes = (options.records, options.records // 2, 1000)
        large, half, small = (_table(records, folder) for records in sizes)
        for road in options.roads:
            runs: dict[int, list[Run]] = {number: [] for number in numbers}
            halves: list[Run] = []
            starts: list[Run] = []
            for _ in range(options.rounds):
                for number in numbers:
                    runs[number].append(_once(road, large, temporary, cores[:number]))
                halves.append(_once(road, half, temporary, cores))
                starts.append(_once(road, small, temporary, cores))
            typical = [median(run.seconds for run in runs[number]) for number in numbers]
            started = median(run.seconds for run in starts)
            result.rows.append(
                (
                    road,
                    *(f"{own:.2f} s" for own in typical),
                    f"{started:.2f} s",
                    *(_alone(numbers, typical, less) for less in (0.0, started)),
                    _counted(runs[numbers[-1]], halves) if len(numbers) > 1 else "-",
                )
            )
    result.notes.append(f"Load of the machine after: {os.getloadavg()[0]:.1f} of {len(cores)}.")
    return result


def _alone(numbers: list[int], seconds: list[float], less: float) -> str:
    """The share of one processor's time that does not shrink with more of them."""
    if len(numbers) < 2:
        return "-"
    terms = np.column_stack([np.ones(len(numbers)), 1 / np.array(numbers)])
    (alone, shared), *_ = np.linalg.lstsq(terms, np.array(seconds) - less, rcond=None)
    return f"{max(0.0, alone / (alone + shared)):.0%}"


def _counted(wholes: list[Run], halves: list[Run]) -> str:
    """What one did alone for the other half of the records, as a share of what all did."""
    shares = []
    for whole, half in zip(wholes, halves, strict=True):
        pairs = zip(whole.shared_out(), half.shared_out(), strict=True)
        alone, all_of_them = (own - less for own, less in pairs)
        shares.append(alone / all_of_them)
    return f"{median(shares):.0%}"


def _table(records: int, folder: Path) -> Path:
    path = folder / f"people-{records}.parquet"
    if not path.exists():
        _roads.generate(records, path)
    return path


def _once(road: str, source: Path, folder: str, cores: list[int]) -> Run:
    """One run on these processors, which a child takes over from here."""
    target = Path(folder) / "out"
    shutil.rmtree(target, ignore_errors=True)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        return in_child("benchmarks._roads", road, str(source), str(target), count_workers=True)
    finally:
        os.sched_setaffinity(0, before)
