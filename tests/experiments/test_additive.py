"""Additive regressions on cells: by hand, and beside scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from pramana.experiments.insurance import features, levels_of, predict_cells

SHAPE = (3, 4)


@pytest.mark.parametrize("form", ["dummy", "numeric"])
def test_predictions_equal_those_of_scikit_learn(form):
    """Weighted least squares by an independent road, from records instead of sums."""
    rng = np.random.default_rng(1)
    cells, y = rng.integers(0, 12, 300), rng.normal(size=300)
    counts, totals = np.bincount(cells, minlength=12), np.bincount(cells, y, minlength=12)

    ours = predict_cells(SHAPE, counts.astype(float), totals, form=form)
    x = features(SHAPE, form=form)
    theirs = LinearRegression().fit(x[cells], y).predict(x)

    assert ours == pytest.approx(theirs, abs=1e-9)


def test_a_level_that_does_not_occur_is_predicted_as_the_first():
    """The limit case of no data for a level: its coefficient is zero."""
    found = predict_cells((3,), np.array([1.0, 1.0, 0.0]), np.array([1.0, 5.0, 0.0]), form="dummy")

    assert found == pytest.approx([1, 5, 1], abs=1e-9)


def test_cells_are_numbered_with_the_last_variable_fastest():
    """As numpy ravels them."""
    assert levels_of(SHAPE)[[0, 1, 4]].tolist() == [[0, 0], [0, 1], [1, 0]]
