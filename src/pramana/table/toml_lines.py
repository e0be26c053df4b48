"""Where in a schema file an error is: the line, and the key on it.

The standard library reads TOML without telling where things stood. A schema file has one key a
line, so that its lines tell: headers of columns, and keys below them. What an error is about
stands in its words.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

__all__ = ["place_of"]

HEADER = re.compile(r"^\s*\[+\s*(.+?)\s*\]+\s*(#.*)?$")
KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")


@dataclass(frozen=True)
class _Line:
    number: int
    column: str | None
    key: str | None


def place_of(text: str, message: str) -> str:
    r"""``line 3, bins`` of what a message is about; empty where that cannot be told.

    >>> place_of("[columns.age]\nrole = 'key'\nbins = [1]\n", "Column 'age': Bins are few.")
    'line 3, bins'
    """
    lines = list(_lines(text))
    columns = {line.column for line in lines if line.column is not None}
    named = [name for name in columns if f"'{name}'" in message]
    column = max(named, key=len, default=None)
    own = [line for line in lines if line.column == column]
    keys = [(at, line) for line in own if (at := _mention(line.key, message)) is not None]
    if keys:
        line = min(keys, key=lambda pair: pair[0])[1]
        return f"line {line.number}, {line.key}"
    header = next((line for line in own if line.key is None), None)
    return "" if header is None or column is None else f"line {header.number}"


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
        if (header := HEADER.match(line)) and not line.lstrip().startswith("[["):
            parts = _parts(header[1])
            column = parts[1] if parts[:1] == ["columns"] and len(parts) == 2 else None
            if column is not None:
                found.append(_Line(number, column, None))
        elif key := KEY.match(line):
            parts = _parts(key[1])
            if column is None and parts[:1] == ["columns"] and len(parts) > 1:
                found.append(_Line(number, parts[1], parts[2] if len(parts) > 2 else None))
            elif parts:
                found.append(_Line(number, column, parts[0]))
    return found


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
