"""Clusterings of the literature: MDAV and greedy k-member clustering.

MDAV, maximum distance to average vector, is the heuristic with fixed group size of Domingo-Ferrer
and Torra [DomingoFerrer05]. The greedy k-member clustering is Byun's, used by the paper
[Wei, sec. 3.1]. The kernels fill arrays that the caller hands in.
"""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from pramana.microaggregation.kernels import kernel, squared
from pramana.types import FloatArray, IntArray


def mdav(points: FloatArray, *, k: int) -> IntArray:
    """Labels of groups of k records, the last of k to 2k - 1. Time grows as n squared over k."""
    n, d = points.shape
    labels = np.full(n, -1, np.int64)
    free, near = np.empty(n, np.int64), np.empty(k, np.int64)
    _mdav(points, k, labels, free, near, np.empty(k), np.empty((1, d)))
    return labels


def greedy(points: FloatArray, *, k: int, first: int = 0) -> IntArray:
    """Labels of floor(n / k) groups; ``first`` is the record that the first start is far from.

    Takes time in proportion to n squared. The paper prints ceil(n / k) groups, which would
    leave one of them short; no more than floor(n / k) groups can have k members.
    """
    n, groups = len(points), len(points) // k
    labels, free, sizes = (np.empty(size, np.int64) for size in (n, n, groups))
    middle = np.empty((groups, points.shape[1]))
    _greedy(points, n, k, first, labels, free, middle, sizes)
    return labels


@kernel
def extreme(points, free, count, centres, g, sign):
    """Position of the free record nearest to (sign 1) or furthest from (-1) a centre."""
    best, at = np.inf, 0
    for i in range(count):
        gap = sign * squared(points, free[i], centres, g)
        if gap < best:
            best, at = gap, i
    return at


@kernel
def admit(points, i, centres, sizes, g):
    """Record i joins group g: its size and its centre follow."""
    sizes[g] += 1
    for c in range(points.shape[1]):
        centres[g, c] += (points[i, c] - centres[g, c]) / sizes[g]


@kernel
def _greedy(points, count, k, first, labels, free, centres, sizes):
    """Byun's k-member clustering of the first ``count`` points [Wei, sec. 3.1].

    A group starts at the record furthest from where the last one started, and takes the
    free record that raises its sum of squares least until it has k members; what is left
    over joins where it costs least. Fills labels, centres, sizes; returns the groups made.
    """
    groups = count // k
    for i in range(count):
        free[i] = i
    for g in range(groups):
        sizes[g] = 0
        at = extreme(points, free, count, points, first, -1.0)
        first = free[at]
        for c in range(points.shape[1]):
            centres[g, c] = points[first, c]
        while sizes[g] < k:
            if sizes[g] > 0:
                at = extreme(points, free, count, centres, g, 1.0)
            labels[free[at]] = g
            admit(points, free[at], centres, sizes, g)
            count -= 1
            free[at] = free[count]
    for i in range(count):
        best, at = np.inf, 0
        for g in range(groups):
            rise = sizes[g] / (sizes[g] + 1.0) * squared(points, free[i], centres, g)
            if rise < best:
                best, at = rise, g
        labels[free[i]] = at
        admit(points, free[i], centres, sizes, at)
    return groups


@kernel
def surround(points, k, free, count, seed, near, far, labels, group):
    """The k free records nearest to ``seed`` become a group; how many are free then."""
    held = 0
    for i in range(count):
        gap = squared(points, free[i], points, seed)
        if held == k and gap >= far[k - 1]:
            continue
        slot = held if held < k else k - 1
        while slot > 0 and far[slot - 1] > gap:
            far[slot], near[slot] = far[slot - 1], near[slot - 1]
            slot -= 1
        far[slot], near[slot] = gap, free[i]
        held = min(held + 1, k)
    for i in range(k):
        labels[near[i]] = group
    kept = 0
    for i in range(count):
        if labels[free[i]] < 0:
            free[kept] = free[i]
            kept += 1
    return kept


@kernel
def _mdav(points, k, labels, free, near, far, centre):
    """Maximum distance to average vector; the last group has k to 2k - 1 members.

    Around the record furthest from the average of the free ones, then around the record
    furthest from that one, the k nearest become a group. ``labels`` comes in as -1.
    """
    n, d = points.shape
    count, group = n, 0
    for i in range(n):
        free[i] = i
    while count >= 2 * k:
        for c in range(d):
            total = 0.0
            for i in range(count):
                total += points[free[i], c]
            centre[0, c] = total / count
        seed = free[extreme(points, free, count, centre, 0, -1.0)]
        other = free[extreme(points, free, count, points, seed, -1.0)]
        pairs = count >= 3 * k
        count = surround(points, k, free, count, seed, near, far, labels, group)
        group += 1
        if pairs:
            count = surround(points, k, free, count, other, near, far, labels, group)
            group += 1
    for i in range(count):
        labels[free[i]] = group
