"""A table that has been opened: its types are known, its batches flow when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from pramana.errors import InvalidTable, UnknownColumn
from pramana.table.domains import Label

__all__ = ["BATCH", "Labels", "OpenedTable", "TableFormat", "is_number", "require_distinct_names"]

BATCH = 131_072
"""Records in a batch, unless told otherwise."""

TableFormat: TypeAlias = str
"""The name of a format, or ``frame`` for objects in memory."""

Made = TypeVar("Made")

OpenBatches: TypeAlias = Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Labels:
    """What a statistical package says about its columns, kept so that it can be written back.

    Attributes:
        variables: The label of a column.
        values: The label of each value of a column.
        measures: Nominal, ordinal or scale, in the words of the package.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Label, str]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.variables or self.values)


@dataclass(frozen=True)
class OpenedTable:
    """A table whose batches can be read as often as needed.

    Attributes:
        schema: The columns and their Arrow types.
        rows: The number of records.
        format: What it was read from; ``frame`` for objects in memory.
        labels: Labels of variables and values, where the format has them.
        source: The path or the object itself, to give back the same kind.
    """

    schema: pa.Schema
    rows: int
    format: TableFormat
    source: Any = field(repr=False)  # an object in memory would show its records
    opener: OpenBatches = field(repr=False, compare=False)
    labels: Labels = field(default_factory=Labels)
    delimiter: str = ","

    def batches(
        self, columns: Sequence[str] | None = None, *, size: int = BATCH
    ) -> Iterator[pa.RecordBatch]:
        """The records in order, in batches of at most ``size``; anew at every call."""
        names = list(self.schema.names if columns is None else columns)
        for name in names:
            if name not in self.schema.names:
                raise UnknownColumn(f"The table has no column '{name}'.")
        for batch in self.opener(names, size):
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)

    def summaries(
        self,
        function: Callable[[Iterator[pa.RecordBatch]], Made],
        columns: Sequence[str] | None = None,
    ) -> Iterator[Made]:
        """What ``function`` makes of all records, in one summary or in several to be put together.

        A table that lies on many machines gives one summary a partition.
        """
        yield function(self.batches(columns))

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records, or some columns of them, in memory."""
        names = list(self.schema.names if columns is None else columns)
        wanted = pa.schema([self.schema.field(name) for name in names])
        batches = list(self.batches(names))
        return pa.Table.from_batches(batches, batches[0].schema if batches else wanted)


def require_distinct_names(names: Sequence[str], *, where: str) -> None:
    """Refuse a table in which two columns have one name."""
    times = Counter(names)
    double = next((name for name in names if times[name] > 1), None)
    if double is not None:
        raise InvalidTable(
            f"Column names must differ, and {where} has '{double}' {times[double]} times. "
            "Rename them."
        )


def is_number(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type can be added up, also behind a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )
