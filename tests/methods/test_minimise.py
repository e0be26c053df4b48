"""The least value of a smooth function: where it is known, and where another library looks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from pramana.methods.retention import minimise


def test_a_valley_that_bends_is_followed_to_its_end():
    """Rosenbrock's function is least at (1, ..., 1)."""
    assert minimise(rosen, np.array([-1.2, 1.0, 0.5]), rosen_der) == pytest.approx(
        [1] * 3, abs=1e-4
    )


@pytest.mark.parametrize("seed", range(5))
def test_it_gets_as_far_down_as_an_optimiser(seed):
    """Sums of exponentials, as in the division of ln gamma."""
    rng = np.random.default_rng(seed)
    slopes, weights = rng.normal(size=(12, 5)), rng.random(12)

    def function(x):
        return float(np.log(weights @ np.exp(slopes @ x)) + 0.01 * x @ x)

    def gradient(x):
        terms = weights * np.exp(slopes @ x)
        return terms @ slopes / terms.sum() + 0.02 * x

    theirs = minimize(function, np.zeros(5), method="L-BFGS-B")
    assert function(minimise(function, np.zeros(5), gradient)) <= theirs.fun + 1e-8


def test_who_is_down_already_stays():
    """Nothing to gain, nothing moved; a flat function has no way down."""
    assert minimise(lambda x: float(x @ x), np.zeros(3), lambda x: 2 * x).tolist() == [0, 0, 0]
    assert minimise(lambda _: 1.0, np.array([2.0, 3.0]), np.zeros_like).tolist() == [2, 3]
