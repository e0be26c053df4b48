"""What will be asked of a release, and how far its answers are from those of the original data.

A question in words is a table (``sex*age``), a mean (``income by region``) or a model
(``income ~ age + sex``, ``logistic: work ~ age``). The original data answer as a release would in
which nothing was changed, so that both numbers are made in the same way. Tables are also compared
count by count: the expected errors of a design are those of the unbiased estimate, and analysts of
a noisy release get another one by default, which is known by trial releases alone.
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

from pramana.analysis.formula_syntax import require_released
from pramana.analysis.formulas import variables_of
from pramana.analysis.question import Question
from pramana.analysis.regression import FAMILIES, Family
from pramana.analysis.release import Release
from pramana.analysis.released_records import codes_and_labels
from pramana.base.processes import side_by_side
from pramana.base.text import as_table, percent, tables_in
from pramana.base.translation import gettext, noop, numeral
from pramana.engine.base import open_source
from pramana.errors import InvalidNumber, NotCovered, Notice, PramanaError, UnknownColumn, unheard
from pramana.mechanisms.mechanism import AttributeSampler
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.choice import design
from pramana.methods.given import GivenMatrices
from pramana.methods.plan import Plan
from pramana.protecting import trial_release
from pramana.schema.codec import between, encode, encode_released
from pramana.schema.domains import Label, NumberGrid
from pramana.schema.joint_cells import cell_numbers
from pramana.schema.opened_table import OpenedTable, one_array
from pramana.schema.schema import Column, Schema
from pramana.types import Codes, FloatArray, Form, TableLike

MOST_QUESTIONS = 10
"""Two-way tables of keys that are asked for where the steward has stated none."""

MOST_CELLS = 100_000

MOST_RECORDS = 300_000
"""Larger tables are not tried: a trial release of them takes too long."""

SEED = 20
THREADS = 2
ANSWERS, MOST_DRAWS, FEW_RECORDS = 30, 10, 50_000
"""Answers that are compared with the original data at least, over tables and draws; of a table of
more records one draw is enough."""

ENOUGH = 20
"""Records of a cell or group whose relative error is stated."""

CLEAR = 2
"""Standard errors from zero of a coefficient whose relative error is stated."""

Errors: TypeAlias = Mapping[tuple[str, ...], float]
"""The error of each table: the L1 distance from the original counts, as a share of the records."""

DrawErrors: TypeAlias = Mapping[tuple[str, ...], Sequence[float]]
"""The error of each table in each trial release."""

CountedTable: TypeAlias = tuple[FloatArray, tuple[tuple[Label, ...], ...]]
"""Records by cell, and the labels of each column."""

Kind: TypeAlias = Literal["tables", "means", "models"]


# -- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answer:
    """One table: of the original data, and as an analyst of the release gets it.

    Attributes:
        columns: what is crossed.
        labels: of each column.
        original: counts of records, one axis per column.
        released: the same from the release; ``None`` where it does not answer.
        estimated: whether it was estimated, or counted at face value.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    original: FloatArray
    released: FloatArray | None
    estimated: bool = True

    @property
    def error(self) -> float:
        """The L1 distance as a share of the records; one where there is no answer.

        A cell without an estimate lacks all its records.
        """
        if self.released is None:
            return 1.0
        gaps = np.abs(np.nan_to_num(self.released) - self.original)
        return float(gaps.sum() / max(float(self.original.sum()), 1.0))

    @property
    def name(self) -> str:
        """The columns in words."""
        return " by ".join(self.columns)

    def largest(self, most: int) -> list[tuple[tuple[Label, ...], float, float | None]]:
        """The cells with most records: labels, original count, and the count by the release."""
        order = np.argsort(-self.original, axis=None, kind="stable")[:most]
        released = self.released
        return [
            (
                tuple(labels[at] for labels, at in zip(self.labels, place, strict=True)),
                float(self.original[place]),
                None if released is None or np.isnan(released[place]) else float(released[place]),
            )
            for place in zip(*np.unravel_index(order, self.original.shape), strict=True)
        ]

    def to_json(self) -> Form:
        """Values for JSON, without the cells: they are of the original data."""
        return {
            "columns": list(self.columns),
            "error": self.error,
            "how": "estimated" if self.estimated else "from the released table",
        }


def stated_tables(schema: Schema, tables: Sequence[Sequence[str]] = ()) -> list[tuple[str, ...]]:
    """The tables asked for, here or in the schema, each once; else of two keys, or of the only one.

    Tables of unchanged columns alone are exact, and no question.
    """
    released = [column.name for column in schema.released]
    for name in itertools.chain(*tables):
        if name not in released:
            raise UnknownColumn(
                "'{column}' is not released, so no table of it can be planned. Columns: "
                "{released}.",
                column=name,
                released=", ".join(released) or "none",
            )
    stated: dict[frozenset[str], tuple[str, ...]] = {}
    for table in tables or schema.tables:
        stated.setdefault(frozenset(table), tuple(table))
    if asked := [table for table in stated.values() if is_answerable(schema, table)]:
        return asked
    names = [column.name for column in schema.randomised]
    if tables:
        raise UnknownColumn(
            "A planned table must contain a key: unchanged columns can be counted directly. Keys: "
            "{names}.",
            names=", ".join(names) or "none",
        )
    alone = [(name,) for name in names]
    sizes = {column.name: len(column.labels) for column in schema.randomised if column.domain}
    pairs = [
        pair
        for pair in itertools.combinations(names, 2)
        if prod(sizes.get(name, 1) for name in pair) <= MOST_CELLS
    ]
    questions: list[tuple[str, ...]] = [*pairs] or [*alone]
    return questions[:: max(1, len(questions) // MOST_QUESTIONS)][:MOST_QUESTIONS]


def is_answerable(schema: Schema, table: Sequence[str]) -> bool:
    """Whether a table is of released columns, and some of them are randomised."""
    keys = {column.name for column in schema.randomised}
    return bool(keys & {*table}) and {*table} <= {column.name for column in schema.released}


def answer_of(
    release: Release,
    opened: OpenedTable,
    columns: Sequence[str],
    *,
    counted: dict[tuple[str, ...], CountedTable] | None = None,
) -> Answer:
    """The answer of the release to a table: estimated, or counted at face value.

    ``counted`` keeps the original tables between releases of the same data.
    """
    names = tuple(columns)
    described = [release.certificate.true_schema.column(name) for name in names]
    counted = {} if counted is None else counted
    if names not in counted:
        counted[names] = _counted(described, opened)
    original, labels = counted[names]
    try:
        table = release.reading.counts(Question(names, weighted=False), method="auto", share=False)
    except PramanaError:
        if isinstance(release.certificate.mechanism, AttributeSampler):
            return Answer(names, labels, original, None)
        return answer_at_face_value(described, release.opened, opened)
    same = table.labels == labels  # noise on a number makes other values of it
    return Answer(names, labels, original, np.asarray(table.estimate, float) if same else None)


def answer_at_face_value(
    columns: Sequence[Column], released: OpenedTable, opened: OpenedTable
) -> Answer:
    """A table of released records, counted without correction for the randomisation."""
    released_counts, released_labels = _counted(columns, released, encoder=encode_released)
    original, labels = _counted(columns, opened)
    names = tuple(column.name for column in columns)
    same = released_labels == labels
    return Answer(names, labels, original, released_counts if same else None, estimated=False)


def _counted(
    columns: Sequence[Column],
    table: OpenedTable,
    *,
    encoder: Callable[[Column, pa.ChunkedArray], Codes] = encode,
) -> CountedTable:
    """Records by cell, and the labels of each column.

    An original number on a grid counts at both points around it, by the probability of each.
    """
    codes: list[Codes] = []
    labels = []
    weights = np.ones(table.rows)
    for column in columns:
        values = table.to_arrow([column.name]).column(0)
        if isinstance(column.domain, NumberGrid) and encoder is encode:
            below, above, share = between(column, one_array(values))
            copies = len(weights) // table.rows
            codes = [np.tile(coded, 2) for coded in codes]
            codes.append(np.repeat([below, above], copies, axis=0).ravel())
            weights = (weights * np.tile([1 - share, share], copies)).ravel()
            labels.append(column.labels)
            continue
        if column.domain is not None:
            coded, names = codes_and_labels(column, values, encode=encoder)
        else:  # without a list of values each value is looked at once
            whole = one_array(values).dictionary_encode(null_encoding="encode")
            distinct, names = codes_and_labels(column, pa.chunked_array([whole.dictionary]))
            coded = distinct[whole.indices.to_numpy(zero_copy_only=False)]
        codes.append(np.tile(coded, len(weights) // table.rows))
        labels.append(names)
    sizes = [len(names) for names in labels]
    if prod(sizes) > MOST_CELLS:
        raise NotCovered("A table of {cells:,} cells is too large to compare.", cells=prod(sizes))
    numbers = cell_numbers(codes, sizes)
    counts = np.bincount(numbers, weights, minlength=prod(sizes)).reshape(sizes)
    return counts.astype(np.float64), tuple(labels)


# -- errors of tables in trial releases ------------------------------------------------------------


def trial_errors(
    plan: Plan, opened: OpenedTable, questions: Sequence[tuple[str, ...]] | None = None
) -> DrawErrors:
    """The errors of the tables that a plan answers, in each of some trial releases.

    Of the tables that the plan will be asked for, where none are named. None at all where the
    records are too many.
    """
    questions = stated_tables(plan.schema) if questions is None else questions
    asked = [table for table in questions if is_answerable(plan.schema, table)]
    errors: dict[tuple[str, ...], list[float]] = {table: [] for table in asked}
    counted: dict[tuple[str, ...], CountedTable] = {}
    if opened.rows > MOST_RECORDS:
        return {}
    try:
        with unheard(Notice):  # notices speak of a release, and none is made
            table = open_source(opened, schema=plan.schema)
            for draw in range(draws_of(opened, len(asked))):
                release = trial_release(table, plan, seed=SEED + draw)
                for columns in asked:
                    with suppress(NotCovered):  # too many cells
                        answer = answer_of(release, table, columns, counted=counted)
                        errors[columns] += [] if answer.released is None else [answer.error]
    except PramanaError:
        return {}
    return {columns: draws for columns, draws in errors.items() if draws}


def mean_errors_of(
    plans: Sequence[tuple[Plan, Sequence[tuple[str, ...]]]], opened: OpenedTable
) -> list[Errors]:
    """The mean errors of the tables of each plan, computed in worker threads."""
    with side_by_side(THREADS) as pool:
        running = [
            pool.submit(copy_context().run, trial_errors, plan, opened, tables)
            for plan, tables in plans
        ]
        return [on_average(draws.result()) for draws in running]


def on_average(errors: DrawErrors) -> Errors:
    """The mean error of each table."""
    return {columns: float(np.mean(draws)) for columns, draws in errors.items()}


def draws_of(opened: OpenedTable, tables: int) -> int:
    """How many trial releases are made of a table for the errors of this many tables."""
    if opened.rows > FEW_RECORDS:
        return 1
    return min(-(-ANSWERS // max(tables, 1)), MOST_DRAWS)


def typical(errors: Errors, tables: Iterable[tuple[str, ...]]) -> float | None:
    """The interquartile mean of the errors of these tables."""
    known = sorted(errors[table] for table in tables if table in errors)
    apart = len(known) // 4
    return float(np.mean(known[apart : len(known) - apart])) if known else None


# -- questions in words ----------------------------------------------------------------------------


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
            if not colon or "~" in family:  # the colon of an interaction
                return cls(text, "models", text)
            if family.strip() not in FAMILIES:
                raise InvalidNumber(
                    "A model is one of {families}, got '{text}'.",
                    families=", ".join(FAMILIES),
                    text=text,
                )
            return cls(text, "models", formula.strip(), family=cast(Family, family.strip()))
        of, by, groups = text.partition(" by ")
        names = tuple(name for table in tables_in(groups if by else of) for name in table)
        if not names or not all(names):
            raise InvalidNumber(
                "'{text}' is no planned analysis: write a table as sex*age, a mean as income by "
                "region, a model as income ~ age + sex.",
                text=text,
            )
        return cls(text, "means", of.strip(), names) if by else cls(text, "tables", by=names)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the question."""
        if self.kind == "models":
            return variables_of(self.of)
        return tuple(dict.fromkeys((*self.by, *([self.of] if self.of else []))))

    @property
    def response(self) -> tuple[str, ...]:
        """The column of a mean, or the left side of a model where it is a column."""
        left = self.of.partition("~")[0].strip()
        return (left,) if left and self.kind != "tables" else ()

    def loss_of(self, release: Release, exact: Release) -> QuestionLoss:
        """The distance of the release's answer from the exact one; 1 where it has none."""
        exact_answer = self._answer(exact)
        try:
            answer = self._answer(release)
        except PramanaError as error:
            return QuestionLoss(self.text, self.kind, 1.0, answered=False, reason=str(error))
        nothing = np.zeros(0)
        loss, estimate, original = 1.0, nothing, nothing
        if self.kind == "models":
            if answer.names == exact_answer.names:
                loss, estimate, original = _model_loss(answer, exact_answer)
        elif answer.labels == exact_answer.labels:
            loss, estimate, original = self._cell_loss(answer, exact_answer, exact)
        people = exact.opened.rows if self.kind == "tables" else 1  # of shares to counts
        errors = np.nan_to_num(np.abs(estimate / original - 1), nan=1.0)
        gaps = people * np.abs(original) * errors
        return QuestionLoss(
            self.text,
            self.kind,
            min(float(np.nan_to_num(loss, nan=1.0)), 1.0),
            answered=True,
            median=float(np.median(errors)) if len(errors) else None,
            worst=float(errors.max()) if len(errors) else None,
            off=float(np.median(gaps)) if len(gaps) else None,
            off_most=float(gaps.max()) if len(gaps) else None,
        )

    def _answer(self, release: Release) -> Any:
        if self.kind == "tables":
            return release.crosstab(*self.by, share=True, weighted=False)
        if self.kind == "means":
            return release.mean(self.of, by=self.by, weighted=False)
        return release.regress(self.of, family=self.family, weighted=False)

    def _cell_loss(
        self, answer: Any, exact_answer: Any, exact: Release
    ) -> tuple[float, FloatArray, FloatArray]:
        """The loss of a table or of means; estimates and originals of cells with enough records."""
        estimate, original = np.asarray(answer.estimate), np.asarray(exact_answer.estimate)
        shares = np.asarray(exact.crosstab(*self.by, share=True, weighted=False).estimate)
        gaps = np.abs(estimate - original)
        if self.kind == "tables":  # a cell without an estimate lacks all its records
            loss = float(np.where(np.isnan(gaps), 2 * original, gaps).sum()) / 2
        else:
            values = exact.opened.to_arrow([self.of]).column(0).cast(pa.float64(), safe=False)
            numbers: FloatArray = values.to_numpy(zero_copy_only=False)
            spread = float(np.nanmean(np.abs(numbers - np.nanmean(numbers)))) or 1.0
            loss = float((shares * np.minimum(np.nan_to_num(gaps / spread, nan=1.0), 1.0)).sum())
        shown = (shares * exact.opened.rows >= ENOUGH) & (original != 0)
        return loss, estimate[shown], original[shown]


def _model_loss(answer: Any, exact: Any) -> tuple[float, FloatArray, FloatArray]:
    """The loss of a model; estimates and originals of the coefficients that are clear of zero."""
    scale = np.where(exact.se > 0, exact.se, np.inf)
    gaps = np.abs(answer.coefficients - exact.coefficients) / scale
    loss = float(gaps.sum() / max((np.abs(exact.coefficients) / scale).sum(), 1e-300))
    shown = np.abs(exact.coefficients) > CLEAR * exact.se
    return loss, answer.coefficients[shown], exact.coefficients[shown]


@dataclass(frozen=True)
class QuestionLoss:
    """The loss of a release for one question.

    Attributes:
        text: the question.
        kind: of what.
        loss: of a table the share of records in the wrong cell; of means the error as a share of
            the column's mean absolute deviation; of a model the error of the coefficients as a
            share of their size, both in standard errors of the original data.
        answered: whether the release answers at all; where not, all is lost.
        reason: why it does not answer.
        median: the median relative error of the cells, groups or coefficients, without those of few
            records or within their own error.
        worst: the largest one of them.
        off: the median error of the same in the unit of the question: people, the unit of the
            column, or that of the coefficient.
        off_most: the largest one of them.
    """

    text: str
    kind: Kind
    loss: float
    answered: bool
    reason: str = ""
    median: float | None = None
    worst: float | None = None
    off: float | None = None
    off_most: float | None = None

    @classmethod
    def mean_of(cls, draws: Sequence[QuestionLoss]) -> QuestionLoss:
        """The loss of one question on average over several releases."""

        def mean_of(name: str) -> float | None:
            values = [value for draw in draws if (value := getattr(draw, name)) is not None]
            return float(np.mean(values)) if values else None

        return replace(
            draws[0],
            loss=float(np.mean([draw.loss for draw in draws])),
            answered=all(draw.answered for draw in draws),
            median=mean_of("median"),
            worst=mean_of("worst"),
            off=mean_of("off"),
            off_most=mean_of("off_most"),
        )

    @property
    def words(self) -> str:
        """The error in the terms of the question."""
        if self.median is None or self.worst is None:
            return gettext(
                "{question}: {share} lost", question=self.text, share=numeral(percent(self.loss, 2))
            )
        words = noop("{question}: median error {share}, worst coefficient {worst}")
        if self.kind == "tables":
            words = noop("{question}: median error {share}, worst cell {worst}")
        elif self.kind == "means":
            words = noop("{question}: median error {share}, worst group {worst}")
        share, worst = numeral(percent(self.median, 2)), numeral(percent(self.worst, 2))
        return gettext(words, question=self.text, share=share, worst=worst)

    @property
    def in_its_unit(self) -> str:
        """The error in the unit of the question.

        >>> QuestionLoss("sex", "tables", 0.1, True, median=0.1, off=27.4, off_most=680).in_its_unit
        'median error 27.4 people (10 %), at most 680'
        """
        if self.off is None or self.off_most is None or self.median is None:
            return gettext("{share} lost", share=numeral(percent(self.loss, 2)))
        off, most = (
            numeral(f"{n:,.0f}" if n >= 100 else f"{n:.3g}") for n in (self.off, self.off_most)
        )
        words = noop("median error {off} ({share}), at most {most}")
        if self.kind == "tables":
            words = noop("median error {off} people ({share}), at most {most}")
        return gettext(words, off=off, share=numeral(percent(self.median, 2)), most=most)

    def to_json(self) -> Form:
        """Values for JSON; a reason only where there is one."""
        return {name: value for name, value in vars(self).items() if name != "reason" or value}


def questions_of(texts: Sequence[str], schema: Schema) -> tuple[StatedQuestion, ...]:
    """Those that were stated, else the tables of the schema; of columns that are released."""
    stated = texts or [as_table(table, marks="*,") for table in schema.tables]
    questions = tuple(map(StatedQuestion.of_text, stated))
    released = [column.name for column in schema.released]
    for question in questions:
        require_released(question.text, question.columns, released)
    return questions


def exact_release(schema: Schema, table: TableLike) -> Release:
    """A release in which every value stays what it is: its answers are those of the original."""
    bare = replace(schema, impossible=(), strata=(), tables=(), household=None)
    stays = {
        column.name: UniformMixture.of(column.labels, retention=1.0) for column in bare.randomised
    }
    with unheard(Warning):  # nothing is guaranteed, and nothing is published
        plan = design(bare, data=table, method=GivenMatrices(stays))
        return trial_release(table, plan, seed=SEED)
