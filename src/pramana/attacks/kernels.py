"""Compiled loops of the attacks."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["best_links", "closest_distances"]

BLOCK = 512
LANES = 16
"""People who are looked for at once."""

NOTHING = -60.0
"""Scores so far below the best one weigh nothing."""

FAR = -500.0
"""Exponentials of scores so far below what is possible vanish."""

ABSORBING = -1e9
"""Scores so low stand for what cannot happen, and swallow what is added to them."""


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


@njit(cache=True, nogil=True)
def _fewest_differing(codes, right_codes, begin, differ):  # type: ignore[no-untyped-def]
    """How many codes differ from the nearest of a block of rows."""
    size = len(differ)
    differ[:] = 0
    for d in range(len(codes)):
        other = right_codes[d, begin : begin + size]
        code = codes[d]
        for j in range(size):
            differ[j] += other[j] != code
    fewest = differ[0]
    for j in range(size):
        fewest = min(fewest, differ[j])
    return fewest


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
            if not len(own):
                fewest = _fewest_differing(code, right_codes, begin, differ[:size])
                out[i] = min(out[i], np.float32(fewest))
                continue
            _distances(own, code, right_numbers, right_codes, begin, differ[:size], total[:size])
            best = out[i]
            for j in range(size):
                best = min(best, total[j])
            out[i] = best


@njit(cache=True, nogil=True)
def best_links(first, second, own, told, bonus, numbers, tie, best, tied, mass):  # type: ignore[no-untyped-def]
    """For each person the highest score, how many records share it, and the mass beside it.

    A score is a sum of two look-ups, one a half of the steps, and of the bonus of the record. Some
    people are looked for at once, so that each look-up finds the scores of all of them in a row.
    Records that share their first half stand together: a stretch whose best score could not be high
    enough for any of these people is passed over.
    """
    factor = np.exp(bonus - bonus.max())
    ends = _stretches(told[0])
    most = _tops_within(bonus, ends)
    for begin in range(0, own.shape[1], LANES):
        people = slice(begin, min(begin + LANES, own.shape[1]))
        left, right = _lanes(first, own[0, people]), _lanes(second, own[1, people])
        high = _highest(left, right, told, bonus, ends, most)
        same = _sharing(left, right, told, bonus, ends, most, numbers, high - tie)
        tops = _tops(left) + _tops(right) + bonus.max()
        total = _beside(left, right, told, factor * numbers, ends)
        for i in range(people.stop - begin):
            best[begin + i], tied[begin + i] = high[i], same[i]
            if high[i] - tops[i] > FAR and high[i] > ABSORBING:
                mass[begin + i] = total[i] / np.exp(high[i] - tops[i])
            else:  # products of exponentials would not be what these sums are
                mass[begin + i] = _mass(left[:, i], right[:, i], told, bonus, numbers, high[i])


@njit(cache=True, nogil=True)
def _stretches(codes):  # type: ignore[no-untyped-def]
    """Where neighbours with the same code begin, and where the last of them end."""
    cuts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate((np.array([0]), cuts, np.array([len(codes)])))


@njit(cache=True, nogil=True)
def _tops_within(values, ends):  # type: ignore[no-untyped-def]
    """The largest value of each stretch."""
    found = np.empty(len(ends) - 1)
    for s in range(len(found)):
        found[s] = values[ends[s] : ends[s + 1]].max()
    return found


@njit(cache=True, nogil=True)
def _lanes(table, rows):  # type: ignore[no-untyped-def]
    """The rows of a table as columns, filled up by the first one."""
    found = np.empty((table.shape[1], LANES))
    for i in range(LANES):
        found[:, i] = table[rows[i if i < len(rows) else 0]]
    return found


@njit(cache=True, nogil=True)
def _tops(lanes):  # type: ignore[no-untyped-def]
    """The largest number of each lane."""
    found = lanes[0].copy()
    for row in range(1, len(lanes)):
        found = np.maximum(found, lanes[row])
    return found


@njit(cache=True, nogil=True)
def _highest(left, right, told, bonus, ends, most):  # type: ignore[no-untyped-def]
    high, tops = np.full(LANES, -np.inf), _tops(right)
    for s in range(len(most)):
        one = left[told[0, ends[s]]]
        if not (one + tops + most[s] > high).any():
            continue
        for j in range(ends[s], ends[s + 1]):
            other, more = right[told[1, j]], bonus[j]
            for i in range(LANES):
                score = one[i] + other[i] + more
                high[i] = score if score > high[i] else high[i]
    return high


@njit(cache=True, nogil=True)
def _sharing(left, right, told, bonus, ends, most, numbers, least):  # type: ignore[no-untyped-def]
    """How many records score at least so much."""
    same, tops = np.zeros(LANES), _tops(right)
    for s in range(len(most)):
        one = left[told[0, ends[s]]]
        if not (one + tops + most[s] >= least).any():
            continue
        for j in range(ends[s], ends[s + 1]):
            other, more, number = right[told[1, j]], bonus[j], numbers[j]
            for i in range(LANES):
                same[i] += number if one[i] + other[i] + more >= least[i] else 0.0
    return same


@njit(cache=True, nogil=True)
def _beside(left, right, told, weights, ends):  # type: ignore[no-untyped-def]
    """The sum of all exponentials below the tops."""
    total, here = np.zeros(LANES), np.zeros(LANES)
    before, after = np.exp(left - _tops(left)), np.exp(right - _tops(right))
    for s in range(len(ends) - 1):
        here[:] = 0
        for j in range(ends[s], ends[s + 1]):
            chance, weight = after[told[1, j]], weights[j]
            for i in range(LANES):
                here[i] += chance[i] * weight
        total += here * before[told[0, ends[s]]]
    return total


@njit(cache=True, nogil=True)
def _mass(left, right, told, bonus, numbers, high):  # type: ignore[no-untyped-def]
    """The same sum for one person, term by term."""
    total = 0.0
    for j in range(told.shape[1]):
        below = left[told[0, j]] + right[told[1, j]] + bonus[j] - high
        if below > NOTHING:
            total += numbers[j] * np.exp(below)
    return total
