"""SAS files."""

from __future__ import annotations

from typing import ClassVar, Final

from pramana.formats.labelled import LabelledFormat

__all__ = ["SAS", "SasFormat"]


class SasFormat(LabelledFormat):
    """SAS files, with their labels."""

    name: ClassVar[str] = "sas7bdat"
    title: ClassVar[str] = "SAS"
    endings: ClassVar[tuple[str, ...]] = (".sas7bdat",)


SAS: Final = SasFormat()
