"""Each guarantee against the adversary of its own paper, on a thousand random small tables.

Small tables can be enumerated, so that most of this is exact and has no Monte Carlo error. What a
stronger adversary gets is computed beside it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana.attacks.optimal import exact_posterior
from pramana.guarantees import PkAnonymity
from pramana.guarantees.correct_match import CorrectMatch
from pramana.matrices import Dense, UniformMixture

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
        promised = 1 / PkAnonymity.of(matrix, crowd=records).k
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

        assert found == pytest.approx(1 / PkAnonymity.of(matrix, crowd=records).k, rel=1e-9)


def test_a_looser_claim_would_be_caught():
    """The same worst case breaks a promise of k larger by one percent: the test has teeth."""
    matrix = UniformMixture.of((0, 1, 2), retention=0.5)
    k = PkAnonymity.of(matrix, crowd=8).k
    found = exact_posterior(matrix.values[[0] + [1] * 7][:, [0] + [1] * 7]).max()

    assert found > 1 / (1.01 * k)


def category_searcher(values, truth, c):
    """For each number a of records released as c: the chance that a random one is the target's.

    The target is the first person of category c; every outcome of the release is enumerated.
    """
    target = int(np.flatnonzero(truth == c)[0])
    right: dict[int, float] = {}
    seen: dict[int, float] = {}
    for outcome in itertools.product(range(len(values)), repeat=len(truth)):
        chance = float(np.prod(values[truth, outcome]))
        a = sum(released == c for released in outcome)
        if a:
            seen[a] = seen.get(a, 0.0) + chance
            right[a] = right.get(a, 0.0) + chance * (outcome[target] == c) / a
    return max(right[a] / seen[a] for a in seen if seen[a] > 0)


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
