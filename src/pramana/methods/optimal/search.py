"""Method ``optimal``: the least loss for the data at hand under condition C1 [Cator].

The matrix acts on the joint cells of the keys. It meets C1 for every choice of keys, and among such
matrices has (nearly) the least expected squared error of the estimated counts. Small domains are
solved over all matrices, large ones over few transitions; either way the answer is rounded to
integers over 2**64 and then checked by the guarantee itself, and tightened until that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
"""Up to this many joint cells all matrices are considered."""

INSIDE = 1e-6
"""How far inside alpha the programs aim, so that their tolerance and rounding cannot cross it."""

Answer = tuple[TransitionMatrix, float]


@dataclass(frozen=True)
class OptimalDesign:
    """A joint matrix that meets C1, and what it costs.

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
        """The same with another matrix: what it reaches and costs is computed anew."""
        if matrix is self.matrix:
            return self
        keys = self.attained
        found = SpontaneousRecognition.of(
            matrix, self.counts, width=keys.width, choices=keys.choices
        )
        figures = _figures(matrix, _numbers(matrix, self.counts))
        return OptimalDesign(
            matrix, self.cells, self.counts, self.alpha, found, gap=self.gap, **figures
        )

    @property
    def unchanged(self) -> bool:
        """Whether C1 held as it was, so that nothing is changed."""
        return self.expected_changes == 0

    @property
    def mechanism(self) -> Mechanism:
        """The one joint step."""
        return Mechanism((Step(self.counts.columns, self.matrix),))

    @property
    def numbers(self) -> FloatArray:
        """How many records are in each cell of the matrix."""
        return _numbers(self.matrix, self.counts)

    def chance_of_change(self) -> dict[tuple[Label, ...], tuple[int, float]]:
        """For each cell that occurs: its frequency and its chance of change [Cator, Fig. 1]."""
        numbers = self.numbers
        leaving = 1 - self.matrix.diagonal
        return {
            self.matrix.labels[i]: (int(numbers[i]), float(leaving[i]))
            for i in np.flatnonzero(numbers).tolist()
        }

    def arrivals(self) -> dict[tuple[Label, ...], float]:
        """Where changed records go: expected number by cell, the largest first."""
        numbers = _numbers(self.matrix, self.counts)
        arriving = self.matrix.apply(numbers) - numbers * self.matrix.diagonal
        order = np.argsort(-arriving, kind="stable")
        return {self.matrix.labels[i]: float(arriving[i]) for i in order if arriving[i] > 1e-12}


def require_alpha(alpha: float, records: int) -> None:
    """Refuse a posterior that no table of so many records can keep to."""
    require_number("alpha", alpha, low=0, high=1, low_open=True)
    if records * alpha < 1:
        raise InvalidNumber(
            f"alpha must be at least 1/n: {counted(records, 'record allows', 'records allow')} "
            f"1/{records} at best, "
            f"got {text_up(alpha, 6)}. Raise alpha."
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
        counts: of the keys: counts by column, a mapping from cells to numbers, or an array with
            one axis a key.
        alpha: the largest posterior allowed.
        width: how many keys a user looks at together.
        choices: instead of all choices of that width, the ones to protect.
        possible: the cells that can exist; all combinations by default.
        fixed: cells that must stay as they are, and that nothing may become.
        listed: the cells that matter, where the joint cells are too many to write out.
        keep: the least chance of each record to stay as it is. Near 1 only frequent cells move, as
            in the paper; the least loss lets rare records move too.
        roughly: whether less time is spent on more than 64 cells, for a little more loss.
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
        own = identity if listed is None else _without_idle(identity, cells.numbers)
        return OptimalDesign(own, cells, table, alpha, attained, 0.0, 0.0, 1.0, 0.0)

    def solve(goal: float) -> Answer | None:
        if listed is None and cells.size <= DENSE_CELLS:
            return _dense(cells, goal, keep=keep, roughly=roughly)
        return _sparse(cells, goal, keep=keep)

    def check(matrix: TransitionMatrix) -> SpontaneousRecognition:
        return SpontaneousRecognition.of(matrix, table, width=width, choices=choices)

    matrix, gap, attained = _tightened(cells, alpha, solve, check)
    if listed is not None:
        matrix = _without_idle(matrix, cells.numbers)
    figures = _figures(matrix, _numbers(matrix, table))
    return OptimalDesign(matrix, cells, table, alpha, attained, gap=gap, **figures)


def _without_idle(matrix: TransitionMatrix, numbers: FloatArray) -> TransitionMatrix:
    """Without the cells that nobody is in, leaves or reaches."""
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
    """Loss and changes of a matrix that these people pass."""
    diagonal = matrix.diagonal
    return {
        "loss": squared_error(matrix, numbers) / float(numbers.sum()) ** 2,
        "expected_changes": float((numbers * (1 - diagonal)).sum()),
        "smallest_diagonal": float(diagonal[numbers > 0].min()),
    }


def _tightened(
    cells: KeyCells,
    alpha: float,
    solve: Callable[[float], Answer | None],
    check: Callable[[TransitionMatrix], SpontaneousRecognition],
) -> tuple[TransitionMatrix, float, SpontaneousRecognition]:
    """Aim a little inside alpha, and further inside as long as the integers do not hold."""
    inside = INSIDE
    while inside < 0.1:
        answer = solve(alpha * (1 - inside))
        if answer is None:
            break
        attained = check(answer[0])
        if attained.alpha <= alpha:
            return *answer, attained
        inside = max(10 * inside, 2 * (attained.alpha / alpha - 1))
    rare = cells.rare(alpha)
    raise Infeasible(
        f"No matrix that can be undone was found to meet alpha = {text_up(alpha, 6)}: "
        f"{len(rare)} of {int((cells.numbers > 0).sum())} cells that occur are rare, and the "
        "frequent ones cannot cover them. Raise alpha, lower width, or coarsen the keys."
    )


def _dense(cells: KeyCells, alpha: float, *, keep: float, roughly: bool) -> Answer | None:
    """All matrices over the joint cells."""
    answer = solve_dense(cells, alpha, keep=keep, roughly=roughly)
    if answer is None:
        return None
    return Dense.of(cells.labels, answer.matrix), answer.gap


def _sparse(cells: KeyCells, alpha: float, *, keep: float) -> Answer | None:
    """Few transitions."""
    found = solve_sparse(cells, alpha, keep=keep)
    return None if found is None else found[:2]


def _numbers(matrix: TransitionMatrix, counts: Counts) -> FloatArray:
    """The counts in the order of the matrix."""
    numbers = np.zeros(matrix.size)
    for cell, number in zip(counts.cells.tolist(), counts.numbers.tolist(), strict=True):
        label = tuple(values[code] for values, code in zip(counts.labels, cell, strict=True))
        numbers[matrix.positions[label]] = number
    return numbers
