"""What an analyst takes along: a table as CSV or as an Excel file that says how it came about."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pramana.base.text import percent
from pramana.errors import MissingExtra

__all__ = ["Exported", "media_type"]

MEDIA: Final = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

COMPUTED: Final = re.compile(r"[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet may take for a formula, also in wide letters."""

NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
PARTING: Final = re.compile(r"[,;\t\r\n\"]")
"""What may part cells: spreadsheets of some countries take semicolons."""


def media_type(ending: str) -> str:
    """What a browser is told about the file."""
    return MEDIA[ending]


@dataclass(frozen=True)
class Exported:
    """Rows of texts and numbers under their heads, and what is to be known of them."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    about: tuple[tuple[str, str], ...]

    @classmethod
    def of_table(cls, result: dict[str, Any], about: Sequence[tuple[str, str]]) -> Exported:
        """One row a cell."""
        heads = (*result["by"], "estimate", "standard error", "from", "to", "unreliable")
        rows = tuple(
            (*cell["labels"], *cell["figures"], "yes" if cell["unreliable"] else "no")
            for cell in result["cells"]
        )
        return cls(heads, rows, (("What", result["what"]), *_told(result), *about))

    @classmethod
    def of_model(cls, result: dict[str, Any], about: Sequence[tuple[str, str]]) -> Exported:
        """One row a coefficient."""
        heads = ("term", "in words", "coefficient", "standard error", "from", "to", "p")
        rows = tuple((row["name"], row["words"], *row["figures"]) for row in result["rows"])
        return cls(heads, rows, (("Formula", result["formula"]), *_told(result), *about))

    def write(self, ending: str) -> bytes:
        """The file."""
        return self._csv() if ending == "csv" else self._excel()

    def _csv(self) -> bytes:
        lines = (",".join(map(_cell, row)) for row in (self.heads, *self.rows))
        return "".join(f"{line}\n" for line in lines).encode()

    def _excel(self) -> bytes:
        """Texts are written as texts: a label that looks like a formula is none."""
        try:
            import xlsxwriter
        except ImportError:
            raise MissingExtra("Excel files need more: pip install 'pramana[studio]'.") from None
        out = io.BytesIO()
        with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
            sheet, bold = book.add_worksheet("Table"), book.add_format({"bold": True})
            for column, head in enumerate(self.heads):
                sheet.write_string(0, column, head, bold)
            for number, row in enumerate(self.rows, start=1):
                for column, value in enumerate(row):
                    if isinstance(value, str):
                        sheet.write_string(number, column, value)
                    elif value is not None:
                        sheet.write_number(number, column, value)
            sheet.freeze_panes(1, 0)
            sheet.autofit()
            more = book.add_worksheet("About")
            for number, (name, words) in enumerate(self.about):
                more.write_string(number, 0, name, bold)
                more.write_string(number, 1, words)
        return out.getvalue()


def _not_computed(value: Any) -> Any:
    """A value of a text file; one that a spreadsheet would compute has a mark before it.

    >>> _not_computed("=1+1"), _not_computed("-5"), _not_computed(None), _not_computed(-2.5)
    ("'=1+1", '-5', '', -2.5)
    """
    if isinstance(value, str) and COMPUTED.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return "" if value is None else value


def _cell(value: Any) -> str:
    """A cell of a text file, between quotes where something in it could part it.

    >>> _cell("x;=1+1"), _cell(0.5), _cell("plain")
    ('"x;=1+1"', '0.5', 'plain')
    """
    text = str(_not_computed(value))
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if PARTING.search(text) else text


def _told(result: dict[str, Any]) -> list[tuple[str, str]]:
    weight = result["weight"]
    return [
        ("Level of the intervals", f"{percent(result['level'], 6)}"),
        ("Weighted by", weight or "no column"),
        ("How", result["note"]),
    ]
