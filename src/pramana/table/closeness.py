"""How far the values of each group are from those of all records [Li07].

The distance is the earth mover's. Between categories every move costs 1: half of the sum of
absolute differences. Between ordered values a move costs the ranks that it passes, as a share of
all of them. Only values that occur in a group are looked at, so that time goes with the records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pramana.types import FloatArray, IntArray

__all__ = ["closeness", "codes_of", "distance_of_groups"]


def codes_of(values: ArrayLike) -> tuple[IntArray, int, bool]:
    """A code a value, in their order; that of missing ones, above all; whether they are numbers.

    >>> codes_of(["b", None, "a", "b"])
    (array([1, 2, 0, 1]), 2, False)
    """
    array = np.asarray(values)
    number = bool(np.issubdtype(array.dtype, np.number))
    gone = np.asarray(array != array, dtype=bool) if number else np.array(
        [value is None or value != value for value in array.tolist()], dtype=bool
    )  # fmt: skip
    present = array[~gone] if number else np.array([str(v) for v in array[~gone].tolist()])
    labels, own = np.unique(present, return_inverse=True)
    codes = np.full(len(array), len(labels), np.int64)
    codes[~gone] = own.ravel()
    return codes, len(labels), number


def closeness(labels: IntArray, codes: IntArray, whole: FloatArray, *, ordered: bool) -> FloatArray:
    """Distance of every group's distribution to that of the whole table, in [0, 1]."""
    pairs, counts = np.unique(labels * whole.size + codes, return_counts=True)
    group, value = pairs // whole.size, pairs % whole.size
    share = counts / np.bincount(labels)[group]
    return distance_of_groups(group, value, share, whole, ordered=ordered)


def distance_of_groups(
    group: IntArray, value: IntArray, share: FloatArray, overall: FloatArray, *, ordered: bool
) -> FloatArray:
    """The same from the share of each value that occurs in a group."""
    return (_ordered_distance if ordered else _equal_distance)(group, value, share, overall)


def _equal_distance(
    group: IntArray, value: IntArray, share: FloatArray, overall: FloatArray
) -> FloatArray:
    """Half the sum of |p - q| is the sum of p - q where positive: only values that occur."""
    excess = np.maximum(share - overall[value], 0)
    return np.asarray(np.bincount(group, weights=excess), dtype=np.float64)


def _ordered_distance(
    group: IntArray, value: IntArray, share: FloatArray, overall: FloatArray
) -> FloatArray:
    """The mean over ranks of |F_group - F|: pieces on which F_group is constant, summed in O(1)."""
    size = len(overall)
    if size == 1:
        return np.zeros(1)
    order = np.lexsort((value, group))
    group, value, share = group[order], value[order], share[order]
    starts = np.concatenate(([True], group[1:] != group[:-1]))
    ends = np.concatenate((starts[1:], [True]))
    level = np.cumsum(share) - (np.cumsum(share) - share)[starts][np.cumsum(starts) - 1]
    below = np.cumsum(overall)
    sums = np.concatenate(([0.0], np.cumsum(below)))
    until = np.where(ends, size, np.append(value[1:], size))
    # |c - F| over the ranks from value to until: F rises and passes c at one place.
    turn = np.clip(np.searchsorted(below, level, side="left"), value, until)
    areas = level * (turn - value) - (sums[turn] - sums[value])
    areas += (sums[until] - sums[turn]) - level * (until - turn)
    areas += np.where(starts, sums[value], 0.0)  # before the first value F_group is 0
    return np.asarray(np.bincount(group, weights=areas) / (size - 1), dtype=np.float64)
