"""How pages look, read off their files: what a browser would tell much later."""

from __future__ import annotations

import re
from pathlib import Path

import pramana.studio

HOME = Path(pramana.studio.__file__).parent
SCROLLED = re.compile(r"\.([a-z-]+) \{[^}]*overflow(?:-[xy])?: auto")
ELEMENT = re.compile(r'<[a-z]+\b[^>]*\bclass="([^"]*)"[^>]*>')
HELD = {"steps", "files", "ticks", "ticks-wide", "panel"}
"""They hold links, buttons or boxes, which the keyboard reaches."""

FITTING = "whole"
"""What is made as small as its place."""


def test_what_is_scrolled_is_reached_by_the_keyboard() -> None:
    """A list or chart that may be larger than its place has a place in the order of keys."""
    styles = "".join(path.read_text() for path in (HOME / "assets").glob("*.css"))
    scrolled = {*SCROLLED.findall(styles)} - HELD
    assert {"scroll", "drawn", "chips", "code"} <= scrolled
    unreached = [
        f"{path.name}: {found[0]}"
        for path in sorted((HOME / "templates").rglob("*.html"))
        for found in ELEMENT.finditer(path.read_text())
        if scrolled & {*found[1].split()} and FITTING not in found[1].split()
        if 'tabindex="0"' not in found[0]
    ]
    assert unreached == []
