"""Compiled loops of the attacks."""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 512
VANISHING = -500.0
"""Exponentials of scores so far below the top would vanish."""

IMPOSSIBLE = -1e9
"""Scores so low are those of what cannot happen, and swallow what is added to them."""


@njit(cache=True, nogil=True)
def best_links(first, second, people, released, bonus, numbers, tie, best, tied, mass):  # type: ignore[no-untyped-def]
    """For each person the best score, the records that share it, and the weight of all records.

    A score is a sum of two look-ups, one for each half of the steps, and of the bonus of the
    record. Each record represents ``numbers`` equal ones. Weights are products of exponentials,
    each below the top of its half; term by term where these would vanish.
    """
    top = bonus.max()
    weights = np.exp(bonus - top) * numbers
    for i in range(people.shape[1]):
        left, right = first[people[0, i]], second[people[1, i]]
        high = -np.inf
        for j in range(released.shape[1]):
            score = left[released[0, j]] + right[released[1, j]] + bonus[j]
            high = score if score > high else high
        before, after = np.exp(left - left.max()), np.exp(right - right.max())
        below = high - (left.max() + right.max() + top)
        alike, total = 0.0, 0.0
        for j in range(released.shape[1]):
            a, b = released[0, j], released[1, j]
            alike += numbers[j] if left[a] + right[b] + bonus[j] >= high - tie else 0.0
            total += before[a] * after[b] * weights[j]
        if below > VANISHING and high > IMPOSSIBLE:
            total /= np.exp(below)
        else:
            total = 0.0
            for j in range(released.shape[1]):
                score = left[released[0, j]] + right[released[1, j]] + bonus[j]
                total += numbers[j] * np.exp(score - high)
        best[i], tied[i], mass[i] = high, alike, total


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
