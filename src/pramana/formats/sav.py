"""SPSS files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

from pramana.formats.base import RecordStream
from pramana.formats.labelled import open_labelled, write_labelled
from pramana.table.opened import OpenedTable

__all__ = ["SAV", "SavFormat"]


class SavFormat:
    """SPSS files, with their labels."""

    name: ClassVar[str] = "sav"
    title: ClassVar[str] = "SPSS"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    marks: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")
    writes: ClassVar[bool] = True

    def open(self, path: Path) -> OpenedTable:
        """Open a file; its missing values and empty texts are missing."""
        return open_labelled(path, self.name)

    def write(self, path: Path, records: RecordStream) -> None:
        """Write a file with the labels of its columns."""
        write_labelled(path, records, self.name)


SAV: Final = SavFormat()
