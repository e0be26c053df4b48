"""Parquet files, folders of Parquet files, and Arrow or Feather files.

Row groups of Parquet files are loaded by several threads. Text columns that will be looked up are
read as dictionaries, so that each distinct value is looked up once a row group. A subprocess with
bounded memory reads Arrow and Feather files: Arrow believes the lengths and offsets in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.base.processes import default_threads, require_memory
from pramana.errors import InvalidTable
from pramana.io.base import (
    BROKEN,
    Format,
    RecordStream,
    broken,
    distinct_names,
    validated,
)
from pramana.io.databases import process_database
from pramana.io.disk_buffer import DiskBuffer
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Labels
from pramana.schema.opened_table import (
    FileStamp,
    OpenedTable,
    Part,
    batch_cells,
    batch_rows,
    placed,
    without_views,
)

PART_RECORDS: Final = (2**17, 2**18)
"""Least and most records of small row groups that are read together."""


WIDE: Final = 128
SLAB: Final = 64
"""A file with more than ``WIDE`` columns is read ``SLAB`` columns at a time."""

BUFFER: Final = 2**16
"""Bytes of each column that are read ahead in a row group that is read in batches."""

GROUP_MOST: Final = 2**21
"""Row groups with more records are read in batches."""

COMPRESSION: Final = "snappy"


class ParquetFormat(Format):
    """Parquet files."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    media: ClassVar[str] = "application/vnd.apache.parquet"
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    marks: ClassVar[tuple[bytes, ...]] = (b"PAR1",)
    writes: ClassVar[bool] = True
    in_python: ClassVar[str] = "pd.read_parquet(HERE / {name})"
    in_r: ClassVar[str] = (
        'as.data.frame(if (requireNamespace("arrow", quietly = TRUE)) '
        "arrow::Scanner$create(arrow::open_dataset({name}))$ToTable() "
        'else if (requireNamespace("nanoparquet", quietly = TRUE)) '
        "nanoparquet::read_parquet({name}) "
        'else stop("Parquet needs the package arrow or nanoparquet."))'
    )

    def open(self, path: Path) -> OpenedTable:
        """Open a file; its footer is read, and no record."""
        file = _File.of(path)
        return _opened(path, file.schema, (file,))

    def packing(self, path: Path) -> tuple[Set[str], Set[bytes]]:
        """Return the compression codecs of all columns and the keys of all metadata."""
        codecs: set[str] = set()
        keys: set[bytes] = set()
        for part in parts_of(path) if path.is_dir() else [path]:
            codecs |= _codecs(part)
            with pq.ParquetFile(part) as file:
                keys |= {*(file.metadata.metadata or ()), *_metadata_keys(file.schema_arrow)}
        return codecs, keys

    def write(self, path: Path, records: RecordStream) -> None:
        """Write each group of records as a row group, without statistics."""
        options = {"compression": COMPRESSION, "write_statistics": False}
        with pq.ParquetWriter(path, records.schema, **options) as writer:
            for group in records.groups:
                writer.write_table(group, row_group_size=len(group))


def _codecs(path: Path) -> set[str]:
    """Return the compression codecs of a file whose columns have as many values as records.

    DuckDB reads the footer: PyArrow aborts the process when it is asked for a column whose codec
    it does not know, or whose size statistics contradict its type.
    """
    import duckdb

    query = "SELECT DISTINCT compression, num_values = row_group_num_rows FROM parquet_metadata(?)"
    try:
        with process_database().cursor() as connection:
            columns = connection.execute(query, [str(path)]).fetchall()
    except (duckdb.FatalException, duckdb.InternalException):
        process_database.cache_clear()  # it answers no further query
        raise broken(path) from None
    except duckdb.Error:
        raise broken(path) from None
    if not all(complete for _, complete in columns):
        raise broken(path)
    return {codec for codec, _ in columns}


PARQUET: Final = ParquetFormat()


def _metadata_keys(schema: pa.Schema) -> set[bytes]:
    return {*(schema.metadata or ()), *(key for item in schema for key in item.metadata or ())}


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder in the order of their names; other files are not data."""
    return sorted(place for place in folder.iterdir() if place.suffix in PARQUET.endings)


def open_parts(folder: Path) -> OpenedTable:
    """Open the files of a folder one after the other; all must have the same columns and types."""
    parts = parts_of(folder)
    if not parts:
        raise InvalidTable(
            "{folder} must be a file that holds a table, and is a folder without Parquet files.",
            folder=folder,
        )
    files = tuple(map(_File.of, parts))
    for file in files:
        _require_same_schema(files[0].schema, file)
    return _opened(folder, files[0].schema, files)


def _opened(place: Path, schema: pa.Schema, files: tuple[_File, ...]) -> OpenedTable:
    def parts(columns: Sequence[str]) -> Iterator[Part]:
        position = 0
        for file in files:
            for part in file.parts(columns):
                yield replace(part, position=position)
                position += part.records

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        del text  # a Parquet file knows its types
        wanted = tuple(name for name in schema.names if name in set(coded))
        again = tuple(replace(file, coded=wanted, wide=_Wide()) for file in files)
        with again[0].opened() as first:
            return _opened(place, _schema_of(first.schema_arrow, schema.names), again)

    rows = sum(file.metadata.num_rows for file in files)
    stamps = tuple(file.stamp for file in files)
    return OpenedTable(schema, rows, "parquet", place, parts, files=stamps, fit=fit)


@dataclass(frozen=True)
class _File:
    """One file, opened anew for each part; ``written`` are the column names in it."""

    stamp: FileStamp
    schema: pa.Schema
    metadata: Any
    written: tuple[str, ...]
    coded: tuple[str, ...] = ()
    wide: _Wide = field(default_factory=lambda: _Wide(), compare=False)

    @classmethod
    def of(cls, path: Path) -> _File:
        stamp = FileStamp.of(path)
        try:
            with pq.ParquetFile(path) as file:
                metadata, schema = file.metadata, file.schema_arrow
        except (*BROKEN, LookupError, TypeError):
            raise broken(path) from None
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        if sum(group.num_rows for group in groups) != metadata.num_rows:
            raise broken(path)
        written = tuple(schema.names)
        names = distinct_names(written, where=str(path))
        return cls(stamp, _schema_of(schema, names), metadata, written)

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        """Several small row groups together, or batches of a large one."""
        if len(columns) > WIDE:
            yield from self.wide.parts(self, columns)
            return
        for groups, records in self._grouped(len(columns)):
            if records <= GROUP_MOST and records * len(columns) <= batch_cells():
                yield Part(0, records, partial(self._load, groups, list(columns)))
            else:
                yield from placed(self.batches(groups[0], list(columns)))

    def _grouped(self, columns: int) -> Iterator[tuple[list[int], int]]:
        least, most = PART_RECORDS
        shared = self.metadata.num_rows // (4 * default_threads())  # parts for each thread
        most = min(max(least, min(most, shared)), batch_cells() // max(columns, 1))
        groups: list[int] = []
        total = 0
        for group in range(self.metadata.num_row_groups):
            records = self.metadata.row_group(group).num_rows
            if groups and total + records > most:
                yield groups, total
                groups, total = [], 0
            groups.append(group)
            total += records
        if groups:
            yield groups, total

    def _load(self, groups: list[int], columns: list[str]) -> pa.RecordBatch:
        with self.opened() as file:
            records = sum(self.metadata.row_group(group).num_rows for group in groups)
            names = self._written_names(columns)
            table = file.read_row_groups(groups, names, use_threads=False)
            table = validated(self._selected(table, columns), count=records)
            return _one_batch(without_views(table))

    def _written_names(self, columns: Collection[str]) -> list[str]:
        """The names in the file; columns of one name are read together."""
        pairs = zip(self.schema.names, self.written, strict=True)
        return list(dict.fromkeys(written for name, written in pairs if name in set(columns)))

    def _selected(self, read: Any, columns: Sequence[str]) -> Any:
        """Of what was read under the names in the file, some columns under their unique names."""
        names: dict[str, list[str]] = {}
        for name, written in zip(self.schema.names, self.written, strict=True):
            names.setdefault(written, []).append(name)
        renamed = read.rename_columns([names[name].pop(0) for name in read.schema.names])
        return renamed.select(list(columns)).replace_schema_metadata(None)

    def batches(
        self, group: int, columns: list[str], *, rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The records of a row group, a few at a time."""
        with self.opened(buffer_size=BUFFER) as file:
            left = self.metadata.row_group(group).num_rows
            rows = rows or batch_rows(len(columns))
            for batch in file.iter_batches(rows, [group], self._written_names(columns)):
                left -= batch.num_rows
                if left < 0:
                    raise broken(self.stamp.path)
                batch = validated(self._selected(batch, columns))
                yield _one_batch(without_views(pa.Table.from_batches([batch])))
            if left:
                raise broken(self.stamp.path)

    @contextmanager
    def opened(self, **more: int) -> Iterator[Any]:
        """The file; errors of the library may show values, so none of them is passed on."""
        coded = self._written_names(self.coded)
        options = {"metadata": self.metadata, "read_dictionary": coded, **more}
        try:
            with pq.ParquetFile(self.stamp.path, **options) as file:
                yield file
        except BROKEN:
            self.stamp.require_unchanged()
            raise broken(self.stamp.path) from None
        self.stamp.require_unchanged()


class _Wide:
    """The buffered columns of a very wide file: reading one holds a page of it in memory."""

    def __init__(self) -> None:
        self._held = DiskBuffer()
        self._names: list[str] = []
        self._reading = Lock()

    def parts(self, file: _File, columns: Sequence[str]) -> Iterator[Part]:
        """The records in order; threads that ask at the same time read no column twice."""
        with self._reading:
            new = [name for name in columns if name not in set(self._names)]
            for begin in range(0, len(new), SLAB):
                self._read(file, new[begin : begin + SLAB])
        return self._held.parts(columns)

    def _read(self, file: _File, names: list[str]) -> None:
        rows, at = batch_rows(len(file.schema)), 0
        for group in range(file.metadata.num_row_groups):
            for batch in file.batches(group, names, rows=rows):
                self._held.put(at, batch)
                at += 1
        self._names += names


def _require_same_schema(first: pa.Schema, file: _File) -> None:
    """Refuse a part whose columns differ from those of the first."""
    if file.schema == first:
        return
    part, names = file.stamp.path, file.schema.names
    difference = f"{part.name} has others"
    for name in first.names:
        if name not in names:
            difference = f"{part.name} lacks '{name}'"
            break
        if (kind := file.schema.field(name).type) != first.field(name).type:
            difference = f"'{name}' is {kind} in {part.name} and {first.field(name).type} before"
            break
    raise InvalidTable(
        "All files of {parent} must have the same columns and types, and {difference}. Write them "
        "again with one schema.",
        parent=part.parent,
        difference=difference,
    )


def _schema_of(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """The columns of a file under these names, with text in place of views of text."""
    fields = [item.with_name(name) for item, name in zip(schema, names, strict=True)]
    return without_views(pa.schema(fields).empty_table()).schema


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    """All chunks of a table as one batch; dictionaries that differ are made one."""
    batches = table.unify_dictionaries().combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


FIRST_FEATHER: Final = b"FEA1"
INDEXED: Final = b"ARROW1"


class FeatherFormat(Format):
    """Arrow and Feather files."""

    name: ClassVar[str] = "feather"
    title: ClassVar[str] = "Arrow"
    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    marks: ClassVar[tuple[bytes, ...]] = (INDEXED, FIRST_FEATHER, b"\xff\xff\xff\xff")
    media: ClassVar[str] = "application/vnd.apache.arrow.file"
    writes: ClassVar[bool] = True
    in_python: ClassVar[str] = "pd.read_feather(HERE / {name})"
    in_r: ClassVar[str] = "as.data.frame(arrow::read_feather({name}))"

    def open(self, path: Path) -> OpenedTable:
        """Read all records into memory."""
        require_memory(path.stat().st_size, what=str(path))
        table, _ = read_in_child(__name__, path, title=self.title)
        names = distinct_names(table.column_names, where=str(path))
        return OpenedTable.of_arrow(table.rename_columns(names), kind=self.name, source=path)

    def packing(self, path: Path) -> tuple[Set[str], Set[bytes]]:
        """Return no codecs, since memory is bounded where they are unpacked, and metadata keys."""
        with path.open("rb") as file:
            return frozenset(), _metadata_keys(_reader(file).schema)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with an index, each group of records as a batch."""
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(str(path), records.schema, options=options) as writer:
            for group in records.groups:
                writer.write_table(group)


FEATHER: Final = FeatherFormat()


def read_here(path: Path) -> tuple[pa.Table, Labels]:
    """Return the records of a file, read by this process."""
    try:
        with path.open("rb") as file:
            if file.read(len(FIRST_FEATHER)) == FIRST_FEATHER:
                from pyarrow import feather

                table = feather.read_table(path, memory_map=False)
            else:
                table = _reader(file).read_all()
        return without_views(validated(table).replace_schema_metadata(None)), Labels()
    except BROKEN:
        raise broken(path) from None


def _reader(file: BinaryIO) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    """Return the reader of an open file with an index or of a stream."""
    file.seek(0)
    indexed = file.read(len(INDEXED)) == INDEXED
    file.seek(0)
    return pa.ipc.open_file(file) if indexed else pa.ipc.open_stream(file)
