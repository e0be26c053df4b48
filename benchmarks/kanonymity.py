"""k-anonymous releases: re-identification, and how near the keys stay to their distribution.

Figures 3 to 6E of [Wei] again: sex, age in 8 groups, education and poverty category, grouped with
expenditure as the response. With ``--data`` the folder of the MEPS file, else on generated people.
Intervals of re-identification are at the level 0.9999 for every class of equal keys.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from benchmarks._classes import reidentification
from benchmarks._measure import Result
from benchmarks._tables import generated_people, meps
from pramana.base.randomness import Keystream
from pramana.methods.base import METHODS
from pramana.microaggregation.anonymisation import new_keys
from pramana.microaggregation.clustering import form_groups
from pramana.microaggregation.groups import Key

NAMES = ("sex", "age group", "education", "poverty")


def arguments(parser: argparse.ArgumentParser) -> None:
    folder = os.environ.get("PRAMANA_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 20, 50, 100, 200, 500, 1000])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--rows", type=int, help="of the table, all where not given")
    parser.add_argument(
        "--methods", nargs="+", default=["centroid", "resample", "permute", "gaussian"]
    )


def run(options: argparse.Namespace) -> Result:
    rng = np.random.default_rng(1)
    people = meps(options.data) if options.data else generated_people(rng)
    keys = [Key(name, people[name][: options.rows]) for name in NAMES]
    response = [Key("expenditure", people["expenditure"][: options.rows])]
    truth = _scaled(keys, keys)
    result = Result(
        f"{len(truth):,} people, {len(np.unique(truth, axis=0))} classes of equal keys",
        ("method", "k", "1/k", "found on average", "most found", "above 1/k", "overlap", "seconds"),
    )
    for k in options.k:
        if k > len(truth):
            continue
        stream = Keystream.from_seed(1)
        groups = form_groups(keys, k=k, keystream=stream, responses=response)
        for method in options.methods:
            result.rows.append(_row(keys, groups.labels, truth, k, method, options.trials))
    fresh = [
        _overlap(truth, truth[rng.integers(0, len(truth), len(truth))])
        for _ in range(options.trials)
    ]
    result.notes.append(f"A fresh bootstrap sample of the people overlaps by {np.mean(fresh):.4f}.")
    return result


def _row(keys, labels, truth, k, method, trials):
    overlaps, seconds = [], []

    def release(seed):
        begin = time.perf_counter()
        stream = Keystream.from_seed(seed)
        new = new_keys(keys, labels, METHODS[method]().donors, stream)
        seconds.append(time.perf_counter() - begin)
        scaled = _scaled(new, keys)
        overlaps.append(_overlap(truth, scaled))
        return scaled

    count = 1 if method == "centroid" else trials
    risk = reidentification(truth, (release(seed) for seed in range(count)), level=0.9999)
    return (
        method,
        str(k),
        f"{1 / k:.4f}",
        f"{risk.average:.4f}",
        f"{risk.frequency.max():.4f}",
        f"{risk.above(1 / k)} of {risk.sizes.size}",
        f"{np.mean(overlaps):.4f}",
        f"{np.mean(seconds):.2f}",
    )


def _scaled(keys, like):
    """Keys on the scale of the true ones, so that distances compare."""
    spreads = [np.nanstd(true.values) for true in like]
    columns = [key.values / (s or 1) for key, s in zip(keys, spreads, strict=True)]
    return np.nan_to_num(np.column_stack(columns), nan=-1.0)


def _overlap(one, other):
    """Histogram intersection: the mass that two tables have in the same cells."""
    n = len(one)
    cells = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)[1].ravel()
    counts = [np.bincount(part, minlength=cells.max() + 1) / n for part in (cells[:n], cells[n:])]
    return float(np.minimum(*counts).sum())
