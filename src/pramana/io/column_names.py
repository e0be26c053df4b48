"""Refuse duplicate column names, or number them where the owner asks for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from pramana.errors import InvalidTable

__all__ = ["distinct_names", "is_renaming", "numbered_names", "renaming", "require_distinct_names"]

_RENAMING: Final[ContextVar[bool]] = ContextVar("renaming", default=False)

NAMED = 6
"""So many names are listed in a message."""


@contextmanager
def renaming() -> Iterator[None]:
    """What is opened inside has its columns of one name numbered."""
    token = _RENAMING.set(True)
    try:
        yield
    finally:
        _RENAMING.reset(token)


def is_renaming() -> bool:
    """Whether columns of one name are numbered here."""
    return _RENAMING.get()


def numbered_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names; one that was there before gets a number that no other name has.

    >>> numbered_names(["a", "b", "a", "a_2"])
    ('a', 'b', 'a_3', 'a_2')
    """
    given, taken, numbers = set(names), set[str](), dict[str, int]()
    found: list[str] = []
    for name in names:
        own, number = name, numbers.get(name, 2)
        while own in taken or (own != name and own in given):
            own, number = f"{name}_{number}", number + 1
        numbers[name] = number
        taken.add(own)
        found.append(own)
    return tuple(found)


def distinct_names(names: Sequence[str], *, where: str, rename: bool | None = None) -> list[str]:
    """The names, numbered where that was asked; refused where it was not and two are the same."""
    if not (is_renaming() if rename is None else rename):
        require_distinct_names(names, where=where, offer=True)
        return list(names)
    return list(numbered_names(names))


def require_distinct_names(
    names: Sequence[str], *, where: str, offer: bool = False, way: str = ""
) -> None:
    """Refuse a table in which two columns have one name; ``offer`` or ``way`` say how to go on."""
    times = Counter(names)
    double = [name for name in times if times[name] > 1]
    if double:
        new = zip(numbered_names(names), names, strict=True)
        called = [own for own, name in new if times[name] > 1]
        way = way or (
            f"Rename them, or add --rename: they are then called {_first(called)}."
            if offer
            else "Rename them, or write the table to a file and add --rename."
        )
        found = _first([f"'{name}' {times[name]} times" for name in double])
        raise InvalidTable(
            f"Column names must differ, and {where} has {found}. {way}", code="duplicate-columns"
        )


def _first(words: Sequence[str]) -> str:
    """As many as a line holds, and how many more there are."""
    more = f" and {len(words) - NAMED:,} more" if len(words) > NAMED else ""
    return f"{', '.join(words[:NAMED])}{more}"
