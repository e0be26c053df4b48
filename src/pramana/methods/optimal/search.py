"""The matrix of least loss under condition C1 [Cator] for given counts of the keys.

The matrix acts on the joint cells of the keys. It meets C1 for every choice of keys, and nearly
minimises the expected squared error of the estimated counts among such matrices. Small domains are
solved over all matrices (dense.py), large ones over few transitions. The solution is rounded to
integers over 2**64, checked by the guarantee itself, and tightened until the guarantee holds.

The few transitions come from a covering (covering.py). Records that leave rare cells go to targets
first, each cell to a few targets that share none of its rare combinations (else leaving would not
lower its own chance there). What targets still need comes from frequent cells, each with the same
chance, filled in one after the other: the number of entries is about the number of cells involved.
Cover, move, look for what was missed, and repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.base.rounding import require_choice, require_number
from pramana.base.text import counted, text_up
from pramana.errors import Infeasible, InvalidNumber, TooLarge
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import ListedCells, SparseRows
from pramana.mechanisms.transition import Dense, Label, TransitionMatrix
from pramana.methods.optimal.cells import (
    DONORS,
    LEAST_KEPT,
    LOSSES,
    Donors,
    KeyCells,
    Loss,
    as_counts,
    divergence,
    squared_error,
)
from pramana.methods.optimal.covering import (
    SMALL_SHARE,
    Covering,
    by_combination,
    cover,
    first_constraints,
)
from pramana.methods.optimal.dense import solve_dense
from pramana.methods.symmetric_flows import least_cost
from pramana.schema.joint_cells import Counts
from pramana.types import BoolArray, FloatArray, IntArray

MOST_SUPPLIED = 0.5
"""Of the records of frequent cells no more than this share moves."""

NOBODY = 1e-9
"""Fewer expected arrivals than that are residues of the program."""


@dataclass
class Transitions:
    """Entries off the diagonal, and the share of the frequent sources that moves."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    share: float = 0.0

    def add(self, row: int, column: int, chance: float) -> None:
        """One entry."""
        self.rows.append(row)
        self.columns.append(column)
        self.chances.append(chance)


def transitions(
    cells: KeyCells, covering: Covering, alpha: float, *, ways: int, watched: BoolArray
) -> Transitions | None:
    """All entries; ``ways`` is the number of targets a rare cell is spread over.

    ``watched`` marks the combinations under constraint. Nothing if frequent cells cannot supply.
    """
    found = Transitions()
    demand = _Demand.of(cells, covering, alpha)
    common = _common(cells, alpha)
    common = common[np.argsort(-cells.numbers[common], kind="stable")]
    order = np.argsort(-cells.numbers[covering.movers] * covering.leaving, kind="stable")
    for place in order.tolist():
        mover, leaving = int(covering.movers[place]), float(covering.leaving[place])
        left = demand.serve(found, cells, mover, leaving, ways, watched)
        if left > 1e-12 and not _to_common(found, cells, common, mover, left, ways, watched):
            return None
    if demand.open.sum() <= 1e-12:
        return found
    # Fill the open demand from frequent cells, one after the other, each to the same share
    wanted = float(demand.open.sum())
    reach = np.cumsum(cells.numbers[common])
    if len(common) == 0 or reach[-1] * MOST_SUPPLIED < wanted:
        return None
    many = int(np.searchsorted(reach, wanted / SMALL_SHARE)) + 1
    sources = common[:many]
    found.share = wanted / float(cells.numbers[sources].sum())
    targets = np.flatnonzero(demand.open > 1e-12)
    supply = np.concatenate([[0.0], np.cumsum(found.share * cells.numbers[sources])])
    asked = np.concatenate([[0.0], np.cumsum(demand.open[targets])])
    supply[-1] = asked[-1]
    cuts = np.union1d(supply, asked)
    middle = (cuts[:-1] + cuts[1:]) / 2
    source = np.searchsorted(supply, middle) - 1
    target = np.searchsorted(asked, middle) - 1
    for i, j, amount in zip(source.tolist(), target.tolist(), np.diff(cuts).tolist(), strict=True):
        row = int(sources[i])
        found.add(row, int(covering.targets[targets[j]]), amount / float(cells.numbers[row]))
    return found


def most_supplied(cells: KeyCells, alpha: float) -> float:
    """How many records frequent cells can supply at most."""
    return MOST_SUPPLIED * float(cells.numbers[_common(cells, alpha)].sum())


def _common(cells: KeyCells, alpha: float) -> IntArray:
    """The frequent cells whose records may move."""
    return np.flatnonzero((cells.numbers * alpha >= 1) & ~cells.fixed)


@dataclass
class _Demand:
    """What each target still needs, and the most that one rare cell may send there.

    A record of m seen with a combination of the target must not point to m: P_mt <= alpha D(k) for
    every combination k of t, D(k) the records expected there.
    """

    targets: IntArray
    open: FloatArray
    most: FloatArray

    @classmethod
    def of(cls, cells: KeyCells, covering: Covering, alpha: float) -> _Demand:
        moved = np.zeros(cells.size)
        moved[covering.targets] += covering.inflow
        moved[covering.movers] -= cells.numbers[covering.movers] * covering.leaving
        expected = cells.totals.copy()
        for column in cells.combination.T:
            expected += np.bincount(column, moved, len(expected))
        most = 0.98 * alpha * expected[cells.combination[covering.targets]].min(axis=1)
        return cls(covering.targets, covering.inflow.copy(), most)

    def serve(
        self,
        found: Transitions,
        cells: KeyCells,
        mover: int,
        leaving: float,
        ways: int,
        watched: BoolArray,
    ) -> float:
        """Send to targets with much open demand; returns the chance that is left over."""
        own, number = cells.combination[mover], cells.numbers[mover]
        room = np.minimum(self.open / number, self.most)
        many = min(len(room), 16 * ways)
        best = np.argpartition(-room, many - 1)[:many] if many else np.zeros(0, dtype=np.int64)
        best = best[np.argsort(-room[best], kind="stable")]
        shared = ((cells.combination[self.targets[best]] == own) & watched[own]).any(axis=1)
        taken = np.zeros(len(watched), dtype=bool)
        left, used = leaving, 0
        for target in best[~shared].tolist():
            where = cells.combination[self.targets[target]]
            if used == ways or left <= 1e-12:
                break
            if taken[where].any() or self.targets[target] == mover:
                continue  # two targets with a combination in common would add up there
            part = min(left / (ways - used), float(room[target]))
            used += 1
            if part > 1e-12:
                taken[where] = True
                found.add(mover, int(self.targets[target]), part)
                self.open[target] = max(self.open[target] - part * number, 0.0)
                left -= part
        return left


def _to_common(
    found: Transitions,
    cells: KeyCells,
    common: IntArray,
    mover: int,
    left: float,
    ways: int,
    watched: BoolArray,
) -> bool:
    """Nothing needs the rest: send it to frequent cells."""
    own = cells.combination[mover]
    near = common[: 64 * ways]
    shared = ((cells.combination[near] == own) & watched[own]).any(axis=1)
    allowed = near[~shared][:ways]
    for target in allowed.tolist():
        found.add(mover, target, left / len(allowed))
    return len(allowed) > 0


def from_frequent(cells: KeyCells, alpha: float, *, keep: float) -> SparseRows | None:
    """Moves from frequent cells alone, P_ij = u_i t_j: chances linear in frequency [Cator, Fig. 1].

    Of all matrices of that form one of least loss near the identity that meets C1. A rare cell
    stays, so that C1 asks for D(k) >= 1/alpha where one has k. With a_j the records that would
    arrive in j, S the sum of u_i^2 over the frequent cells and S_k the part of it with k, the
    program is linear in a:

        D(k) = U(k) + sum_{j has k} a_j - S_k / S sum_j a_j.
    """
    from scipy import sparse

    gives = np.where((cells.numbers * alpha >= 1) & ~cells.fixed, cells.numbers, 0.0)
    total = float((gives**2).sum())
    if not total:
        return None
    share, weights = gives**2 / total, np.broadcast_to(cells.weights, gives.shape)
    inside = by_combination(cells, share)
    asked = np.unique(cells.combination[cells.rare(alpha)])
    place = np.full(len(cells.totals), -1)
    place[asked] = np.arange(len(asked))
    where = place[cells.combination]
    cell, choice = np.nonzero(where >= 0)
    has = sparse.csr_array(
        (np.ones(len(cell)), (where[cell, choice], cell)), shape=(len(asked), cells.size)
    )
    # Last comes the sum of all a, so that the rows stay sparse.
    last = sparse.csr_array(np.concatenate([-inside[asked], [-1.0]])[:, None])
    sums = sparse.csr_array(np.ones((1, cells.size)))
    found = least_cost(
        np.append(share @ weights + weights * (1 - 2 * share), 0.0),
        sparse.hstack([sparse.vstack([has, sums]), last]).tocsc(),
        np.append(1 / alpha - cells.totals[asked], 0.0),
        np.append(np.full(len(asked), np.inf), 0.0),
        low=np.zeros(cells.size + 1),
        high=np.append(
            np.where(cells.fixed, 0.0, np.inf), min(MOST_SUPPLIED, 1 - keep) * total / gives.max()
        ),
    )
    if found is None:
        return None
    arriving = np.where(found[:-1] > NOBODY, found[:-1], 0.0)
    rows, columns = np.nonzero(np.outer(gives > 0, arriving > 0))
    apart = rows != columns
    rows, columns = rows[apart], columns[apart]
    chances = gives[rows] * arriving[columns] / total
    return SparseRows.of(cells.labels, rows=rows, columns=columns, probabilities=chances)


SparseSolution = tuple[SparseRows, float, float]
"""The matrix, its gap and its loss."""

ROUNDS = 16
TRY_BOTH = 5_000
WAYS = 4
"""A rare cell that is left is spread over this many targets."""


def solve_sparse(cells: KeyCells, alpha: float, *, keep: float) -> SparseSolution | None:
    """A sparse matrix that meets C1 in floating point, and its relative gap."""
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
    def divergence(self) -> float:
        """The expected Kullback-Leibler divergence of the estimated shares, to second order."""
        return divergence(self.matrix, self.numbers)

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
    loss: Loss = "l2",
    donors: Donors = "any",
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
        loss: l2, or the Kullback-Leibler divergence to second order (kl), for up to 256 cells.
        donors: any, or frequent cells alone, each with a chance in proportion to its frequency.
            The gap then says how much more that loses than any matrix.
    """
    require_number("keep", keep, low=0, high=1, high_open=True)
    require_choice("loss", loss, LOSSES)
    require_choice("donors", donors, DONORS)
    table = as_counts(counts)
    require_alpha(alpha, table.total)
    cells = listed or KeyCells.of(
        table, width=width, choices=choices, possible=possible, fixed=fixed
    )
    cells = replace(cells, loss=loss, donors=donors)
    identity = SparseRows.of(cells.labels, rows=[], columns=[], probabilities=[])
    attained = SpontaneousRecognition.of(identity, table, width=width, choices=choices)
    if attained.alpha <= alpha:
        matrix = identity if listed is None else _without_idle(identity, cells.numbers)
        return OptimalDesign(matrix, cells, table, alpha, attained, 0.0, 0.0, 1.0, 0.0)
    dense, inside = listed is None and cells.size <= DENSE_CELLS, INSIDE
    if loss != "l2" and not dense:
        raise TooLarge(
            f"The loss {loss} is minimised over at most {DENSE_CELLS} joint cells, and these keys "
            f"have {prod(table.sizes):,}. Take the loss l2, or coarser keys."
        )
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
    solution: tuple[TransitionMatrix, float] | None = None
    if dense:
        answer = solve_dense(cells, alpha, keep=keep, roughly=roughly)
        if answer is not None:
            solution = Dense.of(cells.labels, answer.matrix), answer.gap
    elif (sparse := solve_sparse(cells, alpha, keep=keep)) is not None:
        solution = sparse[:2]
    if cells.donors == "any":
        return solution
    matrix = from_frequent(cells, alpha, keep=keep)
    if matrix is None:
        return None
    least = 0.0
    if solution is not None:
        least = squared_error(solution[0], cells.numbers, cells.weights) * (1 - solution[1])
    gap = squared_error(matrix, cells.numbers, cells.weights) / least - 1 if least > 0 else np.inf
    return Dense.of(cells.labels, matrix.values) if dense else matrix, max(gap, 0.0)


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
