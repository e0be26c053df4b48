"""Tests of the uniform mixture: retention, gamma and epsilon are one dial."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, InvalidNumber, SingularMatrix
from pramana.mechanisms.transition import Dense, UniformMixture

sizes = st.integers(2, 60)
retentions = st.floats(0, 1)
mixtures = st.builds(
    lambda size, retention: UniformMixture.of(tuple(range(size)), retention=retention),
    sizes,
    retentions,
)
undoable = st.builds(
    lambda size, retention: UniformMixture.of(tuple(range(size)), retention=retention),
    st.integers(2, 12),
    st.floats(0.01, 1),
)


def as_dense(matrix: UniformMixture) -> Dense:
    return Dense.from_weights(matrix.labels, matrix.weights)


def test_a_fair_coin_toss_between_keeping_and_drawing():
    """Ikarashi's example: sex with retention 1/2 is kept with 3/4 and changed with 1/4."""
    matrix = UniformMixture.of(("female", "male"), retention=0.5)

    assert matrix.probability("male", "female") == Fraction(1, 4)
    assert matrix.probability("male", "male") == Fraction(3, 4)
    assert matrix.gamma == 3
    assert matrix.anonymity_ratio == Fraction(1, 9)


@given(mixtures)
def test_every_row_sums_to_two_to_the_sixty_four(matrix):
    """No probability is lost to rounding."""
    assert all(sum(row) == TOTAL for row in matrix.weights)


@given(sizes, retentions)
def test_retention_round_trips(size, retention):
    """The attained retention is at most the one asked, and off by less than 2**-58."""
    attained = UniformMixture.of(tuple(range(size)), retention=retention).retention

    assert -Fraction(size, TOTAL) <= Fraction(retention) - attained - Fraction(
        size, TOTAL
    ) <= 0 or (Fraction(retention) < Fraction(size, TOTAL) and attained < Fraction(size, TOTAL))


@given(sizes, st.floats(1, 1e6))
def test_gamma_round_trips(size, gamma):
    """The attained gamma is at most the one asked (down to what 2**64 divides into), and close."""
    attained = UniformMixture.of(tuple(range(size)), gamma=gamma).gamma

    assert attained <= max(Fraction(gamma), 1 + Fraction(size * size, TOTAL))
    assert float(attained) == pytest.approx(gamma, rel=1e-12)


@given(sizes, st.floats(1e-9, 30))
def test_epsilon_round_trips_and_is_never_exceeded(size, epsilon):
    """What is read off is at or below what was asked, though reading rounds up."""
    attained = UniformMixture.of(tuple(range(size)), epsilon=epsilon).epsilon

    assert attained <= epsilon
    assert attained == pytest.approx(epsilon, rel=1e-6, abs=1e-12)


@given(mixtures.filter(lambda matrix: matrix.other > 0))
def test_stated_epsilon_is_never_below_the_exact_one(matrix):
    """Rounding may cost utility, never privacy (60-digit arithmetic as judge)."""
    with localcontext(prec=60):
        exact = (Decimal(matrix.gamma.numerator) / Decimal(matrix.gamma.denominator)).ln()

    assert Decimal(matrix.epsilon) >= exact


def test_readings_agree_with_the_formulas():
    """gamma = (1 + (N-1) rho) / (1 - rho), epsilon = ln gamma, condition number = 1 / rho."""
    matrix = UniformMixture.of(tuple("abcde"), retention=0.25)

    assert float(matrix.gamma) == pytest.approx((1 + 4 * 0.25) / 0.75)
    assert matrix.epsilon == pytest.approx(math.log(2 / 0.75))
    assert matrix.condition_number == pytest.approx(4)
    assert matrix.condition_number == pytest.approx(np.linalg.cond(matrix.values))


def test_entropy_of_the_papers_example():
    """gamma = 5 over 10 values has 2.9781 bits [Dowd, Fig. 3]."""
    assert UniformMixture.of(tuple(range(10)), gamma=5).entropy == pytest.approx(2.9781, abs=5e-5)


@given(undoable)
def test_structure_gives_what_the_written_out_matrix_gives(matrix):
    """Linear-time apply, solve, spread, entropy and gamma equal those of the dense road."""
    dense = as_dense(matrix)
    counts = np.arange(2 * matrix.size * 3, dtype=float).reshape(2, matrix.size, 3)

    for verb in ("apply", "solve", "spread"):
        ours = getattr(matrix, verb)(counts, axis=1)
        np.testing.assert_allclose(ours, getattr(dense, verb)(counts, axis=1), rtol=1e-6, atol=1e-6)
    assert matrix.entropy == pytest.approx(dense.entropy, abs=1e-9)
    assert matrix.gamma == dense.gamma
    assert dense.anonymity_ratio <= matrix.anonymity_ratio
    assert float(matrix.anonymity_ratio) == pytest.approx(dense.anonymity_ratio, rel=1e-9)


@given(undoable, st.integers(0, 6))
def test_powers_have_the_closed_form(matrix, times):
    """t releases in a row keep with rho**t [Dowd, Lemma 2]; numpy multiplies as judge."""
    np.testing.assert_allclose(
        matrix.power(times).values, np.linalg.matrix_power(matrix.values, times), atol=1e-12
    )


def test_limits_are_the_identity_and_pure_noise():
    """Retention 1 changes and promises nothing; retention 0 is uniform and cannot be undone."""
    still, noise = (UniformMixture.of(tuple("abcd"), retention=rho) for rho in (1, 0))

    assert still.gamma == math.inf
    assert still.anonymity_ratio == 0
    assert noise.gamma == 1
    assert noise.epsilon == 0
    with pytest.raises(SingularMatrix, match="pure noise"):
        noise.solve([1, 2, 3, 4])


@given(mixtures)
def test_plain_form_round_trips(matrix):
    """JSON keeps every digit of the integers."""
    assert UniformMixture.from_json(matrix.to_json()) == matrix


@pytest.mark.parametrize("arguments", [{}, {"retention": 0.5, "gamma": 2}])
def test_exactly_one_reading_must_be_given(arguments):
    """None or two readings are refused."""
    with pytest.raises(InvalidNumber, match="exactly one"):
        UniformMixture.of(("a", "b"), **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"retention": -0.1},
        {"retention": 1.1},
        {"gamma": 0.5},
        {"epsilon": -1},
        {"epsilon": math.nan},
    ],
)
def test_a_parameter_out_of_range_is_refused(arguments):
    """One line names the parameter and its range."""
    (name,) = arguments
    with pytest.raises(InvalidNumber, match=f"^{name} must be a number in"):
        UniformMixture.of(("a", "b"), **arguments)


def test_labels_must_differ():
    """A category is found by its label, so a label can stand once only."""
    with pytest.raises(InvalidMatrix, match="must differ"):
        UniformMixture.of(("a", "a"), retention=0.5)


def test_the_inverse_is_worked_out_once():
    """In exact fractions it takes as long as a table of hundreds of cells."""
    matrix = UniformMixture.of(("a", "b", "c"), retention=0.4)
    same, rest = matrix._inverse_entries

    assert matrix._inverse_entries is matrix._inverse_entries
    assert np.linalg.inv(matrix.values)[0, :2] == pytest.approx([same, rest])
