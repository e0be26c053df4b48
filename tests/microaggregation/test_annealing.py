"""Annealing: its books against sums made anew, its outcome against all partitions there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.microaggregation import kernels
from pramana.microaggregation.groups import centres, group_sums, rank_within, within
from pramana.microaggregation.refinement import CHUNK, TRIES_MOST, anneal, tries_for


def words(number, count):
    return np.random.default_rng(number).integers(-(2**63), 2**63 - 1, size=count)


def partitions(items, k):
    """Every division of the items into groups of k or more."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for chosen in range(2 ** len(rest)):
        group = [first] + [item for at, item in enumerate(rest) if chosen >> at & 1]
        if len(group) >= k:
            left = [item for item in rest if item not in group]
            yield from ([group, *others] for others in partitions(left, k))


@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 3), (10, 4)])
def test_it_finds_the_best_partition_of_a_few_records(n, k):
    """From groups made without looking, on tables with outliers, against brute force.

    The number of groups stays as it is, so the best is that with as many groups.
    """
    for number in range(8):
        points = np.random.default_rng(number).standard_cauchy(size=(n, 2))
        start = np.arange(n) % (n // k)
        best = min(
            sum(float(np.square(points[g] - points[g].mean(axis=0)).sum()) for g in groups)
            for groups in partitions(list(range(n)), k)
            if len(groups) == n // k
        )
        found = anneal(points, start, k=k, limit=2**60, words=[words(number, 10_000 * n)])

        assert within(points, found) == pytest.approx(best, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_it_never_raises_the_sum_and_keeps_both_limits(number):
    """Also with ties, constant columns and no room to move."""
    rng = np.random.default_rng(number)
    k = int(rng.integers(2, 6))
    n = int(rng.integers(2 * k, 60))
    points = np.column_stack([rng.integers(0, 3, n), rng.normal(size=n), np.ones(n)]).astype(float)
    start = np.arange(n) % (n // k)
    limit = int(rng.integers(2 * k - 1, 3 * k))
    found = anneal(points, start, k=k, limit=limit, words=[words(number, 5_000)])

    assert within(points, found) <= within(points, start)
    assert k <= np.bincount(found).min() <= np.bincount(found).max() <= limit


def test_its_books_are_right_after_many_steps():
    """Sums, sizes, lists of members and the level equal those made from the labels."""
    rng = np.random.default_rng(5)
    points, k = rng.normal(size=(60, 3)), 4
    labels = np.arange(60) % 12
    sizes, place = np.bincount(labels), rank_within(labels)
    members = np.zeros((12, 20), np.int64)
    members[labels, place] = np.arange(60)
    inner = np.bincount(labels, np.square(points - centres(points, labels)[labels]).sum(axis=1))
    state = (group_sums(points, labels), sizes, inner, members, place)
    near = np.argsort(np.square(points[:, None] - points).sum(axis=-1), axis=1)[:, 1:9]
    picks = rng.integers(0, 60, size=kernels.PICKS)
    before, best = labels.copy(), labels.copy()
    level = float(inner.sum())
    heat, level, lowest = kernels.annealing_steps(
        points,
        labels,
        best,
        near,
        picks,
        words(1, 50_000),
        state,
        (k, 20, 0.5, 1.0),
        (level, level),
    )

    assert heat == 0.5
    assert (labels != before).any()
    assert level == pytest.approx(within(points, labels))
    assert lowest == pytest.approx(within(points, best))
    np.testing.assert_allclose(state[0], group_sums(points, labels), atol=1e-9)
    np.testing.assert_array_equal(sizes, np.bincount(labels, minlength=12))
    np.testing.assert_array_equal(labels[members[labels, place]], labels)
    np.testing.assert_array_equal(members[labels, place], np.arange(60))


def test_the_tries_are_bounded():
    """Ten thousand a record, and no more than eight million for all."""
    assert sum(tries_for(10)) == 100_000
    assert sum(tries_for(2000)) == TRIES_MOST
    assert max(tries_for(2000)) == CHUNK
