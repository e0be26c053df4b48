"""From a covering to transitions: who moves where, with few entries.

Records that leave rare cells go to targets first, each cell to a few targets that share none of its
rare combinations (else leaving would not lower its own chance there). What targets still need comes
from frequent cells, each with the same chance, filled in one after the other: the number of
entries is about the number of cells involved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pramana.methods.optimal.cells import KeyCells
from pramana.methods.optimal.covering import SMALL_SHARE, Covering
from pramana.types import BoolArray, FloatArray, IntArray

__all__ = ["Transitions", "most_supplied", "transitions"]

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
