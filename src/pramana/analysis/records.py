"""What an analyst may ask of a release, and who answers.

What a released record still tells depends on what was done to it. There is one reading for each
kind of release, and it answers every verb: with a number and its error, with a number and the
reason why no error can be stated, or with a refusal that says what to do instead. A kind of release
has one name, in ``KINDS`` of release/kinds.py and here in ``READINGS``.

The released records as every reading needs them: names checked, coded, summed up by cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import pyarrow as pa

from pramana.analysis.estimates import Estimate
from pramana.analysis.independence import IndependenceTest
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import CountMethod, Question, meets
from pramana.analysis.regression import Family
from pramana.analysis.regression_results import Regression
from pramana.analysis.synthesis import SynthesisMethod
from pramana.base.randomness import Keystream
from pramana.base.registry import Registry
from pramana.engine.base import Condition, SumsAsked, grouped_sums, sum_name, sums_in
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism, ShuffledRounds
from pramana.mechanisms.transition import Label
from pramana.release.certificate import Certificate
from pramana.release.released_codes import stated_sets
from pramana.schema.codec import encode_released
from pramana.schema.joint_cells import cell_numbers
from pramana.schema.opened_table import OpenedTable, is_number, is_whole
from pramana.schema.schema import COUNT, Column
from pramana.types import Codes, FloatArray


class Reading(Protocol):
    """The answers of one kind of release; made from its records."""

    unbiased: ClassVar[CountMethod]
    """How counts are estimated without bias."""

    def __init__(self, records: ReleasedRecords) -> None:
        """A reading of these records."""

    def counts(self, question: Question, *, method: CountMethod, share: bool) -> Estimate:
        """Counts, or shares, of the original table."""

    def values(self, question: Question, of: str, *, total: bool) -> Estimate:
        """Means, or totals, of a column in the cells of the original table."""

    def quantile(self, question: Question, of: str, *, shares: tuple[float, ...]) -> Estimate:
        """Quantiles of a column in the cells of the original table."""

    def independence(self, question: Question) -> IndependenceTest:
        """Whether the two columns of the original table are independent."""

    def synthesize(self, keystream: Keystream, *, method: SynthesisMethod) -> pa.Table:
        """Records for any learner, drawn from what the release allows."""

    def channel(self) -> Mechanism:
        """What a learner that draws the truth of whole records has to undo."""

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


Coded: TypeAlias = tuple[dict[str, Codes], dict[str, tuple[Label, ...]]]
"""Codes and labels of each column."""

KEPT_ANSWERS, KEPT_ROWS = 128, 4096
"""The most sums of records in memory that are kept, and the most rows of each: one question asks
for the same sums several times, and so does the next question."""

T = TypeVar("T", bound=Sized)


@dataclass(frozen=True, eq=False)
class ReleasedCells:
    """One row a cell with its sums, the codes of its columns, and the axes."""

    table: pa.Table
    codes: dict[str, Codes]
    layout: Layout


@dataclass(frozen=True)
class ReleasedRecords:
    """The records of a release and its certificate."""

    certificate: Certificate
    opened: OpenedTable
    weigh_by: str | None = None
    margins: dict[str, FloatArray] | None = field(default=None, compare=False)

    @property
    def weight(self) -> str | None:
        """The column of weights, where there is one: a replicate of it where one was named."""
        if self.weigh_by is not None:
            return self.weigh_by
        weight = self.certificate.schema.weight
        return None if weight is None else weight.name

    @cached_property
    def _kept(self) -> dict[str, Any]:
        return {}

    def summed(self, wanted: SumsAsked) -> pa.Table:
        """Sums over the records."""
        if self.certificate.nature.counted and wanted.weight != COUNT:
            table = self.summed(replace(wanted, weight=COUNT))
            for name in ("n", "ww"):  # a row stands for as many answers as it counts
                place = table.column_names.index(sum_name(name))
                table = table.set_column(place, sum_name(name), table.column(sum_name("w")))
            return table
        # By repr, as the text 1 and the number 1 are not the same question.
        return self.once(repr(wanted), lambda: grouped_sums(self.opened, wanted))

    @cached_property
    def rounds(self) -> dict[str, FloatArray]:
        """The counts of each round, one axis a column, of a release that holds counts."""
        mechanism, schema = self.certificate.mechanism, self.certificate.schema
        assert isinstance(mechanism, ShuffledRounds)  # noqa: S101 - the kind says so
        table = self.opened.to_arrow()
        sets, counts = stated_sets(mechanism, table), table.column(COUNT).to_numpy()
        found = {}
        for place, one in enumerate(mechanism.sets):
            rows = np.flatnonzero(sets == place)
            own = table.select(one.columns).take(rows)
            columns = [schema.column(name) for name in one.columns]
            codes = [encode_released(column, own.column(column.name)) for column in columns]
            shape = [len(column.labels) for column in columns]
            flat = np.bincount(cell_numbers(codes, shape), counts[rows], prod(shape))
            found[one.name] = flat.astype(np.float64).reshape(shape)
        return found

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What several questions need of a table in memory is made once; nobody changes it."""
        if self.opened.files or self.opened.format != "frame":
            return make()
        if key in self._kept:
            return cast("T", self._kept[key])
        made = make()
        if len(made) <= KEPT_ROWS and len(self._kept) < KEPT_ANSWERS:
            self._kept[key] = made
        return made

    def changed(self, names: Collection[str]) -> list[str]:
        """Those of the columns that were not released unchanged."""
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
                f"The release has no column '{name}': it was dropped or never there. "
                f"It has: {', '.join(names)}.",
                column=name,
            )

    def noise(self, name: str) -> float:
        """The variance of what was added to each value of a column; 0 where nothing was."""
        noise = self.certificate.schema.column(name).recoding.noise
        whole = is_whole(self.opened.schema.field(name).type)
        return 0.0 if noise is None else noise.spread(whole=whole)

    def require_without_noise(self, names: Collection[str]) -> None:
        """Refuse groups, filters and predictors by numbers that carry noise."""
        for name in names:
            if name in self.opened.schema.names and self.certificate.schema.column(name).noisy:
                raise NotCovered(
                    f"'{name}' is released with noise: groups, filters and predictors by it would "
                    "mix people up. Ask for its mean or total, or take it as the outcome.",
                    column=name,
                )

    def require_number(self, name: str) -> None:
        """Refuse a column that is not of numbers."""
        self.require(name)
        if not is_number(self.opened.schema.field(name).type):
            raise InvalidNumber(
                f"'{name}' must be a column of numbers to have a mean or a total.", column=name
            )

    def with_values(
        self, where: Sequence[Condition], names: Sequence[str | None]
    ) -> tuple[Condition, ...]:
        """A filter that also leaves out who has no value in columns that are taken as numbers.

        They are those named, and those that the filter compares with a number. A code by which a
        survey says why there is no value is none.
        """
        compared = [c.column for c in where if c.comparison not in ("=", "!=")]
        gone = {name: self._says_missing(name) for name in (*names, *compared) if name is not None}
        return (*where, *(Condition(name, "!=", own) for name, own in gone.items() if own))

    def _says_missing(self, name: str) -> tuple[Label, ...]:
        """The labels of a column released unchanged that stand for no value."""
        self.require(name)
        column = self.certificate.schema.column(name)
        if column.domain is None or column.randomised:
            return ()
        number = is_number(self.opened.schema.field(name).type)
        own = column.domain.missing_labels
        return tuple(label for label in own if not number or isinstance(label, int | float))

    def cells(
        self,
        question: Question,
        mechanism: Mechanism,
        *,
        value: str | None = None,
        also: Sequence[str] = (),
    ) -> ReleasedCells:
        """Sums over the records, by the cells that ``mechanism`` makes it necessary to tell apart.

        Filters on columns that no step moves select records; the others become axes. Columns in
        ``also`` tell cells apart by their values and become no axis.
        """
        for name in question.names:
            self.require(name)
        self.require_without_noise(question.names)
        before = [c for c in question.where if c.column not in mechanism.columns]
        inside = self.kept([c for c in question.where if c.column in mechanism.columns])
        columns = _to_count(question.by, inside, mechanism)
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

    def coded(self, table: pa.Table, columns: Sequence[str]) -> Coded:
        """Codes of the rows, and the labels of each column in their order."""
        codes: dict[str, Codes] = {}
        labels: dict[str, tuple[Label, ...]] = {}
        for name in columns:
            column = self.certificate.schema.column(name)
            codes[name], labels[name] = codes_and_labels(column, table.column(name))
        return codes, labels

    def crossable(self, condition: Condition) -> bool:
        """Whether a filter asks for cells of a table that has its column as well."""
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
            own = kept.get(column.name, column.labels)
            kept[column.name] = tuple(label for label in own if meets(label, condition, column))
        return kept


def _to_count(
    by: Sequence[str], inside: Mapping[str, tuple[Label, ...]], mechanism: Mechanism
) -> list[str]:
    """The columns asked for, those filtered on, and those tied to them by a step or its strata."""
    columns: dict[str, None] = {}
    for name in (*by, *inside):
        columns[name] = None
        for step in mechanism.steps:
            if name in step.columns:
                columns |= dict.fromkeys((*step.columns, *step.strata))
    return list(columns)


def codes_and_labels(
    column: Column,
    values: pa.ChunkedArray,
    *,
    encode: Callable[[Column, pa.ChunkedArray], Codes] = encode_released,
) -> tuple[Codes, tuple[Label, ...]]:
    """The codes of some values as tables have them, and the labels in their order.

    Values of a column released unchanged may be missing although nobody said what that means.
    """
    if column.domain is None:
        return _as_found(values)
    if column.randomised or None in column.labels or not values.null_count:
        return encode(column, values), column.labels
    codes = np.full(len(values), len(column.labels), dtype=np.int64)
    codes[values.is_valid().to_numpy()] = encode(column, values.drop_null())
    return codes, (*column.labels, None)


def _as_found(column: pa.ChunkedArray) -> tuple[Codes, tuple[Label, ...]]:
    """Codes and labels of a column without a declared domain: the values that occur, in order.

    Whole numbers are labelled as such, whatever type a format has made of them.
    """
    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    found = values.to_pylist()
    if pa.types.is_floating(values.type) and all(v is None or v.is_integer() for v in found):
        found = [None if value is None else int(value) for value in found]
    labels = sorted(set(found) - {None}) + ([None] if None in found else [])
    places = {label: place for place, label in enumerate(labels)}
    return np.array([places[value] for value in found], dtype=np.int64), tuple(labels)
