"""Learning from a release and scoring raw records, through scikit-learn's own doors."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import pramana as pm
from pramana import api
from pramana.errors import InvalidNumber, InvalidTable, MissingExtra, NotCovered, UnknownColumn
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.given import GivenMatrices
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.analysis.releases import released
from tests.analysis.test_trees import people, release_of, schema_of

SALARY = Schema(
    (
        Column("age", Role.KEY, Bins((20, 40, 60, 80)), missing="refuse"),
        Column("sex", Role.KEY, Categories(("F", "M")), missing="refuse"),
        Column("salary", Role.SENSITIVE),
        Column("w", Role.WEIGHT),
    )
)


def workers(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    age, sex = rng.uniform(20, 80, n), rng.choice(["F", "M"], n)
    salary = 1000 + 20 * age + 500 * (sex == "M") + rng.normal(0, 50, n)
    return pa.table({"age": age, "sex": sex, "salary": salary, "w": rng.choice([1.0, 2.0], n)})


@pytest.fixture(scope="module")
def sick():
    return release_of(people(20_000, 1), schema_of(randomise_class=True), gamma=6)


@pytest.fixture(scope="module")
def paid():
    table = workers(6_000, 3)
    matrices = {c.name: UniformMixture.of(c.labels, gamma=8) for c in SALARY.randomised}
    return api.protect(
        table, api.design(SALARY, data=table, method=GivenMatrices(matrices)), seed=1
    )


def test_raw_records_become_what_the_release_has(sick):
    """Bins by their centres, levels apart; beyond the edges the outer bin, unknown ones nothing."""
    features = pm.ReleasedFeatures.of(sick, target="sick")
    raw = pd.DataFrame({"age": [20.0, 34.9, 35.0, 200.0], "town": ["s", None, "w", "mars"]})

    assert list(features.get_feature_names_out()) == [
        "age", "town=n", "town=s", "town=w", "town=missing",
    ]  # fmt: skip
    assert features.transform(raw).tolist() == [
        [27.5, 0, 1, 0, 0],
        [27.5, 0, 0, 0, 1],
        [42.5, 0, 0, 1, 0],
        [72.5, 0, 0, 0, 0],
    ]
    check_is_fitted(features)
    again = pickle.loads(pickle.dumps(clone(features).fit(raw)))  # noqa: S301 - our own
    assert np.array_equal(again.transform(raw), features.transform(raw))


def test_numbers_that_are_missing_are_in_no_bin(paid):
    """Raw records may lack what the release never lacks, or say by a code why there is none: both
    are nan, where they were the centre of the last bin."""
    raw = workers(3, 1).to_pandas().assign(age=[30.0, np.nan, 70.0])
    found = pm.ReleasedFeatures.of(paid, target="salary").transform(raw)
    assert np.array_equal(found[:, 0], [30, np.nan, 70], equal_nan=True)

    age = Column("age", Role.KEY, Bins((20, 40, 60), missing_values=(98, 99)), missing="category")
    schema = Schema((age, SALARY.columns[1]))
    table = pa.table({"age": [30, 50, 98, 99, None] * 40, "sex": ["F", "M"] * 100})
    matrices = {c.name: UniformMixture.of(c.labels, gamma=8) for c in schema.randomised}
    made = api.protect(
        table, api.design(schema, data=table, method=GivenMatrices(matrices)), seed=1
    )
    own = pm.ReleasedFeatures.of(made, target="sex")
    raw = pd.DataFrame({"age": [25.0, 59.0, 97.0, 98.0, 99.0, np.nan]})
    assert np.array_equal(
        own.transform(raw)[:, 0], [30, 50, 50, np.nan, np.nan, np.nan], equal_nan=True
    )


def test_what_no_learner_can_do_is_refused_in_a_line(sick):
    """A class in place of a learner, a regressor for words, no draws and half a draw."""
    with pytest.raises(InvalidTable, match=r"LogisticRegression\(\)"):
        pm.learn(sick, "sick", learner=LogisticRegression)
    with pytest.raises(NotCovered, match="LinearRegression predicts numbers"):
        pm.learn(sick, "sick", learner=LinearRegression(), seed=1, draws=1)
    for draws in (0, -1, 1.5):
        with pytest.raises(InvalidNumber, match="draws"):
            pm.learn(sick, "sick", draws=draws)


def test_a_model_of_a_release_scores_raw_records(sick):
    """The rule of two columns is found, by labels, for any learner; naive records find less."""
    clean = people(3_000, 2).to_pandas()
    tree = pm.learn(sick, "sick", seed=1)
    near = pm.learn(sick, "sick", learner=KNeighborsClassifier(50), seed=1)

    assert set(tree.predict(clean)) == {"no", "yes"}
    assert tree.score(clean, clean["sick"]) > 0.93
    assert near.score(clean, clean["sick"]) > 0.9
    assert tree.predict_proba(clean).shape == (3_000, 2)
    learned = pm.learn_tree(sick, target="sick", seed=1, test=clean)
    assert tree.score(clean, clean["sick"]) == pytest.approx(learned.accuracy.value, abs=0.02)


def test_features_at_the_prompt_are_a_line_of_names(sick):
    """What a model is made of, and not all that the schema says of it."""
    features = pm.ReleasedFeatures.of(sick, target="sick")

    assert len(repr(features)) < 200
    assert all(own.name in repr(features) for own in features.attributes)


def test_a_transformer_stands_in_pipelines_of_others(sick):
    """Fitted to raw records too: it learns nothing of them."""
    raw = people(2_000, 4).to_pandas()
    own = make_pipeline(
        pm.ReleasedFeatures.of(sick, target="sick"), LogisticRegression(max_iter=500)
    )
    own.fit(raw, raw["sick"])
    assert own.score(raw, raw["sick"]) > 0.6


def test_numbers_released_as_they_are_can_be_predicted(paid):
    """With weights; rebuilt records give the effect of a randomised column back, released ones as
    they stand a good part less."""
    clean = workers(2_000, 5).to_pandas()
    model = pm.learn(paid, "salary", learner=LinearRegression(), seed=2)
    naive = pm.learn(paid, "salary", learner=LinearRegression(), synthesis="none")
    names = list(model[0].get_feature_names_out())
    effect = dict(zip(names, model[1].coef_, strict=True))
    plain = dict(zip(names, naive[1].coef_, strict=True))

    assert effect["sex=M"] - effect["sex=F"] == pytest.approx(500, abs=60)
    assert plain["sex=M"] - plain["sex=F"] < 430
    assert model.score(clean, clean["salary"]) > naive.score(clean, clean["salary"])
    assert pm.learn(paid, "salary", seed=1).score(clean, clean["salary"]) > 0.6


def test_refusals(sick, paid, monkeypatch):
    """Each in one line."""
    with pytest.raises(UnknownColumn, match="lacks 1: town"):
        pm.ReleasedFeatures.of(sick, target="sick").transform(pd.DataFrame({"age": [30.0]}))
    with pytest.raises(UnknownColumn, match="'nobody' is not in the release"):
        pm.learn(sick, "nobody")
    with pytest.raises(InvalidNumber, match="synthesis"):
        pm.learn(sick, "sick", synthesis="magic")
    with pytest.raises(NotCovered, match="takes no weights"):
        pm.learn(paid, "sex", learner=KNeighborsClassifier())
    with pytest.raises(InvalidTable, match="made of a release"):
        pm.ReleasedFeatures().fit()
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "pramana.analysis.learning")
    with pytest.raises(MissingExtra, match=r"pramana\[mining\]"):
        pm.learn(sick, "sick")


def test_reports_are_learned_from_as_whole_records() -> None:
    """The rule is found by both verbs; as they stand, most cells were not asked for."""
    from tests.analysis.releases import released, truth

    reports, people = released("attribute-sampling"), truth()
    model = pm.learn(reports, "ill", seed=3)
    learned = pm.learn_tree(reports, target="ill", seed=3, test=people)
    assert set(model.predict(people)) <= {"y", "n"} | set(people["ill"].to_pylist())
    assert learned.accuracy is not None
    for verb in (lambda: pm.learn(reports, "ill", synthesis="none"),
                 lambda: pm.learn_tree(reports, target="ill", synthesis="none")):  # fmt: skip
        with pytest.raises(pm.NotCovered, match="synthetic records"):
            verb()


@pytest.mark.parametrize("method", ["invariant", "resample", "centroid"])
def test_what_nothing_undoes_is_learned_from_as_it_stands_where_told_so(method):
    """And is then not said to be rebuilt; without the word it is refused."""
    release = released(method)
    with pytest.raises(pm.NotCovered, match="--synthesis none"):
        pm.learn_tree(release, target="ill")
    assert pm.learn_tree(release, target="ill", synthesis="none").synthesis == "none"


def test_integers_that_do_not_occur_in_the_release_are_numbers():
    """A column of few integers without a domain: 11 lies between 10 and 12, and 40 beyond 30."""
    draw = np.random.default_rng(7)
    years = draw.choice([0, 5, 10, 12, 20, 30], 2_000)
    schema = Schema(
        (
            Column("sex", Role.KEY, Categories(("F", "M")), missing="refuse"),
            Column("years", Role.SENSITIVE),
            Column("pay", Role.SENSITIVE),
            Column("high", Role.SENSITIVE),
        )
    )
    pay = 100.0 * years + draw.normal(0, 1, 2_000)
    table = pa.table({
        "sex": draw.choice(["F", "M"], 2_000), "years": years, "pay": pay,
        "high": np.where(years > 11, "yes", "no"),
    })  # fmt: skip
    matrices = {"sex": UniformMixture.of(("F", "M"), gamma=8)}
    release = api.protect(
        table, api.design(schema, data=table, method=GivenMatrices(matrices)), seed=1
    )
    raw = pd.DataFrame({"sex": ["F"] * 3, "years": [11, 40, 3], "high": ["no"] * 3})
    raw["pay"] = 100.0 * raw["years"]

    found = pm.ReleasedFeatures.of(release, target="pay").transform(raw)
    assert found[:, 2].tolist() == [11, 40, 3]
    model = pm.learn(release, "pay", learner=LinearRegression(), seed=1)
    assert model.predict(raw) == pytest.approx([1100, 4000, 300], rel=0.1)
    learner = LogisticRegression(max_iter=500)
    learned = pm.learn_tree(release, target="high", learner=learner, seed=1)
    assert learned.predict(raw)[1:] == ["yes", "no"]
