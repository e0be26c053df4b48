"""What a result shows of itself: a line and its findings at the prompt, a list in a notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

__all__ = ["Shown", "as_part", "listed", "parts_of"]

MOST_LINES = 12
"""Findings that are printed; a result has all of them."""


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in a row; where some are left out, how many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def parts_of(text: str, apart: str = ",") -> list[str]:
    """What stands in a list; a part in double quotes may hold the sign that sets them apart.

    >>> parts_of('sex, "pets, if any", ,"say ""no"" "'), parts_of("job=a, b; sex=F", ";")
    (['sex', 'pets, if any', 'say "no" '], ['job=a, b', 'sex=F'])
    """
    part = rf'\s*(?:"((?:[^"]|"")*)"\s*(?={apart}|$)|([^{apart}]*))(?:{apart}|$)'
    pairs = re.findall(part, text)
    found = (quoted.replace('""', '"') or plain.strip() for quoted, plain in pairs)
    return [own for own in found if own]


def as_part(text: str, apart: str = ",") -> str:
    """A part as it is written in such a list.

    >>> as_part("sex"), as_part("pets, if any"), parts_of(as_part(' "a, b"')) == [' "a, b"']
    ('sex', '"pets, if any"', True)
    """
    plain = apart not in text and not text.startswith('"') and text == text.strip()
    return text if plain else '"' + text.replace('"', '""') + '"'


class Shown:
    """A result with a headline and findings in plain words.

    >>> class Found(Shown):
    ...     def shown(self):
    ...         return "Two things", ["one", "<other>"]
    >>> Found()
    Two things
    * one
    * <other>
    >>> Found()._repr_html_()
    '<p><strong>Two things</strong></p><ul><li>one</li><li>&lt;other&gt;</li></ul>'
    """

    def shown(self) -> tuple[str, Sequence[str]]:
        """The headline and the findings."""
        raise NotImplementedError

    def __repr__(self) -> str:
        head, lines = self.shown()
        more = [f"... {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        return "\n".join([head, *(f"* {line}" for line in lines[:MOST_LINES]), *more])

    def _repr_html_(self) -> str:
        head, lines = self.shown()
        items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
        return f"<p><strong>{html.escape(head)}</strong></p>" + (
            f"<ul>{items}</ul>" if items else ""
        )
