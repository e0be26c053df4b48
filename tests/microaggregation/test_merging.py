"""Neighbours of cells that are asked for some at a time."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.microaggregation import clustering as merging
from pramana.microaggregation.clustering import cluster
from pramana.microaggregation.groups import group_sums


@pytest.mark.parametrize("count", [1, 2, 7, 8, 300])
def test_neighbours_are_the_nearest_points_however_many_are_asked_for_at_a_time(count, monkeypatch):
    """By all distances, written out; itself is the first of every point."""
    monkeypatch.setattr(merging, "PORTION", 7)
    space = np.random.default_rng(count).normal(size=(count, 3))
    gaps = ((space[:, None] - space[None]) ** 2).sum(axis=2)

    found = merging._neighbours(space)

    assert np.array_equal(found, gaps.argsort(axis=1)[:, : merging.NEAR + 1])
    assert found[:, 0].tolist() == list(range(count))


def test_sums_count_each_member_as_often_as_its_weight_says():
    """As if it stood there so many times."""
    rng = np.random.default_rng(1)
    points, labels, weights = rng.normal(size=(40, 2)), np.arange(40) % 6, rng.integers(1, 5, 40)

    found = group_sums(points, labels, weights)

    again = np.repeat(np.arange(40), weights)
    assert np.allclose(found, [points[again][labels[again] == g].sum(axis=0) for g in range(6)])


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float64])
def test_numbers_of_numpy_are_numbers(kind):
    """k and the largest size, of whatever kind: the same groups."""
    points = np.random.default_rng(2).normal(size=(60, 2))

    found = cluster(points, k=kind(3), max_size=kind(7))

    assert np.array_equal(found, cluster(points, k=3, max_size=7))
