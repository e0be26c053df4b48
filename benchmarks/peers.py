"""The same work by other libraries: randomised response and its estimates, groups of at least k.

Randomised response on one column of 50 values at epsilon 2. Errors are the mean absolute error of
the estimated shares, over the same truth; seconds are of one core, with everything loaded before.
What is not installed is skipped with the reason. sdcMicro runs in R, and ARX in Java where ARX_JAR
names its library: see ``others``.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._measure import Result
from pramana.analysis.counts import estimate_counts
from pramana.analysis.layout import Layout, Moments
from pramana.base.randomness import Keystream
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sampler import randomise
from pramana.mechanisms.transition import UniformMixture

VALUES, EPSILON = 50, 2.0
HEAD = ("work", "by", "records", "seconds", "records a second", "of pramana", "error")


K = 5
OTHERS = Path(__file__).parent / "others"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, nargs="+", default=[1_000, 3_000])
    parser.add_argument("--people", type=int, default=20_000)


def run(options: argparse.Namespace) -> Result:
    result = Result(f"{VALUES} values, epsilon {EPSILON}; groups of at least {K}", HEAD)
    rng = np.random.default_rng(1)
    shares = np.sort(rng.dirichlet(np.ones(VALUES)))[::-1]
    truth = rng.choice(VALUES, options.records, p=shares).astype(np.uint8)
    people = rng.integers(0, [2, 5, 10, 18, 12, 3], size=(options.people, 6))
    with tempfile.TemporaryDirectory() as folder:
        roads = {"pramana": _pramana, "multi-freq-ldpy": _multi_freq, "pure-ldp": _pure,
                 "OpenDP": _opendp}  # fmt: skip
        _compare(result, "randomise and estimate", roads, truth)
        sdcmicro = _SdcMicro(Path(folder))
        roads = {"pramana": _randomised, "sdcMicro, pram": sdcmicro.pram}
        _compare(result, "randomise", roads, truth)
        for count in options.points:
            roads = {"pramana": _groups, "k-means-constrained": _kmeans,
                     "sdcMicro, mdav": sdcmicro.microaggregation}  # fmt: skip
            _compare(result, "groups, sum of squares", roads, rng.normal(size=(count, 5)))
        arx = _Arx(Path(folder))
        roads = {"pramana, resample": _resampled, "ARX": arx.generalised}
        _compare(result, "k-anonymous table of 6 keys", roads, people)
    return result


class _Skipped(ImportError):
    """A peer that is not there."""


def _compare(result: Result, work: str, roads, data) -> None:
    ours = None
    for name, road in roads.items():
        try:
            road(data[:200])  # loads and compiles
            begin = time.perf_counter()
            error = road(data)
            seconds = time.perf_counter() - begin
        except ImportError as reason:
            note = f"{name}: skipped, {reason}."
            result.notes += [] if note in result.notes else [note]
            continue
        if isinstance(error, tuple):  # a program of its own tells its seconds without its start
            seconds, error = error
        speed = len(data) / seconds
        ours = ours or speed
        result.rows.append(
            (
                work,
                name,
                f"{len(data):,}",
                f"{len(data) / speed:.3f}",
                f"{speed:,.0f}",
                f"{ours / speed:.1f} x",
                "" if math.isnan(error) else f"{error:.4g}",
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


def _opendp(truth) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    kept = math.exp(EPSILON) / (math.exp(EPSILON) + VALUES - 1)
    other = (1 - kept) / (VALUES - 1)
    randomised = dp.m.make_randomized_response(categories=list(range(VALUES)), prob=kept)
    released = np.array([randomised(value) for value in truth.tolist()])
    shares = np.bincount(released, minlength=VALUES) / len(truth)
    return _error((shares - other) / (kept - other), truth)


def _groups(points) -> float:
    from pramana.microaggregation.clustering import form_groups
    from pramana.microaggregation.groups import Key

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


def _randomised(truth) -> float:
    matrix = UniformMixture.of(tuple(range(VALUES)), epsilon=EPSILON)
    randomise(matrix, truth, keystream=Keystream.from_seed(1), stream="s")
    return math.nan


def _resampled(people) -> float:
    import pyarrow as pa

    import pramana as pm

    columns = {f"key{c}": [str(v) for v in people[:, c].tolist()] for c in range(people.shape[1])}
    amount = np.random.default_rng(2).gamma(2, 10_000, len(people)).round()  # what others may learn
    table = pa.table({**columns, "amount": amount})
    schema = pm.describe(table, keys=list(columns), sensitive=["amount"])
    pm.protect(table, pm.design(schema, pm.KAnonymity(k=K), method="resample", data=table))
    return math.nan


class _SdcMicro:
    """sdcMicro's seconds, from R."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pram(self, truth) -> tuple[float, float]:
        place = self.folder / "values.csv"
        np.savetxt(place, truth, fmt="%d", header="value", comments="")
        (seconds,) = self._told("pram", str(place))
        return seconds, math.nan

    def microaggregation(self, points) -> tuple[float, float]:
        place = self.folder / "points.csv"
        names = ",".join(f"x{c}" for c in range(points.shape[1]))
        np.savetxt(place, points, delimiter=",", header=names, comments="")
        seconds, squares = self._told("microaggregation", str(place), str(K))
        return seconds, squares

    def _told(self, *asked: str) -> list[float]:
        if shutil.which("Rscript") is None:
            raise _Skipped("R is not installed")
        command = ["Rscript", str(OTHERS / "sdcmicro.R"), *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 3:
            raise _Skipped("R has no sdcMicro, and Debian no package of it")
        if done.returncode:
            raise SystemExit(f"sdcmicro.R failed: {done.stderr.strip()}")
        return [float(figure) for figure in done.stdout.split()]


class _Arx:
    """ARX's seconds, from its library by Java's launcher of single files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def generalised(self, people) -> tuple[float, float]:
        library = os.environ.get("ARX_JAR")
        if not library:
            raise _Skipped("ARX_JAR does not name its library")
        place = self.folder / "people.csv"
        names = ",".join(f"key{c}" for c in range(people.shape[1]))
        np.savetxt(place, people, fmt="%d", delimiter=",", header=names, comments="")
        command = ["java", "-cp", library, str(OTHERS / "Arx.java"), str(place), str(K)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"Arx.java failed: {done.stderr.strip()}")
        return float(done.stdout), math.nan
