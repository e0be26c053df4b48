"""The one spelling of a JSON object: names in order, one value a line, one blank a level.

It is that of ``json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)``,
byte by byte. The library spells indented text value by value in Python; here long lists of labels
and of cells are spelled in one call each, by the same library in C. What parts two values then
holds a line break, which no spelled text does: so that it can be found and replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import chain
from json import JSONEncoder, dumps
from json.encoder import encode_basestring
from typing import Any, Final

from pramana.types import Entries

__all__ = ["canonical"]

HOLDERS: Final = (dict, list, tuple)
DEEP: Final = 20
"""No certificate is nested so deep: a file that is takes no more calls than the library makes."""


def canonical(form: Entries) -> bytes:
    """The one spelling of a JSON object."""
    return (_spelled(form, "\n") + "\n").encode()


def _spelled(value: Any, line: str) -> str:
    """A value that begins where ``line``, a line break and blanks, has led."""
    if type(value) is str:
        return encode_basestring(value)
    if not isinstance(value, HOLDERS) or not value:
        return _in_one_go(value)
    inner = line + " "
    if len(line) > DEEP or (isinstance(value, dict) and set(map(type, value)) != {str}):
        return _indented(value).replace("\n", line)
    if isinstance(value, dict):
        pairs = sorted(value.items())
        lines = (f"{encode_basestring(name)}: {_spelled(own, inner)}" for name, own in pairs)
        return "{" + inner + f",{inner}".join(lines) + line + "}"
    return "[" + inner + _items(value, inner) + line + "]"


def _indented(value: Any) -> str:
    """By the library alone."""
    return dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)


def _items(values: list[Any] | tuple[Any, ...], line: str) -> str:
    """What stands between the brackets of a list."""
    if not _holders(values):
        return _in_one_go(values, f",{line}")[1:-1]
    inner = line + " "
    if set(map(type, values)) <= {list, tuple} and all(values) and not _holders(chain(*values)):
        cells = _in_one_go(values, f",{inner}")[2:-2]
        parted = cells.replace(f"],{inner}[", f"{line}],{line}[{inner}")
        return f"[{inner}{parted}{line}]"
    return f",{line}".join(_spelled(own, line) for own in values)


def _holders(values: Iterable[Any]) -> set[type]:
    """The kinds of values that hold others, of those that occur."""
    return {kind for kind in set(map(type, values)) if issubclass(kind, HOLDERS)}


def _in_one_go(value: Any, between: str = ", ") -> str:
    return _encoder(between).encode(value)


@cache
def _encoder(between: str) -> JSONEncoder:
    """What spells values on one line, with this between each and the next."""
    return JSONEncoder(
        ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(between, ": ")
    )
