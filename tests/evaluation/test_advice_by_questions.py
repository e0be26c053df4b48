"""Advice by questions in words: tables, means and models count, and a method must answer them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana import Categories, Column, Role, Schema, api
from pramana.api import open_source
from pramana.base.measured_share import Measured
from pramana.evaluation.advise import Advice, _form
from pramana.evaluation.questions import SEED, QuestionLoss, exact_release, questions_of
from pramana.evaluation.trials import MethodTrial, Scenario, best_of, larger_groups
from pramana.protecting import trial_release
from pramana.risk.unchanged import UnchangedRecords

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
        assert _form(trial)["error"] is None
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
    monkeypatch.setattr("pramana.evaluation.trials.PRECISE", 0.001)
    advice = api.advise(people, SCHEMA, k=390, methods=["retention"], asked=ASKED[:1])
    assert advice.best is not None
    assert advice.best.error > 0.05
    assert advice.recommended is None
    assert advice.to_json()["recommended"] is None
    assert advice.why()[0].startswith("Not publishable: no method is usable at k = 390.")
    assert "the best is retention" in advice.why()[0]
    assert advice.commands("people.csv", "schema.toml") == []


def test_each_method_has_the_colour_of_its_release(people):
    """Incomes that nobody shares make it amber; without them it can be green."""
    heads, _ = api.advise(people, SCHEMA, k=5, methods=["retention"]).rows()
    place = heads.index("verdict")
    for schema, colour in ((SCHEMA, "amber"), (Schema(SCHEMA.columns[:2]), "green")):
        table = people.select(list(schema.names))
        advice = api.advise(table, schema, k=5, methods=["retention"])
        (row,) = advice.rows()[1]
        assert row[place] == colour
        assert advice.to_json()["methods"][0]["verdict"]["colour"] == colour


def test_a_question_with_a_large_error_makes_no_method_usable(people):
    """Ten per cent in the median are asked for, whatever the other questions."""
    advice = api.advise(people, SCHEMA, k=5, methods=["retention"], asked=ASKED)
    assert advice.best is not None
    worst = max(question.median or question.loss for question in advice.best.questions)
    assert worst > 0.1
    assert advice.recommended is None
    assert advice.why()[0].startswith("Not publishable: no method is usable at k = 5.")


def test_a_table_that_protect_refuses_is_said_first(people):
    """Advice tries methods all the same."""
    numbered = people.append_column("number", pa.array(np.arange(400)))
    schema = Schema((*SCHEMA.columns, Column("number", Role.SENSITIVE)))
    advice = api.advise(numbered, schema, k=5, methods=["retention"])
    assert advice.why()[0].startswith("protect refuses this table: An attacker who knows number")
    assert advice.done


@pytest.mark.parametrize("drop", [True, False])
def test_a_release_that_is_amber_by_any_method_is_said(people, drop):
    """Incomes that nobody shares find people, whatever happens to the keys."""
    schema = Schema(SCHEMA.columns[:2]) if drop else SCHEMA
    table = people.select(list(schema.names))
    advice = api.advise(table, schema, k=5, methods=["retention"], asked=ASKED[:1])
    said = [line for line in advice.why() if "is amber, whatever the method" in line]
    assert len(said) == (0 if drop else 1)
    if said:
        alone = people["income"].value_counts().field("counts").to_pylist().count(1)
        assert f"An attacker who knows income of a person finds {alone:,} of 400 people" in said[0]


def test_costs_are_told_in_the_terms_of_the_question(advice, people):
    """By hand: a mean by group, its relative error in the middle and the largest one."""
    assert "income by region: median error " in advice.why()[0]
    assert ", worst group " in advice.why()[0]
    truth = QuestionLoss("income by x", "means", 0.1, answered=True, median=0.031, worst=0.062)
    assert truth.words == "income by x: median error 3.1 %, worst group 6.2 %"
    plan = pm.design(
        replace(SCHEMA, tables=tuple({q.columns: None for q in questions_of(ASKED, SCHEMA)})),
        pm.PkAnonymity(k=5),
        data=people,
        method="retention",
    )
    release = trial_release(open_source(people, schema=plan.schema), plan, seed=SEED)
    found = np.array(release.mean("income", by=("region",), weighted=False).estimate)
    frame = people.to_pandas().groupby("region")["income"].mean()
    errors = np.abs(found / frame.loc[["n", "s", "w"]].to_numpy() - 1)
    (question,) = questions_of(["income by region"], SCHEMA)
    exact = exact_release(SCHEMA, people)
    lost = question.loss_of(release, exact)
    assert lost.median == pytest.approx(np.median(errors))
    assert lost.worst == pytest.approx(errors.max())
    gaps = np.abs(found - frame.loc[["n", "s", "w"]].to_numpy())
    assert lost.off == pytest.approx(np.median(gaps))
    assert lost.off_most == pytest.approx(gaps.max())
    counts = np.array(release.crosstab("region", weighted=False).estimate)
    people_off = np.abs(counts - people.to_pandas()["region"].value_counts()[["n", "s", "w"]])
    (table,) = questions_of(["region"], SCHEMA)
    lost = table.loss_of(release, exact)
    assert (lost.off, lost.off_most) == pytest.approx((np.median(people_off), people_off.max()))
    assert lost.in_its_unit.startswith(f"median error {np.median(people_off):.3g} people (")


@pytest.mark.deep
def test_advice_and_comparison_recommend_the_same(advice, people):
    """For the same file, chance and questions, whatever was tried."""
    made = api.compare(people, SCHEMA, k=[5], asked=ASKED)
    assert made.best.scenario == advice.best.scenario
    assert (made.recommended is None) == (advice.recommended is None)


def test_unchanged_records_speak_against_no_guarantee_that_bounds_links():
    """They count where the guarantee speaks of something else, and where no link was tried."""
    covered = Scenario("resample", "k = 5", pm.KAnonymity(k=5), chance=0.2)
    other = Scenario("inverse-frequency", "xi = 0.2", pm.CorrectMatch(xi=0.2), chance=0.2)
    assert covered.exposure(0.1, 0.9) == 0.1
    assert other.exposure(0.1, 0.9) == 0.9
    assert covered.exposure(None, 0.0) == other.exposure(None, 0.0) == 1.0


@pytest.mark.parametrize(("loss", "taken"), [(0.05, "changing"), (0.2, "copying")])
def test_a_method_that_changes_unique_records_is_taken_if_it_loses_little(loss, taken):
    """Up to a loss of 10 %; beyond the chance of a link it is never taken."""

    def trial(name, loss, link, copies):
        scenario = Scenario("resample", name, pm.KAnonymity(k=5), chance=0.2)
        return MethodTrial(
            scenario,
            losses={"tables": [loss]},
            risk=Measured("link", link, 0, 1, 1000),
            unchanged=UnchangedRecords(1000, 0, 1000, round(1000 * copies)),
        )

    copying, changing = trial("copying", 0.01, 0.1, 0.6), trial("changing", loss, 0.1, 0.19)
    exposed = trial("exposed", 0.001, 0.3, 0.0)
    assert best_of([copying, changing, exposed]).scenario.target == taken


def copying_trial(method, loss, copies, *, by_chance=0.0, chance=0.2):
    """A trial that leaves a share of the unique records unchanged; no link is above the chance."""
    return MethodTrial(
        Scenario(method, method, pm.KAnonymity(k=5), chance=chance),
        losses={"tables": [loss]},
        risk=Measured("link", 0.1, 0, 1, 1000),
        unchanged=UnchangedRecords(1000, 0, 1000, round(1000 * copies)),
        by_chance=by_chance,
    )


def test_of_precise_methods_the_one_that_leaves_fewest_unchanged_is_taken():
    """Where all leave more than the chance and coincidence explain."""
    many, few = copying_trial("permute", 0.01, 0.6), copying_trial("resample", 0.05, 0.4)
    assert best_of([many, few, copying_trial("gaussian", 0.3, 0.3)]) is few
    explained = copying_trial("gaussian", 0.06, 0.5, by_chance=0.4)
    assert explained.changes_records  # 0.2 + 0.8 x 0.4 = 0.52
    assert best_of([many, few, explained]) is explained
    assert not copying_trial("gaussian", 0.06, 0.53, by_chance=0.4).changes_records


def test_larger_groups_are_tried_where_records_stay_unchanged():
    """Of methods that form groups and are precise; not where the best one changes records."""
    many, few = copying_trial("permute", 0.01, 0.6), copying_trial("resample", 0.05, 0.4)
    others = [copying_trial("retention", 0.02, 0.9), copying_trial("gaussian", 0.3, 0.3)]
    larger = larger_groups([many, few, *others])
    assert [(s.method, s.min_size) for s in larger] == [
        ("resample", 25), ("resample", 100), ("permute", 25), ("permute", 100)
    ]  # fmt: skip
    assert larger[0].flags == ("--method", "resample", "--min-size", "25")
    assert larger[0].chosen == pm.Resample(min_size=25)
    assert larger[0].guarantee == pm.KAnonymity(k=5)
    assert larger_groups([many, few, copying_trial("gaussian", 0.06, 0.1)]) == []
    assert larger_groups([many, copying_trial("permute", 0.01, 0.6, chance=0.1)]) == []


@pytest.mark.deep
def test_changes_that_make_a_method_usable_are_tried():
    """Keys that are not asked for are dropped, and the command to paste says so."""
    rng = np.random.default_rng(1)
    columns = {f"k{i}": rng.integers(0, 4, 2_000) for i in range(6)}
    columns["k1"] = columns["k0"]
    schema = Schema(
        tuple(Column(n, Role.KEY, Categories((0, 1, 2, 3)), missing="refuse") for n in columns)
    )
    advice = api.advise(pa.table(columns), schema, k=5, methods=["retention"], asked=["k0*k1"])
    assert advice.recommended is None
    assert "Each of these changes makes one usable:" in advice.why()
    first = advice.ways[0]
    assert first.without == ("k2", "k3", "k4", "k5")
    fewer = Schema(tuple(schema.column(name) for name in ("k0", "k1")))
    again = api.advise(
        pa.table({name: columns[name] for name in ("k0", "k1")}),
        fewer,
        k=5,
        methods=["retention"],
        asked=["k0*k1"],
    )
    assert again.recommended is not None
    assert again.recommended.error == pytest.approx(first.error)
