"""Rows of empty cells in a published matrix that was made from the data."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.base.randomness import Keystream
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, TransitionMatrix
from pramana.methods.optimal.publication import DECOYS
from pramana.methods.optimal.publication import with_decoys as with_decoys_among
from pramana.schema.joint_cells import CellRules

LABELS = tuple("abcdefghijklmno")
NUMBERS = np.array([40, 30, 1, 2, 1, *[0] * 10], dtype=float)
SPARSE = SparseRows.of(
    LABELS, rows=[2, 2, 3, 4], columns=[0, 5, 0, 1], probabilities=[0.25, 0.5, 0.125, 0.75]
)
DENSE = Dense.from_weights(
    LABELS, np.round(SPARSE.values * 2**20).astype(np.int64).astype(object) * 2**44
)


def with_decoys(
    matrix: TransitionMatrix,
    numbers: np.ndarray,
    keystream: Keystream,
    rules: CellRules | None = None,
) -> TransitionMatrix:
    """The matrix with decoys, of a single column."""
    return with_decoys_among(
        matrix, numbers, keystream, columns=[LABELS], rules=rules or CellRules()
    )


@pytest.mark.parametrize("matrix", [SPARSE, DENSE], ids=["sparse", "dense"])
class TestDecoys:
    """Both families, the same laws."""

    def test_rows_with_records_and_targets_stay_as_they_are(self, matrix: TransitionMatrix) -> None:
        """What is done to records does not change, nor what the guarantee is computed from."""
        made = with_decoys(matrix, NUMBERS, Keystream.from_seed(1))
        assert type(made) is type(matrix)
        assert (made.values[NUMBERS > 0] == matrix.values[NUMBERS > 0]).all()
        assert made.values[5, 5] == 1  # empty, and something is sent there

    def test_rows_of_the_identity_do_not_tell_the_empty_cells(
        self, matrix: TransitionMatrix
    ) -> None:
        """Three decoys for each mover, alike in chance and targets."""
        made = with_decoys(matrix, NUMBERS, Keystream.from_seed(1))
        moved = made.diagonal < 1
        assert moved[NUMBERS == 0].sum() == min(DECOYS * 3, 9)
        rows = {(row[row < 1].max(), tuple(row[:2])) for row in made.values[2:5]}
        for place in np.flatnonzero(moved & (NUMBERS == 0)):
            row = made.values[place]
            assert (row[row < 1].max(), tuple(row[:2])) in rows

    def test_nothing_arrives_at_a_decoy_so_the_matrix_can_be_undone(
        self, matrix: TransitionMatrix
    ) -> None:
        """The determinant is that of the rest times the diagonal."""
        made = with_decoys(matrix, NUMBERS, Keystream.from_seed(1))
        decoys = (made.diagonal < 1) & (NUMBERS == 0)
        others = made.values - np.diag(made.diagonal)
        assert others[:, decoys].sum() == 0
        assert np.linalg.det(made.values) == pytest.approx(
            np.linalg.det(matrix.values) * made.diagonal[decoys].prod()
        )

    def test_cells_that_must_stay_are_no_decoys(self, matrix: TransitionMatrix) -> None:
        """Values that the schema exempts are never moved, not even on paper."""
        rules = CellRules((LABELS,), (np.array([label > "g" for label in LABELS]),))
        made = with_decoys(matrix, NUMBERS, Keystream.from_seed(1), rules)
        assert (made.diagonal[7:] == 1).all()
        assert (made.diagonal[6] < 1).all()


def test_which_cells_are_decoys_is_drawn() -> None:
    """Not a function of the table: several keys, several sets."""
    numbers = np.array([40, 30, 0, 0, 1, *[0] * 10], dtype=float)
    one = SparseRows.of(LABELS, rows=[4], columns=[1], probabilities=[0.75])
    sets = {
        tuple(np.flatnonzero(with_decoys(one, numbers, Keystream.from_seed(seed)).diagonal < 1))
        for seed in range(8)
    }
    assert len(sets) > 1


def test_a_matrix_that_moves_nothing_has_no_decoys() -> None:
    """Where nobody is rare all rows are the identity's, and that tells nothing apart."""
    still = SparseRows.of(LABELS, rows=[], columns=[], probabilities=[])
    assert with_decoys(still, NUMBERS, Keystream.from_seed(1)) is still
