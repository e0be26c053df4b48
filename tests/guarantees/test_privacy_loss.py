"""Privacy loss of independent rounds, against enumeration, exact sums and the Gaussian limit."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm
from tests.guarantees.test_composition import coin, excess, mixture, neighbours, shuffled

from pramana.guarantees.privacy_loss import LossDistribution, composed_delta, composed_epsilon
from pramana.guarantees.shuffled_bound import BlanketLaw, delta_of, epsilon_of


def product_law(first: dict, second: dict) -> dict:
    """Of two independent rounds; values are pairs."""
    return {(a, b): p * q for (a, p), (b, q) in itertools.product(first.items(), second.items())}


@pytest.mark.parametrize("people", [2, 3, 4])
@pytest.mark.parametrize("channel", [coin(3), mixture(3, 2)], ids=["coin", "three values"])
def test_no_exact_delta_is_above(channel, people: int) -> None:
    """Two and three rounds of all tables and neighbours, written out as whole numbers."""
    size, ratio = len(channel), channel[0][0] / channel[0][1]
    law, step = BlanketLaw.of_mixture(size, ratio), math.log(ratio) / 20
    one = LossDistribution.of_profile(
        lambda e: delta_of(law, anonymity_set=people, epsilon=e), step=step, points=20
    )
    for rounds, epsilon in itertools.product((2, 3), (0.0, 0.3, 0.9, 1.5)):
        exact = max(
            float(excess(_power(shuffled(channel, a), rounds), _power(shuffled(channel, b), rounds),
                         Fraction(math.exp(epsilon))))
            for a, b in neighbours(size, people)
        )  # fmt: skip
        assert exact <= composed_delta([(one, rounds)], epsilon=epsilon)


def _power(law: dict, rounds: int) -> dict:
    """Of a few rounds, with equal likelihood ratios kept apart."""
    whole = law
    for _ in range(rounds - 1):
        whole = product_law(whole, law)
    return whole


losses = st.lists(st.integers(0, 20), min_size=2, max_size=7).filter(any)


@given(losses, losses, st.integers(0, 3), st.integers(1, 4), st.floats(0.0, 2.0))
def test_the_sum_is_the_exact_one(first, second, infinite, times, epsilon) -> None:
    """A direct convolution of whole numbers as second road: never above, hardly below."""
    exact, rounds = {0: Fraction(1)}, []
    for counts, many, lost in ((first, times, infinite), (second, 1, 0)):
        total = sum(counts) + lost
        chance = {at - 2: Fraction(n, total) for at, n in enumerate(counts) if n}
        rounds.append((LossDistribution(0.25, -2, np.array(counts) / total, lost / total), many))
        for _ in range(many):
            sums: dict[int, Fraction] = {}
            for (a, p), (b, q) in itertools.product(exact.items(), chance.items()):
                sums[a + b] = sums.get(a + b, Fraction(0)) + p * q
            exact = sums
    finite = sum(
        float(p) * -math.expm1(epsilon - 0.25 * at)
        for at, p in exact.items()
        if 0.25 * at > epsilon
    )
    delta = 1 - float(sum(exact.values())) + finite
    assert delta * (1 - 1e-12) - 1e-15 <= composed_delta(rounds, epsilon=epsilon)
    assert composed_delta(rounds, epsilon=epsilon) <= delta * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("rounds", [1, 10, 100])
def test_many_records_come_to_the_gaussian_limit(rounds: int) -> None:
    """Within 3 % of a Gaussian mechanism with the same variance, and never below what is exact."""
    law, records = BlanketLaw.of_mixture(10, Fraction(3)), 10_000
    one = _round(law, records)
    mean = math.sqrt(rounds * 2 * 2**2 / (records * 12))

    def above(epsilon: float) -> float:
        ratio = epsilon / mean
        gained = norm.cdf(mean / 2 - ratio) - math.exp(epsilon) * norm.cdf(-mean / 2 - ratio)
        return gained - 1e-6

    limit = brentq(above, 0, 20)
    assert limit * 0.999 < composed_epsilon([(one, rounds)], delta=1e-6) < 1.03 * limit


def _round(law: BlanketLaw, records: int) -> LossDistribution:
    end = epsilon_of([law], anonymity_set=records, delta=1e-10)
    return LossDistribution.of_profile(
        lambda e: delta_of(law, anonymity_set=records, epsilon=e), step=end / 60, points=60
    )


def test_one_round_keeps_its_profile() -> None:
    """At the points of the grid it is the profile, between them hardly above."""
    law = BlanketLaw.of_mixture(4, Fraction(5))
    one = _round(law, 500)
    for place in (3, 10, 10.5, 25):
        epsilon = place * one.step
        stated = delta_of(law, anonymity_set=500, epsilon=epsilon)
        assert stated * (1 - 1e-9) <= composed_delta([(one, 1)], epsilon=epsilon) <= stated * 1.05


def test_different_rounds_may_come_in_any_order() -> None:
    wide, narrow = (
        LossDistribution.of_profile(
            lambda e, law=law: delta_of(law, anonymity_set=100, epsilon=e), step=0.02, points=60
        )
        for law in (BlanketLaw.of_mixture(2, Fraction(3)), BlanketLaw.of_mixture(6, Fraction(2)))
    )
    rounds = [(wide, 2), (narrow, 3)]
    assert composed_delta(rounds, epsilon=0.8) == pytest.approx(
        composed_delta(rounds[::-1], epsilon=0.8), rel=1e-9
    )


def test_a_profile_that_is_not_convex_is_bounded_by_one_that_is() -> None:
    """An upper bound with a dent: the true function is convex and below both its sides."""
    smooth = [0.5, 0.4, 0.32, 0.26, 0.22]
    dented = [0.5, 0.4, 0.36, 0.26, 0.22]
    first, second = (
        LossDistribution.of_profile(lambda e, own=own: own[round(e / 0.1)], step=0.1, points=4)
        for own in (smooth, dented)
    )
    for epsilon in (0.0, 0.15, 0.2, 0.35, 1.0):
        assert composed_delta([(first, 1)], epsilon=epsilon) <= (
            composed_delta([(second, 1)], epsilon=epsilon) + 1e-12
        )
    assert (second.chance >= 0).all()
    assert second.chance.sum() + second.infinite == pytest.approx(1)


def test_what_may_always_happen_leaves_no_epsilon() -> None:
    """An infinite loss more likely than delta; and no loss at all needs none."""
    half = LossDistribution(0.1, 0, np.array([0.5]), 0.5)
    nothing = LossDistribution(0.1, 0, np.array([1.0]), 0.0)

    assert composed_epsilon([(half, 1)], delta=1e-6) == math.inf
    assert composed_delta([(half, 2)], epsilon=3.0) == pytest.approx(0.75)
    assert composed_epsilon([(nothing, 5)], delta=1e-6) == 0.0
