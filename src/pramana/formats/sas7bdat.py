"""SAS files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

from pramana.errors import InvalidTable
from pramana.formats.base import RecordStream
from pramana.formats.labelled import open_labelled
from pramana.table.opened import OpenedTable

__all__ = ["SAS", "SasFormat"]


class SasFormat:
    """SAS files, with their labels."""

    name: ClassVar[str] = "sas7bdat"
    title: ClassVar[str] = "SAS"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat",)
    marks: ClassVar[tuple[bytes, ...]] = ()
    writes: ClassVar[bool] = False

    def open(self, path: Path) -> OpenedTable:
        """Open a file; its missing values and empty texts are missing."""
        return open_labelled(path, self.name)

    def write(self, path: Path, records: RecordStream) -> None:
        """Refused: nothing here writes such files."""
        del path, records
        raise InvalidTable(
            "SAS files can be read but not written. Write csv, parquet, sav or dta instead."
        )


SAS: Final = SasFormat()
