"""The matrix on a grid: its digits would tell the counts that it was made from.

A move of 0.07216505 is (1/alpha - 3) / 97, so that whoever designs anew for every possible table
finds the one with three records. On a grid of 1, 2, 5, 10, 20, ... many tables share a matrix.
Moves are rounded up, which covers rare cells better; of a row that would then hardly stay as it is
only as many as there is room for, the others down. Of a domain that is not too large, entries then
go up and down the grid for less loss (stepping.py). Whether the target still holds is computed
anew, and where it does not the aim is lowered, or the grid made finer.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pramana.matrices import ListedCells, TransitionMatrix
from pramana.methods.optimal.cells import KeyCells
from pramana.methods.optimal.decoys import rebuilt, transitions
from pramana.methods.optimal.stepping import stepped
from pramana.types import BoolArray, FloatArray, IntArray, Words

__all__ = ["GRIDS", "best_on_grid", "on_grid"]

GRIDS: Final = (
    (1.0, 2.0, 5.0),
    tuple(float(step) for step in range(1, 10)),
    tuple(step / 10 for step in range(10, 100)),
)
"""The steps of a decade, coarse ones first."""

DECADES: Final = 12
LEAST_STAY: Final = 0.05
"""A row on the grid stays as it is with at least this chance, or as it did."""


FEW_CELLS, STEPPED_CELLS = 16, 300
"""Up to so many joint cells the matrix is made better on its grid; not where there are so few that
whoever tries every table of counts would find fewer that fit (tests/methods/test_disclosure.py)."""


def best_on_grid(
    matrix: TransitionMatrix, steps: tuple[float, ...], cells: KeyCells, alpha: float
) -> TransitionMatrix:
    """The matrix with its moves on the grid, and of little loss there for these cells."""
    rounded = on_grid(matrix, steps)
    whole = FEW_CELLS < cells.size <= STEPPED_CELLS and not isinstance(matrix, ListedCells)
    if not whole or rounded is matrix:
        return rounded
    found = stepped(cells, rounded.values, alpha, _grid(steps))
    if found is None:
        return rounded
    rows, columns = np.nonzero((found > 0) & ~np.eye(cells.size, dtype=bool))
    return rebuilt(matrix, rows, columns, _weights(found[rows, columns]))


def on_grid(matrix: TransitionMatrix, steps: tuple[float, ...]) -> TransitionMatrix:
    """The matrix with its moves on the grid of these steps; what is left stays."""
    rows, columns, moves = transitions(matrix)
    if not len(rows):
        return matrix
    chances = moves.astype(np.float64) / 2.0**64
    grid = _grid(steps)
    place = np.searchsorted(grid, chances * (1 - 1e-12))
    up, down = grid[np.minimum(place, len(grid) - 1)], grid[np.maximum(place - 1, 0)]
    leaving = np.bincount(rows, up, minlength=matrix.size)
    stays = np.minimum(LEAST_STAY, np.asarray(matrix.diagonal, dtype=np.float64))
    full = leaving > 1 - stays
    lower = np.where(down < chances, down, chances)
    raised = ~full[rows] | _raised(rows, lower, up, 1 - stays)
    chosen: FloatArray = np.where(raised, up, lower)
    return rebuilt(matrix, rows, columns, _weights(chosen))


def _grid(steps: tuple[float, ...]) -> FloatArray:
    """The values that moves may have."""
    return np.array([step * 10.0**-power for power in range(DECADES, 0, -1) for step in steps])


def _weights(chances: FloatArray) -> Words:
    return np.floor(np.ldexp(chances, 64)).astype(np.uint64)


def _raised(rows: IntArray, lower: FloatArray, up: FloatArray, room: FloatArray) -> BoolArray:
    """Which moves can be rounded up where not all of a row can: the small steps first."""
    order = np.lexsort((up - lower, rows))
    steps = np.cumsum((up - lower)[order])
    first = np.searchsorted(rows[order], rows[order])
    within = steps - np.concatenate([[0.0], steps])[first]
    base = np.bincount(rows, lower, minlength=len(room))
    raised = np.zeros(len(rows), dtype=bool)
    raised[order] = base[rows[order]] + within <= room[rows[order]] * (1 - 1e-12)
    return raised
