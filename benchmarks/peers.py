"""The same work by other libraries: randomised response and its estimates, groups of at least k.

Randomised response on one column of 50 values at epsilon 2. Errors are the mean absolute error of
the estimated shares, over the same truth; seconds are of one core, with everything loaded before.
Libraries that are not installed are skipped with the reason.
"""

from __future__ import annotations

import argparse
import math
import shutil
import time

import numpy as np

from benchmarks._measure import Result
from pramana.estimation import Layout, Moments, estimate_counts
from pramana.matrices.families import UniformMixture
from pramana.matrices.mechanism import Mechanism, Step
from pramana.randomise.sampling import randomise
from pramana.randomness import Keystream

VALUES, EPSILON = 50, 2.0
HEAD = ("work", "by", "records", "seconds", "records a second", "of pramana", "error")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=1_000)


def run(options: argparse.Namespace) -> Result:
    result = Result(f"{VALUES} values, epsilon {EPSILON}; groups of at least 5", HEAD)
    rng = np.random.default_rng(1)
    shares = np.sort(rng.dirichlet(np.ones(VALUES)))[::-1]
    truth = rng.choice(VALUES, options.records, p=shares).astype(np.uint8)
    roads = {"pramana": _pramana, "multi-freq-ldpy": _multi_freq, "pure-ldp": _pure}
    _compare(result, "randomise and estimate", roads, truth)
    points = rng.normal(size=(options.points, 5))
    _compare(result, "groups, sum of squares", {"pramana": _groups, "k-means-constrained": _kmeans},
             points)  # fmt: skip
    for name, reason in _absent().items():
        result.notes.append(f"{name}: skipped, {reason}.")
    return result


def _compare(result: Result, work: str, roads, data) -> None:
    ours = None
    for name, road in roads.items():
        try:
            road(data[:200])  # loads and compiles
            begin = time.perf_counter()
            error = road(data)
        except ImportError as reason:
            result.notes.append(f"{name}: skipped, {reason}.")
            continue
        speed = len(data) / (time.perf_counter() - begin)
        ours = ours or speed
        result.rows.append(
            (
                work,
                name,
                f"{len(data):,}",
                f"{len(data) / speed:.3f}",
                f"{speed:,.0f}",
                f"{ours / speed:.1f} x",
                f"{error:.4g}",
            )
        )


def _error(shares, truth) -> float:
    return float(np.abs(shares - np.bincount(truth, minlength=VALUES) / len(truth)).mean())


def _pramana(truth) -> float:
    matrix = UniformMixture.of(tuple(range(VALUES)), epsilon=EPSILON)
    released = randomise(matrix, truth, keystream=Keystream.from_seed(1), stream="s")
    layout = Layout.of(
        ("x",), labels={"x": matrix.labels}, mechanism=Mechanism((Step(("x",), matrix),))
    )
    table = np.bincount(released, minlength=VALUES).astype(float)
    made = estimate_counts(Moments(table, table, table), layout, share=True)
    return _error(made.estimate.ravel(), truth)


def _multi_freq(truth) -> float:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    np.random.seed(1)  # noqa: NPY002 - the library draws from there
    reports = [GRR_Client(int(value), VALUES, EPSILON) for value in truth.tolist()]
    return _error(GRR_Aggregator_MI(reports, VALUES, EPSILON), truth)


def _pure(truth) -> float:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer

    same = lambda value: value  # noqa: E731
    client, server = DEClient(EPSILON, VALUES, same), DEServer(EPSILON, VALUES, same)
    for value in truth.tolist():
        server.aggregate(client.privatise(value))
    found = [server.estimate(value, suppress_warnings=True) for value in range(VALUES)]
    return _error(np.array(found) / len(truth), truth)


def _groups(points) -> float:
    from pramana.kanonymity.clustering import form_groups
    from pramana.kanonymity.distance import Key

    keys = [Key(str(c), points[:, c]) for c in range(points.shape[1])]
    made = form_groups(keys, k=5, keystream=Keystream.from_seed(1))
    return _squares(points, made.labels)


def _kmeans(points) -> float:
    from k_means_constrained import KMeansConstrained

    groups = len(points) // 5
    made = KMeansConstrained(groups, size_min=5, random_state=1, n_init=1).fit(points)
    return _squares(points, made.labels_)


def _squares(points, labels) -> float:
    return math.fsum(
        float(((points[labels == one] - points[labels == one].mean(axis=0)) ** 2).sum())
        for one in np.unique(labels)
    )


def _absent() -> dict[str, str]:
    reasons = {}
    if shutil.which("Rscript") is None:
        reasons["sdcMicro (pram, microaggregation)"] = "R is not installed"
    reasons["ARX"] = "it is a Java program without a package for Python or the command line"
    return reasons
