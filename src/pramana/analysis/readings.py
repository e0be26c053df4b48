"""Answers from published matrices, and from withheld ones.

Where the certificate holds the matrices, every question is answered by undoing them.

Withheld matrices leave the frequencies of every column unchanged in expectation [Ghatak, Sec. 2].
Associations between columns are attenuated by an amount that only the owner knows: tables, means
and models that cross a randomised column with anything are refused. Columns that were randomised
independently are independent in the release if they are so in the original, whatever the matrices:
Pearson's test keeps its level. Its power is unknown.

The matrix of a design by ``alpha`` may take more room than the records. Where it is withheld
(sealed), an analyst knows for each column how large bias and chance of its counts may be together
(counts.py), and nothing of associations: all keys move in one step, so that there is no test
either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NoReturn, cast

import numpy as np
import pyarrow as pa

from pramana.analysis.association import IndependenceTest, independence_test
from pramana.analysis.channels import Channels
from pramana.analysis.counts import estimate_counts, withheld_counts
from pramana.analysis.estimates import Estimate
from pramana.analysis.features import numbers_of
from pramana.analysis.formulas import cells_of_steps, fit_formula, variables_of
from pramana.analysis.layout import Layout
from pramana.analysis.means import FarValues, estimate_values, far_limits
from pramana.analysis.numbers import quantile_of_numbers, values_of_numbers
from pramana.analysis.quantiles import estimate_quantiles
from pramana.analysis.question import CountMethod, Question
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.released_records import ReleasedRecords
from pramana.analysis.shares import ordered_records
from pramana.analysis.synthesis import (
    SynthesisMethod,
    company_of,
    synthesize_records,
    with_drawn_column,
)
from pramana.analysis.variance import JointErrors, totals_and_counts
from pramana.base.randomness import Keystream
from pramana.base.translation import gettext
from pramana.engine.base import Condition, Operator, sums_in
from pramana.errors import InvalidTable, NotCovered
from pramana.mechanisms.mechanism import Mechanism
from pramana.schema.joint_cells import cell_numbers

SYNTHETIC_NOTE = (
    "Synthetic records by pramana, drawn from a release. They reveal no more than the release. "
    "Unchanged columns come from real people. Take estimates and errors from the release."
)


@dataclass(frozen=True)
class PublishedReading:
    """Undoes the matrices; columns that no step moved are read as they are.

    The other readings use it for questions about such columns alone.
    """

    unbiased: ClassVar[CountMethod] = "unbiased"

    records: ReleasedRecords

    @property
    def mechanism(self) -> Mechanism:
        """The steps to undo; none where the certificate has none."""
        return self.records.certificate.mechanism or Mechanism(())

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """By the method asked for, or the best for this table."""
        sums = self.records.sums(question, self.mechanism)
        return estimate_counts(*sums, method=method, question=question, share=share)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Sums are corrected like counts; a mean is a corrected total over a corrected count."""
        if self.records.changed([of]) or self.records.margins:
            return values_of_numbers(self, question, of, total=total)
        self.records.require_number(of)
        moments, layout = self.records.sums(question, self.mechanism, value=of)
        noise, far = self.records.noise(of), None
        if not noise and question.beyond is None and self.records.weigh_by is None:
            beyond = far_limits(moments, layout, total=total)
            far = beyond and self._far_values(question, of, beyond, layout)
        limits = partial(self.records.range_of, of) if question.beyond is None else None
        return estimate_values(
            moments, layout, of=of, total=total, question=question, noise=noise, far=far,
            limits=limits,
        )  # fmt: skip

    def totals_and_counts(self, question: Question, of: str) -> JointErrors:
        """Totals of an unchanged column, counts, and how they err together."""
        self.records.require_number(of)
        moments, layout = self.records.sums(question, self.mechanism, value=of)
        return totals_and_counts(moments, Channels(layout), question.infer)

    def _far_values(
        self, question: Question, of: str, limits: tuple[float, float], layout: Layout
    ) -> FarValues | None:
        """The records with values beyond the limits."""
        parts = []
        for comparison, limit in zip(("<", ">"), limits, strict=True):
            beyond = Condition(of, cast("Operator", comparison), (limit,))
            asked = replace(question, where=(*question.where, beyond))
            try:
                cells = self.records.cells(asked, self.mechanism, also=[of])
            except InvalidTable:  # there are none
                continue
            codes = [
                np.array([layout.labels[name].index(label) for label in cells.layout.labels[name]])[
                    cells.codes[name]
                ]
                for name in layout.columns
            ]
            sums = sums_in(cells.table)
            number = sums["n"].astype(np.int64)
            rows = cells.table.num_rows
            places = cell_numbers(layout.positions(codes), layout.shape, records=rows)
            figures = (
                places,
                sums["w"] / np.maximum(number, 1),
                numbers_of(cells.table.column(of)),
            )
            parts.append([np.repeat(figure, number) for figure in figures])
        return FarValues(*map(np.concatenate, zip(*parts, strict=True))) if parts else None

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where the corrected share of smaller values reaches the one asked for."""
        if self.records.changed([of]):
            return quantile_of_numbers(self, question, of, shares=shares)
        ordered, layout = ordered_records(self.records, self.mechanism, question, of)
        return estimate_quantiles(ordered, layout, of=of, shares=shares, question=question)

    def independence(self, question: Question) -> IndependenceTest:
        """Of the released table, or by its likelihood where columns were moved together."""
        return independence_test(*self.records.sums(question, self.mechanism))

    def channel(self) -> Mechanism:
        """The matrices, as they are published."""
        return self.mechanism

    def synthesize(
        self, keystream: Keystream, *, method: SynthesisMethod, redraw: bool = False
    ) -> pa.Table:
        """Draw the original values of each record, given all its released values."""
        mechanism, schema = self.mechanism, self.records.certificate.schema
        if not mechanism.steps:
            raise NotCovered(
                "Nothing in this release was randomised by a matrix: use its records directly. "
                "There is nothing to synthesize."
            )
        table = self.records.opened.to_arrow()
        names = list(dict.fromkeys((*mechanism.strata, *mechanism.columns)))
        codes, labels = self.records.coded(table, names)
        others = [column.name for column in schema.released_as_is]
        company = company_of(table, [name for name in others if name not in names])
        codes |= {name: companion.codes for name, companion in company.items()}
        labels |= {name: companion.labels for name, companion in company.items()}
        layout = Layout.of(
            [*mechanism.columns, *company], labels=labels, mechanism=mechanism, most=math.inf
        )
        drawn = synthesize_records(
            [codes[name] for name in layout.columns],
            layout,
            keystream=keystream,
            method=method,
            redraw=redraw,
        )
        for name, drawn_codes in zip(drawn.columns, drawn.codes, strict=True):
            if name in mechanism.columns:
                table = with_drawn_column(table, schema.column(name), drawn_codes, keystream)
        return table.replace_schema_metadata(
            {"pramana": f"{SYNTHETIC_NOTE} Method {method}: {drawn.why}"}
        )

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """By scores that are corrected for the matrices."""
        cells = partial(cells_of_steps, self.records, self.mechanism)
        return fit_formula(self.records, formula, question, family=family, cells=cells)


@dataclass(frozen=True)
class UnchangedOnly:
    """A reading that answers as above where only columns released unchanged are involved."""

    unbiased: ClassVar[CountMethod] = "auto"

    records: ReleasedRecords

    @property
    def unchanged(self) -> PublishedReading:
        """Answers about columns released unchanged."""
        return PublishedReading(self.records)

    def distorted(self, names: Sequence[str]) -> str:  # noqa: ARG002 - none is
        """Why these columns have another joint distribution than originally; empty if not."""
        return ""

    def totals_and_counts(self, question: Question, of: str) -> JointErrors:
        """Of columns released unchanged alone."""
        return self.unchanged.totals_and_counts(question, of)

    undrawable: ClassVar[str] = ""
    """Why there is nothing to draw synthetic records from."""

    def synthesize(
        self,
        keystream: Keystream,  # noqa: ARG002
        *,
        method: SynthesisMethod,  # noqa: ARG002
        redraw: bool = False,  # noqa: ARG002
    ) -> pa.Table:
        """Refused, unless a reading can draw records."""
        raise NotCovered(self.undrawable)

    def require_unweighted(self, question: Question) -> None:
        """Refuse a test of independence with weights."""
        if question.weighted and self.records.weight is not None:
            raise NotCovered(
                "In this kind of release the test of independence does not cover weighted "
                "records. Test them without their weights: weighted=False, on the command line "
                "--unweighted."
            )


class WithheldReading(UnchangedOnly):
    """Frequencies of single columns, and all that concerns columns released unchanged."""

    kept: ClassVar[str] = "released frequencies are unbiased"
    crossed: ClassVar[str] = "are attenuated by an unknown amount"
    undrawable: ClassVar[str] = (
        "Records are synthesized from published matrices, and this release withholds its "
        "matrices. Read its columns one at a time."
    )
    biased: ClassVar[bool] = False

    def distorted(self, names: Sequence[str]) -> str:
        """Several columns, if one of them was randomised."""
        crossed = self.records.changed(names) and len(names) > 1
        return f"associations of randomised columns {self.crossed}" if crossed else ""

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """One column at a time, with the error that the certificate states."""
        changed = self.records.changed(question.names)
        if not changed:
            return self.unchanged.counts(question, method=method, share=share)
        if len(question.names) > 1:
            self._refuse(changed, "Ask for one column at a time, without a filter")
        if question.weighted and self.records.weight is not None:
            self._refuse(
                changed,
                "Weights cross it too: count records with weighted=False, on the command line "
                "--unweighted",
            )
        if method != "auto":
            raise NotCovered(
                "Method {method} needs the matrices, which this release withholds. Leave the "
                "method out: {kept}.",
                method=method,
                kept=self.kept,
            )
        errors = self.records.certificate.statistics.get("standard_errors", {})
        if changed[0] not in errors:
            raise NotCovered(
                "The matrix of '{changed}' is withheld and no variance is stated: only the "
                "released frequencies are available.",
                changed=changed[0],
            )
        moments, layout = self.records.sums(replace(question, weighted=False), Mechanism(()))
        stated = errors[changed[0]]
        return withheld_counts(
            moments.w, layout, error=stated, biased=self.biased, question=question, share=share
        )

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Where no randomised column is involved."""
        self._only_unchanged([*question.names, of])
        return self.unchanged.values(question, of, total=total)

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where no randomised column is involved."""
        self._only_unchanged([*question.names, of])
        return self.unchanged.quantile(question, of, shares=shares)

    def independence(self, question: Question) -> IndependenceTest:
        """Pearson's test keeps its level, where no matrix depends on a stratum."""
        changed = self.records.changed(question.by)
        if changed and self.records.certificate.schema.strata:
            self._refuse(changed, gettext("Its matrix depends on strata: there is no test"))
        filtered = self.records.changed([condition.column for condition in question.where])
        if filtered:
            self._refuse(filtered, gettext("Filter on columns released unchanged"))
        if not changed:
            return self.unchanged.independence(question)
        self.require_unweighted(question)
        why = gettext(
            "columns that were randomised independently are independent in the release if they "
            "are independent in the original, so the level is correct; withheld matrices may hide "
            "dependence: not rejecting says little."
        )
        return replace(self.unchanged.independence(question), why=why)

    def channel(self) -> Mechanism:
        """Refused: unknown matrices cannot be inverted."""
        raise NotCovered(
            "The matrices of this release are withheld, so that no records can be synthesized. "
            "Learn from the released ones: synthesis='none', on the command line --synthesis "
            "none. Associations of randomised columns {crossed}.",
            code="no-synthesis",
            synthesis="none",
            crossed=self.crossed,
        )

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """Where no randomised column is involved."""
        self._only_unchanged([*question.names, *variables_of(formula)])
        return self.unchanged.regress(question, formula, family=family)

    def _only_unchanged(self, names: list[str]) -> None:
        changed = self.records.changed(names)
        if changed:
            self._refuse(changed, "Ask about columns released unchanged")

    def _refuse(self, changed: list[str], instead: str) -> NoReturn:
        raise NotCovered(
            "The matrices of this release are withheld: associations of {changed} with other "
            "columns {crossed}. {instead}.",
            changed=", ".join(changed),
            crossed=self.crossed,
            instead=instead,
        )


class SealedReading(WithheldReading):
    """Counts of single columns with the error stated, and all of columns released unchanged."""

    kept: ClassVar[str] = "released counts have the stated error"
    crossed: ClassVar[str] = "are changed by an unknown amount"
    biased: ClassVar[bool] = True

    def independence(self, question: Question) -> IndependenceTest:
        """Where no randomised column is involved: these moved together."""
        self._only_unchanged([*question.names])
        return self.unchanged.independence(question)
