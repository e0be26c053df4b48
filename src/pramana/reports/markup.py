"""HTML elements from plain values; whatever is not markup is escaped.

>>> element("p", "a < b", class_="note")
'<p class="note">a &lt; b</p>'
>>> element("p", element("b", "x"), " & y")
'<p><b>x</b> &amp; y</p>'
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from pramana.pictures import readable

__all__ = ["Markup", "details_table", "element", "joined", "scrolling", "table"]

VOID = frozenset({"meta", "br", "hr"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(tag: str, /, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """One element; attribute names end in ``_`` where Python reserves the word, ``_`` is a hyphen.

    An attribute that is true stands alone, one that is ``None`` or false is left out.
    """
    words = [tag]
    for key, value in attributes.items():
        word = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(word)
        elif value is not None and value is not False:
            words.append(f'{word}="{html.escape(readable(str(value)))}"')
    opening = f"<{' '.join(words)}>"
    if tag in VOID:
        return Markup(opening)
    return Markup(f"{opening}{joined(children)}</{tag}>")


def joined(children: Iterable[str | None]) -> Markup:
    """Children in a row; text is escaped, markup is not. No line ends between a number and %.

    >>> joined(["at most 20 %"]) == "at most 20" + chr(160) + "%"
    True
    """
    parts = (c if isinstance(c, Markup) else _escaped(c) for c in children if c)
    return Markup("".join(parts))


def _escaped(text: str) -> str:
    return re.sub(r"(?<=\d) %", "\u00a0%", html.escape(readable(text), quote=False))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, numbers: int = 1
) -> Markup:
    """A table with a caption; the first column heads its row, from ``numbers`` on all are figures.

    It scrolls sideways by itself on a narrow screen.
    """
    head = element(
        "tr",
        *(
            element("th", word, scope="col", class_="number" if place >= numbers else None)
            for place, word in enumerate(heads)
        ),
    )
    body = []
    for row in rows:
        cells = [element("th", row[0], scope="row")]
        for place, cell in enumerate(row[1:], start=1):
            cells.append(element("td", cell, class_="number" if place >= numbers else None))
        body.append(element("tr", *cells))
    made = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *body)
    )
    return scrolling(made, label=caption)


def scrolling(content: str, *, label: str) -> Markup:
    """A region that scrolls sideways and can be reached by keyboard."""
    return element("div", content, class_="scroll", role="region", aria_label=label, tabindex="0")


def details_table(summary: str, content: str) -> Markup:
    """Numbers behind a plot, folded away."""
    return element("details", element("summary", summary), content)
