"""Compiled loops of the clusterings that the default is compared with: greedy and MDAV.

They work on a float64 array ``points`` (records by columns) and fill arrays that the caller
hands in, as the loops in ``kernels.py`` do.
"""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

import numpy as np

from pramana.kanonymity.kernels import kernel, squared


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
def greedy(points, count, k, first, labels, free, centres, sizes):
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
def mdav(points, k, labels, free, near, far, centre):
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
