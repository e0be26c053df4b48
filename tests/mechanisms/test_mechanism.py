"""Tests of steps and mechanisms."""

from __future__ import annotations

import pytest

from pramana.errors import InvalidMatrix, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture

SEX = UniformMixture.of(("F", "M"), retention=0.5)
AGE = Dense.of(("young", "old"), [[0.9, 0.1], [0.2, 0.8]])


def test_columns_are_found_in_their_steps():
    """A joint step covers several columns."""
    joint = UniformMixture.of((("x", 1), ("y", 1), ("y", 2)), retention=0.25)
    mechanism = Mechanism((Step(("sex",), SEX), Step(("a", "b"), joint)))

    assert mechanism.columns == ("sex", "a", "b")
    assert mechanism.step_of("b").matrix is joint
    with pytest.raises(UnknownColumn, match="'income' is not randomised"):
        mechanism.step_of("income")


def test_every_stratum_keeps_its_matrix():
    """The plain form carries all strata and comes back whole."""
    by_stratum = {("north",): SEX, ("south",): UniformMixture.of(("F", "M"), retention=0.9)}
    mechanism = Mechanism(
        (Step(("sex",), strata=("region",), by_stratum=by_stratum), Step(("age",), AGE))
    )

    assert Mechanism.from_json(mechanism.to_json()) == mechanism
    assert mechanism.strata == ("region",)
    assert len(mechanism.steps[0].matrices) == 2


def test_a_column_in_two_steps_is_refused():
    """A value is randomised once."""
    with pytest.raises(InvalidMatrix, match="one step only"):
        Mechanism((Step(("sex",), SEX), Step(("sex",), SEX)))


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": ("sex",)},
        {"columns": ("sex",), "matrix": SEX, "strata": ("r",), "by_stratum": {("a",): SEX}},
        {"columns": ("sex",), "strata": ("r",), "by_stratum": {("a",): SEX, ("b",): AGE}},
        {"columns": ("sex", "age"), "matrix": SEX},
    ],
)
def test_a_step_that_makes_no_sense_is_refused(arguments):
    """No matrix, two kinds of matrix, strata with other labels, a joint step without tuples."""
    with pytest.raises(InvalidMatrix):
        Step(**arguments)
