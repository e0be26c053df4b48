"""Arrow files of every kind: with an index, as a stream, and the first Feather.

A subprocess with bounded memory reads them: Arrow believes what a file says of the lengths and
offsets of its buffers, and asks the system for as much memory.
"""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

import pyarrow as pa

from pramana.base.limits import require_memory
from pramana.io.base import (
    BROKEN,
    Format,
    RecordStream,
    broken,
    distinct_names,
    metadata_keys,
    whole,
)
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Labels
from pramana.schema.opened_table import OpenedTable, plain_text

FIRST_FEATHER: Final = b"FEA1"
INDEXED: Final = b"ARROW1"


class FeatherFormat(Format):
    """Arrow and Feather files."""

    name: ClassVar[str] = "feather"
    title: ClassVar[str] = "Arrow"
    media: ClassVar[str] = "application/vnd.apache.arrow.file"
    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    marks: ClassVar[tuple[bytes, ...]] = (INDEXED, FIRST_FEATHER, b"\xff\xff\xff\xff")
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
            return frozenset(), metadata_keys(_reader(file).schema)

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
        return plain_text(whole(table).replace_schema_metadata(None)), Labels()
    except BROKEN:
        raise broken(path) from None


def _reader(file: BinaryIO) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    """Return the reader of an open file with an index or of a stream."""
    file.seek(0)
    indexed = file.read(len(INDEXED)) == INDEXED
    file.seek(0)
    return pa.ipc.open_file(file) if indexed else pa.ipc.open_stream(file)
