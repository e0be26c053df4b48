"""A matrix on its grid made better by steps of single entries, judged by the loss on the grid.

Moves that are all rounded up cover rare cells more than they need, at up to three times the loss.
Here entries go up and down the grid one at a time, each step the one that lowers most

    n^2 l2(P) + sum_k w_k [max_m N_m(k) / alpha - D(k)]_+ ,

the exact loss, and the records that each combination k lacks, m rare, at a price w_k. Where no
step helps and a combination still lacks some, its price rises; the best matrix that lacks none is
kept. A step changes one row by d (e_j - e_i), and with it the inverse by a matrix of rank one
[Sherman50]: the loss after every possible step follows from a few products, and D changes only at
combinations that i and j do not share. Whatever the counts, values are those of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.methods.optimal.inverse import Inverse
from pramana.types import BoolArray, FloatArray, IntArray

__all__ = ["stepped"]

MOST: Final = 1_500
"""So many steps are made at most."""

PRICES, DEARER, DEAREST = (4.0, 1e4), 1.5, 1e9
"""What a lacking record costs at first, how the price rises, and where the search is given up.

At the low price the search leaves C1 and comes back to it; at the high one it stays inside."""

INSIDE: Final = 1e-9
"""So far inside alpha a matrix must be in floating point, as a share, to hold in integers."""

NOISE: Final = 1e-6
"""Moves that are rarer are left out at first: programs leave traces of them."""

SHIFTS: Final = np.array([-3, -2, -1, 1, 2, 3])
"""By so many places of the grid an entry may go at once, or to nothing."""

FRESH: Final = np.array([0.001, 0.01, 0.1])
SOURCES: Final = 24
"""Where no entry helps, new ones begin with these; the most frequent cells may have some too."""

ENOUGH: Final = 1e-6
"""Steps that lower the sum by a smaller share are not made."""


def stepped(
    cells: KeyCells, start: FloatArray, alpha: float, grid: FloatArray, *, keep: float = LEAST_KEPT
) -> FloatArray | None:
    """The best matrix with moves on the grid that was found to meet C1; nothing if none was.

    Args:
        cells: the joint cells and their combinations.
        start: a matrix to begin with; it need not meet C1.
        alpha: the target.
        grid: the values that moves may have, rising.
        keep: the least chance of each record to stay as it is, where it is not lower already.
    """
    found = [
        _walked(_Walk.of(cells, start, alpha, np.append(0.0, grid), keep, price))
        for price in PRICES
    ]
    least, best = min(found, key=lambda own: own[0])
    return best if np.isfinite(least) else None


def _walked(walk: _Walk) -> tuple[float, FloatArray]:
    """The least loss on the way, and the matrix that has it."""
    best, least = walk.P, np.inf
    for _ in range(MOST):
        lacking = walk.lacks > 0
        if not lacking.any() and walk.loss < least:
            best, least = walk.P.copy(), walk.loss
        if not np.isfinite(walk.loss):
            break
        if walk.step(*walk.next_ones()) or walk.step(*walk.new_ones()):
            continue
        if not lacking.any() or walk.price.max() > DEAREST:
            break
        walk.price[lacking] *= DEARER
    return least, best


@dataclass
class _Walk:
    """Where the search stands: the matrix, N and D of each combination, and what they lack."""

    cells: KeyCells
    P: FloatArray
    alpha: float
    grid: FloatArray
    keep: float
    price: FloatArray
    rare: BoolArray
    active: IntArray  # cells that move, are reached, or may be; the others stay as they are
    reached: BoolArray  # which of these are targets
    chance: FloatArray  # N_m(k)
    expected: FloatArray  # D(k)
    worst: IntArray  # the rare cell with the largest N_m(k)
    first: FloatArray
    second: FloatArray  # the two largest
    lacks: FloatArray = field(init=False)
    inverse: Inverse = field(init=False)

    @classmethod
    def of(
        cls,
        cells: KeyCells,
        start: FloatArray,
        alpha: float,
        grid: FloatArray,
        keep: float,
        price: float,
    ) -> _Walk:
        P = np.where(start < NOISE, 0.0, start)
        np.fill_diagonal(P, 0.0)
        moves = P > 0
        np.fill_diagonal(P, 1 - P.sum(axis=1))
        # By alpha itself: just inside it, 1/alpha records would lack what nothing can mend.
        rare = np.isin(np.arange(cells.size), cells.rare(alpha))
        common = np.argsort(-cells.numbers, kind="stable")[:SOURCES]
        reached: BoolArray = np.any(moves, axis=0)
        used: BoolArray = reached | np.any(moves, axis=1) | rare
        used[common] = True
        active = np.flatnonzero(used & ~cells.fixed)
        many = len(cells.totals)
        chance = np.stack([_by_combination(cells, row) for row in P])
        walk = cls(
            cells, P, alpha * (1 - INSIDE), grid, keep, np.full(many, price), rare, active,
            reached[active], chance, cells.numbers @ chance,
            np.zeros(many, dtype=np.int64), np.zeros(many), np.zeros(many),
        )  # fmt: skip
        walk.inverse = Inverse(P[np.ix_(active, active)], cells.numbers[active])
        walk._look(np.arange(many))
        return walk

    def _look(self, where: IntArray) -> None:
        """What these combinations lack."""
        rare = np.where(self.rare[:, None], self.chance[:, where], 0.0)
        every = np.arange(len(where))
        worst = rare.argmax(axis=0)
        self.worst[where], self.first[where] = worst, rare[worst, every]
        rare[worst, every] = 0.0
        self.second[where] = rare.max(axis=0)
        self.lacks = self._lacking(self.first, self.expected)

    @property
    def loss(self) -> float:
        """n^2 l2."""
        return self.inverse.loss

    def _lacking(self, worst: FloatArray, expected: FloatArray) -> FloatArray:
        lacks: FloatArray = np.maximum(worst / self.alpha - expected, 0.0)
        return lacks

    def _now(self) -> FloatArray:
        """The moves among the active cells; less than nothing where there can be none."""
        now = self.inverse.P.copy()
        np.fill_diagonal(now, -1.0)
        return now

    def next_ones(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Moves that happen, with values near theirs and nothing: row, column and value of each."""
        now = self._now()
        rows, columns = np.nonzero(now > 0)
        level = np.searchsorted(self.grid, now[rows, columns] * (1 - 1e-12))
        to = np.column_stack([level[:, None] + SHIFTS, np.zeros_like(level)])
        entry, which = np.nonzero((to >= 0) & (to < len(self.grid)))
        return rows[entry], columns[entry], self.grid[to[entry, which]]

    def new_ones(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Moves to cells that are targets already, where none happens yet."""
        rows, columns = np.nonzero((self._now() == 0) & self.reached)
        many = len(FRESH)
        return np.tile(rows, many), np.tile(columns, many), np.repeat(FRESH, len(rows))

    def step(self, rows: IntArray, columns: IntArray, values: FloatArray) -> bool:
        """Make the best of these steps, if one is good."""
        P = self.inverse.P
        change = values - P[rows, columns]
        room = (P[rows, rows] - change >= self.keep) | (change < 0)
        rows, columns, values, change = rows[room], columns[room], values[room], change[room]
        if not len(rows):
            return False
        with np.errstate(divide="ignore", invalid="ignore"):  # steps to what has no inverse
            gain = self.inverse.changes(rows, columns, change)
        gain[~np.isfinite(gain)] = np.inf
        least = -ENOUGH * max(self.loss, 1.0)
        # No step saves more than all that is lacked where its two cells are.
        cost = (self.price * self.lacks)[self.cells.combination[self.active]].sum(axis=1)
        hope = np.flatnonzero(gain - (cost[rows] + cost[columns]) * (1 + INSIDE) < least)
        if not len(hope):
            return False
        rows, columns, values, change = rows[hope], columns[hope], values[hope], change[hope]
        gain = gain[hope] + self._lack_changes(self.active[rows], self.active[columns], change)
        best = int(np.argmin(gain))
        if not gain[best] < least:
            return False
        self._take(int(rows[best]), int(columns[best]), float(values[best]))
        return True

    def _lack_changes(self, rows: IntArray, columns: IntArray, change: FloatArray) -> FloatArray:
        """What all that combinations lack costs more after each step."""
        combination = self.cells.combination
        apart = combination[rows] != combination[columns]
        total = np.zeros(len(rows))
        for cells, sign in ((columns, 1), (rows, -1)):
            k = combination[cells]
            moved = sign * change[:, None]
            others = np.where(self.worst[k] == rows[:, None], self.second[k], self.first[k])
            own = np.where(self.rare[rows][:, None], self.chance[rows[:, None], k] + moved, 0.0)
            expected = self.expected[k] + self.cells.numbers[rows][:, None] * moved
            more = self._lacking(np.maximum(others, own), expected) - self.lacks[k]
            total += (apart * self.price[k] * more).sum(axis=1)
        return total

    def _take(self, row: int, column: int, value: float) -> None:
        """Make a step between two of the active cells."""
        self.inverse.take(row, column, value)
        own = self.inverse.P[row]
        row, column = int(self.active[row]), int(self.active[column])
        self.P[row, self.active] = own
        self.chance[row] = _by_combination(self.cells, self.P[row])
        where = np.union1d(self.cells.combination[row], self.cells.combination[column])
        self.expected[where] = self.cells.numbers @ self.chance[:, where]
        self._look(where)


def _by_combination(cells: KeyCells, row: FloatArray) -> FloatArray:
    """The chances of a row added up by combination."""
    each = np.repeat(row, cells.combination.shape[1])
    return np.bincount(cells.combination.ravel(), each, len(cells.totals)).astype(np.float64)
