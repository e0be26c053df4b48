"""Answers a second that a collector takes through HTTP, with its processor time and its memory.

Simulated people draw and send through sixteen connections to a collector in a process of its own,
which answers each after it is on the disk. Seconds of the processor tell what one core could take
if nobody else needed it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks._measure import Result
from pramana.collect import simulated_survey
from pramana.collect.survey_folder import new_survey, opened_store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5, help="memory is looked at after each")


def run(options: argparse.Namespace) -> Result:
    result = Result(
        f"{options.people:,} people through HTTP on loopback, SQLite, on disk before each reply",
        ("answers so far", "a second", "a second of the collector's processor", "memory MiB"),
    )
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "survey.toml"
        source.write_text(simulated_survey.SURVEY.format(expected=options.people))
        definition, _ = new_survey(source, Path(temporary) / "survey")
        people = simulated_survey.people(options.people, seed=1)
        size = -(-len(people) // options.rounds)
        with simulated_survey.serving(Path(temporary) / "survey") as (port, process):
            for begin in range(0, len(people), size):
                part = people[begin : begin + size]
                started, spent = time.monotonic(), _processor(process)
                statuses = simulated_survey.answer_all(definition, part, port=port)
                seconds, busy = time.monotonic() - started, _processor(process) - spent
                if statuses.count(200) != len(part):
                    raise SystemExit(f"{len(part) - statuses.count(200)} answers were not taken.")
                result.rows.append(
                    (f"{begin + len(part):,}", f"{len(part) / seconds:,.0f}",
                     f"{len(part) / busy:,.0f}", f"{_memory(process) / 2**20:.0f}")
                )  # fmt: skip
        with opened_store(Path(temporary) / "survey", definition) as store:
            lost = len(people) - store.count()
    result.notes.append(f"{lost} answers lost.")
    return result


def _processor(process: int) -> float:
    """Seconds of the processor that a process has used, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _memory(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024
