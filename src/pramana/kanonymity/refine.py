"""Improving groups by moving, swapping and regrouping members of neighbouring groups.

An epoch looks at every group together with one or more of its nearest groups. Their members
are grouped anew from a greedy start, then moved and swapped while the sum of squares falls,
and what is better is kept: the sum of squares never rises, and no group falls below k.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pramana.kanonymity.cells import cells_of
from pramana.kanonymity.groups import bounds, centres, compact, rank_within, search_space
from pramana.types import BoolArray, FloatArray, IntArray

REACH = 16  # members of a group that are tried for a swap
SMALL = 5000  # records for which there is time to look at more groups together
LARGE = 64  # a pool costs k squared: up to this k it pays


def improve(
    points: FloatArray, labels: IntArray, *, k: int, limit: int, words: Iterable[IntArray]
) -> IntArray:
    """Better groups, after one epoch for each array of random ``words``."""
    cells = cells_of(points)
    labels, whole = fuse(cells, peel(cells, labels, k))
    for some in words:
        if whole.all():  # every group is one cell: nothing is left to gain
            return labels
        labels = epoch(points, labels, whole, k=k, limit=limit, words=some)
        labels, whole = fuse(cells, labels)
    return labels


def improve_large(points: FloatArray, labels: IntArray, *, k: int, limit: int) -> IntArray:
    """Better groups for a large k: cut those that are too large, then divide pairs anew."""
    from pramana.kanonymity.halving import halve

    cells = cells_of(points)
    labels = chop(points, peel(cells, labels, k), min(limit, 2 * k - 1))
    return fuse(cells, halve(points, labels, k=k, limit=limit))[0]


def peel(cells: IntArray, labels: IntArray, k: int) -> IntArray:
    """Take large cells out of their groups: a cell that can stand alone costs nothing.

    What else is in the group stands alone too, with as many of the cell's records as it
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
    """Groups of equal records that hold the same value become one, at no cost.

    Returns the labels and which groups hold equal records only.
    """
    some = np.empty(int(labels.max()) + 1, np.int64)  # the cell of one member of every group
    some[labels] = cells
    same = np.ones(some.size, bool)
    same[labels[cells != some[labels]]] = False
    names = np.where(same, some, np.arange(some.size) + int(cells.max()) + 1)
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
    found = cKDTree(middle).query(middle, near, workers=workers)[1].reshape(order.size, near)
    others = found != np.arange(order.size)[:, None]
    others[others.all(axis=1), -1] = False  # equal centres can hide a group from itself
    return place, found[others].reshape(order.size, near - 1)


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
    """One look or more at every group with some of its neighbours: ``words`` says with which.

    Groups that hold equal records only are ``whole``.
    """
    from pramana.kanonymity import kernels

    sizes = np.bincount(labels)
    # 2k records of a large cell take part, so that its neighbours can have some; k or more rest.
    large = whole & (sizes >= 3 * k)
    who = np.arange(labels.size)
    if large.any():
        who = np.flatnonzero(~(large[labels] & (rank_within(labels) >= 2 * k)))
    near = neighbours_in_a_pool(who.size, k)
    place, around = neighbours_of(centres(points[who], labels[who]), near)
    order = np.argsort(place[labels[who]], kind="stable")  # members side by side in memory
    who = who[order]
    ours, active = np.ascontiguousarray(points[who]), place[labels[who]]
    capacity = who.size // k + 1
    lists = (
        np.full(capacity, -1, np.int64),
        np.full(who.size, -1, np.int64),
        np.full(who.size, -1, np.int64),
        np.zeros(capacity, np.int64),
    )
    kernels.link(active, *lists)
    rules = (k, limit, 1e-12 * float(ours.var(axis=0).sum()))
    pool = scratch(k, 2 * k * (near + 1))
    kernels.rework(ours, active, lists, place.size, around, words[: place.size], rules, pool)
    labels = labels + capacity
    labels[who] = active
    return compact(labels)


def chop(points: FloatArray, labels: IntArray, limit: int) -> IntArray:
    """Cut groups of more than ``limit`` records into equal parts along their widest column.

    With limit >= 2k - 1 and groups of k or more, no part has fewer than k.
    """
    low, high = bounds(points, labels)
    sizes = np.bincount(labels)
    widest = (high - low).argmax(axis=1)
    along = points[np.arange(labels.size), widest[labels]]
    rank = rank_within(labels, along)
    parts = -(-sizes // limit)
    part = rank * parts[labels] // sizes[labels]
    return compact(labels * (int(parts.max()) + 1) + part)
