"""pMSE: can a model tell released records from true ones? [Woo09, Snoke18].

Both tables are put together, a logistic regression predicts from which of them a record comes, and
pMSE is the mean squared distance of its predictions from the share of released ones. If both are
samples of the same people, it is p c (1 - c) / N on average, with p free coefficients, N records
and c the share of released ones; the ratio says how much more the model sees than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    cells = np.stack([codes[one_of] for codes in whole], axis=1)
    number = np.bincount(of_record).astype(np.float64)
    hits = np.bincount(of_record, weights=label).astype(np.float64)
    design = _design(cells, sizes)
    chance = float(label.mean())
    fitted = _logistic(design, hits, number)
    pmse = float((number * (fitted - chance) ** 2).sum() / number.sum())
    free = np.linalg.matrix_rank(_products(design, number), hermitian=True) - 1
    expected = max(free, 1) * chance * (1 - chance) / float(number.sum())
    return Propensity(pmse, float(expected))


def _design(cells: Codes, sizes: Sequence[int]) -> Any:
    """A column of ones and, for each column, one for each value but the first; zeros left out."""
    from scipy.sparse import csr_array

    begins = np.cumsum([0, *(size - 1 for size in sizes)])
    places = np.column_stack([np.ones(len(cells), np.int64), cells.astype(np.int64)])
    there = places > 0
    columns = (places + np.array([-1, *begins[:-1]]))[there]
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    shape = (len(cells), int(begins[-1]) + 1)
    return csr_array((np.ones(len(columns)), columns, ends), shape=shape)


def _products(design: Any, weights: FloatArray) -> FloatArray:
    """The weighted sums of products of all pairs of columns."""
    found: FloatArray = (design.T @ design.multiply(weights[:, None]).tocsr()).toarray()
    return found


def _logistic(design: Any, hits: FloatArray, number: FloatArray) -> FloatArray:
    """Fitted probabilities, by Newton's method with a small ridge."""
    weights = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        fitted = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (hits - number * fitted) - RIDGE * weights
        curve = _products(design, number * fitted * (1 - fitted))
        step = np.linalg.solve(curve + RIDGE * np.eye(len(weights)), slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    result: FloatArray = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
    return result
