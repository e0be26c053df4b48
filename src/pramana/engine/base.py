"""Engines: the protocol of tables and engines, which engine serves a table, and what it is asked.

A table is a description of work with five verbs: ``schema``, ``count`` (records by combination of
values), ``map_batches`` (a function on record batches), ``shuffle`` (a uniformly random order) and
``write`` (to a file that appears whole or not at all). Batches flow when ``count``, ``write`` or
``to_arrow`` ask for them. Random words are addressed by the position of a record, so that an engine
may cut batches and run them in parallel without changing a result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import (
    ClassVar,
    Final,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    runtime_checkable,
)

import numpy as np
import pyarrow as pa

from pramana.base.processes import Item, Result
from pramana.base.randomness import Address, Keystream
from pramana.base.registry import Registry
from pramana.errors import InvalidNumber, InvalidTable, Notice, UnknownColumn, unheard
from pramana.io.output import OutputEncoder
from pramana.schema.domains import Label, Labels, label_key
from pramana.schema.group_sizes import MOST_ATTACHED, group_sizes
from pramana.schema.joint_cells import Counter, Counts, counts_with_kept
from pramana.schema.opened_table import OpenedTable, TableFormat, is_number, steady
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import RESERVED, Column, Schema
from pramana.types import FloatArray, Progress, TableLike

BatchFunction: TypeAlias = Callable[[pa.RecordBatch, int], pa.RecordBatch]
"""From a batch and the position of its first record to a batch with as many records."""


@dataclass(frozen=True)
class MapBatches:
    """A step of a table's work: a function that keeps the number of records of every batch."""

    function: BatchFunction
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The new batch; refused where it has other records or columns than announced."""
        made = self.function(batch, position)
        if len(made) != len(batch) or made.schema != self.schema:
            raise InvalidTable(
                f"A function on batches must keep the {len(batch)} records and give the columns "
                f"that were announced, got {len(made)} records."
            )
        return made


@dataclass(frozen=True)
class Shuffle:
    """A step of a table's work: all records in a uniformly random order, by words of a stream."""

    keystream: Keystream
    stream: Address


@runtime_checkable
class Table(Protocol):
    """A table in the hands of an engine."""

    def schema(self) -> pa.Schema:
        """The columns and their types."""

    def count(self, columns: Sequence[Column], *, progress: Progress | None = None) -> Counts:
        """How many records have which combination of values in these columns."""

    def map_batches(self, function: BatchFunction, *, schema: pa.Schema) -> Table:
        """The table that ``function`` makes of each batch; it has the given schema."""

    def shuffle(self, *, keystream: Keystream, stream: Address = "shuffle") -> Table:
        """The records in a uniformly random order, by words that are addressed by position."""

    def write(
        self,
        path: Path,
        *,
        file_format: TableFormat = "parquet",
        labels: Labels | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write all records to one file, which appears whole or not at all; give their number."""

    def to_arrow(self, *, progress: Progress | None = None) -> pa.Table:
        """All records in memory."""

    def to_opened(self) -> OpenedTable:
        """The records as an opened table, kept where the engine keeps records."""


@dataclass(frozen=True)
class SteppedTable:
    """An opened table and the steps of its work, in order."""

    opened: OpenedTable
    steps: tuple[MapBatches | Shuffle, ...] = ()

    @property
    def records(self) -> int:
        """The number of records."""
        return self.opened.rows

    @property
    def passes(self) -> int:
        """How often each record is reported to ``progress``: once, and once a shuffle."""
        return 1 + sum(isinstance(step, Shuffle) for step in self.steps)

    def schema(self) -> pa.Schema:
        """The columns and their types."""
        schemas = [step.schema for step in self.steps if isinstance(step, MapBatches)]
        return schemas[-1] if schemas else self.opened.schema

    def map_batches(self, function: BatchFunction, *, schema: pa.Schema) -> Self:
        """The table that ``function`` makes of each batch; it has the given schema."""
        return replace(self, steps=(*self.steps, MapBatches(function, schema)))

    def shuffle(self, *, keystream: Keystream, stream: Address = "shuffle") -> Self:
        """The records in a uniformly random order, by words that are addressed by position."""
        return replace(self, steps=(*self.steps, Shuffle(keystream, stream)))

    def _counter(self, columns: Sequence[Column]) -> Counter:
        """An empty counter of combinations of values; columns that are not there are refused."""
        for column in columns:
            if column.name not in self.schema().names:
                raise UnknownColumn(f"The table has no column '{column.name}'.", column=column.name)
        return Counter([column.name for column in columns], [column.labels for column in columns])


@runtime_checkable
class Engine(Protocol):
    """An engine: it reads, summarises and writes one kind of tables."""

    name: ClassVar[str]

    on_one_machine: ClassVar[bool]
    """Whether its records can be brought together here; not where they may be too many."""

    reads_files: ClassVar[bool]
    """Whether it can be asked to do the work on a file."""

    def read(self, path: str, *, master: str | None = None) -> TableLike:
        """The file as a table of this engine; ``master`` names its cluster, if it has one."""

    def connect(self, master: str | None) -> None:
        """Start the cluster of this engine or join it; refused by an engine that has none."""

    def each(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """What a function makes of each item, in order, by threads or workers of the engine."""

    def spread(self, opened: OpenedTable) -> OpenedTable:
        """The same files, with summaries made by threads or workers of the engine."""

    def serves(self, source: object) -> bool:
        """Whether this is a table of this engine, by the name of its class: without an import."""

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """Open a table of this engine; with a schema, the table must have exactly its columns."""

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> Table:
        """The table with the five verbs; values of ``coded`` columns will be looked up."""

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """One row per combination of values, with ``n``, ``w``, ``ww`` and the sums of a value."""

    def empty_like(self, source: TableLike) -> TableLike | None:
        """An object of the same kind without records, to give the same kind back."""

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """All records as the same kind of object as ``like``."""


ENGINES: Final[Registry[Engine]] = Registry(
    "pramana.engines",
    {
        "local": "pramana.engine.local:LOCAL",
        "duckdb": "pramana.engine.local:DUCKDB",
        "spark": "pramana.engine.spark.table:SPARK",
    },
)
"""The engines by name."""

USUAL: Final = "local"
"""The one that serves whatever no other does."""


def engine_for(source: object) -> Engine:
    """The engine that serves a file, a data frame or an opened table."""
    if isinstance(source, OpenedTable):
        source = source.source
    others = (ENGINES[name] for name in ENGINES if name != USUAL)
    return next((engine for engine in others if engine.serves(source)), ENGINES[USUAL])


def open_source(table: TableLike, *, schema: Schema | None = None) -> OpenedTable:
    """Open original data by its engine, and recode it as the schema says."""
    engine = engine_for(table)
    opened = engine.open(table, schema=schema)
    ours = type(engine).__module__.startswith("pramana.")
    if not ours and not isinstance(table, OpenedTable):
        opened = steady(opened)  # whether it reads the same each time is not for us to know
    return opened if schema is None else recoded(opened, schema)


def open_original(table: TableLike, released: Schema) -> OpenedTable:
    """The original data of a release, recoded as they were when they were released."""
    opened = recoded(open_source(table), released)
    if not opened.labels.missing:
        return opened
    with unheard(Notice):  # it was said when the table was released
        return opened.fitted(coded=released.apart)


def engine_of(opened: OpenedTable, *, coded: Collection[str] = ()) -> Table:
    """An opened table in the hands of its engine."""
    return engine_for(opened).table(opened, coded=coded)


def counts_of(schema: Schema, opened: OpenedTable) -> Counts:
    """Records by combination of the randomised columns, strata and known unchanged columns."""
    coded = [*schema.randomised, *(schema.column(name) for name in schema.strata)]
    kept = [name for name in schema.known if name not in schema.strata]
    if kept:
        return counts_with_kept(opened, coded, kept)
    return engine_of(opened, coded=schema.names).count(coded)


def smallest_anonymity_set(schema: Schema, opened: OpenedTable) -> int:
    """The fewest records that share the values of the columns that an adversary may know."""
    return group_sizes(opened, schema.known, apart=True).smallest() if schema.known else opened.rows


def smallest_attached(schema: Schema, opened: OpenedTable) -> int | None:
    """The fewest records that share all unchanged columns; ``None`` if all of these are known."""
    names = schema.attached
    if not names:
        return None
    if schema.noisy:  # a number with noise is like no other, and tells a little about the truth
        return 1
    return group_sizes(opened, names, most=MOST_ATTACHED, binned=schema.binned).smallest()


def empty_like(source: TableLike) -> TableLike | None:
    """An object of the same kind without records, which ``as_kind`` needs."""
    source = source.source if isinstance(source, OpenedTable) else source
    return engine_for(source).empty_like(source)


def as_kind(opened: OpenedTable, like: TableLike | None) -> TableLike:
    """All records as the same kind of object as ``like``; PyArrow where there is none."""
    return engine_for(like).as_kind(opened, like)


def leaving(table: Table, schema: Schema, sets: tuple[str, ...] = ()) -> Table:
    """Released records in their output types; ``sets`` are the attribute sets they may name."""
    encoder = OutputEncoder.of(schema, table.schema(), sets)
    return table.map_batches(encoder, schema=encoder.schema)


def write_opened(
    opened: OpenedTable,
    path: Path,
    *,
    schema: Schema,
    file_format: TableFormat,
    sets: tuple[str, ...] = (),
) -> int:
    """Write released records, by their engine, to a file that appears whole or not at all."""
    table = leaving(engine_of(opened), schema, sets)
    labels = opened.labels.with_missing_values(schema)
    return table.write(path, file_format=file_format, labels=labels)


SUMS = ("n", "w", "ww", "wy", "wwy", "wwyy")
"""Records, weights and their squares, and both times the value and its square."""

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


NOTHING: Final = frozenset({"", "missing"})
"""What may be typed for a missing value: nothing, or the word that tables have for it."""


@dataclass(frozen=True)
class Condition:
    """What a column must be like: one of some values, none of them, or beyond a number."""

    column: str
    comparison: Operator
    values: tuple[Label, ...]


@dataclass(frozen=True)
class SumsAsked:
    """What is to be summed up.

    Attributes:
        columns: there is one row for each combination of their values.
        value: the column that is summed; records without a value are then left out.
        weight: the column of weights; each record counts once without.
        where: which records.
        beyond: sums whether the value lies beyond a number (1 or 0) instead of the value itself.
    """

    columns: tuple[str, ...]
    value: str | None = None
    weight: str | None = None
    where: tuple[Condition, ...] = ()
    beyond: Condition | None = None


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row per combination, with the sums for estimates, each under its :func:`sum_name`."""
    return engine_for(opened).sums(opened, asked)


def sum_name(name: str) -> str:
    """The name of a sum in an answer."""
    return f"{RESERVED}{name}"


def sums_in(answer: pa.Table) -> dict[str, FloatArray]:
    """The sums of an answer by their short names; a record without a weight counts zero."""
    there = set(answer.column_names)
    named = {name: sum_name(name) for name in SUMS}
    columns = {name: answer.column(source) for name, source in named.items() if source in there}
    return {
        name: (column.fill_null(0) if column.null_count else column).to_numpy().astype(np.float64)
        for name, column in columns.items()
    }


def require_number(kind: pa.DataType, condition: Condition) -> bool:
    """Whether the column holds numbers; refused if it does not and is compared like one."""
    number = is_number(kind)
    if not number and condition.comparison not in ("=", "!="):
        raise InvalidNumber(
            f"'{condition.column}' is not a number, so it cannot be compared by "
            f"{condition.comparison}. Use = or !=.",
            column=condition.column,
        )
    return number


def spelled(condition: Condition, *, number: bool) -> tuple[list[str], bool]:
    """The texts that a filter names, and whether it names missing."""
    keys = [label_key(value) for value in condition.values]
    missing = None in keys
    words = NOTHING if number and missing else frozenset()
    return [key for key in keys if key is not None and key not in words], missing


def number_in(text: str, column: str) -> float:
    """The number that a filter on a column of numbers names."""
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(
            f"'{column}' holds numbers; it cannot be compared with text.", column=column
        ) from None
