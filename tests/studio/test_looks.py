"""How pages look, read off their files: what a browser would tell much later."""

from __future__ import annotations

import re
from pathlib import Path

import pramana.studio
from pramana.base.charts import tokens

HOME = Path(pramana.studio.__file__).parent
SCROLLED = re.compile(r"\.([a-z-]+) \{[^}]*overflow(?:-[xy])?: auto")
ELEMENT = re.compile(r'<[a-z]+\b[^>]*\bclass="([^"]*)"[^>]*>')
HELD = {"steps", "files", "ticks", "ticks-wide", "panel"}
"""They hold links, buttons or boxes, which the keyboard reaches."""


def test_what_is_scrolled_is_reached_by_the_keyboard() -> None:
    """A list or chart that may be larger than its place has a place in the order of keys."""
    styles = "".join(path.read_text() for path in (HOME / "assets").glob("*.css"))
    scrolled = {*SCROLLED.findall(styles)} - HELD
    assert {"scroll", "chips", "code"} <= scrolled
    unreached = [
        f"{path.name}: {found[0]}"
        for path in sorted((HOME / "templates").rglob("*.html"))
        for found in ELEMENT.finditer(path.read_text())
        if scrolled & {*found[1].split()}
        if 'tabindex="0"' not in found[0]
    ]
    assert unreached == []


COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b")
OTHER = {"studio.css": {"#b4571b", "#e9a06d"}, "charts.css": None}
"""Colours beside the common ones: of a second mark, and of charts, which have their own table."""


def test_all_pages_take_their_colours_from_one_file() -> None:
    """Studio, surveys, reports and releases; the site has the same accent."""
    package = HOME.parent
    sheets = [path for path in package.rglob("*.css") if path.name != "tokens.css"]
    assert {"studio.css", "page.css", "look.css", "analyse.css"} <= {path.name for path in sheets}
    for path in sheets:
        allowed = OTHER.get(path.name, set())
        if allowed is not None:
            assert {*COLOUR.findall(path.read_text())} == allowed, path.name
    accents = re.findall(r"--accent: (#\w+)", tokens())
    site = (package.parents[1] / "docs" / "site" / "pramana.css").read_text()
    assert f"--md-primary-fg-color: {accents[0]};" in site


def test_each_name_of_a_colour_is_known() -> None:
    """A variable that no sheet states would leave a browser's own colour."""
    known = {*re.findall(r"(--[\w-]+):", tokens())}
    for path in HOME.parent.rglob("*.css"):
        text = path.read_text()
        own = {*re.findall(r"(--[\w-]+):", text), "--share", "--low", "--high"}
        assert {*re.findall(r"var\((--[\w-]+)", text)} <= known | own, path.name
