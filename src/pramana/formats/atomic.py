"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.table.opened import TableFormat

__all__ = ["ROW_GROUP", "in_groups", "whole_file", "writer_of"]

ROW_GROUP: Final = 2**20
"""Records in a row group: fixed, so that a file does not depend on how batches were cut."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to, beside ``path``; it gets the name when all has been written."""
    folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        place = folder / path.name
        yield place
        _to_disk(place)
        place.replace(path)
        _to_disk(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _to_disk(place: Path) -> None:
    """Wait until the file, or the entry in the folder, would survive a power cut."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def in_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, size: int = ROW_GROUP
) -> Iterator[pa.Table]:
    """The same records in tables of exactly ``size``, the last one excepted."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        rest = batch
        while count + len(rest) >= size:
            held.append(rest.slice(0, size - count))
            rest = rest.slice(size - count)
            yield pa.Table.from_batches(held, schema)
            held, count = [], 0
        if len(rest):
            held.append(rest)
            count += len(rest)
    if held:
        yield pa.Table.from_batches(held, schema)


def writer_of(place: Path, schema: pa.Schema, *, file_format: TableFormat, compression: str) -> Any:
    """A context manager with ``write_table``, for a file of the given format."""
    if file_format == "feather":
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        return pa.ipc.new_file(str(place), schema, options=options)
    if file_format == "csv":
        return _CsvWriter(place, schema)
    # No statistics: the range of a value says nothing where records stand in random order.
    return pq.ParquetWriter(place, schema, compression=compression, write_statistics=False)


class _CsvWriter:
    """Text as labels: dictionaries are looked up before they are written."""

    def __init__(self, place: Path, schema: pa.Schema) -> None:
        from pyarrow import csv

        self._schema = pa.schema([(field.name, _plain(field.type)) for field in schema])
        self._writer = csv.CSVWriter(str(place), self._schema)

    def write_table(self, table: pa.Table) -> None:
        """Append the records of a table."""
        self._writer.write_table(table.cast(self._schema))

    def __enter__(self) -> _CsvWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
