"""The figures of speed and memory that the project sets itself, beside their targets.

Each command runs in a process of its own, from its start to its end. Where a target is a ratio, the
commands of the ratio alternate, and the median round counts. ``--large`` adds the two tables that
take minutes to generate.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

from benchmarks import _roads, shapes
from benchmarks._measure import Result, Run, in_child

RECORDS, SMALL, FEW = 10_000_000, 1_000, 5_000
CENTRAL = (2, 5, 10, 18, 12, 3, 50, 7, 4, 9)
"""Values of the ten keys that are protected with a central epsilon."""

WIDE = (*_roads.TABLES,)
"""Values of the twenty keys of a million records."""

LARGE = {
    "50 million x 8": shapes.Shape("", 50_000_000, 8),
    "500,000 x 800": shapes.Shape("", 500_000, 800),
}
HEAD = ("command", "records x columns", "measure", "target", "measured", "processor seconds")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--large", action="store_true")


def run(options: argparse.Namespace) -> Result:
    before = os.getloadavg()[0]
    result = Result(f"Targets of speed and memory, median of {options.rounds} rounds", HEAD)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _eight_keys(result, folder, options)
        _twenty_keys(result, folder, options)
        _small(result, folder, options)
        if options.large:
            for title, shape in LARGE.items():
                _large(result, folder, title, shape)
    result.notes.append(f"Load of the machine before: {before:.1f}, of {os.cpu_count()} cores.")
    return result


def _rounds(rounds: int, *commands: tuple[str, Path, Path]) -> dict[str, list[Run]]:
    """Alternating rounds of commands: the road, what it reads, and what it writes."""
    runs: dict[str, list[Run]] = {road: [] for road, _, _ in commands}
    for _ in range(rounds):
        for road, source, target in commands:
            shutil.rmtree(target, ignore_errors=True)
            target.unlink(missing_ok=True)
            runs[road].append(in_child("benchmarks._roads", road, str(source), str(target)))
    return runs


def _seconds(runs: list[Run]) -> float:
    return median(one.seconds for one in runs)


def _processor(runs: list[Run]) -> float:
    return median(one.processor for one in runs)


def _eight_keys(result: Result, folder: Path, options: argparse.Namespace) -> None:
    source, size = folder / "people.parquet", f"{options.records:,} x 8"
    _roads.generate(options.records, source)
    outputs = {
        "duckdb_shuffled": folder / "shuffled.parquet",
        "polars_copy": folder / "copy.parquet",
        "protect": folder / "sampled",
        "retention": folder / "kept",
    }
    runs = _rounds(options.rounds, *((road, source, place) for road, place in outputs.items()))
    for road, base, target in (
        ("protect", "duckdb_shuffled", 0.6),
        ("protect", "retention", 1.3),
        ("retention", "duckdb_shuffled", 0.55),
        ("retention", "polars_copy", 1.5),
    ):
        clocks = [of(runs[road]) / of(runs[base]) for of in (_seconds, _processor)]
        shown = f"{clocks[0]:.2f} x"
        row = (f"seconds / {base}", f"<= {target:g} x", shown, f"{clocks[1]:.2f} x")
        result.rows.append((road, size, *row))
    _peak(result, "protect", size, runs["protect"], 0.6)
    for road in ("protect", "retention"):
        certificate = (outputs[road] / "certificate.json").stat().st_size
        row = ("certificate", "<= 200 kB", f"{certificate / 1000:.0f} kB", "-")
        result.rows.append((road, size, *row))
        verified = _rounds(options.rounds, ("verify", outputs[road], folder / "nothing"))
        _time(result, f"verify of {road}", size, verified["verify"], 0.7)
    audited = _rounds(1, ("audit", source, folder / "nothing"))["audit"]
    _peak(result, "audit", size, audited, 0.8)


def _twenty_keys(result: Result, folder: Path, options: argparse.Namespace) -> None:
    source, records = folder / "wide.parquet", options.records // 10
    _roads.generate(records, source, WIDE)
    runs = _rounds(
        options.rounds,
        ("duckdb_shuffled", source, folder / "wide-copy.parquet"),
        ("protect", source, folder / "wide"),
    )
    clocks = [of(runs["protect"]) / of(runs["duckdb_shuffled"]) for of in (_seconds, _processor)]
    row = ("seconds / duckdb_shuffled", "<= 1 x", f"{clocks[0]:.2f} x", f"{clocks[1]:.2f} x")
    result.rows.append(("protect", f"{records:,} x {len(WIDE)}", *row))


def _small(result: Result, folder: Path, options: argparse.Namespace) -> None:
    source, few = folder / "small.parquet", folder / "few.parquet"
    _roads.generate(SMALL, source)
    _roads.generate(FEW, few, CENTRAL)
    runs = _rounds(
        options.rounds,
        ("show_help", source, folder / "nothing"),
        ("protect", source, folder / "small"),
        ("verify", folder / "small", folder / "nothing"),
        ("central", few, folder / "central"),
        ("demo", source, folder / "demo"),
    )
    size = f"{SMALL:,} x 8"
    for road, records, seconds in (
        ("show_help", "-", 0.4),
        ("protect", size, 1.0),
        ("verify", size, 0.8),
        ("central", f"{FEW:,} x {len(CENTRAL)}", 2.0),
        ("demo", "100,000 people", 30.0),
    ):
        _time(result, road, records, runs[road], seconds)
    _peak(result, "central", f"{FEW:,} x {len(CENTRAL)}", runs["central"], 0.4)


def _large(result: Result, folder: Path, title: str, shape: shapes.Shape) -> None:
    source = folder / "large.parquet"
    shapes.generate(shape, 1.0, source)
    _peak(result, "protect", title, _rounds(1, ("protect", source, folder / "large"))["protect"], 2)
    source.unlink()


def _time(result: Result, command: str, size: str, runs: list[Run], target: float) -> None:
    row = ("seconds", f"<= {target:g}", f"{_seconds(runs):.2f}", f"{_processor(runs):.2f}")
    result.rows.append((command, size, *row))


def _peak(result: Result, command: str, size: str, runs: list[Run], target: float) -> None:
    peak = max(one.peak for one in runs) / 2**30
    row = ("peak GiB", f"<= {target:g}", f"{peak:.2f}", f"{_processor(runs):.2f}")
    result.rows.append((command, size, *row))
