"""The least loss on a small joint domain, by linear programs on the exact gradient.

Condition C1 is linear in P. The loss is not, and is not convex everywhere. Three stages: the
program of the fewest changes, with a bound on the diagonal; short steps along the exact gradient
inside a box; fully corrective steps over the corners that programs of the gradient give. ``gap`` is
the improvement to first order that the last program leaves.

A program over n cells has n^2 transitions and as many needs, few of which bind. For many cells it
grows by the needs that its answer breaks and by the transitions whose reduced cost is negative
(docs/proofs/spontaneous_recognition.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from pramana.methods.optimal.cells import KeyCells, dense_gradient, dense_loss, loss_and_gradient
from pramana.methods.symmetric_flows import least_cost
from pramana.types import BoolArray, FloatArray, Form, IntArray

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
    """C1 as linear constraints on transitions and denominators, added as they are needed."""

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
        answer = linprog(
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


FLOORS = (0.55, 0.3, 0.1, 0.02)
"""Bounds on the diagonal that are tried in turn for the first program."""

SINGULAR = 1e6
"""A loss above this many times the records is that of a matrix that cannot be undone."""

MANY = 4.0
"""Combinations with this many times 1/alpha records are not watched at first."""

STEPS = 18
CORNERS = 20
ENOUGH = 4e-3
"""The relative gap at which the last stage stops."""

NEAR, SEVERAL = 0.5, 64
"""A loss below this share of the records is near: other starts end in the same place. They are
tried for so many cells at most, since each takes seconds for more."""

ROUGHLY = (8, 6)
"""Programs of both stages for a rough answer, for more cells than that: the programs that follow
gain the last few hundredths, and entries are moved on the grid after it."""

WRITTEN_OUT, FEWER = 120, (8, 22)
"""Up to so many cells programs are written out; for more they grow, and are so many at most."""

FAR = 1e300
"""The loss of a mixture that has no inverse, as a search for the least one takes it."""


@dataclass(frozen=True)
class DenseAnswer:
    """A matrix that meets C1 up to the tolerance of the programs, and its first-order gap."""

    matrix: FloatArray
    gap: float


@dataclass(frozen=True)
class _Programs:
    """C1 as linear constraints on the entries off the diagonal and on the denominators."""

    numbers: FloatArray
    member: FloatArray  # cells x combinations
    alpha: float
    pairs: tuple[IntArray, IntArray]  # the transitions that may happen

    @cached_property
    def parts(self) -> Form:
        """The rows of the program: C1, sums of rows, denominators (equations)."""
        from scipy import sparse

        rows, columns = self.pairs
        shape = (self.member.shape[1], len(rows))
        change = self.member[columns] - self.member[rows]
        entry, k = np.nonzero(change)
        value = change[entry, k]
        flow = sparse.csr_array((self.numbers[rows[entry]] * value, (k, entry)), shape=shape)
        rare = np.flatnonzero((self.numbers > 0) & (self.numbers * self.alpha < 1))
        place = np.full(len(self.numbers), -1)
        place[rare] = np.arange(len(rare))
        own = place[rows[entry]] >= 0
        where = (place[rows[entry[own]]] * shape[0] + k[own], entry[own])
        size = (len(rare) * shape[0], len(rows))
        above = sparse.csr_array((value[own], where), shape=size)
        below = sparse.vstack([-self.alpha * sparse.eye_array(shape[0])] * max(len(rare), 1))
        ones = sparse.csr_array(
            (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(len(self.numbers), len(rows))
        )
        nothing = sparse.csr_array((len(self.numbers), shape[0]))
        equal = sparse.hstack([flow, -sparse.eye_array(shape[0])])
        upper = [sparse.hstack([above, below]), sparse.hstack([ones, nothing])]
        return {
            "rows": sparse.vstack([*upper, equal]).tocsc(),
            "upper_to": -self.member[rare].ravel(),
            "equal_to": -(self.numbers @ self.member),
        }

    def solve(
        self, cost: FloatArray, *, floor: float, around: FloatArray | None = None, box: float = 1.0
    ) -> FloatArray | None:
        """The matrix of least cost that meets C1, with the diagonal bounded from below."""
        rows, columns = self.pairs
        here = np.zeros(len(rows)) if around is None else around[rows, columns]
        slack = len(self.parts["equal_to"])
        low = np.concatenate([np.maximum(here - box, 0), np.zeros(slack)])
        high = np.concatenate([np.minimum(here + box, 1), np.full(slack, np.inf)])
        upper_to = np.concatenate([self.parts["upper_to"], np.full(len(self.numbers), 1 - floor)])
        equal_to = self.parts["equal_to"]
        answer = least_cost(
            np.concatenate([cost[rows, columns] - cost[rows, rows], np.zeros(slack)]),
            self.parts["rows"],
            np.concatenate([np.full(len(upper_to), -np.inf), equal_to]),
            np.concatenate([upper_to, equal_to]),
            low=low,
            high=high,
        )
        if answer is None:
            return None
        P = np.zeros((len(self.numbers), len(self.numbers)))
        P[rows, columns] = np.clip(answer[: len(rows)], 0, 1)
        np.fill_diagonal(P, 1 - P.sum(axis=1))
        return P


Programs = _Programs | GrowingPrograms


def solve_dense(
    cells: KeyCells, alpha: float, *, keep: float, roughly: bool = False
) -> DenseAnswer | None:
    """The three stages; nothing if no matrix with a diagonal of at least ``keep`` meets C1."""
    member = _members(cells)
    most = (STEPS, CORNERS) if cells.size <= WRITTEN_OUT else FEWER
    most = ROUGHLY if roughly and cells.size > SEVERAL else most
    # Combinations with many times 1/alpha records hold by themselves, unless the answer is far out.
    pairs = np.nonzero(~np.eye(cells.size, dtype=bool) & np.outer(cells.movable, ~cells.fixed))
    for watched in (cells.totals * alpha < MANY, cells.totals >= 0):
        kind = _Programs if cells.size <= WRITTEN_OUT else GrowingPrograms
        programs = kind(cells.numbers, member[:, watched], alpha, (pairs[0], pairs[1]))
        answer = _stages(programs, cells, keep, most)
        if answer is None or _holds(answer.matrix, member, cells.numbers, alpha):
            return answer
    return answer


def _members(cells: KeyCells) -> FloatArray:
    """Cells x combinations: 1 where a cell has the combination."""
    member = np.zeros((cells.size, len(cells.totals)))
    for column in cells.combination.T:
        member[np.arange(cells.size), column] = 1
    return member


def _holds(P: FloatArray, member: FloatArray, numbers: FloatArray, alpha: float) -> bool:
    """C1 in floating point, over all combinations."""
    chance = P @ member
    return bool((chance[numbers > 0] <= alpha * (1 + 1e-6) * (numbers @ chance)).all())


def _stages(
    programs: Programs, cells: KeyCells, keep: float, most: tuple[int, int]
) -> DenseAnswer | None:
    """The best of the answers from several starts; the first one where it stays near."""
    best: DenseAnswer | None = None
    for floor in FLOORS:
        found = _from_floor(programs, cells, keep, floor, most)
        if found is None:
            continue
        loss = dense_loss(found.matrix, cells.numbers, cells.weights)
        if best is None or loss < dense_loss(best.matrix, cells.numbers, cells.weights):
            best = found
        if loss < NEAR * cells.numbers.sum() or cells.size > SEVERAL:
            break
    return best


def _from_floor(
    programs: Programs, cells: KeyCells, keep: float, floor: float, most: tuple[int, int]
) -> DenseAnswer | None:
    # A cell without records costs a little too, so that its row is left alone.
    fewest = cells.numbers + 1e-3
    # Where the corner of fewest changes is singular, its mixture with another one need not be.
    other = fewest * (0.5 + np.arange(cells.size) * 0.618 % 1)
    least, start = max(floor / 10, keep), None
    for cost in (fewest, other):
        corner = programs.solve(-np.diag(cost), floor=max(floor, keep))
        if corner is None:
            break
        start = corner if start is None else (start + corner) / 2
        if dense_loss(start, cells.numbers, cells.weights) < SINGULAR * cells.numbers.sum():
            P = _short_steps(programs, start, cells, floor=least, most=most[0])
            return _corners(programs, P, cells, floor=least, most=most[1])
    return None


def _short_steps(
    programs: Programs, P: FloatArray, cells: KeyCells, *, floor: float, most: int = STEPS
) -> FloatArray:
    """Programs of the gradient inside a box that shrinks where the loss bends."""
    numbers, weights = cells.numbers, cells.weights
    box, value = 0.2, dense_loss(P, numbers, weights)
    for _ in range(most):
        gradient = dense_gradient(P, numbers, weights)
        corner = programs.solve(gradient, floor=floor, around=P, box=box)
        if corner is None:
            break
        tries = [
            (dense_loss(P + t * (corner - P), numbers, weights), t) for t in (1.0, 0.6, 0.3, 0.1)
        ]
        best, t = min(tries)
        promised = float((gradient * (P - corner)).sum())
        if best < value:
            P, value = P + t * (corner - P), best
        box *= 1.3 if best < value or t >= 0.6 else 0.4
        if promised < ENOUGH * value / 4:
            break
    return P


def _corners(
    programs: Programs, P: FloatArray, cells: KeyCells, *, floor: float, most: int = CORNERS
) -> DenseAnswer:
    """Fully corrective steps over the corners that the gradients point to."""
    corners, shares, gap = [P], np.ones(1), np.inf
    for _ in range(most):
        gradient = dense_gradient(P, cells.numbers, cells.weights)
        corner = programs.solve(gradient, floor=floor)
        value = dense_loss(P, cells.numbers, cells.weights)
        if corner is None or value <= 0:
            return DenseAnswer(P, 0.0 if value <= 0 else gap)
        gap = max(float((gradient * (P - corner)).sum()) / value, 0.0)
        if gap < ENOUGH:
            break
        shares = _mix(np.array([*corners, corner]), np.append(shares, 0.0), cells)
        used = shares > 1e-9
        corners = [c for c, kept in zip([*corners, corner], used, strict=True) if kept]
        shares = shares[used] / shares[used].sum()
        P = np.tensordot(shares, np.array(corners), 1)
    return DenseAnswer(P, gap)


def _mix(corners: FloatArray, start: FloatArray, cells: KeyCells) -> FloatArray:
    """The mixture of corners with the least exact loss; weights are rescaled to sum to one."""
    from scipy.optimize import minimize

    def value(weights: FloatArray) -> tuple[float, FloatArray]:
        total = max(float(weights.sum()), 1e-9)
        P = np.tensordot(weights / total, corners, 1)
        loss, gradient = loss_and_gradient(P, cells.numbers, cells.weights)
        if not np.isfinite(loss):  # no inverse: as far away as can be, and no way leads on
            return FAR, np.zeros(len(weights))
        slope = np.tensordot(corners, gradient, 2)
        return loss, (slope - (slope @ weights) / total) / total

    bounds = [(0.0, None)] * len(start)
    options = {"maxiter": 60, "ftol": 1e-10}
    answer = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    weights = np.maximum(answer.x, 0)
    return np.asarray(weights / weights.sum())
