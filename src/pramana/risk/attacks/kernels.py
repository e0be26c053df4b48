"""Compiled loops of the attacks."""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 512


@njit(cache=True, nogil=True, fastmath=True)
def closest_distances(left_numbers, left_codes, right_numbers, right_codes, out):  # type: ignore[no-untyped-def]
    """For each row on the left the smallest distance to a row on the right.

    Numbers count by their absolute difference, codes by whether they differ. The right side comes
    transposed, so that the inner loops run along memory and work on many rows at once. Differing
    codes are counted in integers as small as the codes.
    """
    rows = right_numbers.shape[1]
    distances = np.empty(BLOCK, dtype=np.float32)
    differing = np.empty(BLOCK, dtype=right_codes.dtype)
    out[:] = np.inf
    for begin in range(0, rows, BLOCK):  # a block of the right side stays in the cache
        size = min(BLOCK, rows - begin)
        for i in range(len(out)):
            if out[i] == 0:
                continue
            differing[:size] = 0
            for d in range(len(right_codes)):
                others = right_codes[d, begin : begin + size]
                code = left_codes[i, d]
                for j in range(size):
                    differing[j] += others[j] != code
            for j in range(size):
                distances[j] = np.float32(differing[j])
            for d in range(len(right_numbers)):
                line = right_numbers[d, begin : begin + size]
                x = left_numbers[i, d]
                for j in range(size):
                    distances[j] += abs(line[j] - x)
            closest = out[i]
            for j in range(size):
                closest = min(closest, distances[j])
            out[i] = closest
