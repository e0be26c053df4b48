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

What a report of some columns says about sums of scores over all columns of a model.

A score is a function f(t) of the true columns t that were reported. Few of its tables are needed:
that of least squares is a sum of products of two terms of the formula, so that pairs of columns say
all of it. With m_j any distribution of column j, M_j the mean over m_j and D_j = 1 - M_j,

    f = sum over sets T of columns of f_T,      f_T = D_T M_(all but T) f,

and f_T depends on the columns of T alone. It is 0 unless the model has a term that needs T. A
report y of a set S with retention p that holds T says about f_T

    (f_T(y) - (1 - p) times the mean of f_T over the cells of S) / p,

which has the mean f_T(t). The sets that hold T are averaged with weights N_S p_S**2, as tables are
(above). Parts of different T are uncorrelated in what is noise, so that averaging
them one by one loses next to nothing; m_j are the shares of the released values.

For f without terms beyond the sets U of a family, f is told by its values where the columns outside
some U stand at a fixed value, their anchor [Kuo10]: with P_j that value,

    f_T = sum over U holding T of D_T (M - P)_(U without T) P_(all but U) f.

So no table of all columns is ever written out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from pramana.errors import InvalidTable
from pramana.types import FloatArray, IntArray


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


Part = frozenset[int]


@dataclass(frozen=True, eq=False)
class Needs:
    """The columns of a model that were reported, and which of them its scores need together.

    Attributes:
        sizes: How many values each column has.
        together: The sets of columns, by their places, that some term needs together.
    """

    sizes: tuple[int, ...]
    together: tuple[Part, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All that is contained in one of the sets, the empty one first."""
        found: dict[Part, None] = {frozenset(): None}
        for whole in sorted(self.together, key=sorted):
            for size in range(1, len(whole) + 1):
                found |= dict.fromkeys(map(frozenset, itertools.combinations(sorted(whole), size)))
        return tuple(sorted(found, key=lambda part: (len(part), sorted(part))))

    @property
    def count(self) -> int:
        """How many points there are."""
        return sum(prod(self.sizes[place] - 1 for place in part) for part in self.parts)

    @cached_property
    def points(self) -> IntArray:
        """The truths at which a score must be known, as codes of the columns: 0 is the anchor."""
        blocks = []
        for part in self.parts:
            shape = [self.sizes[place] - 1 for place in sorted(part)]
            block = np.zeros((prod(shape), len(self.sizes)), dtype=np.int64)
            block[:, sorted(part)] = 1 + np.indices(shape).reshape(len(shape), prod(shape)).T
            blocks.append(block)
        return np.concatenate(blocks)

    def part_of(self, part: Part, shares: Sequence[FloatArray]) -> FloatArray:
        """f_T as a combination of the values at the points: cells of T by points."""
        moved = self.points != 0
        found = np.zeros((prod(self.sizes[place] for place in part), len(self.points)))
        for whole in self.parts:
            if not part <= whole:
                continue
            outside = [place for place in range(len(self.sizes)) if place not in whole]
            factor = (~moved[:, outside].any(axis=1)).astype(np.float64)
            for place in whole - part:
                codes = self.points[:, place]
                factor = factor * (shares[place][codes] - (codes == 0))
            table = factor[None, :]
            for place in sorted(part):
                codes = self.points[:, place]
                own = np.eye(self.sizes[place])[:, codes] - shares[place][codes]
                table = (table[:, None, :] * own[None, :, :]).reshape(-1, len(codes))
            found += table
        return found


@dataclass(frozen=True, eq=False)
class ToldBySet:
    """One set of columns that was asked for.

    Attributes:
        columns: The places of the model's columns among them, in order.
        reports: How many reports there are.
        retention: Of its matrix.
        base: The share of the set's cells in each cell of these columns.
    """

    columns: tuple[int, ...]
    reports: float
    retention: float
    base: FloatArray

    @property
    def precision(self) -> float:
        """What it weighs beside other sets that hold the same."""
        return self.reports * self.retention**2


def rows_of_sets(
    needs: Needs, sets: Sequence[ToldBySet], shares: Sequence[FloatArray]
) -> list[FloatArray]:
    """For each set and each cell of it what a report says: a combination of values at the points.

    Summed over all reports, these combinations have the sum of f over all people as their mean.
    """
    kernels = {part: needs.part_of(part, shares) for part in needs.parts}
    records = sum(one.reports for one in sets)
    told = {part: sum(one.precision for one in _holding(part, sets)) for part in needs.parts}
    found = []
    for one in sets:
        shape = [needs.sizes[place] for place in one.columns]
        rows = np.repeat(kernels[frozenset()], prod(shape), axis=0)
        codes = np.indices(shape).reshape(len(shape), prod(shape))
        for part in needs.parts[1:]:
            if part <= set(one.columns) and told[part] > 0:
                at = np.zeros(codes.shape[1], dtype=np.int64)
                for place in sorted(part):
                    at = at * needs.sizes[place] + codes[one.columns.index(place)]
                own = kernels[part][at]
                own = own - (1 - one.retention) * (one.base @ own)
                rows += own * (records * one.retention / told[part])
        found.append(rows)
    return found


def _holding(part: Part, sets: Iterable[ToldBySet]) -> list[ToldBySet]:
    return [one for one in sets if part <= set(one.columns)]
