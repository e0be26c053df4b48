"""Reports of some columns of each record: a table comes from every report that holds it.

What no report holds comes from the model of the whole table (latent classes), and says so: what it
smooths away cannot be told from the reports, so that no error is stated. Synthetic records are
drawn from the same model, given the columns beside that were released unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import ClassVar

import numpy as np
import pyarrow as pa

from pramana.analysis.attribute_sampling_regression import cells_of_reports
from pramana.analysis.attribute_sampling_sums import (
    ReportedTotals,
    ReportSums,
    below_limits,
    interval_of,
    limits_of,
    quantile_of,
    reporting_of,
)
from pramana.analysis.contrasts import SharesWithin, VaryTogether
from pramana.analysis.counts import (
    SMALL_ERROR,
    expected_error,
    require_method,
)
from pramana.analysis.estimates import Estimate
from pramana.analysis.formulas import fit_formula, variables_of
from pramana.analysis.independence import IndependenceTest, chi_square_tail
from pramana.analysis.latent_class_choice import ReportsBeside, fit_model
from pramana.analysis.latent_classes import Blend, ClassClimb
from pramana.analysis.means import (
    deviation_of,
    is_shrunk,
    pulled,
    relative_error,
    shrunken_words,
)
from pramana.analysis.numbers import quantile_of_numbers, values_of_numbers
from pramana.analysis.observed import Answers, Feature, Observed, different
from pramana.analysis.quantiles import stacked
from pramana.analysis.question import CountMethod, Question
from pramana.analysis.readings import SYNTHETIC_NOTE, BesidePlain
from pramana.analysis.records import ReleasedRecords
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.spectral import usual_pair
from pramana.analysis.synthesis import (
    SYNTHESIS_METHODS,
    Companion,
    SynthesisMethod,
    company_of,
    with_drawn_column,
)
from pramana.analysis.synthesis_draws import draw_beside, draw_records
from pramana.analysis.variance import Ratio
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.errors import NotCovered, TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet, Mechanism
from pramana.mechanisms.transition import Label
from pramana.release.released_codes import stated_sets
from pramana.schema.joint_cells import CellRules, cell_codes, cell_numbers, tied_columns
from pramana.schema.schema import REPORTED, Schema
from pramana.types import Codes, FloatArray, IntArray

FIXED = Keystream.from_seed(0)
"""A table from the model depends on the release and on nothing else."""

CHANCE = f"'{REPORTED}' says what a record was asked for, which chance alone decided"
SMOOTHED = "what the model smooths away cannot be told: no report holds these columns together."

MOST_CELLS = 200_000

STEPS = 400
"""Steps to the most likely table of a pair: both sides of a test must have arrived."""


class ModelView:
    """The axes of the model, and what each set shows of them.

    Columns that impossible combinations tie together are one axis, with the cells that can exist:
    no other can be drawn.
    """

    def __init__(self, schema: Schema, mechanism: AttributeSampler) -> None:
        self.schema = schema
        self.axes = tuple(_axes(schema, mechanism.columns))
        self.features: list[Feature] = []
        self._known: dict[tuple[str, ...], tuple[int, IntArray]] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(len(axis.cells) for axis in self.axes)

    def table(self, blend: Blend, columns: Sequence[str]) -> FloatArray:
        """The distribution of some columns under a model of the axes."""
        used = [place for place, axis in enumerate(self.axes) if set(axis.columns) & set(columns)]
        found = np.zeros([len(self.schema.column(name).labels) for name in columns])
        places: dict[str, IntArray] = {}
        for at, place in enumerate(used):
            shape = [1] * at + [-1] + [1] * (len(used) - at - 1)
            axis = self.axes[place]
            own = [codes.reshape(shape) for codes in axis.codes(axis.columns, self.schema)]
            places |= dict(zip(axis.columns, own, strict=True))
        np.add.at(found, tuple(places[name] for name in columns), blend.table(used))
        return found

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
        gain = float(one.matrix.gamma) - 1
        return Answers(tuple(features), rows, counts, 1.0, gain)

    def _feature(self, place: int, inside: tuple[str, ...]) -> tuple[int, IntArray]:
        """What can be seen of an axis by some of its columns, and where their codes stand there."""
        if inside not in self._known:
            parts = self.axes[place].codes(inside, self.schema)
            shape = [len(self.schema.column(name).labels) for name in inside]
            flat = cell_numbers(parts, shape)
            seen, groups = np.unique(flat, return_inverse=True)
            lookup = np.full(prod(shape), -1, dtype=np.int64)
            lookup[seen] = np.arange(len(seen))
            whole = inside == self.axes[place].columns
            if whole:
                lookup[flat] = np.arange(len(flat))
            feature = Feature(place, len(flat)) if whole else Feature.of_groups(place, groups)
            self.features.append(feature)
            self._known[inside] = len(self.features) - 1, lookup.reshape(shape)
        return self._known[inside]


@dataclass(frozen=True)
class ModelAxis:
    """Columns of the model that move together, and their cells that can exist."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]

    def codes(self, names: Sequence[str], schema: Schema) -> list[IntArray]:
        """The code of each column at each cell."""
        found = cell_codes([schema.column(name).labels for name in self.columns], self.cells)
        return [found[self.columns.index(name)] for name in names]


def _axes(schema: Schema, columns: Sequence[str]) -> Iterator[ModelAxis]:
    """Columns tied by impossible combinations together, the others apart."""
    for tied in tied_columns(columns, (rule.columns for rule in schema.impossible)):
        if prod(len(schema.column(name).labels) for name in tied) > MOST_CELLS:
            raise TooLarge(
                f"Impossible combinations tie {' and '.join(tied)} together, which makes more "
                f"than {MOST_CELLS:,} cells: too many for a model of the whole table."
            )
        yield ModelAxis(tied, CellRules.of(schema, tied).cells())


def observed_of(records: ReleasedRecords, view: ModelView, table: pa.Table) -> Observed:
    """All reports, counted by set and cell."""
    if records.certificate.nature.counted:
        answers = []
        for one in reporting_of(records).sets:
            counts = records.rounds[one.name]
            codes = dict(zip(one.columns, np.nonzero(counts), strict=True))
            answers.append(view.answers(one, codes, counts[counts > 0]))
        return Observed(view.sizes, tuple(view.features), tuple(answers))
    parts = []
    for _, told in answers_of(records, view, table):
        cells, counts = different(list(told.cells.T))
        parts.append(replace(told, cells=cells, counts=counts))
    return Observed(view.sizes, tuple(view.features), tuple(parts))


def answers_of(
    records: ReleasedRecords, view: ModelView, table: pa.Table
) -> Iterator[tuple[IntArray, Answers]]:
    """For each set that was asked for: which records, and what they told, one row a record."""
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
            f"No report holds {' and '.join(pair)} together: nothing tells whether they go "
            "together."
        )
    uneven = np.ptp(sums.bases, axis=2) > 0
    if (sums.bases.min(axis=2) > 0).any() and uneven.any():
        raise NotCovered(
            f"Reports that hold {' and '.join(pair)} hold further columns, of which some "
            "combinations cannot exist: there is no test for that case. Look at the intervals of "
            "crosstab instead."
        )
    if uneven.any():
        raise NotCovered(
            f"Some combinations of {' and '.join(pair)} cannot exist: they are not independent."
        )
    free, apart = [], []
    for kept, counts in zip(sums.retention.ravel().tolist(), sums.cells["n"], strict=True):
        gain, table = kept * cells / (1 - kept), counts.reshape(sizes)
        free.append(Answers.of_table([0], table.ravel(), base=1.0, gain=gain))
        apart.append(Answers.of_table([0, 1], table, base=1.0, gain=gain))
    whole = _likelihood(Observed((cells,), (Feature(0, cells),), tuple(free)))
    features = tuple(Feature(place, size) for place, size in enumerate(sizes))
    statistic = 2 * max(whole - _likelihood(Observed(sizes, features, tuple(apart))), 0.0)
    degrees = (sizes[0] - 1) * (sizes[1] - 1)
    return IndependenceTest(
        pair, statistic, degrees, chi_square_tail(statistic, degrees), "likelihood-ratio",
        "the reports that hold both columns were fitted with and without independence; values "
        "that hardly occur make the test hold back.",
    )  # fmt: skip


def _likelihood(observed: Observed) -> float:
    even = np.concatenate([np.full(size, 1 / size) for size in observed.sizes])
    key = Keystream.from_seed(0)
    climb = ClassClimb(observed, even, classes=1, pull=1e-6, fits=1, keystream=key).run(STEPS)
    return float(climb.held_counts(observed) @ climb.held_out(observed))


# -- answers ------------------------------------------------------------------------------


class AttributeSamplingReading(BesidePlain):
    """Undoes the mixture of each set; columns released unchanged stand beside every report."""

    unbiased: ClassVar[CountMethod] = "unbiased"

    @property
    def mechanism(self) -> AttributeSampler:
        """What was asked of each record."""
        return reporting_of(self.records)

    def _changed(self, question: Question) -> list[str]:
        """The columns in a question that are told by reports; what was asked for is no value."""
        changed = self.records.changed(question.names)
        if changed and REPORTED in question.names:
            raise NotCovered(
                f"{CHANCE}: no table of the truth has it beside {' and '.join(changed)}. Leave it "
                "out; every answer comes from all the reports that hold its columns."
            )
        return changed

    # -- verbs -----------------------------------------------------------------------------

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """From every report that holds the columns; from the model where none does."""
        require_method(method)
        changed = self._changed(question)
        if not changed:
            return self.plain.counts(question, method=method, share=share)
        if method == "clipped":
            raise NotCovered(
                "Method clipped is for whole records. Tables of reports are unbiased or shrunk, or "
                "come from the model where no report holds them: leave the method out."
            )
        held = self.mechanism.containing(changed)
        sums = ReportSums.of(self.records, question) if held else None
        if sums is None or not sums.reports:  # by design, or among few records by chance
            if method != "auto":
                raise NotCovered(
                    f"No report holds {' and '.join(changed)} together, so that there is nothing "
                    "to undo. Leave the method out: the table then comes from a model, and says so."
                )
            return self._modelled(question, changed, share=share)
        found = self._totals(sums, question)
        figures = found.totals, found.se(question)
        total = sums.everyone if not question.weighted or self.records.weight is None else None
        if share:
            figures = self._shares(sums, found, question)
        half = found.half(question) / (sums.whole_of(found) if share else 1.0)
        most = 1.0 if share else total
        low, high = interval_of(*figures, question, half=half, most=most)
        what = "share" if share else "count"
        ratio = share and sums.whole_of(found) != sums.whole
        counted = self._vary(sums, found, question)
        made = sums.estimate(
            (*figures, low, high), question, what, found, ratio=ratio,
            together=SharesWithin(counted) if share else counted,
        )  # fmt: skip
        error = expected_error(np.nan_to_num(found.se(question)), sums.whole)
        small = error <= SMALL_ERROR and method == "auto"
        if method == "unbiased" or sums.filtered or small:
            return made
        shrunken = self._shrunken(sums, found, question) / (sums.whole_of(found) if share else 1.0)
        return sums.shrunken(made, shrunken, error)

    def _totals(self, sums: ReportSums, question: Question) -> ReportedTotals:  # noqa: ARG002
        """The counts of all cells with their variances."""
        return sums.totals(sums.weights())

    def _shares(
        self, sums: ReportSums, found: ReportedTotals, question: Question
    ) -> tuple[FloatArray, FloatArray]:
        """Shares of the records that meet the filter, with standard errors."""
        return sums.shares(found, question)

    def _vary(self, sums: ReportSums, found: ReportedTotals, question: Question) -> VaryTogether:
        """How the counts vary together."""
        return sums.counted(found, question)

    def _shrunken(self, sums: ReportSums, found: ReportedTotals, question: Question) -> FloatArray:
        """Non-negative, its dependence no stronger than noise and experience allow.

        Two columns have margins from all reports that hold one of them. What columns as they are
        tell apart, and what cannot exist, only moves to a table that can be.
        """
        told = [name for name in question.by if name in self.records.changed(question.by)]
        tied = (np.ptp(sums.bases, axis=2) > 0).any()
        if len(told) != 2 or len(found.totals) > 1 or tied:
            return sums.possible(found)
        rows, columns = (self._margin(replace(question, by=(name,))) for name in told)
        shape = (len(rows), len(columns))
        se = np.sqrt(found.population).reshape(shape)
        table = usual_pair(found.totals.reshape(shape), se, (rows, columns))
        return table.reshape(1, -1)

    def _margin(self, question: Question) -> FloatArray:
        """The table of one column that can be: all tables of two that hold it ask for the same."""

        def made() -> FloatArray:
            sums = ReportSums.of(self.records, question)
            return sums.possible(self._totals(sums, question)).ravel()

        return self.records.once(f"margin {question!r}", made)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Sums are undone like counts; an unbiased total over an unbiased count as ratios are."""
        if self.records.changed([of]):
            return values_of_numbers(self, self.records, question, of, total=total)
        sums = self._sums_of_values(question, of)
        if sums is None:
            return self.plain.values(question, of, total=total)
        counts, totals = sums.totals(sums.weights()), sums.totals(sums.values())
        noise = self._noise(of, question, sums, counts.totals)
        if not total:
            return self._means(question, of, sums, counts, totals)
        estimate, se = totals.totals, np.hypot(totals.se(question), noise)
        wide = question.z(estimate.size) * se + totals.half(question)
        return sums.estimate(
            (estimate, se, estimate - wide, estimate + wide), question, f"total of {of}", totals,
            ratio=False, together=sums.summed(totals, question),
        )  # fmt: skip

    def _means(
        self,
        question: Question,
        of: str,
        sums: ReportSums,
        counts: ReportedTotals,
        totals: ReportedTotals,
    ) -> Estimate:
        """Totals over counts, shrunk where noise would make them err much."""

        def ratio_about(asked: Question) -> Ratio:
            noise = self._noise(of, asked, sums, counts.totals) ** 2
            return sums.ratio(counts, totals, asked, noise)

        ratio = ratio_about(question)
        figures = ratio.told(question.z(ratio.above.size))
        made = sums.estimate(
            figures, question, f"mean of {of}", totals, ratio=True,
            together=sums.averaged(ratio, question),
        )  # fmt: skip
        whole = {name: own.sum(axis=0) for name, own in sums.sums.items()}
        deviation = deviation_of({name: float(own.sum()) for name, own in whole.items()})
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
        shrunken = np.where(there, centre + apart, np.nan).reshape(sums.shape).transpose(sums.order)
        why = f"{made.why[:-1].replace('nearly unbiased, from', 'from')}; {shrunken_words(error)}"
        return replace(made, method="shrunk", estimate=shrunken, unbiased=made.estimate, why=why)

    def _noise(
        self, of: str, question: Question, sums: ReportSums, weights: FloatArray
    ) -> FloatArray:
        """The deviation that noise adds to a total of these records: its variance times sum w^2."""
        noise = self.records.noise(of) if question.infer == "records" else 0.0
        heavy = float(sums.sums["ww"].sum()) / max(float(sums.sums["w"].sum()), 1e-300)
        return np.sqrt(noise * heavy * np.maximum(weights, 0))

    def _sums_of_values(self, question: Question, of: str) -> ReportSums | None:
        """The sums of a column released unchanged; ``None`` where no report is involved."""
        self.records.require_number(of)
        changed = self._changed(question)
        if not changed:
            return None
        if not self.mechanism.containing(changed):
            raise NotCovered(
                f"No report holds {' and '.join(changed)} together, so there is no total by them. "
                "Ask for fewer columns, or release with these tables among those asked for."
            )
        return ReportSums.of(self.records, question, value=of)

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where the nearly unbiased share of smaller values reaches the one asked for."""
        if self.records.changed([of]):
            return quantile_of_numbers(self, self.records, question, of, shares=shares)
        plain = self._sums_of_values(question, of)
        if plain is None:
            return self.plain.quantile(question, of, shares=shares)
        limits = limits_of(self.records, of)
        below = below_limits(
            ReportSums.of(self.records, question, limits=(of, limits)), len(limits)
        )
        z = question.z(prod(plain.shape) * len(shares))
        parts = [quantile_of(below, plain, limits, share, question, of, z) for share in shares]
        return stacked(parts, shares, of)

    def independence(self, question: Question) -> IndependenceTest:
        """By the likelihood of all reports that hold both columns."""
        changed = self._changed(question)
        if not changed:
            return self.plain.independence(question)
        self.require_unweighted(question)
        if len(question.by) != 2 or set(changed) != set(question.by) or question.where:
            raise NotCovered(
                "In a release by reports the test takes two reported columns without a filter. "
                "Look at the intervals of crosstab instead."
            )
        return independence_of(self.records, (question.by[0], question.by[1]))

    def channel(self) -> Mechanism:
        """Nothing is left to undo in whole records: they are drawn from the model."""
        return Mechanism(())

    def synthesize(self, keystream: Keystream, *, method: SynthesisMethod) -> pa.Table:
        """Whole records drawn from the model, given columns released unchanged, which stay."""
        require_choice("method", method, SYNTHESIS_METHODS)
        if method == "rank":
            raise NotCovered(
                "Reports are not whole records, which rank sorts and hands values to: leave the "
                "method out, and records are drawn from the model of the whole table."
            )
        schema = self.records.certificate.schema
        table = self.records.opened.to_arrow()
        view = ModelView(schema, self.mechanism)
        axes, together = view.axes, self._together(view.axes)
        names = [one.name for one in self.records.certificate.as_they_are]
        company = company_of(table, names)
        margins = list(self._raked(view))
        if company and margins:
            raise NotCovered(
                "Columns released unchanged are known record by record: synthetic records keep "
                "them, and cannot be raked to margins as well. Leave the margins out."
            )
        if company:
            beside = [own.codes for own in company.values()]
            model = fit_model(self._beside(view, table, list(company.values())), keystream)
            places = draw_beside(model, beside, keystream, together=together)
        else:
            model = fit_model(observed_of(self.records, view, table), keystream).raked(margins)
            places = draw_records(
                model, self.records.certificate.records, keystream, together=together
            )
        table = self._to_fill(table)
        for axis, drawn in zip(axes, places, strict=True):
            for name, codes in zip(axis.columns, axis.codes(axis.columns, schema), strict=True):
                table = with_drawn_column(table, schema.column(name), codes[drawn], keystream)
        return table.replace_schema_metadata({"pramana": f"{SYNTHETIC_NOTE} Model: {model.why}"})

    def _raked(self, view: ModelView) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """The published margins, each with its axis of the model and the value of each cell."""
        for name, shares in (self.records.margins or {}).items():
            place = next(at for at, axis in enumerate(view.axes) if name in axis.columns)
            (codes,) = view.axes[place].codes([name], view.schema)
            yield place, codes, shares

    def _to_fill(self, table: pa.Table) -> pa.Table:
        """One row a synthetic record, with the columns that stay as they are."""
        return table.drop_columns([REPORTED])

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """By scores put together from the tables that the sets hold."""
        if REPORTED in (names := [*question.names, *variables_of(formula)]):
            raise NotCovered(f"{CHANCE}: no model takes it. Leave it out.")
        if not self.records.changed(names):
            return self.plain.regress(question, formula, family=family)
        cells = partial(cells_of_reports, self.records, self.mechanism)
        return fit_formula(self.records, formula, question, family=family, cells=cells)

    # -- the model -------------------------------------------------------------------------

    def _beside(
        self, view: ModelView, table: pa.Table, company: Sequence[Companion]
    ) -> ReportsBeside:
        """All reports with what stands beside each."""
        sets = tuple(answers_of(self.records, view, table))  # which finds the features
        axes = range(len(view.sizes), len(view.sizes) + len(company))
        features = [Feature(axis, len(own.labels)) for axis, own in zip(axes, company, strict=True)]
        return ReportsBeside(
            (*view.sizes, *(len(own.labels) for own in company)),
            (*view.features, *features),
            sets,
            tuple(own.codes for own in company),
        )

    def _together(self, axes: tuple[ModelAxis, ...]) -> FloatArray:
        """How often two axes are asked for together."""
        found = np.zeros((len(axes), len(axes)))
        for one in self.mechanism.sets:
            told = [bool(set(axis.columns) & set(one.columns)) for axis in axes]
            found += one.share * np.outer(told, told)
        return found

    def _require_told(self, names: Sequence[str]) -> None:
        """Refuse columns that chance asked nobody for: no model knows them."""
        places = np.unique(stated_sets(self.mechanism, self.records.opened)).tolist()
        sets = [self.mechanism.sets[at] for at in places]
        silent = [name for name in names if not any(name in one.columns for one in sets)]
        if silent:
            raise NotCovered(
                f"Among so few records chance asked nobody for {' and '.join(silent)}: nothing "
                "tells of it. Ask for other columns."
            )

    def _modelled(self, question: Question, changed: list[str], *, share: bool) -> Estimate:
        """A table that no report holds, from the model, without an error."""
        nobody = f"No report holds {' and '.join(changed)} together: their table comes from a model"
        if set(question.names) != set(changed) or question.where:
            raise NotCovered(
                f"{nobody}, which does not know columns released as they are, nor filters."
            )
        if question.weighted and self.records.weight is not None:
            raise NotCovered(
                f"{nobody}, which counts every record once and knows no weights. Ask with "
                "weighted=False, on the command line --unweighted.",
                code="weights-not-modelled",
            )
        if question.infer == "population":
            raise NotCovered(
                f"{nobody}, which tells no error about the population. Ask about the records "
                'alone: infer="records", on the command line --infer records.',
                code="population-not-modelled",
            )
        self._require_told(changed)
        view = ModelView(self.records.certificate.schema, self.mechanism)
        model = fit_model(observed_of(self.records, view, self.records.opened.to_arrow()), FIXED)
        schema, records = self.records.certificate.schema, self.records.certificate.records
        estimate = view.table(model, question.by) * (1 if share else records)
        unknown = np.full_like(estimate, np.nan)
        return Estimate(
            by=question.by,
            labels=tuple(schema.column(name).labels for name in question.by),
            what="share" if share else "count", method="model",
            why=f"no report holds these columns together, so that they come from a model: "
                f"{model.why}",
            level=question.level, infer=question.infer, estimate=estimate,
            se=unknown, low=unknown, high=unknown, records=records,
            simultaneous=question.simultaneous,
            no_interval=f"{SMOOTHED} {self._told_with_interval(changed)}",
        )  # fmt: skip

    def _told_with_interval(self, changed: Sequence[str]) -> str:
        """Which smaller tables have one: the largest that reports hold."""
        held = {tuple(n for n in changed if n in one.columns) for one in self.mechanism.sets}
        most = [a for a in held if a and not any(set(a) < set(b) for b in held)]
        names = [
            " and ".join(own)
            for own in sorted(most, key=lambda own: [changed.index(n) for n in own])
        ]
        tables = f"The tables of {', of '.join(names)}" if len(most) > 1 else f"That of {names[0]}"
        return f"{tables} {'have' if len(most) > 1 else 'has'} one."
