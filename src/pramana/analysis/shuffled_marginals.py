"""Tables from rounds that everybody answered: every effect from all rounds that hold it.

A table T is the sum of its effects: of the mean, of single columns beyond it, of pairs beyond
these. With P_U the projection on the effect of the columns U, y_S the counts of a round S undone
by its mixture, and w_SU in proportion to the information p^2 / (1 - p) of the rounds that hold U,

    estimate of T = n / D_T + sum over parts U of T, sum over rounds S that hold U, w_SU P_U y_S.

It is unbiased, and tables that share columns have the same margins of these, as an effect does not
depend on the table. Rounds are independent given the records, so that variances of a combination
h of cells add, and those of a round are those of independent answers:

    (sum over v of h_v^2 y_v - sum over x of N_x (p h_x + (1 - p) mean of h)^2) / p^2.

About a population the variance of a sample of it is added.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
import pyarrow as pa

from pramana.analysis.attribute_sampling import AttributeSamplingReading
from pramana.analysis.attribute_sampling_regression import share_of_cells
from pramana.analysis.attribute_sampling_sums import (
    ReportedTotals,
    ReportSums,
    reporting_of,
)
from pramana.analysis.contrasts import VaryTogether
from pramana.analysis.estimates import Estimate
from pramana.analysis.independence import IndependenceTest
from pramana.analysis.numbers import values_of_numbers
from pramana.analysis.question import Inference, Question
from pramana.analysis.records import ReleasedRecords
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.base.text import counted
from pramana.errors import InvalidNumber, InvalidTable, NotCovered
from pramana.schema.domains import Bins
from pramana.schema.schema import COUNT, REPORTED
from pramana.types import BoolArray, FloatArray

Axes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CountedRound:
    """What a round says about the columns of a table.

    Attributes:
        axes: The columns of the table that it holds, by their places.
        counts: How often each of their cells was answered.
        base: The share of the round's cells in each.
        kept: The retention of its mixture.
    """

    axes: Axes
    counts: FloatArray
    base: FloatArray
    kept: float

    @property
    def information(self) -> float:
        """What it weighs beside other rounds."""
        return self.kept**2 / (1 - self.kept)

    @cached_property
    def undone(self) -> FloatArray:
        """Unbiased counts."""
        whole: FloatArray = (
            self.counts - (1 - self.kept) * self.base * self.counts.sum()
        ) / self.kept
        return whole


@dataclass(frozen=True, eq=False)
class Effects:
    """A table put together from its effects, with the variance of any combination of its cells.

    Attributes:
        shape: How many values each column has.
        rounds: All rounds that hold a column of the table.
        records: How many people there are.
    """

    shape: tuple[int, ...]
    rounds: tuple[CountedRound, ...]
    records: float

    @classmethod
    def of(cls, records: ReleasedRecords, names: Sequence[str]) -> Effects:
        """Of some columns, from the counts of all rounds that hold one of them."""
        schema = records.certificate.schema
        shape = tuple(len(schema.column(name).labels) for name in names)
        rounds = []
        for one in reporting_of(records).sets:
            held = [name for name in names if name in one.columns]
            if held:
                others = tuple(at for at, name in enumerate(one.columns) if name not in held)
                own = [name for name in one.columns if name in held]
                counts = records.rounds[one.name].sum(axis=others)
                counts = counts.transpose([own.index(name) for name in held])
                base = share_of_cells(one, held, schema).reshape(counts.shape)
                axes = tuple(names.index(name) for name in held)
                rounds.append(CountedRound(axes, counts, base, float(one.matrix.retention)))
        return cls(shape, tuple(rounds), float(records.certificate.records))

    @cached_property
    def _weights(self) -> dict[Axes, float]:
        """The information of all rounds together about each effect."""
        found: dict[Axes, float] = {}
        for one in self.rounds:
            for part in _parts(one.axes):
                found[part] = found.get(part, 0.0) + one.information
        return found

    @cached_property
    def table(self) -> FloatArray:
        """The estimated table."""
        found = np.full(self.shape, self.records / prod(self.shape))
        for one in self.rounds:
            found += self._spread(one, self._kernel(one), one.undone)
        return found

    def _kernel(self, one: CountedRound) -> dict[Axes, float]:
        """What cell v of a round counts in cell c of the table, by the coordinates that agree."""
        found = dict.fromkeys(((), *_parts(one.axes)), 0.0)
        for agree in found:
            for part in _parts(one.axes):
                factors = (self.shape[axis] * (axis in agree) - 1 for axis in part)
                weight = one.information / self._weights[part]
                found[agree] += weight * prod(factors) / prod(self.shape)
        return found

    def _spread(
        self, one: CountedRound, kernel: dict[Axes, float], table: FloatArray
    ) -> FloatArray:
        """Sums over v of a function of the coordinates of c and v that agree, times table[v].

        By inclusion and exclusion only margins of the table are needed.
        """
        found = np.zeros(self.shape)
        for part in kernel:
            own = sum(
                (-1) ** (len(part) - len(less)) * kernel[less]
                for less in kernel
                if set(less) <= set(part)
            )
            if own:
                others = tuple(at for at, axis in enumerate(one.axes) if axis not in part)
                margin = table.sum(axis=others)
                places = [self.shape[a] if a in part else 1 for a in range(len(self.shape))]
                found += own * margin.reshape(places)
        return found

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of each cell given the records."""
        found = np.zeros(self.shape)
        for one in self.rounds:
            kernel, p = self._kernel(one), one.kept
            squared = {part: value**2 for part, value in kernel.items()}
            true = self._margin(one.axes)
            mean = self._spread(one, kernel, one.base)
            seen = self._spread(one, squared, one.counts)
            first, second = self._spread(one, kernel, true), self._spread(one, squared, true)
            among = p**2 * second + 2 * p * (1 - p) * mean * first
            found += (seen - among - (1 - p) ** 2 * mean**2 * self.records) / p**2
        return np.maximum(found, 0)

    @cached_property
    def step(self) -> float:
        """What a single answer that is another one changes of a cell, at most."""
        return max(max(map(abs, self._kernel(one).values())) / one.kept for one in self.rounds)

    def _margin(self, axes: Axes) -> FloatArray:
        others = tuple(axis for axis in range(len(self.shape)) if axis not in axes)
        margin: FloatArray = self.table.sum(axis=others)
        return margin

    def coefficients(self, one: CountedRound, combination: FloatArray) -> FloatArray:
        """What each answer of a round counts in a combination of the cells of the table."""
        found = np.zeros([self.shape[axis] for axis in one.axes])
        for part in _parts(one.axes):
            others = tuple(axis for axis in range(len(self.shape)) if axis not in part)
            effect = combination.mean(axis=others)
            for at in range(len(part)):
                effect = effect - effect.mean(axis=at, keepdims=True)
            places = [self.shape[axis] if axis in part else 1 for axis in one.axes]
            found = found + one.information / self._weights[part] * effect.reshape(places)
        return found

    def covariance(
        self, combinations: Sequence[FloatArray], *, infer: Inference = "records"
    ) -> FloatArray:
        """Of combinations of cells, about these records or the population behind them."""
        many = len(combinations)
        found = np.zeros((many, many))
        for one in self.rounds:
            own = np.stack([self.coefficients(one, c).ravel() for c in combinations])
            p, true = one.kept, self._margin(one.axes).ravel()
            mean = own @ one.base.ravel()
            seen = (own * one.counts.ravel()) @ own.T
            moved = p * own + (1 - p) * mean[:, None]
            found += (seen - (moved * true) @ moved.T) / p**2
        if infer == "population":
            cells = np.stack([c.ravel() for c in combinations])
            share = np.maximum(self.table.ravel(), 0) / self.records
            first = cells @ share
            found += self.records * ((cells * share) @ cells.T - np.outer(first, first))
        return found


def _parts(axes: Axes) -> list[Axes]:
    """All parts of some columns, but the empty one."""
    sizes = range(1, len(axes) + 1)
    return [part for size in sizes for part in itertools.combinations(axes, size)]


@dataclass(frozen=True, eq=False)
class AskedCells:
    """The cells that a question asks for, as combinations of the cells of a table of effects.

    Attributes:
        effects: The table of all columns of the question, those of a filter last.
        inside: For each column which of its values the question means.
        asked: How many columns it crosses.
    """

    effects: Effects
    inside: tuple[BoolArray, ...]
    asked: int

    @classmethod
    def of(cls, records: ReleasedRecords, question: Question) -> AskedCells:
        """By the columns of the table and those of its filter."""
        kept = records.kept(question.where)
        names = list(dict.fromkeys((*question.by, *kept)))
        inside = []
        for name in names:
            labels = records.certificate.schema.column(name).labels
            inside.append(np.array([label in kept.get(name, labels) for label in labels]))
        return cls(Effects.of(records, names), tuple(inside), len(question.by))

    @cached_property
    def _meant(self) -> FloatArray:
        """1 in the cells that the filter leaves, 0 in the others."""
        found = np.ones(self.effects.shape)
        for axis, own in enumerate(self.inside):
            places = [-1 if other == axis else 1 for other in range(len(self.inside))]
            found *= own.reshape(places)
        return found

    def summed(self, table: FloatArray) -> FloatArray:
        """A table of effects by the columns that are crossed."""
        found: FloatArray = (table * self._meant).sum(axis=tuple(range(self.asked, table.ndim)))
        return found

    def combination(self, weights: FloatArray) -> FloatArray:
        """The combination of effects that is a combination of the cells asked for."""
        shape = [*weights.shape, *[1] * (len(self.effects.shape) - self.asked)]
        return np.asarray(weights.reshape(shape) * self._meant)

    def variances(self, infer: Inference) -> FloatArray:
        """Of each cell that is asked for."""
        table = self.summed(self.effects.table)
        if self.asked == len(self.inside):
            share = np.maximum(table, 0) / self.effects.records
            sampled = self.effects.records * share * (1 - share) * (infer == "population")
            return self.summed(self.effects.variances) + sampled
        units = np.eye(table.size).reshape(-1, *table.shape)
        of = (self.effects.covariance([self.combination(unit)], infer=infer) for unit in units)
        found: FloatArray = np.maximum([float(one[0, 0]) for one in of], 0).reshape(table.shape)
        return found


@dataclass(frozen=True, eq=False)
class TableTogether(VaryTogether):
    """How the counts of a table vary together.

    Attributes:
        cells: What is asked for.
        infer: About these records or the population behind them.
    """

    cells: AskedCells
    infer: Inference

    @property
    def unbiased(self) -> FloatArray:
        """The counts."""
        return self.cells.summed(self.cells.effects.table)

    @property
    def record(self) -> FloatArray:
        """What a single answer changes; the luck of a sample is no matter of one."""
        return np.full(self.unbiased.shape, self.cells.effects.step * (self.infer == "records"))

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """Of combinations shaped like the table."""
        own = [self.cells.combination(contrast) for contrast in contrasts]
        return self.cells.effects.covariance(own, infer=self.infer)


class ShuffledMarginalsReading(AttributeSamplingReading):
    """Puts tables together from the effects that all rounds tell."""

    def _changed(self, question: Question) -> list[str]:
        """All columns: nothing else is released but the name of the round and its counts."""
        for name in (REPORTED, COUNT):
            if name in question.names:
                raise self._about_rounds(name)
        return self.records.changed(question.names)

    @staticmethod
    def _about_rounds(name: str) -> NotCovered:
        return NotCovered(
            f"'{name}' is about the rounds and says nothing about people: leave it out."
        )

    def _totals(self, sums: ReportSums, question: Question) -> ReportedTotals:
        """The counts of the cells asked for, from all rounds that hold one of their columns."""
        cells = AskedCells.of(self.records, question)
        possible = (sums.bases > 0).any(axis=(0, 1)).reshape(1, -1)

        def laid_out(figure: FloatArray) -> FloatArray:
            flat: FloatArray = np.transpose(figure, np.argsort(sums.order)).reshape(1, -1)
            found: FloatArray = np.where(possible, flat, 0.0)
            return found

        people, population = (cells.variances(infer) for infer in ("records", "population"))
        step = laid_out(np.full(people.shape, cells.effects.step))
        table = laid_out(cells.summed(cells.effects.table))
        return ReportedTotals(table, laid_out(people), laid_out(population), sums.reports, step)

    def _shares(
        self, sums: ReportSums, found: ReportedTotals, question: Question
    ) -> tuple[FloatArray, FloatArray]:
        """Of all records, or of those that meet the filter."""
        if not sums.filtered:
            return found.totals / sums.whole, found.se(question) / sums.whole
        whole = float(found.totals.sum())
        if whole <= 0:
            raise InvalidTable("By the estimate, none of the records meets the filter.")
        cells = AskedCells.of(self.records, question)
        share = cells.summed(cells.effects.table) / whole
        units = np.eye(share.size).reshape(-1, *share.shape)
        se = [
            cells.effects.covariance([cells.combination(unit - own)], infer=question.infer)[0, 0]
            for unit, own in zip(units, share.ravel(), strict=True)
        ]
        errors = np.sqrt(np.maximum(se, 0)).reshape(share.shape) / whole
        order = np.argsort(sums.order)
        return (found.totals / whole, np.transpose(errors, order).reshape(1, -1))

    def _vary(self, sums: ReportSums, found: ReportedTotals, question: Question) -> VaryTogether:
        del sums, found
        return TableTogether(AskedCells.of(self.records, question), question.infer)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Means and totals of a column of numbers, or of the middles of its bins, by its table."""
        for name in (REPORTED, COUNT):
            if name in (*question.names, of):
                raise self._about_rounds(name)
        names = list(dict.fromkeys((*question.by, *(c.column for c in question.where), of)))
        self.records.require(of)
        if not self.mechanism.containing(names):
            raise NotCovered(
                f"No round holds {' and '.join(names)} together, so there is no "
                f"{'total' if total else 'mean'} by them. Ask for fewer columns."
            )
        if self.records.certificate.schema.column(of).gridded:  # rounded once for all rounds
            return values_of_numbers(self, self.records, question, of, total=total)
        numbers = self._numbers(of)
        told = ~np.isnan(numbers)
        if question.beyond is not None:
            labels = self.records.certificate.schema.column(of).labels
            kept = self.records.kept([question.beyond])[of]
            numbers = np.array([float(label in kept) for label in labels])
        crossed = replace(question, by=tuple(dict.fromkeys((*question.by, of))))
        cells = AskedCells.of(self.records, crossed)
        table, axis = cells.summed(cells.effects.table), crossed.by.index(of)
        shape = [-1 if other == axis else 1 for other in range(len(crossed.by))]
        value, people = (np.where(told, own, 0.0).reshape(shape) for own in (numbers, told))
        outside = () if of in question.by else (axis,)
        above, below = ((table * own).sum(axis=outside) for own in (value, people))
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(below > 0, above / below, np.nan)
        estimate = above if total else mean
        se = np.empty_like(estimate)
        for place in np.ndindex(*estimate.shape):
            weights = np.zeros(table.shape)
            inside = (*place, slice(None)) if outside else place
            line = np.moveaxis(weights, axis, -1) if outside else weights
            own = value.ravel() if outside else value.ravel()[place[axis]]
            one = people.ravel() if outside else people.ravel()[place[axis]]
            line[inside] = own if total else (own - mean[place] * one) / below[place]
            if np.isfinite(weights).all():
                found = cells.effects.covariance([cells.combination(weights)], infer=question.infer)
                se[place] = math.sqrt(max(float(found[0, 0]), 0.0))
            else:
                se[place] = np.nan
        wide = question.z(estimate.size) * se
        schema = self.records.certificate.schema
        rounds = len(self.mechanism.containing(names))
        bins = " of the middles of bins" if isinstance(schema.column(of).domain, Bins) else ""
        return Estimate(
            by=question.by,
            labels=tuple(schema.column(name).labels for name in question.by),
            what=f"{'total' if total else 'mean'} of {of}", method="unbiased",
            why=f"{'' if total else 'nearly '}unbiased{bins}, from the effects that all rounds "
                f"tell; {counted(rounds, 'round holds', 'rounds hold')} these columns together.",
            level=question.level, infer=question.infer, estimate=estimate, se=se,
            low=estimate - wide, high=estimate + wide, records=self.records.certificate.records,
            simultaneous=question.simultaneous,
        )  # fmt: skip

    def _numbers(self, of: str) -> FloatArray:
        """The number of each label, nan where it stands for missing."""
        column = self.records.certificate.schema.column(of)
        domain = column.domain
        labels: Sequence[object] = column.labels
        if isinstance(domain, Bins):
            labels = [*domain.centres, *column.labels[domain.size :]]
        gone = () if domain is None else domain.missing_labels
        numbers = [label for label in labels if label is not None and label not in gone]
        if not all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers):
            raise InvalidNumber(
                f"'{of}' must be a column of numbers to have a mean or a total.", column=of
            )
        known = [label in numbers and label not in gone for label in labels]
        return np.array([
            float(label) if good else np.nan  # type: ignore[arg-type]
            for label, good in zip(labels, known, strict=True)
        ])  # fmt: skip

    def quantile(
        self,
        question: Question,  # noqa: ARG002
        of: str,
        *,
        shares: tuple[float, ...],  # noqa: ARG002
    ) -> Estimate:
        """Not of values that are known by their cells alone."""
        raise NotCovered(
            f"Values of '{of}' are known by the cells of tables alone. Ask for its table."
        )

    def _to_fill(self, table: pa.Table) -> pa.Table:
        """No record stays: an empty column for each that is drawn."""
        del table
        certificate = self.records.certificate
        empty = pa.nulls(certificate.records)
        return pa.table({column.name: empty for column in certificate.true_schema.released})

    def independence(self, question: Question) -> IndependenceTest:
        """By the likelihood of the one round that holds both columns."""
        if len(self.mechanism.containing(self._changed(question))) > 1:
            raise NotCovered(
                "Several rounds hold these columns, with the same people in each: there is no "
                "test for that case. Look at the intervals of crosstab instead."
            )
        return super().independence(question)

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:  # noqa: ARG002
        """Not without the answers of one person to several columns."""
        raise NotCovered(
            "Rounds are shuffled apart: no record has the answers to all columns of a model. "
            "Synthesize records and fit the model to them; their standard errors do not include "
            "the noise of the release."
        )
