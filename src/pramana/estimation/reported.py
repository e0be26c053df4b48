"""Totals from reports: every report that holds the columns, undone and weighed by precision.

A question about a table is a sum over people of v g(x): v a weight or a value that stays beside
the report, g a function of the true cell, mostly 1 inside a cell of the table and 0 outside. Of a
report y of a set S with retention p, with c = (1 - p) times the mean of g over the cells of S,

    z = v (g(y) - c) / p

has the expectation v g(x): n times the mean of z over the reports of S is unbiased. The sets are
averaged with weights N_S p_S**2, which do not look at the answers, so the average stays unbiased.

The variance is that of independent draws of people, computed from what all sets say together, less
n times the variance of v g among the people: they are all there are, and who answers what is a draw
without replacement among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import InvalidTable
from pramana.types import FloatArray

__all__ = ["ReportedTotals", "SetSums", "totals_of_reports"]


@dataclass(frozen=True, eq=False)
class SetSums:
    """Sums over the reports of one set, one number a cell of the table asked for.

    Attributes:
        reports: How many reports there are, by cell where groups of people are told apart.
        retention: The retention of the set's matrix.
        first: Sums of v g.
        second: Sums of v**2 g**2.
        cross: Sums of v**2 g.
        total: Sums of v.
        squares: Sums of v**2.
        base: Means of g over the set's possible cells.
        base_square: Means of g**2.
    """

    reports: FloatArray
    retention: float
    first: FloatArray
    second: FloatArray
    cross: FloatArray
    total: FloatArray
    squares: FloatArray
    base: FloatArray
    base_square: FloatArray

    @classmethod
    def of_counts(cls, counts: FloatArray, retention: float, base: FloatArray) -> SetSums:
        """The question how many people are in each cell."""
        every = np.full(counts.shape, counts.sum())
        return cls(every, retention, counts, counts, counts, every, every, base, base)

    @property
    def precision(self) -> FloatArray:
        """Reports times squared retention."""
        weight: FloatArray = self.reports * self.retention**2
        return weight

    @property
    def _noise(self) -> FloatArray:
        noise: FloatArray = (1 - self.retention) * self.base
        return noise

    @property
    def _number(self) -> FloatArray:
        """The reports, 1 where there are none: what is divided is 0 there."""
        return np.maximum(self.reports, 1)

    @property
    def step(self) -> FloatArray:
        """What a single report that says something else changes of the mean of z."""
        root: FloatArray = np.sqrt(self.squares / self._number)
        return root / (self.retention * self._number)

    def means(self) -> FloatArray:
        """Unbiased means over people of v g, v**2 g**2 and v**2 g; v**2 itself: four rows."""
        p, n = self.retention, self._number
        noise_square = (1 - p) * self.base_square
        return np.stack(
            [
                (self.first - self._noise * self.total) / (p * n),
                (self.second - noise_square * self.squares) / (p * n),
                (self.cross - self._noise * self.squares) / (p * n),
                self.squares / n,
            ]
        )

    def variance(self, means: FloatArray) -> FloatArray:
        """The variance of the mean of z if these were the means, people drawn anew."""
        first, second, cross, squares = means
        p, c = self.retention, self._noise
        seen_second = p * second + (1 - p) * self.base_square * squares
        seen_cross = p * cross + c * squares
        raw = (seen_second - 2 * c * seen_cross + c**2 * squares) / p**2 - first**2
        spread: FloatArray = np.maximum(raw, 0) / self._number
        return spread


@dataclass(frozen=True, eq=False)
class ReportedTotals:
    """Estimated totals with their variances.

    Attributes:
        totals: Unbiased, and so perhaps below 0.
        people: The variance if the question is about these people.
        population: The variance if they are a sample of many more.
        reports: How many reports hold the table.
        step: What a single report that says something else changes.
    """

    totals: FloatArray
    people: FloatArray
    population: FloatArray
    reports: float
    step: FloatArray


def totals_of_reports(parts: Sequence[SetSums], *, records: FloatArray | float) -> ReportedTotals:
    """The totals of a table among ``records`` people.

    The last axis of the table is what was reported; there may be one before it for groups of
    people that are told apart by columns released as they are.
    """
    if not parts or not any(part.precision.any() for part in parts):
        raise InvalidTable("No report holds all columns of the table. Ask for fewer of them.")
    weights = np.array([part.precision for part in parts])
    silent = weights.sum(axis=0) == 0
    weights /= np.where(silent, 1, weights.sum(axis=0))
    means = np.sum([w * part.means() for w, part in zip(weights, parts, strict=True)], axis=0)
    means[:, silent] = np.nan
    likely = means.copy()
    likely[1] = np.maximum(likely[1], likely[0] ** 2)
    drawn = np.sum(
        [w**2 * part.variance(likely) for w, part in zip(weights, parts, strict=True)], axis=0
    )
    among = np.maximum(likely[1] - likely[0] ** 2, 0)
    people = np.maximum(drawn - among / records, 0)
    scale = records**2
    steps = [w * part.step for w, part in zip(weights, parts, strict=True)]
    step = records * np.max(steps, axis=0)
    return ReportedTotals(records * means[0], scale * people, scale * drawn, _all(parts), step)


def _all(parts: Sequence[SetSums]) -> float:
    """The reports of all sets, each group of people once."""
    return float(sum(part.reports[..., 0].sum() for part in parts))
