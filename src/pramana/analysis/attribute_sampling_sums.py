"""Totals from attribute sampling: every report that holds the columns, undone and weighted.

A question about a table is a sum over people of v g(x): v a weight or a value that was released
unchanged, g a function of the original cell, mostly 1 inside a cell of the table and 0 outside. For
a report y of a set S with retention p, and c = (1 - p) times the mean of g over the cells of S,

    z = v (g(y) - c) / p

has the expectation v g(x), so that n times the mean of z over the reports of S is unbiased. Sets
are averaged with weights N_S p_S**2, which do not depend on the answers.

The variance is that of independent draws of people, computed from what all sets say together, less
n times the variance of v g among the people: they are all there are, and who answers which set is a
draw without replacement among them. About a population nothing is subtracted, and the sizes n_h of
groups that unchanged columns distinguish vary too: of sums s_h a person they add

    sum over h of n_h s_h**2 - (sum over h of n_h s_h)**2 / n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pramana.analysis.attribute_sampling_regression import share_of_cells
from pramana.analysis.estimates import Estimate
from pramana.analysis.features import numbers_of
from pramana.analysis.quantiles import Curve, quantiles_of
from pramana.analysis.question import Inference, Question
from pramana.analysis.regularised_em import leaning
from pramana.analysis.released_records import ReleasedRecords
from pramana.analysis.variance import JointErrors, Ratio, bounded_interval, half_a_record
from pramana.base.text import counted
from pramana.base.translation import gettext
from pramana.engine.base import SumsAsked, sums_in
from pramana.errors import AlteredRelease, InvalidTable
from pramana.mechanisms.mechanism import LOOK, AttributeSampler, AttributeSet, stated_sets
from pramana.mechanisms.transition import Label
from pramana.release.certificate import Certificate
from pramana.schema.codec import encode_released
from pramana.schema.joint_cells import cell_numbers
from pramana.schema.schema import REPORTED
from pramana.types import FloatArray
from pramana.verification.consistency import label_checks


@dataclass(frozen=True, eq=False)
class ReportedTotals:
    """Estimated totals with their variances.

    Attributes:
        totals: Unbiased, and so perhaps below 0.
        people: The variance if the question is about these people.
        population: The variance if they are a sample of many more.
        reports: How many reports hold the table.
        step: What a single report with another answer changes.
        sizes: What the sampling of group sizes adds to the variance about a population.
    """

    totals: FloatArray
    people: FloatArray
    population: FloatArray
    reports: float
    step: FloatArray
    sizes: FloatArray | float = 0.0

    def se(self, question: Question) -> FloatArray:
        """Standard errors about the records, or about the population they were drawn from."""
        drawn = self.population + self.sizes
        return np.sqrt(self.people if question.infer == "records" else drawn)

    def half(self, question: Question) -> FloatArray:
        """What an interval is extended by where few reports make the error: half of a step.

        The sample of a population does not depend on single reports.
        """
        half = half_a_record(np.sqrt(self.people), self.step)
        return half if question.infer == "records" else np.zeros_like(half)

    def interval(
        self,
        figures: Sequence[FloatArray],
        question: Question,
        *,
        whole: float = 1.0,
        most: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """The interval of counts, or of shares of the ``whole``, from 0 to ``most``."""
        estimate, se = figures
        half = self.half(question) / whole
        low, high = bounded_interval(estimate, se, z=question.z(estimate.size))
        low, high = np.maximum(low - half, 0), high + half
        return (low, high) if most is None else (np.minimum(low, most), np.minimum(high, most))


def reported_totals(
    reports: FloatArray,
    retention: FloatArray,
    people: FloatArray | float,
    *,
    first: FloatArray,
    second: FloatArray,
    total: FloatArray,
    squares: FloatArray,
    base: FloatArray,
    cross: FloatArray | None = None,
    base_square: FloatArray | None = None,
    sample: float | None = None,
) -> ReportedTotals:
    """The totals of v g among all people, undone and averaged over the sets.

    Arrays are sets by groups of people by cells; a last axis of length 1 is the same for all cells.

    Args:
        reports: How many reports there are.
        retention: The retention of each set's matrix.
        people: How many people each group has.
        first: Sums of v g.
        second: Sums of v**2 g**2.
        total: Sums of v.
        squares: Sums of v**2.
        base: Means of g over the set's possible cells.
        cross: Sums of v**2 g; of v**2 g**2 where g is 0 or 1.
        base_square: Means of g**2; of g where g is 0 or 1.
        sample: How many people all groups have, if these are a sample of a population.
    """
    p, number, weights = retention, np.maximum(reports, 1), set_weights(reports, retention)
    if not weights.any():
        raise InvalidTable(
            "No attribute set contains all columns of the table. Ask for fewer of them."
        )
    cross, base_square = (
        second if cross is None else cross,
        (base if base_square is None else base_square),
    )
    nobody = ~weights.any(axis=0)
    noise, noise_square = (1 - p) * base, (1 - p) * base_square

    def mean(reported: FloatArray, by_chance: FloatArray | float) -> FloatArray:
        undone = (weights * (reported - by_chance) / (p * number)).sum(axis=0)
        return np.where(nobody, np.nan, undone)

    one = mean(first, noise * total)
    two = np.maximum(mean(second, noise_square * squares), one**2)
    mixed, all_squares = mean(cross, noise * squares), mean(p * squares, 0.0)
    # The variance of the mean of z if these were the means, and people were drawn anew.
    reported_two, reported_mixed = p * two + noise_square * all_squares, p * mixed
    reported_mixed = reported_mixed + noise * all_squares
    spread = (reported_two - 2 * noise * reported_mixed + noise**2 * all_squares) / p**2 - one**2
    drawn = (weights**2 * np.maximum(spread, 0) / number).sum(axis=0)
    among = np.maximum(two - one**2, 0)
    steps = weights * np.sqrt(squares / number) / (p * number)
    return ReportedTotals(
        people * one,
        people**2 * np.maximum(drawn - among / people, 0),
        people**2 * drawn,
        float(reports.sum()),
        np.broadcast_to(people * steps.max(axis=0), one.shape),
        0.0 if sample is None else people * one**2 * (1 - people / sample),
    )


def set_weights(reports: FloatArray, retention: FloatArray) -> FloatArray:
    """The share of each set in an average over sets: by reports times squared retention."""
    precision = reports * retention**2
    whole = precision.sum(axis=0)
    return np.asarray(precision / np.where(whole == 0, 1, whole), dtype=np.float64)


def reporting_of(records: ReleasedRecords) -> AttributeSampler:
    """The attribute sets."""
    mechanism = records.certificate.mechanism
    assert isinstance(mechanism, AttributeSampler)  # noqa: S101 - the certificate has looked
    return mechanism


def require_sets(certificate: Certificate) -> None:
    """Refuse a certificate whose sets do not fit its columns, hide nothing or reveal nothing."""
    if not isinstance(certificate.mechanism, AttributeSampler):
        return
    for check in label_checks(certificate):
        if not check.ok:
            raise AlteredRelease(
                "The certificate does not fit itself ({check}): {detail}. {look}",
                check=check.name,
                detail=check.detail,
                look=LOOK,
            )
    if math.isinf(certificate.mechanism.gamma):
        raise AlteredRelease(
            "The certificate states attribute sets that are not randomised. {look}", look=LOOK
        )
    drawn = (one.matrix for one in certificate.mechanism.sets if one.matrix.size > 1)
    if any(float(matrix.gamma) <= 1 for matrix in drawn):
        raise AlteredRelease(
            "The certificate states attribute sets of pure noise. {look}", look=LOOK
        )


LIMIT = "the limit that a value reaches"

MOST_LIMITS = 200
"""Quantiles are found among this many values, with equally many records between them."""

Weighting = tuple[FloatArray, FloatArray]
"""What a value and what a record counts in each cell, groups by cells."""


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
        sample: How many people there are, those included that a filter leaves out.
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
    sample: float

    @classmethod
    def of(
        cls,
        records: ReleasedRecords,
        question: Question,
        *,
        value: str | None = None,
        limits: tuple[str, FloatArray] | None = None,
    ) -> ReportSums:
        """Summed by the engine; with limits also by the first of them that a value reaches."""
        schema, mechanism = records.certificate.schema, reporting_of(records)
        changed = records.changed(question.names)
        kept = [name for name in question.by if name not in changed]
        reported = [name for name in question.by if name in changed]
        inside = records.kept([c for c in question.where if c.column in changed])
        used = mechanism.containing(changed)
        where = [c for c in question.where if c.column not in changed]
        extra = [] if limits is None else [limits[0]]
        columns = tuple(dict.fromkeys((REPORTED, *kept, *changed, *extra)))
        wanted = SumsAsked(
            columns,
            value,
            records.weight if question.weighted else None,
            records.with_values(where, [value, *extra]),
            question.beyond,
        )
        table = records.summed(wanted)
        if limits is not None:
            table = table.filter(pc.is_valid(table.column(limits[0])))
        if not table.num_rows:
            raise InvalidTable("No released record meets the filter. Loosen it.")
        codes, labels = records.coded(table, kept)
        if limits is not None:
            kept, (name, ends) = [*kept, LIMIT], limits
            codes[LIMIT] = np.searchsorted(ends, numbers_of(table.column(name)))
            labels[LIMIT] = tuple(ends.tolist())
        sizes = [len(labels[name]) for name in kept]
        group = cell_numbers([codes[name] for name in kept], sizes, records=table.num_rows)
        groups, size = prod(sizes), prod(len(schema.column(name).labels) for name in reported)
        totals = sums_in(table)
        everyone = np.bincount(group, totals["n"], groups).astype(np.float64)[:, None]
        whole = float(totals["w"].sum())
        if records.certificate.nature.counted:  # everyone answers each round
            whole = float(records.certificate.records)
            everyone = np.full((1, 1), whole)

        number = np.full(len(mechanism.sets), -1)
        number[[mechanism.sets.index(one) for one in used]] = np.arange(len(used))
        set_number = number[stated_sets(mechanism, table)]
        rows = np.flatnonzero(set_number >= 0)
        some, flat = table.take(rows), set_number[rows] * groups + group[rows]
        cell, keep = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=bool)
        for name in dict.fromkeys((*reported, *inside)):
            column = schema.column(name)
            released = encode_released(column, some.column(name))
            if name in inside:
                allowed = [column.labels.index(label) for label in inside[name]]
                keep &= np.isin(released, allowed)
            if name in reported:
                cell = cell * len(column.labels) + released

        def summed(places: Any, rows: Any, size: int) -> dict[str, FloatArray]:
            shape = (len(used), groups, size)
            return {
                name: np.bincount(places, sums[rows], prod(shape)).astype(np.float64).reshape(shape)
                for name, sums in totals.items()
            }

        names = [*kept, *reported]
        labels |= {name: schema.column(name).labels for name in reported}
        bases = np.stack([share_of_cells(one, reported, schema, inside) for one in used])
        return cls(
            labels=tuple(labels[name] for name in question.by),
            order=tuple(names.index(name) for name in question.by),
            shape=tuple(len(labels[name]) for name in names),
            used=used,
            cells=summed((flat * size + cell)[keep], rows[keep], size),
            sums=summed(flat, rows, 1),
            bases=bases[:, None],
            everyone=everyone,
            whole=whole,
            filtered=bool(inside),
            sample=float(records.certificate.records),
        )

    @property
    def retention(self) -> FloatArray:
        """The retention of each set: sets by 1 by 1."""
        return np.array([float(one.matrix.retention) for one in self.used])[:, None, None]

    @property
    def reports(self) -> float:
        """How many reports hold the columns."""
        return float(self.sums["n"].sum())

    def weights(self) -> ReportedTotals:
        """How many people, or how much weight, are in each cell."""
        return self._undone(
            first=self.cells["w"],
            second=self.cells["ww"],
            total=self.sums["w"],
            squares=self.sums["ww"],
        )

    def values(self, centre: FloatArray | float = 0.0) -> ReportedTotals:
        """The sums of the values less ``centre`` in each cell."""

        def moved(sums: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
            second = sums["wwyy"] - 2 * centre * sums["wwy"] + centre**2 * sums["ww"]
            return sums["wy"] - centre * sums["w"], second

        (first, second), (total, squares) = moved(self.cells), moved(self.sums)
        return self._undone(first=first, second=second, total=total, squares=squares)

    def _undone(self, **terms: Any) -> ReportedTotals:
        """Among the people of each group."""
        asked: dict[str, Any] = {"base": self.bases, "sample": self.sample} | terms
        return reported_totals(self.sums["n"], self.retention, self.everyone, **asked)

    def ratio(
        self,
        counts: ReportedTotals,
        totals: ReportedTotals,
        question: Question,
        *,
        noise: FloatArray,
    ) -> Ratio:
        """Totals over counts, with the covariance: from the variance of values moved by a step.

        ``noise`` is the variance of what was added to the values before they were released; about a
        population the released squares include it.
        """
        size = float(np.nansum(np.abs(totals.totals)))
        step = size / self.whole if size and self.whole else 1.0
        moved = self.values(step).se(question) ** 2
        above, below = totals.se(question) ** 2, counts.se(question) ** 2
        cov = (above + step**2 * below - moved) / (2 * step)
        above = above + noise * (question.infer == "records")
        return Ratio(totals.totals, counts.totals, v_above=above, cov=cov, v_below=below)

    def whole_of(self, counts: ReportedTotals) -> float:
        """What all shares are of: how many there are, or the estimate of it.

        The number of records is known. The sum of weights, and the number of those that meet a
        filter, are not: chance asks more of some than of others.
        """
        whole = float(counts.totals.sum())
        known = math.isnan(whole) or math.isclose(whole, self.whole)
        return self.whole if known and not self.filtered else whole

    def shares(self, counts: ReportedTotals, question: Question) -> tuple[FloatArray, FloatArray]:
        """Shares of the records that meet the filter, with standard errors."""
        below = self.whole_of(counts)
        share = counts.totals / below
        if below == self.whole:
            return share, counts.se(question) / below
        if below <= 0:
            raise InvalidTable("By the estimate, no original record meets the filter.")
        w, ww, base = self.cells["w"], self.cells["ww"], self.bases
        sums, squares, inside = (part.sum(axis=2, keepdims=True) for part in (w, ww, base))
        # What a share of all adds up to is 0 over all groups, and so is its mean.
        around: dict[str, Any] = {"total": self.sums["w"], "squares": self.sums["ww"]}
        around["sample"] = math.inf
        whole = self._undone(first=sums, second=squares, base=inside, **around)
        parts = self._undone(
            first=w - share * sums,
            second=ww * (1 - 2 * share) + share**2 * squares,
            cross=ww - share * squares,
            base=base - share * inside,
            base_square=base * (1 - 2 * share) + share**2 * inside,
            **around,
        )
        # Groups are known and answer independently: others move the whole, not the cell.
        variance = whole.se(question) ** 2
        others = share**2 * (variance.sum() - variance)
        return share, np.sqrt(parts.se(question) ** 2 + others) / below

    def possible(self, counts: ReportedTotals) -> FloatArray:
        """A non-negative table without mere noise, 0 where no record reports a cell."""
        reported = (self.bases > 0).any(axis=(0, 1))
        table = np.zeros_like(counts.totals)
        # One table after the other in memory, so that each is summed as if it were alone.
        inside = np.ascontiguousarray(counts.totals[:, reported])
        errors = np.ascontiguousarray(np.sqrt(counts.population[:, reported]))
        whole = np.ascontiguousarray(counts.totals).sum(axis=1)
        known = np.isfinite(whole)
        inside[known] = leaning(inside[known], errors[known], whole[known])
        table[:, reported] = inside
        return table

    # -- as tables of the columns asked for ------------------------------------------------

    def laid_out(self, figure: FloatArray) -> FloatArray:
        """Groups by cells, as a table of the columns asked for."""
        return figure.reshape(self.shape).transpose(self.order)

    def basis(self, reports: float) -> str:
        """The records that an estimate comes from, in words."""
        number = int((self.sums["n"].sum(axis=(1, 2)) > 0).sum())
        return gettext(
            "from the {reports:,.0f} records of {sets} these columns.",
            reports=reports, sets=counted(number, "attribute set with", "attribute sets with"),
        )  # fmt: skip

    def estimate(
        self,
        figures: Sequence[FloatArray],
        question: Question,
        what: str,
        reports: float,
        *,
        ratio: bool,
        together: JointErrors | None = None,
    ) -> Estimate:
        """Laid out by the columns asked for; a ``ratio`` of estimates is nearly unbiased only."""
        return Estimate.of(
            question.by,
            self.labels,
            [self.laid_out(figure) for figure in figures],
            question,
            what=what,
            method="unbiased",
            why=(gettext("nearly unbiased, ") if ratio else "") + self.basis(reports),
            records=float(self.everyone.sum()),
            together=together,
        )

    def errors(
        self,
        numbers: FloatArray,
        weighting: Weighting,
        infer: Inference,
        step: FloatArray | float = 0.0,
    ) -> JointErrors:
        """How numbers err that are sums over people of w (slope y + level), by cell.

        Groups of people are known and answer independently; the cells of one group come from the
        same reports. The covariance is that of ``reported_totals``, with two functions of the cell
        in place of the square of one.
        """
        # The sample of a population does not depend on single reports.
        steps = np.broadcast_to(np.nan_to_num(step * (infer == "records")), numbers.shape)
        return JointErrors(
            self.laid_out(np.nan_to_num(numbers)),
            partial(self._joint_covariance, numbers, weighting, infer),
            self.laid_out(steps),
        )

    def totals_and_counts(self, infer: Inference) -> JointErrors:
        """Totals of values and counts of records by cell, side by side on a last axis."""
        sums = [self.laid_out(part.totals) for part in (self.values(), self.weights())]
        numbers = np.nan_to_num(np.stack(sums, axis=-1))
        return JointErrors(numbers, partial(self._covariance_of_totals_and_counts, infer))

    def _covariance_of_totals_and_counts(
        self, infer: Inference, contrasts: Sequence[FloatArray]
    ) -> FloatArray:
        back, flat = np.argsort(self.order), (len(self.everyone), -1)
        sides = [
            (value.transpose(back).reshape(flat), record.transpose(back).reshape(flat))
            for value, record in (np.moveaxis(contrast, -1, 0) for contrast in contrasts)
        ]
        return self._covariances(sides, infer)

    def _joint_covariance(
        self,
        numbers: FloatArray,
        weighting: Weighting,
        infer: Inference,
        contrasts: Sequence[FloatArray],
    ) -> FloatArray:
        """Of combinations shaped like the table; ``nan`` where a number in use does not exist."""
        back = np.argsort(self.order)
        combined = [part.transpose(back).reshape(numbers.shape) for part in contrasts]
        used = np.any([part != 0 for part in combined], axis=0)
        if not all(np.isfinite(part[used]).all() for part in (*weighting, numbers)):
            return np.full((len(combined), len(combined)), np.nan)
        slope, level = (np.where(used, part, 0.0) for part in weighting)
        return self._covariances([(part * slope, part * level) for part in combined], infer)

    def _covariances(self, sides: Sequence[Weighting], infer: Inference) -> FloatArray:
        """Of sums of w (a y + d): draws of people within a group, less those among them."""
        base, p, number = self.bases, self.retention, np.maximum(self.sums["n"], 1)
        weights, nothing = set_weights(self.sums["n"], p), np.zeros_like(self.sums["n"])

        def mean(name: str) -> FloatArray | float:
            """Undone and averaged over the sets."""
            if name not in self.cells:
                return 0.0
            undone = (self.cells[name] - (1 - p) * base * self.sums[name]) / p
            return np.asarray((weights * undone / number).sum(axis=0))

        names = ("wwyy", "wwy", "ww")
        moments = [mean(name) for name in names]
        people = [self.sums.get(name, nothing) / number for name in names]
        by_chance = [base * part for part in people]
        noise = [
            [(1 - p) * (part * base).sum(axis=-1, keepdims=True) for part in side] for side in sides
        ]
        values, level = mean("wy"), mean("w")
        sums = [(a * values + d * level).sum(axis=-1, keepdims=True) for a, d in sides]

        def pair(i: int, j: int) -> float:
            one, two = sides[i], sides[j]
            shared = _products(one, two, moments)
            spread = (
                p * shared
                + (1 - p) * _products(one, two, by_chance)
                - p * _products(one, noise[j], moments)
                - p * _products(noise[i], two, moments)
                - _products(noise[i], noise[j], people)
            )
            among = sums[i] * sums[j]
            drawn = (weights**2 * (spread / p**2 - among) / number).sum(axis=0)
            if infer == "records":
                drawn = drawn - (shared - among) / self.everyone
            else:
                drawn = drawn + among / self.everyone
            return float(np.nansum(self.everyone**2 * drawn))

        places = range(len(sides))
        covariance = np.array([[pair(i, j) for j in places] for i in places])
        if infer == "records":
            return covariance
        wholes = np.array([np.nansum(self.everyone * one) for one in sums])
        return np.asarray(covariance - np.outer(wholes, wholes) / self.sample)


def _products(one: Sequence[Any], two: Sequence[Any], moments: Sequence[Any]) -> FloatArray:
    """Sums over cells of w^2 (a y + d) (b y + e), from the means of w^2 y^2, w^2 y, w^2."""
    (a, d), (b, e), (yy, y, n) = one, two, moments
    products = a * b * yy + (a * e + d * b) * y + d * e * n
    return np.asarray(products.sum(axis=-1, keepdims=True), dtype=np.float64)


# -- quantiles ----------------------------------------------------------------------------


def reported_quantiles(
    records: ReleasedRecords, question: Question, of: str, shares: Sequence[float]
) -> list[Estimate]:
    """Quantiles of every cell, by the sums of 1{value <= limit} - share at all limits."""
    report_sums = ReportSums.of(records, question, value=of)
    parts = [numbers_of(batch.column(0).drop_null()) for batch in records.opened.batches([of])]
    values = np.concatenate(parts)
    limits = np.unique(values[~np.isnan(values)])
    if len(limits) > MOST_LIMITS:  # some of them, the smallest and the largest among them
        shares_below = np.linspace(0, 1, MOST_LIMITS)
        limits = np.unique(np.quantile(values, shares_below, method="inverted_cdf"))
    below = _below_limits(ReportSums.of(records, question, limits=(of, limits)), len(limits))
    people, z = report_sums.weights(), question.z(prod(report_sums.shape) * len(shares))
    made = []
    for share in shares:
        sums = below.values(share)
        none, nothing = -share * people.totals, share**2 * people.se(question) ** 2
        shape = (len(none), len(limits), -1)
        totals, spread = sums.totals.reshape(shape), (sums.se(question) ** 2).reshape(shape)
        curves = [
            Curve(
                limits,
                np.append(none[row, cell], totals[row, :, cell]),
                np.append(nothing[row, cell], spread[row, :, cell]),
                np.ones(len(limits)),
                coarse=True,
            )
            for row, cell in np.ndindex(*none.shape)
        ]
        figures = [figure.reshape(none.shape) for figure in quantiles_of(curves, z)]
        what = gettext("quantile {share:g} of {of}", share=share, of=of)
        table = report_sums.estimate(figures, question, what, people.reports, ratio=True)
        why = gettext(
            "{why}, to the nearest of {number} values.",
            why=table.why.rstrip("."),
            number=len(limits),
        )
        made.append(replace(table, why=why))
    return made


def _below_limits(sums: ReportSums, limits: int) -> ReportSums:
    """Sums by limit in which the value is 1 up to the limit and 0 beyond it."""

    def at_limits(tables: dict[str, FloatArray]) -> dict[str, FloatArray]:
        shape = tables["n"].shape
        apart = {n: tables[n].reshape(shape[0], -1, limits, shape[2]) for n in ("n", "w", "ww")}
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
