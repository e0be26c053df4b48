"""Stata files."""

from __future__ import annotations

from typing import ClassVar, Final

from pramana.formats.labelled import LabelledFormat
from pramana.table.domains import Label

__all__ = ["DTA", "DtaFormat"]

MOST_OF_VARIABLE: Final = 80
MOST: Final = 2**31
OLD: Final = tuple(bytes((version, order, 1)) for version in range(104, 116) for order in (1, 2))
"""Files of Stata 5 to 12 begin with a version and the order of bytes."""


class DtaFormat(LabelledFormat):
    """Stata files, with their labels."""

    name: ClassVar[str] = "dta"
    title: ClassVar[str] = "Stata"
    endings: ClassVar[tuple[str, ...]] = (".dta",)
    marks: ClassVar[tuple[bytes, ...]] = (b"<stata_dta>", *OLD)
    writes: ClassVar[bool] = True
    largest: ClassVar[float] = 8.9e307
    in_python: ClassVar[str] = "pyreadstat.read_dta(HERE / {name}, user_missing=True)[0]"
    in_r: ClassVar[str] = "as.data.frame(haven::read_dta({name}))"

    def label_kept(self, label: str, *, of_value: bool) -> str:
        """Stata counts letters, and only those of a variable's label."""
        return label if of_value else label[:MOST_OF_VARIABLE]

    def labels_value(self, value: Label) -> bool:
        """Whole numbers of 32 bits alone, among them those that are kept for .a to .z."""
        if not isinstance(value, int | float):
            return False
        return float(value).is_integer() and -MOST < value < MOST


DTA: Final = DtaFormat()
