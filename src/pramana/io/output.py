"""Encode released records and write them to files.

The output is a function of the released values, their order and the schema alone: equal released
records give equal bytes, whichever file, frame or engine they came from. Every kind of value has
one Arrow type. The type of a randomised or binned column follows from its domain, that of a column
released unchanged from the original data. Labels of a domain become a dictionary in the order of
the domain, attribute sets one in the order of the certificate. No other dictionary, which would
show the order of the original values, and no metadata is written. Row groups have one size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.base.atomic_files import whole_file
from pramana.errors import InvalidTable
from pramana.io.base import FORMATS, RecordStream, require_storable
from pramana.schema.codec import (
    alike,
    canonical_type,
    code_dtype,
    decode,
    encode_released,
    partly_reported,
    places_among,
    released_type,
)
from pramana.schema.domains import Labels
from pramana.schema.opened_table import TableFormat, without_dictionary
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.types import BoolArray

ROW_GROUP: Final = 2**18
"""Records in a row group: fixed, so that a file does not depend on how batches were cut."""

GROUP_CELLS: Final = 2**22
"""Cells that a row group of many columns has, about: several are encoded at once."""


@dataclass(frozen=True)
class OutputEncoder:
    """Encodes batches of released records in their output types.

    Attributes:
        columns: The released columns, in their order in the output.
        types: The Arrow schema of the input.
        partly: Whether each record reports some of its columns only, so that others are empty.
        sets: The attribute sets that records may name, where they are known.
    """

    columns: tuple[Column, ...]
    types: pa.Schema
    partly: bool = False
    sets: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Schema, types: pa.Schema, sets: tuple[str, ...] = ()) -> OutputEncoder:
        """For the released columns of a schema."""
        return cls(schema.released, types, REPORTED in schema.names, sets)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns and types of the output."""
        return pa.schema([self._field(column) for column in self.columns])

    def __call__(self, batch: pa.RecordBatch, position: int = 0) -> pa.RecordBatch:
        """The same records in their output types."""
        del position
        arrays = [
            self._encoded(column, batch.column(column.name), item.type)
            for column, item in zip(self.columns, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _field(self, column: Column) -> pa.Field:
        if self.sets and column.name == REPORTED:
            kind = pa.dictionary(pa.from_numpy_dtype(code_dtype(len(self.sets))), pa.string())
            return pa.field(REPORTED, kind, nullable=False)
        if not column.coded:
            return pa.field(column.name, canonical_type(self.types.field(column.name).type))
        has_gaps = self.partly or None in column.labels
        return pa.field(column.name, released_type(column), nullable=has_gaps)

    def _encoded(self, column: Column, array: pa.Array, kind: pa.DataType) -> pa.Array:
        if self.sets and column.name == REPORTED:
            return self._encoded_sets(array, kind)
        if not pa.types.is_dictionary(kind):
            return alike(_cast(column.name, without_dictionary(array), kind))
        if array.type == kind and array.dictionary.equals(_labels(column)):
            return _cleared_where_missing(array)
        if self.partly and array.null_count and None not in column.labels:
            codes = encode_released(column, array.drop_null())
            places = np.cumsum(array.is_valid().to_numpy(zero_copy_only=False)) - 1
            return decode(column, codes).take(pa.array(places, mask=_missing(array)))
        return decode(column, encode_released(column, array))

    def _encoded_sets(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        names = pa.array(self.sets, pa.string())
        if array.type == kind and array.dictionary.equals(names) and not array.null_count:
            return array
        places = places_among(self.sets, array)
        if len(places) and places.min() < 0:
            raise InvalidTable(
                "Column '{reported}' must name sets of the certificate.", reported=REPORTED
            )
        indices = places.astype(kind.index_type.to_pandas_dtype())
        return pa.DictionaryArray.from_arrays(indices, names)


def _missing(array: pa.Array) -> BoolArray:
    bits = np.frombuffer(array.is_null().buffers()[1], np.uint8)
    return np.unpackbits(bits, count=len(array), bitorder="little").view(np.bool_)


def _cleared_where_missing(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same labels; places of missing values hold no original code any more."""
    if not array.null_count:
        return array
    indices = array.indices
    data = np.frombuffer(indices.buffers()[1], indices.type.to_pandas_dtype())
    known = partly_reported(data[indices.offset :][: len(array)], ~_missing(array))
    return pa.DictionaryArray.from_arrays(known, array.dictionary, safe=False)


@cache
def _labels(column: Column) -> pa.Array:
    """The dictionary of a column of labels."""
    return decode(column, np.zeros(0, code_dtype(len(column.labels)))).dictionary


def _cast(name: str, array: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:  # which quotes a value
        raise InvalidTable(
            "'{column}' holds values that {kind} cannot store: dates and times must lie within "
            "300,000 years of 1970. Correct them, or drop the column.",
            column=name,
            kind=kind,
        ) from None


def write_table(
    table: pa.Table,
    path: Path,
    *,
    file_format: TableFormat,
    labels: Labels | None = None,
    force: bool = False,
) -> int:
    """Write a table in memory, over an existing file with ``force``; return the records written."""
    fields = [pa.field(item.name, canonical_type(item.type)) for item in table.schema]
    schema = pa.schema(fields)
    batches = table.replace_schema_metadata(None).cast(schema).to_batches()
    schema = schema.with_metadata(_pramana_metadata(table.schema))
    return write_records(schema, batches, path, file_format=file_format, labels=labels, force=force)


def write_records(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    path: Path,
    *,
    file_format: TableFormat,
    labels: Labels | None = None,
    force: bool = False,
) -> int:
    """Write records to a file that appears whole or not at all; return their number."""
    written = 0

    def groups() -> Iterator[pa.Table]:
        nonlocal written
        for group in in_groups(batches, schema):
            require_storable(group, file_format)
            yield group
            written += len(group)

    noted = schema.with_metadata(_pramana_metadata(schema))
    known = [name for name in FORMATS if FORMATS[name].writes]
    if file_format not in FORMATS:
        raise InvalidTable(
            "Tables can be written as {known}, not as {file_format}.",
            known=", ".join(known),
            file_format=file_format,
        )
    with whole_file(Path(path), force=force) as place:
        FORMATS[file_format].write(place, RecordStream(noted, groups(), labels or Labels()))
    return written


def _pramana_metadata(schema: pa.Schema) -> dict[bytes, bytes] | None:
    """The metadata of this program; no other is written."""
    ours = {key: value for key, value in (schema.metadata or {}).items() if key == b"pramana"}
    return ours or None


def group_size(columns: int) -> int:
    """Records in a row group of a table with this many columns."""
    return min(ROW_GROUP, max(2**12, GROUP_CELLS // columns))


def in_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, size: int | None = None
) -> Iterator[pa.Table]:
    """The same records in tables of one chunk and, except for the last, exactly ``size``."""
    if size is None:
        size = group_size(len(schema))
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        rest = batch
        while count + len(rest) >= size:
            held.append(rest.slice(0, size - count))
            rest = rest.slice(size - count)
            yield _one_chunk(held, schema)
            held, count = [], 0
        if len(rest):
            held.append(rest)
            count += len(rest)
    if held:
        yield _one_chunk(held, schema)


def _one_chunk(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches, schema).combine_chunks()
