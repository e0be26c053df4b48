"""Improving large groups: two neighbours are put together and divided again.

For k in the hundreds, trying members one by one costs too much. Instead the members of two
groups are lined up along the line through their centres and cut where the sum of squares is
least, with k or more on either side. Cutting anew along the new centres goes on while it pays.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pramana.kanonymity.groups import centres
from pramana.types import FloatArray, IntArray

NEAR = 6
SWEEPS = 4
CUTS = 4  # of one pair in a row


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
    points: FloatArray, one: IntArray, two: IntArray, k: int, limit: int
) -> tuple[IntArray, IntArray] | None:
    """A better division of the members of two groups, or None."""
    members, size, better = np.concatenate([one, two]), len(one), False
    ours = points[members] - points[members].mean(axis=0)  # near 0, so that little cancels
    halves = ours[:size], ours[size:]
    best = sum(float(np.square(half - half.mean(axis=0)).sum()) for half in halves)
    for _ in range(CUTS):
        along = ours[:size].mean(axis=0) - ours[size:].mean(axis=0)
        order, place, now = cut(ours, -along, k, limit)
        if not now < best * (1 - 1e-9):
            break
        best, size, better = now, place, True
        members, ours = members[order], ours[order]
    return (members[:size], members[size:]) if better else None


def halve(points: FloatArray, labels: IntArray, *, k: int, limit: int) -> IntArray:
    """Sweeps over all pairs of neighbouring groups, as long as something changes."""
    from pramana.kanonymity.refine import neighbours_of

    labels = labels.copy()
    for _ in range(SWEEPS):
        place, around = neighbours_of(centres(points, labels), NEAR)
        labels = place[labels]
        ends = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        order = np.argsort(labels, kind="stable")
        groups = [order[begin:end] for begin, end in pairwise(ends)]
        changed = False
        for a, row in enumerate(around.tolist()):
            for b in row:
                found = divide(points, groups[a], groups[b], k, limit)
                if found:
                    groups[a], groups[b] = found
                    changed = True
        for name, members in enumerate(groups):
            labels[members] = name
        if not changed:
            break
    return labels
