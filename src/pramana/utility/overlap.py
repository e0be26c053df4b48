"""Interval overlap: would an analyst come to the same conclusion? [Karr06].

The interval of a figure from the true records and the one from the release: the share of each that
the other covers, averaged; 1 where they are the same, 0 where they do not meet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable
from pramana.types import FloatArray

__all__ = ["interval_overlap", "share_intervals"]


def interval_overlap(
    truth: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike]
) -> FloatArray:
    """The overlap of each pair of intervals, given as (lows, highs).

    >>> interval_overlap(([0.0, 0.0], [2.0, 1.0]), ([1.0, 3.0], [2.0, 4.0]))
    array([0.75, 0.  ])
    """
    low, high = (np.asarray(end, dtype=np.float64) for end in truth)
    other_low, other_high = (np.asarray(end, dtype=np.float64) for end in other)
    if low.shape != other_low.shape:
        raise InvalidTable("There must be as many intervals on both sides.")
    meet = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0)
    both = []
    for length in (high - low, other_high - other_low):
        inside = (np.minimum(high, other_high) >= np.maximum(low, other_low)).astype(np.float64)
        both.append(np.divide(meet, length, out=inside, where=length > 0))
    result: FloatArray = (both[0] + both[1]) / 2
    return result


def share_intervals(counts: ArrayLike, *, z: float = 1.96) -> tuple[FloatArray, FloatArray]:
    """Normal intervals of the shares of a population, from counts taken at face value."""
    numbers = np.asarray(counts, dtype=np.float64)
    total = max(float(numbers.sum()), 1.0)
    share = numbers / total
    reach = z * np.sqrt(share * (1 - share) / total)
    return np.clip(share - reach, 0, 1), np.clip(share + reach, 0, 1)
