"""Compiled loops of the attacks."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["best_links", "closest_distances"]

BLOCK = 512
NOTHING = -60.0
"""Scores so far below the best one weigh nothing."""


@njit(cache=True, nogil=True, fastmath=True)
def _distances(numbers, codes, right_numbers, right_codes, begin, differ, total):  # type: ignore[no-untyped-def]
    """From one row to a block of rows; differing codes are counted in integers as small as they."""
    size = len(total)
    differ[:] = 0
    for d in range(len(codes)):
        other = right_codes[d, begin : begin + size]
        code = codes[d]
        for j in range(size):
            differ[j] += other[j] != code
    for j in range(size):
        total[j] = np.float32(differ[j])
    for d in range(len(numbers)):
        line = right_numbers[d, begin : begin + size]
        x = numbers[d]
        for j in range(size):
            total[j] += abs(line[j] - x)


@njit(cache=True, nogil=True, fastmath=True)
def closest_distances(left_numbers, left_codes, right_numbers, right_codes, out):  # type: ignore[no-untyped-def]
    """For each row on the left the smallest distance to a row on the right.

    Numbers count by their absolute difference, codes by whether they differ. The right side comes
    transposed, so that the inner loops run along memory and work on many rows at once.
    """
    rows = right_numbers.shape[1]
    total = np.empty(BLOCK, dtype=np.float32)
    differ = np.empty(BLOCK, dtype=right_codes.dtype)
    out[:] = np.inf
    for begin in range(0, rows, BLOCK):  # a block of the right side stays in the cache
        size = min(BLOCK, rows - begin)
        for i in range(len(out)):
            if out[i] == 0:
                continue
            own, code = left_numbers[i], left_codes[i]
            _distances(own, code, right_numbers, right_codes, begin, differ[:size], total[:size])
            best = out[i]
            for j in range(size):
                best = min(best, total[j])
            out[i] = best


@njit(cache=True, nogil=True)
def best_links(first, second, own, told, bonus, numbers, tie, best, tied, mass):  # type: ignore[no-untyped-def]
    """For each person the highest score, how many records share it, and the mass beside it.

    A score is a sum of two look-ups, one a half of the steps, and of the bonus of the record.
    """
    columns = told.shape[1]
    for i in range(own.shape[1]):
        left, right = first[own[0, i]], second[own[1, i]]
        high = -np.inf
        for j in range(columns):
            high = max(high, left[told[0, j]] + right[told[1, j]] + bonus[j])
        same, total = 0.0, 0.0
        for j in range(columns):
            below = left[told[0, j]] + right[told[1, j]] + bonus[j] - high
            if below >= -tie:
                same += numbers[j]
            if below > NOTHING:
                total += numbers[j] * np.exp(below)
        best[i], tied[i], mass[i] = high, same, total
