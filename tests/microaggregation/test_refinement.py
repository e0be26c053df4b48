"""Improving groups: what is kept, what never rises, and single steps against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.microaggregation.clustering import cluster, merge_cells
from pramana.microaggregation.groups import cells_of, chop, search_space, within
from pramana.microaggregation.refinement import cut, divide, fuse, halve, improve, peel


def words(count, epochs=3):
    rng = np.random.default_rng(1)
    return [rng.integers(-(2**63), 2**63 - 1, size=count) for _ in range(epochs)]


def some_table(number):
    rng = np.random.default_rng(number)
    n = int(rng.integers(30, 200))
    points = np.column_stack([rng.integers(0, 4, n), rng.normal(size=n).round(1)])
    return np.ascontiguousarray(points.astype(float)), int(rng.integers(2, 9))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_improving_never_raises_the_sum_of_squares(number):
    """From whole cells and from any other groups, by both roads, with k kept."""
    points, k = some_table(number)
    anyhow = np.arange(len(points)) % (len(points) // k)
    for labels in (merge_cells(points, k), anyhow):
        for better in (
            improve(points, labels, k=k, limit=2**60, words=words(len(points))),
            halve(points, labels, k=k, limit=2**60),
        ):
            assert within(points, better) <= within(points, labels) * (1 + 1e-9)
            assert np.bincount(better).min() >= k


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_peeling_leaves_large_cells_alone_and_lowers_the_sum(number):
    """No cell of 2k or more shares a group with others, and no group falls below k."""
    points, k = some_table(number)
    labels = merge_cells(points, k)
    peeled = peel(cells_of(points), labels, k)

    assert np.bincount(peeled).min() >= k
    assert within(points, peeled) <= within(points, labels) + 1e-9
    cells = cells_of(points)
    for group in range(peeled.max() + 1):
        inside = cells[peeled == group]
        assert len(set(inside)) == 1 or np.bincount(inside).max() < 2 * k


@given(st.integers(0, 10**6))
def test_whole_groups_are_those_whose_records_are_equal(number):
    """Group by group; whole ones of one value have one label, and no others share theirs."""
    points, _ = some_table(number)
    before = np.unique(np.random.default_rng(number).integers(0, len(points) // 2, len(points)),
                       return_inverse=True)[1]  # fmt: skip
    labels, whole = fuse(cells_of(points), before)

    values = {label: {tuple(p) for p in points[labels == label]} for label in set(labels.tolist())}
    assert [len(values[label]) == 1 for label in sorted(values)] == whole.tolist()
    alone = [next(iter(values[label])) for label in values if whole[label]]
    assert len(alone) == len(set(alone))
    for label in values:
        assert whole[label] or len(set(before[labels == label].tolist())) == 1


def test_fusing_joins_equal_groups_only():
    """Groups of the same single value become one; others stay."""
    points = np.array([1, 1, 1, 1, 2, 2, 1, 2], dtype=float)[:, None]
    labels, whole = fuse(cells_of(points), np.array([0, 0, 1, 1, 2, 2, 3, 3]))

    assert labels[0] == labels[1] == labels[2] == labels[3]
    assert len(set(labels.tolist())) == 3
    assert sorted(whole.tolist()) == [False, True, True]


@given(st.integers(2, 6), st.integers(0, 40), st.integers(0, 10**6))
def test_chopping_keeps_both_limits(k, more, number):
    """Parts of more than 2k - 1 are cut into parts of k to 2k - 1."""
    points = np.random.default_rng(number).normal(size=(k + more, 2))
    sizes = np.bincount(chop(points, np.zeros(k + more, np.int64), 2 * k - 1))

    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


@given(st.integers(2, 4), st.integers(0, 8), st.integers(0, 10**6))
def test_a_cut_is_the_best_along_its_line(k, more, number):
    """Every place of the cut tried by hand."""
    rng = np.random.default_rng(number)
    points, along = rng.normal(size=(2 * k + more, 2)), rng.normal(size=2)
    order, place, found = cut(points, along, k, 2**60)

    n = len(points)
    tried = []
    for size in range(k, n - k + 1):
        labels = np.empty(n, np.int64)
        labels[order] = np.arange(n) >= size
        tried.append(within(points, labels))
    assert found == pytest.approx(min(tried))
    assert tried[place - k] == pytest.approx(found)


def test_a_pair_is_divided_at_the_gap():
    """Two clumps that were mixed up come apart; a good division is left alone."""
    points = np.array([0.0, 10.0, 0.1, 10.1, 0.2, 10.2])[:, None]
    found = divide(points, np.array([0, 1, 2]), np.array([3, 4, 5]), 2, 2**60)

    assert {frozenset(part.tolist()) for part in found} == {
        frozenset({0, 2, 4}),
        frozenset({1, 3, 5}),
    }
    assert divide(points, *found, 2, 2**60) is None


@pytest.mark.parametrize("k", [70, 300])
def test_large_k_is_better_than_mdav_and_greedy(k):
    """On normal numbers, where groups are large."""
    points = np.random.default_rng(2).normal(size=(3000, 3))
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    ours, mdav, greedy = (
        within(points, cluster(points, k=k, method=m)) for m in ("default", "mdav", "greedy")
    )

    assert ours < 0.97 * mdav
    assert ours < 0.97 * greedy


def test_many_columns_are_searched_on_their_main_axes():
    """Distances there never exceed the true ones, and few columns stay as they are."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(6000, 4)) @ rng.normal(size=(4, 30))
    space = search_space(points)

    i, j = rng.integers(0, 6000, size=(2, 500))
    true, seen = (np.linalg.norm(t[i] - t[j], axis=1) for t in (points, space))
    assert space.shape == (6000, 10)
    assert (seen <= true * (1 + 1e-9)).all()
    assert seen == pytest.approx(true)  # four directions are all there is
    assert (search_space(points[:, :5]) == points[:, :5]).all()
