"""Invariant matrices: t P = t exactly in integers, per stratum, never below the minimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, InvalidNumber, InvalidSchema, OutsideDomain
from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.methods.frequency_preserving import invariant_design
from pramana.schema.joint_cells import Counts


def drift(matrix, times):
    """t P - t in integers over 2**64: no rounding at all."""
    numbers = [times.get(label, 0) for label in matrix.labels]
    return [
        sum(t * int(row[j]) for t, row in zip(numbers, matrix.weights, strict=True))
        - numbers[j] * TOTAL
        for j in range(matrix.size)
    ]


def test_case_by_hand():
    """P = (3/4, 1/4; 1/4, 3/4), t = (4, 4): R = P P = (5/8, 3/8; ...), since P is symmetric."""
    P = Dense.of(("a", "b"), [[0.75, 0.25], [0.25, 0.75]])
    design = invariant_design({"a": 4, "b": 4}, matrix=P)

    assert design.matrix.values == pytest.approx(np.array([[0.625, 0.375], [0.375, 0.625]]))
    assert design.expected_changes == pytest.approx(3)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=7).filter(any),
    st.integers(0, 10**6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_frequencies_stay_exactly_and_the_minimum_holds(numbers, seed, alpha, pd):
    """Any frequencies and any matrix: the equation holds in integers, the diagonal as stated."""
    times = dict(enumerate(numbers))
    values = np.random.default_rng(seed).dirichlet(np.ones(len(numbers)), len(numbers))

    from_any = invariant_design(times, matrix=Dense.of(tuple(times), values), alpha=alpha)
    design = invariant_design(times, pd=pd, alpha=alpha)

    assert drift(from_any.matrix, times) == [0] * len(numbers)
    assert drift(design.matrix, times) == [0] * len(numbers)
    assert design.smallest_diagonal >= pd


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=2, max_size=6), st.integers(0, 10**6))
def test_two_stages_one_after_the_other(numbers, seed):
    """Second road: R = P Q with Q the Bayes inverse, multiplied out in floating point."""
    times = np.array(numbers, dtype=float)
    P = np.random.default_rng(seed).dirichlet(np.ones(len(numbers)), len(numbers))
    Q = (P * times[:, None]).T / (times @ P)[:, None]

    design = invariant_design(
        dict(enumerate(numbers)), matrix=Dense.of(tuple(range(len(numbers))), P), alpha=0.5
    )

    assert design.matrix.values == pytest.approx(0.5 * P @ Q + 0.5 * np.eye(len(numbers)), abs=1e-9)


def test_parameters_of_sdcmicro():
    """(pd, alpha): pd on the diagonal, a two-stage matrix, a mixture with the identity."""
    times = np.array([30.0, 50.0, 20.0])
    P = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    Q = (P * times[:, None]).T / (times @ P)[:, None]

    design = invariant_design({"a": 30, "b": 50, "c": 20}, pd=0.8, alpha=0.4)

    assert design.matrix.values == pytest.approx(0.4 * P @ Q + 0.6 * np.eye(3))


def test_alpha_is_lowered_where_the_diagonal_would_fall_below_pd():
    """R itself has a smaller diagonal than P; the stated minimum wins, and is reached."""
    design = invariant_design({"a": 30, "b": 50, "c": 20}, pd=0.8, alpha=1.0)

    assert design.smallest_diagonal >= 0.8
    assert design.smallest_diagonal == pytest.approx(0.8, abs=1e-9)


def test_every_stratum_keeps_its_matrix():
    """Frequencies differ by stratum, so do the matrices, and each is invariant in its own."""
    counts = Counts.from_dense(
        ("region", "job"),
        (("N", "S", "W"), ("x", "y", "z")),
        np.array([[9, 5, 1], [3, 0, 8], [0, 0, 0]]),
    )

    design = invariant_design(counts, pd=0.6, strata=["region"])

    assert set(design.by_stratum) == {("N",), ("S",)}
    for stratum, times in ((("N",), [9, 5, 1]), (("S",), [3, 0, 8])):
        matrix = design.by_stratum[stratum]
        assert drift(matrix, dict(zip("xyz", times, strict=True))) == [0, 0, 0]
    assert design.step.strata == ("region",)
    assert Mechanism((design.step,)).strata == ("region",)
    with pytest.raises(InvalidSchema, match="2 strata"):
        _ = design.matrix


def test_zeros_are_refused():
    """A chain a - b - c: two stages would lead from a to c."""
    chain = Dense.of(("a", "b", "c"), [[0.8, 0.2, 0], [0.1, 0.8, 0.1], [0, 0.2, 0.8]])
    with pytest.raises(InvalidMatrix, match="fill 2 transitions.* Give one without zeros"):
        invariant_design({"a": 10, "b": 30, "c": 7}, matrix=chain)


def test_limit_cases():
    """alpha = 0 changes nothing; a value that nobody has is neither left nor reached."""
    still = invariant_design({"a": 5, "b": 6}, pd=0.5, alpha=0)
    empty = invariant_design({"a": 5, "none": 0, "b": 6}, pd=0.5)

    assert still.expected_changes == 0
    assert empty.matrix.probability("none", "none") == 1
    assert empty.matrix.probability("a", "none") == 0


def test_refusals():
    """A matrix or pd, at least two categories, numbers in range, labels that match."""
    coin = UniformMixture.of(("a", "b"), retention=0.5)
    with pytest.raises(InvalidNumber, match="not both"):
        invariant_design({"a": 1, "b": 2}, matrix=coin, pd=0.5)
    with pytest.raises(InvalidSchema, match="two categories"):
        invariant_design({"a": 1}, pd=0.5)
    with pytest.raises(InvalidNumber):
        invariant_design({"a": 1, "b": 2}, pd=1.5)
    with pytest.raises(InvalidNumber):
        invariant_design({"a": 1, "b": 2.5}, pd=0.5)
    with pytest.raises(OutsideDomain):
        invariant_design({"a": 1, "z": 2}, matrix=coin)
