"""Pictures come from the plotting library: nothing in the source draws SVG by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pramana

SOURCES = Path(pramana.__file__).parent
KINDS = {".py", ".html", ".js", ".css", ".typ", ".svg"}
SHAPES = "svg|rect|circle|ellipse|line|polyline|polygon|path"
DRAWING = re.compile(rf"""<(?:{SHAPES})(?=[\s/>])|createElementNS|["'](?:{SHAPES})["'],\s*\w+=""")
ICONS = {
    "base/charts.py": 1,  # the door: it gives the library's SVG a head with a name and words
    "studio/templates/base.html": 3,  # the mark before the name of the studio
    "studio/assets/icon.svg": 3,  # the same, for the tab
    "studio/templates/data.html": 8,  # what the studio does, in three icons
}
"""How many marks these may hold; no other file may hold any."""


def sources() -> list[Path]:
    """What is written here: scripts that were taken over as they are are left out."""
    found = (own for own in SOURCES.rglob("*") if own.suffix in KINDS and ".min." not in own.name)
    return sorted(found)


def test_no_file_draws_by_hand() -> None:
    """No shape in templates, scripts, style sheets and modules but in those few icons."""
    found = {}
    for path in sources():
        marks = DRAWING.findall(path.read_text(encoding="utf-8"))
        if marks:
            found[path.relative_to(SOURCES).as_posix()] = len(marks)
    assert found == ICONS


@pytest.mark.parametrize(
    "text",
    [
        '<svg viewBox="0 0 100 8">',
        '<rect class="bar" x="0"/>',
        "<line\nx1='0'>",
        'document.createElementNS("x", "y")',
        'element("rect", width=3)',
    ],
)
def test_the_rule_finds_what_it_is_meant_to_find(text: str) -> None:
    """The ways in which charts were drawn, each of them once."""
    assert DRAWING.search(text)
