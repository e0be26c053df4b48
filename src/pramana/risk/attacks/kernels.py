"""Compiled loops of the attacks."""

from __future__ import annotations

import numpy as np
from numba import njit

from pramana.types import FloatArray, IntArray

BLOCK = 512
LANES = 16
"""People who are looked for at once."""

NOTHING = -60.0
"""Scores so far below the best one weigh nothing."""

FAR = -500.0
"""Exponentials of scores so far below what is possible vanish."""

ABSORBING = -1e9
"""Scores so low stand for what cannot happen, and swallow what is added to them."""


kernel = njit(cache=True, nogil=True)


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


@kernel
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
            row_numbers, row_codes = left_numbers[i], left_codes[i]
            if not len(row_numbers):
                fewest = _fewest_differing(row_codes, right_codes, begin, differ[:size])
                out[i] = min(out[i], np.float32(fewest))
                continue
            _distances(
                row_numbers,
                row_codes,
                right_numbers,
                right_codes,
                begin,
                differ[:size],
                total[:size],
            )
            best = out[i]
            for j in range(size):
                best = min(best, total[j])
            out[i] = best


def best_links(
    first: FloatArray,
    second: FloatArray,
    truths: IntArray,
    released: IntArray,
    bonus: FloatArray,
    numbers: FloatArray,
    tie: float,
    best: FloatArray,
    tied: FloatArray,
    mass: FloatArray,
) -> None:
    """For each person the highest score, how many records share it, and the mass next to it.

    A score is a sum of two look-ups, one a half of the steps, and of the bonus of the record. Some
    people are looked for at once, so that each look-up finds the scores of all of them in a row.
    Records that share their first half stand together: a stretch whose best score could not be high
    enough for any of these people is passed over.
    """
    ends = np.concatenate(
        [[0], np.flatnonzero(released[0, 1:] != released[0, :-1]) + 1, [released.shape[1]]]
    )
    records = (released, bonus, numbers, np.exp(bonus - bonus.max()) * numbers)
    stretches = (ends, np.maximum.reduceat(bonus, ends[:-1]))
    lanes = tuple(np.empty((table.shape[1], LANES)) for table in (first, second) * 2)
    scratch = np.empty((6, LANES))
    _best_links(first, second, truths, records, stretches, tie, lanes, scratch, best, tied, mass)


@kernel
def _best_links(first, second, truths, records, stretches, tie, lanes, scratch, best, tied, mass):  # type: ignore[no-untyped-def]
    """The same, with the largest bonus of each stretch, and arrays to work in.

    Rows of scratch are the tops of both halves, the highest score, how many share it, and two sums.
    """
    released, bonus, numbers, weights = records
    ends, most = stretches
    left, right, before, after = lanes
    top = most[0]
    for s in range(most.size):
        top = max(top, most[s])
    for begin in range(0, truths.shape[1], LANES):
        _look_up(first, truths, 0, begin, left, scratch, 0)
        _look_up(second, truths, 1, begin, right, scratch, 1)
        _highest(left, right, released, bonus, ends, most, scratch)
        _sharing(left, right, released, bonus, ends, most, numbers, tie, scratch)
        _beside(left, right, released, weights, ends, before, after, scratch)
        for i in range(min(LANES, truths.shape[1] - begin)):
            high = scratch[2, i]
            best[begin + i], tied[begin + i] = high, scratch[3, i]
            below = high - (scratch[0, i] + scratch[1, i] + top)
            if below > FAR and high > ABSORBING:
                mass[begin + i] = scratch[4, i] / np.exp(below)
            else:  # products of exponentials would not be what these sums are
                mass[begin + i] = _mass(left, right, i, released, bonus, numbers, high)


@kernel
def _look_up(table, truths, half, begin, lanes, scratch, row):  # type: ignore[no-untyped-def]
    """Rows of a table as columns, filled up by the first one, and the largest number of each."""
    for i in range(LANES):
        person = begin + i if begin + i < truths.shape[1] else begin
        at = truths[half, person]
        top = table[at, 0]
        for value in range(table.shape[1]):
            score = table[at, value]
            lanes[value, i] = score
            top = score if score > top else top
        scratch[row, i] = top


@kernel
def _highest(left, right, released, bonus, ends, most, scratch):  # type: ignore[no-untyped-def]
    for i in range(LANES):
        scratch[2, i] = -np.inf
    for s in range(most.size):
        first_half, wanted = released[0, ends[s]], 0
        for i in range(LANES):
            wanted += left[first_half, i] + scratch[1, i] + most[s] > scratch[2, i]
        for j in range(ends[s], ends[s + 1] if wanted > 0 else ends[s]):
            second_half, more = released[1, j], bonus[j]
            for i in range(LANES):
                score = left[first_half, i] + right[second_half, i] + more
                scratch[2, i] = score if score > scratch[2, i] else scratch[2, i]


@kernel
def _sharing(left, right, released, bonus, ends, most, numbers, tie, scratch):  # type: ignore[no-untyped-def]
    """How many records score as much, but for a tie."""
    for i in range(LANES):
        scratch[3, i] = 0.0
    for s in range(most.size):
        first_half, wanted = released[0, ends[s]], 0
        for i in range(LANES):
            wanted += left[first_half, i] + scratch[1, i] + most[s] >= scratch[2, i] - tie
        for j in range(ends[s], ends[s + 1] if wanted > 0 else ends[s]):
            second_half, more, number = released[1, j], bonus[j], numbers[j]
            for i in range(LANES):
                enough = left[first_half, i] + right[second_half, i] + more >= scratch[2, i] - tie
                scratch[3, i] += number if enough else 0.0


@kernel
def _exponentials(lanes, scratch, row, out):  # type: ignore[no-untyped-def]
    """Of all scores below their top."""
    for value in range(lanes.shape[0]):
        for i in range(LANES):
            out[value, i] = np.exp(lanes[value, i] - scratch[row, i])


@kernel
def _beside(left, right, released, weights, ends, before, after, scratch):  # type: ignore[no-untyped-def]
    """The sum of all exponentials below the tops."""
    _exponentials(left, scratch, 0, before)
    _exponentials(right, scratch, 1, after)
    for i in range(LANES):
        scratch[4, i] = 0.0
    for s in range(ends.size - 1):
        for i in range(LANES):
            scratch[5, i] = 0.0
        for j in range(ends[s], ends[s + 1]):
            second_half, weight = released[1, j], weights[j]
            for i in range(LANES):
                scratch[5, i] += after[second_half, i] * weight
        first_half = released[0, ends[s]]
        for i in range(LANES):
            scratch[4, i] += scratch[5, i] * before[first_half, i]


@kernel
def _mass(left, right, i, released, bonus, numbers, high):  # type: ignore[no-untyped-def]
    """The same sum for one person, term by term."""
    total = 0.0
    for j in range(released.shape[1]):
        below = left[released[0, j], i] + right[released[1, j], i] + bonus[j] - high
        if below > NOTHING:
            total += numbers[j] * np.exp(below)
    return total
