"""Individual risk given sampling weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber
from pramana.risk.frequencies import exact_individual_risk, individual_risk


@pytest.mark.parametrize(
    ("fk", "weight", "risk"),
    [(2, 110, 0.01714426), (2, 84.5, 0.02204233), (1, 17, 0.17707583), (1, 8, 0.29706308)],
)
def test_the_small_reference_file_of_the_field(fk, weight, risk):
    """What sdcMicro prints for records of its eight-record example."""
    assert individual_risk(fk, weight) == pytest.approx(risk, abs=2e-8)


@given(st.integers(1, 40), st.floats(0.01, 0.95))
def test_the_exact_risk_is_the_mean_of_one_over_the_population(fk, p):
    """A sum over the negative binomial law, term by term."""
    from scipy.stats import nbinom

    people = np.arange(fk, fk + 60_000)
    mean = (nbinom.pmf(people - fk, fk, p) / people).sum()

    assert exact_individual_risk(fk, fk / p) == pytest.approx(mean, rel=1e-6)


@given(st.integers(1, 200), st.floats(0.001, 1.0))
def test_the_usual_form_stays_near_the_exact_one(fk, p):
    """Equal for fk of 1 and 2; from 3 on an approximation that is off by less than a fifth."""
    usual, exact = individual_risk(fk, fk / p), exact_individual_risk(fk, fk / p)

    assert usual == pytest.approx(exact, rel=1e-6 if fk < 3 else 0.2)


@given(st.integers(1, 50), st.floats(1, 1e6))
def test_more_people_mean_less_risk(fk, people):
    """The risk falls with the population, and lies in (0, 1]."""
    near, far = individual_risk(fk, fk * people), individual_risk(fk, fk * people * 1.5)

    assert 0 < far <= near * (1 + 1e-9) <= 1 + 1e-9


def test_a_census_has_risk_one_over_fk():
    """Where the sample is the population nothing is hidden but by those alike."""
    assert individual_risk([1, 2, 5], [1, 2, 5]).tolist() == [1, 0.5, 0.2]
    assert individual_risk([2], [1]).tolist() == [0.5]  # weights below one count as one


def test_near_a_census_nothing_cancels():
    """fk = 2 with a weight just above one: between the census and the formula's far field."""
    assert individual_risk(2, 2.0000001) == pytest.approx(0.5, abs=1e-6)


def test_bad_weights_are_refused():
    """A sum of weights below zero means nothing; nor does one that is no number."""
    for wrong in (-1.0, float("nan")):
        with pytest.raises(InvalidNumber, match="at least 0"):
            individual_risk(1, wrong)


def test_who_stands_for_nobody_is_there_all_the_same():
    """Surveys give a weight of 0 to people outside of their frame: the risk is the highest."""
    assert individual_risk([1, 4], [0, 0]).tolist() == [1, 0.25]
    assert exact_individual_risk([1, 4], [0, 0]).tolist() == [1, 0.25]
