"""Where in a schema file an error is: the line, and the key on it.

The standard library reads TOML without telling where things stood. A schema file has one key a
line, so that its lines tell: headers of columns, and keys below them. What an error is about
stands in its words.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

__all__ = ["place_of", "section_of"]

HEADER = re.compile(r"^\s*\[+\s*(.+?)\s*\]+\s*(#.*)?$")
AT = re.compile(r"\(at line (\d+), column \d+\)")
KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")


ELSEWHERE = "\0"
"""Stands for the tables of a file that are no columns, such as ``[[impossible]]``."""


@dataclass(frozen=True)
class _Line:
    number: int
    column: str | None
    key: str | None


def place_of(text: str, message: str, at: tuple[str, ...] = ()) -> str:
    r"""``line 3, bins`` of what a message is about; empty where that cannot be told.

    ``at`` is the entry, after its column if it has one, where that is known.

    >>> place_of("[columns.age]\nrole = 'key'\nbins = [1]\n", "Column 'age': Bins are few.")
    'line 3, bins'
    """
    lines = list(_lines(text))
    if told := AT.search(message):  # the reader of TOML knows where it stopped
        number = int(told[1])
        key = next((line.key for line in lines if line.number == number and line.key), None)
        return f"line {number}" if key is None else f"line {number}, {key}"
    column, key = (at[0], at[1]) if len(at) > 1 else (None, *at) if at else (None, None)
    for line in lines:
        if key is not None and (line.column, line.key) == (column, key):
            return f"line {line.number}, {key}"
    columns = {line.column for line in lines if line.column not in (None, ELSEWHERE)}
    named = [name for name in columns if f"'{name}'" in message]
    column = max(named, key=len, default=None)
    own = [line for line in lines if line.column == column]
    keys = [(spot, line) for line in own if (spot := _mention(line.key, message)) is not None]
    if keys:
        line = min(keys, key=lambda pair: pair[0])[1]
        return f"line {line.number}, {line.key}"
    above = (line for line in lines if line.column is None and line.key is not None)
    for line in above:
        if message.startswith(f"{line.key} of '") or f"(by {line.key})" in message:
            return f"line {line.number}, {line.key}"
    header = next((line for line in own if line.key is None), None)
    return "" if header is None or column is None else f"line {header.number}"


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


def _mention(key: str | None, message: str) -> int | None:
    """Where a message speaks of a key, if it does."""
    if key is None:
        return None
    found = re.search(rf"(?<![\w'.]){re.escape(key)}(?!\w)|'{re.escape(key)}'", message, re.I)
    return None if found is None else found.start()


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            parts = _parts(header[1])
            column = _column_of(parts)
            if column not in (None, ELSEWHERE):
                found.append(_Line(number, column, None))
            elif column is not None and parts:
                found.append(_Line(number, None, parts[0]))
        elif key := KEY.match(line):
            parts = _parts(key[1])
            if column is None and parts[:1] == ["columns"] and len(parts) > 1:
                found.append(_Line(number, parts[1], parts[2] if len(parts) > 2 else None))
            elif parts:
                found.append(_Line(number, column, parts[0]))
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
