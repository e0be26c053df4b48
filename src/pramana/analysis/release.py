"""A release: a table and its certificate, in memory or in a folder, with the verbs of an analyst.

The truth is nowhere near: released records are summed up by the engine that holds them, and the
reading of the certificate's kind makes of the sums what can honestly be made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.analysis.filters import conditions_of, of_values, recoded_words, require_told
from pramana.analysis.inference import Question
from pramana.analysis.records import Asked, Reading, about_records, reading_of
from pramana.base.atomic_files import require_free
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.engine.choose import as_kind, write_opened
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, UnknownColumn, harmless
from pramana.io.base import format_of
from pramana.io.opening import open_own, open_table
from pramana.io.output import write_table
from pramana.release.certificate import Certificate
from pramana.release.folder import (
    complete_folder,
    data_name,
    data_path,
    open_data,
    read_certificate,
    release_folder,
    require_as_written,
    require_counted,
    require_writable,
    stamps_of,
)
from pramana.schema.opened_table import OpenedTable, TableFormat, require_unchanged
from pramana.types import TableLike

if TYPE_CHECKING:  # who only opens a release computes nothing: each verb loads what it needs
    from pramana.analysis.counts import CountMethod
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.filters import Where
    from pramana.analysis.independence import IndependenceTest
    from pramana.analysis.inference import Inference
    from pramana.analysis.records import ReleasedRecords
    from pramana.analysis.regression import Family
    from pramana.analysis.regression_results import Regression
    from pramana.analysis.shares import Share
    from pramana.analysis.synthesis import SynthesisMethod
    from pramana.engine.choose import Condition
    from pramana.schema.replicates import Replicates
    from pramana.verification.checks import Verdict

__all__ = ["Release", "load_release", "written_release"]

Ask: TypeAlias = "Callable[[Reading, Asked], Estimate]"
"""What is asked of a reading, about whom."""


@dataclass(frozen=True)
class Release:
    """What is published.

    Attributes:
        certificate: the claim.
        opened: the released records, readable in batches.
        like: the kind of data frame that went in, so that the same kind comes out.
        folder: where it lies, if it does.
    """

    certificate: Certificate
    opened: OpenedTable = field(repr=False)
    like: Any = field(default=None, repr=False, compare=False)
    folder: Path | None = None

    def __repr__(self) -> str:
        columns = harmless(", ".join(self.opened.schema.names))
        return f"<Release: {self.records:,} records of {columns}>"

    def __str__(self) -> str:
        columns = harmless(", ".join(self.opened.schema.names))
        return f"{self.records:,} released records of {columns}.\n{self.certificate}"

    def _repr_html_(self) -> str:
        from html import escape  # of notebooks alone

        head, *lines = (escape(line) for line in str(self).splitlines())
        return f"<p><strong>{head}</strong></p>" + "".join(f"<p>{line}</p>" for line in lines)

    # -- the records -----------------------------------------------------------------------

    @cached_property
    def table(self) -> Any:
        """The released records as the kind of data frame that went in (PyArrow from a folder)."""
        return as_kind(self.opened, self.like)

    @property
    def records(self) -> int:
        """The number of released records."""
        return self.certificate.records

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The released records in order."""
        for name in columns or ():
            if name not in self.opened.schema.names:
                raise UnknownColumn(
                    f"The release has no column '{name}'. It has: "
                    f"{', '.join(self.opened.schema.names)}.",
                    column=name,
                )
        return self.opened.batches(columns)

    def save(
        self,
        folder: str | Path,
        *,
        file_format: TableFormat = "parquet",
        force: bool = False,
        sign_with: str | Path | None = None,
        copies: Sequence[TableFormat] = (),
    ) -> Release:
        """Write a release folder; it appears whole or not at all.

        Args:
            folder: where to.
            file_format: of the data file.
            force: replace an existing release folder.
            sign_with: a private key to sign the certificate with.
            copies: further formats to write the same records in: ``csv``, ``dta``, ``sav``.
        """
        require_writable(file_format, *copies)
        labelled = replace(self.opened, labels=self.certificate.labels)
        with release_folder(Path(folder), force=force) as work:
            written = write_opened(
                labelled,
                work / data_name(file_format),
                schema=self.certificate.schema,
                file_format=file_format,
                sets=self.certificate.marks,
            )
            require_counted(self.certificate, written)
            complete_folder(
                work,
                self.certificate,
                file_format=file_format,
                sign_with=sign_with,
                copies=copies,
            )
        return load_release(folder)

    def verify(self, *, key: str | Path | None = None) -> Verdict:
        """Check the folder that the release was loaded from."""
        if self.folder is None:
            raise InvalidTable("Only a saved release can be verified: save it to a folder first.")
        from pramana.verification.verify import verify_folder

        return verify_folder(self.folder, key=key)

    def report(
        self,
        *,
        original: TableLike | None = None,
        external: bool = False,
        name: str = "",
        office: str = "",
        date: str | None = None,
    ) -> Any:
        """A report about this release: shows itself in a notebook, is saved as HTML or PDF.

        As ``pramana.report``. That verb stands above this room, so it is found by name when asked.

        Args:
            original: the true table: then attacks and losses are measured, for the owner's eyes.
            external: for publication: the original is not looked at, whatever was given.
            name: of the data, for the title.
            office: who releases them.
            date: of the report; today where not given.
        """
        verb = import_module("pramana.api").report
        about = {"name": name, "office": office, "date": date}
        return verb(self, original=original, external=external, **about)

    def require_sound(self) -> None:
        """Refuse sets of reports that cannot be, before anything relies on them."""
        if self.folder is not None:
            from pramana.analysis.attribute_sampling_sums import require_sets

            require_sets(self.certificate)

    # -- the verbs of an analyst -----------------------------------------------------------

    @property
    def reading(self) -> Reading:
        """Who answers: the reading of the certificate's kind."""
        return self._weighed_by(None)

    def _require_without_noise(self, name: str) -> None:
        """Refuse shares and quantiles of numbers that carry noise: it moves them."""
        self._asked_of.require_without_noise([name])

    @cached_property
    def _asked_of(self) -> ReleasedRecords:
        from pramana.analysis.records import ReleasedRecords

        self.require_sound()
        return ReleasedRecords(self.certificate, self.opened)

    def _weighed_by(self, name: str | None) -> Reading:
        """The same with another column of weights."""
        return reading_of(
            self._asked_of if name is None else replace(self._asked_of, weigh_by=name)
        )

    def crosstab(
        self,
        *by: str,
        where: Where = None,
        method: CountMethod = "auto",
        share: Share = False,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """Counts (or shares) of the true table, with standard errors and intervals.

        Args:
            by: the columns to cross, randomised or not.
            where: which records to count, by their true values.
            method: ``unbiased``, ``clipped``, ``shrunk``, or ``auto``: the best for this table.
            share: shares instead of counts: of all records (``True`` or ``"total"``), of the
                records with the same first column (``"row"``) or the same last one (``"column"``).
            level: of the intervals.
            infer: about these ``records``, or about the ``population`` they were drawn from.
            simultaneous: whether all intervals shall hold together.
            weighted: whether the weights are used, where the release has any.
            replicates: columns of replicate weights for the errors about the population.
        """
        from pramana.analysis.shares import SHARES, shares_within

        require_choice("share", share, SHARES)
        asked = self._asked(by, where, level, infer, simultaneous, weighted)

        def ask(reading: Reading, own: Asked, how: CountMethod) -> Estimate:
            if share in ("row", "column"):
                return shares_within(reading, own, share, method=how)
            return reading.counts(own, method=how, share=bool(share))

        return self._answer(
            ask(self.reading, asked, method),
            asked,
            replicates,
            lambda reading, own: ask(reading, own, reading.unbiased),
            bounds=(0.0, 1.0 if share else np.inf),
        )

    def mean(
        self,
        of: str,
        *,
        by: Sequence[str] = (),
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """The mean of a column released as it is, by groups of the true table.

        Args:
            of: a column of numbers.
            by: the columns of the table, randomised or not.
            where: which records, by their true values.
            level: of the intervals.
            infer: about these ``records``, or about the ``population`` they were drawn from.
            simultaneous: whether all intervals shall hold together.
            weighted: whether the weights are used, where the release has any.
            replicates: columns of replicate weights for the errors about the population.
        """
        asked = self._asked(by, where, level, infer, simultaneous, weighted)

        return self._told(lambda reading, own: reading.mean(own, of), asked, replicates, of)

    def total(
        self,
        of: str,
        *,
        by: Sequence[str] = (),
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """The total of a column released as it is, by groups of the true table.

        The arguments are those of ``mean``.
        """
        asked = self._asked(by, where, level, infer, simultaneous, weighted)

        return self._told(lambda reading, own: reading.total(own, of), asked, replicates, of)

    def proportion(
        self,
        beyond: str,
        *,
        by: Sequence[str] = (),
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """The share beyond a number of a column released as it is, by groups of the true table.

        ``beyond`` is a column of numbers and what it is compared with, as ``"income>=50000"``; the
        other arguments are those of ``mean``.
        """
        from pramana.analysis.shares import beyond_of

        asked = self._asked(by, where, level, infer, simultaneous, weighted)
        self._require_without_noise(beyond_of(beyond).column)
        require_told(self.certificate.schema, [beyond_of(beyond)])
        return self._told(
            lambda reading, own: reading.proportion(own, beyond_of(beyond)),
            asked,
            replicates,
            bounds=(0.0, 1.0),
        )

    def quantile(
        self,
        of: str,
        q: float | Sequence[float] = 0.5,
        *,
        by: Sequence[str] = (),
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """Quantiles of a column released as it is, by groups of the true table.

        The quantile q is the smallest value at which a share of q or more lies at or below it: one
        share, 0.5 for the median; or several, which become the table's last column. The other
        arguments are those of ``mean``.
        """
        from pramana.analysis.quantiles import require_shares

        shares = require_shares([q] if isinstance(q, int | float) else list(q))
        asked = self._asked(by, where, level, infer, simultaneous, weighted)
        used = self._stated(replicates, asked)
        if used is not None and used.kind == "jackknife":
            raise NotCovered(
                "A jackknife gives no valid error of a quantile. Ask for shares beyond a number, "
                "or about the records alone."
            )
        self._require_without_noise(of)
        return self._told(
            lambda reading, own: reading.quantile(own, of, shares=shares), asked, replicates, of
        )

    def independence(
        self, first: str, second: str, *, where: Where = None, weighted: bool = True
    ) -> IndependenceTest:
        """Whether two columns of the true table are independent, by a test valid under noise.

        Args:
            first: a column, randomised or not.
            second: another one.
            where: which records, by their true values.
            weighted: whether the weights are used, where the release has any and its kind allows.
        """
        asked = Asked((first, second), self._conditions(where), weighted=weighted)
        found = self.reading.independence(asked)
        why = f"{found.why}{self._of_weight(asked)}"
        return replace(found, weight=self._weight(asked), why=why)

    def regress(
        self,
        formula: str,
        *,
        family: Family = "linear",
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "population",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Regression:
        """Coefficients of a model of the true records, with standard errors and intervals.

        Args:
            formula: ``"income ~ age + sex + C(region)"``, as R reads it. Columns may
                be randomised or not, on either side.
            family: ``linear`` (least squares), ``logistic`` or ``poisson``.
            where: which records, by their true values.
            level: of the intervals.
            infer: about the ``population`` the records were drawn from, or these ``records``:
                what the same fit on the truth would give.
            simultaneous: whether all intervals shall hold together.
            weighted: whether the weights are used, where the release has any.
            replicates: columns of replicate weights for the errors about the population.
        """
        asked = self._asked((), where, level, infer, simultaneous, weighted)
        found = self.reading.regress(asked, formula, family=family)
        replicates = self._stated(replicates, asked)
        if replicates is not None:
            from pramana.analysis.replicates import replicated_regression

            others = [
                self._weighed_by(name).regress(asked, formula, family=family).coefficients
                for name in self._replicates(replicates, asked)
            ]
            alone = self.reading.regress(about_records(asked), formula, family=family)
            found = replicated_regression(found, others, replicates, least=alone.se)
        why = f"{found.why}{self._of_weight(asked)}{self._of_households(asked, replicates)}"
        return replace(found, weight=self._weight(asked), why=why, like=self.like)

    def in_words(self, found: Estimate) -> Estimate:
        """The same numbers, their columns and values named by the labels of the true file."""
        own = self.certificate.labels
        pairs = zip(found.by, found.labels, strict=True)
        labels = tuple(own.named(name, values) for name, values in pairs)
        return replace(found, by=tuple(own.title(name) for name in found.by), labels=labels)

    def synthesize(self, *, method: SynthesisMethod = "posterior", seed: int | None = None) -> Any:
        """A table for any learner: true values drawn anew, given each whole released record.

        The randomised columns come in the form of the release, the others as they are. The table
        says that it is rebuilt: no row of it is anyone's truth.

        Args:
            method: ``posterior`` brings dependence between columns back, ``rank`` margins only.
            seed: makes the draw reproducible.
        """
        keystream = Keystream.of(seed)
        return as_kind(open_table(self.synthesized(keystream, method=method)), self.like)

    def synthesized(
        self, keystream: Keystream, *, method: SynthesisMethod = "posterior"
    ) -> pa.Table:
        """The rebuilt records as an Arrow table, with a note in its metadata."""
        from pramana.analysis.synthesis import SYNTHESIS_METHODS

        require_choice("method", method, SYNTHESIS_METHODS)
        return self.reading.synthesize(keystream, method=method)

    def write_rebuilt(
        self,
        path: str | Path,
        *,
        method: SynthesisMethod = "posterior",
        seed: int | None = None,
        force: bool = False,
    ) -> dict[str, int | str]:
        """Write rebuilt records to a file, whole or not at all; say how many, and what they are."""
        from pramana.analysis.published import REBUILT

        place = Path(path)
        require_free(place, force=force)
        file_format = format_of(place)
        keystream = Keystream.of(seed)
        table = self.synthesized(keystream, method=method)
        write_table(table, place, file_format=file_format, force=force)
        return {"records": table.num_rows, "note": REBUILT}

    def _asked(
        self,
        by: Sequence[str],
        where: Where,
        level: float,
        infer: Inference,
        simultaneous: bool,
        weighted: bool,
    ) -> Asked:
        question = Question(level=level, infer=infer, simultaneous=simultaneous)
        names = (by,) if isinstance(by, str) else tuple(by)
        return Asked(names, self._conditions(where), question, weighted)

    def _conditions(self, where: Where) -> tuple[Condition, ...]:
        """A filter that the release can tell."""
        found = conditions_of(where)
        require_told(self.certificate.schema, found)
        return found

    def _told(
        self,
        ask: Ask,
        asked: Asked,
        replicates: Replicates | None,
        of: str | None = None,
        bounds: tuple[float, float] = (-np.inf, np.inf),
    ) -> Estimate:
        """An answer that is asked for in the same way with each replicate; ``of`` whose values."""
        found = ask(self.reading, asked)
        if of is not None:
            found = of_values(found, self.certificate.schema.column(of))
        return self._answer(found, asked, replicates, ask, bounds)

    def _answer(
        self,
        found: Estimate,
        asked: Asked,
        replicates: Replicates | None,
        again: Ask,
        bounds: tuple[float, float],
    ) -> Estimate:
        """The answer, with errors by replicate weights where they are named.

        ``bounds`` are those of the quantity: a count is at least 0, a share at most 1.
        """
        replicates = self._stated(replicates, asked, found)
        if replicates is not None:
            from pramana.analysis.replicates import replicated_estimate

            figures = [
                np.asarray(again(self._weighed_by(name), asked).unbiased)
                for name in self._replicates(replicates, asked, found)
            ]
            least = again(self.reading, about_records(asked)).se
            found = replicated_estimate(
                found, figures, replicates, asked.question, least=least, bounds=bounds
            )
        households = "" if found.no_interval else self._of_households(asked, replicates)
        why = f"{found.why}{self._of_weight(asked)}{households}"
        spoken = self.certificate.labels
        return replace(found, weight=self._weight(asked), why=why, like=self.like, spoken=spoken)

    def _stated(
        self, replicates: Replicates | None, asked: Asked, found: Estimate | None = None
    ) -> Replicates | None:
        """The replicates that were named, or those of the release where they mean something."""
        own = self.certificate.schema.replicates
        if replicates is not None or own is None or self._weight(asked) is None:
            return replicates
        if asked.question.infer != "population" or (found is not None and found.no_interval):
            return None
        return own

    def _replicates(
        self, replicates: Replicates, asked: Asked, found: Estimate | None = None
    ) -> tuple[str, ...]:
        """The columns of replicate weights; refused where they would not mean what they say."""
        if asked.question.infer != "population":
            raise InvalidNumber(
                'Replicate weights speak about the population: ask with infer="population", on the '
                "command line --infer population."
            )
        if self._weight(asked) is None:
            raise InvalidNumber(
                "Replicate weights go with a weight, and this question has none: the release must "
                "have a column of role weight, and weighted must not be False."
            )
        names = replicates.columns_in(self.opened.schema.names)
        records = self._asked_of
        for name in names:
            records.require_number(name)
        drawn = self.certificate.nature.grouped and records.changed(asked.names)
        if records.changed(names) or drawn or (found is not None and found.no_interval):
            raise NotCovered(
                "Replicate weights compare records that were randomised one by one, beside weights "
                "released as they are. This release, or this question, is not of that kind. Ask "
                "about the records alone."
            )
        return names

    def _of_weight(self, asked: Asked) -> str:
        """What was done to the weights before they left, where they are used."""
        weight = self.certificate.schema.weight
        return recoded_words([weight]) if weight is not None and asked.weighted else ""

    def _of_households(self, asked: Asked, replicates: Replicates | None) -> str:
        """That errors about a population know nothing of households that were drawn whole."""
        if (
            asked.question.infer == "records"
            or replicates is not None
            or not self.certificate.households
        ):
            return ""
        return " As if people had been drawn one by one: too narrow where households were."

    def _weight(self, asked: Asked) -> str | None:
        weight = self.certificate.schema.weight
        return weight.name if weight is not None and asked.weighted else None


def load_release(folder: str | Path) -> Release:
    """Open a release folder whose certificate and data are as they were written."""
    folder = Path(folder)
    certificate = read_certificate(folder)
    before = stamps_of(folder, certificate)
    require_as_written(folder, certificate)
    opened = open_data(folder, certificate)
    require_unchanged(before)
    return Release(certificate, opened, folder=folder)


def written_release(folder: Path) -> Release:
    """Return the release that this process has just written; its file needs no checks."""
    certificate = read_certificate(folder)
    opened = open_own(data_path(folder, certificate), schema=certificate.schema)
    return Release(certificate, opened, folder=folder)
