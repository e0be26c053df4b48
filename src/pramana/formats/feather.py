"""Arrow files of every kind: with an index, as a stream, and the first Feather."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from pramana.errors import InvalidTable, TooLarge
from pramana.formats.arrow_messages import packings_of, records_of, stream_part, words_beside
from pramana.formats.base import BROKEN, Format, RecordStream, broken, whole
from pramana.formats.child import read_in_child
from pramana.formats.names import distinct_names
from pramana.memory import require_memory
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, Part, batch_rows, placed, plain_text
from pramana.table.stamps import FileStamp

__all__ = ["FEATHER", "FeatherFormat", "read_here"]

FIRST: Final = b"FEA1"
UNREADABLE: Final = (*BROKEN, struct.error, InvalidTable, IndexError)


class FeatherFormat(Format):
    """Arrow and Feather files.

    Whoever hands a file on may have put anything into its buffers, and may change it while it is
    read. So it is read as any file is, never mapped; the lengths that it states are looked at
    before anything is unpacked, and every buffer before any record is.
    """

    name: ClassVar[str] = "feather"
    title: ClassVar[str] = "Arrow"
    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    marks: ClassVar[tuple[bytes, ...]] = (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
    writes: ClassVar[bool] = True
    in_python: ClassVar[str] = "pd.read_feather(HERE / {name})"
    in_r: ClassVar[str] = "as.data.frame(arrow::read_feather({name}))"

    def open(self, path: Path) -> OpenedTable:
        """Open a file: types and number of records are read, and records when they are needed."""
        stamp = FileStamp.of(path)
        try:
            held = _ArrowContent.of(path)
        except TooLarge:
            raise
        except UNREADABLE:
            raise broken(path) from None
        held.names = distinct_names(held.schema.names, where=str(path))
        return held.opened(self.name, path, stamp)

    def packing(self, path: Path) -> tuple[Set[str], Set[bytes]]:
        """Of every batch, and of the schema."""
        stream = stream_part(pa.py_buffer(path.read_bytes()))
        return packings_of(stream), set(words_beside(pa.ipc.open_stream(stream).schema))

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with an index; one batch a group."""
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(str(path), records.schema, options=options) as writer:
            for group in records.groups:
                writer.write_table(group)


FEATHER: Final = FeatherFormat()


def read_here(path: Path) -> tuple[pa.Table, Labels]:
    """What a file of the first Feather holds, read by this process."""
    from pyarrow import feather

    try:
        return plain_text(whole(feather.read_table(pa.BufferReader(path.read_bytes())))), Labels()
    except UNREADABLE:
        raise broken(path) from None


class _ArrowContent:
    """A file that was read into memory: its records are unpacked once, at the first pass."""

    def __init__(self, content: pa.Buffer, schema: pa.Schema, rows: int) -> None:
        self.content = content
        self.schema = schema
        self.rows = rows
        self.names = list(schema.names)
        self._lock = threading.Lock()
        self._table: pa.Table | None = None

    @classmethod
    def of(cls, path: Path) -> _ArrowContent:
        """What the file says of itself."""
        require_memory(path.stat().st_size, what=str(path))
        content = pa.py_buffer(path.read_bytes())
        if bytes(content[:4]) == FIRST:
            table, _ = read_in_child(__name__, path, title="Feather")
            held = cls(content, table.schema, table.num_rows)
            held._table = table
            return held
        stream = stream_part(content)
        with pa.ipc.open_stream(stream) as reader:
            schema = reader.schema.remove_metadata()
        records, size = records_of(stream)
        require_memory(size + len(stream), what=str(path))
        return cls(stream, plain_text(schema.empty_table()).schema, records)

    def opened(self, name: str, path: Path, stamp: FileStamp) -> OpenedTable:
        """The table."""

        def parts(columns: Sequence[str]) -> Iterator[Part]:
            rows = batch_rows(len(columns))
            table = self.table(path).rename_columns(self.names)
            return placed(table.select(list(columns)).to_batches(max_chunksize=rows))

        own = [item.with_name(new) for item, new in zip(self.schema, self.names, strict=True)]
        return OpenedTable(pa.schema(own), self.rows, name, path, parts, files=(stamp,))

    def table(self, path: Path) -> pa.Table:
        """All records, once every buffer was found to be what it says."""
        with self._lock:
            if self._table is None:
                try:
                    with pa.ipc.open_stream(self.content) as reader:
                        table = whole(reader.read_all(), records=self.rows)
                    self._table = plain_text(table.replace_schema_metadata(None))
                except UNREADABLE:
                    raise broken(path) from None
            return self._table
