"""Words before a release on what will be asked: kept columns, missing values, others."""

from __future__ import annotations

import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.api import errors_on_data, open_source, preview_plan
from pramana.base.text import tables_in
from pramana.evaluation.cli_hints import CliHints
from pramana.evaluation.questions import answer_of, trial_errors
from pramana.evaluation.schema_suggestions import share_text

RECORDS = 900
KEYS = {"sex": "fm", "age": "abcde", "region": "NSW"}
SCHEMA = pm.Schema(
    (
        *(pm.Column(name, pm.Role.KEY, pm.Categories(tuple(own))) for name, own in KEYS.items()),
        pm.Column("area", pm.Role.SENSITIVE),
        pm.Column("town", pm.Role.PUBLIC),
    ),
    tables=(("area", "age"), ("sex", "town")),
)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Ages are uneven, areas go with them; nobody wrote down what areas there are."""
    rng = np.random.default_rng(5)
    age = rng.choice(5, RECORDS, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    area = np.where(rng.random(RECORDS) < 0.2 + 0.1 * age, 7, 3)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], RECORDS),
            "age": np.array(list("abcde"))[age],
            "region": rng.choice(["N", "S", "W"], RECORDS),
            "area": pa.array(area, mask=rng.random(RECORDS) < 0.1),
            "town": rng.choice(["x", "y"], RECORDS),
        }
    )


def test_the_tables_asked_for_are_spoken_of_also_with_columns_as_they_are(people):
    """By name, with what their own answers are off by; no other table is advised on."""
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=200), data=people, method="attribute-sampling")
    opened = open_source(people, schema=plan.schema)
    about = CliHints("s.toml", "p.csv", (), ("--k", "200"), tables="age*area,sex*town")
    told = list(preview_plan(plan, opened, hints=about))
    words = [one.words for one in told]
    here = next(own for own in words if "rrors of planned tables, smallest to" in own)
    draws = trial_errors(plan, opened)
    assert f"in {len(draws['sex', 'town'])} trial releases: " in here
    own = next(errors for table, errors in draws.items() if {*table} == {"area", "age"})
    assert f"area*age {share_text(min(own))} to {share_text(max(own))}" in here
    assert "area*age " in here
    assert "sex*town " in here
    assert not any(f"{one}*{other}" in here for one in KEYS for other in KEYS)
    assert set(draws) == set(SCHEMA.tables)
    assert any(own.startswith("Better at the same guarantee") for own in words)
    assert not any("'town', which makes" in own for own in words)
    advice = next(one.command for one in told if one.command.startswith("pramana advise"))
    assert shlex.split(advice)[5:7] == ["--k", "200"]  # what was asked for, and no method
    assert tables_in(shlex.split(advice)[-1]) == [("age", "area"), ("sex", "town")]


def test_an_answer_with_a_kept_column_is_compared_cell_by_cell(people):
    """Of exact reports nothing is off; a missing area is a value of its own."""
    opened = open_source(people, schema=SCHEMA)
    plan = pm.design(SCHEMA, pm.DifferentialPrivacy(25.0), data=people, method="attribute-sampling")
    answer = answer_of(pm.protect(people, plan, seed=1), opened, ("area", "age"))

    assert answer.labels == ((3, 7, None), tuple("abcde"))
    assert answer.original.sum() == RECORDS
    assert answer.original[2].sum() == people["area"].null_count
    assert answer.released.sum() == pytest.approx(RECORDS)


@pytest.mark.deep
def test_groups_that_nobody_was_asked_of_do_not_hide_the_error(people):
    """A kept column of many values: of some groups chance asked nobody, who lack all theirs."""
    many = people.append_column("code", pa.array(range(RECORDS)))
    columns = (*SCHEMA.columns, pm.Column("code", pm.Role.SENSITIVE))
    schema = pm.Schema(columns, tables=(("age", "code"), ("sex", "region")))
    plan = pm.design(schema, pm.PkAnonymity(k=20), data=many, method="attribute-sampling")
    opened = open_source(many, schema=schema)
    answer = answer_of(
        pm.protect(many, plan, seed=1, accept_risk=["code"]), opened, ("age", "code")
    )
    advice = pm.advise(many, schema, k=20, methods=["attribute-sampling", "retention"])

    assert np.isnan(answer.released).any()
    told = ~np.isnan(answer.released)
    off = np.abs(answer.released - answer.original)[told].sum() + answer.original[~told].sum()
    assert answer.error == pytest.approx(off / RECORDS)
    assert not any("nan" in one.words for one in preview_plan(plan, opened))
    assert np.isfinite([own.error for one in advice.done for own in one.answers]).all()


def test_a_table_stated_twice_is_tried_once(people):
    """In as many releases as it is tried in, under the name that came first."""
    again = (("sex", "age"), ("region",), ("age", "sex"), ("sex", "age"))
    plan = pm.design(
        replace(SCHEMA, tables=again),
        pm.PkAnonymity(k=20),
        data=people,
        method="attribute-sampling",
    )
    draws = trial_errors(plan, open_source(people, schema=plan.schema))

    assert list(draws) == [("sex", "age"), ("region",)]
    assert [*map(len, draws.values())] == [10, 10]


@pytest.mark.deep
def test_a_table_that_no_report_holds_is_called_what_it_is(people):
    """It is no two-way table, none is left unnamed, and it has no unbiased estimate."""
    schema = replace(SCHEMA, tables=(("sex", "age", "region"),))
    plan = pm.design(schema, pm.PkAnonymity(k=300), data=people, method="attribute-sampling")
    opened = open_source(people, schema=schema)
    words = [one.words for one in preview_plan(plan, opened)]
    here = next(own for own in words if "trial releases" in own)

    assert not plan.mechanism.containing(("sex", "age", "region"))
    assert "rrors of planned tables" in here
    assert "more" not in here
    assert not any("--method unbiased" in own for own in words)


def test_tables_to_paste_keep_the_columns_as_they_are(people):
    """What was asked for is asked for again, with the columns that no table named."""
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=20), data=people, method="attribute-sampling")
    words = next(own for own in plan.notices if own.startswith("No planned table contains"))
    shown = words.partition("(--tables ")[2].partition("), or leave")[0]

    assert tables_in(*shlex.split(shown)) == [*SCHEMA.tables, ("region",)]


@pytest.mark.parametrize(
    ("shares", "k"), [((1, 1, 1), 2), ((94, 4, 2), 2), ((94, 4, 2), 50), ((990, 8, 2), 50)]
)
@pytest.mark.deep
def test_columns_in_no_table_are_off_by_what_is_said(shares, k, monkeypatch):
    """On these data within 10 % over many releases, as analysts get them; without data that of the
    most even truth, which no truth exceeds. Of uneven columns analysts get a table that is off by a
    third less than its unbiased estimate, which was told."""
    for name in ("ANSWERS", "MOST_DRAWS"):  # as many trial releases as are made here
        monkeypatch.setattr(f"pramana.evaluation.questions.{name}", 120)
    rng = np.random.default_rng(9)
    people = pa.table({
        "sex": rng.choice(["f", "m"], RECORDS),
        "age": rng.choice(list("abcde"), RECORDS),
        "region": rng.choice(["N", "S", "W"], RECORDS, p=np.array(shares) / sum(shares)),
    })  # fmt: skip
    schema = pm.Schema(SCHEMA.columns[:3], tables=(("sex", "age"),))
    plan = pm.design(schema, pm.PkAnonymity(k=k), data=people, method="attribute-sampling")
    opened = open_source(people, schema=schema)
    here = dict(errors_on_data(plan, opened).tables)["region",]
    truth = np.array([people["region"].to_pylist().count(value) for value in "NSW"])
    off = []
    for seed in range(120):
        found = pm.protect(people, plan, seed=seed).crosstab("region")
        unbiased = found.estimate if found.unbiased is None else found.unbiased
        off.append([np.abs(own - truth).sum() / RECORDS for own in (found.estimate, unbiased)])
    default, exact = np.mean(off, axis=0)
    words = next(own for own in plan.notices if own.startswith("No planned table contains"))
    most = float(words.partition(" of its table is ")[2].partition(" %")[0]) / 100
    said = next(
        one.words for one in preview_plan(plan, opened) if "columns in no table" in one.words
    )
    told = float(said.partition("in no table: region ")[2].partition(" %")[0]) / 100

    assert exact == pytest.approx(here, rel=0.1)
    # Chance moves the means of 120 releases by some 5 %, of both ways alike.
    assert told == pytest.approx(default * here / exact, rel=0.1)
    assert (most == pytest.approx(here, rel=0.05)) if shares == (1, 1, 1) else (most > here)


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_missing_values_that_the_schema_is_silent_about_are_refused(people, method):
    """As in design: advice and comparison take them where the schema says so."""
    few = people.select(["sex", "age"]).slice(0, 300)
    some = few.set_column(1, "age", pa.array(few["age"].to_pylist()[:-90] + [None] * 90))
    silent = pm.Schema(SCHEMA.columns[:2], tables=(("sex", "age"),))
    stated = silent.replace_columns([replace(silent.column("age"), missing="category")])
    advice = pm.advise(some, stated, k=2, methods=[method])
    compared = pm.compare(some, stated, methods=[method], k=[2])

    assert advice.recommended.answers[0].labels[1] == (*"abcde", None)
    assert compared.outcomes[0].measured
    for verb in (pm.advise, pm.compare):
        with pytest.raises(pm.OutsideDomain) as refused:
            verb(some, silent, methods=[method], k=2 if verb is pm.advise else [2])
        assert refused.value.code == "missing-refused"
        assert {"column": "age", "count": 90}.items() <= refused.value.fields.items()
