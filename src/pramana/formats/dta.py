"""Stata files."""

from __future__ import annotations

from typing import ClassVar, Final

from pramana.formats.labelled import LabelledFormat

__all__ = ["DTA", "DtaFormat"]


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


DTA: Final = DtaFormat()
