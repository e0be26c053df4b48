"""Linear programs over all matrices that meet C1, as small as they can be.

A program over n cells has n^2 transitions and, of each rare cell m and combination k, the need
N_m(k) <= alpha D(k): of 200 cells forty thousand of each. Few of them bind. So it is solved over
some, and grows by the needs that the answer breaks and by the transitions whose price is right,
until there are none: the answer is then that of the whole program. What one program needed the next
one begins with, since they differ by their costs alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pramana.methods.least_cost import solved_once
from pramana.types import BoolArray, FloatArray, IntArray

__all__ = ["GrowingPrograms"]

BROKEN: Final = 1e-9
"""By so much a need may be missed, as linear programs miss theirs."""

CHEAP: Final = 1e-6
"""A transition whose price is below this share of the largest cost would change nothing."""

ADDED: Final = 8
"""So many transitions a cell are added at once, and kept for the next program."""

FEW: Final = 2_000
"""No more than so many transitions are added together."""

ROUNDS: Final = 60


@dataclass
class GrowingPrograms:
    """C1 as linear constraints on the entries off the diagonal and on the denominators.

    Attributes:
        numbers: how many records are in each cell.
        member: cells x combinations, 1 where a cell has one.
        alpha: the target.
        pairs: the transitions that may happen.
    """

    numbers: FloatArray
    member: FloatArray
    alpha: float
    pairs: tuple[IntArray, IntArray]
    rare: IntArray = field(init=False)
    allowed: BoolArray = field(init=False)
    taken: BoolArray = field(init=False)  # the transitions to begin with
    asked: BoolArray = field(init=False)  # rare cells x combinations: the needs to begin with

    def __post_init__(self) -> None:
        size = len(self.numbers)
        self.rare = np.flatnonzero((self.numbers > 0) & (self.numbers * self.alpha < 1))
        self.allowed = np.zeros((size, size), dtype=bool)
        self.allowed[self.pairs] = True
        self.taken = self.allowed.copy()
        self.asked = self.member[self.rare] > 0

    def solve(
        self, cost: FloatArray, *, floor: float, around: FloatArray | None = None, box: float = 1.0
    ) -> FloatArray | None:
        """The matrix of least cost that meets C1, with the diagonal bounded from below."""
        dear = cost - np.diag(cost)[:, None]
        here = np.zeros_like(cost) if around is None else np.where(self.allowed, around, 0.0)
        taken = self.taken | (here > 0)
        least = CHEAP * max(float(np.abs(dear[self.allowed]).max(initial=0.0)), 1.0)
        for _ in range(ROUNDS):
            found = self._program(dear, taken, floor, here, box)
            if found is None:
                if (taken == self.allowed).all():
                    return None
                taken = self.allowed.copy()
                continue
            P, price = found
            broken = self._broken(P) & ~self.asked  # those that are asked hold as solvers hold them
            cheap = self.allowed & ~taken & (price < -least)
            if not broken.any() and not cheap.any():
                break
            self.asked |= broken
            some = cheap & (price <= _best(price, cheap, ADDED))
            taken |= some if cheap.sum() > FEW else cheap
        else:
            return None
        self.taken = taken & ((P > 0) | (price <= _best(price, taken, ADDED)))
        return P

    def _broken(self, P: FloatArray) -> BoolArray:
        """The needs that a matrix misses."""
        chance = P @ self.member
        return chance[self.rare] > self.alpha * (self.numbers @ chance) + BROKEN

    def _program(
        self, dear: FloatArray, taken: BoolArray, floor: float, here: FloatArray, box: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """The answer over some transitions and needs, and the price of every transition."""
        from scipy.optimize import linprog

        rows, columns = np.nonzero(taken)
        equal, upper, needs = self._parts(rows, columns)
        many, size = self.member.shape[1], len(self.numbers)
        near = here[rows, columns]
        low = np.concatenate([np.maximum(near - box, 0), np.zeros(many)])
        high = np.concatenate([np.minimum(near + box, 1), np.full(many, np.inf)])
        answer = solved_once(
            linprog,
            np.concatenate([dear[rows, columns], np.zeros(many)]),
            A_ub=upper,
            b_ub=np.concatenate([-self.member[self.rare][needs], np.full(size, 1 - floor)]),
            A_eq=equal,
            b_eq=-(self.numbers @ self.member),
            bounds=np.column_stack([low, high]),
            method="highs",
            options={"presolve": False},  # it takes longer than it saves: the program is small
        )
        if answer.x is None or answer.status != 0:
            return None
        P = np.zeros((size, size))
        P[rows, columns] = np.clip(answer.x[: len(rows)], 0, 1)
        np.fill_diagonal(P, 1 - P.sum(axis=1))
        worth = np.outer(self.numbers, answer.eqlin.marginals)
        own = np.zeros((len(self.rare), many))
        own[needs] = answer.ineqlin.marginals[:-size]
        worth[self.rare] += own
        gained = worth @ self.member.T
        price = dear - gained + np.diag(gained)[:, None] - answer.ineqlin.marginals[-size:, None]
        return P, price

    def _parts(self, rows: IntArray, columns: IntArray) -> tuple[Any, Any, BoolArray]:
        """Denominators (equations); needs and sums of rows; which needs are asked."""
        from scipy import sparse

        many, size = self.member.shape[1], len(self.numbers)
        change = (self._sparse[columns] - self._sparse[rows]).tocoo()
        entry, k, value = change.row, change.col, change.data
        flow = sparse.csr_array(
            (self.numbers[rows[entry]] * value, (k, entry)), shape=(many, len(rows))
        )
        number = np.full((size, many), -1, dtype=np.int64)
        asked = np.zeros((size, many), dtype=bool)
        asked[self.rare] = self.asked
        number[asked] = np.arange(int(asked.sum()))
        need = number[rows[entry], k]
        own = need >= 0
        shape = (int(asked.sum()), len(rows))
        above = sparse.csr_array((value[own], (need[own], entry[own])), shape=shape)
        below = sparse.csr_array(
            (np.full(shape[0], -self.alpha), (np.arange(shape[0]), np.nonzero(asked)[1])),
            shape=(shape[0], many),
        )
        ones = sparse.csr_array(
            (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(size, len(rows))
        )
        nothing = sparse.csr_array((size, many))
        equal = sparse.hstack([flow, -sparse.eye_array(many)]).tocsc()
        upper = sparse.vstack(
            [sparse.hstack([above, below]), sparse.hstack([ones, nothing])]
        ).tocsc()
        return equal, upper, self.asked

    @property
    def _sparse(self) -> Any:
        from scipy import sparse

        return sparse.csr_array(self.member)


def _best(price: FloatArray, among: BoolArray, each: int) -> FloatArray:
    """For each row the price of its ``each``-th best transition among some; a column."""
    ranked = np.partition(np.where(among, price, np.inf), each - 1, axis=1)
    return ranked[:, each - 1 : each]
