"""Additive regressions: by hand, beside scikit-learn, from releases, and refusals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from pramana import api
from pramana.errors import InvalidNumber, OutsideDomain
from pramana.table.domains import Categories
from pramana.table.schema import Column, Role, Schema
from pramana.workloads.cells import Coding
from pramana.workloads.covariate_shift import cell_weights
from pramana.workloads.regression import (
    fit_additive,
    fit_cells,
    fit_release,
    r_squared,
    relative_bias,
)

samples = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.floats(-5, 5), st.floats(0.1, 3)),
    min_size=8,
    max_size=60,
)


def test_dummy_form_by_hand():
    """One variable: the model is the mean of each level."""
    model = fit_additive({"x": ["u", "u", "v"]}, [1.0, 3.0, 10.0])

    assert model.predict({"x": ["v", "u"]}) == pytest.approx([10, 2])


def test_numeric_form_by_hand():
    """Three points on a line are predicted exactly, in between too."""
    model = fit_additive([[1], [2], [4]], [3.0, 5.0, 9.0], form="numeric")

    assert model.coefficients == pytest.approx([1, 2])


@given(samples, st.sampled_from(["dummy", "numeric"]))
def test_predictions_equal_those_of_scikit_learn(sample, form):
    """Weighted least squares by an independent road; predictions, since terms may be tied."""
    x = np.array([[a, b] for a, b, _, _ in sample])
    y, w = np.array([s[2] for s in sample]), np.array([s[3] for s in sample])
    design = x.astype(float)
    if form == "dummy":
        design = np.hstack([x[:, :1] == np.arange(3), x[:, 1:] == np.arange(4)]).astype(float)

    ours = fit_additive(x, y, form=form, sample_weight=w).predict(x)
    theirs = LinearRegression().fit(design, y, sample_weight=w).predict(design)

    assert ours == pytest.approx(theirs, abs=1e-6)


@given(samples)
def test_the_mean_residual_of_the_training_data_is_zero(sample):
    """A law of least squares with a constant: no bias where it was fitted."""
    x, y = np.array([s[:2] for s in sample]), np.array([s[2] for s in sample]) + 20

    model = fit_additive(x, y)

    assert relative_bias(model.predict(x), y) == pytest.approx(0, abs=1e-6)


def test_a_level_that_does_not_occur_has_coefficient_zero():
    """The limit case of no data for a level: the prediction is that of the first level."""
    coding = Coding(("x",), (("a", "b", "c"),))
    model = fit_additive({"x": ["a", "b"]}, [1.0, 5.0], coding=coding)

    assert model.predict({"x": ["c"]}) == pytest.approx([1.0], abs=1e-6)


def test_measures_by_hand():
    """Bias as a share of the mean; R squared below zero where the mean does better."""
    assert relative_bias([11.0, 11.0], [8.0, 12.0]) == pytest.approx(0.1)
    assert relative_bias([1.0, 3.0], [1.0, 1.0], weight=[3, 1]) == pytest.approx(0.5)
    assert r_squared([1.0, 2.0], [1.0, 2.0]) == 1
    assert r_squared([1.5, 1.5], [1.0, 2.0]) == 0
    assert r_squared([2.0, 1.0], [1.0, 2.0]) == -3


def _people(n: int, seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    a, b = generator.integers(0, 3, n), generator.integers(0, 4, n)
    cost = 100 + 40 * a + 10 * b + generator.normal(scale=20, size=n)
    return pa.table({"a": a, "b": b, "cost": cost})


SCHEMA = Schema(
    (
        Column("a", Role.KEY, Categories((0, 1, 2)), missing="refuse"),
        Column("b", Role.KEY, Categories((0, 1, 2, 3)), missing="refuse"),
        Column("cost", Role.SENSITIVE),
    )
)


def test_a_model_from_a_release_is_close_to_that_of_the_truth_and_the_naive_one_is_not():
    """Fixed seed. The slope of a is 40: estimated tables find it, released records halve it."""
    people = _people(40_000, 1)
    release = api.protect(
        people, api.design(SCHEMA, records=40_000, retention=0.5, data=None), seed=2
    )
    released = release.opened.to_arrow()

    honest = fit_release(release, "cost", by=("a", "b"), form="numeric").coefficients
    naive = fit_additive(
        released.select(["a", "b"]), released.column("cost").to_numpy(), form="numeric"
    ).coefficients

    # standard error of a slope at this size and retention: about 0.6; 5 of them
    assert honest == pytest.approx([100, 40, 10], abs=3)
    assert naive[1] < 25


def test_weights_from_an_estimated_table_of_a_release():
    """Weights to another population, from tables that were randomised: close to the true ones."""
    people, others = _people(40_000, 3), pa.table({"a": [0, 1, 2, 2, 2]})
    release = api.protect(people, api.design(SCHEMA, records=40_000, retention=0.5), seed=4)

    weights = cell_weights(release.crosstab("a"), others)
    truth = cell_weights(people.select(["a"]), others)
    by_level = [truth.values[people.column("a").to_numpy() == level][0] for level in range(3)]

    assert weights.values == pytest.approx(by_level, rel=0.06)


def test_refusals():
    """Unknown levels are counted, not shown; responses and measures that make no sense."""
    model = fit_additive({"x": ["u", "v"]}, [1.0, 2.0])
    with pytest.raises(OutsideDomain, match="1 of 2 records"):
        model.predict({"x": ["u", "secret"]})
    with pytest.raises(InvalidNumber, match="one finite number a record"):
        fit_additive([0, 1], [1.0, np.nan])
    with pytest.raises(InvalidNumber, match="mean of 0"):
        relative_bias([1.0], [0.0])
    with pytest.raises(InvalidNumber, match="varies"):
        r_squared([1.0, 2.0], [3.0, 3.0])
    empty = fit_cells(Coding(("x",), ((0, 1),)), [0, 1], [1, 1], [2, 4])
    assert empty.at_cells([0, 1]) == pytest.approx([2, 4])
