"""Files of offices walked to their ends in a real browser: sheets, SPSS, households, weights."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest

from pramana import load, verify
from tests.browser.test_studio import (
    StudioProcess,
    choose_k,
    follow,
    protect_into,
    settled,
    wide,  # noqa: F401 - a fixture
)
from tests.io.test_more_formats import ods, xlsx

HEAD = ("sex", "born", "region", "income")
ROWS = [
    ("FM"[at % 2], dt.date(1950 + at % 40, 1 + at % 12, 1), "NESW"[at * 13 // 7 % 4], 1000 + at % 9)
    for at in range(400)
]


def written(folder: Path, name: str) -> None:
    """A file of people in one of several forms."""
    if name.endswith(".ods"):
        ods(folder / name, [HEAD, *ROWS])
    elif name.startswith("twice"):
        xlsx(folder / name, people=[("sex", "sex", "region", "income"), *map(doubled, ROWS)])
    else:
        xlsx(folder / name, notes=[("a", "b"), (1, 2)], people=[HEAD, *ROWS], empty=[("x",)])


def doubled(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (row[0], row[0], *row[2:])


@pytest.mark.parametrize("name", ["several.xlsx", "one.ods", "twice.xlsx"])
def test_a_spreadsheet_becomes_a_release_and_is_analysed(
    wide: Any,  # noqa: F811
    tmp_path: Path,
    name: str,
) -> None:
    """One sheet of several is chosen, names are numbered; the release and its table are there."""
    written(tmp_path, name)
    studio = StudioProcess(tmp_path)
    page = wide
    try:
        studio.enter(page)
        follow(page, page.get_by_role("button", name=re.compile(name)))
        if name == "several.xlsx":
            page.get_by_label("Another one").select_option("people")
            follow(page, page.get_by_role("button", name="Read it"))
        if name == "twice.xlsx":
            follow(page, page.get_by_role("button", name="Number the names"))
        page.get_by_text("The first 100 records").wait_for()
        studio.visit(page, "/columns")
        page.get_by_role("link", name="region", exact=True).wait_for()
        choose_k(page, studio, "5")
        protect_into(page, "out")
        settled(page)
        page.get_by_text("400 records are released into out").wait_for()
        page.get_by_text("Every check holds.").wait_for()
        studio.visit(page, "/release")
        follow(page, page.get_by_role("button", name=re.compile("out")))
        page.get_by_text("All verifiable checks passed.").wait_for()
        studio.visit(page, "/table?row=region")
        page.locator("table.estimates").wait_for()
        assert verify(tmp_path / "out").valid
        assert "region" in load(tmp_path / "out").certificate.schema.names
    finally:
        page.goto("about:blank")
        studio.stop()


def test_labels_household_weight_and_rules_of_a_survey(wide: Any, tmp_path: Path) -> None:  # noqa: F811
    """An SPSS file: the home is dropped, the weight is told, what cannot be is in no record."""
    import pandas as pd
    import pyreadstat

    every = range(600)
    frame = pd.DataFrame(
        {
            "home": [at // 2 for at in every],
            "sex": [1.0 + at % 2 for at in every],
            "marital": [1.0 + at * 7 // 3 % 3 for at in every],
            "age": [float(1 + (at * at // 3) % 3) for at in every],
            "w": [1.0 + at // 3 % 2 for at in every],  # tells nobody's sex
        }
    )
    frame.loc[(frame.age == 1), "marital"] = 1.0
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "survey.sav"),
        column_labels=["Household", "Sex", "Marital status", "Age group", "Weight"],
        variable_value_labels={
            "sex": {1: "Woman", 2: "Man"},
            "marital": {1: "Single", 2: "Married", 3: "Widowed"},
            "age": {1: "Child", 2: "Adult", 3: "Old"},
        },
    )
    studio = StudioProcess(tmp_path)
    page = wide
    try:
        studio.enter(page)
        follow(page, page.get_by_role("button", name=re.compile("survey.sav")))
        studio.visit(page, "/columns")
        roles = {"home": "Household", "sex": "Key", "marital": "Key", "age": "Key", "w": "Weight"}
        for at, name in enumerate(roles):
            page.locator(f"#role-{at}").select_option(label=roles[name])
        page.wait_for_load_state("networkidle")
        studio.visit(page, "/columns/rules?a=2&b=3")
        page.get_by_role("group", name="marital").get_by_label("Married").check()
        page.get_by_role("group", name="marital").get_by_label("Widowed").check()
        page.get_by_role("group", name="age").get_by_label("Child").check()
        follow(page, page.get_by_role("button", name="Add this combination"))
        page.get_by_text("marital is Married or Widowed and age is Child").wait_for()
        choose_k(page, studio, "3")
        page.get_by_text("household").first.wait_for()
        protect_into(page, "out")
        settled(page)
        page.get_by_text("600 records are released into out").wait_for()
        page.get_by_text("Every check holds.").wait_for()
        made = load(tmp_path / "out")
        table = made.opened.to_arrow(["marital", "age"]).to_pandas()
        assert not ((table.age == 1) & (table.marital > 1)).any()
        assert "home" not in made.certificate.schema.names
        studio.visit(page, "/release")
        follow(page, page.get_by_role("button", name=re.compile("out")))
        studio.visit(page, "/table?row=marital")
        page.get_by_text("Weighted by w").first.wait_for()
        page.get_by_role("rowheader", name="Widowed").first.wait_for()
    finally:
        page.goto("about:blank")
        studio.stop()
