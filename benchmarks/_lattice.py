"""The law of an estimated count, record by record, and the least that its interval must hold.

A record with truth k is released as l with the chance P_kl and counts B_lg for group g, B being the
inverse of P. So the error of the estimate is a sum of independent terms B_lg - 1{k = g}. Their law
is put together here from the matrix alone: values that meet are merged, and nothing else is known.
"""

from __future__ import annotations

import numpy as np

NEGLIGIBLE = 1e-13
MOST_ATOMS = 20_000
"""More values than these have no chance to speak of each: nothing is forced by any of them."""

Law = tuple[np.ndarray, np.ndarray]


def law_of_error(truth: np.ndarray, matrix: np.ndarray, group: int) -> Law | None:
    """What the estimate of a group may be off by, in order, and the chance of each.

    ``None`` where so many records move that no value has a chance to speak of.
    """
    undone = np.linalg.inv(matrix)[:, group]
    law: Law = (np.zeros(1), np.ones(1))
    for value, people in enumerate(truth):
        if not people:
            continue
        own = _merged(undone - (value == group), matrix[value])
        for digit in bin(int(people))[:1:-1]:
            if digit == "1":
                law = _both(law, own)
            if len(law[0]) > MOST_ATOMS or len(own[0]) > MOST_ATOMS:
                return None
            own = _both(own, own)
            if len(own[0]) * max(len(own[0]), len(law[0])) > MOST_ATOMS**2 / 40:
                return None
    return law


def least_held(law: Law, level: float) -> float:
    """The least chance of a run of neighbouring errors that has ``level`` or more.

    Which estimates an interval with ends that rise with the estimate takes in for a truth is such
    a run, and the chance of the run is how often the interval holds.
    """
    sums = np.concatenate([[0.0], np.cumsum(law[1])])
    ends = np.searchsorted(sums, sums + level - 1e-12)
    reached = ends < len(sums)
    return float((sums[ends[reached]] - sums[reached]).min())


def both_sides_held(law: Law, level: float) -> float:
    """The least of intervals that miss to each side in half of what the level leaves at most."""
    rest = (1 - level) / 2 + 1e-12
    below, above = np.cumsum(law[1]), np.cumsum(law[1][::-1])
    return float(1 - below[below <= rest].max(initial=0) - above[above <= rest].max(initial=0))


def _both(one: Law, two: Law) -> Law:
    """The law of the sum of two independent terms."""
    values = (one[0][:, None] + two[0]).ravel()
    return _merged(values, (one[1][:, None] * two[1]).ravel())


def _merged(values: np.ndarray, chances: np.ndarray) -> Law:
    """In order, those that are the same but for rounding put together."""
    told = chances > NEGLIGIBLE
    values, chances = values[told], chances[told]
    order = np.argsort(values)
    values, chances = values[order], chances[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > 1e-7)
    return values[first], np.add.reduceat(chances, first)
