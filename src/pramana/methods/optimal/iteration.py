"""The inverse of a matrix whose entries are moved one by one, and the loss after each move.

A step changes a row by d (e_j - e_i), and with it the inverse by a matrix of rank one [Sherman50].

A matrix on its grid made better by steps of single entries, judged by the loss on the grid.

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
from pramana.types import BoolArray, FloatArray, IntArray

LASTS, FEW = 64, 64
"""After so many steps it is computed afresh; with no more cells, after each."""


@dataclass
class Inverse:
    """The inverse of a matrix, and what the loss after every step follows from.

    A step is of rank one, and so is the change of the inverse: all that is held changes by a few
    vectors. Errors of rounding add up, so that after ``LASTS`` steps it is computed afresh.

    Attributes:
        P: the matrix.
        numbers: how many records are in each cell.
        Q: its inverse.
        released: the records expected in each cell.
        inner: Q Q'.
        scaled: Q' diag(released).
        weighed: Q' diag(released) Q Q'.
    """

    P: FloatArray
    numbers: FloatArray
    Q: FloatArray = field(init=False)
    released: FloatArray = field(init=False)
    inner: FloatArray = field(init=False)
    scaled: FloatArray = field(init=False)
    weighed: FloatArray = field(init=False)
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self._afresh()

    def _afresh(self) -> None:
        try:
            self.Q = np.linalg.inv(self.P).astype(np.float64)
        except np.linalg.LinAlgError:  # its loss is no number, and no step leads on
            self.Q = np.full_like(self.P, np.nan)
        self.released = self.numbers @ self.P
        self.inner = self.Q @ self.Q.T
        self.scaled = self.Q.T * self.released
        self.weighed = self.Q.T @ (self.released[:, None] * self.inner)
        self.steps = 0

    @property
    def loss(self) -> float:
        """n^2 l2."""
        return float(self.released @ (self.Q * self.Q).sum(axis=1) - self.numbers.sum())

    def take(self, i: int, j: int, value: float) -> None:
        """Change a move, and what stays with it."""
        d = value - self.P[i, j]
        self.P[i, i] -= d
        self.P[i, j] = value
        self.steps += 1
        if self.steps >= LASTS or len(self.P) <= FEW:
            self._afresh()
            return
        Q, inner = self.Q, self.inner
        q, r, p = Q[:, i].copy(), Q[j] - Q[i], inner[:, j] - inner[:, i]
        c, more = d / (1 + d * (Q[j, i] - Q[i, i])), self.numbers[i] * d
        self.weighed -= np.outer(c * r, (q * self.released) @ inner)
        self.scaled -= np.outer(c * r, q * self.released)
        Q -= np.outer(c * q, r)
        for cell, change in ((j, more), (i, -more)):
            self.weighed += np.outer(change * Q[cell], inner[cell])
            self.scaled[:, cell] += change * Q[cell]
            self.released[cell] += change
        along = c * c * float(r @ r) * q - c * p
        self.weighed += np.outer(self.scaled @ q, along) - np.outer(c * (self.scaled @ p), q)
        inner += np.outer(q, along) - np.outer(c * p, q)

    def changes(self, rows: IntArray, columns: IntArray, change: FloatArray) -> FloatArray:
        """How n^2 l2 changes where one move of a row changes, each by itself.

        With r = Q_j - Q_i, the inverse becomes Q - c q r' with q the i-th column of Q and
        c = d / (1 + d (Q_ji - Q_ii)); released counts change at i and at j.
        """
        Q, inner, weighed = self.Q, self.inner, self.weighed
        length = np.diag(inner)
        c = change / (1 + change * (Q[columns, rows] - Q[rows, rows]))
        r = length[columns] - 2 * inner[rows, columns] + length[rows]

        def after(cell: IntArray) -> FloatArray:
            along = Q[cell, rows]
            found: FloatArray = (
                length[cell]
                - 2 * c * along * (inner[cell, columns] - inner[cell, rows])
                + c**2 * along**2 * r
            )
            return found

        found: FloatArray = (
            c**2 * (self.released @ (Q * Q))[rows] * r
            - 2 * c * (weighed[rows, columns] - weighed[rows, rows])
            + self.numbers[rows] * change * (after(columns) - after(rows))
        )
        return found


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
