"""The Bayes-optimal linker: exact permanents, scaling, and the bound of Pk-anonymity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidTable, TooLarge
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.risk.attacks import linkage as optimal
from pramana.risk.attacks.attacker_records import Records
from pramana.risk.attacks.linkage import exact_posterior, optimal_linkage, scaled_posterior

tables = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(st.floats(0.01, 1), min_size=n, max_size=n), min_size=n, max_size=n)
)


def by_permutations(table):
    """Every pairing, weighed by its likelihood."""
    size = len(table)
    posterior = np.zeros((size, size))
    for pairing in itertools.permutations(range(size)):
        weight = np.prod([table[i, j] for i, j in enumerate(pairing)])
        posterior[np.arange(size), pairing] += weight
    return posterior / posterior.sum(axis=1, keepdims=True)


def records(*codes, anonymity_set=None) -> Records:
    anonymity_set = (
        np.zeros(len(codes[0]), int) if anonymity_set is None else np.array(anonymity_set)
    )
    return Records(tuple(np.array(c) for c in codes), anonymity_set, (None,) * len(codes))


@given(tables)
def test_the_posterior_is_the_share_of_pairings(table):
    """Sums over subsets equal sums over all pairings."""
    table = np.array(table)

    assert exact_posterior(table) == pytest.approx(by_permutations(table))


def test_a_coin_by_hand():
    """Truths (no, yes), released (no, yes), 3/4 kept: 9/16 against 1/16 for the swap."""
    coin = UniformMixture.of(("no", "yes"), retention=0.5)
    found = optimal_linkage(Mechanism((Step(("x",), coin),)), records([0, 1]), records([0, 1]))

    assert found.largest == pytest.approx(0.9)
    assert found.exact


def test_anonymity_sets_are_attacked_apart():
    """Who knows a column that is released unchanged looks in that anonymity set only."""
    coin = UniformMixture.of(("no", "yes"), retention=0.5)
    mechanism = Mechanism((Step(("x",), coin),))
    together = optimal_linkage(mechanism, records([0, 1, 1]), records([0, 1, 1]))
    apart = optimal_linkage(
        mechanism,
        records([0, 1, 1], anonymity_set=[0, 1, 1]),
        records([0, 1, 1], anonymity_set=[0, 1, 1]),
    )

    assert apart.largest == 1
    assert together.largest < 1


def test_scaling_agrees_with_permanents():
    """Thirteen records in a few cells: the approximation is within a few percent of the truth."""
    random = np.random.default_rng(1)
    matrix = Dense.of(("a", "b", "c"), random.dirichlet([4, 4, 4], 3))
    truth, released = random.integers(0, 3, 13), random.integers(0, 3, 13)
    exact = exact_posterior(matrix.values[truth][:, released])
    people, seen = np.bincount(truth, minlength=3), np.bincount(released, minlength=3)
    scaled = scaled_posterior(np.log(matrix.values), people, seen)[truth][:, released]

    assert scaled == pytest.approx(exact, rel=0.05)


@given(st.integers(15, 60), st.floats(0.1, 0.9))
def test_scaled_posteriors_are_doubly_stochastic(size, retention):
    """Each person has one record and each record one person."""
    random = np.random.default_rng(size)
    matrix = UniformMixture.of(("a", "b", "c", "d"), retention=retention)
    people = np.bincount(random.integers(0, 4, size), minlength=4) + 1
    seen = np.bincount(random.integers(0, 4, size), minlength=4) + 1
    seen[0] += people.sum() - seen.sum() if people.sum() > seen.sum() else 0
    people[0] += seen.sum() - people.sum()

    posterior = scaled_posterior(np.log(matrix.values), people, seen)

    assert posterior @ seen == pytest.approx(np.ones(4), abs=1e-6)
    assert people @ posterior == pytest.approx(np.ones(4), abs=1e-6)


def test_large_tables_take_the_scaling_road():
    """Beyond fourteen records it says that it scaled, and stays within the promise."""
    random = np.random.default_rng(2)
    matrix = UniformMixture.of(tuple("abcde"), retention=0.4)
    mechanism = Mechanism((Step(("x",), matrix),))
    truth = random.integers(0, 5, 400)
    kept = random.random(400) < 0.4
    released = np.where(kept, truth, random.integers(0, 5, 400))
    found = optimal_linkage(mechanism, records(truth), records(released[::-1]), bound=0.1)

    assert not found.exact
    assert found.mean <= found.largest <= 0.1
    assert found.holds
    assert "approximation" in found.sentence()


def test_tables_that_do_not_fit_are_refused():
    """Other numbers of records, impossible releases, and too many records for permanents."""
    stay = Mechanism((Step(("x",), UniformMixture.of(("a", "b"), retention=1)),))
    with pytest.raises(InvalidTable, match="3 records and the release 2"):
        optimal_linkage(stay, records([0, 1, 1]), records([0, 1]))
    with pytest.raises(InvalidTable, match="cannot have produced"):
        exact_posterior([[1, 1], [0, 0]])
    with pytest.raises(TooLarge, match="up to 14 records, got 15"):
        exact_posterior(np.ones((15, 15)))


def test_blocks_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for a few pairs only, the posterior is the same to the tolerance of blocks."""
    generator = np.random.default_rng(4)
    mixture = UniformMixture.of(tuple(range(6)), retention=0.7)
    mechanism = Mechanism((Step(("a",), mixture), Step(("b",), mixture)))
    codes = tuple(generator.integers(0, 6, 300) for _ in range(2))
    moved = tuple(
        np.where(generator.random(300) < 0.7, own, generator.integers(0, 6, 300)) for own in codes
    )
    anonymity_set = np.zeros(300, dtype=np.int64)
    truth, released = (Records(part, anonymity_set, (None, None)) for part in (codes, moved))

    whole = optimal_linkage(mechanism, truth, released)
    monkeypatch.setattr(optimal, "MOST_HELD_PAIRS", 200)
    parts = optimal_linkage(mechanism, truth, released)

    assert parts.largest == pytest.approx(whole.largest, rel=1e-4)
    assert parts.mean == pytest.approx(whole.mean, rel=1e-4)
    monkeypatch.setattr(optimal, "MOST_IN_BLOCKS", 200)
    with pytest.raises(TooLarge, match="coarser table"):
        optimal_linkage(mechanism, truth, released)
