"""The sparse road from end to end: cover, move, look for what was missed, and repeat."""

from __future__ import annotations

import numpy as np

from pramana.matrices import SparseRows
from pramana.methods.optimal.cells import KeyCells
from pramana.methods.optimal.covering import (
    SMALL_SHARE,
    Covering,
    by_combination,
    cover,
    first_constraints,
)
from pramana.methods.optimal.filling import most_supplied, transitions
from pramana.methods.optimal.loss import squared_error
from pramana.types import IntArray

__all__ = ["solve_sparse"]


SparseSolution = tuple[SparseRows, float, float]
"""The matrix, its gap and its loss."""

ROUNDS = 16
TRY_BOTH = 5_000
WAYS = 4
"""A rare cell that is left is spread over this many targets."""


def solve_sparse(cells: KeyCells, alpha: float, *, keep: float) -> SparseSolution | None:
    """A sparse matrix that meets C1 in floating point, and its relative gap.

    Targets should be cells that stay. Empty ones do; where they do not cover all, or the domain is
    small enough to try both, rare cells that serve as targets are made to stay.
    """
    answers = []
    for empty_targets in (True, False):
        answer = _repeat(cells, alpha, empty_targets=empty_targets, keep=keep)
        if answer is not None:
            answers.append(answer)
            if cells.size > TRY_BOTH:
                break
    return min(answers, key=lambda answer: answer[2], default=None)


def _repeat(
    cells: KeyCells, alpha: float, *, empty_targets: bool, keep: float
) -> SparseSolution | None:
    """Add the combinations that turn out violated, until none is."""
    also, _ = first_constraints(cells, alpha, share=SMALL_SHARE)
    staying = np.zeros(cells.size, dtype=bool)
    share, ways, reached = SMALL_SHARE, WAYS, None
    for _ in range(ROUNDS):
        covering = cover(
            cells,
            alpha,
            also=also,
            sure=first_constraints(cells, alpha, share=share)[1],
            staying=staying,
            empty_targets=empty_targets,
            keep=keep,
            start=reached,
        )
        if covering is None:
            return None
        if _lacks_supply(cells, covering, alpha):
            return None  # cells that are made to stay would only ask for more
        reached = covering.reached
        torn = np.intersect1d(covering.targets, covering.movers)
        if len(torn):
            staying[torn] = True
            continue
        watched = (cells.totals > 0) & (cells.totals * alpha < 1)
        watched[also] = True
        found = transitions(cells, covering, alpha, ways=ways, watched=watched)
        if found is None:
            return None
        matrix = SparseRows.of(
            cells.labels, rows=found.rows, columns=found.columns, probabilities=found.chances
        )
        missed = _violated(cells, matrix, alpha)
        if len(missed) == 0:
            loss = squared_error(matrix, cells.numbers)
            return matrix, max(loss / covering.least - 1, 0.0), loss
        if found.share > share:
            share = 1.1 * found.share
        elif np.isin(missed, also).all():
            ways *= 2  # not too few records there: too much of one cell arrives
        also = np.union1d(also, missed)
    return None


def _lacks_supply(cells: KeyCells, covering: Covering, alpha: float) -> bool:
    """Whether frequent cells cannot supply what targets need beyond the records that leave."""
    moved = float((cells.numbers[covering.movers] * covering.leaving).sum())
    return float(covering.inflow.sum()) - moved > most_supplied(cells, alpha)


def _violated(cells: KeyCells, matrix: SparseRows, alpha: float) -> IntArray:
    """The combinations at which some rare cell exceeds alpha, in floating point."""
    expected = by_combination(cells, matrix.apply(cells.numbers))
    rare = cells.rare(alpha)
    entries = matrix.sparse.tocsr()[rare].tocoo()
    missed = []
    for column in cells.combination.T:
        width = len(cells.totals)
        pairs, inverse = np.unique(
            entries.row.astype(np.int64) * width + column[entries.col], return_inverse=True
        )
        chance = np.bincount(inverse, entries.data)
        combination = pairs % width
        bad = chance > alpha * expected[combination] * (1 + 1e-9)
        missed.append(combination[bad])
    return np.unique(np.concatenate(missed))
