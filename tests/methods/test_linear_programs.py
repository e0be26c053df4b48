"""Small linear programs: both doors to the solver give the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pramana.methods import symmetric_flows as module
from pramana.methods.symmetric_flows import least_cost


def program(seed, variables=12):
    """A program that has an answer: x = 1/2 meets all that is asked."""
    random = np.random.default_rng(seed)
    upper, equal = (sparse.csc_array(random.random((rows, variables))) for rows in (7, 2))
    half = np.full(variables, 0.5)
    return (
        random.normal(0, 1, variables),
        (upper, upper @ half + random.random(7)),
        (equal, equal @ half),
    )


def rows(upper, equal=None):
    """Rows with both their ends: equations below all others."""
    (A, b), (C, d) = upper, equal or (sparse.csc_array((0, upper[0].shape[1])), np.zeros(0))
    least = np.append(np.full(len(b), -np.inf), d)
    return sparse.vstack([A, C]).tocsc(), least, np.append(b, d)


@pytest.mark.parametrize("equations", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_both_doors_lead_to_the_same_answer(seed, equations, monkeypatch):
    """To the last bit, and it is one: inside its bounds, and no worse than where we know of."""
    cost, upper, equal = program(seed)
    low, high = np.zeros(12), np.where(np.arange(12) % 3, 1.0, np.inf)
    found = []
    for few in (0, 100):
        monkeypatch.setattr(module, "FEW", few)
        found.append(least_cost(cost + 2, *rows(upper, equal if equations else None),
                                low=low, high=high))  # fmt: skip

    assert np.array_equal(*found)
    x = found[0]
    assert (upper[0] @ x <= upper[1] + 1e-7).all()
    assert ((low - 1e-7 <= x) & (x <= high + 1e-7)).all()
    assert (cost + 2) @ x <= (cost + 2).sum() / 2 + 1e-7
    if equations:
        assert equal[0] @ x == pytest.approx(equal[1])


@pytest.mark.parametrize("few", [0, 100])
def test_what_cannot_be_met_has_no_answer(few, monkeypatch):
    """The sum of two shares is to be at most minus one."""
    monkeypatch.setattr(module, "FEW", few)
    asked = (sparse.csc_array(np.ones((1, 2))), np.array([-1.0]))
    assert least_cost(np.ones(2), *rows(asked), low=np.zeros(2), high=np.ones(2)) is None
