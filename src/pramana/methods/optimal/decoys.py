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

from collections.abc import Callable, Sequence

import numpy as np

from pramana.matrices import Dense, Label, ListedCells, SparseRows, TransitionMatrix
from pramana.randomness import Keystream, Stream
from pramana.table.cells import cell_codes, cell_numbers
from pramana.table.rules import CellRules
from pramana.types import FloatArray, IntArray

__all__ = ["DECOYS", "as_listed", "rebuilt", "transitions", "with_decoys", "with_listed_decoys"]

TRIES = 4
"""So many cells are drawn for each decoy: some are listed, or cannot be."""

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
    rows, columns, _ = transitions(matrix)
    movers = np.unique(rows[numbers[rows] > 0])
    idle = (numbers == 0) & ~np.isin(np.arange(matrix.size), np.concatenate([rows, columns]))
    free = [place for place in np.flatnonzero(idle).tolist() if not stays(matrix.labels[place])]
    wanted = min(len(free), DECOYS * len(movers))
    if not wanted:
        return matrix
    chosen = np.asarray(free)[keystream.permutation(len(free), Stream("decoys", "cells"))[:wanted]]
    order = keystream.permutation(len(movers), Stream("decoys", "rows"))
    models = movers[order[np.arange(wanted) % len(movers)]]
    return rebuilt(matrix, *_dressed(matrix, models, chosen))


def with_listed_decoys(
    matrix: ListedCells,
    numbers: FloatArray,
    keystream: Keystream,
    *,
    columns: Sequence[tuple[Label, ...]],
    rules: CellRules,
) -> ListedCells:
    """The matrix with decoys among cells that it does not list, which nobody is in.

    A decoy takes each key from one of two rare cells that move, by a coin: it looks like them.

    Args:
        matrix: of the joint cells that matter.
        numbers: how many are in each.
        keystream: draws the decoys.
        columns: the labels of each column: cells are listed in their order.
        rules: which cells can exist, and which must stay.
    """
    codes = np.ascontiguousarray(cell_codes(columns, matrix.labels).T)
    movers = np.unique(matrix.sources[numbers[matrix.sources] > 0])
    drawn = _crossed(codes[movers], keystream, count=TRIES * DECOYS * len(movers))
    sizes = [len(own) for own in columns]
    flat, own = cell_numbers(list(drawn.T), sizes), cell_numbers(list(codes.T), sizes)
    _, first = np.unique(flat, return_index=True)
    fresh = np.zeros(len(flat), dtype=bool)
    fresh[first] = True
    fresh &= ~np.isin(flat, own) & rules.free(drawn.T)
    chosen = np.flatnonzero(fresh)[: DECOYS * len(movers)]
    order = keystream.permutation(len(movers), Stream("decoys", "rows"))
    models = movers[order[np.arange(len(chosen)) % max(len(movers), 1)]]
    every = np.concatenate([codes, drawn[chosen]])
    rank = np.argsort(np.argsort(np.concatenate([own, flat[chosen]])))
    labels = [tuple(own[code] for own, code in zip(columns, cell, strict=True))
              for cell in every[np.argsort(rank)].tolist()]  # fmt: skip
    sources, targets, moves = _dressed(matrix, models, np.arange(len(codes), len(every)))
    return ListedCells.from_moves(labels, rows=rank[sources], columns=rank[targets], moves=moves)


def _crossed(codes: IntArray, keystream: Keystream, *, count: int) -> IntArray:
    """Cells that take each key from one of two others, by a coin."""
    if not len(codes):
        return codes
    parents = keystream.integers(Stream("decoys", "cells"), 0, len(codes), count=2 * count)
    one, other = codes[parents.astype(np.int64)].reshape(2, count, -1)
    coins = keystream.words(Stream("decoys", "keys"), 0, count)
    first = (coins[:, None] >> np.arange(codes.shape[1], dtype=np.uint64)) & np.uint64(1)
    crossed: IntArray = np.where(first == 1, one, other)
    return crossed


def _dressed(
    matrix: TransitionMatrix, models: IntArray, chosen: IntArray
) -> tuple[IntArray, IntArray, np.ndarray]:
    """The transitions, and those of the models once more from the chosen cells."""
    rows, columns, moves = transitions(matrix)
    first, last = np.searchsorted(rows, models), np.searchsorted(rows, models, side="right")
    lengths = last - first
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    copied = np.repeat(first, lengths) + within
    return (
        np.concatenate([rows, np.repeat(chosen, lengths)]),
        np.concatenate([columns, columns[copied]]),
        np.concatenate([moves, moves[copied]]),
    )


def transitions(matrix: TransitionMatrix) -> tuple[IntArray, IntArray, np.ndarray]:
    """Off-diagonal entries in integers over 2**64."""
    if isinstance(matrix, SparseRows):
        return matrix.sources, matrix.targets, matrix.moves
    weights = np.array(matrix.weights, dtype=object)
    np.fill_diagonal(weights, 0)
    rows, columns = np.nonzero(weights)
    return rows, columns, weights[rows, columns].astype(np.uint64)


def as_listed(matrix: TransitionMatrix) -> ListedCells:
    """The same integers in the form that takes least room in a certificate."""
    rows, columns, moves = transitions(matrix)
    return ListedCells.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)


def rebuilt(
    matrix: TransitionMatrix, rows: IntArray, columns: IntArray, moves: np.ndarray
) -> TransitionMatrix:
    """A matrix of the same family from its off-diagonal entries."""
    family = type(matrix) if isinstance(matrix, SparseRows) else SparseRows
    made = family.from_moves(matrix.labels, rows=rows, columns=columns, moves=moves)
    if isinstance(matrix, SparseRows):
        return made
    weights = np.zeros((matrix.size, matrix.size), dtype=object)
    weights[made.sources, made.targets] = [int(move) for move in made.moves]
    np.fill_diagonal(weights, made.kept)
    return Dense.from_weights(matrix.labels, weights)
