"""What an engine must do: five verbs on a table, and no more.

    schema        the columns and their types
    count         how many records have which combination of values
    map_batches   a function on record batches, one batch in, one batch out
    shuffle       the records in a uniformly random order
    write         to a file that appears whole or not at all

A table is a description of work. ``map_batches`` and ``shuffle`` give a new table at once; batches
flow when ``count``, ``write`` or ``to_arrow`` ask for them. Arrow record batches are what flows;
randomness is addressed by the position of a record, so that an engine may cut batches and run them
in parallel as it likes without changing a result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import pyarrow as pa

from pramana.base.randomness import Address, Keystream
from pramana.errors import InvalidTable, UnknownColumn
from pramana.schema.joint_cells import Counter, Counts
from pramana.schema.labels import Labels
from pramana.schema.opened_table import OpenedTable, TableFormat
from pramana.schema.schema import Column, Schema
from pramana.types import Progress, TableLike

if TYPE_CHECKING:
    from pramana.engine.choose import SumsAsked

__all__ = ["BatchFunction", "Engine", "MapBatches", "Shuffle", "SteppedTable", "Table"]

BatchFunction: TypeAlias = Callable[[pa.RecordBatch, int], pa.RecordBatch]
"""From a batch and the position of its first record to a batch with as many records."""


@dataclass(frozen=True)
class MapBatches:
    """A step of a table's work: a function on every batch.

    Attributes:
        function: Keeps the number of records of a batch.
        schema: The columns and types that it gives.
    """

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
    """A step of a table's work: all records in a uniformly random order.

    Attributes:
        keystream: The source of random words.
        stream: The address of the words that decide over the order.
    """

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
        """Write all records to one file and give their number.

        The file appears under its name when it is complete, or not at all.
        """

    def to_arrow(self, *, progress: Progress | None = None) -> pa.Table:
        """All records in memory."""

    def to_opened(self) -> OpenedTable:
        """The records as an opened table, kept where the engine keeps records."""


@dataclass(frozen=True)
class SteppedTable:
    """An opened table and the steps of its work: what the tables of our engines share.

    Attributes:
        opened: Where the records come from.
        steps: What is done to them, in order.
    """

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
    """Who serves some kind of tables."""

    name: ClassVar[str]

    on_one_machine: ClassVar[bool]
    """Whether its records can be brought together here; not where they may be too many."""

    reads_files: ClassVar[bool]
    """Whether it can be asked to do the work on a file."""

    def read(self, path: str, *, master: str | None = None) -> TableLike:
        """The file as a table of this engine; ``master`` names its cluster, if it has one."""

    def serves(self, source: object) -> bool:
        """Whether this is a table of this engine; by its name, so that nothing is imported."""

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """Open a table that it serves; with a schema, one that has exactly its columns."""

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> Table:
        """The table with the five verbs; values of ``coded`` columns will be looked up."""

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """One row a combination of values, with ``n``, ``w``, ``ww`` and those of a value."""

    def empty_like(self, source: TableLike) -> TableLike | None:
        """An object of the same kind without records, to give the same kind back."""

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """All records as the same kind of object as ``like``."""
