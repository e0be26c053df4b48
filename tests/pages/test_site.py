"""The site stands by itself: complete, typeset, and nothing in it is fetched from elsewhere."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import pramana
from tests.docs.examples import ROOT

SITE = Path(os.environ["PRAMANA_TEST_SITE"])
PAGES = sorted(SITE.rglob("*.html"))
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Fetches(HTMLParser):
    """Every address that a browser would fetch to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in FETCHED and named.get("rel") != "canonical":
            self.found.append(named.get(FETCHED[tag]) or "")


def foreign(page: str) -> list[str]:
    """Addresses on other hosts that a page fetches."""
    parser = Fetches()
    parser.feed(page)
    return [found for found in parser.found if re.match(r"(https?:)?//", found)]


def test_no_page_fetches_anything_from_elsewhere() -> None:
    """Scripts, styles, letters and pictures lie in the folder."""
    assert len(PAGES) > 30
    for page in PAGES:
        assert not foreign(page.read_text()), page
    for style in SITE.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", style.read_text()), style


def test_a_page_that_fetches_is_found() -> None:
    """The test above can fail."""
    assert foreign('<script src="https://cdn.example/x.js"></script>')
    assert not foreign('<a href="https://example.org">elsewhere</a><img src="a.svg">')


def test_every_page_of_the_project_is_in_the_site() -> None:
    """And in its navigation, so that it can be found."""
    start = (SITE / "index.html").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (SITE / name).exists(), name
        assert f'href="{name}"' in start or name == Path("index.html"), f"not in mkdocs.yml: {name}"


def test_three_paths_begin_on_the_first_page() -> None:
    """Steward, analyst, developer."""
    start = (SITE / "index.html").read_text()
    for word in ("steward", "analyst", "developer"):
        assert re.search(rf"<h3[^>]*>{word.title()}:", start)


@pytest.mark.parametrize(
    "page", sorted((SITE / "proofs").glob("*.html")), ids=lambda page: page.stem
)
def test_mathematics_is_typeset(page: Path) -> None:
    """As MathML that a browser draws by itself; no letters of TeX are left over."""
    text = page.read_text()
    if page.stem != "index":
        assert "<math " in text
    shown = re.sub(r"<(script|style|annotation)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert 'class="arithmatex"' not in shown
    assert not re.search(r"\$\$|\\(frac|le|sum|gamma)\b|\\\(", shown)


def test_every_public_name_has_its_place() -> None:
    """From the docstrings, with an address of its own."""
    page = (SITE / "reference" / "api.html").read_text()
    for name in pramana.__all__:
        assert re.search(rf'id="pramana(\.\w+)*\.{name}"', page), name


def test_the_search_knows_every_page() -> None:
    """It works on the reader's machine."""
    index = json.loads((SITE / "search" / "search_index.json").read_text())
    known = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(page.relative_to(SITE)) for page in PAGES} - {"404.html"} <= known | {"index.html"}
