"""The generator of loan applicants: ranges, the five rules by hand, the same numbers again."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber
from pramana.experiments.tree_grid import ATTRIBUTES, FUNCTIONS, RANGES, make_applicants

PLAIN = {name: np.array([low]) for name, (low, _) in RANGES.items()}


@pytest.mark.parametrize(
    ("function", "values", "in_a"),
    [
        (1, {"age": 39.9}, True),
        (1, {"age": 40.0}, False),
        (1, {"age": 60.0}, True),
        (2, {"age": 30, "salary": 60_000}, True),
        (2, {"age": 50, "salary": 60_000}, False),
        (2, {"age": 50, "salary": 125_000}, True),
        (2, {"age": 70, "salary": 60_000}, True),
        (2, {"age": 70, "salary": 100_000}, False),
        (3, {"age": 30, "elevel": 1, "salary": 30_000}, True),
        (3, {"age": 30, "elevel": 2, "salary": 30_000}, False),
        (3, {"age": 30, "elevel": 4, "salary": 80_000}, False),
        (3, {"age": 50, "elevel": 4, "salary": 120_000}, True),
        (3, {"age": 50, "elevel": 0, "salary": 80_000}, False),
        (3, {"age": 70, "elevel": 1, "salary": 30_000}, True),
        (3, {"age": 70, "elevel": 3, "salary": 30_000}, False),
        (4, {"salary": 100_000, "commission": 0, "loan": 284_000}, True),
        (4, {"salary": 100_000, "commission": 0, "loan": 286_000}, False),
        (5, {"salary": 20_000, "commission": 0, "loan": 500_000, "hyears": 20}, False),
        (5, {"salary": 20_000, "loan": 100_000, "hvalue": 1e6, "hyears": 22}, True),
    ],
)
def test_rules_by_hand(function, values, in_a):
    """Borders included as the paper states them."""
    given = PLAIN | {name: np.array([value]) for name, value in values.items()}

    assert bool(FUNCTIONS[function](given)[0]) is in_a


def test_attributes_lie_in_their_ranges():
    """Known ranges, whole numbers where whole, no commission for high salaries."""
    table = make_applicants(5_000, function=2, keystream=Keystream.from_seed(1))

    for name in ATTRIBUTES:
        values = table[name].to_numpy()
        assert RANGES[name][0] <= values.min()
        assert values.max() <= RANGES[name][1]
    salary, commission = table["salary"].to_numpy(), table["commission"].to_numpy()
    assert ((commission == 0) == (salary >= 75_000)).all()
    assert set(table["class"].to_pylist()) == {"A", "B"}


def test_a_population_begins_as_a_smaller_one_does():
    """Each applicant is a function of the key and of the number."""
    many = make_applicants(200, function=5, keystream=Keystream.from_seed(2))
    few = make_applicants(50, function=5, keystream=Keystream.from_seed(2))

    assert many.slice(0, 50) == few


def test_unknown_functions_are_refused():
    """There are five."""
    with pytest.raises(InvalidNumber, match="1 to 5"):
        make_applicants(10, function=6, keystream=Keystream.from_seed(1))
