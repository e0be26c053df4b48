"""Everything that README and docs show runs, and shows what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import ROOT, Block, blocks, pictures, run, titles

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
KNOWN = {"console", "sh", "python", "toml", "text", "json", ""}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.deep)
        if page.parent.name in ("examples", "howto") or page.stem == "tutorial"
        else page
        for page in PAGES
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_what_a_page_shows_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block after block, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(page):
        assert block.language in KNOWN, f"{block.page}:{block.line}: nothing runs {block.language}"
        run(block, names, tmp_path)
    for name in pictures(page):
        assert titles(tmp_path / name) == titles(page.parent / name), "make pictures draws it anew"


def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    """The runner compares: what is not printed, what fails and what raises is reported."""
    for language, text in [
        ("console", "$ pramana --version\npramana 99\n"),
        ("sh", "pramana frobnicate\n"),
        ("python", ">>> 1 + 1\n3\n"),
        ("python", "assert False\n"),
        ("sh", "make coffee\n"),
    ]:
        with pytest.raises(AssertionError):
            run(Block("page", 1, language, "", text), {}, tmp_path)


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link points to a file that is there."""
    import re

    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
