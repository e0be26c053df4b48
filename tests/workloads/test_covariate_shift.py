"""Weights q / p: by hand, as a law, at the limits, by a second road, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber, InvalidTable, MissingExtra, UnknownColumn
from pramana.workloads import learners
from pramana.workloads.covariate_shift import (
    cell_weights,
    effective_size,
    histogram_intersection,
    logistic_weights,
    market_weights,
)

levels = st.integers(0, 3)
tables = st.lists(st.tuples(levels, levels), min_size=1, max_size=40)


def test_weights_by_hand():
    """Half a's and half b's weighted to a quarter a's: 1/2 and 3/2."""
    weights = cell_weights(["a", "a", "b", "b"], ["a", "b", "b", "b"])

    assert weights.values.tolist() == [0.5, 0.5, 1.5, 1.5]
    assert weights.unsupported == 0
    assert weights.similarity == 1
    assert weights.largest == 1.5
    assert weights.effective_size == pytest.approx(16 / 5)


@given(tables, tables)
def test_weighted_means_of_the_source_are_means_of_the_target(source, target):
    """For any function of the cell: this is what the weights are for [Wei, eq. 2]."""
    source = source + target  # support everywhere
    value = np.arange(16.0).reshape(4, 4) ** 1.5
    weights = cell_weights(np.array(source), np.array(target)).values

    reached = np.mean(weights * value[tuple(np.array(source).T)])

    assert reached == pytest.approx(value[tuple(np.array(target).T)].mean())


@given(tables, tables)
def test_the_unsupported_share_is_what_the_source_lacks(source, target):
    """Counted record by record as a second road."""
    lacking = sum(cell not in set(source) for cell in target) / len(target)
    if lacking == 1:
        with pytest.raises(InvalidTable, match="share no cell"):
            cell_weights(np.array(source), np.array(target), max_unsupported=1)
        return

    weights = cell_weights(np.array(source), np.array(target), max_unsupported=1)

    assert weights.unsupported == pytest.approx(lacking)
    assert weights.values.mean() == pytest.approx(1)


def test_equal_populations_need_no_weights():
    """The limit case: all weights are one."""
    weights = cell_weights([1, 2, 2, 3], [2, 1, 3, 2])

    assert weights.values == pytest.approx(1)
    assert weights.effective_size == pytest.approx(4)


def test_survey_weights_enter_on_both_sides():
    """A record of weight 3 is three records."""
    weighted = cell_weights(
        ["a", "b"], ["a", "b"], source_weight=[3, 1], target_weight=[1, 1]
    ).values
    repeated = cell_weights(["a", "a", "a", "b"], ["a", "b"]).values

    assert weighted == pytest.approx(repeated[[0, 3]])


def test_data_frames_of_any_kind_and_arrays_agree():
    """Levels are matched by their text, so 1, 1.0 and "1" are one level."""
    source, target = {"x": [1, 1, 2], "y": ["u", "v", "v"]}, {"x": [1, 2], "y": ["v", "v"]}
    one = cell_weights(pd.DataFrame(source), pl.DataFrame(target), max_unsupported=0.5)
    two = cell_weights(source, {"x": ["1", "2"], "y": ["v", "v"]}, max_unsupported=0.5)

    assert one.values == pytest.approx([0, 1.5, 1.5])
    assert two.values == pytest.approx(one.values)


def test_missing_values_are_a_cell_of_their_own():
    """None and nan are the same missing value."""
    weights = cell_weights({"x": [1.0, np.nan]}, pd.DataFrame({"x": [None, None, 1.0, 1.0]}))

    assert weights.values == pytest.approx(1)


def test_lacking_cells_are_refused_with_their_share_of_the_mass():
    """The message says how many cells and how much of the target."""
    with pytest.raises(InvalidTable, match=r"none in 1 of 2 cells, which hold 75\.00%"):
        cell_weights(["a", "a"], ["a", "b", "b", "b"])


def test_other_columns_are_refused():
    """The lacking column is named."""
    with pytest.raises(UnknownColumn, match="age"):
        cell_weights({"sex": [1], "age": [3]}, {"sex": [1], "ages": [3]})


@pytest.mark.parametrize("bad", [[1, -1], [0, 0], [1, np.nan], [1, 1, 1]])
def test_bad_weights_are_refused(bad):
    """Negative, all zero, not a number, of another length."""
    with pytest.raises(InvalidNumber, match="Weights"):
        cell_weights([1, 2], [1, 2], source_weight=bad)


def test_members_are_weighted_by_their_markets():
    """Enrolment cancels: two thirds of the members being a's does not matter [Wei, eq. 16]."""
    weights = market_weights(
        ["a", "a", "b"], existing=["a", "b"], new=["a", "b", "b", "b"], member_weight=[1, 1, 1]
    )

    assert weights.values / weights.values[0] == pytest.approx([1, 1, 3])
    assert weights.unplaced == 0


def test_members_whose_cell_no_market_has_get_weight_zero_and_are_counted():
    """A centroid that is nobody's cell carries nothing."""
    weights = market_weights(["a", "m"], existing=["a", "b"], new=["a", "b"])

    assert weights.values.tolist() == [2, 0]
    assert weights.unplaced == 0.5


def test_logistic_weights_equal_cell_weights_where_the_model_is_saturated():
    """With one variable in dummy form the logistic model has every cell."""
    generator = np.random.default_rng(5)
    source, target = generator.integers(0, 4, 500), generator.binomial(3, 0.4, 400)

    cells = cell_weights(source, target).values
    logistic = logistic_weights(source, target, form="dummy").values

    assert logistic == pytest.approx(cells, rel=1e-3)


def test_logistic_weights_find_an_exponential_tilt():
    """q proportional to p exp(x): the numeric model is true, and the weights are exp(x)."""
    x = np.arange(5)
    weights = logistic_weights(
        np.repeat(x, 2), x, source_weight=np.full(10, 1.0), target_weight=np.exp(x)
    ).values

    assert weights[::2] / weights[0] == pytest.approx(np.exp(x), rel=1e-3)


def test_weights_serve_scikit_learn():
    """Ready as sample_weight."""
    from sklearn.linear_model import LinearRegression

    source, target = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    weights = cell_weights(source, target).values
    y = np.array([1.0, 3.0, 10.0, 20.0])
    model = LinearRegression().fit(source[:, None], y, sample_weight=weights)

    assert np.average(model.predict(target[:, None])) == pytest.approx(0.25 * 2 + 0.75 * 15)


def test_without_scikit_learn_one_line_says_what_to_install(monkeypatch):
    """The extra explains itself."""

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(learners, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"pramana\[mining\]"):
        logistic_weights([0, 1], [1, 1])


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_effective_size_lies_between_one_and_the_number_of_records(weights):
    """Equal weights count fully; one heavy record counts as one."""
    size = effective_size(weights)

    assert 1 - 1e-9 <= size <= len(weights) + 1e-9
    assert effective_size([1.0] * 7) == pytest.approx(7)


@given(tables, tables)
def test_intersection_is_symmetric_and_one_only_for_equals(first, second):
    """Also one minus half the L1 distance: the second road."""
    a, b = np.array(first), np.array(second)
    value = histogram_intersection(a, b)
    shares = [np.bincount(t[:, 0] * 4 + t[:, 1], minlength=16) / len(t) for t in (a, b)]

    assert value == pytest.approx(histogram_intersection(b, a))
    assert value == pytest.approx(1 - np.abs(shares[0] - shares[1]).sum() / 2)
    assert histogram_intersection(a, a) == pytest.approx(1)


def test_the_sentence_says_what_to_know():
    """Effective size, largest weight, overlap and unsupported mass in plain words."""
    text = cell_weights(["a", "b"], ["a", "a", "a", "c"], max_unsupported=0.3).sentence()

    assert "2 records weigh as much as 1" in text
    assert "25.00% of the target has no support" in text
