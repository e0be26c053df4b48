"""Improve a matrix on a grid of probabilities by steps of single entries.

Entries go up and down the grid one at a time, by the step that lowers most

    n^2 l2(P) + sum_k w_k [max_m N_m(k) / alpha - D(k)]_+ ,

the exact loss plus the records that each combination k lacks at a price w_k, which rises while no
step helps. The best matrix that lacks none is kept. A step changes the inverse by a matrix of rank
one [Sherman50] (docs/proofs/spontaneous_recognition.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.types import BoolArray, FloatArray, IntArray

LASTS, FEW = 64, 64
"""The inverse is recomputed after this many steps; with at most this many cells, after each."""


@dataclass
class Inverse:
    """The inverse Q of a matrix P, and products from which the loss after every step follows.

    A step changes the inverse by a matrix of rank one, so that all products are updated by a few
    vectors. After ``LASTS`` steps all are recomputed, as rounding errors add up.
    """

    P: FloatArray
    numbers: FloatArray
    weights: FloatArray | float = 1.0
    Q: FloatArray = field(init=False)
    released: FloatArray = field(init=False)
    inner: FloatArray = field(init=False)
    scaled: FloatArray = field(init=False)
    weighed: FloatArray = field(init=False)
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self._recompute()

    def _recompute(self) -> None:
        try:
            self.Q = np.linalg.inv(self.P).astype(np.float64)
        except np.linalg.LinAlgError:  # the loss is not a number, which ends the search
            self.Q = np.full_like(self.P, np.nan)
        self.released = self.numbers @ self.P
        self.inner = (self.Q * self.weights) @ self.Q.T
        self.scaled = self.Q.T * self.released
        self.weighed = self.Q.T @ (self.released[:, None] * self.inner)
        self.steps = 0

    @property
    def loss(self) -> float:
        """n^2 l2."""
        lengths = (self.Q * self.Q * self.weights).sum(axis=1)
        return float(self.released @ lengths - (self.numbers * self.weights).sum())

    def take(self, i: int, j: int, value: float) -> None:
        """Set the probability of a move from i to j, and adjust the diagonal."""
        d = value - self.P[i, j]
        self.P[i, i] -= d
        self.P[i, j] = value
        self.steps += 1
        if self.steps >= LASTS or len(self.P) <= FEW:
            self._recompute()
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
        along = c * c * float((r * self.weights) @ r) * q - c * p
        self.weighed += np.outer(self.scaled @ q, along) - np.outer(c * (self.scaled @ p), q)
        inner += np.outer(q, along) - np.outer(c * p, q)

    def changes(self, rows: IntArray, columns: IntArray, change: FloatArray) -> FloatArray:
        """The change of n^2 l2 by each of these steps, taken alone.

        With r = Q_j - Q_i, the inverse becomes Q - c q r' with q the i-th column of Q and
        c = d / (1 + d (Q_ji - Q_ii)); released counts change at i and at j.
        """
        Q, inner, weighed = self.Q, self.inner, self.weighed
        length = np.diag(inner)
        c = change / (1 + change * (Q[columns, rows] - Q[rows, rows]))
        r = length[columns] - 2 * inner[rows, columns] + length[rows]

        def after(cell: IntArray) -> FloatArray:
            along = Q[cell, rows]
            squared: FloatArray = (
                length[cell]
                - 2 * c * along * (inner[cell, columns] - inner[cell, rows])
                + c**2 * along**2 * r
            )
            return squared

        changes: FloatArray = (
            c**2 * (self.released @ (Q * Q))[rows] * r
            - 2 * c * (weighed[rows, columns] - weighed[rows, rows])
            + self.numbers[rows] * change * (after(columns) - after(rows))
        )
        return changes


MOST: Final = 1_500
"""The largest number of steps."""

PRICES, DEARER, DEAREST = (4.0, 1e4), 1.5, 1e9
"""The initial prices of a lacking record, the factor by which they rise, and the largest price.

At the low price the search violates C1 and returns to it; at the high price it stays inside."""

INSIDE: Final = 1e-9
"""The share below alpha in floating point that makes C1 hold in integers."""

NOISE: Final = 1e-6
"""Smaller probabilities are dropped at first: they are residues of the programs."""

SHIFTS: Final = np.array([-3, -2, -1, 1, 2, 3])
"""The places on the grid by which an entry may move at once; it may also become zero."""

FRESH: Final = np.array([0.001, 0.01, 0.1])
SOURCES: Final = 24
"""Initial values of new entries, and the number of frequent cells that may get some."""

ENOUGH: Final = 1e-6
"""Steps that lower the objective by a smaller share are not made."""


def stepped(
    cells: KeyCells, start: FloatArray, alpha: float, grid: FloatArray, *, keep: float = LEAST_KEPT
) -> FloatArray | None:
    """The best matrix on the grid that meets C1; ``None`` if none was found.

    ``start`` need not meet C1; ``grid`` holds the probabilities of moves, rising; records stay with
    probability ``keep`` at least, unless that is lower already.
    """
    results = [
        _search(_State.of(cells, start, alpha, np.append(0.0, grid), keep, price))
        for price in PRICES
    ]
    least, best = min(results, key=lambda result: result[0])
    return best if np.isfinite(least) else None


def _search(state: _State) -> tuple[float, FloatArray]:
    """The least loss of the matrices that meet C1, and its matrix."""
    best, least = state.P, np.inf
    for _ in range(MOST):
        lacking = state.lacks > 0
        if not lacking.any() and state.loss < least:
            best, least = state.P.copy(), state.loss
        if not np.isfinite(state.loss):
            break
        if state.step(*state.shifted_entries()) or state.step(*state.new_entries()):
            continue
        if not lacking.any() or state.price.max() > DEAREST:
            break
        state.price[lacking] *= DEARER
    return least, best


@dataclass
class _State:
    """The state of the search: the matrix, N and D of each combination, and what they lack."""

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
    ) -> _State:
        P = np.where(start < NOISE, 0.0, start)
        np.fill_diagonal(P, 0.0)
        moves = P > 0
        np.fill_diagonal(P, 1 - P.sum(axis=1))
        # By alpha itself: just inside it, 1/alpha records would lack what no step can supply.
        rare = np.isin(np.arange(cells.size), cells.rare(alpha))
        common = np.argsort(-cells.numbers, kind="stable")[:SOURCES]
        reached: BoolArray = np.any(moves, axis=0)
        used: BoolArray = reached | np.any(moves, axis=1) | rare
        used[common] = True
        active = np.flatnonzero(used & ~cells.fixed)
        many = len(cells.totals)
        chance = np.stack([_by_combination(cells, row) for row in P])
        state = cls(
            cells, P, alpha * (1 - INSIDE), grid, keep, np.full(many, price), rare, active,
            reached[active], chance, cells.numbers @ chance,
            np.zeros(many, dtype=np.int64), np.zeros(many), np.zeros(many),
        )  # fmt: skip
        weights = np.broadcast_to(cells.weights, cells.numbers.shape)[active]
        state.inverse = Inverse(P[np.ix_(active, active)], cells.numbers[active], weights)
        state._look(np.arange(many))
        return state

    def _look(self, where: IntArray) -> None:
        """Update what these combinations lack."""
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
        """The moves among the active cells; -1 on the diagonal."""
        now = self.inverse.P.copy()
        np.fill_diagonal(now, -1.0)
        return now

    def shifted_entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Row, column and new value of steps that move an entry along the grid, or to zero."""
        now = self._now()
        rows, columns = np.nonzero(now > 0)
        level = np.searchsorted(self.grid, now[rows, columns] * (1 - 1e-12))
        to = np.column_stack([level[:, None] + SHIFTS, np.zeros_like(level)])
        entry, which = np.nonzero((to >= 0) & (to < len(self.grid)))
        return rows[entry], columns[entry], self.grid[to[entry, which]]

    def new_entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Row, column and value of new moves to cells that are targets already."""
        gives = self.cells.movable & (~self.rare | (self.cells.donors == "any"))
        rows, columns = np.nonzero((self._now() == 0) & self.reached & gives[self.active][:, None])
        many = len(FRESH)
        return np.tile(rows, many), np.tile(columns, many), np.repeat(FRESH, len(rows))

    def step(self, rows: IntArray, columns: IntArray, values: FloatArray) -> bool:
        """Make the best of these steps; false if none lowers the objective."""
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
        # No step saves more than the price of all that is lacking at its two cells.
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
        """The change of the price of all lacking records by each step."""
        combination = self.cells.combination
        apart = combination[rows] != combination[columns]
        total = np.zeros(len(rows))
        for cells, sign in ((columns, 1), (rows, -1)):
            k = combination[cells]
            moved = sign * change[:, None]
            others = np.where(self.worst[k] == rows[:, None], self.second[k], self.first[k])
            chance = np.where(self.rare[rows][:, None], self.chance[rows[:, None], k] + moved, 0.0)
            expected = self.expected[k] + self.cells.numbers[rows][:, None] * moved
            more = self._lacking(np.maximum(others, chance), expected) - self.lacks[k]
            total += (apart * self.price[k] * more).sum(axis=1)
        return total

    def _take(self, row: int, column: int, value: float) -> None:
        """Make a step between two of the active cells."""
        self.inverse.take(row, column, value)
        changed = self.inverse.P[row]
        row, column = int(self.active[row]), int(self.active[column])
        self.P[row, self.active] = changed
        self.chance[row] = _by_combination(self.cells, self.P[row])
        where = np.union1d(self.cells.combination[row], self.cells.combination[column])
        self.expected[where] = self.cells.numbers @ self.chance[:, where]
        self._look(where)


def _by_combination(cells: KeyCells, row: FloatArray) -> FloatArray:
    """The probabilities of a row, summed by combination."""
    repeated = np.repeat(row, cells.combination.shape[1])
    return np.bincount(cells.combination.ravel(), repeated, len(cells.totals)).astype(np.float64)
