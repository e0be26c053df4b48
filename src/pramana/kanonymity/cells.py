"""Merging whole cells in Ward's way until every group has enough members.

A cell is a set of equal records. Each starts as a group of its own; groups that fall short
merge with the group where that raises the within-group sum of squares least,

    rise(A, B) = mA mB / (mA + mB) |cA - cB|^2,

so equal records stay together and a cell of k or more costs nothing. Candidates are the few
nearest centres of a k-d tree, and all groups that fall short merge at once in rounds, so a
million records take seconds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pramana.kanonymity.groups import centres, compact, group_sums, search_space
from pramana.table.cells import joint_groups
from pramana.types import BoolArray, FloatArray, IntArray

NEAR = 6  # centres that are looked at for a partner
MANY = 5000  # cells from which on threads save more than they take to start
PORTION = 2**17  # cells whose neighbours are looked up at a time

Short = Callable[[IntArray, IntArray], BoolArray]


def cells_of(points: FloatArray) -> IntArray:
    """One label a record: equal records, and only those, share it."""
    if points.shape[1] == 0:
        return np.zeros(len(points), np.int64)
    return joint_groups(list(points.T))


def merge_cells(points: FloatArray, k: int) -> IntArray:
    """Labels of groups of at least k records made of whole cells."""
    cells = cells_of(points)
    groups = merge_along(centres(points, cells), np.bincount(cells).astype(np.int64), k)
    return merge_short(points, groups[cells], lambda _, sizes: sizes < k)


def merge_along(values: FloatArray, weights: IntArray, k: int) -> IntArray:
    """Merge cells of fewer than k records with near cells; a group is near if a member is."""
    from scipy.spatial import cKDTree

    from pramana.kanonymity.kernels import offers

    space = search_space(values)
    order = cKDTree(space).indices  # near cells side by side make the search several times faster
    same = space is values
    values, weights = values[order], weights[order]
    graph = _neighbours(values if same else space[order])
    del space  # as large as the values, and of no more use
    labels, middle, sizes = np.arange(len(values)), values, weights
    del values, weights
    while (short := sizes < k).any():
        rise, other = np.full(sizes.size, np.inf), np.zeros(sizes.size, np.int64)
        offers(middle, sizes, short, labels, graph, rise, other)
        who = np.flatnonzero(rise < np.inf)
        if who.size == 0:
            break
        renamed = compact(accept(who, other[who], rise[who], short))
        labels = renamed[labels]
        sums = group_sums(middle, renamed, sizes)
        sizes = np.bincount(renamed, sizes).astype(np.int64)
        middle = sums / sizes[:, None]
    result = np.empty_like(labels)
    result[order] = labels
    return result


def _neighbours(space: FloatArray) -> NDArray[np.int32]:
    """The nearest points of every point, itself among them; asked for some points at a time.

    The search gives distances and wide numbers, several times what is kept of it.
    """
    from scipy.spatial import cKDTree

    tree, near = cKDTree(space), min(NEAR + 1, len(space))
    workers = -1 if len(space) > MANY else 1
    graph = np.empty((len(space), near), np.int32)
    for begin in range(0, len(space), PORTION):
        some = slice(begin, begin + PORTION)
        graph[some] = tree.query(space[some], near, workers=workers)[1].reshape(-1, near)
    return graph


def merge_short(points: FloatArray, labels: IntArray, short: Short) -> IntArray:
    """Merge groups until ``short(labels, sizes)`` is true of none, or one group is left."""
    from scipy.spatial import cKDTree

    while True:
        sizes = np.bincount(labels).astype(np.int64)
        wanting = short(labels, sizes)
        if sizes.size == 1 or not wanting.any():
            return labels
        middle, who = centres(points, labels), np.flatnonzero(wanting)
        space = search_space(middle)
        gap, other = cKDTree(space).query(space[who], min(NEAR + 1, sizes.size))
        ours, theirs = sizes[who, None], sizes[other]
        rise = np.where(other == who[:, None], np.inf, gap**2 * (ours * theirs / (ours + theirs)))
        rows, best = np.arange(who.size), rise.argmin(axis=1)
        labels = compact(accept(who, other[rows, best], rise[rows, best], wanting)[labels])


def accept(who: IntArray, other: IntArray, rise: FloatArray, short: BoolArray) -> IntArray:
    """For every group the group that it joins, itself where it stays.

    ``who`` would join ``other`` at the cost ``rise``, and does unless one of the two has a better
    offer; a group that does not fall short takes all comers. The least rise of all is always
    taken, so every round gets on.
    """
    # Equal offers are told apart by their order, so that two never take each other's partner.
    offer = np.empty(who.size, np.int64)
    offer[np.argsort(rise, kind="stable")] = np.arange(who.size)
    least = np.full(short.size, who.size, np.int64)
    least[who] = offer
    both = short[other]
    np.minimum.at(least, other[both], offer[both])
    taken = (offer == least[who]) & (~both | (offer == least[other]))
    into = np.arange(short.size, dtype=np.int64)
    into[who[taken]] = other[taken]
    return into
