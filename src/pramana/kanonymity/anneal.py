"""A last improvement for tables of few records: simulated annealing.

Regrouping neighbours (``refine.py``) ends where no single step pays. Annealing also takes steps
that do not pay, ever more rarely, and so gets out of such corners. It needs thousands of tries a
record, for which there is time where records are few.

Two things are peculiar to it. Heat is relative to how wide the groups at hand are: in tables of
amounts a few groups of outliers are a thousand times as wide as the rest, and one temperature for
all would freeze some while others boil. And members of wide groups are tried more often.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pramana.kanonymity.groups import centres, group_sums, rank_within, within
from pramana.types import FloatArray, IntArray

FEW = 2000
"""Records of a table up to which there is time."""

TRIES_A_RECORD, TRIES_MOST = 10_000, 2**23
CHUNK = 2**18
NEAR = 20
PICKS = 2**16  # entries of the table that says how often a record is tried
HOT, COLD = 0.4, 0.03
"""Heat at the beginning and at the end, in mean squared distances from the centre."""


def tries_for(n: int) -> list[int]:
    """How many words are asked for, chunk by chunk."""
    tries = min(TRIES_MOST, TRIES_A_RECORD * n)
    return [min(CHUNK, tries - begin) for begin in range(0, tries, CHUNK)]


def anneal(
    points: FloatArray, labels: IntArray, *, k: int, limit: int, words: Iterable[IntArray]
) -> IntArray:
    """Groups whose sum of squares is at most that of the given ones.

    Args:
        points: one row a record.
        labels: groups to begin with.
        k: the least size of a group.
        limit: the largest size of a group.
        words: random words, in chunks as ``tries_for`` says.
    """
    from scipy.spatial import cKDTree

    from pramana.kanonymity import kernels_anneal

    around = cKDTree(points).query(points, min(NEAR + 1, len(points)))[1][:, 1:]
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
    now, best = labels.copy(), labels.copy()
    heat, level = HOT, float(inner.sum())
    lowest, cooling = level, (COLD / HOT) ** (1 / sum(tries_for(len(points))))
    for some in words:
        rules = (k, capacity, heat, cooling)
        heat, level, lowest = kernels_anneal.anneal(
            points, now, best, around, picks, some, state, rules, (level, lowest)
        )
    return min(labels, best, key=lambda groups: within(points, groups))


def _picks(width: FloatArray, labels: IntArray, entries: int) -> IntArray:
    """A table of records, in which members of wide groups stand more often."""
    weights = np.sqrt(width)[labels]
    shares = weights / max(weights.sum(), 1e-300) + 0.2 / labels.size
    ends = np.round(np.cumsum(shares) / shares.sum() * entries).astype(np.int64)
    return np.repeat(np.arange(labels.size), np.diff(ends, prepend=0))
