"""Reports of some columns of each record: a table comes from every report that holds it.

What no report holds comes from the model of the whole table (pramana.model), and says so: what it
smooths away cannot be told from the reports, so that no error is stated. Rebuilt records are drawn
from the same model, given the columns beside that were released as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.engines.sums import Condition, SumsAsked, grouped_sums, sums_in
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, TooLarge
from pramana.estimation.companions import Companion, company_of
from pramana.estimation.counts import (
    BESIDE,
    SMALL_ERROR,
    TAKEN_IN,
    CountMethod,
    expected_error,
    require_method,
)
from pramana.estimation.independence import WEIGHTED, IndependenceTest, chi_square_tail
from pramana.estimation.quantiles import Curve, quantiles_of, stacked
from pramana.estimation.rebuild import REBUILDS, Rebuild
from pramana.estimation.regression import Family
from pramana.estimation.regression_results import Regression
from pramana.estimation.reported import ReportedTotals, SetSums, totals_of_reports
from pramana.estimation.results import Estimate
from pramana.estimation.spectral import onto_simplex, usual_pair
from pramana.estimation.variance import Ratio, bounded_interval, normal_interval
from pramana.matrices.reporting import AskedSet, Reporting
from pramana.matrices.transition import Label
from pramana.model.beside import ReportsBeside, SetAnswers
from pramana.model.choose import fit_model
from pramana.model.climb import ClassClimb
from pramana.model.drawing import draw_beside, draw_records
from pramana.model.latent_classes import Blend
from pramana.model.observed import Answers, Feature, Observed
from pramana.model.whole_records import different
from pramana.randomness import Keystream, Stream
from pramana.readings.base import Asked
from pramana.readings.distributions import proportion_by_mean
from pramana.readings.formulas import fit_formula, variables_of
from pramana.readings.published import REBUILT, PublishedReading
from pramana.readings.records import ReleasedRecords
from pramana.readings.reported_models import cells_of_reports, share_of_cells
from pramana.table.cells import cell_codes
from pramana.table.codec import decode, encode_released
from pramana.table.rules import CellRules, tied_columns
from pramana.table.schema import ASKED, Schema
from pramana.types import Codes, FloatArray, IntArray

__all__ = ["ReportsReading"]

Inside: TypeAlias = dict[str, tuple[Label, ...]]
"""The labels of reported columns that a filter keeps."""

LIMIT = "the limit that a value reaches"
MOST_CELLS = 200_000
FIXED = Keystream.from_seed(0)
"""A table from the model depends on the release and on nothing else."""

SMOOTHED = "what the model smooths away cannot be told: no report holds these columns together."

STEPS = 400
"""Steps to the most likely table of a pair: both sides of a test must have arrived."""


@dataclass(frozen=True)
class ReportsReading:
    """Undoes the mixture of each set; columns released as they are stand beside every report."""

    unbiased: ClassVar[CountMethod] = "auto"

    records: ReleasedRecords

    @property
    def plain(self) -> PublishedReading:
        """Answers about columns released as they are."""
        return PublishedReading(self.records)

    @property
    def mechanism(self) -> Reporting:
        """The sets."""
        mechanism = self.records.certificate.mechanism
        assert isinstance(mechanism, Reporting)  # noqa: S101 - the certificate has looked
        return mechanism

    # -- verbs -----------------------------------------------------------------------------

    def counts(self, asked: Asked, *, method: CountMethod, share: bool) -> Estimate:
        """From every report that holds the columns; from the model where none does."""
        require_method(method)
        changed = self.records.changed(asked.names)
        if not changed:
            return self.plain.counts(asked, method=method, share=share)
        if method not in ("auto", "inverse"):
            raise NotCovered(
                f"Method {method} is for whole records. Tables of reports are undone (inverse), or "
                "come from the model where no report holds them: leave the method out."
            )
        if not self.mechanism.containing(changed):
            if method == "inverse":
                raise NotCovered(
                    f"No report holds {' and '.join(changed)} together, so that there is nothing "
                    "to undo. Leave the method out: the table then comes from a model, and says so."
                )
            return self._modelled(asked, changed, share=share)
        sums = _Sums.of(self, asked)
        found = sums.totals(sums.weights())
        figures = found.totals, _se(found, asked)
        total = sums.people if not asked.weighted or self.records.weight is None else None
        if share:
            figures = sums.shares(found, asked)
        low, high = _interval(*figures, asked, most=1.0 if share else total)
        what = "share" if share else "count"
        made = sums.estimate((*figures, low, high), asked, what, found)
        error = expected_error(np.nan_to_num(_se(found, asked)), sums.whole)
        if method == "inverse" or sums.filtered or error <= SMALL_ERROR:
            return made
        shrunken = self._shrunken(sums, found, asked) / (sums.whole if share else 1.0)
        ends = _interval(*figures, asked, most=1.0 if share else total, misses=TAKEN_IN)
        return sums.shrunken(made, shrunken, ends, error)

    def _shrunken(self, sums: _Sums, found: ReportedTotals, asked: Asked) -> FloatArray:
        """Non-negative, its dependence no stronger than noise and experience allow.

        Two columns have margins from all reports that hold one of them. What columns as they are
        tell apart, and what cannot exist, only moves to the nearest table that can be.
        """
        told = [name for name in asked.by if name in self.records.changed(asked.by)]
        tied = any(np.ptp(base) > 0 for base in sums.bases)
        if len(told) != 2 or len(found.totals) > 1 or tied:
            return sums.nearest(found.totals)
        rows, columns = (
            one.nearest(one.totals(one.weights()).totals).ravel()
            for one in (_Sums.of(self, replace(asked, by=(name,))) for name in told)
        )
        shape = (len(rows), len(columns))
        se = np.sqrt(found.population).reshape(shape)
        table = usual_pair(found.totals.reshape(shape), se, (rows, columns))
        return table.reshape(1, -1)

    def mean(self, asked: Asked, of: str) -> Estimate:
        """An unbiased total over an unbiased count: nearly unbiased, as ratios are."""
        sums = self._values(asked, of)
        if sums is None:
            return self.plain.mean(asked, of)
        counts, totals = sums.totals(sums.weights()), sums.totals(sums.values())
        noise = self._noise(of, asked, sums, counts.totals) ** 2
        ratio = sums.ratio(counts, totals, asked, noise)
        low, high = ratio.interval(asked.question.z(ratio.above.size))
        mean, se = ratio.value, ratio.se
        return sums.estimate((mean, se, low, high), asked, f"mean of {of}", totals)

    def total(self, asked: Asked, of: str) -> Estimate:
        """Sums of values are undone like counts."""
        sums = self._values(asked, of)
        if sums is None:
            return self.plain.total(asked, of)
        found = sums.totals(sums.values())
        noise = self._noise(of, asked, sums, sums.totals(sums.weights()).totals)
        figures = found.totals, np.hypot(_se(found, asked), noise)
        low, high = normal_interval(*figures, z=asked.question.z(figures[0].size))
        return sums.estimate((*figures, low, high), asked, f"total of {of}", found)

    def _noise(self, of: str, asked: Asked, sums: _Sums, weights: FloatArray) -> FloatArray:
        """The deviation that noise adds to a total of these records: its variance times sum w^2."""
        noise = self.records.noise(of) if asked.question.infer == "records" else 0.0
        squares = sum(float(own["ww"].sum()) for own in sums.sums)
        heavy = squares / max(sum(float(own["w"].sum()) for own in sums.sums), 1e-300)
        return np.sqrt(noise * heavy * np.maximum(weights, 0))

    def _values(self, asked: Asked, of: str) -> _Sums | None:
        """The sums of a column released as it is; ``None`` where no report is involved."""
        if self.records.changed([of]):
            raise NotCovered(
                f"'{of}' is reported, not released as it is; means and totals are of columns "
                f"released as they are. Ask for the table of '{of}' instead."
            )
        self.records.require_number(of)
        changed = self.records.changed(asked.names)
        if not changed:
            return None
        if not self.mechanism.containing(changed):
            raise NotCovered(
                f"No report holds {' and '.join(changed)} together, so there is no total by them. "
                "Ask for fewer columns, or release with these tables among those asked for."
            )
        return _Sums.of(self, asked, value=of)

    def proportion(self, asked: Asked, beyond: Condition) -> Estimate:
        """The mean of a column of 1 and 0."""
        return proportion_by_mean(self.mean, asked, beyond)

    def quantile(self, asked: Asked, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where the nearly unbiased share of smaller values reaches the one asked for."""
        plain = self._values(asked, of)
        if plain is None:
            return self.plain.quantile(asked, of, shares=shares)
        limits = _limits(self.records, of)
        below = _below(_Sums.of(self, asked, limits=(of, limits)), len(limits))
        z = asked.question.z(prod(plain.shape) * len(shares))
        parts = [_quantile(below, plain, limits, share, asked, of, z) for share in shares]
        return stacked(parts, shares, of)

    def independence(self, asked: Asked) -> IndependenceTest:
        """By the likelihood of all reports that hold both columns."""
        changed = self.records.changed(asked.names)
        if not changed:
            return self.plain.independence(asked)
        if asked.weighted and self.records.weight is not None:
            raise NotCovered(WEIGHTED)
        if len(asked.by) != 2 or set(changed) != set(asked.by) or asked.where:
            raise NotCovered(
                "In a release by reports the test takes two reported columns without a filter. "
                "Look at the intervals of crosstab instead."
            )
        if not self.mechanism.containing(changed):
            raise NotCovered(
                f"No report holds {' and '.join(changed)} together: nothing tells whether they go "
                "together."
            )
        return _independence(self, (asked.by[0], asked.by[1]))

    def rebuild(self, keystream: Keystream, *, method: Rebuild) -> pa.Table:
        """Whole records drawn from the model, given columns released as they are, which stay."""
        if method not in REBUILDS:
            raise InvalidNumber(f"method must be one of {', '.join(REBUILDS)}, got {method!r}.")
        if method == "rank":
            raise NotCovered(
                "Reports are not whole records, which rank sorts and hands values to: leave the "
                "method out, and records are drawn from the model of the whole table."
            )
        schema = self.records.certificate.schema
        table = self.records.opened.to_arrow()
        view = _ModelView(schema, self.mechanism)
        axes, together = view.axes, self._together(view.axes)
        names = [one.name for one in schema.released_as_is if one.name != ASKED]
        company = company_of(table, names)
        if company:
            beside = [own.codes for own in company.values()]
            model = fit_model(self._beside(view, table, list(company.values())), keystream)
            places = draw_beside(model, beside, keystream, together=together)
        else:
            model = fit_model(_observed(self, view, table), keystream)
            places = draw_records(model, table.num_rows, keystream, together=together)
        table = table.drop_columns([ASKED])
        for axis, drawn in zip(axes, places, strict=True):
            for name, codes in zip(axis.columns, axis.codes(axis.columns, schema), strict=True):
                words = keystream.words(Stream("rebuild", "inside", name), 0, len(drawn))
                kind = table.schema.field(name).type
                values = decode(schema.column(name), codes[drawn], words, like=kind)
                table = table.set_column(table.column_names.index(name), name, values)
        return table.replace_schema_metadata({"pramana": f"{REBUILT} Model: {model.why}"})

    def regress(self, asked: Asked, formula: str, *, family: Family) -> Regression:
        """By scores put together from the tables that the sets hold."""
        names = [*asked.names, *variables_of(formula)]
        if ASKED in names:
            raise NotCovered(
                f"'{ASKED}' says what a record was asked for, which chance alone decided: no model "
                "takes it. Leave it out."
            )
        changed = self.records.changed(names)
        if not changed:
            return self.plain.regress(asked, formula, family=family)
        cells = partial(cells_of_reports, self.records, self.mechanism)
        return fit_formula(self.records, formula, asked, family=family, cells=cells)

    # -- the model -------------------------------------------------------------------------

    def _beside(
        self, view: _ModelView, table: pa.Table, company: Sequence[Companion]
    ) -> ReportsBeside:
        """All reports with what stands beside each."""
        sets = [
            SetAnswers(told.features, rows, told.cells, told.gain)
            for rows, told in _answers_of(self, view, table)
        ]
        axes = range(len(view.sizes), len(view.sizes) + len(company))
        features = [Feature(axis, len(own.labels)) for axis, own in zip(axes, company, strict=True)]
        return ReportsBeside(
            (*view.sizes, *(len(own.labels) for own in company)),
            (*view.features, *features),
            tuple(sets),
            tuple(own.codes for own in company),
        )

    def _together(self, axes: tuple[_Axis, ...]) -> FloatArray:
        """How often two axes are asked for together."""
        found = np.zeros((len(axes), len(axes)))
        for one in self.mechanism.sets:
            told = [bool(set(axis.columns) & set(one.columns)) for axis in axes]
            found += one.share * np.outer(told, told)
        return found

    def _modelled(self, asked: Asked, changed: list[str], *, share: bool) -> Estimate:
        """A table that no report holds, from the model, without an error."""
        nobody = f"No report holds {' and '.join(changed)} together: their table comes from a model"
        if set(asked.names) != set(changed) or asked.where:
            raise NotCovered(
                f"{nobody}, which does not know columns released as they are, nor filters."
            )
        if asked.weighted and self.records.weight is not None:
            raise NotCovered(
                f"{nobody}, which counts every record once and knows no weights. Ask with "
                "weighted=False, on the command line --unweighted."
            )
        if asked.question.infer == "population":
            raise NotCovered(
                f"{nobody}, which tells no error about the population. Ask about the records "
                'alone: infer="records", on the command line --infer records.'
            )
        view = _ModelView(self.records.certificate.schema, self.mechanism)
        model = fit_model(_observed(self, view, self.records.opened.to_arrow()), FIXED)
        records = self.records.certificate.records
        estimate = view.table(model, asked.by) * (1 if share else records)
        unknown = np.full_like(estimate, np.nan)
        return Estimate(
            by=asked.by,
            labels=tuple(self.records.certificate.schema.column(name).labels for name in asked.by),
            what="share" if share else "count", method="model",
            why=f"no report holds these columns together, so that they come from a model: "
                f"{model.why}",
            level=asked.question.level, infer=asked.question.infer, estimate=estimate,
            se=unknown, low=unknown, high=unknown, records=records,
            simultaneous=asked.question.simultaneous, no_interval=SMOOTHED,
        )  # fmt: skip


# -- sums over reports ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sums:
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
    used: tuple[AskedSet, ...]
    sets: tuple[dict[str, FloatArray], ...]
    sums: tuple[dict[str, FloatArray], ...]
    bases: tuple[FloatArray, ...]
    everyone: FloatArray
    whole: float
    filtered: bool

    @classmethod
    def of(
        cls,
        reading: ReportsReading,
        asked: Asked,
        *,
        value: str | None = None,
        limits: tuple[str, FloatArray] | None = None,
    ) -> _Sums:
        """Summed up by the engine; with limits also by the first of them that a value reaches."""
        records, schema = reading.records, reading.records.certificate.schema
        changed = records.changed(asked.names)
        kept = [name for name in asked.by if name not in changed]
        told = [name for name in asked.by if name in changed]
        before = [c for c in asked.where if c.column not in changed]
        inside = records.kept([c for c in asked.where if c.column in changed])
        weight = records.weight if asked.weighted else None
        extra = [] if limits is None else [limits[0]]
        columns = dict.fromkeys((ASKED, *kept, *changed, *extra))
        used = reading.mechanism.containing(changed)
        # How many there are is known then, and other reports need not be looked at.
        alone = bool(changed) and not (kept or before or extra or value or weight)
        if alone:
            before = [Condition(ASKED, "=", tuple(one.name for one in used))]
        wanted = SumsAsked(tuple(columns), value, weight, tuple(before), asked.beyond)
        table = grouped_sums(records.opened, wanted)
        if limits is not None:
            table = table.filter(pc.is_valid(table.column(limits[0])))
        if not table.num_rows and not alone:
            raise InvalidTable("No released record meets the filter. Loosen it.")
        codes, found = records.coded(table, kept)
        if limits is not None:
            kept, name = [*kept, LIMIT], limits[0]
            own = table.column(name).cast(pa.float64()).to_numpy()
            codes[LIMIT], found[LIMIT] = np.searchsorted(limits[1], own), tuple(limits[1].tolist())
        shape = [len(found[name]) for name in kept]
        group = np.zeros(table.num_rows, dtype=np.int64)
        for name in kept:
            group = group * len(found[name]) + codes[name]
        groups = prod(shape)
        people = sums_in(table)["n"]
        everyone = np.bincount(group, people, groups).astype(np.float64)[:, None]
        whole = float(sums_in(table)["w"].sum())
        if alone:
            whole = float(records.opened.rows)
            everyone = np.full((1, 1), whole)
        cells = prod(len(schema.column(name).labels) for name in told)
        sets, totals, bases = [], [], []
        for one in used:
            rows = pc.equal(table.column(ASKED).cast(pa.string()), one.name)
            own, at = table.filter(rows), group[np.asarray(rows)]
            place = _cells_of(own, told, inside, schema)
            sets.append(_summed(own, at, place, groups, cells))
            totals.append(_summed(own, at, np.zeros(len(at), dtype=np.int64), groups, 1))
            bases.append(share_of_cells(one, told, schema, inside))
        names = [*kept, *told]
        found |= {name: schema.column(name).labels for name in told}
        return cls(
            tuple(found[name] for name in asked.by),
            tuple(names.index(name) for name in asked.by),
            tuple(len(found[name]) for name in names),
            used, tuple(sets), tuple(totals), tuple(bases), everyone,
            whole, bool(inside),
        )  # fmt: skip

    @property
    def people(self) -> float:
        """How many there are in all groups."""
        return float(self.everyone.sum())

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
        self, counts: ReportedTotals, totals: ReportedTotals, asked: Asked, noise: FloatArray
    ) -> Ratio:
        """Totals over counts, with the covariance: from the variance of values moved by a step.

        ``noise`` is the variance of what was added to the values before they were released.
        """
        step = float(np.nansum(np.abs(totals.totals))) / self.whole or 1.0
        moved = _se(self.totals(self.values(step)), asked) ** 2
        above, below = _se(totals, asked) ** 2, _se(counts, asked) ** 2
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

    def shares(self, found: ReportedTotals, asked: Asked) -> tuple[FloatArray, FloatArray]:
        """Shares of the records that meet the filter, with standard errors."""
        if not self.filtered:
            return found.totals / self.whole, _se(found, asked) / self.whole
        below = float(found.totals.sum())
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
        whole = _se(self.totals(wholes), asked) ** 2
        others = share**2 * (whole.sum() - whole)
        return share, np.sqrt(_se(self.totals(parts), asked) ** 2 + others) / below

    def nearest(self, totals: FloatArray) -> FloatArray:
        """The nearest table that can be: nothing below 0, and 0 where no report can tell a cell."""
        possible = np.any([base > 0 for base in self.bases], axis=0)
        found = np.zeros_like(totals)
        for row, own in zip(found, totals, strict=True):
            whole = max(float(own.sum()), 0.0)
            row[possible] = onto_simplex(own[possible], whole) if np.isfinite(whole) else own
        return found

    def shrunken(
        self, made: Estimate, figure: FloatArray, ends: tuple[FloatArray, FloatArray], error: float
    ) -> Estimate:
        """A shrunken estimate before the unbiased one, whose errors stay; intervals take it in."""
        estimate, low, high = (
            part.reshape(self.shape).transpose(self.order) for part in (figure, *ends)
        )
        off = f"{error:.2g} of the records" if error < 1 else "more than all records"
        return replace(
            made,
            method="shrunk",
            estimate=estimate,
            unbiased=made.estimate,
            low=np.minimum(low, estimate),
            high=np.maximum(high, estimate),
            why=f"{made.why[:-1].replace('unbiased, from', 'from')}; undoing them would be off by "
            f"{off}: the estimate is shrunk by what noise explains, {BESIDE}",
        )

    def estimate(
        self, figures: Sequence[FloatArray], asked: Asked, what: str, found: ReportedTotals
    ) -> Estimate:
        """Laid out by the columns asked for."""
        estimate, se, low, high = (
            figure.reshape(self.shape).transpose(self.order) for figure in figures
        )
        told = sum(bool(own["n"].sum()) for own in self.sums)
        ratio = not what.startswith(("count", "total")) and (what != "share" or self.filtered)
        sets = "set that holds" if told == 1 else "sets that hold"
        return Estimate(
            by=asked.by, labels=self.labels, what=what, method="inverse",
            why=f"{'nearly ' if ratio else ''}unbiased, from the {found.reports:,.0f} reports of "
                f"{told} {sets} these columns.",
            level=asked.question.level, infer=asked.question.infer, estimate=estimate, se=se,
            low=low, high=high, records=round(self.people),
            simultaneous=asked.question.simultaneous,
        )  # fmt: skip


def _se(found: ReportedTotals, asked: Asked) -> FloatArray:
    about = found.people if asked.question.infer == "records" else found.population
    return np.sqrt(about)


def _interval(
    estimate: FloatArray,
    se: FloatArray,
    asked: Asked,
    *,
    most: float | None = None,
    misses: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """The interval of a number from 0 to ``most``."""
    z = asked.question.z(estimate.size, misses=misses)
    low, high = bounded_interval(estimate, se, z=z)
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


def _limits(records: ReleasedRecords, of: str) -> FloatArray:
    """Some values of a column in order, the smallest and the largest among them."""
    parts = [batch.column(0) for batch in records.opened.batches([of])]
    values = np.concatenate([np.asarray(part.cast(pa.float64()).drop_null()) for part in parts])
    found = np.unique(values[~np.isnan(values)])
    if len(found) <= MOST_LIMITS:
        return found
    return np.unique(np.quantile(values, np.linspace(0, 1, MOST_LIMITS), method="inverted_cdf"))


def _below(sums: _Sums, limits: int) -> _Sums:
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


def _quantile(
    below: _Sums, plain: _Sums, limits: FloatArray, share: float, asked: Asked, of: str, z: float
) -> Estimate:
    """One quantile of every cell, by the sums of 1{value <= limit} - share at all limits."""
    found, people = below.totals(below.values(share)), plain.totals(plain.weights())
    none, nothing = -share * people.totals, share**2 * _se(people, asked) ** 2
    shape = (len(none), len(limits), -1)
    totals, spread = found.totals.reshape(shape), (_se(found, asked) ** 2).reshape(shape)
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
    made = plain.estimate(figures, asked, f"quantile {share:g} of {of}", people)
    return replace(made, why=f"{made.why[:-1]}, to the nearest of {len(limits)} values.")


# -- the model's view ----------------------------------------------------------------------


class _ModelView:
    """The axes of the model, and what each set shows of them.

    Columns that impossible combinations tie together are one axis, with the cells that can exist:
    no other can be drawn.
    """

    def __init__(self, schema: Schema, mechanism: Reporting) -> None:
        self.schema = schema
        self.axes = tuple(_axes(schema, mechanism.columns))
        self.features: list[Feature] = []
        self._known: dict[tuple[str, ...], tuple[int, IntArray]] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
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

    def answers(self, one: AskedSet, codes: dict[str, Codes], counts: FloatArray) -> Answers:
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
            flat = np.ravel_multi_index(tuple(parts), shape)
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
class _Axis:
    """Columns of the model that move together, and their cells that can exist."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]

    def codes(self, names: Sequence[str], schema: Schema) -> list[IntArray]:
        """The code of each column at each cell."""
        found = cell_codes([schema.column(name).labels for name in self.columns], self.cells)
        return [found[self.columns.index(name)] for name in names]


def _axes(schema: Schema, columns: Sequence[str]) -> Iterator[_Axis]:
    """Columns tied by impossible combinations together, the others apart."""
    for tied in tied_columns(columns, (rule.columns for rule in schema.impossible)):
        if prod(len(schema.column(name).labels) for name in tied) > MOST_CELLS:
            raise TooLarge(
                f"Impossible combinations tie {' and '.join(tied)} together, which makes more "
                f"than {MOST_CELLS:,} cells: too many for a model of the whole table."
            )
        yield _Axis(tied, CellRules.of(schema, tied).cells())


def _observed(reading: ReportsReading, view: _ModelView, table: pa.Table) -> Observed:
    """All reports, counted by set and cell."""
    parts = []
    for _, told in _answers_of(reading, view, table):
        cells, counts = different(list(told.cells.T))
        parts.append(replace(told, cells=cells, counts=counts))
    return Observed(view.sizes, tuple(view.features), tuple(parts))


def _answers_of(
    reading: ReportsReading, view: _ModelView, table: pa.Table
) -> Iterator[tuple[IntArray, Answers]]:
    """For each set that was asked for: which records, and what they told, one row a record."""
    asked = table.column(ASKED).cast(pa.string())
    names = pa.array([one.name for one in reading.mechanism.sets])
    places = pc.index_in(asked, value_set=names).to_numpy().astype(np.int64)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(names)))
    for one, begin, end in zip(reading.mechanism.sets, [0, *ends[:-1]], ends, strict=True):
        rows = order[begin:end]
        if len(rows):
            codes, _ = reading.records.coded(table.select(one.columns).take(rows), one.columns)
            yield rows, view.answers(one, codes, np.ones(len(rows)))


def _independence(reading: ReportsReading, pair: tuple[str, str]) -> IndependenceTest:
    """Twice the gain in log-likelihood of a free table over one of independent columns."""
    schema = reading.records.certificate.schema
    sizes = tuple(len(schema.column(name).labels) for name in pair)
    cells = prod(sizes)
    sums = _Sums.of(reading, Asked(pair, weighted=False))
    if any(base.min() > 0 for base in sums.bases) and any(np.ptp(base) for base in sums.bases):
        raise NotCovered(
            f"Reports that hold {' and '.join(pair)} hold further columns, of which some "
            "combinations cannot exist: there is no test for that case. Look at the intervals of "
            "crosstab instead."
        )
    if any(np.ptp(base) > 0 for base in sums.bases):
        raise NotCovered(
            f"Some combinations of {' and '.join(pair)} cannot exist: they are not independent."
        )
    free, apart = [], []
    for one, own in zip(sums.used, sums.sets, strict=True):
        kept = float(one.matrix.retention)
        gain = kept * cells / (1 - kept)
        table = own["n"].reshape(sizes)
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
