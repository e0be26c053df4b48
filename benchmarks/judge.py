"""Designs of every method before an exact judge that shares no code with them.

Each design is a random schema with all roles, strata, impossible combinations, policies for missing
values, weights and kept keys, and a small table. Every claim is recomputed by brute force from
the definitions in docs/proofs. The command ends at the first claim that is stronger than the truth.
"""

from __future__ import annotations

import argparse
import time
import warnings

from tests.judge.trials import try_designs
from tests.judge.worlds import KINDS

from benchmarks._measure import Result


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--designs", type=int, default=1000, help="of all methods together")
    parser.add_argument("--seed", type=int, default=1, help="other worlds")
    parser.add_argument("--methods", nargs="+", default=list(KINDS), choices=list(KINDS))


def run(options: argparse.Namespace) -> Result:
    result = Result(
        "Claims before an exact judge: none is stronger than the truth",
        ("method", "designs", "refused", "claims", "seconds"),
    )
    warnings.simplefilter("ignore", UserWarning)
    each = -(-options.designs // len(options.methods))
    for kind in options.methods:
        begin = time.perf_counter()
        done = try_designs(kind, each, seed=options.seed)
        took = time.perf_counter() - begin
        numbers = (done.judged, done.refused, done.claims)
        result.rows.append((kind, *(f"{number:,}" for number in numbers), f"{took:.0f}"))
    return result
