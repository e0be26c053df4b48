"""Reports in a real browser: no barrier, no page wider than the screen, no endless page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pramana import api
from tests.reporting.editions import METHODS, released_to, truth

LONGEST = {1280: 8000, 800: 9500, 390: 13000}
"""Pixels by width; the reports before these had 11,000 at the widest."""

COLOURS = """["rect", "text"].map((one) =>
    getComputedStyle(document.querySelector(`svg[role=img] ${one}`)).fill)"""
"""Of what a chart stands on, and of its letters."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both editions of every kind, and a comparison."""
    folder = tmp_path_factory.mktemp("attribute-sampling")
    found = {}
    for kind in METHODS:
        release = released_to(folder, kind)
        for edition in ("external", "internal"):
            original = None if edition == "external" else truth()
            made = api.report(release, original=original, name="Survey", office="Office")
            found[f"{kind} {edition}"] = made.save(folder / f"{kind}-{edition}.html")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_no_report_has_a_barrier(
    chromium: Any, written: dict[str, Path], width: int, scheme: str
) -> None:
    """axe-core finds nothing, with everything unfolded; nothing is wider than the screen."""
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    for name, path in written.items():
        page.goto(path.as_uri())
        tall = page.evaluate("document.documentElement.scrollHeight")
        assert tall < LONGEST[width], (name, tall)
        paper, letters = page.evaluate(COLOURS)
        assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "none"), name
        assert scheme == "light" or letters == "rgb(233, 238, 240)", name
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    context.close()


def test_the_first_page_is_one_page_on_paper(chromium: Any, written: dict[str, Path]) -> None:
    """Printed on A4, the annex begins on the second sheet."""
    import io

    import pypdf

    page = chromium.new_page()
    for name, path in written.items():
        page.goto(path.as_uri())
        printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4", margin={"top": "15mm"})))
        first, second = (printed.pages[at].extract_text() for at in (0, 1))
        assert ("Signature" in first) == ("external" not in name), name
        assert "Technical annex" in second, name
    page.close()
