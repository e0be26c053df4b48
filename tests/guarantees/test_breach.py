"""Tests of the bound on privacy breaches."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber
from pramana.guarantees.privacy_breach import PrivacyBreach
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture


def test_gamma_of_a_promise_by_hand():
    """From 10 % to 50 %: gamma = 0.5 * 0.9 / (0.1 * 0.5) = 9."""
    assert float(PrivacyBreach(rho1=0.1, rho2=0.5).gamma) == pytest.approx(9)


@given(
    st.lists(st.integers(1, 20), min_size=3, max_size=3),
    st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3),
)
def test_no_property_under_any_prior_breaches(prior, rows):
    """All properties of a value (sets of values) and all releases, in fractions."""
    total = [sum(row) for row in rows]
    matrix = Dense.of("abc", [[x / t for x in row] for row, t in zip(rows, total, strict=True)])
    belief = [Fraction(p, sum(prior)) for p in prior]
    for size, released in itertools.product((1, 2), range(3)):
        for chosen in itertools.combinations(range(3), size):
            before = sum(belief[i] for i in chosen)
            seen = [belief[i] * matrix.weights[i, released] for i in range(3)]
            after = Fraction(sum(seen[i] for i in chosen), sum(seen))
            bound = PrivacyBreach.of(matrix, rho1=float(before))

            assert float(after) <= bound.rho2 * (1 + 1e-15)


@given(st.integers(1, 2**64 - 1), st.floats(1e-6, 0.999))
def test_rho2_is_never_below_the_exact_one(weight, rho1):
    """Fractions are the judge: rounded up, and to the next number at most."""
    gamma = Fraction(2**64, weight)
    prior = Fraction(rho1)
    exact = gamma * prior / (gamma * prior + 1 - prior)
    found = PrivacyBreach.of(Amplifying(gamma), rho1=rho1).rho2
    assert Fraction(found) >= exact
    assert Fraction(math.nextafter(found, 0)) <= exact


@dataclass(frozen=True)
class Amplifying:
    """A matrix of which nothing but its amplification is looked at."""

    gamma: Fraction


@given(st.floats(1e-6, 0.4), st.floats(1.01, 20), st.integers(2, 9))
def test_rho2_of_a_household_is_never_below_the_exact_one(rho1, odds, members):
    """Odds grow by gamma for each of its people."""
    rho2 = min(0.999, rho1 * odds)
    one = PrivacyBreach(rho1, rho2)
    prior = Fraction(rho1)
    likely = Fraction(one.gamma) ** members * prior
    assert Fraction(one.household(members)["rho2"]) >= likely / (likely + 1 - prior)


def test_rho2_of_a_household_is_safe_where_odds_hardly_grow():
    """Near one a logarithm has more digits than its exponential: the last of them is no room."""
    for step, rho1, members in itertools.product(range(1, 200), (0.1, 0.4), (2, 3, 5)):
        one, prior = PrivacyBreach(rho1, rho1 * (1 + step / 1000)), Fraction(rho1)
        likely = one.gamma**members * prior
        assert Fraction(one.household(members)["rho2"]) >= likely / (likely + 1 - prior)


def test_the_bound_is_reached():
    """Two values whose ratio is gamma, with a prior of rho1: the posterior is rho2."""
    coin = UniformMixture.of(("no", "yes"), retention=0.5)

    assert PrivacyBreach.of(coin, rho1=0.25) == PrivacyBreach(rho1=0.25, rho2=0.5)


def test_steps_multiply():
    """An adversary may care for a property of two columns together."""
    coin = UniformMixture.of(("no", "yes"), retention=0.5)
    both = Mechanism((Step(("a",), coin), Step(("b",), coin)))

    assert PrivacyBreach.of(both, rho1=0.1).rho2 == pytest.approx(0.5)


def test_comparing_and_saying():
    """A smaller gamma is stronger, whichever rho1 it is stated for."""
    assert PrivacyBreach(rho1=0.1, rho2=0.2).implies(PrivacyBreach(rho1=0.1, rho2=0.5))
    assert PrivacyBreach(rho1=0.2, rho2=0.3).implies(PrivacyBreach(rho1=0.1, rho2=0.5))
    assert not PrivacyBreach(rho1=0.01, rho2=0.3).implies(PrivacyBreach(rho1=0.1, rho2=0.5))
    assert not PrivacyBreach(rho1=0.1, rho2=0.6).implies(PrivacyBreach(rho1=0.1, rho2=0.5))
    assert "rho1 = 10 %, rho2 = 50 %: " in PrivacyBreach(rho1=0.1, rho2=0.5).sentence()


def test_the_identity_has_no_bound():
    """A value released unchanged can turn a suspicion into certainty."""
    still = UniformMixture.of(("no", "yes"), retention=1)

    assert PrivacyBreach.of(still, rho1=0.1).rho2 == 1
    assert "No bound" in PrivacyBreach.of(still, rho1=0.1).sentence()


@pytest.mark.parametrize(
    ("rho1", "rho2"), [(0, 0.5), (1, 1), (0.5, 0.1), (0.1, 1.5), (math.nan, 0.5)]
)
def test_probabilities_out_of_order_are_refused(rho1, rho2):
    """0 < rho1 < 1 and rho1 <= rho2 <= 1."""
    with pytest.raises(InvalidNumber, match="rho"):
        PrivacyBreach(rho1=rho1, rho2=rho2)
