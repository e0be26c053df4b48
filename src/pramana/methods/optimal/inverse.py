"""The inverse of a matrix whose entries are moved one by one, and the loss after each move.

A step changes a row by d (e_j - e_i), and with it the inverse by a matrix of rank one [Sherman50].
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pramana.types import FloatArray, IntArray

__all__ = ["Inverse"]

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
