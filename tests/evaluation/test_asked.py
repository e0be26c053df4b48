"""Loss over what the steward says will be asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.errors import InvalidNumber, UnknownColumn
from pramana.evaluation.questions import StatedQuestion, exact_release, questions_of
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.methods.attribute_sampling import AttributeSampling
from pramana.protecting import trial_release
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

N = 600


@pytest.fixture(scope="module")
def people():
    """Income depends on sex alone."""
    rng = np.random.default_rng(2)
    sex, region = rng.choice(["f", "m"], N), rng.choice(["n", "s", "w"], N)
    income = np.round(rng.normal(100, 10, N) + 40 * (sex == "m"))
    return pa.table({"sex": sex, "region": region, "income": income})


SCHEMA = Schema((
    Column("sex", Role.KEY, Categories(("f", "m")), missing="refuse"),
    Column("region", Role.KEY, Categories(("n", "s", "w")), missing="refuse"),
    Column("income", Role.SENSITIVE),
))  # fmt: skip
REPORTED = ("sex*region", "income by sex", "income ~ sex")


def test_what_the_truth_answers_is_the_truth(people):
    """A release in which nothing changed loses nothing; counted by hand."""
    exact = exact_release(SCHEMA, people)
    women = np.array(people["sex"].to_pylist()) == "f"
    income = people["income"].to_numpy()
    assert exact.mean("income", by=["sex"]).cell("f")["estimate"] == pytest.approx(
        income[women].mean()
    )
    slope = income[~women].mean() - income[women].mean()
    assert exact.regress("income ~ sex")["sex[T.m]"]["coefficient"] == pytest.approx(slope)
    assert [
        StatedQuestion.of_text(text).loss_of(exact, exact).loss for text in REPORTED
    ] == pytest.approx([0, 0, 0])


def test_a_method_that_cuts_a_tie_loses_the_mean_and_the_model(people):
    """Permute keeps every table of keys, and has no model of them: tables alone would praise it."""
    tables = api.compare(people, SCHEMA, k=[5], methods=["permute"], asked=["sex*region"])
    every = api.compare(people, SCHEMA, k=[5], methods=["permute"], asked=REPORTED)

    (alone,), (found,) = tables.outcomes, every.outcomes
    assert alone.loss == pytest.approx(0)
    assert set(found.losses) == {"tables asked for", "means asked for", "models asked for"}
    assert set(found.losses["models asked for"]) == {1.0}
    assert [one.answered for one in found.questions] == [True, True, False]
    assert found.loss == pytest.approx(np.mean(list(found.losses.values())))
    assert every.recommended is None
    assert every.sentences() == [f"permute, k = 5 cannot answer: {REPORTED[-1]}."]
    assert every.to_json()["scenarios"][0]["losses"]["tables asked for"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("text", "kind", "of", "by", "family"),
    [
        ("sex * age", "tables", "", ("sex", "age"), "linear"),
        ("income by sex,age", "means", "income", ("sex", "age"), "linear"),
        ("income ~ C(sex)", "models", "income ~ C(sex)", (), "linear"),
        ("income ~ sex:age", "models", "income ~ sex:age", (), "linear"),
        ("logistic: work ~ age", "models", "work ~ age", (), "logistic"),
    ],
)
def test_questions_are_read_as_they_are_written(text, kind, of, by, family):
    """Tables, means and models."""
    found = StatedQuestion.of_text(text)
    assert (found.kind, found.of, found.by, found.family) == (kind, of, by, family)


@pytest.mark.parametrize("text", ["", "sex*", "income by ", "ridge: y ~ x"])
def test_what_is_no_question_is_refused(text):
    """In one line that shows the forms."""
    with pytest.raises(InvalidNumber, match="no planned analysis|is one of"):
        StatedQuestion.of_text(text)


@pytest.mark.parametrize("text", ["sex*town", "income by town", "town ~ sex", "sex*name"])
def test_a_question_about_what_is_not_released_is_refused_before_anything_is_tried(text):
    """With the question, the column and those that there are; a name that is dropped is none."""
    name = Column("name", Role.IDENTIFIER)
    with pytest.raises(UnknownColumn, match="asks for '(town|name)', which is not released"):
        questions_of([text], Schema((*SCHEMA.columns, name)))


def test_releases_are_designed_for_what_will_be_asked(people):
    """Of one question reports lose less than of all pairs: the whole budget is for its columns."""
    every, alone = (
        api.compare(
            people, schema, k=[5], methods=["attribute-sampling"], asked=["region"]
        ).outcomes[0]
        for schema in (SCHEMA, Schema(SCHEMA.columns, tables=(("sex", "region"),)))
    )
    sets = (
        api.design(
            Schema(SCHEMA.columns, tables=tables),
            PkAnonymity(k=5),
            data=people,
            method="attribute-sampling",
        ).mechanism.sets
        for tables in ((("region",),), ())
    )
    share, of_pairs = (sum(one.share for one in own if one.columns == ("region",)) for own in sets)
    assert share > 0.5 > of_pairs
    assert every.losses == alone.losses


def test_groups_that_nobody_was_asked_of_lose_theirs_and_no_more(people):
    """A kept column with a value a record: who was asked nothing of the table is lost whole."""
    many = people.set_column(2, "income", pa.array(np.arange(N)))
    exact = exact_release(SCHEMA, many)
    asked = AttributeSampling(tables=(("sex",), ("region",)))
    plan = api.design(SCHEMA, PkAnonymity(k=20), data=many, method=asked)
    release = trial_release(many, plan, seed=1)
    found = release.crosstab("sex", "income", share=True).estimate
    loss = StatedQuestion.of_text("sex*income").loss_of(release, exact).loss
    untold = np.isnan(found).any(axis=0).mean()

    assert 0.1 < untold < 0.9
    assert untold < loss < 1.0
