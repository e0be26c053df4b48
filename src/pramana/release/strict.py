"""Reading a JSON file that may have been written by anyone: one door, nothing half understood.

A :class:`Field` is a value with the path that leads to it. Whoever reads it says what it must be,
and gets exactly that or an error that names the path. Objects are asked for all their names at
once, so that a name that is unknown, lacking or given twice is refused; numbers are finite and
of bounded size; texts can be written as UTF-8.

Why not a library: pydantic takes a tenth of a second to load, more than all else that is done with
a small certificate. msgspec is quick, and one more thing to install. Neither refuses a name that is
given twice, and guarantees and methods of other packages have forms that no class here knows. What
remains for them is the hundred lines below.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NoReturn, TypeAlias

from pramana.errors import NotARelease
from pramana.matrices.packed import unpacked
from pramana.types import Entries, Form

__all__ = ["MOST_BYTES", "Field", "Plain", "parse"]

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

MOST_BYTES: Final = 2**28
"""Larger files are not read: 256 MiB hold a dense matrix of 3,000 values."""

MOST_TEXT: Final = 100_000
MOST_NUMBER: Final = 2**63 - 1
MOST_LABEL: Final = 10**30
"""Codes may be integers of more than 64 bits; they are released as texts."""

DEEPEST: Final = 6
"""How deep a value without a form of its own may be nested."""

DIGITS: Final = re.compile(r"0|[1-9][0-9]{0,19}")
PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w{0,60}")


def parse(content: bytes, *, what: str) -> Field:
    """The root of a JSON file; one that is no JSON, or repeats a name, is refused."""
    if len(content) > MOST_BYTES:
        raise NotARelease(f"{what} must have at most {MOST_BYTES:,} bytes.")
    try:
        tree = json.loads(
            content.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number
        )
    except (ValueError, RecursionError):  # also: not UTF-8, too deep, a number of too many digits
        raise NotARelease(f"{what} must be a JSON file, and is not.") from None
    except _Twice as twice:
        raise NotARelease(f"{what} must give each name once, and repeats {twice}.") from None
    return Field("", tree)


class _Twice(Exception):
    """A name that is given twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> Form:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(repr(next(name for name in names if names.count(name) > 1))[:80])
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


@dataclass(frozen=True)
class Field:
    """A value of the file, and the path that leads to it."""

    path: str
    value: Any

    def refuse(self, must: str) -> NoReturn:
        """What the value must be; the value itself is not shown."""
        raise NotARelease(f"{self.path or 'The certificate'} must be {must}.")

    # -- what a value can be -----------------------------------------------------------------

    def fields(self, needed: Iterable[str], *, free: Collection[str] = ()) -> dict[str, Field]:
        """An object with exactly these names, and perhaps those in ``free``."""
        found = self._object()
        lacking = [name for name in needed if name not in found]
        if lacking:
            raise NotARelease(f"{self._at(lacking[0])} is missing.")
        strange = sorted(set(found) - set(needed) - set(free))
        if strange:
            raise NotARelease(f"{self._at(strange[0])} is unknown. A newer pramana may know it.")
        return {name: Field(self._at(name), value) for name, value in found.items()}

    def entries(self) -> dict[str, Field]:
        """An object with any names."""
        return {name: Field(self._at(name), value) for name, value in self._object().items()}

    def items(self, *, least: int = 0) -> list[Field]:
        """A list."""
        return [Field(f"{self.path}[{at}]", own) for at, own in enumerate(self._list(least))]

    def text(self, *choices: str) -> str:
        """A text; one of the choices where there are any."""
        if not _is_text(self.value) or (choices and self.value not in choices):
            self.refuse(f"one of {', '.join(choices)}" if choices else "a text")
        return str(self.value)

    def matching(self, pattern: str, must: str) -> str:
        """A text of a certain spelling."""
        if not _is_text(self.value) or not re.fullmatch(pattern, self.value):
            self.refuse(must)
        return str(self.value)

    def whole(self, *, least: int = 0) -> int:
        """A whole number of at most 63 bits."""
        if type(self.value) is not int or not least <= self.value <= MOST_NUMBER:
            self.refuse(f"a whole number at or above {least}")
        return int(self.value)

    def number(self) -> float:
        """A finite number."""
        if not _is_number(self.value):
            self.refuse("a finite number")
        found: float = self.value
        return found

    def truth(self) -> bool:
        """True or false."""
        if type(self.value) is not bool:
            self.refuse("true or false")
        return bool(self.value)

    def or_none(self) -> Field | None:
        """The field, unless it is null."""
        return None if self.value is None else self

    # -- many at once, since matrices are large ------------------------------------------------

    def labels(self, width: int = 1) -> tuple[Any, ...]:
        """A list of labels; of joint cells, which are lists of ``width`` labels, where wider."""
        own = self._list(1)
        if width == 1:
            if not _are_labels(own):
                self.refuse("a list of texts, finite numbers, truth values or null")
            return tuple(own)
        cells = set(map(type, own)) == {list} and set(map(len, own)) == {width}
        if not cells or not _are_labels([*chain.from_iterable(own)]):
            self.refuse(f"a list of lists of {width} labels")
        return tuple(map(tuple, own))

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(field.text() for field in self.items())

    def numbers(self) -> tuple[float, ...]:
        """A list of finite numbers."""
        if not all(map(_is_number, self._list(0))):
            self.refuse("a list of finite numbers")
        return tuple(self.value)

    def wholes(self) -> tuple[int, ...]:
        """A list of whole numbers at or above 0."""
        if not all(type(own) is int and 0 <= own <= MOST_NUMBER for own in self._list(0)):
            self.refuse("a list of whole numbers at or above 0")
        return tuple(self.value)

    def packed(self) -> tuple[int, ...]:
        """Whole numbers at or above 0, packed into a text; of any length."""
        try:
            return tuple(unpacked(self.value if type(self.value) is str else " "))
        except ValueError:
            self.refuse("whole numbers packed into a text")

    def weights(self) -> tuple[int, ...]:
        """A list of integers over 2**64, written as texts."""
        own = self._list(0)
        if not all(isinstance(text, str) and DIGITS.fullmatch(text) for text in own):
            self.refuse("a list of texts of at most 20 digits")
        return tuple(map(int, own))

    def plain(self) -> Plain:
        """Any value without a form of its own, as long as it is not nested too deep."""
        for depth, value in _values(self.value, 0):
            if depth > DEEPEST or not (_is_label(value) or isinstance(value, list | dict)):
                self.refuse(f"made of texts and finite numbers, nested {DEEPEST} deep at most")
            if type(value) is float and value == 0 and math.copysign(1, value) < 0:
                self.refuse("made of numbers of which none is a zero below zero")
        found: Plain = self.value
        return found

    # -- inside --------------------------------------------------------------------------------

    def _object(self) -> Entries:
        if not isinstance(self.value, dict) or not all(map(_is_text, self.value)):
            self.refuse("an object")
        return self.value

    def _list(self, least: int) -> list[Any]:
        if not isinstance(self.value, list) or len(self.value) < least:
            self.refuse("a list" if not least else f"a list of at least {least}")
        return self.value

    def _at(self, name: str) -> str:
        shown = name if PLAIN_NAME.fullmatch(name) else repr(name[:60])
        return f"{self.path}.{shown}" if self.path else shown


def _values(value: Any, depth: int) -> Iterator[tuple[int, Any]]:
    """A value and all that it holds, down to where it is too deep."""
    yield depth, value
    if depth <= DEEPEST and isinstance(value, list | dict):
        for own in value.values() if isinstance(value, dict) else value:
            yield from _values(own, depth + 1)


def _is_text(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        return False
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= MOST_NUMBER
    return type(value) is float and math.isfinite(value)


def _are_labels(values: list[Any]) -> bool:
    """Whether all are; each different one is looked at once, since cells repeat theirs."""
    kinds = [*map(type, values)]
    if any(issubclass(kind, list | dict) for kind in set(kinds)):
        return False
    return all(_is_label(value) for _, value in set(zip(kinds, values, strict=True)))


def _is_label(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= MOST_LABEL
    return value is None or type(value) is bool or _is_number(value) or _is_text(value)
