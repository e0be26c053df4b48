"""Every cell of the page's table of what each kind of release answers, asked of releases."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pramana import api
from pramana.errors import NotCovered, UnknownColumn
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.schema.schema import Schema
from tests.analysis.releases import SCHEMA, released, truth
from tests.analysis.test_crossing import ask

PAGE = Path(__file__).parents[2] / "docs/howto/kinds.md"

QUESTIONS = {
    "unchanged columns, alone": "counts ill region",
    "one randomised column": "counts a",
    "several randomised columns": "counts a b",
    "randomised columns by an unchanged one": "counts a ill",
    "mean or total by a randomised column": "mean inc by a",
    "independence of randomised columns": "a and b independent",
    "independence of a randomised and an unchanged column": "a and ill independent",
    "regression on randomised columns": "regress on a key",
    "regression on unchanged columns": "regress on the kept",
    "synthetic records": "synthesize",
}


def _rows() -> list[list[str]]:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| question | matrices published") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


HEAD, _, *ROWS = _rows()
CELLS = [
    (row[0], method, cell)
    for row in ROWS
    for head, cell in zip(HEAD[1:], row[1:], strict=True)
    for method in re.findall("`([a-z-]+)`", head)
]


def test_the_table_has_the_rows_that_are_asked():
    """None is added without a question."""
    assert [row[0] for row in ROWS] == list(QUESTIONS)
    assert len(CELLS) == len(QUESTIONS) * 9


@cache
def rounds():
    """Counts of rounds of the keys: nothing else can be released with them."""
    schema, target = Schema(SCHEMA.columns[:3]), ShuffledPrivacy(epsilon=6, delta=1e-6)
    table = truth().select(["a", "b", "c"])
    plan = api.design(schema, target, records=table.num_rows, method="shuffled-marginals")
    return api.protect(table, replace(plan, asked=(), attained=()), seed=0)


@pytest.mark.parametrize(("row", "method", "cell"), CELLS, ids=lambda own: own[:24])
def test_what_the_cell_says_is_what_happens(row, method, cell):
    """Refused where it says so (of a method alone, where it is named); no interval, or exact, where
    it says so; and else an answer with an error."""
    release = rounds() if method == "shuffled-marginals" else released(method)
    own = QUESTIONS[row]
    if cell.startswith(("not applicable", "only of randomised numbers")):
        with pytest.raises(UnknownColumn):
            ask(release, own)
        return
    named = f"`{method}`" in cell and "refused" in cell
    if cell.startswith("refused") or named:
        with pytest.raises(NotCovered):
            ask(release, own)
        return
    if own == "synthesize":  # the usual way: rank is for whole records
        assert release.synthesize(seed=1).num_rows == release.records
        return
    found = ask(release, own)
    if not hasattr(found, "no_interval"):
        return
    assert ("no interval" in cell) == bool(found.no_interval)
    assert bool(np.isfinite(found.se).all()) == (not found.no_interval)
    exact = cell == "exact" or f"exact for `{method}`" in cell
    assert exact == bool((found.se == 0).all())


def test_of_centres_nothing_about_keys_is_answered():
    """As the sentence below the table says."""
    for row, own in QUESTIONS.items():
        if "unchanged columns" not in row:
            with pytest.raises(NotCovered):
                ask(released("centroid"), own)
