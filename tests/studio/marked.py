"""A language in which every text that the catalogue can translate is between marks.

What a page shows outside of them can be translated by nobody.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from html.parser import HTMLParser
from typing import Any, Final

from pramana.base import translation
from tests.brief import work_briefly

BEGIN, END = "\u27e6", "\u27e7"
WORD: Final = re.compile(r"[A-Za-z]{2,}")
FILLED_IN: Final = re.compile(r"\{\w+(?:!r)?(?::[^{}]*)?\}|%\(\w+\)s|%%")
READ_ALOUD: Final = ("aria-label", "title", "placeholder", "alt", "data-head", "data-words")
CODE: Final = ("pre", "code", "script", "style", "textarea")
VOID: Final = ("input", "br", "link", "meta", "img", "hr")


class Marked:
    """A catalogue that puts marks around each text, but not around the fields in it."""

    def gettext(self, text: str) -> str:
        """The text between marks; what is filled in must have marks of its own."""
        parts = FILLED_IN.split(text)
        fields = [*(field[0] for field in FILLED_IN.finditer(text)), ""]
        return "".join(
            f"{BEGIN}{part}{END}{field}" if WORD.search(part) else f"{part}{field}"
            for part, field in zip(parts, fields, strict=True)
        )


def mark() -> None:
    """Let German be that language, in this process."""
    translation._catalogue = lambda _: Marked()  # type: ignore[assignment, return-value]


def work_marked(*pipes: Any) -> None:
    """A worker that speaks it."""
    mark()
    work_briefly(*pipes)


def unmarked(html: str, names: Collection[str]) -> list[str]:
    """The texts of a page that no catalogue can translate, but for ``names`` and code."""
    page = _Texts()
    page.feed(html)
    page.close()
    found = []
    for text in ["".join(page.texts), *page.aloud]:
        for piece in _outside(text).split("\n"):
            for name in sorted(names, key=len, reverse=True):
                piece = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", piece)
            if WORD.search(piece):
                found.append(" ".join(piece.split()))
    return found


def _outside(text: str) -> str:
    """What stands outside of all marks."""
    depth, kept = 0, []
    for letter in text:
        depth += letter == BEGIN
        if not depth:
            kept.append(letter)
        if letter == END and depth:
            depth -= 1
            kept.append(" ")
    return "".join(kept)


class _Texts(HTMLParser):
    """Collects what a page shows, a line for each element, and what is read aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.aloud: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """What is read aloud of an element; what is code is for nobody to translate."""
        self.aloud += [value for name, value in attrs if name in READ_ALOUD and value]
        self.texts.append("\n")
        if tag not in VOID:
            self._code += tag in CODE

    def handle_endtag(self, tag: str) -> None:
        """The end of an element."""
        self.texts.append("\n")
        self._code -= tag in CODE

    def handle_data(self, data: str) -> None:
        """A text."""
        if not self._code:
            self.texts.append(data.replace("\n", " "))
