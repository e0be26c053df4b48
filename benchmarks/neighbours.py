"""Neighbouring tables, published with the same randomness: they differ in drawn values alone.

Each pair is a random schema and two tables that differ in one person's value, in any container, by
any method, in Python or by the command line. Finds are printed, and the command fails.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.security.neighbours import CHANGES, try_pairs

from benchmarks._measure import Result


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=1000, help="of all changes together")
    parser.add_argument("--seed", type=int, default=1, help="other worlds")
    parser.add_argument("--changes", nargs="+", default=list(CHANGES), choices=CHANGES)
    parser.add_argument("--show", type=int, default=1, help="finds of each change in words")


def run(options: argparse.Namespace) -> Result:
    result = Result(
        "Neighbouring tables: what is published differs in drawn values alone",
        ("change", "pairs", "refused both", "finds", "seconds"),
    )
    number = -(-options.pairs // len(options.changes))
    for change in options.changes:
        begin = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            done = try_pairs(change, number, Path(folder) / "pair", seed=options.seed)
        took = f"{time.process_time() - begin:.0f}"
        numbers = (done.compared, done.refused, len(done.finds))
        result.rows.append((change, *(f"{own:,}" for own in numbers), took))
        result.notes += done.finds[: options.show]
        result.wrong += len(done.finds)
    return result
