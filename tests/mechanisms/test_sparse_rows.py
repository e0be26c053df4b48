"""Tests of the identity plus a few transitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, TooLarge
from pramana.mechanisms.mechanism import matrix_from_json
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense


@st.composite
def sparse_matrices(draw):
    """Five cells, up to eight transitions of at most 0.15 each."""
    cells = [(i, j) for i in range(5) for j in range(5) if i != j]
    chosen = draw(st.lists(st.sampled_from(cells), unique=True, max_size=8))
    chances = [draw(st.floats(0, 0.15)) for _ in chosen]
    rows, columns = ([cell[side] for cell in chosen] for side in (0, 1))
    return SparseRows.of(tuple("abcde"), rows=rows, columns=columns, probabilities=chances)


def as_dense(matrix: SparseRows) -> Dense:
    return Dense.from_weights(matrix.labels, matrix.weights)


@given(sparse_matrices())
def test_it_is_the_matrix_that_it_stands_for(matrix):
    """Every verb of the sparse road equals that of the same matrix written out."""
    dense = as_dense(matrix)
    counts = np.arange(10.0).reshape(2, 5)

    for verb in ("apply", "solve", "spread"):
        np.testing.assert_allclose(
            getattr(matrix, verb)(counts), getattr(dense, verb)(counts), atol=1e-9
        )
        np.testing.assert_allclose(
            getattr(matrix, verb)(counts.T, axis=0),
            getattr(dense, verb)(counts.T, axis=0),
            atol=1e-9,
        )
    assert matrix.gamma == dense.gamma
    assert matrix.anonymity_ratio == dense.anonymity_ratio
    assert matrix.entropy == pytest.approx(dense.entropy, abs=1e-12)
    assert matrix.probability("a", "b") == dense.probability("a", "b")


@given(sparse_matrices())
def test_the_diagonal_takes_the_rest(matrix):
    """Rows sum to 2**64 exactly."""
    assert all(sum(row) == TOTAL for row in matrix.weights)
    assert matrix_from_json(matrix.to_json()) == matrix


def test_a_value_reached_by_some_only_has_no_bound():
    """A sparse matrix gives neither a finite epsilon nor Pk-anonymity."""
    matrix = SparseRows.of("abc", rows=[0], columns=[1], probabilities=[0.5])

    assert matrix.gamma == math.inf
    assert matrix.anonymity_ratio == 0
    assert matrix.probability("a", "b") == Fraction(1, 2)


def test_a_hundred_thousand_cells_are_no_trouble():
    """Apply then solve is the identity, and nothing of size N x N is ever made."""
    size = 100_000
    rows = np.arange(0, size, 10)
    matrix = SparseRows.of(
        tuple(range(size)), rows=rows, columns=rows + 1, probabilities=np.full(len(rows), 0.2)
    )
    counts = np.arange(size, dtype=float)

    np.testing.assert_allclose(matrix.solve(matrix.apply(counts)), counts, atol=1e-6)
    with pytest.raises(TooLarge, match="100,000"):
        _ = matrix.weights


@pytest.mark.parametrize(
    ("rows", "columns", "chances", "message"),
    [
        ([0], [0], [0.1], "lead to another value"),
        ([0, 0], [1, 1], [0.1, 0.1], "given once"),
        ([0], [7], [0.1], "between the 3 labels"),
        ([0], [1], [1.5], r"in \[0, 1\)"),
        ([0, 0], [1, 2], [0.9, 0.9], "at most probability 1 together"),
    ],
)
def test_transitions_that_make_no_matrix_are_refused(rows, columns, chances, message):
    """Each fault has its own line."""
    with pytest.raises(InvalidMatrix, match=message):
        SparseRows.of("abc", rows=rows, columns=columns, probabilities=chances)


def test_the_sparse_inverse_undoes_the_matrix_and_is_made_once() -> None:
    """By the series, as the dense one does; who asks again gets the same."""
    matrix = SparseRows.of("abcd", rows=[0, 1, 3], columns=[2, 0, 1], probabilities=[0.2, 0.1, 0.3])
    found = matrix.sparse_inverse

    assert np.allclose(matrix.values @ found.toarray(), np.eye(4), atol=1e-15)
    assert np.allclose(found.toarray(), np.linalg.inv(matrix.values), atol=1e-15)
    assert matrix.sparse_inverse is found
