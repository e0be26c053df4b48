"""Advice by questions in words: tables, means and models count, and a method must answer them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana import Categories, Column, Role, Schema, api
from pramana.evaluation.advise import Advice

ASKED = ("sex*region", "income by region", "income ~ sex")
SCHEMA = Schema(
    (
        Column("sex", Role.KEY, Categories(("f", "m"))),
        Column("region", Role.KEY, Categories(("n", "s", "w"))),
        Column("income", Role.SENSITIVE),
    )
)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Incomes that depend on sex and region."""
    rng = np.random.default_rng(6)
    sex, region = rng.choice(["f", "m"], 400), rng.choice(["n", "s", "w"], 400)
    income = 2000 + 900 * (sex == "m") + 600 * (region == "w") + rng.normal(0, 100, 400)
    return pa.table({"sex": sex, "region": region, "income": income.round(2)})


@pytest.fixture(scope="module")
def advice(people: pa.Table) -> Advice:
    return api.advise(people, SCHEMA, k=5, asked=ASKED)


def test_a_method_that_cannot_answer_is_out(advice):
    """It is named with the questions, has no error, and is not recommended."""
    unable = [trial for trial in advice.tried if trial.unanswered]
    assert unable
    for trial in unable:
        assert set(trial.unanswered) <= set(ASKED)
        assert trial.to_json()["error"] is None
        assert trial not in (advice.best, advice.recommended)
        assert f"{trial.scenario.title} cannot answer: {', '.join(trial.unanswered)}." in (
            advice.why()
        )
    out = [row for row in advice.rows()[1] if row[-1] == "cannot answer"]
    assert [row[2] for row in out] == [""] * len(unable)


def test_groups_by_the_response_are_tried(advice):
    """With the option to paste, and a smaller error of means than groups by keys alone."""
    (trial,) = (trial for trial in advice.tried if trial.scenario.responses)
    assert trial.scenario.responses == ("income",)
    assert trial.scenario.flags == ("--method", "resample", "--response", "income")
    assert trial.losses
    if advice.recommended is trial:
        assert "--response income" in advice.commands("people.csv", "schema.toml")[0]


def test_the_error_is_that_of_the_comparison(advice, people):
    """Advice and comparison count the same questions in the same releases."""
    retention = next(trial for trial in advice.tried if trial.scenario.method == "retention")
    made = api.compare(people, SCHEMA, methods=["retention"], k=[5], asked=ASKED)
    assert retention.error == pytest.approx(made.outcomes[0].loss)


def test_no_method_is_recommended_that_is_of_no_use(people, monkeypatch):
    """It is said, with the best that there is, and no command is given to paste."""
    monkeypatch.setattr("pramana.evaluation.advise.USABLE", 0.05)
    advice = api.advise(people, SCHEMA, k=390, methods=["retention"], asked=ASKED[:1])
    assert advice.best is not None
    assert advice.best.error > 0.05
    assert advice.recommended is None
    assert advice.to_json()["recommended"] is None
    assert advice.why()[0].startswith("No method is usable at k = 390: the best is retention")
    assert advice.commands("people.csv", "schema.toml") == []


def test_a_table_that_protect_refuses_is_said_first(people):
    """Advice tries methods all the same."""
    numbered = people.append_column("number", pa.array(np.arange(400)))
    schema = Schema((*SCHEMA.columns, Column("number", Role.SENSITIVE)))
    advice = api.advise(numbered, schema, k=5, methods=["retention"])
    assert advice.why()[0].startswith("protect refuses this table: An attacker who knows number")
    assert advice.done
