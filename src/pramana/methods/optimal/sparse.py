"""From a covering to transitions: who moves where, with few entries.

Records that leave rare cells go to targets first, each cell to a few targets that share none of its
rare combinations (else leaving would not lower its own chance there). What targets still need comes
from frequent cells, each with the same chance, filled in one after the other: the number of
entries is about the number of cells involved.

The sparse road from end to end: cover, move, look for what was missed, and repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pramana.mechanisms.mechanism import SparseRows
from pramana.methods.optimal.cells import KeyCells
from pramana.methods.optimal.covering import (
    SMALL_SHARE,
    Covering,
    by_combination,
    cover,
    first_constraints,
)
from pramana.methods.optimal.loss import squared_error
from pramana.types import BoolArray, FloatArray, IntArray

MOST_SUPPLIED = 0.5
"""Of the records of frequent cells no more than this share moves."""


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
    return _from_common(found, cells, covering, demand.open, common)


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


def _from_common(
    found: Transitions,
    cells: KeyCells,
    covering: Covering,
    open_demand: FloatArray,
    common: IntArray,
) -> Transitions | None:
    """Fill the open demand from frequent cells, one after the other, each to the same share."""
    wanted = float(open_demand.sum())
    reach = np.cumsum(cells.numbers[common])
    if len(common) == 0 or reach[-1] * MOST_SUPPLIED < wanted:
        return None
    many = int(np.searchsorted(reach, wanted / SMALL_SHARE)) + 1
    sources = common[:many]
    found.share = wanted / float(cells.numbers[sources].sum())
    targets = np.flatnonzero(open_demand > 1e-12)
    supply = np.concatenate([[0.0], np.cumsum(found.share * cells.numbers[sources])])
    asked = np.concatenate([[0.0], np.cumsum(open_demand[targets])])
    supply[-1] = asked[-1]
    cuts = np.union1d(supply, asked)
    middle = (cuts[:-1] + cuts[1:]) / 2
    source = np.searchsorted(supply, middle) - 1
    target = np.searchsorted(asked, middle) - 1
    for i, j, amount in zip(source.tolist(), target.tolist(), np.diff(cuts).tolist(), strict=True):
        row = int(sources[i])
        found.add(row, int(covering.targets[targets[j]]), amount / float(cells.numbers[row]))
    return found


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
