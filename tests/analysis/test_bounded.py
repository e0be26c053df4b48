"""Differences of counts that are off by a bias nobody is told, against chances summed up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana.analysis.counts import withheld_counts
from pramana.analysis.layout import Layout
from pramana.mechanisms.mechanism import Mechanism


def poisson(mean, most=40):
    """The chances of 0, 1, 2, ..."""
    return [math.exp(-mean) * mean**k / math.factorial(k) for k in range(most)]


def counted(counts, error):
    """A column of two values."""
    layout = Layout.of(["sex"], labels={"sex": ("F", "M")}, mechanism=Mechanism(()))
    return withheld_counts(counts, layout, error=error, biased=True)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95])
def test_a_bias_that_is_all_of_the_error_is_inside_whatever_the_level(level):
    """Of 30 and 70, 35 and 65 are released: each is off by its error of 5, none of it chance."""
    found = counted([35, 65], 5.0)

    difference = found.difference("M", "F", level=level)
    ratio = found.ratio("M", "F", level=level)
    assert difference.low <= 70 - 30 <= difference.high
    assert ratio.low <= 70 / 30 <= ratio.high


@pytest.mark.parametrize("moves", [0.1, 0.25, 0.5])
def test_few_who_change_places_are_inside_as_often_as_is_said(moves):
    """As many go from one value to the other as come, on average: one who does changes both."""
    error = max(1.0, math.sqrt(2 * moves))
    chances, held = np.outer(poisson(moves), poisson(moves)), 0.0
    for (gone, come), chance in np.ndenumerate(chances):
        moved = come - gone
        found = counted([100 + moved, 100 - moved], error).difference("F", "M")
        held += float(chance) * (found.low <= 0 <= found.high)
    assert held >= 0.95
