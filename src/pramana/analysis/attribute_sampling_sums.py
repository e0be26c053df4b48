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
from pramana.engine.choose import Condition, SumsAsked, sums_in
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
    """Sums over reports, by set, by the values of columns released as they are, and by cell.

    Attributes:
        labels: The labels of each column of the table.
        order: Where each column of the table stands: those as they are first, then reported ones.
        shape: The sizes in that order.
        sets: For each set that holds the reported columns, its sums by name: groups by cells.
        used: These sets.
        sums: The same sums over all cells, filtered ones included: groups by 1.
        bases: For each set the share of its cells in each cell of the table.
        everyone: How many people each group has.
        whole: How many there are, or their weight.
        filtered: Whether a filter on reported columns leaves some truths out.
    """

    labels: tuple[tuple[Label, ...], ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]
    used: tuple[AttributeSet, ...]
    sets: tuple[dict[str, FloatArray], ...]
    sums: tuple[dict[str, FloatArray], ...]
    bases: tuple[FloatArray, ...]
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
        schema = records.certificate.schema
        changed = records.changed(question.names)
        kept = [name for name in question.by if name not in changed]
        told = [name for name in question.by if name in changed]
        inside = records.kept([c for c in question.where if c.column in changed])
        used = reporting_of(records).containing(changed)
        table, alone = _read(records, question, used, value, limits)
        codes, found = records.coded(table, kept)
        if limits is not None:
            kept, name = [*kept, LIMIT], limits[0]
            own = table.column(name).cast(pa.float64(), safe=False).to_numpy()
            codes[LIMIT], found[LIMIT] = np.searchsorted(limits[1], own), tuple(limits[1].tolist())
        shape = [len(found[name]) for name in kept]
        group = cell_numbers([codes[name] for name in kept], shape, records=table.num_rows)
        groups = prod(shape)
        read = sums_in(table)
        everyone = np.bincount(group, read["n"], groups).astype(np.float64)[:, None]
        whole = float(read["w"].sum())
        if alone:
            whole = float(records.opened.rows)
            everyone = np.full((1, 1), whole)
        cells = prod(len(schema.column(name).labels) for name in told)
        sets, totals, bases = [], [], []
        marks = stated_sets(reporting_of(records), table)
        for one in used:
            rows = marks == reporting_of(records).sets.index(one)
            own, at = table.filter(pa.array(rows)), group[rows]
            place = _cells_of(own, told, inside, schema)
            sets.append(_summed(own, at, place, groups, cells))
            totals.append(_summed(own, at, np.zeros(len(at), dtype=np.int64), groups, 1))
            bases.append(share_of_cells(one, told, schema, inside))
        names = [*kept, *told]
        found |= {name: schema.column(name).labels for name in told}
        return cls(
            tuple(found[name] for name in question.by),
            tuple(names.index(name) for name in question.by),
            tuple(len(found[name]) for name in names),
            used, tuple(sets), tuple(totals), tuple(bases), everyone,
            whole, bool(inside),
        )  # fmt: skip

    @property
    def people(self) -> float:
        """How many there are in all groups."""
        return float(self.everyone.sum())

    @property
    def reports(self) -> float:
        """How many reports hold the columns."""
        return float(sum(own["n"].sum() for own in self.sums))

    def totals(self, parts: list[SetSums]) -> ReportedTotals:
        """Undone and averaged over the sets."""
        return totals_of_reports(parts, records=self.everyone)

    def weights(self) -> list[SetSums]:
        """The question how many people, or how much weight, are in each cell."""
        return [
            self._part(place, own["w"], own["ww"], every["w"], every["ww"])
            for place, (own, every) in enumerate(zip(self.sets, self.sums, strict=True))
        ]

    def values(self, centre: FloatArray | float = 0.0) -> list[SetSums]:
        """The question what the values less ``centre`` sum up to in each cell."""

        def moved(sums: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
            first = sums["wy"] - centre * sums["w"]
            second = sums["wwyy"] - 2 * centre * sums["wwy"] + centre**2 * sums["ww"]
            return first, second

        return [
            self._part(place, *moved(own), *moved(every))
            for place, (own, every) in enumerate(zip(self.sets, self.sums, strict=True))
        ]

    def ratio(
        self, counts: ReportedTotals, totals: ReportedTotals, question: Question, noise: FloatArray
    ) -> Ratio:
        """Totals over counts, with the covariance: from the variance of values moved by a step.

        ``noise`` is the variance of what was added to the values before they were released.
        """
        size = float(np.nansum(np.abs(totals.totals)))
        step = size / self.whole if size and self.whole else 1.0
        moved = se_of(self.totals(self.values(step)), question) ** 2
        above, below = se_of(totals, question) ** 2, se_of(counts, question) ** 2
        cov = (above + step**2 * below - moved) / (2 * step)
        return Ratio(totals.totals, counts.totals, v_above=above + noise, cov=cov, v_below=below)

    def _part(
        self,
        place: int,
        first: FloatArray,
        second: FloatArray,
        total: FloatArray,
        squares: FloatArray,
        base: FloatArray | float | None = None,
    ) -> SetSums:
        shape = first.shape
        reports = np.broadcast_to(self.sums[place]["n"], shape)
        base = np.broadcast_to(self.bases[place] if base is None else base, shape)
        kept = float(self.used[place].matrix.retention)
        total, squares = (np.broadcast_to(part, shape) for part in (total, squares))
        return SetSums(reports, kept, first, second, second, total, squares, base, base)

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
        if below == self.whole:
            return found.totals / below, se_of(found, question) / below
        if below <= 0:
            raise InvalidTable("By the estimate, none of the truths meets the filter.")
        share = found.totals / below
        parts, wholes = [], []
        for place, (own, every) in enumerate(zip(self.sets, self.sums, strict=True)):
            sums, squares = (own[name].sum(axis=1, keepdims=True) for name in ("w", "ww"))
            first = own["w"] - share * sums
            cross = own["ww"] - share * squares
            second = own["ww"] * (1 - 2 * share) + share**2 * squares
            base = self.bases[place][None, :]
            plain = self._part(place, first, second, every["w"], every["ww"])
            wholes.append(self._part(place, sums, squares, every["w"], every["ww"], base.sum()))
            parts.append(
                SetSums(
                    plain.reports, plain.retention, first, second, cross, plain.total,
                    plain.squares, base - share * base.sum(),
                    base * (1 - 2 * share) + share**2 * base.sum(),
                )
            )  # fmt: skip
        # Groups are told apart and answer by themselves: others move the whole, not the cell.
        whole = se_of(self.totals(wholes), question) ** 2
        others = share**2 * (whole.sum() - whole)
        return share, np.sqrt(se_of(self.totals(parts), question) ** 2 + others) / below

    def possible(self, found: ReportedTotals) -> FloatArray:
        """A table that can be: nothing below 0, 0 where no report tells a cell, no mere noise."""
        told = np.any([base > 0 for base in self.bases], axis=0)
        table = np.zeros_like(found.totals)
        # One table after the other in memory, so that each is summed as if it were alone.
        own = np.ascontiguousarray(found.totals[:, told])
        errors = np.ascontiguousarray(np.sqrt(found.population[:, told]))
        whole = np.ascontiguousarray(found.totals).sum(axis=1)
        known = np.isfinite(whole)
        own[known] = leaning(own[known], errors[known], whole[known])
        table[:, told] = own
        return table

    def shrunken(self, made: Estimate, figure: FloatArray, error: float) -> Estimate:
        """A shrunken estimate before the unbiased one, whose errors stay."""
        return replace(
            made,
            method="shrunk",
            estimate=figure.reshape(self.shape).transpose(self.order),
            unbiased=made.estimate,
            why=f"{made.why[:-1].replace('unbiased, from', 'from')}; undoing them would be off by "
            f"{off_by(error)}: {shrunk_words(error)}",
        )

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
        estimate, se, low, high = (
            figure.reshape(self.shape).transpose(self.order) for figure in figures
        )
        told = sum(bool(own["n"].sum()) for own in self.sums)
        sets = "set that holds" if told == 1 else "sets that hold"
        return Estimate(
            by=question.by, labels=self.labels, what=what, method="unbiased",
            why=f"{'nearly ' if ratio else ''}unbiased, from the {found.reports:,.0f} reports of "
                f"{told} {sets} these columns.",
            level=question.level, infer=question.infer, estimate=estimate, se=se,
            low=low, high=high, records=round(self.people),
            simultaneous=question.simultaneous, together=together,
        )  # fmt: skip

    def counted(self, found: ReportedTotals, question: Question) -> ReportInfluence:
        """How counts vary together: each record counts its weight."""
        one = np.ones_like(found.totals)
        return ReportInfluence(
            self, question.infer, found.totals, np.zeros_like(one), one, found.step
        )

    def summed(self, found: ReportedTotals, question: Question) -> ReportInfluence:
        """How totals vary together: each record counts its value."""
        one = np.ones_like(found.totals)
        return ReportInfluence(
            self, question.infer, found.totals, one, np.zeros_like(one), found.step
        )

    def averaged(self, ratio: Ratio, question: Question) -> ReportInfluence:
        """How means vary together: what a value differs from the mean, as a share of its cell."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(ratio.below > 0, 1 / ratio.below, np.nan)
        mean = ratio.value
        return ReportInfluence(
            self, question.infer, mean, slope, -mean * slope, np.zeros_like(mean)
        )


@dataclass(frozen=True, eq=False)
class ReportInfluence:
    """How numbers from reports vary together: sums over people of w (slope y + level), by cell.

    Groups of people are told apart and answer by themselves; the cells of one group are told by
    the same reports. The covariance is that of ``SetSums.variance`` with two functions of the cell
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
    degrees: float = math.inf

    @property
    def unbiased(self) -> FloatArray:
        """Laid out by the columns asked for."""
        return self._laid_out(self.figures)

    @property
    def record(self) -> FloatArray:
        """The luck of a sample is no matter of single reports."""
        return self._laid_out(self.step * (self.infer == "records"))

    def unseen(self, z: float) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Reports are many or an interval is endless: nothing is added."""
        none = np.zeros_like(self.unbiased)
        return none, none

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """Of combinations shaped like the table; ``nan`` where a number in use does not exist."""
        combined = [
            contrast.transpose(np.argsort(self.sums.order)).reshape(self.figures.shape)
            for contrast in contrasts
        ]
        used = np.any([part != 0 for part in combined], axis=0)
        if not (np.isfinite(self.slope) & np.isfinite(self.level) & np.isfinite(self.figures))[
            used
        ].all():
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
        first, second = self._sum(one), self._sum(two)
        shared = self._products(one, two, self._moments)
        drawn = np.zeros_like(first)
        for place, weight in enumerate(self._weights):
            base, kept = self.sums.bases[place], float(self.sums.used[place].matrix.retention)
            noise_one, noise_two = (
                tuple((1 - kept) * (side * base).sum(axis=1, keepdims=True) for side in sides)
                for sides in (one, two)
            )
            people = self._people[place]
            spread = (
                kept * shared
                + (1 - kept) * self._products(one, two, [base * part for part in people])
                - kept * self._products(one, noise_two, self._moments)
                - kept * self._products(noise_one, two, self._moments)
                - self._products(noise_one, noise_two, people)
            )
            reports = np.maximum(self.sums.sums[place]["n"], 1)
            drawn = drawn + weight**2 * (spread / kept**2 - first * second) / reports
        if self.infer == "records":
            drawn = drawn - (shared - first * second) / self.sums.everyone
        return float(np.nansum(self.sums.everyone**2 * drawn))

    @staticmethod
    def _products(
        one: Sequence[FloatArray], two: Sequence[FloatArray], moments: Sequence[FloatArray]
    ) -> FloatArray:
        """Sums over cells of w^2 (a y + d) (b y + e), from the means of w^2 y^2, w^2 y, w^2."""
        (a, d), (b, e), (yy, y, n) = one, two, moments
        found = a * b * yy + (a * e + d * b) * y + d * e * n
        return np.asarray(found.sum(axis=1, keepdims=True), dtype=np.float64)

    def _sum(self, side: tuple[FloatArray, FloatArray]) -> FloatArray:
        a, d = side
        values, weights = self._firsts
        return np.asarray((a * values + d * weights).sum(axis=1, keepdims=True), dtype=np.float64)

    @cached_property
    def _weights(self) -> list[FloatArray]:
        """Of each set, by group."""
        precision = [
            sums["n"] * float(used.matrix.retention) ** 2
            for sums, used in zip(self.sums.sums, self.sums.used, strict=True)
        ]
        whole = np.sum(precision, axis=0)
        return [part / np.where(whole == 0, 1, whole) for part in precision]

    @cached_property
    def _moments(self) -> list[FloatArray]:
        """Unbiased means over people of w^2 y^2, w^2 y and w^2 inside each cell."""
        return [self._mean(name) for name in ("wwyy", "wwy", "ww")]

    @cached_property
    def _firsts(self) -> list[FloatArray]:
        return [self._mean(name) for name in ("wy", "w")]

    @cached_property
    def _people(self) -> list[list[FloatArray]]:
        """The same over all cells, by set."""
        return [
            [
                sums.get(name, np.zeros_like(sums["n"])) / np.maximum(sums["n"], 1)
                for name in ("wwyy", "wwy", "ww")
            ]
            for sums in self.sums.sums
        ]

    def _mean(self, name: str) -> FloatArray:
        """Undone and averaged over the sets."""
        mean = np.zeros_like(self.figures)
        for place, weight in enumerate(self._weights):
            cells, whole = self.sums.sets[place], self.sums.sums[place]
            if name not in cells:
                continue
            kept = float(self.sums.used[place].matrix.retention)
            undone = (cells[name] - (1 - kept) * self.sums.bases[place] * whole[name]) / kept
            mean = mean + weight * undone / np.maximum(whole["n"], 1)
        return mean

    def _laid_out(self, figure: FloatArray) -> FloatArray:
        return np.nan_to_num(figure).reshape(self.sums.shape).transpose(self.sums.order)


def se_of(found: ReportedTotals, question: Question) -> FloatArray:
    """Standard errors about the records, or about the population they were drawn from."""
    about = found.people if question.infer == "records" else found.population
    return np.sqrt(about)


def half_of(found: ReportedTotals, question: Question) -> FloatArray:
    """Half of what a report changes, left to both sides where few of them make the error.

    Estimates are apart by as much, which is more than a record: among few of them an interval of so
    many errors ends short of the next one. The luck of a sample is no matter of single reports.
    """
    half = half_a_record(np.sqrt(found.people), found.step)
    return half if question.infer == "records" else np.zeros_like(half)


def interval_of(
    estimate: FloatArray,
    se: FloatArray,
    question: Question,
    *,
    half: FloatArray,
    most: FloatArray | float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """The interval of a number from 0 to ``most``, and ``half`` a report to both sides."""
    z = question.z(estimate.size)
    low, high = bounded_interval(estimate, se, z=z)
    low, high = np.maximum(low - half, 0), high + half
    return (low, high) if most is None else (np.minimum(low, most), np.minimum(high, most))


def _summed(
    table: pa.Table, group: IntArray, place: IntArray, groups: int, cells: int
) -> dict[str, FloatArray]:
    """Sums by group and cell; rows that a filter leaves out have the cell -1."""
    inside = place >= 0
    flat = group[inside] * cells + place[inside]
    return {
        name: np.bincount(flat, weights=own[inside], minlength=groups * cells)
        .astype(np.float64)
        .reshape(groups, cells)
        for name, own in sums_in(table).items()
    }


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


def _cells_of(table: pa.Table, told: list[str], inside: Inside, schema: Schema) -> IntArray:
    """The cell of each row, -1 where a filter leaves it out."""
    place = np.zeros(table.num_rows, dtype=np.int64)
    keep = np.ones(table.num_rows, dtype=bool)
    for name in dict.fromkeys((*told, *inside)):
        column = schema.column(name)
        codes = encode_released(column, table.column(name))
        if name in inside:
            keep &= np.isin(codes, [column.labels.index(label) for label in inside[name]])
        if name in told:
            place = place * len(column.labels) + codes
    return np.where(keep, place, -1)


MOST_LIMITS = 200
"""Quantiles are found among so many values, which leave equally many records between them."""


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
        apart = {n: own[n].reshape(-1, limits, own[n].shape[-1]) for n in ("n", "w", "ww")}
        below = {n: np.cumsum(table, axis=1).reshape(own[n].shape) for n, table in apart.items()}
        whole = {n: np.repeat(table.sum(axis=1), limits, axis=0) for n, table in apart.items()}
        return whole | {"wy": below["w"], "wwy": below["ww"], "wwyy": below["ww"]}

    everyone = sums.everyone.reshape(-1, limits).sum(axis=1)
    return replace(
        sums,
        sets=tuple(map(at_limits, sums.sets)),
        sums=tuple(map(at_limits, sums.sums)),
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
    none, nothing = -share * people.totals, share**2 * se_of(people, question) ** 2
    shape = (len(none), len(limits), -1)
    totals, spread = found.totals.reshape(shape), (se_of(found, question) ** 2).reshape(shape)
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
