"""Each guarantee against the adversary of its own paper, on a thousand random small tables.

Small tables can be enumerated, so that most of this is exact and has no Monte Carlo error. What a
stronger adversary gets is computed beside it.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from pramana.base.randomness import Keystream
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.methods.base import METHODS
from pramana.microaggregation.anonymisation import anonymise, key_of, replace_keys
from pramana.microaggregation.clustering import form_groups
from pramana.risk.attacks.linkage import exact_posterior
from pramana.risk.attacks.microaggregated import link_chances
from pramana.schema.joint_cells import Counts
from pramana.schema.roles import Role
from pramana.schema.schema import Column

TABLES = 1_000


def matrices(random):
    """Random matrices of two families, from nearly nothing to nearly all noise."""
    size = int(random.integers(2, 5))
    labels = tuple(range(size))
    if random.random() < 0.5:
        return UniformMixture.of(labels, retention=float(random.uniform(0.02, 0.95)))
    rows = random.dirichlet(np.full(size, random.uniform(0.5, 5)), size) + 0.02
    return Dense.of(labels, rows / rows.sum(axis=1, keepdims=True))


def test_the_optimal_linker_stays_within_one_over_k():
    """Whatever was true and whatever was released, no posterior exceeds 1/k [Ikarashi, Thm 3]."""
    random = np.random.default_rng(31)
    closest = 0.0
    for _ in range(TABLES):
        matrix = matrices(random)
        records = int(random.integers(2, 7))
        truth = random.integers(0, matrix.size, records)
        released = random.integers(0, matrix.size, records)
        promised = 1 / PkAnonymity.of(matrix, anonymity_set=records).k
        found = exact_posterior(matrix.values[truth][:, released]).max()
        assert found <= promised * (1 + 1e-9)
        closest = max(closest, found / promised)
    assert closest > 0.9  # random tables come near the bound: it is not an idle one


@pytest.mark.parametrize("records", [2, 3, 8, 12])
def test_the_bound_is_reached_in_the_worst_case(records):
    """One person against n - 1 alike, released as they were: the posterior is 1/k exactly."""
    random = np.random.default_rng(records)
    for _ in range(20):
        matrix = matrices(random)
        values = matrix.values
        crossed = {
            (u, v, a, b): values[u, b] * values[v, a] / (values[u, a] * values[v, b])
            for u, v, a, b in itertools.product(range(matrix.size), repeat=4)
        }
        u, v, a, b = min(crossed, key=crossed.get)
        truth, released = [u] + [v] * (records - 1), [a] + [b] * (records - 1)
        found = exact_posterior(values[truth][:, released])[0, 0]

        assert found == pytest.approx(1 / PkAnonymity.of(matrix, anonymity_set=records).k, rel=1e-9)


def test_a_looser_claim_would_be_caught():
    """The same worst case breaks a promise of k larger by one percent: the test has teeth."""
    matrix = UniformMixture.of((0, 1, 2), retention=0.5)
    k = PkAnonymity.of(matrix, anonymity_set=8).k
    found = exact_posterior(matrix.values[[0] + [1] * 7][:, [0] + [1] * 7]).max()

    assert found > 1 / (1.01 * k)


def category_searcher(values, truth, c):
    """For each number a of records released as c: the chance that a random one is the target's.

    The target is the first person of category c; every outcome of the release is enumerated.
    """
    target = int(np.flatnonzero(truth == c)[0])
    outcomes = np.array(list(itertools.product(range(len(values)), repeat=len(truth))))
    chances = values[truth, outcomes].prod(axis=1)
    alike = (outcomes == c).sum(axis=1)
    seen = np.bincount(alike, weights=chances)
    right = np.bincount(alike, weights=chances * (outcomes[:, target] == c) / np.maximum(alike, 1))
    possible = (seen > 0) & (np.arange(len(seen)) > 0)
    return float((right[possible] / seen[possible]).max())


def test_the_category_searcher_stays_within_xi():
    """Who looks among the records released with the known value is right at most xi of the time."""
    random = np.random.default_rng(32)
    beside = []
    for _ in range(TABLES):
        size, records = int(random.integers(2, 4)), int(random.integers(2, 6))
        rows = random.dirichlet(np.ones(size), size) * 0.7 + 0.3 * np.eye(size)
        matrix = Dense.of(tuple(range(size)), rows / rows.sum(axis=1, keepdims=True))
        truth = random.integers(0, size, records)
        counts = {int(c): int((truth == c).sum()) for c in np.unique(truth)}
        promised = CorrectMatch.of(matrix, counts).xi
        found = max(category_searcher(matrix.values, truth, c) for c in counts)
        assert found <= promised * (1 + 1e-9)
        assert found == pytest.approx(promised, rel=1e-6)  # exact, so the bound is reached
        released = truth  # the stronger adversary, where nothing happened to be changed
        stronger = exact_posterior(matrix.values[truth][:, released]).max()
        beside.append(stronger > promised * (1 + 1e-9))
    assert np.mean(beside) > 0.1  # who knows the whole table and the matrix can exceed xi


def few_variable_reader(values, cells, numbers, sizes, width):
    """Bayes, written out: a record shows a combination of a few keys; is it this person's?

    Every record is equally likely to be the person's before, so the posterior is the chance that
    the person's record shows the combination over the sum of everybody's chances.
    """
    worst = 0.0
    rows = np.ravel_multi_index(tuple(cells.T), sizes)
    shown = values[rows].reshape(len(rows), *sizes)
    for choice in itertools.combinations(range(len(sizes)), width):
        hidden = tuple(1 + place for place in range(len(sizes)) if place not in choice)
        chances = shown.sum(axis=hidden)
        everybody = np.tensordot(numbers, chances, axes=1)
        worst = max(worst, float((chances / everybody).max()))
    return worst


def test_the_few_variable_reader_stays_within_alpha():
    """Who looks at two or three keys of a record is at most alpha sure [Cator, C1]."""
    random = np.random.default_rng(33)
    for _ in range(TABLES // 4):
        sizes = tuple(random.integers(2, 4, int(random.integers(3, 5))).tolist())
        width = int(random.integers(2, 4))
        labels = tuple(tuple(range(size)) for size in sizes)
        steps = []
        for name, own in zip("abcd", labels, strict=False):
            rows = random.dirichlet(np.ones(len(own)), len(own)) * 0.5 + 0.5 * np.eye(len(own))
            steps.append(Step((name,), Dense.of(own, rows)))
        joint = np.ones((1, 1))
        for step in steps:
            joint = np.kron(joint, step.matrix.values)
        people = [random.integers(0, size, 12).astype(np.uint8) for size in sizes]
        counts = Counts.of_codes([step.columns[0] for step in steps], labels, people)
        promised = SpontaneousRecognition.of(Mechanism(tuple(steps)), counts, width=width).alpha
        found = few_variable_reader(joint, counts.cells, counts.numbers, sizes, width)

        assert found <= promised * (1 + 1e-9)
        assert found == pytest.approx(promised, rel=1e-6)  # so the bound is reached


KEYS = (Column("x", Role.KEY), Column("y", Role.KEY))


@cache
def grouped_tables():
    """250 small tables with their keys, k, groups, and the randomness: the same for all methods."""
    random, made = np.random.default_rng(34), []
    for number in range(TABLES // 4):
        records, k = int(random.integers(8, 15)), int(random.integers(2, 5))
        keys = np.round(random.normal(size=(records, 2)), int(random.integers(0, 3)))
        table, stream = pa.table({"x": keys[:, 0], "y": keys[:, 1]}), Keystream.from_seed(number)
        numbers = tuple(key_of(column, table[column.name]) for column in KEYS)
        groups = form_groups(numbers, k=k, keystream=stream)
        made.append((table, keys, k, numbers, groups, stream))
    return tuple(made)


@pytest.mark.parametrize("method", ["centroid", "resample", "permute", "gaussian"])
@pytest.mark.deep(every=4)
def test_the_nearest_record_linker_stays_within_one_over_k(method):
    """Over 250 small tables a method, in all a thousand: the mean excess over 1/k is not above 0.

    Four standard errors over tables are allowed: a sound method fails once in 30,000.
    """
    excess, donors = [], METHODS[method]().donors
    for number, (table, keys, k, numbers, groups, stream) in enumerate(grouped_tables()):
        made = replace_keys(table, KEYS, numbers, groups, donors, stream)
        if number < 10:  # which is what is released
            whole = anonymise(table, KEYS, k=k, donors=donors, keystream=stream)
            assert whole.table.equals(made)
        after = np.column_stack([made["x"].to_numpy(), made["y"].to_numpy()])
        excess.append(link_chances(keys, after.astype(np.float64)).mean() - 1 / k)

    assert np.mean(excess) <= 4 * np.std(excess) / np.sqrt(len(excess))
    assert np.mean(excess) > -0.3  # and it does link some: the test is not idle


def test_releasing_the_truth_breaks_one_over_k():
    """The same judge on tables that were not protected: far above."""
    keys = np.random.default_rng(35).normal(size=(12, 2))

    assert link_chances(keys, keys).mean() == 1
