"""Lines of a schema file: where a column begins, and on which line an entry stands.

Neither the standard library nor tomlkit reports the positions of values. A schema file has one
key a line: headers of columns, and keys below them.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

__all__ = ["Line", "line_of", "section_of"]

HEADER = re.compile(r"^\s*\[+\s*(.+?)\s*\]+\s*(#.*)?$")
KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")


ELSEWHERE = "\0"
"""Stands for the tables of a file that are no columns, such as ``[[impossible]]``."""


@dataclass(frozen=True)
class Line:
    """A header or an entry of a schema file.

    Attributes:
        number: counted from 1.
        column: whose entry it is; ``None`` for entries of the whole schema.
        key: the entry; ``None`` for the header of a column.
    """

    number: int
    column: str | None
    key: str | None

    def __str__(self) -> str:
        return f"line {self.number}" if self.key is None else f"line {self.number}, {self.key}"


def line_of(text: str, column: str | None, entry: str | None) -> Line | None:
    r"""The line of an entry of a column, else of the whole schema, else of the column's header.

    >>> str(line_of("[columns.age]\nrole = 'key'\nbins = [1]\n", "age", "bins"))
    'line 3, bins'
    """
    lines = _lines(text)
    for owner in (column, None):
        for line in lines:
            if entry is not None and (line.column, line.key) == (owner, entry):
                return line
    headers = (line for line in lines if column is not None and line.column == column)
    return next((line for line in headers if line.key is None), None)


def section_of(text: str, column: str) -> tuple[int, int]:
    r"""From where to where the lines of a column go, counted from 0; an empty stretch for none.

    >>> section_of("[columns.a]\nrole = 'key'\n\n[columns.b]\nrole = 'key'\n", "a")
    (0, 3)
    """
    heads = [line for line in _lines(text) if line.key is None]
    begin = next((line.number - 1 for line in heads if line.column == column), 0)
    lines = text.splitlines()
    after = (at for at in range(begin + 1, len(lines)) if HEADER.match(lines[at]))
    found = any(line.column == column for line in heads)
    return begin, next(after, len(lines)) if found else begin


def _lines(text: str) -> list[Line]:
    found: list[Line] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            parts = _parts(header[1])
            column = _column_of(parts)
            if column not in (None, ELSEWHERE):
                found.append(Line(number, column, None))
            elif column is not None and parts:
                found.append(Line(number, None, parts[0]))
        elif key := KEY.match(line):
            parts = _parts(key[1])
            if column is None and parts[:1] == ["columns"] and len(parts) > 1:
                found.append(Line(number, parts[1], parts[2] if len(parts) > 2 else None))
            elif parts:
                found.append(Line(number, column, parts[0]))
    return found


def _column_of(parts: list[str]) -> str | None:
    """The column that a header opens; none under ``[columns]``, which opens them all."""
    if parts == ["columns"]:
        return None
    return parts[1] if parts[:1] == ["columns"] and len(parts) == 2 else ELSEWHERE


def _parts(dotted: str) -> list[str]:
    """The parts of a key with dots, as TOML reads them."""
    try:
        table = tomllib.loads(f"{dotted} = 0")
    except (ValueError, RecursionError):
        return []
    parts = []
    while isinstance(table, dict):
        if not table:  # nothing but a remark
            return []
        name, table = next(iter(table.items()))
        parts.append(name)
    return parts
