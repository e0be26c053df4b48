"""What a release answers to the steward's own questions, with the original data next to it.

What a steward says will be asked, put to a release and to the original data.

A text is a table (``sex*age``), a mean (``income by region``) or a model (``income ~ age + sex``,
``logistic: work ~ age``). The original data answer as a release would in which nothing was
changed, so that both numbers are made in the same way.

What tables are off by in releases that are made to see, and thrown away.

The errors that a design foresees are those of the unbiased estimate. Where noise is strong analysts
get another by default, which is off by far less: how far can only be seen by trying.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa

from pramana.analysis.counts import SMALL_ERROR
from pramana.analysis.formulas import variables_of
from pramana.analysis.question import Question
from pramana.analysis.records import codes_and_labels
from pramana.analysis.regression import FAMILIES, Family
from pramana.analysis.release import Release
from pramana.base.processes import side_by_side
from pramana.base.text import as_table, percent, tables_in
from pramana.engine.base import open_source
from pramana.errors import InvalidNumber, NotCovered, Notice, PramanaError, UnknownColumn, unheard
from pramana.mechanisms.mechanism import AttributeSampler
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.base import Method
from pramana.methods.given import GivenMatrices
from pramana.methods.plan import Plan
from pramana.protecting import trial_release
from pramana.schema.codec import encode, encode_released
from pramana.schema.domains import Label
from pramana.schema.joint_cells import cell_counts
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema
from pramana.types import Codes, FloatArray, Form

MOST_QUESTIONS = 10
"""This many two-way tables of keys are looked at where the steward has stated none."""

MOST_CELLS = 100_000

ENOUGH = 20
"""Records of a cell or group whose relative error is stated."""

CLEAR = 2
"""Standard errors from zero of a coefficient whose relative error is stated."""

CountedTable: TypeAlias = tuple[FloatArray, tuple[tuple[Label, ...], ...]]
"""A table of the original data: records by cell, and the labels of each column."""

Encode: TypeAlias = Callable[[Column, pa.ChunkedArray], Codes]
"""How values become codes: those of the original data, or released ones."""


@dataclass(frozen=True, eq=False)
class Answer:
    """One table: in truth, and as an analyst of the release gets it.

    Attributes:
        columns: what is crossed.
        labels: of each column.
        truth: counts of records, one axis a column.
        found: the same from the release; ``None`` where it does not answer.
        estimated: whether the release was undone for it, or counted as it stands.
        unbiased: its unbiased counts, where others are told.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    truth: FloatArray
    found: FloatArray | None
    estimated: bool = True
    unbiased: FloatArray | None = None

    @property
    def unbiased_error(self) -> float:
        """The same of the unbiased estimate."""
        return replace(self, found=self.found if self.unbiased is None else self.unbiased).error

    @property
    def error(self) -> float:
        """Sum of all that cells are off by, as a share of the records; one where none is told.

        Cells that no record tells of, as a group of few where chance asked nobody, lack all theirs.
        """
        if self.found is None:
            return 1.0
        gaps = np.abs(np.nan_to_num(self.found) - self.truth)
        return float(gaps.sum() / max(float(self.truth.sum()), 1.0))

    @property
    def name(self) -> str:
        """The columns in words."""
        return " by ".join(self.columns)

    def largest(self, most: int) -> list[tuple[tuple[Label, ...], float, float | None]]:
        """The cells with most records: labels, truth, and what the release says."""
        order = np.argsort(-self.truth, axis=None, kind="stable")[:most]
        places, found = np.unravel_index(order, self.truth.shape), self.found
        return [
            (
                tuple(own[at] for own, at in zip(self.labels, place, strict=True)),
                float(self.truth[place]),
                None if found is None or np.isnan(found[place]) else float(found[place]),
            )
            for place in zip(*places, strict=True)
        ]

    def to_json(self) -> Form:
        """Values for JSON, without the cells: they are of the original data."""
        return {
            "columns": list(self.columns),
            "error": self.error,
            "how": "estimated" if self.estimated else "as it stands",
        }


def stated_tables(schema: Schema, tables: Sequence[Sequence[str]] = ()) -> list[tuple[str, ...]]:
    """The tables asked for, here or in the schema, each once; else of two keys, or of the only one.

    Tables of columns that are released unchanged alone are exact, and no question.
    """
    released = [column.name for column in schema.released]
    for name in (name for table in tables for name in table):
        if name not in released:
            raise UnknownColumn(
                f"Tables of advice are of columns that are released, and '{name}' is none. "
                f"Columns: {', '.join(released) or 'none'}.",
                column=name,
            )
    stated: dict[frozenset[str], tuple[str, ...]] = {}
    for table in tables or schema.tables:
        stated.setdefault(frozenset(table), tuple(table))
    if asked := [table for table in stated.values() if is_answerable(schema, table)]:
        return asked
    if tables:
        raise UnknownColumn(
            "Tables of advice must hold a key: what is released as it is can be counted. Keys: "
            f"{', '.join(column.name for column in schema.randomised) or 'none'}."
        )
    names = [column.name for column in schema.randomised]
    if len(names) < 2:
        return [(name,) for name in names]
    sizes = {column.name: len(column.labels) for column in schema.randomised if column.domain}
    pairs: list[tuple[str, ...]] = [
        (one, other)
        for one, other in itertools.combinations(names, 2)
        if sizes.get(one, 1) * sizes.get(other, 1) <= MOST_CELLS
    ] or [(name,) for name in names]
    step = max(1, len(pairs) // MOST_QUESTIONS)
    return pairs[::step][:MOST_QUESTIONS]


def is_answerable(schema: Schema, table: Sequence[str]) -> bool:
    """Whether a table is of released columns, and some of them are randomised."""
    keys = {column.name for column in schema.randomised}
    return bool(keys & {*table}) and {*table} <= {column.name for column in schema.released}


def answer_of(
    release: Release,
    truth: OpenedTable,
    columns: Sequence[str],
    *,
    counted: dict[tuple[str, ...], CountedTable] | None = None,
) -> Answer:
    """What the release says to a table: by its own estimate, or as its records stand.

    Who asks several releases of one truth keeps in ``counted`` what was counted there.
    """
    own = [release.certificate.true_schema.column(name) for name in columns]
    counted = {} if counted is None else counted
    if tuple(columns) not in counted:
        counted[tuple(columns)] = _counted(own, truth)
    told, labels = counted[tuple(columns)]
    try:
        asked = Question(tuple(columns), weighted=False)
        found = release.reading.counts(asked, method="auto", share=False)
        same = found.labels == labels  # noise on a number makes other values of it
        estimate = np.asarray(found.estimate, dtype=np.float64) if same else None
        return Answer(tuple(columns), labels, told, estimate, unbiased=found.unbiased)
    except PramanaError:
        if isinstance(release.certificate.mechanism, AttributeSampler):
            return Answer(tuple(columns), labels, told, None)
    return answer_at_face_value(own, release.opened, truth)


def answer_at_face_value(
    columns: Sequence[Column], released: OpenedTable, truth: OpenedTable
) -> Answer:
    """A table of released records, counted without undoing anything."""
    counted, found = _counted(columns, released, encode=encode_released)
    told, labels = _counted(columns, truth)
    names = tuple(column.name for column in columns)
    return Answer(names, labels, told, counted if found == labels else None, estimated=False)


def _counted(
    columns: Sequence[Column], table: OpenedTable, *, encode: Encode = encode
) -> CountedTable:
    """Records by cell, and the labels of each column."""
    parts = [_coded(column, table.to_arrow([column.name]).column(0), encode) for column in columns]
    labels = tuple(own for _, own in parts)
    sizes = [len(label) for label in labels]
    if prod(sizes) > MOST_CELLS:
        raise NotCovered(f"A table of {prod(sizes):,} cells is not looked at.")
    return cell_counts([codes for codes, _ in parts], sizes), labels


def _coded(
    column: Column, values: pa.ChunkedArray, encode: Encode
) -> tuple[Codes, tuple[Label, ...]]:
    """As tables have them; of a column without a list of values each value is looked at once."""
    if column.domain is not None:
        return codes_and_labels(column, values, encode=encode)
    whole = values.combine_chunks()
    whole = whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
    whole = whole.dictionary_encode(null_encoding="encode")
    codes, labels = codes_and_labels(column, pa.chunked_array([whole.dictionary]))
    return codes[whole.indices.to_numpy(zero_copy_only=False)], labels


Kind: TypeAlias = Literal["tables", "means", "models"]
Made: TypeAlias = Callable[[Schema, Method], Release]
"""Designs and makes a release of the original data."""


@dataclass(frozen=True)
class StatedQuestion:
    """One question.

    Attributes:
        text: as the steward wrote it.
        kind: of what.
        of: the column of a mean, or the formula of a model.
        by: the columns of a table, or the groups of a mean.
        family: of a model.
    """

    text: str
    kind: Kind
    of: str = ""
    by: tuple[str, ...] = ()
    family: Family = "linear"

    @classmethod
    def of_text(cls, text: str) -> StatedQuestion:
        """Read as it is written.

        >>> StatedQuestion.of_text("income by region*sex").by
        ('region', 'sex')
        """
        if "~" in text:
            family, colon, formula = text.partition(":")
            if not colon:
                return cls(text, "models", text)
            if family.strip() not in FAMILIES:
                raise InvalidNumber(f"A model is one of {', '.join(FAMILIES)}, got '{text}'.")
            return cls(text, "models", formula.strip(), family=cast(Family, family.strip()))
        of, by, groups = text.partition(" by ")
        names = tuple(name for table in tables_in(groups if by else of) for name in table)
        if not names or not all(names):
            raise InvalidNumber(
                f"'{text}' is no question: ask for a table as sex*age, a mean as income by region, "
                "a model as income ~ age + sex."
            )
        return cls(text, "means", of.strip(), names) if by else cls(text, "tables", by=names)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns whose joint values the answer hangs on."""
        if self.kind == "models":
            return variables_of(self.of)
        return tuple(dict.fromkeys((*self.by, *([self.of] if self.of else []))))

    @property
    def response(self) -> tuple[str, ...]:
        """The column of a mean, or the left side of a model where it is a column."""
        left = self.of.partition("~")[0].strip()
        return (left,) if left and self.kind != "tables" else ()

    def lost(self, release: Release, exact: Release) -> QuestionLoss:
        """How far the answer of the release is from the exact one; 1 where it has none."""
        truth = self._answer(exact)
        try:
            found = self._answer(release)
        except PramanaError as error:
            return QuestionLoss(self.text, self.kind, 1.0, answered=False, reason=str(error))
        loss = float(np.nan_to_num(self._apart(found, truth, exact), nan=1.0))
        errors = self._relative_errors(found, truth, exact)
        return QuestionLoss(
            self.text,
            self.kind,
            min(loss, 1.0),
            answered=True,
            median=float(np.median(errors)) if len(errors) else None,
            worst=float(errors.max()) if len(errors) else None,
        )

    def _answer(self, release: Release) -> Any:
        if self.kind == "tables":
            return release.crosstab(*self.by, share=True, weighted=False)
        if self.kind == "means":
            return release.mean(self.of, by=self.by, weighted=False)
        return release.regress(self.of, family=self.family, weighted=False)

    def _relative_errors(self, found: Any, truth: Any, exact: Release) -> FloatArray:
        """How far each cell, group or coefficient is off, as a share of what it is.

        Cells and groups of few records, and coefficients within their own error, are left out.
        """
        if self.kind == "models":
            estimates, exactly = found.coefficients, truth.coefficients
            comparable = found.names == truth.names
            shown = np.abs(exactly) > CLEAR * truth.se
        else:
            estimates, exactly = np.asarray(found.estimate), np.asarray(truth.estimate)
            people = exact.crosstab(*self.by, share=True, weighted=False).estimate
            comparable = found.labels == truth.labels
            shown = (np.asarray(people) * exact.opened.rows >= ENOUGH) & (exactly != 0)
        if not comparable or not shown.any():
            return np.zeros(0)
        errors: FloatArray = np.abs(estimates[shown] / exactly[shown] - 1)
        return np.nan_to_num(errors, nan=1.0)

    def _apart(self, found: Any, truth: Any, exact: Release) -> float:
        if self.kind == "models":
            if found.names != truth.names:
                return 1.0
            scale = np.where(truth.se > 0, truth.se, np.inf)
            off = np.abs(found.coefficients - truth.coefficients) / scale
            return float(off.sum() / max((np.abs(truth.coefficients) / scale).sum(), 1e-300))
        if found.labels != truth.labels:
            return 1.0
        off = np.abs(np.asarray(found.estimate) - np.asarray(truth.estimate))
        if self.kind == "tables":  # of a cell that nothing is told of, all its records are lost
            return float(np.where(np.isnan(off), 2 * np.asarray(truth.estimate), off).sum()) / 2
        weight = np.asarray(exact.crosstab(*self.by, share=True, weighted=False).estimate)
        values = exact.opened.to_arrow([self.of]).column(0).cast(pa.float64(), safe=False)
        numbers: FloatArray = values.to_numpy(zero_copy_only=False)
        spread = float(np.nanmean(np.abs(numbers - np.nanmean(numbers)))) or 1.0
        share = np.minimum(np.nan_to_num(off / spread, nan=1.0), 1.0)
        return float((weight * share).sum())


@dataclass(frozen=True)
class QuestionLoss:
    """What a release loses of the answer to one question.

    Attributes:
        text: the question.
        kind: of what.
        loss: of a table the share of records in the wrong cell; of means how far they are off, as
            a share of the column's mean distance from its mean; of a model how far coefficients are
            off, as a share of their size, both in standard errors of the original data.
        answered: whether the release answers at all; where not, all is lost.
        reason: why it does not answer.
        median: the relative error in the middle of the cells, groups or coefficients; cells and
            groups of few records and coefficients within their own error are left out.
        worst: the largest one of them.
    """

    text: str
    kind: Kind
    loss: float
    answered: bool
    reason: str = ""
    median: float | None = None
    worst: float | None = None

    @classmethod
    def mean_of(cls, draws: Sequence[QuestionLoss]) -> QuestionLoss:
        """What is lost of one question on average over several releases."""
        medians = [one.median for one in draws if one.median is not None]
        worst = [one.worst for one in draws if one.worst is not None]
        return replace(
            draws[0],
            loss=float(np.mean([one.loss for one in draws])),
            answered=all(one.answered for one in draws),
            median=float(np.mean(medians)) if medians else None,
            worst=float(np.mean(worst)) if worst else None,
        )

    @property
    def words(self) -> str:
        """The error in the terms of the question."""
        if self.median is None or self.worst is None:
            return f"{self.text}: {percent(self.loss, 2)} lost"
        part = {"tables": "cell", "means": "group", "models": "coefficient"}[self.kind]
        return (
            f"{self.text}: median error {percent(self.median, 2)}, worst {part} "
            f"{percent(self.worst, 2)}"
        )

    def to_json(self) -> Form:
        """Values for JSON."""
        form = dict(vars(self))
        return (
            form if self.reason else {name: own for name, own in form.items() if name != "reason"}
        )


def questions_of(texts: Sequence[str], schema: Schema) -> tuple[StatedQuestion, ...]:
    """Those that were stated, else the tables of the schema; of columns that are released."""
    stated = texts or [as_table(table, marks="*,") for table in schema.tables]
    found = tuple(map(StatedQuestion.of_text, stated))
    released = [column.name for column in schema.released]
    for own in found:
        for name in own.columns:
            if name not in released:
                raise UnknownColumn(
                    f"'{own.text}' asks for '{name}', which is not released. Columns: "
                    f"{', '.join(released)}."
                )
    return found


def as_it_is(schema: Schema, made: Made) -> Release:
    """A release in which every value stays what it is: what the original data answer."""
    plain = replace(schema, impossible=(), strata=(), tables=(), household=None)
    stays = {
        column.name: UniformMixture.of(column.labels, retention=1.0) for column in plain.randomised
    }
    return made(plain, GivenMatrices(stays))


def losses_of(
    release: Release, exact: Release | None, questions: Sequence[StatedQuestion]
) -> tuple[QuestionLoss, ...]:
    """Each question asked twice."""
    return () if exact is None else tuple(question.lost(release, exact) for question in questions)


MOST_RECORDS = 300_000
"""Larger tables are not tried: a release of them takes too long to be thrown away."""

SEED = 20
THREADS = 2
ANSWERS = 30
"""This many answers at least are compared with the original data: chance evens out over tables and
draws."""

MOST_DRAWS = 10
FEW = 50_000
"""Above this many records one release tells enough: chance decides less over tables of many."""

SURELY = SMALL_ERROR / 2
"""Up to this expected error analysts get the unbiased estimate in any release."""

Errors: TypeAlias = Mapping[tuple[str, ...], float]
"""What each table is off by, as a share of the records."""

Seen: TypeAlias = Mapping[tuple[str, ...], Sequence[float]]
"""What each table was off by in each release that was made to see."""


def tried(plan: Plan, opened: OpenedTable) -> Errors:
    """The errors of the tables that a plan will be asked for, on average."""
    return on_average(seen(plan, opened))


def seen(plan: Plan, opened: OpenedTable) -> Seen:
    """What the tables that a plan will be asked for were off by, release by release."""
    return _all_seen([(plan, stated_tables(plan.schema))], opened)[0]


def trial_errors(
    plans: Sequence[tuple[Plan, Sequence[tuple[str, ...]]]], opened: OpenedTable
) -> list[Errors]:
    """Of each plan, the errors of the tables next to it, on average.

    No table is in it that a plan cannot answer; none at all where the records are too many.
    """
    return [on_average(own) for own in _all_seen(plans, opened)]


def on_average(found: Seen) -> Errors:
    """What each table was off by on average over the releases."""
    return {columns: float(np.mean(own)) for columns, own in found.items()}


def _all_seen(
    plans: Sequence[tuple[Plan, Sequence[tuple[str, ...]]]], opened: OpenedTable
) -> list[Seen]:
    if opened.rows > MOST_RECORDS:
        return [{} for _ in plans]
    # Notices speak of a release, and none is made.
    with unheard(Notice), side_by_side(THREADS) as pool:
        running = [
            pool.submit(copy_context().run, _seen, plan, opened, asked) for plan, asked in plans
        ]
        return [one.result() for one in running]


def draws_of(opened: OpenedTable, tables: int) -> int:
    """How many releases are made of a table to see what this many tables are off by."""
    return 1 if opened.rows > FEW else min(-(-ANSWERS // max(tables, 1)), MOST_DRAWS)


def default_errors(plan: Plan, opened: OpenedTable, unbiased: Errors) -> Errors:
    """What tables are off by on average as analysts get them, whose unbiased estimates are so.

    One release is off by more than another in both ways: how the two compare is known after a few.
    """
    if opened.rows > MOST_RECORDS or max(unbiased.values(), default=0.0) <= SURELY:
        return unbiased
    sums = {table: np.full(2, 1e-300) for table in unbiased}
    counted: dict[tuple[str, ...], CountedTable] = {}
    with unheard(Notice):
        truth = open_source(opened, schema=plan.schema)
        for draw in range(draws_of(opened, 1)):
            release = trial_release(truth, plan, seed=SEED + draw)
            for table, own in sums.items():
                answer = answer_of(release, truth, table, counted=counted)
                own += (answer.error, answer.unbiased_error)
    return {table: error * sums[table][0] / sums[table][1] for table, error in unbiased.items()}


def typical(errors: Errors, tables: Iterable[tuple[str, ...]]) -> float | None:
    """The error of a table in the middle of these: the mean without the best and worst quarter."""
    found = sorted(errors[table] for table in tables if table in errors)
    apart = len(found) // 4
    return float(np.mean(found[apart : len(found) - apart])) if found else None


def errors_of(plan: Plan, opened: OpenedTable, questions: Sequence[tuple[str, ...]]) -> Errors:
    """What the tables are off by that the plan answers; chance evens out over several releases."""
    return on_average(_seen(plan, opened, questions))


def _seen(plan: Plan, opened: OpenedTable, questions: Sequence[tuple[str, ...]]) -> Seen:
    """What the tables that the plan answers are off by in each of some releases."""
    asked = [table for table in questions if is_answerable(plan.schema, table)]
    enough = draws_of(opened, len(asked))
    found: dict[tuple[str, ...], list[float]] = {table: [] for table in asked}
    counted: dict[tuple[str, ...], CountedTable] = {}
    try:
        table = open_source(opened, schema=plan.schema)
        for draw in range(enough):
            release = trial_release(table, plan, seed=SEED + draw)
            for columns in asked:
                with suppress(NotCovered):  # of too many cells to be looked at
                    answer = answer_of(release, table, columns, counted=counted)
                    found[columns] += [] if answer.found is None else [answer.error]
    except PramanaError:
        return {}
    return {columns: own for columns, own in found.items() if own}
