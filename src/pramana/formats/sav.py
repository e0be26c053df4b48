"""SPSS files."""

from __future__ import annotations

from typing import ClassVar, Final

from pramana.formats.labelled import LabelledFormat

__all__ = ["SAV", "SavFormat"]


class SavFormat(LabelledFormat):
    """SPSS files, with their labels."""

    name: ClassVar[str] = "sav"
    title: ClassVar[str] = "SPSS"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    marks: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")
    writes: ClassVar[bool] = True
    in_python: ClassVar[str] = "pyreadstat.read_sav(HERE / {name}, user_missing=True)[0]"
    in_r: ClassVar[str] = "as.data.frame(haven::read_sav({name}, user_na = TRUE))"


SAV: Final = SavFormat()
