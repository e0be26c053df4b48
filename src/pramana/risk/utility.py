"""Distances between tables, associations, and models that compare a release with the original.

L1             sum of absolute differences of shares: 0 for the same table, 2 for disjoint ones
intersection   1 - L1 / 2 for tables without negative entries: the share that agrees
Hellinger      sqrt(sum (sqrt p - sqrt q)**2 / 2): like L1, but rare cells count for more

Associations of two columns: Cramer's V, and the correlation of their positions.

Interval overlap [Karr06]. Of the interval of a figure from the original records and the one from
the release: the share of each that the other covers, averaged.

pMSE [Woo09, Snoke18]. A logistic regression predicts whether a record is an original or a released
one; pMSE is the mean squared distance of its predictions from the share of released ones. For two
samples of the same people it is p c (1 - c) / N on average, with p free coefficients, N records and
c the share of released ones; the ratio says how much more the model sees than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable
from pramana.schema.joint_cells import joint_groups
from pramana.types import Codes, FloatArray


@dataclass(frozen=True)
class TableDistance:
    """The distances between two tables.

    >>> TableDistance.between([50, 50], [60, 40])
    TableDistance(l1=0.2, intersection=0.9, hellinger=0.0712)
    """

    l1: float
    intersection: float
    hellinger: float

    @classmethod
    def between(cls, truth: ArrayLike, other: ArrayLike) -> TableDistance:
        """Of two tables with the same cells; negative estimates count as none for the shares."""
        p, q = shares(truth), shares(other)
        if p.shape != q.shape:
            raise InvalidTable(f"Tables must have the same cells, got {p.shape} and {q.shape}.")
        return cls(
            l1=float(np.abs(p - q).sum()),
            intersection=float(np.minimum(p, q).sum()),
            hellinger=float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)),
        )

    def __repr__(self) -> str:
        numbers = (f"{name}={value:.3g}" for name, value in vars(self).items())
        return f"TableDistance({', '.join(numbers)})"


def shares(table: ArrayLike) -> FloatArray:
    """Shares of all records; negative numbers are none."""
    numbers = np.maximum(np.asarray(table, dtype=np.float64), 0)
    total = float(numbers.sum())
    if not total > 0:
        raise InvalidTable("A table must hold records to be compared, and is empty.")
    result: FloatArray = numbers / total
    return result


def cramers_v(table: ArrayLike) -> float:
    """From 0 for independent columns to 1 where one column determines the other.

    >>> cramers_v([[10, 0], [0, 10]]), round(cramers_v([[10, 10], [10, 10]]), 12)
    (1.0, 0.0)
    """
    joint = _two_way(table)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    occurs = expected > 0
    square = float(((joint - expected)[occurs] ** 2 / expected[occurs]).sum())
    rows, columns = (int((joint.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    least = min(rows, columns) - 1
    return float(np.sqrt(min(square / least, 1.0))) if least > 0 else 0.0


def correlation(table: ArrayLike) -> float:
    """Pearson's correlation with values at their positions: for ordered columns.

    >>> correlation([[5, 0], [0, 5]])
    1.0
    """
    joint = _two_way(table)
    places = [np.arange(size, dtype=np.float64) for size in joint.shape]
    margins = [joint.sum(axis=1), joint.sum(axis=0)]
    centred = [p - float(m @ p) for p, m in zip(places, margins, strict=True)]
    spread = [float(m @ c**2) for c, m in zip(centred, margins, strict=True)]
    if min(spread) <= 0:
        return 0.0
    value = float(centred[0] @ joint @ centred[1]) / float(np.sqrt(spread[0] * spread[1]))
    return float(np.clip(value, -1, 1))


def _two_way(table: ArrayLike) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    joint = shares(table)
    if joint.ndim != 2:
        raise InvalidTable(f"An association is of two columns, got a table of {joint.ndim}.")
    return joint


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


ROUNDS = 30
RIDGE = 1e-6


@dataclass(frozen=True)
class Propensity:
    """How well released records can be distinguished from original ones.

    Attributes:
        pmse: the mean squared distance from not knowing; 0.25 at most for tables of equal size.
        expected: what chance alone gives.
    """

    pmse: float
    expected: float

    @property
    def ratio(self) -> float:
        """pMSE in units of chance: near 1 this model cannot distinguish the tables."""
        return self.pmse / self.expected


def propensity(
    truth: Sequence[Codes], released: Sequence[Codes], sizes: Sequence[int]
) -> Propensity:
    """From codes, one array a column; records that look alike are fitted together."""
    if len(truth) != len(released) or not truth:
        raise InvalidTable("Both tables must have the same columns, at least one.")
    whole = [np.concatenate(pair) for pair in zip(truth, released, strict=True)]
    label = np.concatenate([np.zeros(len(truth[0])), np.ones(len(released[0]))])
    of_record = joint_groups(whole)
    one_of = np.zeros(int(of_record.max()) + 1, np.int64)
    one_of[of_record] = np.arange(len(of_record))
    design = _Design([codes[one_of] for codes in whole], sizes)
    number = np.bincount(of_record).astype(np.float64)
    hits = np.bincount(of_record, weights=label).astype(np.float64)
    chance = float(label.mean())
    fitted = _logistic(design, hits, number)
    pmse = float((number * (fitted - chance) ** 2).sum() / number.sum())
    free = np.linalg.matrix_rank(design.products(number), hermitian=True) - 1
    expected = max(free, 1) * chance * (1 - chance) / float(number.sum())
    return Propensity(pmse, float(expected))


class _Design:
    """A column of ones and, for each column of codes, an indicator of each value but the first.

    No indicator is written out: sums over records are counts of codes.
    """

    def __init__(self, columns: Sequence[Codes], sizes: Sequence[int]) -> None:
        ones = np.ones(len(columns[0]), np.int64)
        self._columns = [ones, *(codes.astype(np.int64) for codes in columns)]
        self._sizes = [2, *sizes]
        ends = np.cumsum([0, *(size - 1 for size in self._sizes)]).tolist()
        self._places = [slice(*pair) for pair in pairwise(ends)]
        self.width = int(ends[-1])

    def scores(self, weights: FloatArray) -> FloatArray:
        """The sum of the weights of each record."""
        total = np.zeros(len(self._columns[0]))
        for codes, place in zip(self._columns, self._places, strict=True):
            total += np.append(0.0, weights[place]).take(codes)
        return total

    def sums(self, figure: FloatArray) -> FloatArray:
        """The sum of a figure over the records of each value."""
        counts = zip(self._columns, self._sizes, strict=True)
        return np.concatenate([np.bincount(codes, figure, size)[1:] for codes, size in counts])

    def products(self, figure: FloatArray) -> FloatArray:
        """The same of each pair of values."""
        products = np.zeros((self.width, self.width))
        every = zip(self._columns, self._sizes, self._places, strict=True)
        for (one, size, at), (other, width, there) in combinations_with_replacement(every, 2):
            both = np.bincount(one * width + other, figure, size * width).reshape(size, width)
            products[at, there] = both[1:, 1:]
            products[there, at] = both[1:, 1:].T
        return products


def _logistic(design: _Design, hits: FloatArray, number: FloatArray) -> FloatArray:
    """Fitted probabilities, by Newton's method with a small ridge."""
    weights = np.zeros(design.width)
    for _ in range(ROUNDS):
        fitted = _chances(design, weights)
        slope = design.sums(hits - number * fitted) - RIDGE * weights
        curve = design.products(number * fitted * (1 - fitted))
        step = np.linalg.solve(curve + RIDGE * np.eye(len(weights)), slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return _chances(design, weights)


def _chances(design: _Design, weights: FloatArray) -> FloatArray:
    chances: FloatArray = 1 / (1 + np.exp(-np.clip(design.scores(weights), -30, 30)))
    return chances
