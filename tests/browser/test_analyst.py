"""An analyst's path through the studio, in a real browser: demo data, and a file with labels."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from playwright.sync_api import expect

from pramana import api
from pramana.base.randomness import Keystream
from pramana.experiments.population import make_population, population_schema
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.schema.roles import Role
from pramana.schema.schema import Column
from tests.browser.conftest import COMMAND

RECORDS = 4000
LABELLED = {"sex": {1: "Man", 2: "Woman"}, "school": {1: "None", 2: "Primary", 3: "Secondary"}}
PATHS = {
    "demo": {"row": "sex", "column": "education", "number": "income", "words": "F"},
    "survey": {"row": "school", "column": "sex", "number": "income", "words": "Woman"},
}
"""What is asked of each release, and a word that must come."""


def demo_release(folder: Path) -> None:
    people = make_population(RECORDS, keystream=Keystream.from_seed(4))
    unchanged = [Column(name, Role.SENSITIVE) for name in ("occupation", "income", "cost")]
    schema = replace(population_schema(), tables=()).replace_columns(unchanged)
    plan = api.design(schema, PkAnonymity(k=5), data=people, method="retention")
    told = ["occupation", "income"]  # who has none of them is young or old
    api.protect(people, plan, to=folder / "demo", accept_risk=told, seed=1)


def survey_release(folder: Path) -> None:
    """From an SPSS file with labels and a weight."""
    random = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "sex": random.integers(1, 3, RECORDS),
            "school": random.integers(1, 4, RECORDS),
            "income": random.normal(2000, 300, RECORDS).round(),
            "w": random.choice([1.0, 2.0], RECORDS),
        }
    )
    file = folder / "survey.sav"
    titles = {"sex": "Sex of the respondent", "school": "Highest <b>school</b>"}
    pyreadstat.write_sav(frame, str(file), column_labels=titles, variable_value_labels=LABELLED)
    schema = api.describe(file, keys=["sex", "school"], sensitive=["income"], weight="w")
    plan = api.design(schema, PkAnonymity(k=5), data=file, method="retention")
    api.protect(file, plan, to=folder / "survey", seed=1)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a studio on a folder with both releases."""
    folder = tmp_path_factory.mktemp("analyst")
    demo_release(folder)
    survey_release(folder)
    command = [*COMMAND, "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


def enter(chromium: Any, studio: str, **options: Any) -> tuple[Any, str]:
    """A page in the studio, and the address of the studio."""
    page = chromium.new_context(**options).new_page()
    page.set_default_timeout(60_000)
    page.goto(studio)
    address = studio.split("/?")[0]
    page.wait_for_url(f"{address}/")
    return page, address


def choose_release(page: Any, name: str) -> None:
    page.get_by_role("link", name="Analyse a release").click()
    page.get_by_role("button", name=name).click()
    page.get_by_text("All verifiable checks passed").wait_for()


@pytest.mark.parametrize("name", PATHS)
def test_from_the_folder_to_a_file(chromium: Any, studio: str, name: str, tmp_path: Path) -> None:
    """Check, codebook, a table by lists alone, percentages, means, a model, CSV and Excel."""
    asked = PATHS[name]
    page, _ = enter(chromium, studio)
    choose_release(page, name)
    page.get_by_text("Passed").first.wait_for()
    page.get_by_role("link", name="Codebook").first.click()
    page.get_by_text("Values of").first.wait_for()
    expect(page.get_by_text(asked["words"], exact=True)).not_to_have_count(0)
    page.get_by_role("link", name="Table", exact=True).click()
    page.get_by_label("Rows", exact=True).select_option(asked["row"])
    page.get_by_label("Columns", exact=True).select_option(asked["column"])
    page.get_by_label("Numbers", exact=True).select_option("row")
    page.get_by_role("button", name="Show the table").click()
    page.locator("table.estimates").wait_for()
    expect(page.locator("table.estimates")).to_contain_text("%")
    chart = page.locator(".drawn svg").filter(visible=True)
    expect(chart).to_have_count(1)
    expect(chart.get_by_text(re.compile(r"^\d+ %$")).first).to_be_visible()
    page.get_by_text("Weighted by w." if name == "survey" else "Not weighted.").first.wait_for()
    for ending in ("csv", "xlsx"):
        with page.expect_download() as waiting:
            page.get_by_role("link", name={"csv": "CSV", "xlsx": "Excel"}[ending]).click()
        waiting.value.save_as(tmp_path / f"table.{ending}")
    rows = list(csv.reader((tmp_path / "table.csv").read_text().splitlines()))
    assert rows[0][2:] == ["estimate", "standard error", "from", "to", "unreliable"]
    assert (tmp_path / "table.xlsx").read_bytes().startswith(b"PK")
    page.get_by_label("Numbers", exact=True).select_option("mean")
    page.get_by_label("of", exact=True).select_option(asked["number"])
    page.get_by_role("button", name="Show the table").click()
    page.locator("strong", has_text="Mean of").wait_for()
    page.get_by_role("link", name="Model", exact=True).click()
    page.get_by_label("Outcome", exact=True).select_option(asked["number"])
    page.get_by_label("Explanatory variable 1").select_option(asked["row"])
    page.get_by_role("button", name="Fit the model").click()
    page.locator("table.estimates").or_(page.locator(".warning")).wait_for()
    page.get_by_text("Show code").click()
    expect(page.get_by_label("Commands")).to_contain_text("pramana regress")
    page.context.close()


def test_columns_are_dragged_into_the_table(chromium: Any, studio: str) -> None:
    """A chip on a list chooses it and shows the table; on the formula it is written there."""
    page, address = enter(chromium, studio, viewport={"width": 1280, "height": 900})
    choose_release(page, "survey")
    page.goto(f"{address}/table")
    page.locator(".chip", has_text="Sex").drag_to(page.get_by_label("Rows", exact=True))
    page.wait_for_url("**/table?row=sex*")
    page.locator("table.estimates").wait_for()
    expect(page.locator("table.estimates")).to_contain_text("Woman")
    page.goto(f"{address}/model")
    page.get_by_text("Formula and options").click()
    for name in ("income", "sex"):
        page.locator(f".chip[data-column={name}]").drag_to(page.get_by_label("Formula"))
    expect(page.get_by_label("Formula")).to_have_value("income ~ sex")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_no_page_has_a_barrier(chromium: Any, studio: str, width: int, scheme: str) -> None:
    """axe-core finds nothing, everything unfolded; nothing is wider than the screen; no error."""
    from axe_playwright_python.sync_playwright import Axe

    page, address = enter(
        chromium, studio, viewport={"width": width, "height": 800}, color_scheme=scheme,
        bypass_csp=True,
    )  # fmt: skip
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    choose_release(page, "survey")
    for path, ready in (
        ("/release", "text=Guarantees"),
        ("/codebook", "text=Values of"),
        ("/table", "text=Show the table"),
        ("/table?row=school&column=sex&what=column&level=0.9", "table.estimates"),
        ("/model?formula=income+~+C(sex)", "#found-title + :not(:has(p.quiet:only-child))"),
    ):
        page.goto(address + path)
        page.locator(ready).first.wait_for()
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert not errors
    page.context.close()
