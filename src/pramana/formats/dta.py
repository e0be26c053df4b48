"""Stata files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

from pramana.formats.base import RecordStream
from pramana.formats.labelled import open_labelled, write_labelled
from pramana.table.opened import OpenedTable

__all__ = ["DTA", "DtaFormat"]


OLD: Final = tuple(bytes((version, order, 1)) for version in range(104, 116) for order in (1, 2))
"""Files of Stata 5 to 12 begin with a version and the order of bytes."""


class DtaFormat:
    """Stata files, with their labels."""

    name: ClassVar[str] = "dta"
    title: ClassVar[str] = "Stata"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    marks: ClassVar[tuple[bytes, ...]] = (b"<stata_dta>", *OLD)
    writes: ClassVar[bool] = True

    def open(self, path: Path) -> OpenedTable:
        """Open a file; its missing values and empty texts are missing."""
        return open_labelled(path, self.name)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with the labels of its columns."""
        write_labelled(path, records, self.name)


DTA: Final = DtaFormat()
