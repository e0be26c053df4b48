"""SAS transport files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

from pramana.formats.base import broken
from pramana.formats.sas7bdat import SasFormat
from pramana.table.opened import OpenedTable

__all__ = ["XPORT", "XportFormat"]

LINE = 80


class XportFormat(SasFormat):
    """SAS transport files, as agencies exchange them."""

    name: ClassVar[str] = "xport"
    title: ClassVar[str] = "SAS transport"
    endings: ClassVar[tuple[str, ...]] = (".xpt", ".xport")
    marks: ClassVar[tuple[bytes, ...]] = (b"HEADER RECOR",)

    def open(self, path: Path) -> OpenedTable:
        """Open a file; it has no end of its own, but comes in lines of 80 bytes."""
        if path.stat().st_size % LINE:
            raise broken(path)
        return super().open(path)


XPORT: Final = XportFormat()
