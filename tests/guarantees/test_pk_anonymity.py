"""Tests of Pk-anonymity, with enumeration of small worlds as the judge."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture

COIN = UniformMixture.of(("no", "yes"), retention=0.5)


def linking_posteriors(weights, truth, released):
    """P[person 0 is record 0] for an adversary who knows the true table, by all permutations."""
    n = len(truth)
    linked = total = 0
    for order in itertools.permutations(range(n)):
        chance = math.prod(int(weights[truth[s], released[order[s]]]) for s in range(n))
        total += chance
        linked += chance if order[0] == 0 else 0
    return Fraction(linked, total) if total else None


def worst_posterior(matrix, n):
    """The largest chance of any link, over all true and all released tables.

    By [Ikarashi, Lemma 3] no mixture of true tables (no vaguer knowledge) does better than the best
    single one, so that this covers every background knowledge.
    """
    numbers = range(matrix.size)
    tables = [
        ((first, *rest), (released, *others))
        for first, released in itertools.product(numbers, repeat=2)
        for rest in itertools.combinations_with_replacement(numbers, n - 1)
        for others in itertools.combinations_with_replacement(numbers, n - 1)
    ]
    found = (linking_posteriors(matrix.weights, truth, released) for truth, released in tables)
    return max(posterior for posterior in found if posterior is not None)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_two_values_the_worst_link_is_exactly_one_over_k(n):
    """Every record, every knowledge of up to five people: 1/k is reached and never passed."""
    matrix = UniformMixture.of(("no", "yes"), retention=0.375)
    exact = 1 + (n - 1) * matrix.anonymity_ratio

    assert worst_posterior(matrix, n) == 1 / exact
    assert Fraction(PkAnonymity.of(matrix, anonymity_set=n).k) <= exact


@pytest.mark.parametrize("n", [2, 3, 4])
def test_three_values_the_worst_link_is_exactly_one_over_k(n):
    """The same over three values, where the worst table holds two of them."""
    matrix = UniformMixture.of(("a", "b", "c"), retention=0.25)

    assert worst_posterior(matrix, n) == 1 / (1 + (n - 1) * matrix.anonymity_ratio)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_lopsided_matrix_reaches_its_bound_too(n):
    """Theorem 3 is tight for a matrix without any symmetry."""
    matrix = Dense.of("abc", [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.125, 0.625]])
    worst = worst_posterior(matrix, n)
    k = PkAnonymity.of(matrix, anonymity_set=n).k

    assert worst <= 1 / Fraction(k)
    assert float(worst) == pytest.approx(1 / k, rel=1e-10)


def test_two_columns_multiply_their_ratios():
    """Corollary 4 against Theorem 3 on the Kronecker product written out."""
    age = UniformMixture.of(("young", "old", "older"), retention=0.75)
    product = Dense.of(
        tuple(itertools.product(COIN.labels, age.labels)), np.kron(COIN.values, age.values)
    )
    steps = Mechanism((Step(("smokes",), COIN), Step(("age",), age)))

    assert PkAnonymity.of(steps, anonymity_set=50).k == pytest.approx(
        PkAnonymity.of(product, anonymity_set=50).k
    )


def test_three_attributes_of_a_hundred_thousand_people():
    """The paper's example: sizes 2, 5, 10 with retention 0.3032 give k = 100 of 100,000."""
    steps = tuple(
        Step((str(size),), UniformMixture.of(tuple(range(size)), retention=0.3032))
        for size in (2, 5, 10)
    )

    assert PkAnonymity.of(Mechanism(steps), anonymity_set=100_000).k == pytest.approx(100, rel=2e-3)


@given(st.floats(0, 1), st.integers(2, 30), st.integers(1, 10**9))
def test_k_and_epsilon_are_one_dial(retention, size, anonymity_set):
    """k = 1 + (n - 1) exp(-2 epsilon) for uniform mixtures, and 1 <= k <= n always."""
    matrix = UniformMixture.of(tuple(range(size)), retention=retention)
    k, epsilon = (
        PkAnonymity.of(matrix, anonymity_set=anonymity_set).k,
        DifferentialPrivacy.of(matrix).epsilon,
    )

    assert 1 <= k <= anonymity_set
    assert k == pytest.approx(1 + (anonymity_set - 1) * math.exp(-2 * epsilon), rel=1e-9)


def test_the_weakest_stratum_counts():
    """With a matrix for each stratum k is that of the stratum with the smallest ratio."""
    strong, weak = (UniformMixture.of(("F", "M"), retention=rho) for rho in (0.1, 0.9))
    step = Step(("sex",), strata=("region",), by_stratum={("n",): strong, ("s",): weak})

    assert PkAnonymity.of(Mechanism((step,)), anonymity_set=9) == PkAnonymity.of(
        weak, anonymity_set=9
    )


def test_limits():
    """The identity gives k = 1, pure noise the whole anonymity set; one record has k = 1."""
    still, noise = (UniformMixture.of(("F", "M"), retention=rho) for rho in (1, 0))

    assert PkAnonymity.of(still, anonymity_set=100).k == 1
    assert PkAnonymity.of(noise, anonymity_set=100).k == 100
    assert PkAnonymity.of(noise, anonymity_set=1).k == 1


def test_larger_is_stronger_and_words_say_so():
    """implies compares, sentence explains."""
    assert PkAnonymity(k=100).implies(PkAnonymity(k=50))
    assert not PkAnonymity(k=50).implies(PkAnonymity(k=100))
    assert "at most 1 %" in PkAnonymity(k=100).sentence()
    assert "No anonymity" in PkAnonymity(k=1).sentence()


@pytest.mark.parametrize("k", [0, 0.5, -3, math.nan, "ten"])
def test_a_k_below_one_is_refused(k):
    """One line names the letter and the range."""
    with pytest.raises(InvalidNumber, match="^k must be a number"):
        PkAnonymity(k=k)


def test_a_link_is_bounded_by_one_in_k():
    """Rounded up; no bound on k leaves nothing to link."""
    assert PkAnonymity(k=4).link_bound == 0.25
    assert Fraction(PkAnonymity(k=3).link_bound) >= Fraction(1, 3)
    assert PkAnonymity(k=math.inf).link_bound == 0
