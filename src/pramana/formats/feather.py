"""Arrow files of every kind: with an index, as a stream, and the first Feather."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from pramana.formats.base import BROKEN, RecordStream, broken
from pramana.formats.names import require_distinct_names
from pramana.table.opened import OpenedTable
from pramana.table.stamps import FileStamp

__all__ = ["FEATHER", "FeatherFormat"]


class FeatherFormat:
    """Arrow and Feather files; uncompressed ones are mapped into memory, not read into it."""

    name: ClassVar[str] = "feather"
    title: ClassVar[str] = "Arrow"
    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    marks: ClassVar[tuple[bytes, ...]] = (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
    writes: ClassVar[bool] = True

    def open(self, path: Path) -> OpenedTable:
        """Open a file."""
        stamp = FileStamp.of(path)
        try:
            table = _read(path)
        except BROKEN:
            raise broken(path) from None
        require_distinct_names(table.column_names, where=str(path))
        return OpenedTable.of_arrow(table, kind=self.name, source=path, files=(stamp,))

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with an index; one batch a group."""
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(str(path), records.schema, options=options) as writer:
            for group in records.groups:
                writer.write_table(group)


FEATHER: Final = FeatherFormat()


def _read(path: Path) -> pa.Table:
    with path.open("rb") as file:
        beginning = file.read(6)
    if beginning.startswith(b"FEA1"):
        from pyarrow import feather

        return feather.read_table(str(path), memory_map=True)
    source = pa.memory_map(str(path))
    if beginning.startswith(b"ARROW1"):
        return pa.ipc.open_file(source).read_all()
    return pa.ipc.open_stream(source).read_all()
