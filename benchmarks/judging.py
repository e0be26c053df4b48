"""Verbs that judge a release of a million records: audit, every attack, report; and compare.

Commands from start to end, each in a process of its own, on a release of people who do not exist.
``compare`` tries ten scenarios on fewer records. Processor seconds are what carries over from a
machine that is busy with other things.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._measure import Result, in_child

TRUTH, SCHEMA, RELEASE = "demo-data/people.parquet", "demo-data/schema.toml", "demo-release"
SCENARIOS = ("--k", "5,20,100", "--epsilon", "2,4", "--method", "retention,attribute-sampling")
"""Two methods at five targets each."""

COMMANDS = {
    "audit": ("audit", RELEASE, "--original", TRUTH),
    **{
        name: ("attack", name, RELEASE, "--knowledge", TRUTH)
        for name in ("linkage", "repeated", "recovery")
    },
    "composition": ("attack", "composition", RELEASE, RELEASE),
    "report": ("report", RELEASE, "--original", TRUTH, "-o", "report.html"),
    "compare": ("compare", TRUTH, "--schema", SCHEMA, *SCENARIOS),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--compared", type=int, default=10_000, help="records for compare")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))


def run(options: argparse.Namespace) -> Result:
    result = Result("Judging a release", ("command", "records", "seconds", "processor", "peak"))
    with tempfile.TemporaryDirectory() as folder:
        for name in options.commands:
            records = options.compared if name == "compare" else options.records
            place = Path(folder) / str(records)
            if not place.exists():
                _people(place, records)
            took = in_child("benchmarks.judging", str(place), *COMMANDS[name])
            numbers = (f"{took.seconds:.1f}", f"{took.processor:.1f}")
            peak = f"{took.peak / 2**20:,.0f} MiB"
            result.rows.append((name, f"{records:,}", *numbers, peak))
    result.notes.append(f"The load was {os.getloadavg()[0]:.0f} at the end.")
    return result


def _people(place: Path, records: int) -> None:
    place.mkdir()
    command = [sys.executable, "-m", "pramana", "demo", "--records", str(records)]
    subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    from pramana.__main__ import main

    _, where, *sys.argv[1:] = sys.argv
    os.chdir(where)
    sys.argv[0] = "pramana"
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - to the end of the process
    try:
        main()
    except SystemExit as left:
        if left.code not in (None, 0):
            raise
