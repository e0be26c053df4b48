"""Matrices that nobody is told: only what is unbiased as it stands is answered.

The matrices of these releases leave the frequencies of every column unchanged in expectation
[Ghatak, Sec. 2], each column by itself. How columns go together is blurred by an amount that only
the owner knows: tables, means and models that cross a randomised column with anything are refused.

One thing survives. Columns that were moved apart from each other are independent in the release if
they are so in truth, whatever the matrices: Pearson's test keeps its level. Its power is unknown.

Matrices that nobody is told and that leave nothing as it is: single columns, within an error.

A design by ``alpha`` for people who are mostly alone with their keys has a matrix that takes more
room than the records. Where it is withheld, an analyst knows of each column how far its counts may
be off, bias and chance together (analysis/counts.py), and nothing of how columns go together:
all keys move in one step, so that not even their independence can be tested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NoReturn

import numpy as np
import pyarrow as pa

from pramana.analysis.counts import CountMethod, bounded_counts, invariant_counts, require_method
from pramana.analysis.estimates import Estimate
from pramana.analysis.formulas import variables_of
from pramana.analysis.independence import WEIGHTED, IndependenceTest
from pramana.analysis.published import BesidePlain
from pramana.analysis.question import Question
from pramana.analysis.records import Summed
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.synthesis import SynthesisMethod
from pramana.base.randomness import Keystream
from pramana.engine.base import Condition
from pramana.errors import NotCovered
from pramana.mechanisms.mechanism import Mechanism
from pramana.types import FloatArray


class WithheldReading(BesidePlain):
    """Frequencies of single columns, and all that concerns columns released as they are."""

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
        sums = self.records.sums(replace(question, weighted=False), Mechanism(()))
        return self._column(sums, np.asarray(errors[changed[0]]), question, share=share)

    def _column(
        self, sums: Summed, errors: FloatArray, question: Question, *, share: bool
    ) -> Estimate:
        """One column as it stands, unbiased."""
        return invariant_counts(
            sums.moments.w,
            sums.layout,
            variance=np.square(errors),
            question=question,
            share=share,
        )

    def mean(self, question: Question, of: str) -> Estimate:
        """Where no randomised column is involved."""
        self._only_plain([*question.names, of])
        return self.plain.mean(question, of)

    def total(self, question: Question, of: str) -> Estimate:
        """Where no randomised column is involved."""
        self._only_plain([*question.names, of])
        return self.plain.total(question, of)

    def proportion(self, question: Question, beyond: Condition) -> Estimate:
        """Where no randomised column is involved."""
        self._only_plain([*question.names, beyond.column])
        return self.plain.proportion(question, beyond)

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
        if (
            self.records.changed(question.names)
            and question.weighted
            and self.records.weight is not None
        ):
            raise NotCovered(WEIGHTED)
        found = self.plain.independence(question)
        if not changed:
            return found
        why = (
            "columns moved apart are independent in the release if they are in truth, so the level "
            "is right; the matrices are withheld and may hide dependence: not rejecting says "
            "little."
        )
        return replace(found, why=why)

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
    """Counts of single columns with the error stated, and all of columns released as they are."""

    stand: ClassVar[str] = "counts are read as they stand, with the error that is stated"
    crossed: ClassVar[str] = "changed by an amount that is not told"
    learned: ClassVar[str] = "How randomised columns go with others is not as in truth."

    def _column(
        self, sums: Summed, errors: FloatArray, question: Question, *, share: bool
    ) -> Estimate:
        """One column as it stands, biased by no more than the error."""
        return bounded_counts(
            sums.moments.w, sums.layout, error=errors, question=question, share=share
        )

    def independence(self, question: Question) -> IndependenceTest:
        """Where no randomised column is involved: these moved together."""
        self._only_plain([*question.names])
        return self.plain.independence(question)
