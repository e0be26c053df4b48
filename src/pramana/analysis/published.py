"""Matrices in the certificate: every question is answered by undoing them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pyarrow as pa

from pramana.analysis.counts import CountMethod, estimate_counts
from pramana.analysis.estimates import Estimate
from pramana.analysis.formulas import cells_of_steps, fit_formula
from pramana.analysis.independence import IndependenceTest, independence_test
from pramana.analysis.layout import Layout
from pramana.analysis.means import estimate_means, estimate_totals
from pramana.analysis.quantiles import estimate_quantiles
from pramana.analysis.question import Question
from pramana.analysis.records import ReleasedRecords, Summed
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.shares import ordered_records, proportion_by_mean
from pramana.analysis.synthesis import (
    SynthesisMethod,
    company_of,
    synthesize_records,
    with_drawn_column,
)
from pramana.base.randomness import Keystream
from pramana.engine.base import Condition
from pramana.errors import NotCovered
from pramana.mechanisms.mechanism import Mechanism

SYNTHETIC_NOTE = (
    "Rebuilt by pramana from a release: drawn values, no row is anyone's truth. They tell no error "
    "of their own: intervals are those of estimates from the release."
)


@dataclass(frozen=True)
class PublishedReading:
    """Undoes the matrices; columns that no step moved are read as they are.

    The other readings answer by it too, where a question is about such columns alone.
    """

    unbiased: ClassVar[CountMethod] = "unbiased"

    records: ReleasedRecords

    @property
    def mechanism(self) -> Mechanism:
        """The steps to undo; none where the certificate has none."""
        return self.records.certificate.mechanism or Mechanism(())

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """By the method asked for, or the best for this table."""
        sums = self._sums(question)
        return estimate_counts(
            sums.moments, sums.layout, method=method, question=question, share=share
        )

    def mean(self, question: Question, of: str) -> Estimate:
        """A corrected total over a corrected count."""
        sums = self._values(question, of)
        return estimate_means(
            sums.moments, sums.layout, of=of, question=question, noise=self.records.noise(of)
        )

    def total(self, question: Question, of: str) -> Estimate:
        """Sums are corrected like counts."""
        sums = self._values(question, of)
        return estimate_totals(
            sums.moments, sums.layout, of=of, question=question, noise=self.records.noise(of)
        )

    def proportion(self, question: Question, beyond: Condition) -> Estimate:
        """The mean of a column of 1 and 0."""
        return proportion_by_mean(self.mean, question, beyond)

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where the corrected share of smaller values reaches the one asked for."""
        self._require_kept(of)
        found, layout = ordered_records(self.records, self.mechanism, question, of)
        return estimate_quantiles(found, layout, of=of, shares=shares, question=question)

    def independence(self, question: Question) -> IndependenceTest:
        """Of the released table, or by its likelihood where columns were moved together."""
        sums = self._sums(question)
        return independence_test(sums.moments, sums.layout)

    def channel(self) -> Mechanism:
        """The matrices, as they are published."""
        return self.mechanism

    def synthesize(self, keystream: Keystream, *, method: SynthesisMethod) -> pa.Table:
        """Draw the truth of each record, given all that was released of it."""
        mechanism, schema = self.mechanism, self.records.certificate.schema
        if not mechanism.steps:
            raise NotCovered(
                "Nothing in this release was randomised by a matrix: its records are to be read as "
                "they stand, and there is nothing to rebuild."
            )
        table = self.records.opened.to_arrow()
        names = list(dict.fromkeys((*mechanism.strata, *mechanism.columns)))
        codes, labels = self.records.coded(table, names)
        others = [column.name for column in schema.released_as_is]
        company = company_of(table, [name for name in others if name not in names])
        codes |= {name: companion.codes for name, companion in company.items()}
        labels |= {name: companion.labels for name, companion in company.items()}
        layout = Layout.of_records(
            [*mechanism.columns, *company], labels=labels, mechanism=mechanism
        )
        found = synthesize_records(
            [codes[name] for name in layout.columns], layout, keystream=keystream, method=method
        )
        for name, drawn_codes in zip(found.columns, found.codes, strict=True):
            if name in mechanism.columns:
                table = with_drawn_column(table, schema.column(name), drawn_codes, keystream)
        return table.replace_schema_metadata(
            {"pramana": f"{SYNTHETIC_NOTE} Method {method}: {found.why}"}
        )

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """By scores that are corrected for the matrices."""
        cells = partial(cells_of_steps, self.records, self.mechanism)
        return fit_formula(self.records, formula, question, family=family, cells=cells)

    def _sums(self, question: Question, value: str | None = None) -> Summed:
        return self.records.sums(question, self.mechanism, value=value)

    def _values(self, question: Question, of: str) -> Summed:
        self._require_kept(of)
        self.records.require_number(of)
        return self._sums(question, of)

    def _require_kept(self, of: str) -> None:
        if self.records.changed([of]):
            raise NotCovered(
                f"'{of}' is randomised; means, totals, quantiles and shares beyond a number are of "
                f"columns released as they are. Ask for the table of '{of}' instead.",
                column=of,
            )


@dataclass(frozen=True)
class BesidePlain:
    """A reading that answers as above where no column that was changed is involved."""

    unbiased: ClassVar[CountMethod] = "auto"

    records: ReleasedRecords

    @property
    def plain(self) -> PublishedReading:
        """Answers about columns released as they are."""
        return PublishedReading(self.records)
