"""The page on the papers names files, objects and tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.examples import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and "`tests/" in line
]


def test_the_page_has_rows_of_all_five_papers() -> None:
    assert len(ROWS) > 40
    assert PAGE.count("\n## ") == 5


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_a_file_and_what_it_holds(row: list[str]) -> None:
    path, name = re.findall(r"`([^`]+)`", row[3])
    text = (ROOT / "src" / "pramana" / path).read_text()

    assert re.search(rf"^\s*(class|def) {re.escape(name)}\b", text, re.MULTILINE)


def test_every_test_of_the_page_exists() -> None:
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE):
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path}::{name}"
