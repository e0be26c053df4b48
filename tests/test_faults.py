"""Kills, pairs at once, full disks and mutated inputs, in their short form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tried(*words):
    """What ``python -m benchmarks faults`` says: it forks, so it has a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "faults", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "\n0 wrong.\n" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.deep
def test_nothing_is_lost_or_destroyed_by_kills_pairs_and_full_disks():
    """Killed at any moment and at any call, twice at once, without room: all, or nothing."""
    verbs = ("protect --force", "report --force", "keygen")
    words = ("--kills", "3", "--calls", "3", "--pairs", "1", "--disks", "1", "--inputs", "0",
             "--signals", "6")  # fmt: skip
    told = tried(*words, "--verbs", *verbs)
    assert "kills" in told
    assert "pairs" in told


@pytest.mark.deep
def test_mutated_inputs_are_refused_in_one_line():
    """Tables of every format, schemas, certificates, command lines: nothing is unforeseen."""
    assert "refused" in tried("--only", "inputs", "--inputs", "40")
