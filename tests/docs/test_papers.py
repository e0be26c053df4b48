"""The pages on the papers name files, objects and tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.examples import ROOT

DOCS = ROOT / "docs"
PAGE = "\n".join((DOCS / f"{name}.md").read_text() for name in ("papers", "papers_learning"))
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]
PAPERS = {
    "Cator": {"eq.": range(1, 6), "Figure": [1]},
    "Dowd": {
        "Theorem": [1, 2], "Lemma": [1, 2], "Proposition": [1], "Algorithm": [1, 2],
        "Table": [1], "Figure": range(1, 7), "eq.": [1],
    },
    "Wei": {
        "Theorem": [1, 2], "Lemma": [1], "Corollary": [1], "Table": [1, 2],
        "Figure": range(1, 11), "eq.": range(2, 15),
    },
    "Ghatak": {"Theorem": [3.1], "Lemma": [3.2], "Table": [1, 2], "eq.": [3]},
    "Ikarashi": {
        "Definition": range(1, 8), "Theorem": [1, 2, 3], "Lemma": range(1, 5),
        "Corollary": range(1, 6), "Proposition": [1], "Algorithm": [1, 2, 3], "Table": [1],
        "Figure": range(1, 5),
    },
}  # fmt: skip
"""All that the papers number, but for equations that only lead to others."""

NUMBERED = re.compile(
    r"(Definition|Theorem|Lemma|Corollar|Proposition|Algorithm|Table|Figure|eq\.)(?:ies|as|s|y)?"
    r" (\d[\d.]*(?:[a-zA-Z]\b)?(?:(?:, | and | to )\d[\d.]*(?:[a-zA-Z]\b)?)*)"
)


def numbered(section: str) -> set[tuple[str, float]]:
    """The kinds and numbers in the first cells of a section's rows, ranges in full."""
    found = set()
    for line in section.splitlines():
        if not line.startswith("| "):
            continue
        for kind, numbers in NUMBERED.findall(line.split(" | ")[0]):
            kind = "Corollary" if kind == "Corollar" else kind
            for part in re.split(r", | and ", re.sub(r"(\d)[a-zA-Z]\b", r"\1", numbers)):
                first, _, last = part.partition(" to ")
                found.add((kind, float(first)))
                found |= {(kind, float(n)) for n in range(int(float(first)), int(last or 0) + 1)}
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_has_a_row_for_all_that_a_paper_numbers(paper: str) -> None:
    sections = {part.split()[0].strip(","): part for part in PAGE.split("\n## ")[1:]}
    expected = {(kind, float(n)) for kind, own in PAPERS[paper].items() for n in own}

    assert len(sections) == len(PAPERS)
    assert expected - numbered(sections[paper]) == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_has_a_verb_a_file_and_a_test(row: list[str]) -> None:
    assert len(row) == 5
    assert re.fullmatch(r"`tests/[\w/]+\.py::\w+`", row[4])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_a_file_and_what_it_holds(row: list[str]) -> None:
    path, name = re.findall(r"`([^`]+)`", row[3])
    text = (ROOT / "src" / "pramana" / path).read_text()

    assert re.search(rf"^\s*(class|def) {re.escape(name)}\b", text, re.MULTILINE)


def test_every_test_of_the_page_exists() -> None:
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE):
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path}::{name}"
