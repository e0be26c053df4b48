"""Answers from shuffled marginals: every effect of a table from all rounds that hold it.

A table T is the sum of its effects: the mean, single columns beyond it, pairs beyond these. With
P_U the projection on the effect of the columns U, y_S the counts of a round S undone by its
mixture, and w_SU in proportion to the information p^2 / (1 - p) of the rounds that hold U,

    estimate of T = n / D_T + sum over parts U of T, sum over rounds S that hold U, w_SU P_U y_S.

It is unbiased, and tables that share columns agree on their margins, as an effect does not depend
on the table. Rounds are independent given the records, so that variances of a combination h of
cells add up. The variance of a round is the variance of independent answers:

    (sum over v of h_v^2 y_v - sum over x of N_x (p h_x + (1 - p) mean of h)^2) / p^2.

About a population the variance of a sample of it is added.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod

import numpy as np
import pyarrow as pa

from pramana.analysis.association import IndependenceTest
from pramana.analysis.attribute_sampling import AttributeSamplingReading
from pramana.analysis.attribute_sampling_regression import share_of_cells
from pramana.analysis.attribute_sampling_sums import ReportedTotals, ReportSums, reporting_of
from pramana.analysis.estimates import Estimate
from pramana.analysis.numbers import values_of_numbers
from pramana.analysis.question import Inference, Question
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.released_records import ReleasedRecords
from pramana.analysis.variance import JointErrors, errors_of_shares
from pramana.errors import InvalidTable, NotCovered
from pramana.schema.schema import COUNT, REPORTED
from pramana.types import FloatArray

Axes = tuple[int, ...]

BLOCK = 2**22
"""Coefficients that are held at once."""


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
        """Its weight among rounds."""
        return self.kept**2 / (1 - self.kept)

    @cached_property
    def undone(self) -> FloatArray:
        """Unbiased counts."""
        by_chance = (1 - self.kept) * self.base * self.counts.sum()
        return np.asarray((self.counts - by_chance) / self.kept)

    @cached_property
    def parts(self) -> list[Axes]:
        """All parts of its columns, but the empty one."""
        sizes = range(1, len(self.axes) + 1)
        return [part for size in sizes for part in itertools.combinations(self.axes, size)]


@dataclass(frozen=True, eq=False)
class Effects:
    """A table put together from its effects, and the cells that a question asks for.

    Attributes:
        shape: How many values each column has; columns of the filter come last.
        rounds: All rounds that hold a column of the table.
        records: How many people there are.
        asked: How many columns are crossed; all of them where there is no filter.
        inside: 1 in the cells that the filter leaves, 0 in the others.
    """

    shape: tuple[int, ...]
    rounds: tuple[CountedRound, ...]
    records: float
    asked: int | None = None
    inside: FloatArray | float = 1.0

    @classmethod
    def of(cls, records: ReleasedRecords, question: Question) -> Effects:
        """From the counts of all rounds that hold a column of the table or its filter."""
        schema, kept = records.certificate.schema, records.kept(question.where)
        names = list(dict.fromkeys((*question.by, *kept)))
        labels = [schema.column(name).labels for name in names]
        rounds = []
        for one in reporting_of(records).sets:
            held = [name for name in names if name in one.columns]
            if held:
                others = tuple(at for at, name in enumerate(one.columns) if name not in held)
                order = [name for name in one.columns if name in held]
                counts = records.rounds[one.name].sum(axis=others)
                counts = counts.transpose([order.index(name) for name in held])
                base = share_of_cells(one, held, schema).reshape(counts.shape)
                axes = tuple(names.index(name) for name in held)
                rounds.append(CountedRound(axes, counts, base, float(one.matrix.retention)))
        masks = [
            np.array([label in kept.get(name, (label,)) for label in values], dtype=np.float64)
            for name, values in zip(names, labels, strict=True)
        ]
        inside = prod(np.ix_(*masks), start=np.ones(()))
        shape, number = tuple(map(len, labels)), float(records.certificate.records)
        return cls(shape, tuple(rounds), number, len(question.by), np.asarray(inside))

    @cached_property
    def _weights(self) -> dict[Axes, float]:
        """The information of all rounds together about each effect."""
        information: dict[Axes, float] = {}
        for one in self.rounds:
            for part in one.parts:
                information[part] = information.get(part, 0.0) + one.information
        return information

    @cached_property
    def whole(self) -> FloatArray:
        """The estimated table of all columns, those of the filter included."""
        table = np.full(self.shape, self.records / prod(self.shape))
        for one in self.rounds:
            for part in one.parts:
                others = tuple(at for at, axis in enumerate(one.axes) if axis not in part)
                effect = _centred(one.undone.sum(axis=others)[None])[0]
                places = [size if axis in part else 1 for axis, size in enumerate(self.shape)]
                weight = one.information / self._weights[part] * effect.size / prod(self.shape)
                table += weight * effect.reshape(places)
        return table

    @cached_property
    def table(self) -> FloatArray:
        """The estimated counts of the cells asked for."""
        axes = tuple(range(len(self.shape) if self.asked is None else self.asked, len(self.shape)))
        return np.asarray((self.whole * self.inside).sum(axis=axes))

    def coefficients(self, one: CountedRound, combinations: FloatArray) -> FloatArray:
        """What each answer of a round counts in combinations of the cells of the whole table."""
        counted = np.zeros((len(combinations), *(self.shape[axis] for axis in one.axes)))
        for part in one.parts:
            others = tuple(axis + 1 for axis in range(len(self.shape)) if axis not in part)
            effect = _centred(combinations.mean(axis=others))
            places = [self.shape[axis] if axis in part else 1 for axis in one.axes]
            weight = one.information / self._weights[part]
            counted += weight * effect.reshape(-1, *places)
        return counted

    def covariance(
        self, contrasts: Sequence[FloatArray], *, infer: Inference, diagonal: bool = False
    ) -> FloatArray:
        """The covariance of combinations of the cells asked for, or their variances alone."""

        def inner(a: FloatArray, b: FloatArray) -> FloatArray:
            return np.asarray(np.einsum("ic,ic->i", a, b) if diagonal else a @ b.T)

        stacked = np.stack(list(contrasts))
        shape = [*stacked.shape, *[1] * (len(self.shape) - stacked.ndim + 1)]
        combinations = stacked.reshape(shape) * self.inside
        total: FloatArray = np.zeros(())
        for one in self.rounds:
            counted = self.coefficients(one, combinations).reshape(len(stacked), -1)
            others = tuple(axis for axis in range(len(self.shape)) if axis not in one.axes)
            true, p = self.whole.sum(axis=others).ravel(), one.kept
            moved = p * counted + (1 - p) * (counted @ one.base.ravel())[:, None]
            spread = inner(counted * one.counts.ravel(), counted) - inner(moved * true, moved)
            total = total + spread / p**2
        if infer == "population":
            cells = combinations.reshape(len(stacked), -1)
            share = np.maximum(self.whole.ravel(), 0) / self.records
            mean = (cells @ share)[:, None]
            total = total + self.records * (inner(cells * share, cells) - inner(mean, mean))
        return total

    def variances(self, infer: Inference) -> FloatArray:
        """The variance of each cell asked for."""
        size = self.table.size
        block = max(BLOCK // prod(self.shape), 1)
        parts = []
        for start in range(0, size, block):
            number = min(block, size - start)
            units = np.eye(number, size, start).reshape(number, *self.table.shape)
            parts.append(self.covariance(list(units), infer=infer, diagonal=True))
        return np.maximum(np.concatenate(parts), 0).reshape(self.table.shape)

    @cached_property
    def step(self) -> float:
        """What a single other answer changes of a cell, at most; the same for all cells."""
        unit = np.zeros((1, *self.shape))
        unit.flat[0] = 1.0
        return max(
            float(np.abs(self.coefficients(one, unit)).max()) / one.kept for one in self.rounds
        )

    def errors(self, infer: Inference) -> JointErrors:
        """How the counts err together; the sample of a population does not depend on an answer."""
        covariance = partial(self.covariance, infer=infer)
        return JointErrors(self.table, covariance, step=self.step * (infer == "records"))


def _centred(effects: FloatArray) -> FloatArray:
    """Tables along a first axis, less their means over every other axis."""
    for axis in range(1, effects.ndim):
        effects = effects - effects.mean(axis=axis, keepdims=True)
    return effects


class ShuffledMarginalsReading(AttributeSamplingReading):
    """Puts tables together from the effects of all rounds."""

    def _changed(self, question: Question) -> list[str]:
        """All columns: only the name of the round and its counts are no values of people."""
        self._refuse_rounds(question.names)
        return self.records.changed(question.names)

    @staticmethod
    def _refuse_rounds(names: Sequence[str]) -> None:
        for name in (REPORTED, COUNT):
            if name in names:
                raise NotCovered(
                    "'{name}' is about the rounds and says nothing about people: leave it out.",
                    name=name,
                )

    def _table(self, sums: ReportSums, question: Question) -> tuple[ReportedTotals, JointErrors]:
        effects = Effects.of(self.records, question)
        possible = (sums.bases > 0).any(axis=(0, 1)).reshape(1, -1)

        def by_cells(figure: FloatArray) -> FloatArray:
            flat = figure.transpose(np.argsort(sums.order)).reshape(1, -1)
            return np.where(possible, flat, 0.0)

        people, population = (by_cells(effects.variances(i)) for i in ("records", "population"))
        step = by_cells(np.full(effects.table.shape, effects.step))
        counts = ReportedTotals(by_cells(effects.table), people, population, sums.reports, step)
        return counts, effects.errors(question.infer)

    def _shares(
        self,
        sums: ReportSums,
        counts: ReportedTotals,
        together: JointErrors,
        question: Question,
    ) -> tuple[FloatArray, FloatArray]:
        whole = sums.whole_of(counts)
        if not sums.filtered:
            return counts.totals / whole, counts.se(question) / whole
        if whole <= 0:
            raise InvalidTable("By the estimate, no original record meets the filter.")
        shares = errors_of_shares(together)
        assert shares is not None and shares.covariance is not None  # noqa: S101, PT018
        units = np.eye(shares.numbers.size).reshape(-1, *shares.numbers.shape)
        variances = np.array([shares.covariance([unit])[0, 0] for unit in units])
        errors = np.sqrt(np.maximum(variances, 0)).reshape(shares.numbers.shape)
        return counts.totals / whole, errors.transpose(np.argsort(sums.order)).reshape(1, -1)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Means and totals of a column of numbers, or of the middles of its bins, by its table."""
        names = [*question.names, of]
        self._refuse_rounds(names)
        self.records.require(of)
        if not self.mechanism.containing(names):
            raise NotCovered(
                "No round contains {names} together, so there is no {total} by them. Ask for "
                "fewer columns.",
                names=" and ".join(dict.fromkeys(names)),
                total="total" if total else "mean",
            )
        return values_of_numbers(self, question, of, total=total)

    def quantile(
        self,
        question: Question,  # noqa: ARG002
        of: str,
        *,
        shares: tuple[float, ...],  # noqa: ARG002
    ) -> Estimate:
        """Refused for values that are known by their cells alone."""
        raise NotCovered(
            "Values of '{of}' are known by the cells of tables alone. Ask for its table.", of=of
        )

    def _to_fill(self, table: pa.Table) -> pa.Table:
        """An empty column for each that is drawn: no released row is a record."""
        del table
        certificate = self.records.certificate
        empty = pa.nulls(certificate.records)
        return pa.table({column.name: empty for column in certificate.true_schema.released})

    def independence(self, question: Question) -> IndependenceTest:
        """By the likelihood of the one round that holds both columns."""
        if len(self.mechanism.containing(self._changed(question))) > 1:
            raise NotCovered(
                "Several rounds contain these columns, with the same people in each: there is no "
                "test for that case. Look at the intervals of crosstab instead."
            )
        return super().independence(question)

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:  # noqa: ARG002
        """Refused: rounds do not hold the answers of one person to several columns."""
        raise NotCovered(
            "Rounds are shuffled independently: no record has the answers to all columns of a "
            "model. Synthesize records and fit the model to them; their standard errors do not "
            "include the noise of the release."
        )
