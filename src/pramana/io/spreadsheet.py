"""Spreadsheets of Excel and OpenDocument, by calamine.

The first sheet is read, or the one that is named; the first row that is not empty names the
columns, or the one that is told. Empty cells are missing. A column of whole numbers is one, though
such files keep all numbers floating; one of numbers and texts is of texts.
"""

from __future__ import annotations

import datetime as dt
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final

import pyarrow as pa

from pramana.errors import InvalidTable, MissingExtra, Notice
from pramana.io.base import Format, PartOf, chosen, distinct_names, is_renaming
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Labels, label_text
from pramana.schema.opened_table import OpenedTable, TableFormat

EXACT = 2**53
OTHERS = b"pramana.others"
"""What is said of further sheets comes out of the child beside the table."""


def _calamine() -> ModuleType:
    try:
        import python_calamine
    except ImportError:
        raise MissingExtra(
            "Reading spreadsheets needs an extra: pip install 'pramana[files]'."
        ) from None
    module: ModuleType = python_calamine
    return module


class SpreadsheetFormat(Format):
    """Files of one kind of spreadsheet."""

    name: ClassVar[TableFormat]
    title: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    marks: ClassVar[tuple[bytes, ...]] = (b"PK\x03\x04",)

    def open(self, path: Path) -> OpenedTable:
        """Open a sheet; empty cells are missing."""
        _calamine()
        file, marked = PartOf.of(path).file, str(path.absolute())
        table, _ = read_in_child(
            __name__,
            file,
            title=self.title,
            marked=marked,
            called=self.title,
            rename="yes" if is_renaming() else "",
        )
        others = (table.schema.metadata or {}).get(OTHERS, b"").decode()
        if others:
            warnings.warn(others, Notice, stacklevel=2)
        table = table.replace_schema_metadata(None)
        return OpenedTable.of_arrow(table, kind=self.name, source=path)

    def parts(self, path: Path) -> tuple[str, ...]:
        """The sheets of a file that can be read."""
        return tuple(_calamine().CalamineWorkbook.from_path(str(PartOf.of(path).file)).sheet_names)


def read_here(path: Path, *, marked: str, called: str, rename: str = "") -> tuple[pa.Table, Labels]:
    """A sheet of a file, read by this process."""
    part, library = PartOf.of(Path(marked)), _calamine()
    try:
        book = library.CalamineWorkbook.from_path(str(path))
        sheet = chosen(part, list(book.sheet_names), what="sheet", first=True)
        rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    except InvalidTable:
        raise
    except (library.CalamineError, OSError, ValueError):
        raise InvalidTable(
            f"{path} cannot be read as {called}: it is broken, cut short, or locked."
        ) from None
    others = _others(part, book.sheet_names)
    try:
        table = _table(rows, part, sheet, rename=bool(rename))
    except InvalidTable as error:  # it may be in another sheet that the table stands
        raise error.reworded(f"{error} {others}".rstrip()) from None
    return table.replace_schema_metadata({OTHERS: others}), Labels()


def _others(part: PartOf, sheets: Sequence[str]) -> str:
    """What to say of the sheets that were not read, where none was named."""
    if part.name is not None or len(sheets) < 2:
        return ""
    file = part.file.name
    another = shlex.quote(f"{file}#{sheets[1]}")
    return (
        f"{file} has {len(sheets)} sheets ({', '.join(sheets)}), and the first is read; for "
        f"another say which, such as {another}."
    )


def _table(rows: list[list[Any]], part: PartOf, sheet: str, *, rename: bool) -> pa.Table:
    where = f"sheet '{sheet}' of {part.file}"
    header = part.header or next((at for at, row in enumerate(rows, start=1) if _filled(row)), 1)
    if len(rows) < header:
        raise InvalidTable(f"{where} has {len(rows)} rows, and names were to be in {header}.")
    body = rows[header:]
    while body and not any(cell not in ("", None) for cell in body[-1]):
        body.pop()
    if not body:
        raise InvalidTable(f"{where} has names of columns and no records.")
    names, columns = [], []
    if part.header is None:
        _require_names(rows, header, where, part.file.name, sheet)
    for at, head in enumerate(rows[header - 1]):
        cells = [None if row[at] == "" else row[at] for row in body]
        name = " ".join(str(head).split())
        if not name and all(cell is None for cell in cells):
            continue
        names.append(name or f"column_{at + 1}")
        columns.append(_column(cells))
    names = distinct_names(names, where=where, rename=rename)
    return pa.table(dict(zip(names, columns, strict=True)))


def _filled(row: list[Any]) -> int:
    return sum(cell not in ("", None) for cell in row)


def _require_names(rows: list[list[Any]], header: int, where: str, file: str, sheet: str) -> None:
    """Refuse a title above the table, or a row that names few of the columns, with a way."""
    named, widest = _filled(rows[header - 1]), max(map(_filled, rows))
    if 2 * named >= widest:
        return
    likely = next(at for at, row in enumerate(rows, start=1) if 2 * _filled(row) >= widest)
    raise InvalidTable(
        f"Row {header} of {where} names {named} of {widest} columns. Say in which row the names "
        f"stand, such as {shlex.quote(f'{file}#{sheet}!{likely}')}."
    )


def _column(cells: list[Any]) -> pa.Array:
    """One type for all cells: numbers, dates, truth values, or else texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        whole = all(c is None or (float(c).is_integer() and abs(c) < EXACT) for c in cells)
        if whole and kinds:
            return pa.array([None if c is None else int(c) for c in cells], pa.int64())
        return pa.array([None if c is None else float(c) for c in cells], pa.float64())
    if kinds == {dt.date}:
        return pa.array(cells, pa.date32())
    if kinds <= {dt.date, dt.datetime}:
        return pa.array(cells, pa.timestamp("us"))
    if kinds in ({bool}, {str}, {dt.time}):
        return pa.array(cells)
    return pa.array([None if c is None else label_text(c) for c in cells], pa.string())


class XlsxFormat(SpreadsheetFormat):
    """Files of Excel."""

    name: ClassVar[TableFormat] = "xlsx"
    title: ClassVar[str] = "Excel"
    endings: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm")


class OdsFormat(SpreadsheetFormat):
    """Files of OpenDocument."""

    name: ClassVar[TableFormat] = "ods"
    title: ClassVar[str] = "OpenDocument"
    endings: ClassVar[tuple[str, ...]] = (".ods",)


XLSX: Final = XlsxFormat()
ODS: Final = OdsFormat()
