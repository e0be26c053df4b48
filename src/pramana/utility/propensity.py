"""pMSE: can a model tell released records from true ones? [Woo09, Snoke18].

Both tables are put together, a logistic regression predicts from which of them a record comes, and
pMSE is the mean squared distance of its predictions from the share of released ones. If both are
samples of the same people, it is p c (1 - c) / N on average, with p free coefficients, N records
and c the share of released ones; the ratio says how much more the model sees than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np

from pramana.errors import InvalidTable
from pramana.table.cells import joint_groups
from pramana.types import Codes, FloatArray, Form

__all__ = ["Propensity", "propensity"]


ROUNDS = 30
RIDGE = 1e-6


@dataclass(frozen=True)
class Propensity:
    """How well released records can be told from true ones.

    Attributes:
        pmse: the mean squared distance from not knowing; 0.25 at most for tables of equal size.
        expected: what chance alone gives.
    """

    pmse: float
    expected: float

    @property
    def ratio(self) -> float:
        """pMSE in units of chance: near 1 the tables cannot be told apart by this model."""
        return self.pmse / self.expected

    def to_json(self) -> Form:
        """A plain form."""
        return {"pmse": self.pmse, "expected": self.expected, "ratio": self.ratio}


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
    """A column of ones and, for each column of codes, one for each value but the first.

    None of them is written out: sums over records are counts of codes.
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
        found = np.zeros((self.width, self.width))
        every = zip(self._columns, self._sizes, self._places, strict=True)
        for (one, size, at), (other, width, there) in combinations_with_replacement(every, 2):
            both = np.bincount(one * width + other, figure, size * width).reshape(size, width)
            found[at, there] = both[1:, 1:]
            found[there, at] = both[1:, 1:].T
        return found


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
