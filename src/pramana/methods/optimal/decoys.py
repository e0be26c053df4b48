"""Decoys: rows of cells that nobody is in, made to look like those of rare cells.

The least loss leaves a cell alone that has no record, so that in a published matrix the rows of
empty cells would be those of the identity, and the others would list the rare cells that occur.
Some empty cells therefore get the row of a rare one, with the two cells exchanged. No record meets
such a row, so that neither loss nor condition C1 changes: both weigh rows by their counts.

A decoy is no target of any row, so that nothing ever arrives there and the matrix stays solvable:
its determinant is that of the rest times the diagonal of the decoys. Which cells are decoys is
drawn, not computed: whoever designs anew for every possible table cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pramana.matrices import Dense, Label, SparseRows, TransitionMatrix
from pramana.randomness import Keystream, Stream
from pramana.types import FloatArray, IntArray

__all__ = ["DECOYS", "rebuilt", "transitions", "with_decoys"]

DECOYS = 3
"""Decoys for each rare cell whose records move, as far as there are empty cells."""


def with_decoys(
    matrix: TransitionMatrix,
    numbers: FloatArray,
    keystream: Keystream,
    *,
    stays: Callable[[Label], bool] = lambda _: False,
) -> TransitionMatrix:
    """The matrix with decoys among the cells that nobody is in.

    Args:
        matrix: of the joint cells, with the identity's rows where nobody is.
        numbers: how many are in each cell.
        keystream: draws which cells are decoys, and of which others.
        stays: cells that must stay as they are whoever is there.
    """
    rows, columns, moves = transitions(matrix)
    movers = np.unique(rows[numbers[rows] > 0])
    idle = (numbers == 0) & ~np.isin(np.arange(matrix.size), np.concatenate([rows, columns]))
    free = [place for place in np.flatnonzero(idle).tolist() if not stays(matrix.labels[place])]
    wanted = min(len(free), DECOYS * len(movers))
    if not wanted:
        return matrix
    chosen = np.asarray(free)[keystream.permutation(len(free), Stream("decoys", "cells"))[:wanted]]
    order = keystream.permutation(len(movers), Stream("decoys", "rows"))
    models = movers[order[np.arange(wanted) % len(movers)]]
    added = [_like(model, place, rows, columns, moves)
             for model, place in zip(models.tolist(), chosen.tolist(), strict=True)]  # fmt: skip
    return rebuilt(
        matrix,
        np.concatenate([rows, *(part[0] for part in added)]),
        np.concatenate([columns, *(part[1] for part in added)]),
        np.concatenate([moves, *(part[2] for part in added)]),
    )


def _like(
    model: int, place: int, rows: IntArray, columns: IntArray, moves: np.ndarray
) -> tuple[IntArray, IntArray, np.ndarray]:
    """The transitions of a row, from another cell."""
    own = rows == model
    return np.full(int(own.sum()), place), columns[own], moves[own]


def transitions(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, np.ndarray]:
    """Off-diagonal entries in integers over 2**64."""
    if isinstance(matrix, SparseRows):
        return matrix.sources, matrix.targets, matrix.moves
    weights = np.array(matrix.weights, dtype=object)
    np.fill_diagonal(weights, 0)
    rows, columns = np.nonzero(weights)
    return rows, columns, weights[rows, columns].astype(np.uint64)


def rebuilt(
    matrix: TransitionMatrix, rows: IntArray, columns: IntArray, moves: np.ndarray
) -> TransitionMatrix:
    """A matrix of the same family from its off-diagonal entries."""
    made = SparseRows.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)
    if isinstance(matrix, SparseRows):
        return made
    weights = np.zeros((matrix.size, matrix.size), dtype=object)
    weights[made.sources, made.targets] = [int(move) for move in made.moves]
    np.fill_diagonal(weights, made.kept)
    return Dense.from_weights(matrix.labels, weights)
