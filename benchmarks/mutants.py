"""Mutants: small changes that would weaken a guarantee, and the tests that must fail for each.

``mutants.toml`` lists them: a file of ``src/pramana``, a text that it holds once, another text, and
files of tests. The tests run on a copy of the source tree, so that nothing in the working tree
changes. A mutant whose tests still pass has survived: then a test is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from benchmarks._measure import Result

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pramana"
LONGEST = 900.0
"""Seconds after which tests that do not end count as failed."""


class Mutant(NamedTuple):
    """One change, and the tests that must fail for it."""

    file: str
    old: str
    new: str
    tests: str

    def applied(self, text: str) -> str:
        """The text of the file with the change."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} must hold this text once: {self.old}")
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """All that are listed."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return [Mutant(**entry) for entry in listed["mutant"]]


def arguments(parser):
    """Which mutants to try."""
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose names hold this")
    parser.add_argument("--first", type=int, default=1, help="the number of the first one to try")


def run(options):
    """Run the tests of each mutant; survivors are wrong."""
    rows, survivors = [], 0
    chosen = [mutant for mutant in mutants() if options.only in mutant.file]
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "pramana"
        shutil.copytree(SOURCE, copy)
        for number, mutant in enumerate(chosen[options.first - 1 :], start=options.first):
            end = tried(mutant, copy)
            survivors += end == "survived"
            rows.append((str(number), mutant.file, mutant.new.strip().split("\n")[-1][:60], end))
            print(*rows[-1], sep="  ", flush=True)
    notes = [f"{len(rows)} mutants, {len(rows) - survivors} killed, {survivors} survived."]
    return Result("Mutants", ("number", "file", "instead", "end"), rows, notes, wrong=survivors)


def tried(mutant: Mutant, copy: Path) -> str:
    """``killed`` where a test fails with the change in a copy of the source tree."""
    file = copy / mutant.file
    sound = file.read_text()
    file.write_text(mutant.applied(sound))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *mutant.tests.split()],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(copy.parent)},
            capture_output=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        file.write_text(sound)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
    return "killed" if done.returncode else "survived"
