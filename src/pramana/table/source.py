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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from pramana.randomness import Keystream
from pramana.table.counts import Counts
from pramana.table.schema import Column

__all__ = ["BatchFunction", "FileFormat", "Progress", "Source", "Table"]

BatchFunction: TypeAlias = Callable[[pa.RecordBatch, int], pa.RecordBatch]
"""From a batch and the position of its first record to a batch with as many records."""

Progress: TypeAlias = Callable[[int], None]
"""Is told how many more records have been dealt with."""

FileFormat: TypeAlias = Literal["parquet", "csv", "feather"]


@dataclass(frozen=True)
class Source:
    """Where batches come from: a file or a data frame that can be read more than once.

    Attributes:
        schema: The columns and their types.
        batches: Opens the source and gives its batches in order.
        records: The number of records where it is known beforehand.
    """

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    records: int | None = None


@runtime_checkable
class Table(Protocol):
    """A table in the hands of an engine."""

    def schema(self) -> pa.Schema:
        """The columns and their types."""

    def count(self, columns: Sequence[Column], *, progress: Progress | None = None) -> Counts:
        """How many records have which combination of values in these columns."""

    def map_batches(self, function: BatchFunction, *, schema: pa.Schema) -> Table:
        """The table that ``function`` makes of each batch; it has the given schema."""

    def shuffle(self, *, keystream: Keystream, stream: str = "shuffle") -> Table:
        """The records in a uniformly random order, by words that are addressed by position."""

    def write(
        self, path: Path, *, file_format: FileFormat = "parquet", progress: Progress | None = None
    ) -> int:
        """Write all records to one file and give their number.

        The file appears under its name when it is complete, or not at all.
        """

    def to_arrow(self) -> pa.Table:
        """All records in memory."""
