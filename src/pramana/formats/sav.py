"""SPSS files."""

from __future__ import annotations

from typing import ClassVar, Final

from pramana.formats.labelled import LabelledFormat

__all__ = ["SAV", "SavFormat"]

MOST_OF_VARIABLE: Final = 256
MOST_OF_VALUE: Final = 120


class SavFormat(LabelledFormat):
    """SPSS files, with their labels."""

    name: ClassVar[str] = "sav"
    title: ClassVar[str] = "SPSS"
    endings: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    marks: ClassVar[tuple[bytes, ...]] = (b"$FL2", b"$FL3")
    writes: ClassVar[bool] = True
    in_python: ClassVar[str] = "pyreadstat.read_sav(HERE / {name}, user_missing=True)[0]"
    in_r: ClassVar[str] = "as.data.frame(haven::read_sav({name}, user_na = TRUE))"

    def label_kept(self, label: str, *, of_value: bool) -> str:
        """SPSS counts bytes: the library would cut longer ones without a word."""
        longest = MOST_OF_VALUE if of_value else MOST_OF_VARIABLE
        return label.encode()[:longest].decode(errors="ignore")


SAV: Final = SavFormat()
