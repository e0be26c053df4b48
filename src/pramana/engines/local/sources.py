"""Where the local engine reads from: Parquet by row groups in parallel, all else batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.engines.base import Part, Source
from pramana.errors import InvalidTable
from pramana.table.opened import OpenedTable
from pramana.types import Progress

__all__ = ["arrow_source", "opened_source", "parquet_source"]

PART_RECORDS: Final = 2**17
"""Row groups are read together up to about this number of records."""

BROKEN: Final = (pa.ArrowException, OSError, EOFError)

GROUP_MOST: Final = 2**21
"""Row groups with more records are read in several batches, one after the other."""


def opened_source(opened: OpenedTable, *, coded: Collection[str] = ()) -> Source:
    """The source behind a table that has been opened."""
    if (
        opened.format == "parquet"
        and isinstance(opened.source, str | Path)
        and not Path(opened.source).is_dir()
    ):
        return parquet_source(Path(opened.source), coded=coded)

    def narrow(columns: Sequence[str]) -> Source:
        schema = pa.schema([opened.schema.field(name) for name in columns])
        return Source.of_batches(schema, partial(opened.batches, columns), records=opened.rows)

    return replace(narrow(opened.schema.names), narrow=narrow)


def arrow_source(table: pa.Table) -> Source:
    """An Arrow table in memory."""
    batches = partial(table.to_batches, max_chunksize=PART_RECORDS)
    return Source.of_batches(table.schema, batches, records=len(table))


def parquet_source(
    path: Path, *, coded: Collection[str] = (), columns: Sequence[str] | None = None
) -> Source:
    """A Parquet file, or some of its columns. Text that will be ``coded`` comes as dictionaries.

    A dictionary has each distinct value once, so that the codec looks up a few values a row group
    instead of every record.
    """
    try:
        with pq.ParquetFile(path, read_dictionary=list(coded)) as file:
            schema, metadata = file.schema_arrow, file.metadata
    except BROKEN:
        raise InvalidTable(f"{path} must be a readable Parquet file, and is not.") from None
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    reader = _ParquetReader(path, metadata, list(coded), schema.names)

    def narrow(names: Sequence[str]) -> Source:
        return parquet_source(path, coded=coded, columns=names)

    return Source(schema, reader.parts, metadata.num_rows, narrow)


class _ParquetReader:
    """Parts of a Parquet file; each opens the file anew, so that threads share no position."""

    def __init__(
        self, path: Path, metadata: Any, as_dictionary: list[str], columns: list[str]
    ) -> None:
        self._path, self._metadata = path, metadata
        self._as_dictionary, self._columns = as_dictionary, columns

    def parts(self, _: Progress | None) -> Iterator[Part]:
        """Several small row groups together, or batches of a large one."""
        position = 0
        for groups, records in self._grouped():
            if records <= GROUP_MOST:
                yield Part(position, records, partial(self._load, groups))
            else:
                yield from self._batches(groups[0], position)
            position += records

    def _grouped(self) -> Iterator[tuple[list[int], int]]:
        groups: list[int] = []
        total = 0
        for group in range(self._metadata.num_row_groups):
            records = self._metadata.row_group(group).num_rows
            if groups and total + records > PART_RECORDS:
                yield groups, total
                groups, total = [], 0
            groups.append(group)
            total += records
        if groups:
            yield groups, total

    def _load(self, groups: list[int]) -> pa.RecordBatch:
        with self._opened() as file:
            table = file.read_row_groups(groups, self._columns, use_threads=False)
            return _one_batch(table.select(self._columns))

    def _batches(self, group: int, position: int) -> Iterator[Part]:
        with self._opened() as file:
            for batch in file.iter_batches(PART_RECORDS, [group], self._columns):
                yield Part(position, len(batch), partial(_same, batch.select(self._columns)))
                position += len(batch)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file; errors of the library may show values, so none of them is passed on."""
        options = {"metadata": self._metadata, "read_dictionary": self._as_dictionary}
        try:
            with pq.ParquetFile(self._path, **options) as file:
                yield file
        except BROKEN:
            raise InvalidTable(
                f"{self._path} cannot be read to its end: it is broken or cut short."
            ) from None


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    """All chunks of a table as one batch; dictionaries that differ are made one."""
    batches = table.unify_dictionaries().combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
