"""Answers from attribute sampling: a table comes from every report that holds its columns.

A table that no attribute set contains comes from the model of the whole table (latent classes),
without an error: the reports do not show what the model smooths away. Synthetic records are drawn
from the same model, given the columns released unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import ClassVar

import numpy as np
import pyarrow as pa

from pramana.analysis.association import IndependenceTest, chi_square_tail
from pramana.analysis.attribute_sampling_regression import cells_of_reports
from pramana.analysis.attribute_sampling_sums import (
    ReportedTotals,
    ReportSums,
    reported_quantiles,
    reporting_of,
)
from pramana.analysis.counts import (
    SMALL_ERROR,
    expected_error,
    off_by,
    shrunk_words,
)
from pramana.analysis.estimates import Estimate, margins_of
from pramana.analysis.formulas import fit_formula, variables_of
from pramana.analysis.latent_class_choice import ReportsWithUnchanged, fit_model
from pramana.analysis.latent_classes import Blend, ClassClimb, FitSetting
from pramana.analysis.means import deviation_of, is_shrunk, pulled, relative_error, shrunken_words
from pramana.analysis.numbers import quantile_of_numbers, values_of_numbers
from pramana.analysis.observed import Answers, Feature, Observed, different
from pramana.analysis.quantiles import stacked
from pramana.analysis.question import CountMethod, Question, what_of
from pramana.analysis.readings import SYNTHETIC_NOTE, UnchangedOnly
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.regularised_em import usual_pair
from pramana.analysis.released_records import ReleasedRecords
from pramana.analysis.synthesis import (
    Companion,
    SynthesisMethod,
    company_of,
    resampled,
    with_drawn_column,
)
from pramana.analysis.synthesis_draws import draw_records, draw_with_unchanged
from pramana.analysis.variance import JointErrors, Ratio, errors_of_shares
from pramana.base.randomness import Keystream, Stream
from pramana.base.text import listed
from pramana.base.translation import gettext
from pramana.errors import NotCovered, TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet, Mechanism, stated_sets
from pramana.mechanisms.transition import Label
from pramana.schema.joint_cells import CellRules, cell_codes, cell_numbers, tied_columns
from pramana.schema.schema import REPORTED, Schema
from pramana.types import Codes, FloatArray, IntArray

FIXED = Keystream.from_seed(0)
"""A table from the model depends on the release and on nothing else."""

MOST_CELLS = 200_000

STEPS = 400
"""Steps to the most likely table of a pair: both sides of a test must have arrived."""


@dataclass(frozen=True)
class ModelAxis:
    """Columns of the model that move together, and their cells that can exist."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]

    def codes(self, names: Sequence[str], schema: Schema) -> list[IntArray]:
        """The code of each column at each cell."""
        codes = cell_codes([schema.column(name).labels for name in self.columns], self.cells)
        return [codes[self.columns.index(name)] for name in names]


class ModelView:
    """The axes of the model, and what each set shows of them.

    Columns that impossible combinations tie together are one axis, with the cells that can exist.
    """

    def __init__(self, schema: Schema, mechanism: AttributeSampler) -> None:
        self.schema = schema
        rules = (rule.columns for rule in schema.impossible)
        tied = list(tied_columns(mechanism.columns, rules))
        for names in tied:
            if prod(len(schema.column(name).labels) for name in names) > MOST_CELLS:
                raise TooLarge(
                    "Impossible combinations tie {names} together, which makes more than "
                    "{most_cells:,} cells: too many for a model of the whole table.",
                    names=" and ".join(names),
                    most_cells=MOST_CELLS,
                )
        self.axes = tuple(ModelAxis(names, CellRules.of(schema, names).cells()) for names in tied)
        self.features: list[Feature] = []
        self._known: dict[tuple[str, ...], tuple[int, IntArray]] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(len(axis.cells) for axis in self.axes)

    def table(self, blend: Blend, columns: Sequence[str]) -> FloatArray:
        """The distribution of some columns under a model of the axes."""
        used = [place for place, axis in enumerate(self.axes) if set(axis.columns) & set(columns)]
        table = np.zeros([len(self.schema.column(name).labels) for name in columns])
        places: dict[str, IntArray] = {}
        for at, place in enumerate(used):
            shape = [1] * at + [-1] + [1] * (len(used) - at - 1)
            names = self.axes[place].columns
            codes = self.axes[place].codes(names, self.schema)
            places |= {name: code.reshape(shape) for name, code in zip(names, codes, strict=True)}
        np.add.at(table, tuple(places[name] for name in columns), blend.table(used))
        return table

    def answers(self, one: AttributeSet, codes: dict[str, Codes], counts: FloatArray) -> Answers:
        """The reports of a set, from the codes of its columns."""
        features, cells = [], []
        for place, axis in enumerate(self.axes):
            inside = tuple(name for name in axis.columns if name in one.columns)
            if inside:
                feature, lookup = self._feature(place, inside)
                features.append(feature)
                cells.append(lookup[tuple(codes[name] for name in inside)])
        rows = np.stack(cells, axis=1).astype(np.int64)
        return Answers(tuple(features), rows, counts, 1.0, float(one.matrix.gamma) - 1)

    def _feature(self, place: int, inside: tuple[str, ...]) -> tuple[int, IntArray]:
        """What some columns show of an axis, and the place of their codes there."""
        if inside not in self._known:
            parts = self.axes[place].codes(inside, self.schema)
            shape = [len(self.schema.column(name).labels) for name in inside]
            flat = cell_numbers(parts, shape)
            seen, groups = np.unique(flat, return_inverse=True)
            lookup = np.full(prod(shape), -1, dtype=np.int64)
            lookup[seen] = np.arange(len(seen))
            feature = Feature.of_groups(place, groups)
            if inside == self.axes[place].columns:
                lookup[flat] = np.arange(len(flat))
                feature = Feature(place, len(flat))
            self.features.append(feature)
            self._known[inside] = len(self.features) - 1, lookup.reshape(shape)
        return self._known[inside]


def observed_of(records: ReleasedRecords, view: ModelView, table: pa.Table) -> Observed:
    """All reports, counted by set and cell."""
    parts = []
    if records.certificate.nature.counted:
        for one in reporting_of(records).sets:
            counts = records.rounds[one.name]
            codes = dict(zip(one.columns, np.nonzero(counts), strict=True))
            parts.append(view.answers(one, codes, counts[counts > 0]))
    else:
        for _, answers in answers_of(records, view, table):
            cells, counts = different(list(answers.cells.T))
            parts.append(replace(answers, cells=cells, counts=counts))
    return Observed(view.sizes, tuple(view.features), tuple(parts))


def resampled_counts(observed: Observed, keystream: Keystream) -> Observed:
    """The counts of each set in a sample of its answers with replacement."""
    answers = []
    for place, answer in enumerate(observed.answers):
        cells = np.repeat(np.arange(len(answer.counts)), answer.counts.astype(np.int64))
        drawn = keystream.integers(Stream("resample", place), 0, len(cells), count=len(cells))
        counts = np.bincount(cells[drawn.astype(np.int64)], minlength=len(answer.counts))
        answers.append(answer.with_counts(counts.astype(np.float64)))
    return replace(observed, answers=tuple(answers))


def answers_of(
    records: ReleasedRecords, view: ModelView, table: pa.Table
) -> Iterator[tuple[IntArray, Answers]]:
    """For each set that was asked for: which records, and their answers, one row a record."""
    sets = reporting_of(records).sets
    places = stated_sets(reporting_of(records), table)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(sets)))
    for one, begin, end in zip(sets, [0, *ends[:-1]], ends, strict=True):
        rows = order[begin:end]
        if len(rows):
            codes, _ = records.coded(table.select(one.columns).take(rows), one.columns)
            yield rows, view.answers(one, codes, np.ones(len(rows)))


def independence_of(records: ReleasedRecords, pair: tuple[str, str]) -> IndependenceTest:
    """Twice the gain in log-likelihood of a free table over one of independent columns."""
    schema = records.certificate.schema
    sizes = tuple(len(schema.column(name).labels) for name in pair)
    cells = prod(sizes)
    held = reporting_of(records).containing(pair)
    if not held or not (sums := ReportSums.of(records, Question(pair, weighted=False))).reports:
        raise NotCovered(
            "No attribute set contains {pair}: their dependence is unknown.",
            pair=" and ".join(pair),
        )
    uneven = np.ptp(sums.bases, axis=2) > 0
    if uneven.any() and (sums.bases.min(axis=2) > 0).any():
        raise NotCovered(
            "Attribute sets with {pair} have further columns, and some combinations are "
            "impossible: there is no test for that case. Use the intervals of crosstab instead.",
            pair=" and ".join(pair),
        )
    if uneven.any():
        raise NotCovered(
            "Some combinations of {pair} cannot exist: they are not independent.",
            pair=" and ".join(pair),
        )
    free, apart = [], []
    for kept, counts in zip(sums.retention.ravel().tolist(), sums.cells["n"], strict=True):
        gain, table = kept * cells / (1 - kept), counts.reshape(sizes)
        free.append(Answers.of_table([0], table.ravel(), base=1.0, gain=gain))
        apart.append(Answers.of_table([0, 1], table, base=1.0, gain=gain))
    features = tuple(Feature(place, size) for place, size in enumerate(sizes))
    whole = _likelihood(Observed((cells,), (Feature(0, cells),), tuple(free)))
    statistic = 2 * max(whole - _likelihood(Observed(sizes, features, tuple(apart))), 0.0)
    degrees = (sizes[0] - 1) * (sizes[1] - 1)
    return IndependenceTest(
        pair,
        statistic,
        degrees,
        chi_square_tail(statistic, degrees),
        "likelihood-ratio",
        "records that report both columns were fitted with and without independence; rare values "
        "make the test conservative.",
    )


def _likelihood(observed: Observed) -> float:
    even = np.concatenate([np.full(size, 1 / size) for size in observed.sizes])
    climb = ClassClimb(observed, even, FitSetting(1, 1e-6, STEPS), FIXED).run(STEPS)
    return float(climb.held_counts(observed) @ climb.held_out(observed))


class AttributeSamplingReading(UnchangedOnly):
    """Undoes the mixture of each set; unchanged columns are known of every report."""

    unbiased: ClassVar[CountMethod] = "unbiased"

    @property
    def mechanism(self) -> AttributeSampler:
        """The attribute sets."""
        return reporting_of(self.records)

    def _changed(self, question: Question) -> list[str]:
        """The reported columns of a question; the name of the set is no value of a person."""
        changed = self.records.changed(question.names)
        if changed and REPORTED in question.names:
            raise NotCovered(
                "{chance}: no table of the original data has it with {changed}. Leave it out; "
                "every answer uses all records that report its columns.",
                chance=CHANCE,
                changed=" and ".join(changed),
            )
        return changed

    # -- verbs -----------------------------------------------------------------------------

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """From every report that holds the columns; from the model where none does."""
        changed = self._changed(question)
        if not changed:
            return self.unchanged.counts(question, method=method, share=share)
        if method == "clipped":
            raise NotCovered(
                "Method clipped is for whole records. Here tables are unbiased or shrunk, or come "
                "from the model where no record reports them: leave the method out."
            )
        held = self.mechanism.containing(changed)
        sums = ReportSums.of(self.records, question) if held else None
        if sums is None or not sums.reports:  # by design, or among few records by chance
            if method != "auto":
                raise NotCovered(
                    "No attribute set contains {changed}: there is no unbiased estimate of their "
                    "table. Ask for fewer columns. Only a table of counts is also given by a "
                    "model, without a method.",
                    changed=gettext(" and ").join(changed),
                )
            return self._modelled(question, changed, share=share)
        counts, together = self._table(sums, question)
        whole = sums.whole_of(counts) if share else 1.0
        most: FloatArray | None = None
        figures = counts.totals, counts.se(question)
        if share:
            figures, most = self._shares(sums, counts, together, question), np.ones(())
        elif not question.weighted or self.records.weight is None:
            most = sums.everyone
        ends = counts.interval(figures, question, whole=whole, most=most)
        made = sums.estimate(
            (*figures, *ends),
            question,
            "share" if share else "count",
            counts.reports,
            ratio=share and whole != sums.whole,
            together=errors_of_shares(together) if share else together,
        )
        error = expected_error(np.nan_to_num(counts.se(question)), sums.whole)
        small = error <= SMALL_ERROR and method == "auto"
        if method == "unbiased" or sums.filtered or small:
            return made
        return replace(
            made,
            method="shrunk",
            estimate=sums.laid_out(self._shrunken(sums, counts, question) / whole),
            why=gettext(
                "{why} The expected total error of the unbiased estimate is {error}. {shrunk}",
                why=sums.basis(counts.reports),
                error=off_by(error),
                shrunk=shrunk_words(error),
            ),
        )

    def _table(self, sums: ReportSums, question: Question) -> tuple[ReportedTotals, JointErrors]:
        """The counts of all cells, and how they err together."""
        counts = sums.weights()
        one = np.ones_like(counts.totals)
        return counts, sums.errors(counts.totals, (0 * one, one), question.infer, counts.step)

    def _shares(
        self,
        sums: ReportSums,
        counts: ReportedTotals,
        together: JointErrors,  # noqa: ARG002
        question: Question,
    ) -> tuple[FloatArray, FloatArray]:
        """Shares of the records that meet the filter, with standard errors."""
        return sums.shares(counts, question)

    def _shrunken(self, sums: ReportSums, counts: ReportedTotals, question: Question) -> FloatArray:
        """Non-negative, with no more dependence than noise and experience allow.

        Two columns have margins from all records that report one of them. With unchanged columns or
        impossible combinations the table is only made possible.
        """
        reported = [name for name in question.by if name in self.records.changed(question.by)]
        tied = (np.ptp(sums.bases, axis=2) > 0).any()
        if len(reported) != 2 or len(counts.totals) > 1 or tied:
            return sums.possible(counts)
        rows, columns = (self._margin(replace(question, by=(name,))) for name in reported)
        shape = (len(rows), len(columns))
        se = np.sqrt(counts.population).reshape(shape)
        return usual_pair(counts.totals.reshape(shape), se, (rows, columns)).reshape(1, -1)

    def _margin(self, question: Question) -> FloatArray:
        """The possible table of one column; all tables of two that hold it need it."""

        def made() -> FloatArray:
            sums = ReportSums.of(self.records, question)
            return sums.possible(self._table(sums, question)[0]).ravel()

        return self.records.once(f"margin {question!r}", made)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Sums are corrected like counts; a mean is a ratio of unbiased estimates."""
        if self.records.changed([of]) or self.records.margins:
            self._require_together([*question.names, of])
            return values_of_numbers(self, question, of, total=total)
        if not self._needs_reports(question, of):
            return self.unchanged.values(question, of, total=total)
        sums = ReportSums.of(self.records, question, value=of)
        counts, totals = sums.weights(), sums.values()
        heavy = float(sums.sums["ww"].sum()) / max(float(sums.sums["w"].sum()), 1e-300)
        # Noise adds its variance times the sum of w^2 to a total of records.
        noise = self.records.noise(of) * heavy * np.maximum(counts.totals, 0)
        ratio_about = partial(sums.ratio, counts, totals, noise=noise)
        if not total:
            return self._means(question, of, sums, ratio_about)
        estimate, one = totals.totals, np.ones_like(totals.totals)
        se = np.sqrt(ratio_about(question).v_above)
        wide = question.z(estimate.size) * se + totals.half(question)
        together = sums.errors(estimate, (one, 0 * one), question.infer, totals.step)
        return sums.estimate(
            (estimate, se, estimate - wide, estimate + wide),
            question,
            what_of(of, total=True),
            totals.reports,
            ratio=False,
            together=together,
        )

    def totals_and_counts(self, question: Question, of: str) -> JointErrors:
        """From the reports that hold the columns of the question."""
        if not self._needs_reports(question, of):
            return self.unchanged.totals_and_counts(question, of)
        return ReportSums.of(self.records, question, value=of).totals_and_counts(question.infer)

    def _means(
        self,
        question: Question,
        of: str,
        sums: ReportSums,
        ratio_about: Callable[[Question], Ratio],
    ) -> Estimate:
        """Totals over counts, shrunk where the unbiased means have large errors."""
        counts, ratio = sums.weights(), ratio_about(question)
        figures = ratio.figures(question.z(ratio.above.size))
        together = sums.errors(ratio.value, ratio.slopes, question.infer)
        made = sums.estimate(
            figures,
            question,
            what_of(of, total=False),
            counts.reports,
            ratio=True,
            together=together,
        )
        whole = {name: table.sum(axis=0) for name, table in sums.sums.items()}
        deviation = deviation_of({name: float(table.sum()) for name, table in whole.items()})
        error = relative_error(np.nan_to_num(np.maximum(counts.totals, 0)), figures[1], deviation)
        there = (sums.bases > 0).any(axis=0)  # else filtered out
        bounded = bool((np.isfinite(figures[3]) | ~there).all())
        if not is_shrunk(question, error, bounded=bounded):
            return made
        alone = ratio_about(question.about_records())
        centre = whole["wy"] / np.maximum(whole["w"], 1e-300)
        apart = pulled(
            alone, centre, sums.possible(counts), deviation=deviation, strata=len(centre)
        )
        limits = self.records.range_of(of) if question.beyond is None else (0.0, 1.0)
        shrunken = sums.laid_out(np.where(there, np.clip(centre + apart, *limits), np.nan))
        why = f"{sums.basis(counts.reports).rstrip('.')}; {shrunken_words(error, bounded=bounded)}"
        return replace(made, method="shrunk", estimate=shrunken, why=why)

    def _needs_reports(self, question: Question, of: str) -> bool:
        """Whether a question about an unchanged column involves reported ones."""
        self.records.require_number(of)
        changed = self._changed(question)
        self._require_together(changed)
        return bool(changed)

    def _require_together(self, names: Sequence[str]) -> None:
        """Refuse means, totals and quantiles of columns that no attribute set contains together."""
        changed = self.records.changed(list(dict.fromkeys(names)))
        if changed and not self.mechanism.containing(changed):
            raise NotCovered(
                "No attribute set contains {columns} together: there is no mean, total or quantile "
                "of these columns. Ask for fewer of them, or for their table (--by {by}), which "
                "comes from a model, without intervals.",
                columns=listed(changed),
                by=",".join(changed),
            )

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where the nearly unbiased share of smaller values reaches the one asked for."""
        if self.records.changed([of]):
            self._require_together([*question.names, of])
            return quantile_of_numbers(self, question, of, shares=shares)
        if not self._needs_reports(question, of):
            return self.unchanged.quantile(question, of, shares=shares)
        return stacked(reported_quantiles(self.records, question, of, shares), shares, of)

    def independence(self, question: Question) -> IndependenceTest:
        """By the likelihood of all records that report both columns."""
        changed = self._changed(question)
        if not changed:
            return self.unchanged.independence(question)
        self.require_unweighted(question)
        if len(question.by) != 2 or set(changed) != set(question.by) or question.where:
            raise NotCovered(
                "In a release by reports the test takes two reported columns without a filter. "
                "Look at the intervals of crosstab instead."
            )
        return independence_of(self.records, (question.by[0], question.by[1]))

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """By scores put together from the tables that the sets hold."""
        if REPORTED in (names := [*question.names, *variables_of(formula)]):
            raise NotCovered("{chance}: no model takes it. Leave it out.", chance=CHANCE)
        if not self.records.changed(names):
            return self.unchanged.regress(question, formula, family=family)
        cells = partial(cells_of_reports, self.records, self.mechanism)
        return fit_formula(self.records, formula, question, family=family, cells=cells)

    # -- the model -------------------------------------------------------------------------

    def channel(self) -> Mechanism:
        """None: synthetic records are drawn from the model, not from whole records."""
        return Mechanism(())

    def synthesize(
        self, keystream: Keystream, *, method: SynthesisMethod, redraw: bool = False
    ) -> pa.Table:
        """Whole records drawn from the model, given columns released unchanged, which stay."""
        if method == "rank":
            raise NotCovered(
                "Method rank needs whole records, and here each record reports some columns only: "
                "leave the method out, and records are drawn from the model of the whole table."
            )
        schema = self.records.certificate.schema
        table = self.records.opened.to_arrow()
        view = ModelView(schema, self.mechanism)
        company = company_of(table, [one.name for one in self.records.certificate.as_they_are])
        margins = list(self._raked(view))
        together = np.zeros((len(view.axes), len(view.axes)))
        for one in self.mechanism.sets:
            held = [bool(set(axis.columns) & set(one.columns)) for axis in view.axes]
            together += one.share * np.outer(held, held)
        if company and margins:
            raise NotCovered(
                "Columns released unchanged are known record by record: synthetic records keep "
                "them, and cannot be raked to margins as well. Leave the margins out."
            )
        counted = self.records.certificate.nature.counted
        rows = np.arange(table.num_rows)
        if redraw and not counted:
            rows = resampled(table.num_rows, keystream)
        fitted = table.take(rows)
        if company:
            unchanged_codes = [companion.codes for companion in company.values()]
            columns = [Companion(c.labels, c.codes[rows]) for c in company.values()]
            model = fit_model(self._with_unchanged(view, fitted, columns), keystream)
            places = draw_with_unchanged(model, unchanged_codes, keystream, together=together)
        else:
            observed = observed_of(self.records, view, fitted)
            if redraw and counted:
                observed = resampled_counts(observed, keystream)
            model = fit_model(observed, keystream).raked(margins)
            places = draw_records(
                model, self.records.certificate.records, keystream, together=together
            )
        table = self._to_fill(table)
        for axis, drawn in zip(view.axes, places, strict=True):
            for name, codes in zip(axis.columns, axis.codes(axis.columns, schema), strict=True):
                table = with_drawn_column(table, schema.column(name), codes[drawn], keystream)
        return table.replace_schema_metadata({"pramana": f"{SYNTHETIC_NOTE} Model: {model.why}"})

    def _raked(self, view: ModelView) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """The published margins, each with its axis of the model and the value of each cell."""
        randomised = {column.name: column.labels for column in view.schema.randomised}
        where = "randomised column of the release"
        margins = margins_of(self.records.margins or {}, randomised, where=where)
        for name, shares in margins.items():
            place = next(at for at, axis in enumerate(view.axes) if name in axis.columns)
            (codes,) = view.axes[place].codes([name], view.schema)
            yield place, codes, shares

    def _to_fill(self, table: pa.Table) -> pa.Table:
        """One row a synthetic record, with the unchanged columns."""
        return table.drop_columns([REPORTED])

    def _with_unchanged(
        self, view: ModelView, table: pa.Table, company: Sequence[Companion]
    ) -> ReportsWithUnchanged:
        """All reports with the unchanged columns of each."""
        sets = tuple(answers_of(self.records, view, table))  # which finds the features
        sizes = [len(companion.labels) for companion in company]
        features = [Feature(axis, size) for axis, size in enumerate(sizes, len(view.sizes))]
        return ReportsWithUnchanged(
            (*view.sizes, *sizes),
            (*view.features, *features),
            sets,
            tuple(companion.codes for companion in company),
        )

    def _modelled(self, question: Question, changed: list[str], *, share: bool) -> Estimate:
        """A table that no attribute set contains, from the model, without an error."""
        nobody = (
            f"No attribute set contains {' and '.join(changed)}: their table comes from a model"
        )
        if set(question.names) != set(changed) or question.where:
            raise NotCovered(
                "{nobody}, which does not know columns released unchanged, nor filters.",
                nobody=nobody,
            )
        if question.weighted and self.records.weight is not None:
            raise NotCovered(
                "{nobody}, which counts every record once and knows no weights. Ask with "
                "weighted=False, on the command line --unweighted.",
                code="weights-not-modelled",
                nobody=nobody,
            )
        if question.infer == "population":
            raise NotCovered(
                "{nobody}, which has no error about the population. Ask about the records alone: "
                'infer="records", on the command line --infer records.',
                code="population-not-modelled",
                nobody=nobody,
            )
        certificate, opened = self.records.certificate, self.records.opened
        present = np.unique(stated_sets(self.mechanism, opened)).tolist()
        known = {name for at in present for name in self.mechanism.sets[at].columns}
        silent = [name for name in changed if name not in known]
        if silent:
            raise NotCovered(
                "Among so few records chance asked nobody for {silent}. Ask for other columns.",
                silent=" and ".join(silent),
            )
        view = ModelView(certificate.schema, self.mechanism)
        model = fit_model(observed_of(self.records, view, opened.to_arrow()), FIXED)
        estimate = view.table(model, question.by) * (1 if share else certificate.records)
        made = Estimate.of(
            question.by,
            [certificate.schema.column(name).labels for name in question.by],
            [estimate] * 4,
            question,
            what="share" if share else "count",
            method="model",
            why=gettext(
                "no attribute set contains these columns. The table comes from a model: {why}",
                why=model.why,
            ),
            records=certificate.records,
        )
        return made.without_interval(
            gettext(
                "the error of the model is unknown, because no attribute set contains these "
                "columns. {instead}",
                instead=self._with_interval(changed),
            )
        )

    def _with_interval(self, changed: Sequence[str]) -> str:
        """The smaller tables that have an interval: the largest that sets contain."""
        held = {tuple(n for n in changed if n in one.columns) for one in self.mechanism.sets}
        largest = [a for a in held if a and not any(set(a) < set(b) for b in held)]
        largest.sort(key=lambda names: [changed.index(name) for name in names])
        tables = [" and ".join(names) for names in largest]
        if len(tables) == 1:
            return f"The table of {tables[0]} has intervals."
        return f"The tables of {', of '.join(tables)} have intervals."


CHANCE = f"'{REPORTED}' names the columns of a record, which were drawn at random"
