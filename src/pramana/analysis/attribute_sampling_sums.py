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

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.analysis.attribute_sampling_regression import share_of_cells
from pramana.analysis.contrasts import VaryTogether
from pramana.analysis.counts import off_by, shrunk_words
from pramana.analysis.estimates import Estimate
from pramana.analysis.quantiles import Curve, quantiles_of
from pramana.analysis.question import Inference, Question
from pramana.analysis.records import ReleasedRecords
from pramana.analysis.spectral import leaning
from pramana.analysis.variance import Ratio, bounded_interval, half_a_record
from pramana.engine.base import Condition, SumsAsked, sums_in
from pramana.errors import AlteredRelease, InvalidTable
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import Label
from pramana.release.certificate import Certificate
from pramana.release.released_codes import LOOK, stated_sets
from pramana.schema.codec import encode_released
from pramana.schema.joint_cells import cell_numbers
from pramana.schema.schema import REPORTED, Schema
from pramana.types import FloatArray, IntArray
from pramana.verification.consistency import label_checks


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

    def se(self, question: Question) -> FloatArray:
        """Standard errors about the records, or about the population they were drawn from."""
        return np.sqrt(self.people if question.infer == "records" else self.population)

    def half(self, question: Question) -> FloatArray:
        """Half of what a report changes, left to both sides where few of them make the error.

        Estimates are apart by as much, which is more than a record: among few of them an interval
        of that many errors ends short of the next one. The luck of a sample is no matter of single
        reports.
        """
        half = half_a_record(np.sqrt(self.people), self.step)
        return half if question.infer == "records" else np.zeros_like(half)


@dataclass(frozen=True, eq=False)
class SetSums:
    """Sums over reports: sets by groups of people by cells of a table.

    Groups are told apart by columns released unchanged. Where a sum is the same for all cells, the
    last axis has length 1.

    Attributes:
        reports: How many reports there are.
        retention: The retention of each set's matrix.
        first: Sums of v g.
        second: Sums of v**2 g**2.
        cross: Sums of v**2 g.
        total: Sums of v.
        squares: Sums of v**2.
        base: Means of g over the set's possible cells.
        base_square: Means of g**2.
    """

    reports: FloatArray
    retention: FloatArray
    first: FloatArray
    second: FloatArray
    cross: FloatArray
    total: FloatArray
    squares: FloatArray
    base: FloatArray
    base_square: FloatArray

    def totals(self, people: FloatArray | float) -> ReportedTotals:
        """The totals among all people, undone and averaged over the sets."""
        p, number = self.retention, np.maximum(self.reports, 1)
        weights = set_weights(self.reports, p)
        if not weights.any():
            raise InvalidTable("No report holds all columns of the table. Ask for fewer of them.")
        nobody = ~weights.any(axis=0)
        noise, noise_square = (1 - p) * self.base, (1 - p) * self.base_square

        def mean(seen: FloatArray, by_chance: FloatArray | float) -> FloatArray:
            found = (weights * (seen - by_chance) / (p * number)).sum(axis=0)
            return np.where(nobody, np.nan, found)

        first = mean(self.first, noise * self.total)
        second = np.maximum(mean(self.second, noise_square * self.squares), first**2)
        cross, squares = mean(self.cross, noise * self.squares), mean(p * self.squares, 0.0)
        # The variance of the mean of z if these were the means, people drawn anew.
        seen_second, seen_cross = p * second + noise_square * squares, p * cross + noise * squares
        spread = (seen_second - 2 * noise * seen_cross + noise**2 * squares) / p**2 - first**2
        drawn = (weights**2 * np.maximum(spread, 0) / number).sum(axis=0)
        among = np.maximum(second - first**2, 0)
        steps = weights * np.sqrt(self.squares / number) / (p * number)
        return ReportedTotals(
            people * first,
            people**2 * np.maximum(drawn - among / people, 0),
            people**2 * drawn,
            float(self.reports.sum()),
            np.broadcast_to(people * steps.max(axis=0), first.shape),
        )


def set_weights(reports: FloatArray, retention: FloatArray) -> FloatArray:
    """The share of each set in an average over sets: by reports times squared retention."""
    precision = reports * retention**2
    whole = precision.sum(axis=0)
    return np.asarray(precision / np.where(whole == 0, 1, whole), dtype=np.float64)


def reporting_of(records: ReleasedRecords) -> AttributeSampler:
    """The sets."""
    mechanism = records.certificate.mechanism
    assert isinstance(mechanism, AttributeSampler)  # noqa: S101 - the certificate has looked
    return mechanism


def require_sets(certificate: Certificate) -> None:
    """Refuse a certificate whose sets are not of its columns, hide nothing or tell nothing."""
    if not isinstance(certificate.mechanism, AttributeSampler):
        return
    for check in label_checks(certificate):
        if not check.ok:
            raise AlteredRelease(
                f"The certificate does not fit itself ({check.name}): {check.detail}. {LOOK}"
            )
    if math.isinf(certificate.mechanism.gamma):
        raise AlteredRelease(f"The certificate states reports that are the truth. {LOOK}")
    drawn = (own.matrix for own in certificate.mechanism.sets if own.matrix.size > 1)
    if any(float(matrix.gamma) <= 1 for matrix in drawn):
        raise AlteredRelease(f"The certificate states reports of nothing but chance. {LOOK}")


Inside: TypeAlias = dict[str, tuple[Label, ...]]
"""The labels of reported columns that a filter keeps."""

LIMIT = "the limit that a value reaches"


@dataclass(frozen=True, eq=False)
class ReportSums:
    """Sums over reports, by set, by the values of columns released unchanged, and by cell.

    Attributes:
        labels: The labels of each column of the table.
        order: The place of each column: unchanged ones first, then reported ones.
        shape: The sizes in that order.
        used: The sets that hold the reported columns.
        cells: Sums by name: sets by groups by cells.
        sums: The same over all cells, filtered ones included: sets by groups by 1.
        bases: For each set the share of its cells in each cell of the table: sets by 1 by cells.
        everyone: How many people each group has: groups by 1.
        whole: How many there are, or their weight.
        filtered: Whether a filter on reported columns leaves some people out.
    """

    labels: tuple[tuple[Label, ...], ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]
    used: tuple[AttributeSet, ...]
    cells: dict[str, FloatArray]
    sums: dict[str, FloatArray]
    bases: FloatArray
    everyone: FloatArray
    whole: float
    filtered: bool

    @classmethod
    def of(
        cls,
        records: ReleasedRecords,
        question: Question,
        *,
        value: str | None = None,
        limits: tuple[str, FloatArray] | None = None,
    ) -> ReportSums:
        """Summed up by the engine; with limits also by the first of them that a value reaches."""
        schema, mechanism = records.certificate.schema, reporting_of(records)
        changed = records.changed(question.names)
        kept = [name for name in question.by if name not in changed]
        reported = [name for name in question.by if name in changed]
        inside = records.kept([c for c in question.where if c.column in changed])
        used = mechanism.containing(changed)
        table, alone = _read(records, question, used, value, limits)
        codes, labels = records.coded(table, kept)
        if limits is not None:
            kept, name = [*kept, LIMIT], limits[0]
            values = table.column(name).cast(pa.float64(), safe=False).to_numpy()
            codes[LIMIT] = np.searchsorted(limits[1], values)
            labels[LIMIT] = tuple(limits[1].tolist())
        shape = [len(labels[name]) for name in kept]
        group = cell_numbers([codes[name] for name in kept], shape, records=table.num_rows)
        groups, read = prod(shape), sums_in(table)
        everyone = np.bincount(group, read["n"], groups).astype(np.float64)[:, None]
        whole = float(read["w"].sum())
        if alone:
            whole = float(records.certificate.records)
            everyone = np.full((1, 1), whole)
        size = prod(len(schema.column(name).labels) for name in reported)
        marks = stated_sets(mechanism, table)
        by_set = [np.flatnonzero(marks == mechanism.sets.index(one)) for one in used]
        place = _cells_of(table, reported, inside, schema, np.concatenate(by_set))
        nowhere = np.zeros(table.num_rows, dtype=np.int64)
        names = [*kept, *reported]
        labels |= {name: schema.column(name).labels for name in reported}
        return cls(
            labels=tuple(labels[name] for name in question.by),
            order=tuple(names.index(name) for name in question.by),
            shape=tuple(len(labels[name]) for name in names),
            used=used,
            cells=_summed(read, by_set, group, place, (groups, size)),
            sums=_summed(read, by_set, group, nowhere, (groups, 1)),
            bases=np.stack([share_of_cells(one, reported, schema, inside) for one in used])[
                :, None
            ],
            everyone=everyone,
            whole=whole,
            filtered=bool(inside),
        )

    @property
    def retention(self) -> FloatArray:
        """Of each set: sets by 1 by 1."""
        return np.array([float(one.matrix.retention) for one in self.used])[:, None, None]

    @property
    def reports(self) -> float:
        """How many reports hold the columns."""
        return float(self.sums["n"].sum())

    def weights(self) -> SetSums:
        """The question how many people, or how much weight, are in each cell."""
        return self._asked(self.cells["w"], self.cells["ww"], self.sums["w"], self.sums["ww"])

    def values(self, centre: FloatArray | float = 0.0) -> SetSums:
        """The question what the values less ``centre`` sum up to in each cell."""

        def moved(sums: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
            first = sums["wy"] - centre * sums["w"]
            second = sums["wwyy"] - 2 * centre * sums["wwy"] + centre**2 * sums["ww"]
            return first, second

        return self._asked(*moved(self.cells), *moved(self.sums))

    def _asked(
        self, first: FloatArray, second: FloatArray, total: FloatArray, squares: FloatArray
    ) -> SetSums:
        reports, kept, base = self.sums["n"], self.retention, self.bases
        return SetSums(reports, kept, first, second, second, total, squares, base, base)

    def totals(self, sums: SetSums) -> ReportedTotals:
        """Among the people of each group."""
        return sums.totals(self.everyone)

    def ratio(
        self, counts: ReportedTotals, totals: ReportedTotals, question: Question, noise: FloatArray
    ) -> Ratio:
        """Totals over counts, with the covariance: from the variance of values moved by a step.

        ``noise`` is the variance of what was added to the values before they were released.
        """
        size = float(np.nansum(np.abs(totals.totals)))
        step = size / self.whole if size and self.whole else 1.0
        moved = self.totals(self.values(step)).se(question) ** 2
        above, below = totals.se(question) ** 2, counts.se(question) ** 2
        cov = (above + step**2 * below - moved) / (2 * step)
        return Ratio(totals.totals, counts.totals, v_above=above + noise, cov=cov, v_below=below)

    def whole_of(self, found: ReportedTotals) -> float:
        """What all shares are of: how many there are, or the estimate of it.

        Records add up by themselves. Their weights do not, as chance asks more of some than of
        others, and no more do those that meet a filter.
        """
        whole = float(found.totals.sum())
        known = math.isnan(whole) or math.isclose(whole, self.whole)
        return self.whole if known and not self.filtered else whole

    def shares(self, found: ReportedTotals, question: Question) -> tuple[FloatArray, FloatArray]:
        """Shares of the records that meet the filter, with standard errors."""
        below = self.whole_of(found)
        share = found.totals / below
        if below == self.whole:
            return share, found.se(question) / below
        if below <= 0:
            raise InvalidTable("By the estimate, none of the truths meets the filter.")
        w, ww, base = self.cells["w"], self.cells["ww"], self.bases
        sums, squares, inside = (part.sum(axis=2, keepdims=True) for part in (w, ww, base))
        of_whole = replace(
            self.weights(), first=sums, second=squares, cross=squares, base=inside,
            base_square=inside,
        )  # fmt: skip
        parts = replace(
            of_whole,
            first=w - share * sums,
            second=ww * (1 - 2 * share) + share**2 * squares,
            cross=ww - share * squares,
            base=base - share * inside,
            base_square=base * (1 - 2 * share) + share**2 * inside,
        )
        # Groups are told apart and answer by themselves: others move the whole, not the cell.
        whole = self.totals(of_whole).se(question) ** 2
        others = share**2 * (whole.sum() - whole)
        return share, np.sqrt(self.totals(parts).se(question) ** 2 + others) / below

    def possible(self, found: ReportedTotals) -> FloatArray:
        """A table that can be: nothing below 0, 0 where no report tells a cell, no mere noise."""
        reported = (self.bases > 0).any(axis=(0, 1))
        table = np.zeros_like(found.totals)
        # One table after the other in memory, so that each is summed as if it were alone.
        inside = np.ascontiguousarray(found.totals[:, reported])
        errors = np.ascontiguousarray(np.sqrt(found.population[:, reported]))
        whole = np.ascontiguousarray(found.totals).sum(axis=1)
        known = np.isfinite(whole)
        inside[known] = leaning(inside[known], errors[known], whole[known])
        table[:, reported] = inside
        return table

    def shrunken(self, made: Estimate, figure: FloatArray, error: float) -> Estimate:
        """A shrunken estimate before the unbiased one, whose errors stay."""
        return replace(
            made,
            method="shrunk",
            estimate=self.laid_out(figure),
            unbiased=made.estimate,
            why=f"{made.why[:-1].replace('unbiased, from', 'from')}; undoing them would be off by "
            f"{off_by(error)}: {shrunk_words(error)}",
        )

    def laid_out(self, figure: FloatArray) -> FloatArray:
        """Groups by cells, as a table of the columns asked for."""
        return figure.reshape(self.shape).transpose(self.order)

    def estimate(
        self,
        figures: Sequence[FloatArray],
        question: Question,
        what: str,
        found: ReportedTotals,
        *,
        ratio: bool,
        together: VaryTogether | None = None,
    ) -> Estimate:
        """Laid out by the columns asked for; a ``ratio`` of estimates is nearly unbiased only."""
        estimate, se, low, high = map(self.laid_out, figures)
        number = int((self.sums["n"].sum(axis=(1, 2)) > 0).sum())
        sets = "set that holds" if number == 1 else "sets that hold"
        return Estimate(
            by=question.by, labels=self.labels, what=what, method="unbiased",
            why=f"{'nearly ' if ratio else ''}unbiased, from the {found.reports:,.0f} reports of "
                f"{number} {sets} these columns.",
            level=question.level, infer=question.infer, estimate=estimate, se=se,
            low=low, high=high, records=round(float(self.everyone.sum())),
            simultaneous=question.simultaneous, together=together,
        )  # fmt: skip

    def counted(self, found: ReportedTotals, question: Question) -> ReportInfluence:
        """How counts vary together: each record counts its weight."""
        one = np.ones_like(found.totals)
        return ReportInfluence(self, question.infer, found.totals, 0 * one, one, found.step)

    def summed(self, found: ReportedTotals, question: Question) -> ReportInfluence:
        """How totals vary together: each record counts its value."""
        one = np.ones_like(found.totals)
        return ReportInfluence(self, question.infer, found.totals, one, 0 * one, found.step)

    def averaged(self, ratio: Ratio, question: Question) -> ReportInfluence:
        """How means vary together: what a value differs from the mean, as a share of its cell."""
        none = np.zeros_like(ratio.value)
        return ReportInfluence(self, question.infer, ratio.value, *ratio.slopes, none)


@dataclass(frozen=True, eq=False)
class ReportInfluence(VaryTogether):
    """How numbers from reports vary together: sums over people of w (slope y + level), by cell.

    Groups of people are told apart and answer by themselves; the cells of one group are told by
    the same reports. The covariance is that of ``SetSums.totals`` with two functions of the cell
    in place of the square of one. Figures, slope and level are groups by cells.

    Attributes:
        sums: The sums over reports.
        infer: About these records or the population behind them.
        figures: The numbers.
        slope: What a value counts in each cell.
        level: What a weight counts in each cell.
        step: What a single report that says something else changes of each number.
    """

    sums: ReportSums
    infer: Inference
    figures: FloatArray
    slope: FloatArray
    level: FloatArray
    step: FloatArray

    @property
    def unbiased(self) -> FloatArray:
        """Laid out by the columns asked for."""
        return self.sums.laid_out(np.nan_to_num(self.figures))

    @property
    def record(self) -> FloatArray:
        """The luck of a sample is no matter of single reports."""
        return self.sums.laid_out(np.nan_to_num(self.step * (self.infer == "records")))

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """Of combinations shaped like the table; ``nan`` where a number in use does not exist."""
        back = np.argsort(self.sums.order)
        combined = [part.transpose(back).reshape(self.figures.shape) for part in contrasts]
        used = np.any([part != 0 for part in combined], axis=0)
        known = np.isfinite(self.slope) & np.isfinite(self.level) & np.isfinite(self.figures)
        if not known[used].all():
            return np.full((len(combined), len(combined)), np.nan)
        sides = [
            (np.where(used, part * self.slope, 0.0), np.where(used, part * self.level, 0.0))
            for part in combined
        ]
        return np.array([[self._covariance(one, two) for two in sides] for one in sides])

    def _covariance(
        self, one: tuple[FloatArray, FloatArray], two: tuple[FloatArray, FloatArray]
    ) -> float:
        """Of two sums of w (a y + d): draws of people within a group, less those among them."""
        base, p, people = self.sums.bases, self.sums.retention, self._people
        number = np.maximum(self.sums.sums["n"], 1)
        noise_one, noise_two = (
            tuple((1 - p) * (side * base).sum(axis=-1, keepdims=True) for side in sides)
            for sides in (one, two)
        )
        shared = _products(one, two, self._moments)
        spread = (
            p * shared
            + (1 - p) * _products(one, two, [base * part for part in people])
            - p * _products(one, noise_two, self._moments)
            - p * _products(noise_one, two, self._moments)
            - _products(noise_one, noise_two, people)
        )
        values, weights = self._mean("wy"), self._mean("w")
        first, second = (
            (a * values + d * weights).sum(axis=-1, keepdims=True) for a, d in (one, two)
        )
        drawn = (self._weights**2 * (spread / p**2 - first * second) / number).sum(axis=0)
        if self.infer == "records":
            drawn = drawn - (shared - first * second) / self.sums.everyone
        return float(np.nansum(self.sums.everyone**2 * drawn))

    @cached_property
    def _weights(self) -> FloatArray:
        return set_weights(self.sums.sums["n"], self.sums.retention)

    @cached_property
    def _moments(self) -> list[FloatArray]:
        """Unbiased means over people of w^2 y^2, w^2 y and w^2 inside each cell."""
        return [self._mean(name) for name in ("wwyy", "wwy", "ww")]

    @cached_property
    def _people(self) -> list[FloatArray]:
        """The same over all cells, by set."""
        sums = self.sums.sums
        nothing, number = np.zeros_like(sums["n"]), np.maximum(sums["n"], 1)
        return [sums.get(name, nothing) / number for name in ("wwyy", "wwy", "ww")]

    def _mean(self, name: str) -> FloatArray:
        """Undone and averaged over the sets."""
        if name not in self.sums.cells:
            return np.zeros_like(self.figures)
        p, cells, whole = self.sums.retention, self.sums.cells[name], self.sums.sums
        undone = (cells - (1 - p) * self.sums.bases * whole[name]) / p
        mean: FloatArray = (self._weights * undone / np.maximum(whole["n"], 1)).sum(axis=0)
        return mean


def _products(
    one: Sequence[FloatArray], two: Sequence[FloatArray], moments: Sequence[FloatArray]
) -> FloatArray:
    """Sums over cells of w^2 (a y + d) (b y + e), from the means of w^2 y^2, w^2 y, w^2."""
    (a, d), (b, e), (yy, y, n) = one, two, moments
    found = a * b * yy + (a * e + d * b) * y + d * e * n
    return np.asarray(found.sum(axis=-1, keepdims=True), dtype=np.float64)


def interval_of(
    estimate: FloatArray,
    se: FloatArray,
    question: Question,
    *,
    half: FloatArray,
    most: FloatArray | float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """The interval of a number from 0 to ``most``, and ``half`` a report to both sides."""
    low, high = bounded_interval(estimate, se, z=question.z(estimate.size))
    low, high = np.maximum(low - half, 0), high + half
    return (low, high) if most is None else (np.minimum(low, most), np.minimum(high, most))


def _summed(
    read: dict[str, FloatArray],
    by_set: Sequence[IntArray],
    group: IntArray,
    place: IntArray,
    shape: tuple[int, int],
) -> dict[str, FloatArray]:
    """Sums by set, group and cell; rows that a filter leaves out have the cell -1."""
    found: dict[str, FloatArray] = {}
    inside = [rows[place[rows] >= 0] for rows in by_set]
    for name, values in read.items():
        sums = [
            np.bincount(group[rows] * shape[1] + place[rows], values[rows], prod(shape))
            for rows in inside
        ]
        found[name] = np.stack(sums).astype(np.float64).reshape(-1, *shape)
    return found


def _read(
    records: ReleasedRecords,
    question: Question,
    used: Sequence[AttributeSet],
    value: str | None,
    limits: tuple[str, FloatArray] | None,
) -> tuple[pa.Table, bool]:
    """The engine's sums, and whether only the reports of these sets were looked at.

    That is enough where everyone is asked about: how many there are is known then.
    """
    changed = records.changed(question.names)
    kept = [name for name in question.by if name not in changed]
    before = [c for c in question.where if c.column not in changed]
    weight = records.weight if question.weighted else None
    extra = [] if limits is None else [limits[0]]
    alone = bool(changed) and not (kept or before or extra or value or weight)
    if alone:
        before = [Condition(REPORTED, "=", tuple(one.name for one in used))]
    columns = tuple(dict.fromkeys((REPORTED, *kept, *changed, *extra)))
    where = records.with_values(before, [value, *extra])
    table = records.summed(SumsAsked(columns, value, weight, where, question.beyond))
    if limits is not None:
        table = table.filter(pc.is_valid(table.column(limits[0])))
    if not table.num_rows and not alone:
        raise InvalidTable("No released record meets the filter. Loosen it.")
    return table, alone


def _cells_of(
    table: pa.Table, reported: list[str], inside: Inside, schema: Schema, rows: IntArray
) -> IntArray:
    """The cell of some rows, -1 where a filter leaves them out; others are not looked at."""
    place = np.full(table.num_rows, -1, dtype=np.int64)
    cells, keep = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=bool)
    some = table.take(rows)
    for name in dict.fromkeys((*reported, *inside)):
        column = schema.column(name)
        codes = encode_released(column, some.column(name))
        if name in inside:
            keep &= np.isin(codes, [column.labels.index(label) for label in inside[name]])
        if name in reported:
            cells = cells * len(column.labels) + codes
    place[rows] = np.where(keep, cells, -1)
    return place


MOST_LIMITS = 200
"""Quantiles are found among this many values, which leave equally many records between them."""


def limits_of(records: ReleasedRecords, of: str) -> FloatArray:
    """Some values of a column in order, the smallest and the largest among them."""
    parts = [batch.column(0) for batch in records.opened.batches([of])]
    values = np.concatenate(
        [np.asarray(part.cast(pa.float64(), safe=False).drop_null()) for part in parts]
    )
    found = np.unique(values[~np.isnan(values)])
    if len(found) <= MOST_LIMITS:
        return found
    return np.unique(np.quantile(values, np.linspace(0, 1, MOST_LIMITS), method="inverted_cdf"))


def below_limits(sums: ReportSums, limits: int) -> ReportSums:
    """Sums by limit in which the value is 1 up to the limit and 0 beyond it."""

    def at_limits(own: dict[str, FloatArray]) -> dict[str, FloatArray]:
        shape = own["n"].shape
        apart = {n: own[n].reshape(shape[0], -1, limits, shape[2]) for n in ("n", "w", "ww")}
        below = {n: np.cumsum(table, axis=2).reshape(shape) for n, table in apart.items()}
        whole = {n: np.repeat(table.sum(axis=2), limits, axis=1) for n, table in apart.items()}
        return whole | {"wy": below["w"], "wwy": below["ww"], "wwyy": below["ww"]}

    everyone = sums.everyone.reshape(-1, limits).sum(axis=1)
    return replace(
        sums,
        cells=at_limits(sums.cells),
        sums=at_limits(sums.sums),
        everyone=np.repeat(everyone, limits)[:, None],
    )


def quantile_of(
    below: ReportSums,
    plain: ReportSums,
    limits: FloatArray,
    share: float,
    question: Question,
    of: str,
    z: float,
) -> Estimate:
    """One quantile of every cell, by the sums of 1{value <= limit} - share at all limits."""
    found, people = below.totals(below.values(share)), plain.totals(plain.weights())
    none, nothing = -share * people.totals, share**2 * people.se(question) ** 2
    shape = (len(none), len(limits), -1)
    totals, spread = found.totals.reshape(shape), (found.se(question) ** 2).reshape(shape)
    curves = [
        [
            Curve(
                limits,
                np.append(none[row, cell], totals[row, :, cell]),
                np.append(nothing[row, cell], spread[row, :, cell]),
                np.ones(len(limits)),
                coarse=True,
            )
        ]
        for row, cell in np.ndindex(*none.shape)
    ]
    figures = [own.reshape(none.shape) for own in quantiles_of(curves, z)]
    made = plain.estimate(figures, question, f"quantile {share:g} of {of}", people, ratio=True)
    return replace(made, why=f"{made.why[:-1]}, to the nearest of {len(limits)} values.")
