"""Weights for another population and for several tasks, on releases of every kind."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

import pramana as pm
from pramana.analysis.features import Attribute
from pramana.errors import InvalidNumber, InvalidTable, NotCovered, Notice, UnknownColumn
from tests.analysis.releases import KINDS, released, truth

METHODS = [method for methods in KINDS.values() for method in methods]


def grouped(table: pa.Table, *columns: pm.Column) -> pm.Release:
    """A release that keeps the joint distribution of its keys exactly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = pm.design(pm.Schema(columns), pm.KAnonymity(k=3), data=table, method="permute")
        return pm.protect(table, plan, seed=1)


@pytest.fixture(scope="module")
def curve() -> pm.Release:
    """A number around 0, and a response that is no line in it."""
    draw = np.random.default_rng(1)
    x = draw.normal(0, 1, 3_000)
    table = pa.table({"x": x, "y": np.exp(x) + draw.normal(0, 0.1, 3_000)})
    return grouped(table, pm.Column("x", pm.Role.KEY), pm.Column("y", pm.Role.SENSITIVE))


@pytest.mark.filterwarnings("ignore:.*weights are biased:pramana.errors.Notice")
@pytest.mark.parametrize("method", METHODS)
def test_weighted_shares_are_those_of_the_other_population(method):
    """For every kind of release: shares of cells are matched, whatever the records are."""
    people = truth()
    chance = np.where(np.asarray(people["a"]) == "a1", 0.9, 0.3)
    target = people.filter(pa.array(np.random.default_rng(3).random(len(people)) < chance))
    names = ["a", "region"]
    weights = released(method).shift_weights(target, columns=names, method="nonparametric", seed=2)

    assert weights.values.mean() == pytest.approx(1)
    assert weights.columns == tuple(names)
    assert weights.synthetic == (method in ("retention", "optimal", "attribute-sampling"))
    for name, value in (("a", "a1"), ("region", "south")):
        here = np.asarray(weights.table[name].to_pylist()) == value
        there = np.asarray(target[name].to_pylist()) == value
        assert weights.values[here].sum() / len(here) == pytest.approx(there.mean(), abs=1e-9)
    assert 50 < weights.effective < len(weights.values)


@pytest.mark.parametrize(("method", "least"), [("classifier", 0.98), ("nonparametric", 0.9)])
def test_the_ratio_of_two_normal_distributions_is_found(curve, method, least):
    """q / p of N(0.7, 0.8) and N(0, 1), which no line in x has."""
    target = pd.DataFrame({"x": np.random.default_rng(2).normal(0.7, 0.8, 3_000)})
    found = curve.shift_weights(target, method=method)
    x = np.asarray(found.table["x"])
    exact = np.exp(x**2 / 2 - (x - 0.7) ** 2 / (2 * 0.64)) / 0.8

    inside = np.abs(x - 0.7) < 2
    assert np.corrcoef(found.values[inside], exact[inside])[0, 1] > least
    effective = exact.sum() ** 2 / np.square(exact).sum()
    assert found.effective == pytest.approx(effective, rel=0.15)


def test_any_classifier_estimates_the_ratio(curve):
    """One of trees; one without weights is refused."""
    target = pd.DataFrame({"x": np.random.default_rng(2).normal(0.5, 1, 1_000)})
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    found = curve.shift_weights(target, classifier=trees)
    x = np.asarray(found.table["x"])
    assert (found.values * x).mean() == pytest.approx(0.5, abs=0.15)
    with pytest.raises(NotCovered, match="takes no weights"):
        curve.shift_weights(target, classifier=KNeighborsClassifier())


def test_a_collapse_is_warned_of(curve):
    """A population at the edge of the release: few records carry all, and some are like nobody."""
    target = pd.DataFrame({"x": np.random.default_rng(2).normal(4, 0.5, 500)})
    with pytest.warns(Notice) as heard:
        found = curve.shift_weights(target)
    assert heard[0].message.code == "weights-collapse"
    assert heard[0].message.fields["effective"] == found.effective < 0.1 * 3_000
    assert found.covered < 0.5
    assert "no record like it" in found.why


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("centroid", "weights-biased"),
        ("invariant", "weights-biased"),
        ("optimal withheld", "weights-biased"),
        ("resample", ""),
        ("retention", ""),
    ],
)
def test_weights_that_are_biased_say_so(method, code):
    """Centres of groups and withheld matrices: in the text of the result, and as a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the release itself
        release = released(method)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = release.shift_weights(truth(), columns=["a", "b"], seed=1)
    codes = [own.message.code for own in heard if isinstance(own.message, Notice)]
    assert codes == ([code] if code else [])
    assert ("weights are biased" in str(found)) == bool(code)


def test_a_population_that_is_not_covered_is_warned_of(curve):
    """Three people in four are like no record; the rest have enough records each."""
    draw = np.random.default_rng(2)
    target = pd.DataFrame({"x": np.append(draw.normal(0, 1, 500), draw.normal(40, 1, 1_500))})
    with pytest.warns(Notice, match="of the population has no record like it") as heard:
        found = curve.shift_weights(target, method="nonparametric")
    assert heard[0].message.code in ("population-not-covered", "weights-collapse")
    assert heard[0].message.fields["covered"] == found.covered < 0.5


@pytest.mark.parametrize("method", ["resample", "centroid", "invariant"])
@pytest.mark.parametrize("target", ["ill", "c"])
def test_a_learner_without_matrices_names_the_way(method, target):
    """For classes and for numbers, with another population and without."""
    for population in (None, truth().drop([target])):
        with pytest.raises(NotCovered, match="synthesis='none'") as refused:
            pm.learn(released(method), target, target_population=population, seed=1)
        assert refused.value.code == "no-synthesis"
        assert refused.value.fields["synthesis"] == "none"


def test_values_outside_the_schema_and_few_records_are_not_silent():
    """Some outside: counted; all outside: refused; few records: warned of."""
    release, people = released("retention"), truth().select(["a", "c"])
    population = people.slice(0, 200)
    values = ["a9"] * 30 + population["a"].to_pylist()[30:]
    strange = pa.table({"a": values, "c": population["c"]})
    names = ["a", "c"]
    with pytest.warns(Notice) as heard:
        found = release.shift_weights(strange, columns=names, seed=1)
    assert [one.message.code for one in heard] == ["outside-schema", "population-not-covered"]
    assert re.match(r"30 records of the other population lack .* \(15.0%\)", str(heard[0].message))
    assert found.values.mean() == pytest.approx(1)
    with pytest.raises(NotCovered, match="none is like a record"):
        release.shift_weights(strange.slice(0, 30), columns=names, seed=1)
    with pytest.warns(Notice, match="has 12 records") as heard:
        release.shift_weights(population.slice(0, 12), columns=["a"], seed=1)
    assert "few-records" in [one.message.code for one in heard]


@pytest.mark.parametrize(("ages", "count"), [([29.0, 31.0], 0), ([19.0, 90.5, None, 40.0], 3)])
def test_numbers_beyond_the_bins_of_the_schema_are_counted(ages, count):
    """Below, above and missing; the outer edges themselves are inside."""
    column = pm.Column("age", pm.Role.KEY, pm.Bins((20.0, 50.0, 90.0)))
    attribute = Attribute("age", column.labels, column)
    values = pa.chunked_array([pa.array([*ages, 20.0, 90.0])])
    assert attribute.outside(values).sum() == count


def test_a_model_for_another_population_is_better_there(curve):
    """A line fits where its records are: weights move it to the other population [Wei, eq. 2]."""
    draw = np.random.default_rng(5)
    x = draw.normal(1.2, 0.5, 2_000)
    population = pd.DataFrame({"x": x})
    errors = {}
    for ratio in ("classifier", "nonparametric", None):
        given = {} if ratio is None else {"target_population": population, "ratio": ratio}
        model = pm.learn(curve, "y", learner=LinearRegression(), synthesis="none", **given)
        errors[ratio] = float(np.square(model.predict(population) - np.exp(x)).mean())
    assert max(errors["classifier"], errors["nonparametric"]) < 0.7 * errors[None]


def test_weights_reach_trees_of_a_randomised_release():
    """Of a release by matrices, and by attribute sampling: the tree tells the same, weighted."""
    people = truth()
    population = people.filter(pa.array(np.asarray(people["a"]) == "a1"))
    for method in ("retention", "attribute-sampling"):
        plain, moved = (
            pm.learn_tree(released(method), target="ill", seed=1, draws=1, **given)
            for given in ({}, {"target_population": population.drop(["ill"])})
        )
        shares = [tree.learner.tree_.value[0].ravel()[-1] for tree in (plain, moved)]
        assert shares[1] > shares[0] + 0.05  # 40 % of a1 are ill, and 10 % of a0


def tasks_table() -> pa.Table:
    """Two regions with other people and another dependence of y on x."""
    draw = np.random.default_rng(8)
    north = draw.random(4_000) < 0.7
    x = draw.random(4_000) < np.where(north, 0.3, 0.6)
    y = draw.random(4_000) < np.where(north, 0.2 + 0.5 * x, 0.4 + 0.2 * x)
    return pa.table({
        "region": np.where(north, "north", "south"),
        "x": np.where(x, "yes", "no"),
        "y": np.where(y, "ill", "well"),
    })  # fmt: skip


COLUMNS = (
    pm.Column("region", pm.Role.PUBLIC),
    pm.Column("x", pm.Role.KEY, pm.Categories(("no", "yes"))),
    pm.Column("y", pm.Role.SENSITIVE),
)


@pytest.mark.parametrize("method", ["nonparametric", "classifier"])
def test_records_of_all_tasks_speak_for_each(method):
    """[Wei, eq. 3]: weighted means over all tasks are means of one, with and without a shift."""
    release = grouped(tasks_table(), *COLUMNS)
    table = release.table
    region, x, y = (np.asarray(table[name].to_pylist()) for name in ("region", "x", "y"))
    population = pa.table({"x": ["no"] * 10 + ["yes"] * 90})
    found = release.transfer_weights(
        "region", response="y", populations={"south": population}, method=method
    )
    assert set(found) == {"north", "south"}
    pooled = {name: np.asarray(found["north"].table[name].to_pylist()) for name in ("x", "y")}
    both = (pooled["x"] == "yes") & (pooled["y"] == "ill")
    own = region == "north"
    assert np.average(both, weights=found["north"].values) == pytest.approx(
        np.mean(((x == "yes") & (y == "ill"))[own]), abs=0.02
    )
    assert np.average(pooled["x"] == "yes", weights=found["south"].values) == pytest.approx(
        0.9, abs=0.02
    )
    ill = (y == "ill")[(region == "south") & (x == "yes")].mean()
    share = np.average(both, weights=found["south"].values) / 0.9
    assert share == pytest.approx(ill, abs=0.03)  # p(y | x) of the task, q(x) of the population


def test_other_releases_are_tasks_too():
    """By name; this one is called so."""
    table = tasks_table()
    regions = np.asarray(table["region"].to_pylist())
    north, south = (
        grouped(table.filter(pa.array(regions == name)).drop(["region"]), *COLUMNS[1:])
        for name in ("north", "south")
    )
    found = south.transfer_weights({"north": north}, response="y", method="nonparametric")
    weights = found["this release"]
    assert set(found) == {"this release", "north"}
    assert len(weights.values) == north.records + south.records
    ill = np.asarray(weights.table["y"].to_pylist()) == "ill"
    assert np.average(ill, weights=weights.values) == pytest.approx(
        np.mean(np.asarray(south.table["y"].to_pylist()) == "ill")
    )


def test_what_cannot_be_compared_is_refused(curve):
    """Each in one line."""
    with pytest.raises(InvalidTable, match="no column"):
        curve.shift_weights(pd.DataFrame({"z": [1.0]}))
    with pytest.raises(UnknownColumn):
        curve.shift_weights(pd.DataFrame({"x": [1.0]}), columns=["z"])
    with pytest.raises(InvalidNumber, match="method"):
        curve.shift_weights(pd.DataFrame({"x": [1.0]}), method="magic")
    release = grouped(tasks_table(), *COLUMNS)
    with pytest.raises(NotCovered, match="none is like"):
        release.shift_weights(pa.table({"region": ["mars"]}), method="nonparametric")
    with pytest.raises(UnknownColumn):
        release.transfer_weights("planet", response="y")
    with pytest.raises(InvalidTable, match="of no task"):
        release.transfer_weights(
            "region", response="y", populations={"east": pa.table({"x": ["no"]})}
        )
