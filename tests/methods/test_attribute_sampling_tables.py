"""Tables that will be asked for, stated in the schema; and what reports would give instead."""

from __future__ import annotations

import itertools
import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana import api
from pramana.base.text import tables_in
from pramana.errors import Infeasible, InvalidSchema
from pramana.methods.expected_error import ExpectedError
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from pramana.schema.schema_file import read_schema, write_schema

TEXT = """tables = ["age*income", "age * sex * region"]

[columns.age]
role = "key"
categories = [1, 2, 3, 4, 5]

[columns.income]
role = "key"
categories = [1, 2, 3, 4, 5, 6]

[columns.sex]
role = "key"
categories = ["f", "m"]

[columns.region]
role = "key"
categories = ["n", "s", "w"]
"""
REPORTED = (("age", "income"), ("age", "sex", "region"))


def test_a_schema_states_tables_and_is_written_as_it_was():
    """Columns joined by stars; one that is no column is refused."""
    schema = read_schema(TEXT)

    assert schema.tables == REPORTED
    assert read_schema(write_schema(schema)) == schema
    with pytest.raises(InvalidSchema, match="tables must name columns"):
        read_schema(TEXT.replace("age*income", "age*wealth"))


def test_tables_are_spelled_in_python_as_in_the_schema():
    """Texts with stars, or columns one by one, or both."""
    assert pm.AttributeSampling(tables=("age*income", "age * sex * region")).tables == REPORTED
    assert pm.AttributeSampling(tables=("age*income", ("age", "sex", "region"))).tables == REPORTED
    assert pm.AttributeSampling(tables="age*income, age*sex*region").tables == REPORTED
    for wrong in (5, [5], [("age", 5)], {"age*income": 2}):
        with pytest.raises(pm.InvalidNumber, match="Tables are texts such as"):
            pm.AttributeSampling(tables=wrong)
        with pytest.raises(pm.InvalidNumber, match="Tables are texts such as"):
            replace(read_schema(TEXT), tables=wrong)
    for same in ("age*income, age*sex*region", ["age*income", "age*sex*region"]):
        assert replace(read_schema(TEXT), tables=same).tables == REPORTED


def test_reports_ask_for_the_tables_of_the_schema_unless_others_are_stated():
    """As if they were an option; an option goes first."""
    schema, asked = read_schema(TEXT), pm.DifferentialPrivacy(epsilon=2)
    bare = Schema(schema.columns)
    of_schema = pm.design(schema, asked, records=5_000, method="attribute-sampling")
    stated = pm.design(bare, asked, records=5_000, method=pm.AttributeSampling(tables=REPORTED))
    other = pm.AttributeSampling(tables=(("sex", "region"),))

    assert of_schema.mechanism == stated.mechanism
    assert pm.design(schema, asked, records=5_000, method=other).mechanism == (
        pm.design(bare, asked, records=5_000, method=other).mechanism
    )


def test_a_design_tells_what_reports_would_give():
    """The median pair, by both methods; nothing where reports cannot keep the promise."""
    schema = read_schema(TEXT)
    plan = pm.design(schema, pm.PkAnonymity(k=20), records=5_000, method="retention")
    told = api.alternative_summary(plan)
    other = pm.design(schema, pm.PkAnonymity(k=20), records=5_000, method="attribute-sampling")
    errors = [dict(one.expected_error.tables)["age", "income"] for one in (plan, other)]

    assert told.startswith("The expected error of a two-way table of age by income is about")
    assert (
        f"{100 * errors[1]:.2g} % for the same guarantee with --method attribute-sampling" in told
    )
    assert errors[1] < errors[0]
    assert api.alternative_summary(other) is None


def errors_of(plan, tables):
    """The mean expected error of the tables."""
    known = {frozenset(table): error for table, error in plan.expected_error.tables}
    return np.mean([known[frozenset(table)] for table in tables])


def test_design_chooses_what_is_least_in_error_on_the_tables_stated():
    """Four columns at k = 20: reports; one column alone: whole records, which are as good. A method
    that is stated is taken; where no tables are stated, all pairs decide."""
    schema, promise = read_schema(TEXT), pm.PkAnonymity(k=20)
    pairs = (("age", "income"), ("sex", "region"))
    stated = Schema(schema.columns, tables=pairs)
    alone = Schema(schema.columns[:1], tables=(("age",),))
    chosen = pm.design(stated, promise, records=5_000)
    either = [
        pm.design(stated, promise, records=5_000, method=m)
        for m in ("retention", "attribute-sampling")
    ]
    errors = [errors_of(plan, pairs) for plan in either]

    assert chosen.method.name == "attribute-sampling"
    assert errors[1] < errors[0]
    assert f"{100 * errors[1]:.2g} % of the records" in chosen.statistics["choice"]
    assert (
        f"and {100 * errors[0]:.2g} % with --method retention at the same guarantee"
        in (chosen.statistics["choice"])
    )
    assert pm.design(alone, promise, records=5_000).method.name == "retention"
    assert "choice" not in either[0].statistics


def test_design_chooses_by_all_pairs_where_no_tables_are_stated():
    """The plan says which, and what the other would cost; a promise of another kind has no choice
    to make, nor has a schema of one column whose whole record is its only report."""
    columns, promise = read_schema(TEXT).columns, pm.PkAnonymity(k=20)
    pairs = [*itertools.combinations([column.name for column in columns], 2)]
    chosen = pm.design(Schema(columns), promise, records=5_000)
    either = [
        errors_of(pm.design(Schema(columns), promise, records=5_000, method=name), pairs)
        for name in ("attribute-sampling", "retention")
    ]

    assert chosen.method.name == "attribute-sampling"
    assert chosen.choice[0] in str(chosen)
    for error, words in zip(either, ("is about", "records, and"), strict=True):
        percent = f"{100 * error:.2g} %" if error < 1 else f"{100 * error:,.0f} %"
        assert f"{words} {percent}" in chosen.choice[0]
    assert pm.design(Schema(columns[:1]), promise, records=5_000).method.name == "retention"
    assert (
        pm.design(Schema(columns), records=5_000, method=pm.Retention(retention=0.5)).choice == ()
    )


def test_where_reports_cannot_keep_the_promise_whole_records_are_chosen():
    """A column kept missing would be told as it is: reports refuse, nothing is said of them."""
    two = 'categories = ["f", "m"]'
    schema = read_schema(TEXT.replace(two, f'{two}\nexempt = ["m"]'))
    with pytest.raises(Infeasible, match="no finite epsilon"):
        pm.design(schema, pm.PkAnonymity(k=20), records=5_000)


def test_tables_may_name_columns_that_stand_beside():
    """A kept column needs no report: the table of age and a kept income asks for age alone."""
    text = TEXT.replace('[columns.income]\nrole = "key"\ncategories = [1, 2, 3, 4, 5, 6]',
                        '[columns.income]\nrole = "sensitive"')  # fmt: skip
    plan = pm.design(
        read_schema(text), pm.PkAnonymity(k=20), records=5_000, method="attribute-sampling"
    )

    assert {"age"} <= {name for one in plan.mechanism.sets for name in one.columns}
    assert all("income" not in one.columns for one in plan.mechanism.sets)


def test_a_plan_says_what_of_a_table_is_asked_for():
    """Columns that stand beside are named; where all of them do, nothing is asked for the table,
    and all pairs are."""
    text = TEXT.replace('[columns.income]\nrole = "key"\ncategories = [1, 2, 3, 4, 5, 6]',
                        '[columns.income]\nrole = "sensitive"')  # fmt: skip
    columns, promise = read_schema(text).columns, pm.PkAnonymity(k=20)
    part = pm.design(
        Schema(columns, tables=(("income", "age"),)),
        promise,
        records=5_000,
        method="attribute-sampling",
    )
    none = pm.design(
        Schema(columns, tables=(("income",),)), promise, records=5_000, method="attribute-sampling"
    )

    assert part.expected_error.asked == (("age",),)
    assert "error of a table of age is" in str(part)
    assert any("Of income*age records report age: income is released" in w for w in part.notices)
    assert "No record reports income: it is released unchanged." in none.notices
    assert none.statistics["unnamed"] == []
    assert none.mechanism == (
        pm.design(Schema(columns), promise, records=5_000, method="attribute-sampling").mechanism
    )


def test_words_speak_of_the_tables_asked_for_and_not_of_the_most_precise():
    """Of two far apart the one that is off by more; of others the nearest to their mean."""
    errors = ((("a",), 0.5), (("b",), 0.03), (("a", "b"), 0.27), (("b", "c"), 0.2))
    two = "The expected error of a two-way table of"
    told = {
        (("b",), ("a", "b")): f"{two} a by b is about 27 %",
        (("b",), ("a", "b"), ("b", "c")): f"{two} b by c is about 20 %",
        (("b",),): "The expected error of a table of b is about 3 %",
        (): f"{two} a by b is about 27 %",
    }
    for asked, words in told.items():
        assert ExpectedError(errors, asked).sentence().startswith(words)
        assert ExpectedError(errors, asked).matches_text(ExpectedError(errors, asked).sentence())
    assert ExpectedError(errors, (("b",),)).mean == pytest.approx(0.03)


def test_what_is_asked_gets_the_budget_and_the_rest_is_said():
    """One table stated: it is off by little more than if the other columns were left out, and the
    plan says which they are, what they get and what both ways out would bring."""
    columns, promise = read_schema(TEXT).columns, pm.PkAnonymity(k=200)
    alone = tuple(column for column in columns if column.name == "sex")
    plan, least, equal = (
        pm.design(Schema(own, tables=tables), promise, records=5_000, method="attribute-sampling")
        for own, tables in (
            (columns, (("sex",),)),
            (alone, (("sex",),)),
            (columns, tuple((column.name,) for column in columns)),
        )
    )
    of_sex, best, even = (dict(one.expected_error.tables)["sex",] for one in (plan, least, equal))
    said = next(words for words in plan.notices if words.startswith("No planned table contains"))

    assert best < of_sex < 1.12 * best
    assert even > 1.5 * of_sex
    assert plan.statistics["unnamed"] == ["age", "income", "region"]
    assert "contains age, income, region: " in said
    assert "(--tables sex,age,income,region)" in said
    assert f"planned tables is then {100 * best:.2g} % instead of {100 * of_sex:.2g} %" in said
    told = sum(set(one.columns) != {"sex"} and one.share for one in plan.mechanism.sets)
    assert f": {100 * told:.2g} % of the records report such a column" in said
    assert plan.expected_error.sentence().startswith(
        "The expected error of a table of sex is about"
    )
    assert equal.statistics["unnamed"] == []
    assert not any("No planned table" in words for words in equal.notices)


def test_the_tables_to_paste_are_read_as_they_were_meant():
    """Whatever the columns are called."""
    names = ("age*band", "pets, any", 'he said "x"', "it's")
    schema = Schema(tuple(Column(name, Role.KEY, Categories(("a", "b"))) for name in names),
                    tables=(names[:2],))  # fmt: skip
    plan = pm.design(schema, pm.PkAnonymity(5), records=500, method="attribute-sampling")
    said = next(words for words in plan.notices if words.startswith("No planned table contains"))
    shown = said.partition("(--tables ")[2].partition("), or leave")[0]
    assert tables_in(*shlex.split(shown)) == [names[:2], names[2:3], names[3:]]


@pytest.mark.parametrize("tables", [(("sex",),), (("age", "sex"),)])
@pytest.mark.deep
def test_the_expected_errors_are_measured_where_columns_are_in_no_table(tables):
    """Of the table asked for, and of the columns that none names: within 10 % over 24 releases."""
    rng, records = np.random.default_rng(8), 4_000
    columns = read_schema(TEXT).columns
    sizes = [len(column.labels) for column in columns]
    shares = [0.55 ** np.arange(size) / (0.55 ** np.arange(size)).sum() for size in sizes]
    table = {
        c.name: rng.choice(np.array(c.labels), records, p=share)
        for c, share in zip(columns, shares, strict=True)
    }
    schema = Schema(columns, tables=tables)
    plan = pm.design(schema, pm.PkAnonymity(k=50), records=records, method="attribute-sampling")
    here = dict(api.errors_on_data(plan, api.open_source(pa.table(table), schema=schema)).tables)
    expected = dict(plan.expected_error.tables)
    off = {one: [] for one in expected}
    for seed in range(24):
        release = pm.protect(pa.table(table), plan, seed=seed)
        for one, errors in off.items():
            found = release.crosstab(*one, method="unbiased")
            true = np.zeros(found.estimate.shape)
            places = (
                [[*map(str, labels)].index(str(value)) for value in table[name]]
                for name, labels in zip(one, found.labels, strict=True)
            )
            np.add.at(true, tuple(places), 1)
            errors.append(np.abs(found.estimate - true).sum() / records)
    measured = {one: np.mean(errors) for one, errors in off.items()}
    ratios = [measured[one] / here[one] for one in here]

    assert set(tables) <= set(measured)
    assert np.mean(ratios) == pytest.approx(1, abs=0.1), ratios
    assert np.mean([measured[one] / expected[one] for one in expected]) == pytest.approx(1, abs=0.1)


@pytest.mark.deep
def test_the_expected_error_of_pairs_is_what_is_measured():
    """Within 10 % over 40 releases, on average over all pairs of a table with skewed margins."""
    rng = np.random.default_rng(4)
    hidden = rng.random(6_000)
    columns = {
        f"c{size}": ((hidden + rng.random(6_000)) / 2 * size).astype(int) for size in (3, 4, 5, 6)
    }
    table = pa.table(columns)
    schema = pm.describe(table, keys=list(columns))
    plan = pm.design(schema, pm.PkAnonymity(k=50), records=6_000, method="attribute-sampling")
    expected = {table: e for table, e in plan.expected_error.tables if len(table) == 2}
    off = {pair: [] for pair in expected}
    for seed in range(40):
        release = pm.protect(table, plan, seed=seed)
        for pair, errors in off.items():
            found = release.crosstab(*pair, method="unbiased")
            shape = found.estimate.shape
            true = np.zeros(shape)
            np.add.at(true, tuple(columns[name] for name in pair), 1)
            errors.append(np.abs(found.estimate - true).sum() / 6_000)
    ratios = [np.mean(errors) / expected[pair] for pair, errors in off.items()]

    assert np.mean(ratios) == pytest.approx(1, abs=0.1), ratios


@pytest.mark.parametrize("method", [None, "attribute-sampling", "retention"])
@pytest.mark.parametrize(
    "tables",
    [REPORTED, REPORTED[:1], (("age",),), (("age", "income"), ("income", "sex"), ("sex",))],
)
def test_a_release_with_tables_in_its_schema_is_verified(tables, method, tmp_path):
    """What was asked for is known to whoever recomputes the errors that are stated."""
    schema, random = replace(read_schema(TEXT), tables=tables), np.random.default_rng(1)
    table = {c.name: random.choice(np.array(c.labels), 2_000) for c in schema.columns}
    plan = pm.design(schema, pm.PkAnonymity(k=20), data=pa.table(table), method=method)
    pm.protect(pa.table(table), plan, to=tmp_path / "release", seed=1)
    verdict = pm.verify(tmp_path / "release")

    assert not [check.detail for check in verdict.checks if not check.ok]
