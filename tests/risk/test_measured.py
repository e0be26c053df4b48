"""Shares with intervals, and when a promise counts as broken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.measured_share import Measured, clopper_pearson, wilson
from pramana.errors import DoesNotHold, InvalidNumber


def test_wilson_by_hand():
    """10 of 100 at 95 %: centre (0.1 + 0.019207) / 1.038415, reach by the formula of Wilson."""
    low, high = wilson(10, 100)

    assert (low, high) == pytest.approx((0.0552, 0.1744), abs=5e-5)


def test_clopper_pearson_by_hand():
    """Nothing in 10: the upper end solves (1 - p)**10 = 0.025."""
    assert clopper_pearson(0, 10) == pytest.approx((0, 1 - 0.025**0.1))


@given(st.integers(1, 500), st.data())
def test_intervals_hold_the_share(trials, data):
    """Both intervals contain the observed share, and the ends 0 and 1 where they are observed."""
    hits = data.draw(st.integers(0, trials))
    for interval in (wilson, clopper_pearson):
        low, high = interval(hits, trials)

        assert 0 <= low <= hits / trials <= high <= 1


def test_clopper_pearson_covers_as_often_as_it_says():
    """By summing the binomial law: the exact interval misses a share of 0.07 at most 5 %."""
    from scipy.stats import binom

    chances = binom.pmf(np.arange(61), 60, 0.07)
    covers = [low <= 0.07 <= high for low, high in (clopper_pearson(h, 60) for h in range(61))]

    assert chances[covers].sum() >= 0.95


def test_a_bound_is_broken_only_beyond_the_error_level():
    """52 of 1000 against 5 % is chance; 80 of 1000 is not, and is an error that names both."""
    assert not Measured.of("link", hits=52, trials=1000, bound=0.05).broken
    broken = Measured.of("link", hits=80, trials=1000, bound=0.05, guaranteed_by="pk-anonymity")
    assert broken.broken
    with pytest.raises(
        DoesNotHold, match="8 % of 1,000 records, and pk-anonymity promises at most 5 %"
    ):
        broken.require_bound()


def test_no_bound_cannot_be_broken():
    """An attack without a promise is only reported."""
    Measured.of("link", hits=1000, trials=1000).require_bound()


def test_too_few_records_are_said():
    """An interval needs at least ten trials."""
    with pytest.raises(InvalidNumber, match="at least 10 records to attack, got 9"):
        Measured.of("link", hits=1, trials=9)


@pytest.mark.parametrize(("hits", "trials", "level"), [(-1, 5, 0.9), (6, 5, 0.9), (1, 5, 1.0)])
def test_impossible_numbers_are_refused(hits, trials, level):
    """More hits than trials, or a level of one, have no interval."""
    with pytest.raises(InvalidNumber):
        wilson(hits, trials, level=level)


def test_sentence_says_everything():
    """The sentence has share, interval, guessing, control and promise."""
    text = Measured.of(
        "nearest record", hits=12, trials=1000, baseline=0.001, control=0.002, bound=0.05
    ).sentence()

    assert text == (
        "nearest record: right in 1.2 % of 1,000 attempts (between 0.687 % and 2.09 %); guessing "
        "gives 0.1 %; people who are not in the release 0.2 %; guarantee: at most 5 %."
    )
