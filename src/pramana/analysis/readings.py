"""Answers from matrices that are published, and from matrices that are withheld.

Where the certificate holds the matrices, every question is answered by undoing them.

Withheld matrices leave the frequencies of every column unchanged in expectation [Ghatak, Sec. 2],
each column by itself. How columns go together is blurred by an amount that only the owner knows:
tables, means and models that cross a randomised column with anything are refused. One thing
survives. Columns that were moved apart from each other are independent in the release if they are
so in the original, whatever the matrices: Pearson's test keeps its level. Its power is unknown.

A design by ``alpha`` for people who are mostly alone with their keys has a matrix that takes more
room than the records. Where it is withheld (sealed), an analyst knows of each column how far its
counts may be off, bias and chance together (counts.py), and nothing of how columns go together: all
keys move in one step, so that not even their independence can be tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
import pyarrow as pa

from pramana.analysis.counts import (
    bounded_counts,
    estimate_counts,
    invariant_counts,
    require_method,
)
from pramana.analysis.estimates import Estimate
from pramana.analysis.formulas import cells_of_steps, fit_formula, variables_of
from pramana.analysis.independence import WEIGHTED, IndependenceTest, independence_test
from pramana.analysis.layout import Layout
from pramana.analysis.means import FarValues, estimate_means, estimate_totals, far_limits
from pramana.analysis.numbers import quantile_of_numbers, values_of_numbers
from pramana.analysis.quantiles import estimate_quantiles
from pramana.analysis.question import CountMethod, Question
from pramana.analysis.records import ReleasedRecords
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.shares import ordered_records
from pramana.analysis.synthesis import (
    SynthesisMethod,
    company_of,
    synthesize_records,
    with_drawn_column,
)
from pramana.base.randomness import Keystream
from pramana.engine.base import Condition, Operator, sums_in
from pramana.errors import InvalidTable, NotCovered
from pramana.mechanisms.mechanism import Mechanism
from pramana.schema.joint_cells import cell_numbers
from pramana.types import FloatArray

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
        sums = self.records.sums(question, self.mechanism)
        return estimate_counts(*sums, method=method, question=question, share=share)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Sums are corrected like counts; a mean is a corrected total over a corrected count."""
        if self.records.changed([of]):
            return values_of_numbers(self, self.records, question, of, total=total)
        self.records.require_number(of)
        sums = self.records.sums(question, self.mechanism, value=of)
        estimate = estimate_totals if total else estimate_means
        noise, far = self.records.noise(of), None
        if not noise and question.beyond is None and self.records.weigh_by is None:
            limits = far_limits(*sums, total=total)
            far = limits and self._far_values(question, of, limits, sums[1])
        return estimate(*sums, of=of, question=question, noise=noise, far=far)

    def _far_values(
        self, question: Question, of: str, limits: tuple[float, float], layout: Layout
    ) -> FarValues | None:
        """The records with values beyond the limits."""
        places, weights, values = [], [], []
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
            rows = cells.table.num_rows
            sums = sums_in(cells.table)
            number = sums["n"].astype(np.int64)
            flat = cell_numbers(layout.positions(codes), layout.shape, records=rows)
            places.append(np.repeat(flat, number))
            weights.append(np.repeat(sums["w"] / np.maximum(number, 1), number))
            own = cells.table.column(of).cast(pa.float64(), safe=False).to_numpy()
            values.append(np.repeat(own, number))
        if not places:
            return None
        return FarValues(*(np.concatenate(parts) for parts in (places, weights, values)))

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where the corrected share of smaller values reaches the one asked for."""
        if self.records.changed([of]):
            return quantile_of_numbers(self, self.records, question, of, shares=shares)
        found, layout = ordered_records(self.records, self.mechanism, question, of)
        return estimate_quantiles(found, layout, of=of, shares=shares, question=question)

    def independence(self, question: Question) -> IndependenceTest:
        """Of the released table, or by its likelihood where columns were moved together."""
        return independence_test(*self.records.sums(question, self.mechanism))

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
        layout = Layout.of(
            [*mechanism.columns, *company], labels=labels, mechanism=mechanism, most=math.inf
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


@dataclass(frozen=True)
class BesidePlain:
    """A reading that answers as above where no column that was changed is involved."""

    unbiased: ClassVar[CountMethod] = "auto"

    records: ReleasedRecords

    @property
    def plain(self) -> PublishedReading:
        """Answers about columns released unchanged."""
        return PublishedReading(self.records)

    def require_unweighted(self, question: Question) -> None:
        """Refuse a test of independence with weights."""
        if question.weighted and self.records.weight is not None:
            raise NotCovered(WEIGHTED)


class WithheldReading(BesidePlain):
    """Frequencies of single columns, and all that concerns columns released unchanged."""

    stand: ClassVar[str] = "frequencies are unbiased as they stand"
    crossed: ClassVar[str] = "blurred by an amount that is not told, and would come out too weak"
    learned: ClassVar[str] = "How randomised columns go with others comes out too weak."

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """One column at a time, with the error that the certificate states."""
        require_method(method)
        changed = self.records.changed(question.names)
        if not changed:
            return self.plain.counts(question, method=method, share=share)
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
                f"Method {method} undoes matrices, and those of this release are withheld. Leave "
                f"the method out: {self.stand}."
            )
        errors = self.records.certificate.statistics.get("standard_errors", {})
        if changed[0] not in errors:
            raise NotCovered(
                f"The matrix of '{changed[0]}' is withheld and no variance is stated: only the "
                "released frequencies themselves can be read."
            )
        moments, layout = self.records.sums(replace(question, weighted=False), Mechanism(()))
        stated = np.asarray(errors[changed[0]])
        return self._column(moments.w, layout, stated, question=question, share=share)

    def _column(
        self, released: FloatArray, layout: Layout, errors: FloatArray, **asked: Any
    ) -> Estimate:
        """One column as it stands, unbiased."""
        return invariant_counts(released, layout, variance=np.square(errors), **asked)

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Where no randomised column is involved."""
        self._only_plain([*question.names, of])
        return self.plain.values(question, of, total=total)

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Where no randomised column is involved."""
        self._only_plain([*question.names, of])
        return self.plain.quantile(question, of, shares=shares)

    def independence(self, question: Question) -> IndependenceTest:
        """Pearson's test keeps its level, where no matrix depends on a stratum."""
        changed = self.records.changed(question.by)
        if changed and self.records.certificate.schema.strata:
            self._refuse(changed, "Its matrix depends on strata: there is no test")
        filtered = self.records.changed([condition.column for condition in question.where])
        if filtered:
            self._refuse(filtered, "Filter on columns released as they are")
        if not changed:
            return self.plain.independence(question)
        self.require_unweighted(question)
        why = (
            "columns moved apart are independent in the release if they are in truth, so the level "
            "is right; the matrices are withheld and may hide dependence: not rejecting says "
            "little."
        )
        return replace(self.plain.independence(question), why=why)

    def channel(self) -> Mechanism:
        """Refused: what is not told cannot be undone."""
        raise NotCovered(
            "The matrices of this release are withheld, so that its records cannot be rebuilt. "
            "Learn from them as they are: synthesis='none', on the command line --synthesis none. "
            f"{self.learned}"
        )

    def synthesize(self, keystream: Keystream, *, method: SynthesisMethod) -> pa.Table:  # noqa: ARG002
        """Refused: there is nothing to draw from."""
        raise NotCovered(
            "Only a release with published matrices can be rebuilt; those of this one are "
            "withheld. Read its columns one at a time, as they stand."
        )

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """Where no randomised column is involved."""
        self._only_plain([*question.names, *variables_of(formula)])
        return self.plain.regress(question, formula, family=family)

    def _only_plain(self, names: list[str]) -> None:
        changed = self.records.changed(names)
        if changed:
            self._refuse(changed, "Ask about columns released as they are")

    def _refuse(self, changed: list[str], instead: str) -> NoReturn:
        raise NotCovered(
            f"The matrices of this release are withheld: how {', '.join(changed)} goes with other "
            f"columns is {self.crossed}. {instead}."
        )


class SealedReading(WithheldReading):
    """Counts of single columns with the error stated, and all of columns released unchanged."""

    stand: ClassVar[str] = "counts are read as they stand, with the error that is stated"
    crossed: ClassVar[str] = "changed by an amount that is not told"
    learned: ClassVar[str] = "How randomised columns go with others is not as in truth."

    def _column(
        self, released: FloatArray, layout: Layout, errors: FloatArray, **asked: Any
    ) -> Estimate:
        """One column as it stands, biased by no more than the error."""
        return bounded_counts(released, layout, error=errors, **asked)

    def independence(self, question: Question) -> IndependenceTest:
        """Where no randomised column is involved: these moved together."""
        self._only_plain([*question.names])
        return self.plain.independence(question)
