"""A rule of thumb for what an alpha changes, against programs and against the design itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from pramana import api
from pramana.base.randomness import Keystream
from pramana.experiments.population import make_population
from pramana.methods.optimal.publication import changes_of_choice, estimated_changes


def test_one_person_alone_by_hand() -> None:
    """1/s^2 = 2/0.1 - 1: the one stays with chance 1/sqrt(19), and 9 s others arrive."""
    assert changes_of_choice(np.array([1.0, 500.0]), 0.1) == pytest.approx(9 / 19**0.5)
    assert changes_of_choice(np.array([10.0, 500.0]), 0.1) == 0
    assert estimated_changes([np.array([10.0]), np.array([20.0, 0.0])], 0.1) == (0, 0)


def by_program(totals: np.ndarray, alpha: float) -> float:
    """The same minimum by a general program: loss of leaving, and 2 for each that must come."""
    rare = totals[totals * alpha < 1]

    def cost(stays: np.ndarray) -> float:
        coming = (stays * (1 / alpha - rare)).sum() - (rare * (1 - stays)).sum()
        return float((rare * (1 / stays - stays)).sum() + 2 * max(coming, 0.0))

    start = np.full(len(rare), 0.5)
    found = minimize(cost, start, bounds=[(0.05, 1.0)] * len(rare), method="Powell",
                     options={"xtol": 1e-7, "ftol": 1e-12, "maxiter": 4000})  # fmt: skip
    stays = found.x
    return max(float((stays * (1 / alpha - rare)).sum()), float((rare * (1 - stays)).sum()))


@pytest.mark.parametrize("totals", [(1, 1, 2, 5, 300), (3, 3, 4, 90), (1, 2), (7, 9, 9, 9, 40)])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.4])
def test_the_least_of_staying_and_leaving(totals: tuple[int, ...], alpha: float) -> None:
    """The closed form is where a general program ends."""
    own = np.array(totals, dtype=float)
    if not (own * alpha < 1).any():
        assert changes_of_choice(own, alpha) == 0
        return
    assert changes_of_choice(own, alpha) == pytest.approx(by_program(own, alpha), rel=0.02)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=30))
def test_a_stricter_alpha_never_changes_fewer(totals: list[int]) -> None:
    """Over the whole slider."""
    own = np.array(totals, dtype=float)
    told = [changes_of_choice(own, alpha) for alpha in (0.5, 0.2, 0.1, 0.05, 0.01)]
    assert told == sorted(told)


@pytest.mark.parametrize("keys", [("sex", "age", "region"), ("age", "region", "education"),
                                  ("sex", "age", "region", "education")])  # fmt: skip
@pytest.mark.deep(every=3)
def test_the_design_lies_between_the_two(keys: tuple[str, ...]) -> None:
    """On people who do not exist, with one and with four choices of three keys."""
    people = make_population(30_000, keystream=Keystream.from_seed(5)).select(list(keys))
    schema = api.describe(people).schema
    schema = replace(schema, columns=tuple(replace(own, role="key") for own in schema.columns))
    counted = api.design_context(schema, people)
    for alpha in (0.3, 0.1):
        asked = api.guarantees_from_options({"alpha": alpha}, schema=schema)
        low, high = api.estimate_changes(counted, *asked) or (0.0, 0.0)
        assert low <= api.design_for(counted, *asked).statistics["expected_changes"] <= high


def test_what_is_found_at_once_needs_no_rule_of_thumb() -> None:
    """Only a method that searches has one."""
    people = make_population(500, keystream=Keystream.from_seed(5))
    schema = api.describe(people).schema
    counted = api.design_context(schema, people)
    for target in ({"k": 4.0}, {"epsilon": 3.0}, {"xi": 0.4}):
        asked = api.guarantees_from_options(target, schema=schema)
        assert api.estimate_changes(counted, *asked) is None
