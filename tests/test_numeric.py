"""Tests of rounding: never to the flattering side."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.rounding import (
    SHARES,
    TOTAL,
    exp_down,
    float_down,
    float_up,
    log_up,
    require_number,
    root_between,
    share_up,
)
from pramana.base.text import text_down, text_up
from pramana.errors import InvalidNumber
from pramana.mechanisms.transition import integer_rows

positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**12)


@given(positive)
def test_floats_enclose_the_fraction(exact):
    """Down is at or below, up at or above, and they are neighbours or equal."""
    low, high = float_down(exact), float_up(exact)

    assert Fraction(low) <= exact <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


@given(st.fractions(min_value=1, max_value=10**30))
def test_log_up_is_above_the_logarithm_and_close(exact):
    """60 digits are the judge."""
    with localcontext(prec=60):
        truth = (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()

    assert Decimal(log_up(exact)) >= truth
    assert log_up(exact) == pytest.approx(float(truth), rel=1e-14, abs=1e-300)


@given(st.floats(0, 690))
def test_exp_down_is_below_the_exponential_and_close(exponent):
    """60 digits are the judge."""
    with localcontext(prec=60):
        truth = Decimal(exponent).exp()
        found = Decimal(exp_down(exponent).numerator) / Decimal(exp_down(exponent).denominator)

    assert found <= truth
    assert float(found) == pytest.approx(float(truth), rel=1e-14)


@pytest.mark.parametrize("exact", [Fraction(n, 7) for n in range(8, 60)] + [Fraction(10**30, 7)])
def test_log_up_allows_for_a_library_that_is_one_unit_low(monkeypatch, exact):
    """No platform promises more of log and log1p."""
    with localcontext(prec=60):
        truth = (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()
    for name in ("log", "log1p"):
        right = getattr(math, name)
        monkeypatch.setattr(math, name, lambda x, own=right: math.nextafter(own(x), -math.inf))
    assert Decimal(log_up(exact)) >= truth


@pytest.mark.parametrize("exponent", [n / 7 for n in range(1, 60)])
def test_exp_down_allows_for_a_library_that_is_one_unit_high(monkeypatch, exponent):
    """No platform promises more of expm1."""
    with localcontext(prec=60):
        truth = Decimal(exponent).exp()
    right = math.expm1
    monkeypatch.setattr(math, "expm1", lambda x: math.nextafter(right(x), math.inf))
    found = exp_down(exponent)
    with localcontext(prec=60):
        assert Decimal(found.numerator) / Decimal(found.denominator) <= truth


@given(st.floats(0, 1))
def test_a_share_is_published_as_the_next_one_up(share):
    """Of the grid, never below, and the one before it is."""
    found = share_up(share)
    place = SHARES.index(found)
    assert found >= share
    assert place == 0 or SHARES[place - 1] < share


def test_unbounded_stays_unbounded():
    """Infinity in, infinity out; a huge exponent stays finite and below."""
    assert log_up(math.inf) == math.inf
    assert float_up(Fraction(10) ** 400) == math.inf
    assert exp_down(1e6) < Fraction(10) ** 400


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8).filter(sum))
def test_integer_rows_sum_to_the_total_and_keep_zeros(counts):
    """Rounding moves each entry by less than one part in 2**50."""
    values = np.array([counts], dtype=float) / sum(counts)
    (weights,) = integer_rows(values)

    assert sum(weights) == TOTAL
    assert [weight == 0 for weight in weights] == [count == 0 for count in counts]
    assert all(
        abs(weight - Fraction(value) * TOTAL) < 2**14
        for weight, value in zip(weights, values[0].tolist(), strict=True)
    )


@pytest.mark.parametrize("value", [-1, math.nan, "5", None, True])
def test_what_is_not_a_number_in_range_is_refused(value):
    """A nan, a text, a truth value: all refused by the same line."""
    with pytest.raises(InvalidNumber, match=r"^k must be a number in \[1, inf\), got "):
        require_number("k", value, low=1)


def test_a_float_and_the_fraction_that_equals_it_are_told_apart():
    """0.7 is the shortest name of a float a little below it; neither text is taken for both."""
    assert (text_down(0.7), text_down(Fraction(0.7))) == ("0.7", "0.6999")
    assert (text_up(Fraction(0.1)), text_up(0.1)) == ("0.1001", "0.1")


@pytest.mark.parametrize("nearness", [2e-12, 1e-3])
def test_roots_are_those_of_scipy_to_the_last_bit(nearness):
    """Steps, ends of an interval, and functions that are flat near the root or steep."""
    from scipy.optimize import brentq

    rng = np.random.default_rng(3)
    for centre, steepness in zip(rng.uniform(-5, 5, 100), rng.uniform(-3, 3, 100), strict=True):

        def function(x, centre=centre, steepness=steepness):
            return math.tanh(math.exp(steepness) * (x - centre)) * (1 + x * x)

        expected = brentq(function, -6, 7, xtol=nearness)
        assert root_between(function, -6, 7, nearness=nearness) == expected
    assert root_between(lambda x: x - 2, 2.0, 3.0) == 2.0
    assert root_between(lambda x: x - 3, 2.0, 3.0) == 3.0
