"""Tests of quantiles by randomised groups."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana.analysis.quantiles import OrderedRecords, estimate_quantiles, require_shares
from pramana.analysis.question import Question
from pramana.errors import InvalidNumber, InvalidTable
from pramana.mechanisms.mechanism import Mechanism
from tests.analysis.worlds import kronecker, layout_of, mixtures

SHAPE = (3,)


def ordered(values, places, weights=None):
    w = np.ones(len(values)) if weights is None else weights
    return OrderedRecords.of(
        np.asarray(values, float), np.asarray(places), np.ones(len(values)), w, w * w
    )


def test_without_randomisation_it_is_the_quantile_itself():
    """The smallest value that a share of q or more does not exceed, without an error."""
    layout = layout_of(SHAPE, Mechanism(()))
    values = [1, 2, 3, 4, 10, 20, 5.0, 5.0]
    places = [0, 0, 0, 0, 1, 1, 2, 2]
    found = estimate_quantiles(
        ordered(values, places), layout, of="y", shares=(0.25, 0.5, 0.51), question=Question()
    )
    assert found.by == ("a", "quantile")
    assert found.estimate.tolist() == [[1, 2, 3], [10, 10, 20], [5, 5, 5]]
    assert np.array_equal(found.low, found.estimate)
    assert np.array_equal(found.high, found.estimate)
    assert not found.se.any()


def test_weights_count_as_copies():
    """A weight of two is two records."""
    layout = layout_of(SHAPE, Mechanism(()))
    once = ordered([1, 2, 3, 4.0], [0] * 4, np.array([1, 2, 1, 3.0]))
    twice = ordered([1, 2, 2, 3, 4, 4, 4.0], [0] * 7)
    for share in (0.1, 0.4, 0.6, 0.9):
        made = [
            estimate_quantiles(own, layout, of="y", shares=(share,), question=Question())
            for own in (once, twice)
        ]
        assert made[0].cell("a0")["estimate"] == made[1].cell("a0")["estimate"]
        assert math.isnan(made[0].cell("a1")["estimate"])


@pytest.mark.parametrize("infer", ["records", "population"])
@pytest.mark.deep(every=2)
def test_intervals_hold_as_often_as_they_say(infer):
    """Over 400 releases, 0.95 give or take 4 standard errors of a binomial (level 1e-4), for
    groups of quite different sizes; intervals of one standard error would be found."""
    rng = np.random.default_rng(8)
    layout = layout_of(SHAPE, mixtures(SHAPE, 0.5))
    edges = kronecker(layout).cumsum(axis=1)
    shares, sizes = (0.25, 0.5, 0.9), np.array([600, 300, 100])
    means = np.array([10.0, 14.0, 20.0])
    held, half, truth = [], [], np.repeat(np.arange(3), sizes)
    values = rng.normal(means[truth], 3).round(2)
    for _ in range(400):
        if infer == "population":
            truth = rng.choice(3, 1000, p=sizes / 1000)
            values = rng.normal(means[truth], 3).round(2)
        seen = (rng.random(1000)[:, None] > edges[truth]).sum(axis=1)
        found = estimate_quantiles(
            ordered(values, seen), layout, of="y", shares=shares, question=Question(infer=infer)
        )
        if infer == "records":
            own = [values[truth == group] for group in range(3)]
            right = np.array([np.quantile(v, shares, method="inverted_cdf") for v in own])
        else:
            right = means[:, None] + 3 * np.array([-0.67449, 0.0, 1.28155])
        held.append((found.low <= right) & (right <= found.high))
        half.append(np.abs(right - found.estimate) <= found.se)

    error = 4 * np.sqrt(0.95 * 0.05 / 400)
    assert (np.mean(held, axis=0) > 0.95 - error).all()
    assert abs(np.mean(held) - 0.95) < 0.025
    assert np.mean(half) < 0.95 - error


def test_a_group_that_may_be_empty_has_no_bound():
    """Nobody can tell a quantile of perhaps nobody."""
    layout = layout_of(SHAPE, mixtures(SHAPE, 0.2))
    values, seen = np.arange(30.0), np.arange(30) % 3
    found = estimate_quantiles(
        ordered(values, seen), layout, of="y", shares=(0.5,), question=Question()
    )
    assert math.isinf(found.cell("a0")["high"])
    assert math.isinf(found.cell("a0")["low"])


def test_what_is_refused():
    """Shares outside 0 to 1, and no value at all."""
    for wrong in (0, 1, -0.5, math.nan):
        with pytest.raises(InvalidNumber):
            require_shares([wrong])
    with pytest.raises(InvalidTable, match="value"):
        ordered([np.nan, np.nan], [0, 1])
