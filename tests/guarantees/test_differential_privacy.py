"""Tests of differential privacy."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.mechanisms.mechanism import Mechanism, Step, with_fixed
from pramana.mechanisms.transition import Dense, UniformMixture


def test_a_coin_by_hand():
    """Kept with 3/4, changed with 1/4: epsilon = ln 3."""
    coin = UniformMixture.of(("no", "yes"), retention=0.5)

    assert DifferentialPrivacy.of(coin).epsilon == pytest.approx(math.log(3), abs=1e-15)


@given(st.lists(st.tuples(st.integers(2, 9), st.floats(0, 0.99)), min_size=1, max_size=5))
def test_stated_epsilon_is_never_below_the_exact_one(columns):
    """Steps add up [Ikarashi, Cor. 1]; 60-digit arithmetic is the judge."""
    matrices = [UniformMixture.of(tuple(range(n)), retention=rho) for n, rho in columns]
    steps = tuple(Step((str(i),), matrix) for i, matrix in enumerate(matrices))
    with localcontext(prec=60):
        exact = sum(
            (Decimal(matrix.gamma.numerator) / Decimal(matrix.gamma.denominator)).ln()
            for matrix in matrices
        )
    stated = DifferentialPrivacy.of(Mechanism(steps)).epsilon

    assert Decimal(stated) >= exact - Decimal(10) ** -50
    assert stated == pytest.approx(float(exact), rel=1e-13, abs=1e-15)


def test_whole_releases_of_two_people_by_enumeration():
    """Over all neighbouring tables and shuffled releases the ratio never passes exp(epsilon)."""
    matrix = Dense.of("abc", [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.125, 0.625]])

    def chance(truth, released):
        orders = set(itertools.permutations(released))
        return sum(
            math.prod(matrix.probability(t, r) for t, r in zip(truth, order, strict=True))
            for order in orders
        )

    releases = list(itertools.combinations_with_replacement("abc", 2))
    worst = max(
        chance((mine, other), released) / chance((changed, other), released)
        for mine, changed, other in itertools.product("abc", repeat=3)
        for released in releases
    )

    assert worst <= matrix.gamma
    assert Fraction(math.exp(DifferentialPrivacy.of(matrix).epsilon)) >= worst
    assert worst > matrix.gamma / 2  # the bound is not idle: shuffling hides only part of it


def test_a_fixed_value_has_no_finite_epsilon():
    """An exempt value rules out every other truth."""
    matrix = with_fixed(("a", "b", "c"), {"c"}, retention=0.5)

    assert DifferentialPrivacy.of(matrix).epsilon == math.inf
    assert DifferentialPrivacy.of(matrix).to_json() == {"epsilon": None}
    assert "No differential privacy" in DifferentialPrivacy.of(matrix).sentence()


def test_smaller_is_stronger_and_words_say_so():
    """implies compares, sentence explains."""
    assert DifferentialPrivacy(epsilon=1).implies(DifferentialPrivacy(epsilon=2))
    assert not DifferentialPrivacy(epsilon=2).implies(DifferentialPrivacy(epsilon=1))
    assert "2.719 times" in DifferentialPrivacy(epsilon=1).sentence()


@pytest.mark.parametrize("epsilon", [-1, math.nan, None])
def test_a_negative_epsilon_is_refused(epsilon):
    """One line names the letter and the range."""
    with pytest.raises(InvalidNumber, match="^epsilon must be a number"):
        DifferentialPrivacy(epsilon=epsilon)
