"""The matrix of least loss under condition C1 [Cator] for given counts of the keys.

The matrix acts on the joint cells of the keys. It meets C1 for every choice of keys, and nearly
minimises the expected squared error of the estimated counts among such matrices. Small domains are
solved over all matrices, large ones over few transitions. The solution is rounded to integers over
2**64, checked by the guarantee itself, and tightened until the guarantee holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.base.rounding import require_number
from pramana.base.text import counted, text_up
from pramana.errors import Infeasible, InvalidNumber
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.mechanisms.mechanism import Dense, ListedCells, Mechanism, SparseRows, Step
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells, as_counts
from pramana.methods.optimal.dense import solve_dense
from pramana.methods.optimal.loss import squared_error
from pramana.methods.optimal.sparse import solve_sparse
from pramana.schema.joint_cells import Counts
from pramana.types import FloatArray

DENSE_CELLS = 256
"""The largest number of joint cells for which all matrices are considered."""

INSIDE = 1e-6
"""The programs aim this share below alpha, so that tolerance and rounding do not exceed it."""


@dataclass(frozen=True)
class OptimalDesign:
    """A joint matrix that meets C1, and its loss.

    ``loss`` is the expected squared error of the estimated shares, l2 of [Cator, Sec. 3].
    ``gap`` is relative. On a small domain it is the first-order gap over all matrices that meet
    C1, which bounds the excess loss where the loss is convex; on a large domain it is the excess
    over a lower bound for matrices whose targets stay as they are.
    """

    matrix: TransitionMatrix = field(repr=False)
    cells: KeyCells = field(repr=False)
    counts: Counts = field(repr=False)
    alpha: float
    attained: SpontaneousRecognition
    loss: float
    expected_changes: float
    smallest_diagonal: float
    gap: float

    def with_matrix(self, matrix: TransitionMatrix) -> OptimalDesign:
        """The design with another matrix, and the guarantee and loss of that matrix."""
        if matrix is self.matrix:
            return self
        attained = SpontaneousRecognition.of(
            matrix, self.counts, width=self.attained.width, choices=self.attained.choices
        )
        figures = _figures(matrix, _numbers(matrix, self.counts))
        return OptimalDesign(
            matrix, self.cells, self.counts, self.alpha, attained, gap=self.gap, **figures
        )

    @property
    def unchanged(self) -> bool:
        """Whether the original data meet C1, so that no record changes."""
        return self.expected_changes == 0

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism with the joint step."""
        return Mechanism((Step(self.counts.columns, self.matrix),))

    @property
    def numbers(self) -> FloatArray:
        """The number of records in each cell of the matrix."""
        return _numbers(self.matrix, self.counts)

    def chance_of_change(self) -> dict[tuple[Label, ...], tuple[int, float]]:
        """The frequency and the probability of change of each cell that occurs [Cator, Fig. 1]."""
        numbers = self.numbers
        leaving = 1 - self.matrix.diagonal
        return {
            self.matrix.labels[i]: (int(numbers[i]), float(leaving[i]))
            for i in np.flatnonzero(numbers).tolist()
        }

    def arrivals(self) -> dict[tuple[Label, ...], float]:
        """The expected number of changed records that arrive in each cell, the largest first."""
        numbers = self.numbers
        arriving = self.matrix.apply(numbers) - numbers * self.matrix.diagonal
        order = np.argsort(-arriving, kind="stable")
        return {self.matrix.labels[i]: float(arriving[i]) for i in order if arriving[i] > 1e-12}


def require_alpha(alpha: float, records: int) -> None:
    """Refuse an alpha below 1/n, which no table of n records can meet."""
    require_number("alpha", alpha, low=0, high=1, low_open=True)
    if records * alpha < 1:
        raise InvalidNumber(
            f"alpha must be at least 1/n: {counted(records, 'record allows', 'records allow')} "
            f"1/{records} at best, got {text_up(alpha, 6)}. Raise alpha."
        )


def optimal_design(
    counts: Counts | Mapping[tuple[Label, ...], int] | NDArray[Any],
    *,
    alpha: float = 0.1,
    width: int = 3,
    choices: Sequence[Sequence[str]] = (),
    possible: Sequence[tuple[Label, ...]] | None = None,
    fixed: Collection[tuple[Label, ...]] = (),
    listed: KeyCells | None = None,
    keep: float = LEAST_KEPT,
    roughly: bool = False,
) -> OptimalDesign:
    """The matrix of least loss that meets C1 for these counts.

    Args:
        counts: counts of the keys, a mapping from cells to numbers, or an array with one axis for
            each key.
        alpha: the largest posterior probability allowed.
        width: the number of keys that are known together.
        choices: the sets of keys to protect, instead of all sets of that width.
        possible: the cells that can exist; all combinations by default.
        fixed: cells that never change, and that no record moves to.
        listed: the relevant cells, if the joint cells are too many to enumerate.
        keep: the least probability that a record stays unchanged. Near 1 only frequent cells move,
            as in the paper; the least loss lets rare records move too.
        roughly: whether less time is spent on more than 64 cells, at slightly more loss.
    """
    require_number("keep", keep, low=0, high=1, high_open=True)
    table = as_counts(counts)
    require_alpha(alpha, table.total)
    cells = listed or KeyCells.of(
        table, width=width, choices=choices, possible=possible, fixed=fixed
    )
    identity = SparseRows.of(cells.labels, rows=[], columns=[], probabilities=[])
    attained = SpontaneousRecognition.of(identity, table, width=width, choices=choices)
    if attained.alpha <= alpha:
        matrix = identity if listed is None else _without_idle(identity, cells.numbers)
        return OptimalDesign(matrix, cells, table, alpha, attained, 0.0, 0.0, 1.0, 0.0)
    dense, inside = listed is None and cells.size <= DENSE_CELLS, INSIDE
    while inside < 0.1:  # further inside alpha as long as the integers exceed it
        solution = _solved(cells, alpha * (1 - inside), keep=keep, dense=dense, roughly=roughly)
        if solution is None:
            break
        matrix, gap = solution
        attained = SpontaneousRecognition.of(matrix, table, width=width, choices=choices)
        if attained.alpha <= alpha:
            matrix = matrix if listed is None else _without_idle(matrix, cells.numbers)
            figures = _figures(matrix, _numbers(matrix, table))
            return OptimalDesign(matrix, cells, table, alpha, attained, gap=gap, **figures)
        inside = max(10 * inside, 2 * (attained.alpha / alpha - 1))
    raise Infeasible(
        f"No matrix that can be undone was found to meet alpha = {text_up(alpha, 6)}: "
        f"{len(cells.rare(alpha))} of {int((cells.numbers > 0).sum())} cells that occur are rare, "
        "and the frequent ones cannot cover them. Raise alpha, lower width, or coarsen the keys."
    )


def _solved(
    cells: KeyCells, alpha: float, *, keep: float, dense: bool, roughly: bool
) -> tuple[TransitionMatrix, float] | None:
    """The matrix and its gap, over all matrices or over few transitions."""
    if dense:
        answer = solve_dense(cells, alpha, keep=keep, roughly=roughly)
        return None if answer is None else (Dense.of(cells.labels, answer.matrix), answer.gap)
    solution = solve_sparse(cells, alpha, keep=keep)
    return None if solution is None else solution[:2]


def _without_idle(matrix: TransitionMatrix, numbers: FloatArray) -> TransitionMatrix:
    """The matrix without cells that have no records and that no record moves to."""
    assert isinstance(matrix, SparseRows)  # noqa: S101 - for the type checker
    used = numbers > 0
    used[matrix.targets] = True
    place = np.cumsum(used) - 1
    return ListedCells.from_moves(
        tuple(label for label, keep in zip(matrix.labels, used.tolist(), strict=True) if keep),
        rows=place[matrix.sources],
        columns=place[matrix.targets],
        moves=matrix.moves,
    )


def _figures(matrix: TransitionMatrix, numbers: FloatArray) -> dict[str, float]:
    """Loss and expected changes of a matrix for these counts."""
    diagonal = matrix.diagonal
    return {
        "loss": squared_error(matrix, numbers) / float(numbers.sum()) ** 2,
        "expected_changes": float((numbers * (1 - diagonal)).sum()),
        "smallest_diagonal": float(diagonal[numbers > 0].min()),
    }


def _numbers(matrix: TransitionMatrix, counts: Counts) -> FloatArray:
    """The counts in the order of the matrix."""
    numbers = np.zeros(matrix.size)
    for cell, number in zip(counts.cells.tolist(), counts.numbers.tolist(), strict=True):
        label = tuple(values[code] for values, code in zip(counts.labels, cell, strict=True))
        numbers[matrix.positions[label]] = number
    return numbers
