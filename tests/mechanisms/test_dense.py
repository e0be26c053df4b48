"""Tests of dense matrices and of the two ratios that guarantees are made of."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, SingularMatrix, UnknownColumn
from pramana.mechanisms.mechanism import matrix_from_json, with_fixed
from pramana.mechanisms.transition import Dense, UniformMixture


@st.composite
def dense_matrices(draw, zeros=True):
    """Small stochastic matrices, some with zeros."""
    size = draw(st.integers(2, 4))
    low = 0 if zeros else 1
    rows = [draw(st.lists(st.integers(low, 9), min_size=size, max_size=size)) for _ in range(size)]
    for row in rows:
        row[draw(st.integers(0, size - 1))] += 1
    values = np.array(rows, dtype=float)
    return Dense.of(tuple(range(size)), values / values.sum(axis=1, keepdims=True))


def crossed_ratio_by_brute_force(matrix: Dense) -> Fraction:
    """Theorem 3 to the letter: all quadruples, in fractions, impossible releases left out."""
    weights, numbers = matrix.weights, range(matrix.size)
    return min(
        Fraction(weights[u, y] * weights[v, x], weights[u, x] * weights[v, y])
        for u, v, x, y in itertools.product(numbers, repeat=4)
        if weights[u, x] and weights[v, y]
    )


@given(dense_matrices())
def test_rows_sum_exactly_and_zeros_stay(matrix):
    """A transition of probability zero must never happen."""
    assert all(sum(row) == TOTAL for row in matrix.rows)
    assert ((matrix.weights == 0) == (matrix.values == 0)).all()


def test_certainty_stays_certain():
    """A one is the whole of 2**64, also off the diagonal."""
    assert Dense.of(("a", "b"), [[0, 1], [1, 0]]).rows == ((0, TOTAL), (TOTAL, 0))


@given(dense_matrices())
def test_anonymity_ratio_is_the_minimum_over_all_quadruples(matrix):
    """The quick road never exceeds brute force in exact fractions, and is close to it."""
    exact = crossed_ratio_by_brute_force(matrix)

    assert Fraction(matrix.anonymity_ratio) <= exact
    assert matrix.anonymity_ratio == pytest.approx(float(exact), rel=1e-11)


@given(dense_matrices())
def test_gamma_is_the_largest_ratio_inside_a_column(matrix):
    """Exact in fractions, and infinite where a truth rules a release out."""
    columns = [column for column in matrix.weights.T if max(column)]
    exact = max(
        math.inf if min(column) == 0 else Fraction(max(column), min(column)) for column in columns
    )

    assert matrix.gamma == exact


def test_a_value_that_is_never_released_reveals_nothing():
    """A column of zeros is left out of both ratios."""
    matrix = Dense.of("abc", [[0.5, 0.5, 0], [0.25, 0.75, 0], [0.5, 0.5, 0]])

    assert matrix.gamma == 2
    assert matrix.anonymity_ratio == pytest.approx((0.25 / 0.5) * (0.5 / 0.75))


def test_five_hundred_values_need_little_memory():
    """500**4 quadruples are never written out; a uniform mixture knows the answer."""
    mixture = UniformMixture.of(tuple(range(500)), gamma=7)
    dense = Dense.from_weights(mixture.labels, mixture.weights)

    assert dense.anonymity_ratio == pytest.approx(1 / 49, rel=1e-9)
    assert dense.anonymity_ratio <= mixture.anonymity_ratio


def test_solve_undoes_apply_in_a_case_by_hand():
    """[[3/4, 1/4], [1/2, 1/2]] takes (40, 20) to (40, 20) by arithmetic on paper."""
    matrix = Dense.of("ab", [[0.75, 0.25], [0.5, 0.5]])

    np.testing.assert_allclose(matrix.apply([40, 20]), [40, 20])
    np.testing.assert_allclose(matrix.inverse, [[2, -1], [-2, 3]], atol=1e-12)
    np.testing.assert_allclose(matrix.spread([1, 1]), [8, 10])


def test_entropy_and_power():
    """One fair and one certain row have half a bit on average; a power is repeated release."""
    matrix = Dense.of("ab", [[0.5, 0.5], [0, 1]])

    assert matrix.entropy == pytest.approx(0.5)
    np.testing.assert_allclose(matrix.power(2).values, [[0.25, 0.75], [0, 1]])


def test_labels_find_entries_and_unknown_ones_are_refused():
    """A category is found by its label, never by position."""
    matrix = Dense.of(("M", "F"), [[0.75, 0.25], [0.5, 0.5]])

    assert matrix.probability("M", "F") == Fraction(1, 4)
    with pytest.raises(UnknownColumn):
        matrix.probability("M", "X")


@given(dense_matrices())
def test_plain_form_round_trips(matrix):
    """JSON keeps every digit of the integers."""
    assert matrix_from_json(matrix.to_json()) == matrix


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.5, 0.5]], "must be square, got 1 x 2"),
        ([[0.5, 0.4], [0.5, 0.5]], "1 of 2 do not"),
        ([[1.5, -0.5], [0.5, 0.5]], "negative"),
        ([[math.nan, 0.5], [0.5, 0.5]], "not finite"),
    ],
)
def test_what_is_not_stochastic_is_refused(values, message):
    """One line says what must hold and what was found."""
    with pytest.raises(InvalidMatrix, match=message):
        Dense.of("ab", values)


def test_labels_must_fit_the_matrix():
    """One label a row."""
    with pytest.raises(InvalidMatrix, match="for 3 labels"):
        Dense.of("abc", [[0.5, 0.5], [0.5, 0.5]])


def test_equal_rows_cannot_be_undone():
    """Two truths that look alike once released cannot be told apart."""
    with pytest.raises(SingularMatrix):
        Dense.of("ab", [[0.5, 0.5], [0.5, 0.5]]).solve([1, 2])


@pytest.mark.parametrize("form", [{}, {"family": "none"}, {"family": "dense", "labels": ["a"]}, []])
def test_a_broken_plain_form_is_refused(form):
    """Whatever is missing, the error is ours and is one line."""
    with pytest.raises(InvalidMatrix):
        matrix_from_json(form)


def test_a_fixed_value_is_neither_left_nor_reached():
    """An exempt value keeps its records, and that exposes them."""
    matrix = with_fixed(("a", "b", "c"), {"c"}, retention=0.5)

    assert matrix.probability("c", "c") == 1
    assert matrix.probability("a", "c") == 0
    assert matrix.probability("a", "b") == Fraction(1, 4)
    assert matrix.gamma == math.inf
    assert matrix.anonymity_ratio == 0
