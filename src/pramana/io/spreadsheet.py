"""Spreadsheets of Excel and OpenDocument, read by calamine.

The first sheet is read, or the one that the path names. The first row that is not empty names the
columns, or the row that the path names. Empty cells are missing. A column of whole numbers becomes
integers, though such files store all numbers floating; one of numbers and texts becomes texts.
"""

from __future__ import annotations

import datetime as dt
import shlex
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final

import pyarrow as pa

from pramana.errors import InvalidTable, MissingExtra, Notice
from pramana.io.base import Format, PartOf, distinct_names, is_renaming
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Labels, label_text
from pramana.schema.opened_table import OpenedTable, TableFormat

EXACT = 2**53
OTHER_SHEETS = b"pramana.other_sheets"
"""Metadata by which the subprocess reader returns a notice about other sheets."""


class SpreadsheetFormat(Format):
    """Files of one kind of spreadsheet."""

    name: ClassVar[TableFormat]
    title: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    marks: ClassVar[tuple[bytes, ...]] = (b"PK\x03\x04",)

    def open(self, path: Path) -> OpenedTable:
        """Open a sheet."""
        _calamine()
        table, _ = read_in_child(
            __name__,
            PartOf.of(path).file,
            title=self.title,
            marked=str(path.absolute()),
            called=self.title,
            rename="yes" if is_renaming() else "",
        )
        notice = (table.schema.metadata or {}).get(OTHER_SHEETS, b"").decode()
        if notice:
            warnings.warn(notice, Notice, stacklevel=2)
        table = table.replace_schema_metadata(None)
        return OpenedTable.of_arrow(table, kind=self.name, source=path)

    def parts(self, path: Path) -> tuple[str, ...]:
        """The sheets of a file that can be read."""
        return tuple(_calamine().CalamineWorkbook.from_path(str(PartOf.of(path).file)).sheet_names)


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


def _calamine() -> ModuleType:
    try:
        import python_calamine
    except ImportError:
        raise MissingExtra(
            "Reading spreadsheets needs an extra: pip install 'pramana[files]'."
        ) from None
    module: ModuleType = python_calamine
    return module


def read_here(path: Path, *, marked: str, called: str, rename: str = "") -> tuple[pa.Table, Labels]:
    """A sheet of a file, read by this process."""
    part, library = PartOf.of(Path(marked)), _calamine()
    try:
        book = library.CalamineWorkbook.from_path(str(path))
        sheets = list(book.sheet_names)
        sheet = part.choose(sheets, what="sheet", first=True)
        rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    except InvalidTable:
        raise
    except (library.CalamineError, OSError, ValueError):
        raise InvalidTable(
            "{path} cannot be read as {called}: it is broken, cut short, or locked.",
            path=path,
            called=called,
        ) from None
    notice = ""
    if part.name is None and len(sheets) > 1:
        file = part.file.name
        notice = (
            f"{file} has {len(sheets)} sheets ({', '.join(sheets)}), and the first is read; for "
            f"another one, write {shlex.quote(f'{file}#{sheets[1]}')}."
        )
    try:
        table = _table(rows, part, sheet, rename=bool(rename))
    except InvalidTable as error:  # the table may be in another sheet
        raise error.reworded(f"{error} {notice}".rstrip()) from None
    return table.replace_schema_metadata({OTHER_SHEETS: notice}), Labels()


def _table(rows: list[list[Any]], part: PartOf, sheet: str, *, rename: bool) -> pa.Table:
    where = f"sheet '{sheet}' of {part.file}"
    filled = [sum(cell not in ("", None) for cell in row) for row in rows]
    header = part.header or next((at for at, count in enumerate(filled, start=1) if count), 1)
    if len(rows) < header:
        raise InvalidTable(
            "{where} has {count} rows, so the column names cannot be in row {header}.",
            where=where,
            count=len(rows),
            header=header,
        )
    end = max((at for at, count in enumerate(filled, start=1) if count), default=0)
    body = rows[header:end]
    if not body:
        raise InvalidTable("{where} has names of columns and no records.", where=where)
    if part.header is None and 2 * filled[header - 1] < max(filled):  # a title above the table
        likely = next(at for at, count in enumerate(filled, start=1) if 2 * count >= max(filled))
        raise InvalidTable(
            "Row {header} of {where} names {filled} of {most} columns. Name the row of the "
            "column names: {value}.",
            header=header,
            where=where,
            filled=filled[header - 1],
            most=max(filled),
            value=shlex.quote(f"{part.file.name}#{sheet}!{likely}"),
        )
    names, columns = [], []
    for at, head in enumerate(rows[header - 1]):
        cells = [None if row[at] == "" else row[at] for row in body]
        name = " ".join(str(head).split())
        if name or any(cell is not None for cell in cells):
            names.append(name or f"column_{at + 1}")
            columns.append(_column(cells))
    names = distinct_names(names, where=where, rename=rename)
    return pa.table(dict(zip(names, columns, strict=True)))


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
