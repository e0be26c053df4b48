"""The distance between records with keys of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.errors import InvalidTable, TooLarge
from pramana.microaggregation.groups import Key, embed, standardise

NAN = float("nan")


def gap(points, i, j):
    return float(((points[i] - points[j]) ** 2).sum())


def test_numbers_are_standardised():
    """Mean 0 and variance 1 over what is known; constants are 0; huge numbers work."""
    assert standardise(np.array([1.0, 3.0])).tolist() == pytest.approx([-1.0, 1.0])
    assert standardise(np.array([5.0, 5.0, NAN]))[:2].tolist() == [0.0, 0.0]
    assert standardise(np.array([1e300, 3e300])).tolist() == pytest.approx([-1.0, 1.0])


def test_different_categories_are_at_distance_one():
    """Whichever two they are; equal ones at 0; missing is one more category."""
    points = embed([Key("c", np.array([0.0, 1.0, 2.0, 0.0, NAN, NAN]), "unordered")])

    assert gap(points, 0, 1) == gap(points, 1, 2) == gap(points, 0, 4) == pytest.approx(1)
    assert gap(points, 0, 3) == gap(points, 4, 5) == 0


def test_missing_numbers_are_at_the_stated_distance():
    """1 + z^2 from a value z, 0 from another missing one."""
    points = embed([Key("x", np.array([-1.0, 1.0, NAN, NAN]))])

    assert gap(points, 0, 2) == pytest.approx(2)
    assert gap(points, 2, 3) == 0


def test_a_response_counts_with_its_weight():
    """Squared distances of the response are multiplied by w [Wei, eq. 4]."""
    key, response = Key("x", np.zeros(2)), Key("y", np.array([-1.0, 1.0]))

    assert gap(embed([key], responses=[response], weight=2.5), 0, 1) == pytest.approx(10)
    assert gap(embed([key], responses=[response], weight=0.0), 0, 1) == 0


def test_what_cannot_be_measured_is_refused():
    """Infinite values, and more categories than coordinates can hold, with column and count."""
    with pytest.raises(InvalidTable, match="'x'.* 2 records"):
        Key("x", np.array([1.0, np.inf, -np.inf]))
    with pytest.raises(TooLarge, match="'c' has 600"):
        embed([Key("c", np.arange(600.0), "unordered")])
    with pytest.raises(TooLarge, match="coordinates"):
        embed([Key(str(i), np.arange(300.0), "unordered") for i in range(2)])
