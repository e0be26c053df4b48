"""The estimators of each kind of release, and the released records as they need them.

There is one reading for each kind of release. It answers every verb: with a number and its error,
with a number and the reason why it has no error, or with a refusal that says what to do instead. A
kind of release has one name, in ``KINDS`` of release/kinds.py and here in ``READINGS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa

from pramana.analysis.association import IndependenceTest
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import CountMethod, Question, meets
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.synthesis import SynthesisMethod
from pramana.analysis.variance import JointErrors
from pramana.base.randomness import Keystream
from pramana.base.registry import Registry
from pramana.engine.base import Condition, SumsAsked, grouped_sums, sum_name, sums_in
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism, ShuffledRounds, stated_sets
from pramana.mechanisms.transition import Label
from pramana.release.certificate import Certificate
from pramana.schema.codec import encode_released
from pramana.schema.joint_cells import cell_numbers
from pramana.schema.opened_table import OpenedTable, is_number, is_whole, one_array
from pramana.schema.schema import COUNT, Column
from pramana.types import Codes, FloatArray


class Reading(Protocol):
    """The answers of one kind of release; made from its records."""

    unbiased: ClassVar[CountMethod]
    """The method of unbiased counts."""

    def __init__(self, records: ReleasedRecords) -> None:
        """A reading of these records."""

    @property
    def records(self) -> ReleasedRecords:
        """The released records."""

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """Counts, or shares, of the original table."""

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Means, or totals, of a column in the cells of the original table."""

    def totals_and_counts(self, question: Question, of: str) -> JointErrors:
        """Totals of an unchanged column and counts, on a last axis, and how they err together."""

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Quantiles of a column in the cells of the original table."""

    def independence(self, question: Question) -> IndependenceTest:
        """Whether the two columns of the original table are independent."""

    def synthesize(
        self, keystream: Keystream, *, method: SynthesisMethod, redraw: bool = False
    ) -> pa.Table:
        """Synthetic records; with ``redraw`` the parameters of their model are drawn as well."""

    def channel(self) -> Mechanism:
        """The steps that a learner which draws original records has to undo."""

    def regress(self, question: Question, formula: str, *, family: Family) -> Regression:
        """Coefficients of a model of the original records."""


READINGS: Registry[type[Reading]] = Registry(
    "pramana.readings",
    {
        "published": "pramana.analysis.readings:PublishedReading",
        "withheld": "pramana.analysis.readings:WithheldReading",
        "groups": "pramana.analysis.microaggregated:GroupsReading",
        "attribute-sampling": "pramana.analysis.attribute_sampling:AttributeSamplingReading",
        "shuffled-marginals": "pramana.analysis.shuffled_marginals:ShuffledMarginalsReading",
        "sealed": "pramana.analysis.readings:SealedReading",
    },
)
"""Readings by the kind of release."""


def reading_of(records: ReleasedRecords) -> Reading:
    """The one that the kind of the release names."""
    return READINGS[records.certificate.kind](records)


T = TypeVar("T", bound=Sized)


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """One row per cell with its sums, the codes of its columns, and the axes."""

    table: pa.Table
    codes: dict[str, Codes]
    layout: Layout


@dataclass(frozen=True)
class ReleasedRecords:
    """The records of a release and its certificate.

    Attributes:
        certificate: The certificate.
        opened: The released records.
        weigh_by: A column of replicate weights that takes the place of the weight.
        margins: Published totals by column and value, to which estimates are calibrated and
            synthetic records are raked.
    """

    certificate: Certificate
    opened: OpenedTable
    weigh_by: str | None = None
    margins: Mapping[str, Mapping[Label, Any]] | None = field(default=None, compare=False)

    @property
    def weight(self) -> str | None:
        """The column of weights, where there is one."""
        weight = self.certificate.schema.weight
        return self.weigh_by or (None if weight is None else weight.name)

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}

    def summed(self, wanted: SumsAsked) -> pa.Table:
        """Sums over the records."""
        if self.certificate.nature.counted and wanted.weight != COUNT:
            table = self.summed(replace(wanted, weight=COUNT))
            for name in ("n", "ww"):  # a row represents as many answers as it counts
                place = table.column_names.index(sum_name(name))
                table = table.set_column(place, sum_name(name), table.column(sum_name("w")))
            return table
        # By repr, as the text 1 and the number 1 are not the same question.
        return self.once(repr(wanted), lambda: grouped_sums(self.opened, wanted))

    @cached_property
    def rounds(self) -> dict[str, FloatArray]:
        """The counts of each round, one axis per column, of a release that holds counts."""
        mechanism, schema = self.certificate.mechanism, self.certificate.schema
        assert isinstance(mechanism, ShuffledRounds)  # noqa: S101 - the kind says so
        table = self.opened.to_arrow()
        sets, counts = stated_sets(mechanism, table), table.column(COUNT).to_numpy()
        tables = {}
        for place, one in enumerate(mechanism.sets):
            rows = np.flatnonzero(sets == place)
            answers = table.select(one.columns).take(rows)
            columns = [schema.column(name) for name in one.columns]
            codes = [encode_released(column, answers.column(column.name)) for column in columns]
            shape = [len(column.labels) for column in columns]
            flat = np.bincount(cell_numbers(codes, shape), counts[rows], prod(shape))
            tables[one.name] = flat.astype(np.float64).reshape(shape)
        return tables

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Compute what several questions need of a table in memory once; nobody changes it.

        Up to 128 answers of 4,096 rows are kept.
        """
        if self.opened.files or self.opened.format != "frame":
            return make()
        if key in self._kept:
            return cast("T", self._kept[key])
        made = make()
        if len(made) <= 4096 and len(self._kept) < 128:
            self._kept[key] = made
        return made

    def changed(self, names: Collection[str]) -> list[str]:
        """The given columns that were not released unchanged."""
        for name in names:
            self.require(name)
        return [
            name for name in dict.fromkeys(names) if self.certificate.schema.column(name).randomised
        ]

    def require(self, name: str) -> None:
        """Refuse a column that the release does not have."""
        names = self.opened.schema.names
        if name not in names:
            raise UnknownColumn(
                "The release has no column '{column}': it was dropped or never there. It has: "
                "{names}.",
                column=name,
                names=", ".join(names),
            )

    def noise(self, name: str) -> float:
        """The variance of what was added to each value of a column; 0 where nothing was."""
        noise = self.certificate.schema.column(name).recoding.noise
        whole = is_whole(self.opened.schema.field(name).type)
        return 0.0 if noise is None else noise.spread(whole=whole)

    def require_without_noise(self, names: Collection[str]) -> None:
        """Refuse groups, filters and predictors by numbers with noise."""
        for name in names:
            if name in self.opened.schema.names and self.certificate.schema.column(name).noisy:
                raise NotCovered(
                    "'{column}' is released with noise: it cannot group, filter or predict. Ask "
                    "for its mean or total, or take it as the outcome.",
                    column=name,
                )

    def require_number(self, name: str) -> None:
        """Refuse a column that is not of numbers."""
        self.require(name)
        if not is_number(self.opened.schema.field(name).type):
            raise InvalidNumber(
                "'{column}' must be a column of numbers to have a mean or a total.", column=name
            )

    def range_of(self, name: str) -> tuple[float, float]:
        """The smallest and the largest released value of a column of numbers."""

        def made() -> tuple[float, float]:
            missing = self.certificate.schema.column(name).labels_for_missing
            gone = [code for code in missing if isinstance(code, int | float)]
            least, most = math.inf, -math.inf
            for batch in self.opened.batches([name]):
                values = np.asarray(batch.column(0).cast(pa.float64(), safe=False).drop_null())
                values = values[np.isfinite(values) & ~np.isin(values, gone)]
                if len(values):
                    least, most = min(least, values.min()), max(most, values.max())
            return float(least), float(most)

        return self.once(f"range of {name!r}", made)

    def with_values(
        self, where: Sequence[Condition], names: Sequence[str | None]
    ) -> tuple[Condition, ...]:
        """A filter that also excludes records without a value in columns taken as numbers.

        They are those named, and those that the filter compares with a number. A missing code is no
        value.
        """
        compared = [c.column for c in where if c.comparison not in ("=", "!=")]
        more = []
        for name in dict.fromkeys((*names, *compared)):
            if name is None:
                continue
            self.require(name)
            column = self.certificate.schema.column(name)
            number = is_number(self.opened.schema.field(name).type)
            missing = column.labels_for_missing
            gone = tuple(label for label in missing if not number or isinstance(label, int | float))
            if gone and not column.randomised:
                more.append(Condition(name, "!=", gone))
        return (*where, *more)

    def cells(
        self,
        question: Question,
        mechanism: Mechanism,
        *,
        value: str | None = None,
        also: Sequence[str] = (),
    ) -> ReleasedCells:
        """Sums over the records, by the cells that must be distinguished to undo ``mechanism``.

        Filters on columns that no step moves select records; the others become axes. Columns in
        ``also`` distinguish cells by their values and become no axis.
        """
        for name in question.names:
            self.require(name)
        self.require_without_noise(question.names)
        before = [c for c in question.where if c.column not in mechanism.columns]
        inside = self.kept([c for c in question.where if c.column in mechanism.columns])
        columns: dict[str, None] = {}
        for name in (*question.by, *inside):  # with the columns and strata of their steps
            columns[name] = None
            for step in mechanism.steps:
                if name in step.columns:
                    columns |= dict.fromkeys((*step.columns, *step.strata))
        wanted = SumsAsked(
            tuple(dict.fromkeys([*columns, *also])),
            value=value,
            weight=self.weight if question.weighted else None,
            where=self.with_values(before, [*also, value]),
            beyond=question.beyond,
        )
        table = self.summed(wanted)
        if not table.num_rows or not sums_in(table)["n"].sum():
            raise InvalidTable("No released record meets the filter. Loosen it.")
        names = self.certificate.schema.names
        codes, labels = self.coded(table, sorted(columns, key=names.index))
        layout = Layout.of(question.by, labels=labels, mechanism=mechanism, where=inside)
        return ReleasedCells(table, codes, layout)

    def sums(
        self, question: Question, mechanism: Mechanism, *, value: str | None = None
    ) -> tuple[Moments, Layout]:
        """The same sums, laid out along the axes."""
        cells = self.cells(question, mechanism, value=value)
        layout, table = cells.layout, cells.table
        codes = np.array([cells.codes[name] for name in layout.columns], dtype=np.int64)
        rows = codes.reshape(len(layout.columns), table.num_rows).T
        sums = [layout.table(rows, term) for term in sums_in(table).values()]
        return Moments(*sums, released=float(self.certificate.records)), layout

    def coded(
        self, table: pa.Table, columns: Sequence[str]
    ) -> tuple[dict[str, Codes], dict[str, tuple[Label, ...]]]:
        """Codes of the rows, and the labels of each column in their order."""
        codes: dict[str, Codes] = {}
        labels: dict[str, tuple[Label, ...]] = {}
        for name in columns:
            column = self.certificate.schema.column(name)
            codes[name], labels[name] = codes_and_labels(column, table.column(name))
        return codes, labels

    def crossable(self, condition: Condition) -> bool:
        """Whether a filter selects cells of a table that has its column as well."""
        column = self.certificate.schema.column(condition.column)
        kind = self.opened.schema.field(column.name).type
        listed = column.domain is not None or not pa.types.is_floating(kind)
        named = condition.comparison in ("=", "!=") and listed and not column.noisy
        return column.randomised or named

    def kept(self, conditions: Sequence[Condition]) -> dict[str, tuple[Label, ...]]:
        """The labels of randomised columns that a filter keeps."""
        kept: dict[str, tuple[Label, ...]] = {}
        for condition in conditions:
            column = self.certificate.schema.column(condition.column)
            labels = kept.get(column.name, column.labels)
            kept[column.name] = tuple(label for label in labels if meets(label, condition, column))
        return kept


def codes_and_labels(
    column: Column,
    values: pa.ChunkedArray,
    *,
    encode: Callable[[Column, pa.ChunkedArray], Codes] = encode_released,
) -> tuple[Codes, tuple[Label, ...]]:
    """The codes of some values as tables have them, and the labels in their order.

    Values of a column released unchanged may be missing although nobody said what that means.
    Without a declared domain labels are the values that occur; whole numbers are labelled as such,
    whatever type a format has made of them.
    """
    if column.domain is None:
        array = one_array(values)
        listed = array.to_pylist()
        if pa.types.is_floating(array.type) and all(v is None or v.is_integer() for v in listed):
            listed = [None if value is None else int(value) for value in listed]
        labels = sorted(set(listed) - {None}) + ([None] if None in listed else [])
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[value] for value in listed], dtype=np.int64), tuple(labels)
    if column.randomised or None in column.labels or not values.null_count:
        return encode(column, values), column.labels
    codes = np.full(len(values), len(column.labels), dtype=np.int64)
    codes[values.is_valid().to_numpy()] = encode(column, values.drop_null())
    return codes, (*column.labels, None)
