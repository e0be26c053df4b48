"""Refinement of groups: regrouping of neighbours, division of pairs, simulated annealing.

For small k, an epoch looks at every group together with some of its nearest groups. Their members
are grouped anew from a greedy start, then moved and swapped while the sum of squares falls. The
better of the old and the new groups are kept: the sum of squares never rises, and no group falls
below k.

For k in the hundreds, trying members one by one costs too much. The members of two groups are lined
up along the line through their centres and cut where the sum of squares is least, with k or more on
either side. Cutting anew along the new centres goes on while it pays.

Small tables are annealed at the end. Regrouping stops where no single step pays; annealing also
takes steps that do not pay, ever more rarely. It needs thousands of trials a record. Two things are
peculiar to it. The temperature is relative to the width of the groups at hand: in tables of amounts
a few groups of outliers are a thousand times as wide as the rest, and one temperature for all would
freeze some while others boil. And members of wide groups are tried more often.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pramana.microaggregation import kernels
from pramana.microaggregation.groups import (
    cells_of,
    centres,
    chop,
    compact,
    group_sums,
    rank_within,
    search_space,
    within,
)
from pramana.microaggregation.kernels import PICKS
from pramana.types import BoolArray, FloatArray, IntArray

REACH = 16  # members of a group that are tried for a swap
SMALL = 5000  # records for which there is time to look at more groups together
LARGE = 64  # a pool costs k squared: up to this k it pays

PAIR_NEIGHBOURS = 6
SWEEPS = 4
CUTS = 4  # of one pair in a row

FEW = 2000
"""Records of a table up to which there is time."""

TRIES_A_RECORD, TRIES_MOST = 10_000, 2**23
CHUNK = 2**18
ANNEALING_NEIGHBOURS = 20
HOT, COLD = 0.4, 0.03
"""Heat at the beginning and at the end, in mean squared distances from the centre."""


def improve(
    points: FloatArray, labels: IntArray, *, k: int, limit: int, words: Iterable[IntArray]
) -> IntArray:
    """Better groups, after one epoch for each array of random ``words``."""
    cells = cells_of(points)
    labels, whole = fuse(cells, peel(cells, labels, k))
    for epoch_words in words:
        if whole.all():  # every group is one cell: nothing is left to gain
            return labels
        labels = epoch(points, labels, whole, k=k, limit=limit, words=epoch_words)
        labels, whole = fuse(cells, labels)
    return labels


def improve_large(points: FloatArray, labels: IntArray, *, k: int, limit: int) -> IntArray:
    """Better groups for a large k: cut those that are too large, then divide pairs anew."""
    cells = cells_of(points)
    labels = chop(points, peel(cells, labels, k), min(limit, 2 * k - 1))
    return fuse(cells, halve(points, labels, k=k, limit=limit))[0]


def peel(cells: IntArray, labels: IntArray, k: int) -> IntArray:
    """Take large cells out of their groups: a cell that can form a group alone costs nothing.

    The other cells of the group form groups alone too, with as many of the cell's records as it
    lacks. The cell keeps k records or more, and the sum of squares falls.
    """
    count = int(cells.max()) + 1
    while True:
        pairs, place, weights = np.unique(
            labels * count + cells, return_inverse=True, return_counts=True
        )
        group, sizes = pairs // count, np.bincount(labels)
        order = np.lexsort((weights, group))
        last = np.searchsorted(group[order], np.arange(sizes.size), side="right") - 1
        home = order[last]  # the largest cell of every group
        rest = sizes - weights[home]
        whole = (rest > 0) & (weights[home] >= 2 * k)
        if not whole.any():
            return labels
        place = place.ravel()
        at_home = place == home[labels]
        lent = at_home & (rank_within(place) < (k - rest)[labels])
        moved = whole[labels] & (~at_home | lent)
        labels = compact(np.where(moved, labels + sizes.size, labels))


def fuse(cells: IntArray, labels: IntArray) -> tuple[IntArray, BoolArray]:
    """Groups of equal records with one value become one; labels, and which groups are so."""
    cell_of_group = np.empty(int(labels.max()) + 1, np.int64)
    cell_of_group[labels] = cells  # the cell of some member
    homogeneous = np.ones(cell_of_group.size, bool)
    homogeneous[labels[cells != cell_of_group[labels]]] = False
    names = np.where(
        homogeneous, cell_of_group, np.arange(cell_of_group.size) + int(cells.max()) + 1
    )
    joined, names = np.unique(names, return_inverse=True)
    return names.ravel()[labels], joined <= cells.max()


def neighbours_of(middle: FloatArray, near: int) -> tuple[IntArray, IntArray]:
    """A new number for every group, near ones side by side, and the nearest groups of each."""
    from scipy.spatial import cKDTree

    middle = search_space(middle)
    order = cKDTree(middle).indices
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    middle = np.ascontiguousarray(middle[order])
    near = min(near + 1, order.size)
    workers = -1 if order.size > SMALL else 1  # threads take longer to start than few to be found
    nearest = cKDTree(middle).query(middle, near, workers=workers)[1].reshape(order.size, near)
    others = nearest != np.arange(order.size)[:, None]
    others[others.all(axis=1), -1] = False  # equal centres can hide a group from itself
    return place, nearest[others].reshape(order.size, near - 1)


def scratch(k: int, most: int) -> tuple[NDArray[np.generic], ...]:
    """Working arrays for pools of up to ``most`` records."""
    parts, reach = most // k + 1, min(REACH, most)
    return (
        *(np.empty(most, np.int64) for _ in range(4)),
        np.empty(most),
        np.empty((most, most)),
        np.empty((parts, most)),
        np.empty(parts),
        np.empty(parts, np.int64),
        np.empty((2, reach), np.int64),
        np.empty((2, reach)),
    )


def neighbours_in_a_pool(n: int, k: int) -> int:
    """How many nearest groups may be looked at together with a group."""
    if k > REACH:
        return 2
    return 8 if n <= SMALL else 4


def epoch(
    points: FloatArray,
    labels: IntArray,
    whole: BoolArray,
    *,
    k: int,
    limit: int,
    words: IntArray,
) -> IntArray:
    """One look or more at every group and its neighbours; ``whole``: of equal records only."""
    sizes = np.bincount(labels)
    # 2k records of a large cell take part, so that its neighbours can have some; k or more rest.
    large = whole & (sizes >= 3 * k)
    members = np.arange(labels.size)
    if large.any():
        members = np.flatnonzero(~(large[labels] & (rank_within(labels) >= 2 * k)))
    near = neighbours_in_a_pool(members.size, k)
    place, around = neighbours_of(centres(points[members], labels[members]), near)
    order = np.argsort(place[labels[members]], kind="stable")  # members side by side in memory
    members = members[order]
    active_points, active_labels = np.ascontiguousarray(points[members]), place[labels[members]]
    capacity = members.size // k + 1
    lists = (
        np.full(capacity, -1, np.int64),
        np.full(members.size, -1, np.int64),
        np.full(members.size, -1, np.int64),
        np.zeros(capacity, np.int64),
    )
    kernels.link(active_labels, *lists)
    rules = (k, limit, 1e-12 * float(active_points.var(axis=0).sum()))
    pool = scratch(k, 2 * k * (near + 1))
    kernels.rework(
        active_points, active_labels, lists, place.size, around, words[: place.size], rules, pool
    )
    labels = labels + capacity
    labels[members] = active_labels
    return compact(labels)


def cut(points: FloatArray, along: FloatArray, k: int, limit: int) -> tuple[IntArray, int, float]:
    """Order of the points along a line, where to cut it, and the sum of squares then.

    The sum of squares within two parts is that of all points about 0 less |sum|^2 / size of each.
    """
    order = np.argsort(points @ along, kind="stable")
    sums = np.cumsum(points[order], axis=0)
    sizes = np.arange(k, len(points) - k + 1)
    left, whole = sums[sizes - 1], sums[-1]
    explained = np.square(left).sum(axis=1) / sizes
    explained += np.square(whole - left).sum(axis=1) / (len(points) - sizes)
    explained[np.maximum(sizes, len(points) - sizes) > limit] = -np.inf
    best = int(explained.argmax())
    return order, int(sizes[best]), float(np.square(points).sum() - explained[best])


def divide(
    points: FloatArray, first: IntArray, second: IntArray, k: int, limit: int
) -> tuple[IntArray, IntArray] | None:
    """A better division of the members of two groups, or None."""
    members, size, better = np.concatenate([first, second]), len(first), False
    centred = points[members] - points[members].mean(axis=0)  # near 0, so that little cancels
    halves = centred[:size], centred[size:]
    best = sum(float(np.square(half - half.mean(axis=0)).sum()) for half in halves)
    for _ in range(CUTS):
        along = centred[:size].mean(axis=0) - centred[size:].mean(axis=0)
        order, place, sum_of_squares = cut(centred, -along, k, limit)
        if not sum_of_squares < best * (1 - 1e-9):
            break
        best, size, better = sum_of_squares, place, True
        members, centred = members[order], centred[order]
    return (members[:size], members[size:]) if better else None


def halve(points: FloatArray, labels: IntArray, *, k: int, limit: int) -> IntArray:
    """Sweeps over all pairs of neighbouring groups, as long as something changes."""
    labels = labels.copy()
    for _ in range(SWEEPS):
        place, around = neighbours_of(centres(points, labels), PAIR_NEIGHBOURS)
        labels = place[labels]
        ends = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        order = np.argsort(labels, kind="stable")
        groups = [order[begin:end] for begin, end in pairwise(ends)]
        changed = False
        for a, row in enumerate(around.tolist()):
            for b in row:
                division = divide(points, groups[a], groups[b], k, limit)
                if division:
                    groups[a], groups[b] = division
                    changed = True
        for name, members in enumerate(groups):
            labels[members] = name
        if not changed:
            break
    return labels


def tries_for(n: int) -> list[int]:
    """How many words are asked for, chunk by chunk."""
    tries = min(TRIES_MOST, TRIES_A_RECORD * n)
    return [min(CHUNK, tries - begin) for begin in range(0, tries, CHUNK)]


def anneal(
    points: FloatArray, labels: IntArray, *, k: int, limit: int, words: Iterable[IntArray]
) -> IntArray:
    """Groups whose sum of squares is at most that of the given ones, by simulated annealing."""
    from scipy.spatial import cKDTree

    around = cKDTree(points).query(points, min(ANNEALING_NEIGHBOURS + 1, len(points)))[1][:, 1:]
    around = np.ascontiguousarray(around)
    sizes = np.bincount(labels)
    capacity = int(min(limit, max(sizes.max() + k, 2 * k)))
    gaps = np.square(points - centres(points, labels)[labels]).sum(axis=1)
    inner = np.bincount(labels, gaps)
    place = rank_within(labels)
    members = np.zeros((sizes.size, capacity), np.int64)
    members[labels, place] = np.arange(labels.size)
    state = (group_sums(points, labels), sizes, inner, members, place)
    picks = _picks(inner / sizes, labels, PICKS)
    current, best = labels.copy(), labels.copy()
    heat, level = HOT, float(inner.sum())
    lowest, cooling = level, (COLD / HOT) ** (1 / sum(tries_for(len(points))))
    for chunk in words:
        rules = (k, capacity, heat, cooling)
        heat, level, lowest = kernels.annealing_steps(
            points, current, best, around, picks, chunk, state, rules, (level, lowest)
        )
    return min(labels, best, key=lambda groups: within(points, groups))


def _picks(width: FloatArray, labels: IntArray, entries: int) -> IntArray:
    """A table of records, in which members of wide groups stand more often."""
    weights = np.sqrt(width)[labels]
    shares = weights / max(weights.sum(), 1e-300) + 0.2 / labels.size
    ends = np.round(np.cumsum(shares) / shares.sum() * entries).astype(np.int64)
    return np.repeat(np.arange(labels.size), np.diff(ends, prepend=0))
