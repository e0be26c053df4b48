"""A release: a table and its certificate, in memory or in a folder, with the verbs of an analyst.

The original data are not needed: the engine that holds the released records sums them up, and the
estimator for the certificate's kind of release computes every answer from these sums.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.analysis import population_weights
from pramana.analysis.association import IndependenceTest
from pramana.analysis.attribute_sampling_sums import require_sets
from pramana.analysis.estimates import Estimate, Margins, frame_of, totals_of
from pramana.analysis.quantiles import require_shares
from pramana.analysis.question import (
    CountMethod,
    Inference,
    Question,
    Rounded,
    Where,
    conditions_of,
    of_values,
    recoded_words,
    require_comparable,
)
from pramana.analysis.readings import SYNTHETIC_NOTE
from pramana.analysis.regression import family_named
from pramana.analysis.regression_results import Regression, correlation, standard_deviation
from pramana.analysis.released_records import Reading, ReleasedRecords, reading_of
from pramana.analysis.replicates import (
    replicated_estimate,
    replicated_regression,
    with_rounded_weights,
)
from pramana.analysis.shares import (
    NORMALIZE,
    SHARES,
    Normalize,
    Share,
    beyond_of,
    cross_table,
    proportion,
)
from pramana.analysis.synthesis import SYNTHESIS_METHODS, SynthesisMethod
from pramana.base.atomic_files import require_free, whole_folder
from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import require_choice, require_number
from pramana.base.text import percent_up
from pramana.base.translation import gettext
from pramana.engine.base import ENGINES, USUAL, Condition, as_kind, write_opened
from pramana.errors import (
    Imprecise,
    InputError,
    InvalidNumber,
    InvalidTable,
    NotCovered,
    Notice,
    PramanaError,
    harmless,
    unheard,
)
from pramana.io.base import format_to_write
from pramana.io.opening import open_table, open_written
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
from pramana.schema.schema import Replicates
from pramana.types import TableLike
from pramana.verification.checks import Verdict
from pramana.verification.consistency import require_consistent
from pramana.verification.verify import verify_folder
from pramana.verification.whole_file import FileRisk, Publishable, file_risk, verdict_of

INTERNAL = frozenset({"in_words", "like", "opened", "reading", "require_sound", "synthesized",
                      "write_synthetic"})  # fmt: skip
"""What completion leaves out: it is for other packages, not for analysts."""


COPY = "copy"

LARGE_ERROR = 0.1
"""Median standard error above which synthetic records are of little use."""

MOST_PAIRS, ENOUGH = 6, 20
"""Tables of two columns, and records of a cell, whose errors are looked at for this."""
"""The column that numbers the copies in a file of synthetic records."""


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

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - INTERNAL)

    def __repr__(self) -> str:
        columns = harmless(", ".join(self.opened.schema.names))
        return f"<Release: {self.records:,} records of {columns}>"

    def __str__(self) -> str:
        columns = harmless(", ".join(self.opened.schema.names))
        return f"{self.records:,} released records of {columns}.\n{self.certificate}"

    def _repr_html_(self) -> str:
        head, *lines = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{head}</strong></p>" + "".join(f"<p>{line}</p>" for line in lines)

    # -- the records -----------------------------------------------------------------------

    def __len__(self) -> int:
        return self.records

    @property
    def columns(self) -> list[str]:
        """The names of the released columns."""
        return list(self.opened.schema.names)

    def head(self, records: int = 5) -> Any:
        """The first released records as the kind of data frame that went in."""
        rows: list[pa.RecordBatch] = []
        for batch in self.opened.batches():
            rows.append(batch.slice(0, records - sum(map(len, rows))))
            if sum(map(len, rows)) >= records:
                break
        return frame_of(pa.Table.from_batches(rows, schema=self.opened.schema), self.like)

    @cached_property
    def table(self) -> Any:
        """The released records as the kind of data frame that went in (PyArrow from a folder)."""
        return as_kind(self.opened, self.like)

    def to_pandas(self) -> Any:
        """The released records as a data frame of pandas. They are randomised: do not count."""
        return self.opened.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The released records as a data frame of Polars. They are randomised: do not count."""
        import polars

        return polars.from_arrow(self.opened.to_arrow())

    @property
    def records(self) -> int:
        """The number of released records."""
        return self.certificate.records

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The released records in order."""
        for name in columns or ():
            self._released_records.require(name)
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
        return verify_folder(self.folder, key=key)

    @cached_property
    def file_risk(self) -> FileRisk:
        """The risk of the whole file: how many people are unique on its unchanged columns."""
        return file_risk(self.certificate, self.opened)

    @property
    def publishable(self) -> Publishable:
        """The colour of the release and the reason for it, before any check of its folder."""
        return verdict_of(self.certificate, self.file_risk)

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

        The arguments are those of ``pramana.report``, which is in a layer above and is therefore
        imported by name.
        """
        verb = import_module("pramana.api").report
        about = {"name": name, "office": office, "date": date}
        return verb(self, original=original, external=external, **about)

    def require_sound(self) -> None:
        """Refuse impossible attribute sets before anything relies on them."""
        if self.folder is not None:
            require_sets(self.certificate)

    # -- the verbs of an analyst -----------------------------------------------------------

    @cached_property
    def reading(self) -> Reading:
        """The estimator for this kind of release."""
        return reading_of(self._released_records)

    @cached_property
    def _released_records(self) -> ReleasedRecords:
        self.require_sound()
        return ReleasedRecords(self.certificate, self.opened)

    def crosstab(
        self,
        *by: str | Sequence[str],
        where: Where = None,
        method: CountMethod = "auto",
        share: Share = False,
        normalize: Normalize = False,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """Counts (or shares) of the original table, with standard errors and intervals.

        Args:
            by: the columns to cross, randomised or not.
            where: which records to count, by their original values.
            method: ``unbiased``, ``clipped``, ``shrunk``, or ``auto``: the best for this table.
            share: shares instead of counts: of all records (``True`` or ``"total"``), of the
                records with the same first column (``"row"``) or the same last one (``"column"``).
            normalize: the same in the words of pandas: ``True``, ``"all"``, ``"index"``,
                ``"columns"``.
            level: of the intervals.
            infer: about these ``records``, or about the ``population`` they were drawn from.
            simultaneous: whether all intervals hold together.
            weighted: whether the weights are used, where the release has any.
            replicates: columns of replicate weights for the errors about the population.
        """
        require_choice("normalize", normalize, tuple(NORMALIZE))
        share = share or NORMALIZE[normalize]
        require_choice("share", share, SHARES)
        question = self._question(by, where, level, infer, simultaneous, weighted, replicates)
        place = {"row": 0, "column": len(question.by) - 1}.get(str(share))
        return self._answer(
            lambda reading, asked: cross_table(reading, asked, method=asked.method, share=share),
            replace(question, method=method),
            Rounded("share" if share else "total", place=place),
        )

    def mean(
        self,
        of: str | Sequence[str],
        *,
        by: Sequence[str] = (),
        where: Where = None,
        method: CountMethod = "auto",
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
        margins: Margins | None = None,
    ) -> Estimate:
        """The mean of a column of numbers, by groups of the original table.

        ``method`` is ``unbiased``, ``shrunk`` towards common means, or ``auto``: the better one.
        The means of several columns are in one table. ``margins`` are published totals by column
        and value, to which the estimate is calibrated: a mapping, or a file with the columns
        column, value and total. The other arguments are those of ``crosstab``.
        """
        if not isinstance(of, str):
            alike = partial(
                self.mean, by=by, where=where, method=method, level=level, infer=infer,
                simultaneous=simultaneous, weighted=weighted, replicates=replicates,
                margins=margins,
            )  # fmt: skip
            return Estimate.stacked("column", of, [alike(name) for name in of], "mean")
        question = self._question(by, where, level, infer, simultaneous, weighted, replicates)
        return self._answer(
            lambda reading, asked: reading.values(asked, of, total=False),
            replace(question, method=method),
            Rounded("mean", of),
            margins,
        )

    def std(
        self,
        of: str,
        *,
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "population",
        weighted: bool = True,
    ) -> Estimate:
        """The standard deviation of a column of numbers; the arguments are those of ``regress``."""
        asked: dict[str, Any] = {"where": where, "level": level, "weighted": weighted}
        mean = self.mean(of, method="unbiased", **asked)
        fit = partial(self.regress, infer=infer, **asked)
        return standard_deviation(of, float(mean.estimate), fit)

    def corr(
        self,
        first: str,
        second: str,
        *,
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "population",
        weighted: bool = True,
    ) -> Estimate:
        """The correlation of two columns of numbers; the arguments are those of ``regress``."""
        if first == second:
            raise InvalidTable("A correlation is of two columns: name another one.")
        asked: dict[str, Any] = {"where": where, "level": level, "weighted": weighted}
        moments = [
            (
                float(self.mean(name, method="unbiased", **asked).estimate),
                float(self.std(name, infer=infer, **asked).estimate),
            )
            for name in (first, second)
        ]
        return correlation((first, second), moments, partial(self.regress, infer=infer, **asked))

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
        margins: Margins | None = None,
    ) -> Estimate:
        """The total of a column of numbers, as ``mean`` is asked for; it is unbiased."""
        question = self._question(by, where, level, infer, simultaneous, weighted, replicates)
        return self._answer(
            lambda reading, asked: reading.values(asked, of, total=True),
            question,
            Rounded("total", of),
            margins,
        )

    def proportion(
        self,
        beyond: str,
        *,
        by: Sequence[str] = (),
        where: Where = None,
        method: CountMethod = "auto",
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Estimate:
        """Shares beyond a number of a column released unchanged, by groups of the original table.

        ``beyond`` is a column of numbers and what it is compared with, as ``"income>=50000"``; the
        other arguments are those of ``crosstab``.
        """
        question = self._question(by, where, level, infer, simultaneous, weighted, replicates)
        condition = beyond_of(beyond)
        self._released_records.require_without_noise([condition.column])
        require_comparable(self.certificate.schema, [condition])
        return self._answer(
            lambda reading, asked: proportion(reading, asked, condition),
            replace(question, method=method),
            Rounded("mean", condition.column, condition),
        )

    def median(
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
        """The median of a column released unchanged: ``quantile`` at 0.5, with its arguments."""
        return self.quantile(
            of,
            0.5,
            by=by,
            where=where,
            level=level,
            infer=infer,
            simultaneous=simultaneous,
            weighted=weighted,
            replicates=replicates,
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
        """Quantiles of a column released unchanged, by groups of the original table.

        The quantile q is the smallest value at which a share of q or more lies at or below it: one
        share, 0.5 for the median; or several, which become the table's last column. The other
        arguments are those of ``crosstab``.
        """
        shares = require_shares([q] if isinstance(q, int | float) else list(q))
        question = self._question(by, where, level, infer, simultaneous, weighted, replicates)
        used = self._replicates_for(question)
        if used is not None and used.kind == "jackknife":
            raise NotCovered(
                "A jackknife gives no valid error of a quantile. Ask for shares beyond a number, "
                "or about the records alone."
            )
        self._released_records.require_without_noise([of])
        return self._answer(
            lambda reading, asked: reading.quantile(asked, of, shares=shares),
            question,
            Rounded("quantile", of, shares=shares),
        )

    def independence(
        self, first: str, second: str, *, where: Where = None, weighted: bool = True
    ) -> IndependenceTest:
        """Whether two columns of the original table are independent, by a test valid under noise.

        Args:
            first: a column, randomised or not.
            second: another one.
            where: which records, by their original values.
            weighted: whether the weights are used, where the release has any and its kind allows.
        """
        question = Question((first, second), self._conditions(where), weighted=weighted)
        test = self.reading.independence(question)
        why = test.why + self._notes(question, None)
        return replace(test, weight=self._weight(question), why=why)

    def regress(
        self,
        formula: str,
        *,
        family: str = "linear",
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "population",
        simultaneous: bool = False,
        weighted: bool = True,
        replicates: Replicates | None = None,
    ) -> Regression:
        """Coefficients of a model of the original records, with standard errors and intervals.

        ``formula`` reads as in R, ``"income ~ age + sex + C(region)"``, with randomised columns on
        either side. ``family`` is ``linear`` (least squares), ``logistic``, ``poisson``, or for
        three or more categories ``multinomial`` or ``ordered`` (proportional odds); ``binomial``
        and ``gaussian`` are understood. ``C(y, levels=["low", "mid", "high"])`` states the order of
        categories. About these ``records`` it is what the same fit on the original data would give.
        The other arguments are those of ``crosstab``.
        """
        question = self._question((), where, level, infer, simultaneous, weighted, replicates)
        kind = family_named(family)
        fitted = self.reading.regress(question, formula, family=kind)
        used = self._replicates_for(question)
        if used is not None:
            others = [
                reading.regress(question, formula, family=kind).coefficients
                for reading in self._replicate_readings(self.reading, used, question)
            ]
            alone = self.reading.regress(question.about_records(), formula, family=kind)
            fitted = replicated_regression(fitted, others, used, least=alone.se)
        why = fitted.why + self._notes(question, used)
        return replace(fitted, weight=self._weight(question), why=why, like=self.like)

    def in_words(self, estimate: Estimate) -> Estimate:
        """The same numbers, their columns and values named by the labels of the original file."""
        names, bins = self.certificate.labels, self.certificate.true_schema.bin_words
        labels = []
        for name, values in zip(estimate.by, estimate.labels, strict=True):
            known, named = bins.get(name, {}), names.named(name, values)
            labels.append(tuple(map(known.get, values, named)))
        return replace(estimate, by=tuple(map(names.title, estimate.by)), labels=tuple(labels))

    def synthesize(
        self,
        *,
        method: SynthesisMethod = "posterior",
        seed: int | None = None,
        margins: Margins | None = None,
        copies: int | None = None,
    ) -> Any:
        """A synthetic table: original values drawn given each whole released record.

        Randomised columns have the form of the release, the others are unchanged. The metadata
        of the table say that it is synthetic.

        Args:
            method: ``posterior`` restores dependence between columns, ``rank`` margins only.
            seed: Makes the draw reproducible.
            margins: Published totals by column and value, to which the records are raked: a
                mapping, or a file with the columns column, value and total.
            copies: Return a list of this many tables, each with its own draw of the parameters of
                the model. Fit the same model to each, and combine the fits by ``pramana.pool``.
        """
        self._warn_of_synthetic_errors()
        keystream = Keystream.of(seed)
        if copies is None:
            table = self.synthesized(keystream, method=method, margins=margins)
            return as_kind(open_table(table), self.like)
        tables = self._synthetic_copies(copies, keystream, method, margins)
        return [as_kind(open_table(table), self.like) for table in tables]

    @cached_property
    def _pair_error(self) -> float | None:
        """The relative standard error of cells of two randomised columns: the median over records.

        Of the first ``MOST_PAIRS`` tables, and of cells of ``ENOUGH`` records and more. Synthetic
        records have the same error, and that of their draw. ``None`` where it is not known.
        """
        names = [column.name for column in self.certificate.true_schema.randomised]
        errors, records = [np.zeros(0)], [np.zeros(0)]
        for pair in islice(combinations(names, 2), MOST_PAIRS):
            with suppress(PramanaError), unheard(Notice):
                table = self.crosstab(*pair, weighted=False)
                counts, deviations = np.asarray(table.estimate), np.asarray(table.se)
                enough = counts >= ENOUGH
                errors.append(deviations[enough] / counts[enough])
                records.append(counts[enough])
        together, weights = np.concatenate(errors), np.concatenate(records)
        if not len(together):
            return None
        order = np.argsort(together)
        below = np.cumsum(weights[order])
        return float(together[order][np.searchsorted(below, below[-1] / 2)])

    def _warn_of_synthetic_errors(self) -> None:
        """Warn where synthetic records say little about two columns together."""
        error = self._pair_error
        if error is not None and error > LARGE_ERROR:
            warnings.warn(
                "Half of the records are in cells of two columns with a standard error of "
                f"{percent_up(error)} or more of the cell, and synthetic records are not more "
                "precise. Estimate tables and means from the release instead (pramana estimate), "
                "which states the error of each number.",
                Imprecise,
                stacklevel=3,
            )

    def _synthetic_copies(
        self, copies: int, keystream: Keystream, method: str, margins: Margins | None
    ) -> list[pa.Table]:
        """Synthetic tables, each with its own draw of the parameters."""
        require_number("copies", copies, low=1)
        if copies != int(copies):
            raise InvalidNumber(
                "copies must be a whole number of 1 or more, got {copies!r}.", copies=copies
            )
        if method != "posterior":
            raise InvalidNumber("Copies have a posterior with method='posterior' alone.")
        streams = [keystream.apart(Stream("copy", copy)) for copy in range(int(copies))]
        return [self.synthesized(stream, margins=margins, redraw=True) for stream in streams]

    def synthesized(
        self,
        keystream: Keystream,
        *,
        method: SynthesisMethod = "posterior",
        margins: Margins | None = None,
        redraw: bool = False,
    ) -> pa.Table:
        """The synthetic records as an Arrow table, with a note in its metadata.

        With ``redraw`` the parameters of their model are drawn as well. A release in several files
        has a model for each file, whose records are a random sample of all.
        """
        require_choice("method", method, SYNTHESIS_METHODS)
        files = self._data_files()
        if len(files) > 1:
            self.require_sound()
            how = {"method": method, "margins": margins, "redraw": redraw}
            draw = partial(_synthetic_file, self.certificate, keystream, how)
            return pa.concat_tables(ENGINES[USUAL].each(draw, files))
        # A reading from outside need not know how to draw parameters anew.
        asked: dict[str, Any] = {"method": method} | ({"redraw": True} if redraw else {})
        if margins is None:
            return self.reading.synthesize(keystream, **asked)
        if self.certificate.nature.whole:
            raise NotCovered(
                "Synthetic records are raked to margins where a model of the whole table draws "
                "them: of attribute sampling and shuffled marginals. Leave the margins out."
            )
        records = replace(self._released_records, margins=totals_of(margins))
        return reading_of(records).synthesize(keystream, **asked)

    def _data_files(self) -> list[tuple[int, Path]]:
        """The numbered data files, if each holds a random sample of the records."""
        if self.certificate.nature.counted:
            return []
        return [(at, file.path) for at, file in enumerate(self.opened.files)]

    shift_weights = population_weights.shift_weights
    transfer_weights = population_weights.transfer_weights

    def write_synthetic(
        self,
        path: str | Path,
        *,
        method: SynthesisMethod = "posterior",
        seed: int | None = None,
        force: bool = False,
        margins: Margins | None = None,
        copies: int | None = None,
        engine: str = USUAL,
        master: str | None = None,
    ) -> dict[str, int | str]:
        """Write synthetic records to a file, whole or not at all; give their number and a note.

        With ``copies`` all copies are in one file, with their number in a first column ``copy``. Of
        a release in several files a folder of as many Parquet files is written, each by a thread or
        a worker of the engine; ``master`` names its cluster.
        """
        self._warn_of_synthetic_errors()
        place, workers = Path(path), ENGINES[engine]
        file_format, files = format_to_write(place), self._data_files()
        by_file = len(files) > 1 and file_format == self.opened.format and copies is None
        require_free(place, force=force and not by_file)
        if engine != USUAL and not by_file:
            raise InputError(
                "Engine {engine} writes a file for each data file of a release that has several, "
                "in the same format, without copies. Leave the engine out.",
                engine=engine,
            )
        workers.connect(master)
        keystream = Keystream.of(seed)
        if by_file:
            self.require_sound()
            how = {"method": method, "margins": margins}
            with whole_folder(place) as folder:
                write = partial(_write_synthetic_file, folder, self.certificate, keystream, how)
                return {"records": sum(workers.each(write, files)), "note": SYNTHETIC_NOTE}
        if copies is None:
            table = self.synthesized(keystream, method=method, margins=margins)
        elif COPY in self.opened.schema.names:
            raise InputError(
                "The release has a column '{copy}': draw copies in Python instead.", copy=COPY
            )
        else:
            tables = self._synthetic_copies(copies, keystream, method, margins)
            numbers = np.repeat(np.arange(1, len(tables) + 1), tables[0].num_rows)
            table = pa.concat_tables(tables).add_column(0, COPY, pa.array(numbers))
        write_table(table, place, file_format=file_format, force=force)
        return {"records": table.num_rows, "note": SYNTHETIC_NOTE}

    # -- questions and replicate weights ---------------------------------------------------

    def _question(
        self,
        by: Sequence[str | Sequence[str]],
        where: Where,
        level: float,
        infer: Inference,
        simultaneous: bool,
        weighted: bool,
        replicates: Replicates | None,
    ) -> Question:
        if len(by) == 1 and isinstance(by[0], list | tuple):
            by = by[0]  # crosstab(["sex", "age"])
        names: Any = (by,) if isinstance(by, str) else tuple(by)  # Question refuses what is no name
        conditions = self._conditions(where)
        return Question(names, conditions, level, infer, simultaneous, weighted, replicates)

    def _conditions(self, where: Where) -> tuple[Condition, ...]:
        """A filter, with ``True`` and ``False`` as columns of truth values have them."""
        schema, conditions = self.certificate.schema, []
        for condition in conditions_of(where):
            name, values = condition.column, condition.values
            if name in schema.names and name in self.opened.schema.names:
                labels = schema.column(name).labels if schema.column(name).domain else ()
                boolean = pa.types.is_boolean(self.opened.schema.field(name).type)
                if boolean or any(isinstance(label, bool) for label in labels):
                    texts = [str(value).lower() for value in values]
                    values = tuple(
                        text if isinstance(value, str) and text in ("true", "false") else value
                        for value, text in zip(values, texts, strict=True)
                    )
            conditions.append(replace(condition, values=values))
        require_comparable(schema, conditions)
        return tuple(conditions)

    def _answer(
        self,
        ask: Callable[[Reading, Question], Estimate],
        question: Question,
        rounded: Rounded,
        margins: Margins | None = None,
    ) -> Estimate:
        """The estimate, with errors by replicate weights and errors of rounded weights.

        ``ask`` is repeated with each replicate. A weight is not weighted by itself.
        """
        reading = self.reading if margins is None else self._calibrated(margins, question, rounded)
        of = rounded.of if rounded.beyond is None else None
        if of is not None and of == self._weight(question):
            question = replace(question, weighted=False)
        estimate = ask(reading, question)
        if of is not None:
            estimate = of_values(estimate, self.certificate.schema.column(of))
        used = self._replicates_for(question, estimate)
        if used is not None:
            others = [
                ask(replicate, replace(question, method="unbiased")).unbiased
                for replicate in self._replicate_readings(reading, used, question, estimate)
            ]
            least = ask(reading, question.about_records()).se
            estimate = replicated_estimate(
                estimate, others, used, question, least=least, bounds=rounded.bounds
            )
        weight = self._weight(question)
        if weight not in (None, rounded.of, *question.names) and not estimate.no_interval:
            estimate = with_rounded_weights(estimate, question, rounded, self.reading)
        return replace(
            estimate,
            weight=weight,
            why=estimate.why + self._notes(question, used, interval=not estimate.no_interval),
            like=self.like,
            spoken=self.certificate.labels,
        )

    def _calibrated(self, margins: Margins, question: Question, rounded: Rounded) -> Reading:
        """The estimator with published margins; they need published matrices."""
        totals = totals_of(margins)
        names = [*question.names, *totals, *filter(None, [rounded.of])]
        if self._released_records.changed(names) and self.certificate.mechanism is None:
            raise NotCovered(
                "Margins calibrate estimates whose covariance is known. This release has no "
                "published matrices: leave the margins out, or ask about unchanged columns."
            )
        return reading_of(replace(self._released_records, margins=totals))

    def _replicates_for(
        self, question: Question, estimate: Estimate | None = None
    ) -> Replicates | None:
        """The replicates that the question names, or those of the release where they apply."""
        declared = self.certificate.schema.replicates
        if question.replicates is not None or self._weight(question) is None:
            return question.replicates
        without_interval = estimate is not None and estimate.no_interval
        return None if question.infer != "population" or without_interval else declared

    def _replicate_readings(
        self,
        reading: Reading,
        replicates: Replicates,
        question: Question,
        estimate: Estimate | None = None,
    ) -> list[Reading]:
        """One estimator for each column of replicate weights; refused where they do not apply."""
        if question.infer != "population":
            raise InvalidNumber(
                "Replicate weights are for errors about the population: ask with "
                'infer="population", on the command line --infer population.'
            )
        if self._weight(question) is None:
            raise InvalidNumber(
                "Replicate weights go with a weight, and this question has none: the release must "
                "have a column of role weight, and weighted must not be False."
            )
        names = replicates.columns_in(self.opened.schema.names)
        records = reading.records
        for name in names:
            records.require_number(name)
        drawn = self.certificate.nature.grouped and records.changed(question.names)
        if records.changed(names) or drawn or (estimate is not None and estimate.no_interval):
            raise NotCovered(
                "Replicate weights need records that were randomised independently, and weights "
                "that were released unchanged. Ask about the records alone."
            )
        return [reading_of(replace(records, weigh_by=name)) for name in names]

    def _weight(self, question: Question) -> str | None:
        weight = self.certificate.schema.weight
        return weight.name if weight is not None and question.weighted else None

    def _notes(
        self, question: Question, replicates: Replicates | None, *, interval: bool = True
    ) -> str:
        """How the weights that are used were recoded before they were released.

        And that errors about a population do not account for the sampling of whole households.
        """
        weight = self.certificate.schema.weight
        notes = recoded_words([weight]) if weight is not None and question.weighted else ""
        design_known = question.infer == "records" or replicates is not None
        if self.certificate.households and interval and not design_known:
            notes += gettext(
                " As if people had been sampled one by one: too narrow where households were."
            )
        return notes


def _synthetic_file(
    certificate: Certificate, keystream: Keystream, how: Mapping[str, Any], file: tuple[int, Path]
) -> pa.Table:
    """The synthetic records of one of several data files."""
    number, path = file
    opened = open_written(path, schema=certificate.schema)
    part = Release(replace(certificate, records=opened.rows), opened)
    return part.synthesized(keystream.apart(Stream("data file", number)), **how)


def _write_synthetic_file(
    folder: Path,
    certificate: Certificate,
    keystream: Keystream,
    how: Mapping[str, Any],
    file: tuple[int, Path],
) -> int:
    """Write them under the name of that data file; a repeated task writes the same bytes."""
    table = _synthetic_file(certificate, keystream, how, file)
    place = folder / file[1].name
    return write_table(table, place, file_format=format_to_write(place), force=True)


def load_release(folder: str | Path, *, like: str = "arrow") -> Release:
    """Open a release folder whose certificate and data are as they were written."""
    require_choice("like", like, ("arrow", "pandas", "polars"))
    frame = None if like == "arrow" else import_module(like).DataFrame()
    folder = Path(folder)
    certificate = read_certificate(folder)
    before = stamps_of(folder, certificate)
    require_as_written(folder, certificate)
    require_consistent(certificate)
    opened = open_data(folder, certificate)
    require_unchanged(before)
    return Release(certificate, opened, like=frame, folder=folder)


def written_release(folder: Path) -> Release:
    """Return the release that this process has just written; its file needs no checks."""
    certificate = read_certificate(folder)
    opened = open_written(data_path(folder, certificate), schema=certificate.schema)
    return Release(certificate, opened, folder=folder)
