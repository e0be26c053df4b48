"""What an analyst does with a release: tables, means, totals, tests, rebuilt records.

Thin delegations: the released records are summed up by the engine, the sums go to the estimation
room. The truth is nowhere near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.engines.choose import as_kind
from pramana.engines.sums import Comparison, Condition, grouped_sums
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, UnknownColumn
from pramana.estimation.companions import Companion, companion_of
from pramana.estimation.counts import Method, estimate_counts
from pramana.estimation.grouped import grouped_counts
from pramana.estimation.independence import IndependenceTest, independence_test
from pramana.estimation.layout import Layout
from pramana.estimation.means import estimate_means, estimate_totals
from pramana.estimation.moments import Moments
from pramana.estimation.rebuild import Rebuild, rebuild_records
from pramana.estimation.results import Estimate
from pramana.estimation.unchanged import invariant_counts
from pramana.estimation.variance import Inference, Question
from pramana.formats.opening import open_table
from pramana.matrices.mechanism import Mechanism
from pramana.matrices.transition import Label
from pramana.randomness import Keystream, Stream
from pramana.release.release import Release
from pramana.release.verify import Verdict, verify_folder
from pramana.table.codec import decode, encode_released
from pramana.table.domains import label_text
from pramana.table.opened import is_number
from pramana.table.schema import Column

__all__ = ["Published", "Where"]

Where = Mapping[str, Label | Sequence[Label]] | Sequence[str] | None
"""A filter: ``{"sex": "F", "age": ["[20, 30)", "[30, 40)"]}`` or ``["sex=F", "income>=50000"]``."""

REBUILT = "Rebuilt by pramana from a release: drawn values, no row is anyone's truth."

COMPARISONS: tuple[Comparison, ...] = ("!=", "<=", ">=", "=", "<", ">")


@dataclass(frozen=True, repr=False)
class Published(Release):
    """A release with the verbs of an analyst."""

    def crosstab(
        self,
        *by: str,
        where: Where = None,
        method: Method = "auto",
        share: bool = False,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
    ) -> Estimate:
        """Counts (or shares) of the true table, with standard errors and intervals.

        Args:
            by: the columns to cross, randomised or not.
            where: which records to count, by their true values.
            method: ``inverse``, ``clipped``, ``em``, or ``auto``: the best for this table.
            share: shares instead of counts.
            level: of the intervals.
            infer: about these ``records``, or about the ``population`` they were drawn from.
            simultaneous: whether all intervals shall hold together.
        """
        question = Question(level=level, infer=infer, simultaneous=simultaneous)
        sums = self._sums(by, where)
        if self.certificate.kind == "groups" and sums.randomised:
            return grouped_counts(
                sums.moments,
                sums.layout,
                method=self.certificate.method,
                keys_only=set(by) <= set(sums.randomised) and where is None,
                question=question,
                share=share,
            )
        if self.certificate.mechanism is None and sums.randomised:
            return self._unchanged(sums, question)
        return estimate_counts(
            sums.moments, sums.layout, method=method, question=question, share=share
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
    ) -> Estimate:
        """The mean of a column released as it is, by groups of the true table."""
        question = Question(level=level, infer=infer, simultaneous=simultaneous)
        sums = self._sums(by, where, value=of)
        return estimate_means(sums.moments, sums.layout, of=of, question=question)

    def total(
        self,
        of: str,
        *,
        by: Sequence[str] = (),
        where: Where = None,
        level: float = 0.95,
        infer: Inference = "records",
        simultaneous: bool = False,
    ) -> Estimate:
        """The total of a column released as it is, by groups of the true table."""
        question = Question(level=level, infer=infer, simultaneous=simultaneous)
        sums = self._sums(by, where, value=of)
        return estimate_totals(sums.moments, sums.layout, of=of, question=question)

    def independence(self, first: str, second: str, *, where: Where = None) -> IndependenceTest:
        """Whether two columns of the true table are independent, by a test valid under noise."""
        sums = self._sums((first, second), where)
        return independence_test(sums.moments, sums.layout)

    def rebuild(self, *, method: Rebuild = "posterior", seed: int | None = None) -> Any:
        """A table for any learner: true values drawn anew, given each whole released record.

        The randomised columns come in the form of the release, the others as they are. The table
        says that it is rebuilt: no row of it is anyone's truth.

        Args:
            method: ``posterior`` brings dependence between columns back, ``rank`` margins only.
            seed: makes the draw reproducible.
        """
        keystream = Keystream.from_system() if seed is None else Keystream.from_seed(seed)
        return as_kind(open_table(self.rebuilt(keystream, method=method)), self.like)

    def rebuilt(self, keystream: Keystream, *, method: Rebuild = "posterior") -> pa.Table:
        """The rebuilt records as an Arrow table, with a note in its metadata."""
        mechanism = self.certificate.mechanism
        if mechanism is None or not mechanism.steps:
            raise NotCovered(
                "Only a release with published matrices can be rebuilt; this one is to be read as "
                "it stands."
            )
        schema = self.certificate.schema
        names = list(dict.fromkeys((*mechanism.strata, *mechanism.columns)))
        table = self.opened.to_arrow()
        codes, labels = self._coded(table, names)
        others = [column.name for column in schema.released_as_is if column is not schema.weight]
        company = _company(table, [name for name in others if name not in names])
        codes |= {name: companion.codes for name, companion in company.items()}
        labels |= {name: companion.labels for name, companion in company.items()}
        layout = Layout.of_records(
            [*mechanism.columns, *company], labels=labels, mechanism=mechanism
        )
        found = rebuild_records(
            [codes[name] for name in layout.columns], layout, keystream=keystream, method=method
        )
        for name, own in zip(found.columns, found.codes, strict=True):
            if name not in mechanism.columns:
                continue
            words = keystream.words(Stream("rebuild", "inside", name), 0, len(own))
            kind = table.schema.field(name).type
            values = decode(schema.column(name), own, words, like=kind)
            table = table.set_column(table.column_names.index(name), name, values)
        return table.replace_schema_metadata({"pramana": f"{REBUILT} Method {method}: {found.why}"})

    @classmethod
    def of(cls, release: Release) -> Published:
        """The same release with these verbs."""
        return cls(release.certificate, release.opened, release.like, release.folder)

    def verify(self, *, key: str | Path | None = None) -> Verdict:
        """Check the folder that the release was loaded from."""
        if self.folder is None:
            raise InvalidTable("Only a saved release can be verified: save it to a folder first.")
        return verify_folder(self.folder, key=key)

    def report(self, *, original: Any = None, external: bool = False) -> Any:
        """One HTML document about this release, which shows itself in a notebook.

        As ``pramana.report``. That verb stands above this room, so it is found by name when asked.
        """
        verb = import_module("pramana.api").report
        return verb(self, original=original, external=external)

    # -- from records to sums --------------------------------------------------------------

    def _sums(self, by: Sequence[str], where: Where, *, value: str | None = None) -> _Sums:
        for name in (*by, *([value] if value else [])):
            self._require(name)
        if value is not None:
            self._require_number(value)
        mechanism = self._mechanism(by)
        conditions = [self._condition(entry) for entry in _entries(where)]
        before = [c for c in conditions if c.column not in mechanism.columns]
        inside = self._kept([c for c in conditions if c.column in mechanism.columns])
        weight = self.certificate.schema.weight
        columns = _to_count(by, inside, mechanism)
        table = grouped_sums(
            self.opened,
            columns,
            value=value,
            weight=weight.name if weight else None,
            where=before,
        )
        if not table.num_rows or not sum(table.column("n").to_pylist()):
            raise InvalidTable("No released record meets the filter. Loosen it.")
        codes, labels = self._coded(table, columns)
        layout = Layout.of(by, labels=labels, mechanism=mechanism, where=inside)
        rows = (
            np.column_stack([codes[name] for name in layout.columns])
            if layout.columns
            else (np.zeros((table.num_rows, 0), dtype=np.int64))
        )
        return _Sums(layout, _moments(layout, rows, table), [c for c in by if self._randomised(c)])

    def _mechanism(self, by: Sequence[str]) -> Mechanism:
        mechanism = self.certificate.mechanism
        if mechanism is not None:
            return mechanism
        if self.certificate.kind == "groups":
            return Mechanism(())
        randomised = [name for name in by if self._randomised(name)]
        if len(randomised) > 1 or (randomised and len(by) > 1):
            raise NotCovered(
                f"The matrices of this release are withheld: {', '.join(randomised)} can be "
                "counted one column at a time only (frequencies are unbiased as they stand), and "
                "columns released as they are can be crossed freely."
            )
        return Mechanism(())

    def _unchanged(self, sums: _Sums, question: Question) -> Estimate:
        """Frequencies of a withheld matrix: unbiased as they stand, with the stated variance."""
        (name,) = sums.randomised
        errors = self.certificate.figures.get("standard_errors", {})
        if name not in errors:
            raise NotCovered(
                f"The matrix of '{name}' is withheld and no variance is stated: only the released "
                "frequencies themselves can be read."
            )
        variance = np.square(errors[name])
        return invariant_counts(sums.moments.w, sums.layout, variance=variance, question=question)

    def _randomised(self, name: str) -> bool:
        return self.certificate.schema.column(name).randomised

    def _require(self, name: str) -> None:
        names = self.opened.schema.names
        if name not in names:
            raise UnknownColumn(
                f"The release has no column '{name}': it was dropped or never there. "
                f"It has: {', '.join(names)}."
            )

    def _require_number(self, name: str) -> None:
        if self._randomised(name):
            raise NotCovered(
                f"'{name}' is randomised; means and totals are of columns released as they are. "
                f"Ask for the table of '{name}' instead."
            )
        if not is_number(self.opened.schema.field(name).type):
            raise InvalidNumber(f"'{name}' must be a column of numbers to have a mean or a total.")

    def _condition(self, entry: tuple[str, Comparison, tuple[Label, ...]]) -> Condition:
        self._require(entry[0])
        return Condition(*entry)

    def _kept(self, conditions: Sequence[Condition]) -> dict[str, tuple[Label, ...]]:
        """The labels of randomised columns that a filter keeps."""
        kept: dict[str, tuple[Label, ...]] = {}
        for condition in conditions:
            column = self.certificate.schema.column(condition.column)
            own = kept.get(column.name, column.labels)
            kept[column.name] = tuple(label for label in own if _meets(label, condition, column))
        return kept

    def _coded(
        self, table: pa.Table, columns: Sequence[str]
    ) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, tuple[Label, ...]]]:
        """Codes of the groups, and the labels of each column in their order."""
        codes: dict[str, np.ndarray[Any, Any]] = {}
        labels: dict[str, tuple[Label, ...]] = {}
        for name in columns:
            column = self.certificate.schema.column(name)
            if column.domain is not None:
                codes[name], labels[name] = (
                    encode_released(column, table.column(name)),
                    column.labels,
                )
            else:
                codes[name], labels[name] = _as_found(table.column(name))
        return codes, labels


@dataclass(frozen=True, eq=False)
class _Sums:
    layout: Layout
    moments: Moments
    randomised: list[str]


def _company(table: pa.Table, names: Sequence[str]) -> dict[str, Companion]:
    """Columns released as they are that can tell something about the randomised ones."""
    found = {name: companion_of(table.column(name)) for name in names}
    return {name: companion for name, companion in found.items() if companion is not None}


def _to_count(by: Sequence[str], inside: Mapping[str, Any], mechanism: Mechanism) -> list[str]:
    """The columns asked for, those filtered on, and those tied to them by a step or its strata."""
    columns: dict[str, None] = {}
    for name in (*by, *inside):
        columns[name] = None
        for step in mechanism:
            if name in step.columns:
                columns |= dict.fromkeys((*step.columns, *step.strata))
    return list(columns)


def _moments(layout: Layout, rows: Any, table: pa.Table) -> Moments:
    def summed(name: str) -> Any:
        if name not in table.column_names:
            return None
        return layout.table(rows, table.column(name).to_numpy())

    return Moments(*(summed(name) for name in ("n", "w", "ww", "wy", "wwy", "wwyy")))


def _as_found(column: pa.ChunkedArray) -> tuple[np.ndarray[Any, Any], tuple[Label, ...]]:
    """Codes and labels of a column without a declared domain: the values that occur, in order."""
    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    found = values.to_pylist()
    labels = sorted(set(found) - {None}) + ([None] if None in found else [])
    places = {label: place for place, label in enumerate(labels)}
    return np.array([places[value] for value in found], dtype=np.int64), tuple(labels)


def _entries(where: Where) -> list[tuple[str, Comparison, tuple[Label, ...]]]:
    """A filter in either spelling as a list of comparisons."""
    if where is None:
        return []
    if isinstance(where, Mapping):
        return [
            (name, "=", tuple(value) if isinstance(value, list | tuple | set) else (value,))
            for name, value in where.items()
        ]
    return [_parsed(text) for text in ([where] if isinstance(where, str) else where)]


def _parsed(text: str) -> tuple[str, Comparison, tuple[Label, ...]]:
    """``sex=F``, ``region=north|south``, ``income>=50000``."""
    found = [(text.find(sign), -len(sign), sign) for sign in COMPARISONS if sign in text]
    if not found or min(found)[0] == 0:
        raise InvalidNumber(
            f"A filter must read like sex=F, region=north|south or income>=50000, got {text!r}."
        )
    place, _, sign = min(found)
    values = tuple(part.strip() for part in text[place + len(sign) :].split("|"))
    return text[:place].strip(), sign, values if sign in ("=", "!=") else values[:1]


def _meets(label: Label, condition: Condition, column: Column) -> bool:
    texts = {label_text(value) for value in condition.values}
    if condition.comparison not in ("=", "!="):
        raise NotCovered(
            f"'{column.name}' is randomised: filter it by = or != and its labels "
            f"({', '.join(label_text(own) or 'missing' for own in column.labels[:4])}, ...)."
        )
    unknown = texts - {label_text(own) for own in column.labels}
    if unknown:
        raise InvalidNumber(
            f"{len(unknown)} values of the filter on '{column.name}' are none of its labels: "
            f"{', '.join(label_text(own) or 'missing' for own in column.labels[:6])}, ..."
        )
    return (label_text(label) in texts) == (condition.comparison == "=")
