"""Compiled loops of the attacks."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["closest_distances"]


@njit(cache=True, nogil=True, fastmath=True)
def closest_distances(left_numbers, left_codes, right_numbers, right_codes, out):  # type: ignore[no-untyped-def]
    """For each row on the left the smallest distance to a row on the right.

    Numbers count by their absolute difference, codes by whether they differ. The right side comes
    transposed, so that the inner loops run along memory and work on many rows at once.
    """
    rows = right_numbers.shape[1]
    block = 512
    total = np.empty(block, dtype=np.float32)
    out[:] = np.inf
    for begin in range(0, rows, block):  # a block of the right side stays in the cache
        size = min(block, rows - begin)
        for i in range(len(out)):
            if out[i] == 0:
                continue
            for j in range(size):
                total[j] = np.float32(0)
            for d in range(left_numbers.shape[1]):
                x = left_numbers[i, d]
                line = right_numbers[d, begin : begin + size]
                for j in range(size):
                    total[j] += abs(line[j] - x)
            for d in range(left_codes.shape[1]):
                code = left_codes[i, d]
                other = right_codes[d, begin : begin + size]
                for j in range(size):
                    total[j] += np.float32(1) if other[j] != code else np.float32(0)
            best = out[i]
            for j in range(size):
                best = min(best, total[j])
            out[i] = best
