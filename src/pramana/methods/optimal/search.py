"""The matrix of least loss under condition C1 [Cator] for given counts of the keys.

The matrix acts on the joint cells of the keys. It meets C1 for every choice of keys, and nearly
minimises the expected squared error of the estimated counts among such matrices. Small domains are
solved over all matrices (dense.py), large ones over few transitions. The solution is rounded to
integers over 2**64, checked by the guarantee itself, and tightened until the guarantee holds.

The few transitions come from a covering (covering.py). Records that leave rare cells go to targets
first, each cell to a few targets that share none of its rare combinations (else leaving would not
lower its own chance there). What targets still need comes from frequent cells, each with the same
chance, filled in one after the other: the number of entries is about the number of cells involved.
Cover, move, look for combinations that violate C1, and repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.base.rounding import require_choice, require_number
from pramana.base.text import counted, text_up
from pramana.errors import Infeasible, InvalidNumber, TooLarge
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
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
    numbers_by_label,
    squared_error,
)
from pramana.methods.optimal.covering import SMALL_SHARE, Covering, cover, first_needs
from pramana.methods.optimal.dense import solve_dense
from pramana.methods.optimal.publication import transitions
from pramana.methods.symmetric_flows import least_cost
from pramana.schema.joint_cells import Counts
from pramana.types import BoolArray, FloatArray, IntArray

DENSE_CELLS = 256
"""The largest number of joint cells for which all matrices are considered."""

INSIDE = 1e-6
"""The programs aim this share below alpha, so that tolerance and rounding do not exceed it."""

MOST_SUPPLIED = 0.5
"""The largest share of the records of frequent cells that moves."""

NEARLY_EQUAL = 0.01
"""The share of the loss that frequent donors may cost."""

NO_RECORDS = 1e-9
"""Fewer expected arrivals than this are residues of the program."""

ROUNDS = 16
"""The most coverings of a search."""

WAYS = 4
"""The number of targets over which a rare cell is spread."""


@dataclass(frozen=True)
class OptimalDesign:
    """A joint matrix that meets C1, and its loss.

    ``loss`` is the expected squared error of the estimated shares, l2 of [Cator, Sec. 3].
    ``gap`` is relative. On a small domain it is the first-order gap over all matrices that meet
    C1, which bounds the excess loss where the loss is convex; on a large domain it is the excess
    over a lower bound for matrices whose targets stay as they are. ``donors_cost`` is the share of
    the loss that the preference for frequent donors costs; the gap includes it.
    """

    matrix: TransitionMatrix = field(repr=False)
    cells: KeyCells = field(repr=False)
    counts: Counts = field(repr=False)
    alpha: float
    attained: SpontaneousRecognition
    gap: float
    donors_cost: float = 0.0

    def with_matrix(self, matrix: TransitionMatrix) -> OptimalDesign:
        """The design with another matrix, and the guarantee and loss of that matrix."""
        if matrix is self.matrix:
            return self
        attained = SpontaneousRecognition.of(
            matrix, self.counts, width=self.attained.width, choices=self.attained.choices
        )
        more = self.objective_of(matrix) / self.objective_of(self.matrix)
        gap = max((1 + self.gap) * more - 1, 0.0)
        return replace(self, matrix=matrix, attained=attained, gap=gap)

    def objective_of(self, matrix: TransitionMatrix) -> float:
        """What is minimised, for any matrix on these cells."""
        return squared_error(matrix, self.numbers, self.cells.weights)

    @cached_property
    def numbers(self) -> FloatArray:
        """The number of records in each cell of the matrix."""
        return numbers_by_label(self.matrix.labels, self.counts)

    @cached_property
    def loss(self) -> float:
        """l2, the expected squared error of the estimated shares."""
        return squared_error(self.matrix, self.numbers) / float(self.counts.total) ** 2

    @property
    def divergence(self) -> float:
        """The expected Kullback-Leibler divergence of the estimated shares, to second order."""
        return divergence(self.matrix, self.numbers)

    @property
    def expected_changes(self) -> float:
        """The expected number of changed records."""
        return float((self.numbers * (1 - self.matrix.diagonal)).sum())

    @property
    def smallest_diagonal(self) -> float:
        """The least probability of a record to stay unchanged."""
        return float(self.matrix.diagonal[self.numbers > 0].min())

    @property
    def unchanged(self) -> bool:
        """Whether the original data meet C1, so that no record changes."""
        return self.expected_changes == 0

    def given_by(self, cells: int) -> float:
        """The share of the changed records that comes from this many of the most frequent cells."""
        leaving = self.numbers * (1 - self.matrix.diagonal)
        often = np.argsort(-self.numbers, kind="stable")[:cells]
        return float(leaving[often].sum() / leaving.sum()) if leaving.any() else 0.0

    def chance_of_change(self) -> dict[Label, tuple[int, float]]:
        """The frequency and the probability of change of each cell that occurs [Cator, Fig. 1]."""
        numbers, leaving = self.numbers, 1 - self.matrix.diagonal
        return {
            self.matrix.labels[i]: (int(numbers[i]), float(leaving[i]))
            for i in np.flatnonzero(numbers).tolist()
        }

    def arrivals(self) -> dict[Label, float]:
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
    cells: KeyCells | None = None,
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
        cells: the cells of the keys, if rules speak of them or they are too many to enumerate.
        keep: the least probability that a record stays unchanged. Near 1 only frequent cells move,
            as in the paper; the least loss lets rare records move too.
        roughly: whether less time is spent on more than 64 cells, at slightly more loss.
        loss: l2, or the Kullback-Leibler divergence to second order (kl), for up to 256 cells.
        donors: any, or frequent cells, each with a chance in proportion to its frequency, as far
            as this loses at most 1 % more. The gap includes that loss.
    """
    require_number("keep", keep, low=0, high=1, high_open=True)
    require_choice("loss", loss, LOSSES)
    require_choice("donors", donors, DONORS)
    table = as_counts(counts)
    require_alpha(alpha, table.total)
    cells = cells or KeyCells.of(table, width=width, choices=choices)
    cells = replace(cells, loss=loss, donors=donors)
    dense = not cells.partial and cells.size <= DENSE_CELLS
    matrix: TransitionMatrix = SparseRows.of(cells.labels, rows=[], columns=[], probabilities=[])
    gap, donors_cost, inside = 0.0, 0.0, 0.0
    while True:  # further inside alpha as long as the integers exceed it
        attained = SpontaneousRecognition.of(matrix, table, width=width, choices=choices)
        if attained.alpha <= alpha:
            matrix = _without_idle(matrix, cells.numbers) if cells.partial else matrix
            return OptimalDesign(matrix, cells, table, alpha, attained, gap, donors_cost)
        if loss != "l2" and not dense:
            raise TooLarge(
                f"The loss {loss} is minimised over at most {DENSE_CELLS} joint cells, and these "
                f"keys have {prod(table.sizes):,}. Take the loss l2, or coarser keys."
            )
        excess = attained.alpha / alpha - 1
        inside = max(10 * inside, 2 * excess) if inside else INSIDE
        if inside >= 0.1:
            break
        solution = _solved(cells, alpha * (1 - inside), keep=keep, dense=dense, roughly=roughly)
        if solution is None:
            break
        matrix, gap, donors_cost = solution
    raise Infeasible(
        f"No matrix that can be undone was found to meet alpha = {text_up(alpha, 6)}: "
        f"{len(cells.rare(alpha))} of {int((cells.numbers > 0).sum())} cells that occur are rare, "
        "and the frequent ones cannot cover them. Raise alpha, lower width, or coarsen the keys."
    )


def _solved(
    cells: KeyCells, alpha: float, *, keep: float, dense: bool, roughly: bool
) -> tuple[TransitionMatrix, float, float] | None:
    """The matrix, its gap and the cost of frequent donors; all matrices, or few transitions."""
    solution: tuple[TransitionMatrix, float] | None = None
    if dense:
        answer = solve_dense(cells, alpha, keep=keep, roughly=roughly)
        if answer is not None:
            solution = Dense.of(cells.labels, answer[0]), answer[1]
    else:
        # Records that arrive in a cell that others leave cost more than the program knows
        solution = solve_sparse(cells, alpha, empty_targets=True, keep=keep) or solve_sparse(
            cells, alpha, empty_targets=False, keep=keep
        )
    if solution is None:
        return None
    least, gap = solution
    if cells.donors == "any":
        return least, gap, 0.0
    matrix, more = _by_frequent_donors(cells, least, alpha, keep)
    if dense and isinstance(matrix, SparseRows):
        matrix = Dense.of(cells.labels, matrix.values)
    return matrix, max((1 + gap) * more - 1, 0.0), more - 1


def _by_frequent_donors(
    cells: KeyCells, least: TransitionMatrix, alpha: float, keep: float
) -> tuple[TransitionMatrix, float]:
    """The matrix with the most frequent donors on average, among those with nearly the least loss.

    With it, its loss as a multiple of the least.
    """
    numbers, weights = cells.numbers, cells.weights
    near: list[tuple[float, float, TransitionMatrix]] = []
    for matrix in (least, in_proportion(cells, least, alpha), from_frequent(cells, alpha, keep)):
        if matrix is None:
            continue
        if isinstance(matrix, SparseRows) and len(_violated(cells, matrix, alpha)):
            continue
        more = squared_error(matrix, numbers, weights) / squared_error(least, numbers, weights)
        if more <= 1 + NEARLY_EQUAL:
            leaving = numbers * (1 - matrix.diagonal)
            near.append((float(numbers @ leaving / leaving.sum()), more, matrix))
    _, more, matrix = max(near, key=lambda candidate: candidate[0])
    return matrix, more


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


def in_proportion(cells: KeyCells, matrix: TransitionMatrix, alpha: float) -> SparseRows | None:
    """The same matrix, but frequent cells give in proportion to their frequency [Cator, Fig. 1].

    Rows of rare cells stay as they are, and each target receives as many records as before.
    """
    gives = _gives(cells, alpha)
    rows, columns, moves = transitions(matrix)
    chances = moves.astype(np.float64) / 2.0**64
    from_rare = gives[rows] == 0
    sent = np.where(from_rare, 0.0, gives[rows] * chances)
    total = float((gives**2).sum())
    # A target gives nothing to itself
    arriving: FloatArray = np.bincount(columns, sent, minlength=cells.size) * (
        total / np.maximum(total - gives**2, 1)
    )
    rare = rows[from_rare], columns[from_rare], chances[from_rare]
    return _given(cells, gives, arriving, rare)


def _gives(cells: KeyCells, alpha: float) -> FloatArray:
    """The numbers of records of frequent cells, and 0 for all other cells."""
    return np.where((cells.numbers * alpha >= 1) & ~cells.fixed, cells.numbers, 0.0)


def _given(
    cells: KeyCells,
    gives: FloatArray,
    arriving: FloatArray,
    rare: tuple[IntArray, IntArray, FloatArray] | None = None,
) -> SparseRows | None:
    """Moves P_ij = u_i a_j / sum_l u_l^2 of frequent cells, and the given moves of rare cells."""
    arriving = np.where(arriving > NO_RECORDS, arriving, 0.0)
    if not gives.any() or gives.max() * arriving.sum() > MOST_SUPPLIED * (gives**2).sum():
        return None
    rows, columns = np.nonzero(np.outer(gives > 0, arriving > 0))
    apart = rows != columns
    rows, columns = rows[apart], columns[apart]
    chances = gives[rows] * arriving[columns] / (gives**2).sum()
    if rare is not None:
        joined = zip((rows, columns, chances), rare, strict=True)
        rows, columns, chances = (np.append(*pair) for pair in joined)
    return SparseRows.of(cells.labels, rows=rows, columns=columns, probabilities=chances)


def from_frequent(cells: KeyCells, alpha: float, keep: float) -> SparseRows | None:
    """Moves from frequent cells alone, P_ij = u_i t_j: chances linear in frequency [Cator, Fig. 1].

    Of all matrices of that form one of least loss near the identity that meets C1. A rare cell
    stays, so that C1 asks for D(k) >= 1/alpha where one has k. With a_j the records that would
    arrive in j, S the sum of u_i^2 over the frequent cells and S_k the part of it with k, the
    program is linear in a:

        D(k) = U(k) + sum_{j has k} a_j - S_k / S sum_j a_j.
    """
    from scipy import sparse

    gives = _gives(cells, alpha)
    total = float((gives**2).sum())
    if not total:
        return None
    share, weights = gives**2 / total, np.broadcast_to(cells.weights, gives.shape)
    inside = cells.by_combination(share)
    rare = np.unique(cells.combination[cells.rare(alpha)])
    place = np.full(len(cells.totals), -1)
    place[rare] = np.arange(len(rare))
    where = place[cells.combination]
    cell, choice = np.nonzero(where >= 0)
    has = sparse.csr_array(
        (np.ones(len(cell)), (where[cell, choice], cell)), shape=(len(rare), cells.size)
    )
    # Last comes the sum of all a, so that the rows stay sparse
    last = sparse.csr_array(np.concatenate([-inside[rare], [-1.0]])[:, None])
    sums = sparse.csr_array(np.ones((1, cells.size)))
    answer = least_cost(
        np.append(share @ weights + weights * (1 - 2 * share), 0.0),
        sparse.hstack([sparse.vstack([has, sums]), last]).tocsc(),
        np.append(1 / alpha - cells.totals[rare], 0.0),
        np.append(np.full(len(rare), np.inf), 0.0),
        low=np.zeros(cells.size + 1),
        high=np.append(
            np.where(cells.fixed, 0.0, np.inf), min(MOST_SUPPLIED, 1 - keep) * total / gives.max()
        ),
    )
    return None if answer is None else _given(cells, gives, answer[:-1])


def solve_sparse(
    cells: KeyCells, alpha: float, *, empty_targets: bool, keep: float
) -> tuple[SparseRows, float] | None:
    """Coverings with the combinations that turn out violated, until none is."""
    also, _ = first_needs(cells, alpha, share=SMALL_SHARE)
    staying = np.zeros(cells.size, dtype=bool)
    share, ways = SMALL_SHARE, WAYS
    common = np.flatnonzero(_gives(cells, alpha))  # the largest first
    common = common[np.argsort(-cells.numbers[common], kind="stable")]
    for _ in range(ROUNDS):
        covering = cover(
            cells,
            alpha,
            also=also,
            sure=first_needs(cells, alpha, share=share)[1],
            staying=staying,
            empty_targets=empty_targets,
            keep=keep,
        )
        if covering is None:
            return None
        moved = float((cells.numbers[covering.movers] * covering.leaving).sum())
        supply = MOST_SUPPLIED * float(cells.numbers[common].sum())
        if float(covering.inflow.sum()) - moved > supply:
            return None  # cells that are made to stay would only ask for more
        torn = np.intersect1d(covering.targets, covering.movers)
        if len(torn):
            staying[torn] = True
            continue
        watched = (cells.totals > 0) & (cells.totals * alpha < 1)
        watched[also] = True
        moves = _Moves(cells, covering, alpha, common, watched)
        if not moves.make(ways):
            return None
        matrix = SparseRows.of(
            cells.labels, rows=moves.rows, columns=moves.columns, probabilities=moves.chances
        )
        violated = _violated(cells, matrix, alpha)
        if len(violated) == 0:
            loss = squared_error(matrix, cells.numbers)
            return matrix, max(loss / covering.least - 1, 0.0)
        if moves.share > share:
            share = 1.1 * moves.share
        elif np.isin(violated, also).all():
            ways *= 2  # not too few records there: too much of one cell arrives
        also = np.union1d(also, violated)
    return None


def _violated(cells: KeyCells, matrix: SparseRows, alpha: float) -> IntArray:
    """The combinations at which some rare cell exceeds alpha, in floating point."""
    expected = cells.by_combination(matrix.apply(cells.numbers))
    entries = matrix.sparse.tocsr()[cells.rare(alpha)].tocoo()
    width, violated = len(cells.totals), []
    for column in cells.combination.T:
        pairs, inverse = np.unique(
            entries.row.astype(np.int64) * width + column[entries.col], return_inverse=True
        )
        chance, combination = np.bincount(inverse, entries.data), pairs % width
        violated.append(combination[chance > alpha * expected[combination] * (1 + 1e-9)])
    return np.unique(np.concatenate(violated))


class _Moves:
    """Entries off the diagonal that follow from a covering.

    ``watched`` marks the combinations with needs. ``open`` is what each target still needs, and
    ``most`` the largest chance with which one rare cell may send there: a record of m seen with a
    combination of the target must not point to m, P_mt <= alpha D(k) for every combination k of t.
    ``share`` is the share of the frequent sources that moves.
    """

    def __init__(
        self,
        cells: KeyCells,
        covering: Covering,
        alpha: float,
        common: IntArray,
        watched: BoolArray,
    ) -> None:
        self.cells, self.covering, self.common, self.watched = cells, covering, common, watched
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.chances: list[float] = []
        self.share = 0.0
        moved = np.zeros(cells.size)
        moved[covering.targets] += covering.inflow
        moved[covering.movers] -= cells.numbers[covering.movers] * covering.leaving
        expected = cells.totals + cells.by_combination(moved)
        self.open = covering.inflow.copy()
        self.most = 0.98 * alpha * expected[cells.combination[covering.targets]].min(axis=1)

    def make(self, ways: int) -> bool:
        """All entries, each rare cell spread over ``ways`` targets; false without enough supply."""
        covering = self.covering
        order = np.argsort(-self.cells.numbers[covering.movers] * covering.leaving, kind="stable")
        for place in order.tolist():
            mover, leaving = int(covering.movers[place]), float(covering.leaving[place])
            left = self._to_targets(mover, leaving, ways)
            if left > 1e-12 and not self._to_common(mover, left, ways):
                return False
        return self.open.sum() <= 1e-12 or self._from_common()

    def _add(self, row: int, column: int, chance: float) -> None:
        self.rows.append(row)
        self.columns.append(column)
        self.chances.append(chance)

    def _shares_with(self, mover: int, others: IntArray) -> BoolArray:
        """Which other cells share a watched combination with this one."""
        combination = self.cells.combination
        same = (combination[others] == combination[mover]) & self.watched[combination[mover]]
        return np.asarray(same.any(axis=1))

    def _to_targets(self, mover: int, leaving: float, ways: int) -> float:
        """Send to targets with much open demand; returns the chance that is left over."""
        targets, number = self.covering.targets, self.cells.numbers[mover]
        room = np.minimum(self.open / number, self.most)
        many = min(len(room), 16 * ways)
        best = np.argpartition(-room, many - 1)[:many] if many else np.zeros(0, dtype=np.int64)
        best = best[np.argsort(-room[best], kind="stable")]
        best = best[~self._shares_with(mover, targets[best]) & (targets[best] != mover)]
        taken = np.zeros(len(self.watched), dtype=bool)
        left, used = leaving, 0
        for target in best.tolist():
            where = self.cells.combination[targets[target]]
            if used == ways or left <= 1e-12:
                break
            if taken[where].any():
                continue  # two targets with a combination in common would add up there
            part = min(left / (ways - used), float(room[target]))
            used += 1
            if part > 1e-12:
                taken[where] = True
                self._add(mover, int(targets[target]), part)
                self.open[target] = max(self.open[target] - part * number, 0.0)
                left -= part
        return left

    def _to_common(self, mover: int, left: float, ways: int) -> bool:
        """Send what no target needs to frequent cells."""
        near = self.common[: 64 * ways]
        allowed = near[~self._shares_with(mover, near)][:ways]
        for target in allowed.tolist():
            self._add(mover, target, left / len(allowed))
        return len(allowed) > 0

    def _from_common(self) -> bool:
        """Fill the open demand from frequent cells, one after the other, each to the same share."""
        wanted = float(self.open.sum())
        reach = np.cumsum(self.cells.numbers[self.common])
        if len(self.common) == 0 or reach[-1] * MOST_SUPPLIED < wanted:
            return False
        sources = self.common[: int(np.searchsorted(reach, wanted / SMALL_SHARE)) + 1]
        numbers = self.cells.numbers[sources]
        self.share = wanted / float(numbers.sum())
        places = np.flatnonzero(self.open > 1e-12)
        supply = np.concatenate([[0.0], np.cumsum(self.share * numbers)])
        demand = np.concatenate([[0.0], np.cumsum(self.open[places])])
        supply[-1] = demand[-1]
        cuts = np.union1d(supply, demand)
        middle = (cuts[:-1] + cuts[1:]) / 2
        source = np.searchsorted(supply, middle) - 1
        target = self.covering.targets[places[np.searchsorted(demand, middle) - 1]]
        self.rows += sources[source].tolist()
        self.columns += target.tolist()
        self.chances += (np.diff(cuts) / numbers[source]).tolist()
        return True
