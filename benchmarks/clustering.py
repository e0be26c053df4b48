"""Clustering with at least k members: sum of squares beside greedy and MDAV, and speed.

With ``--data`` the folder of the MEPS, ACS and CASC files, else on generated tables. Columns are
standardised. Missing numbers stand where ``pramana.cluster`` puts them, for all methods alike.
``--records`` measures the default on normal numbers in five columns, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks._child import peak_memory
from benchmarks._measure import Result
from benchmarks._tables import numeric_tables
from pramana.base.randomness import Keystream
from pramana.microaggregation.clustering import form_groups
from pramana.microaggregation.groups import Key

METHODS = ("mdav", "greedy", "default")


def arguments(parser: argparse.ArgumentParser) -> None:
    folder = os.environ.get("PRAMANA_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10])
    parser.add_argument("--rows", type=int, help="of every table, all where not given")
    parser.add_argument("--records", type=int, nargs="*", default=[])
    parser.add_argument("--child", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> Result:
    if options.child:
        return _child(*json.loads(options.child))
    result = Result(
        "Within-group sum of squares and seconds, warm",
        ("table", "k", "records", "mdav", "greedy", "default", "of mdav", "of greedy", "seconds"),
    )
    shares = []
    _warm()
    for name, points in numeric_tables(options.data).items():
        points = points[: options.rows]
        keys = [Key(str(c), points[:, c]) for c in range(points.shape[1])]
        for k in options.k:
            found = {method: _timed(keys, k, method) for method in METHODS}
            ours, seconds = found["default"]
            ratios = [ours / found[method][0] for method in ("mdav", "greedy")]
            shares.append(ratios)
            result.rows.append(
                (
                    name,
                    str(k),
                    f"{len(points):,}",
                    *(f"{found[m][0]:.1f} ({found[m][1]:.2f} s)" for m in ("mdav", "greedy")),
                    f"{ours:.1f}",
                    *(f"{ratio:.3f}" for ratio in ratios),
                    f"{seconds:.2f}",
                )
            )
    of_mdav, of_greedy = np.array(shares).T
    result.notes.append(
        f"Default over mdav: largest {of_mdav.max():.3f}, average {of_mdav.mean():.3f}. "
        f"Over greedy: largest {of_greedy.max():.3f}, average {of_greedy.mean():.3f}."
    )
    for n in options.records:
        for k in (5, 50):
            result.notes.append(_in_child(n, k))
    return result


def _warm(methods: tuple[str, ...] = METHODS) -> None:
    points = np.random.default_rng(0).normal(size=(200, 2))
    for method in methods:
        _timed([Key("x", points[:, 0]), Key("y", points[:, 1])], 3, method)


def _timed(keys, k, method):
    begin = time.perf_counter()
    groups = form_groups(keys, k=k, method=method, keystream=Keystream.from_seed(1))
    return groups.within, time.perf_counter() - begin


def _in_child(n: int, k: int) -> str:
    """The default on n records in a process of its own: seconds and peak memory."""
    command = [sys.executable, "-m", "benchmarks", "clustering", "--child", json.dumps([n, k])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _child(n: int, k: int) -> Result:
    _warm(("default",))  # the loops of the others would be compiled for nothing
    points = np.random.default_rng(1).normal(size=(n, 5))
    keys = [Key(str(c), points[:, c]) for c in range(5)]
    processor = time.process_time()
    seconds = _timed(keys, k, "default")[1]
    processor = time.process_time() - processor
    peak = peak_memory() / 2**30
    line = f"{n:,} x 5, k = {k}: {seconds:.1f} s ({processor:.1f} s of processor), {peak:.2f} GiB"
    return _Line(line)


class _Line:
    """One line, where a table would be printed."""

    wrong = 0

    def __init__(self, line: str) -> None:
        self.line = line

    def text(self) -> str:
        return self.line
