"""The least loss on a small joint domain, by linear programs on the exact gradient.

Condition C1 is linear in P. The loss is not, and is not convex everywhere. Three stages: the
program of the fewest changes, with a bound on the diagonal; short steps along the exact gradient
inside a box; fully corrective steps over the corners that programs of the gradient give. ``gap`` is
the improvement to first order that the last program leaves.

A program over n cells has n^2 transitions and as many constraints, few of which bind. For many
cells it grows: constraints that its answer violates are added, and transitions whose reduced cost
is negative (docs/proofs/recognition_search.md).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pramana.methods.optimal.cells import KeyCells, dense_gradient, dense_loss
from pramana.types import BoolArray, FloatArray

ENUMERATED: Final = 120
"""The largest number of cells whose programs have all transitions and constraints at once."""

VIOLATED: Final = 1e-9
"""The tolerance of linear programs on a constraint."""

CHEAP: Final = 1e-6
"""A reduced cost below this share of the largest cost changes nothing."""

ADDED, FEW, ROUNDS = 8, 2_000, 60
"""Transitions that are added for each cell, the number that are always added, and the rounds."""

FLOORS = (0.55, 0.3, 0.1, 0.02)
"""Bounds on the diagonal that are tried in turn for the first program."""

SINGULAR = 1e6
"""A loss above this many times the records is that of a matrix without an inverse."""

WATCHED = 4.0
"""Combinations with this many times 1/alpha records have no constraint at first."""

ENOUGH = 4e-3
"""The relative gap at which the last stage stops."""

NEAR, SEVERAL = 0.5, 64
"""With a loss below this share of the records, or more cells than this, one start suffices."""

SMALL_EFFORT, LARGE_EFFORT, ROUGH_EFFORT = (18, 20), (8, 22), (8, 6)
"""The most programs of the second and third stage: for few cells, for many, and roughly."""

UNSOLVABLE = 1e300
"""The loss of a mixture without an inverse, for the search over mixtures."""


class Programs:
    """C1 as linear constraints on transitions and on the expected records of combinations."""

    def __init__(
        self, numbers: FloatArray, member: FloatArray, alpha: float, allowed: BoolArray
    ) -> None:
        from scipy import sparse

        self.numbers, self.member, self.alpha, self.allowed = numbers, member, alpha, allowed
        self.rare = np.flatnonzero((numbers > 0) & (numbers * alpha < 1))
        self.grows = len(numbers) > ENUMERATED
        self.taken = allowed.copy()  # the transitions to begin with
        # rare cells x combinations: the constraints to begin with
        self.asked = (member[self.rare] > 0) | (not self.grows)
        self._sparse = sparse.csr_array(member)

    def solve(
        self, cost: FloatArray, *, floor: float, around: FloatArray | None = None, box: float = 1.0
    ) -> FloatArray | None:
        """The matrix of least cost that meets C1, with the diagonal bounded from below."""
        relative = cost - np.diag(cost)[:, None]
        here = np.zeros_like(cost) if around is None else np.where(self.allowed, around, 0.0)
        taken = self.taken | (here > 0)
        least = CHEAP * max(float(np.abs(relative[self.allowed]).max(initial=0.0)), 1.0)
        for _ in range(ROUNDS):
            answer = self._program(relative, taken, floor, here, box)
            if answer is None:
                if (taken == self.allowed).all():
                    return None
                taken = self.allowed.copy()
                continue
            P, price = answer
            if not self.grows:
                return P
            chance = P @ self.member
            violated = chance[self.rare] > self.alpha * (self.numbers @ chance) + VIOLATED
            violated &= ~self.asked  # constraints in the program hold as solvers hold them
            cheap = self.allowed & ~taken & (price < -least)
            if not violated.any() and not cheap.any():
                self.taken = taken & ((P > 0) | (price <= _best(price, taken)))
                return P
            self.asked |= violated
            taken |= cheap & (price <= _best(price, cheap)) if cheap.sum() > FEW else cheap
        return None

    def _program(
        self, cost: FloatArray, taken: BoolArray, floor: float, here: FloatArray, box: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """The answer over some transitions and constraints, and every transition's reduced cost."""
        from scipy.optimize import linprog

        many, size = self.member.shape[1], len(self.numbers)
        rows, columns = np.nonzero(taken)
        equal, upper = self._constraints(taken)
        near = here[rows, columns]
        low = np.concatenate([np.maximum(near - box, 0), np.zeros(many)])
        high = np.concatenate([np.minimum(near + box, 1), np.full(many, np.inf)])
        answer = linprog(
            np.concatenate([cost[rows, columns], np.zeros(many)]),
            A_ub=upper,
            b_ub=np.concatenate([-self.member[self.rare][self.asked], np.full(size, 1 - floor)]),
            A_eq=equal,
            b_eq=-(self.numbers @ self.member),
            bounds=np.column_stack([low, high]),
            method="highs",
            options={"presolve": not self.grows},  # it costs more than it saves on growing programs
        )
        if answer.x is None or answer.status != 0:
            return None
        P = np.zeros((size, size))
        P[rows, columns] = np.clip(answer.x[: len(rows)], 0, 1)
        np.fill_diagonal(P, 1 - P.sum(axis=1))
        dual = np.zeros(self.asked.shape)
        dual[self.asked] = answer.ineqlin.marginals[:-size]
        worth = np.outer(self.numbers, answer.eqlin.marginals)
        worth[self.rare] += dual
        gained = worth @ self.member.T
        price = cost - gained + np.diag(gained)[:, None] - answer.ineqlin.marginals[-size:, None]
        return P, price

    def _constraints(self, taken: BoolArray) -> tuple[Any, Any]:
        """Expected records of combinations (equations); C1 and sums of rows (inequalities)."""
        from scipy import sparse

        many, size = self.member.shape[1], len(self.numbers)
        rows, columns = np.nonzero(taken)
        change = (self._sparse[columns] - self._sparse[rows]).tocoo()
        entry, k, value = change.row, change.col, change.data
        flow = sparse.csr_array(
            (self.numbers[rows[entry]] * value, (k, entry)), shape=(many, len(rows))
        )
        number = np.full((size, many), -1, dtype=np.int64)
        constrained = np.zeros((size, many), dtype=bool)
        constrained[self.rare] = self.asked
        number[constrained] = np.arange(int(constrained.sum()))
        constraint = number[rows[entry], k]
        used = constraint >= 0
        shape = (int(constrained.sum()), len(rows))
        above = sparse.csr_array((value[used], (constraint[used], entry[used])), shape=shape)
        below = sparse.csr_array(
            (np.full(shape[0], -self.alpha), (np.arange(shape[0]), np.nonzero(constrained)[1])),
            shape=(shape[0], many),
        )
        ones = sparse.csr_array(
            (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(size, len(rows))
        )
        sums = sparse.hstack([ones, sparse.csr_array((size, many))])
        equal = sparse.hstack([flow, -sparse.eye_array(many)])
        return equal.tocsc(), sparse.vstack([sparse.hstack([above, below]), sums]).tocsc()


def _best(price: FloatArray, among: BoolArray) -> FloatArray:
    """For each row the price of its ``ADDED``-th best transition among some; a column."""
    ranked = np.partition(np.where(among, price, np.inf), ADDED - 1, axis=1)
    return ranked[:, ADDED - 1 : ADDED]


def solve_dense(
    cells: KeyCells, alpha: float, *, keep: float, roughly: bool = False
) -> tuple[FloatArray, float] | None:
    """A matrix that meets C1 up to the tolerance of the programs, and its first-order gap.

    ``None`` if no matrix with a diagonal of at least ``keep`` meets C1.
    """
    member = members(cells)
    effort = SMALL_EFFORT if cells.size <= ENUMERATED else LARGE_EFFORT
    if roughly and cells.size > SEVERAL:
        effort = ROUGH_EFFORT
    allowed = ~np.eye(cells.size, dtype=bool) & np.outer(cells.movable, ~cells.fixed)
    # Combinations with many times 1/alpha records nearly always hold without a constraint
    for watched in (cells.totals * alpha < WATCHED, cells.totals >= 0):
        programs = Programs(cells.numbers, member[:, watched], alpha, allowed)
        answer = _best_of_starts(programs, cells, keep, effort)
        if answer is None:
            return None
        chance = answer[0] @ member
        if (chance[cells.numbers > 0] <= alpha * (1 + 1e-6) * (cells.numbers @ chance)).all():
            break
    return answer


def members(cells: KeyCells) -> FloatArray:
    """Cells x combinations: 1 where a cell has the combination."""
    member = np.zeros((cells.size, len(cells.totals)))
    for column in cells.combination.T:
        member[np.arange(cells.size), column] = 1
    return member


def _best_of_starts(
    programs: Programs, cells: KeyCells, keep: float, effort: tuple[int, int]
) -> tuple[FloatArray, float] | None:
    """The best of the answers from several starts; the first one where it is near the identity."""
    best, least = None, np.inf
    for floor in FLOORS:
        lowest = max(floor / 10, keep)
        start = _start(programs, cells, max(floor, keep))
        if start is None:
            continue
        P = _short_steps(programs, start, cells, floor=lowest, most=effort[0])
        answer = _corrective_steps(programs, P, cells, floor=lowest, most=effort[1])
        loss = dense_loss(answer[0], cells.numbers, cells.weights)
        if best is None or loss < least:
            best, least = answer, loss
        if loss < NEAR * cells.numbers.sum() or cells.size > SEVERAL:
            break
    return best


def _start(programs: Programs, cells: KeyCells, floor: float) -> FloatArray | None:
    """The matrix of the fewest changes with an inverse."""
    # A cell without records costs a little too, so that its row is left alone
    fewest = cells.numbers + 1e-3
    # Where the corner of fewest changes is singular, its mixture with another one need not be
    other = fewest * (0.5 + np.arange(cells.size) * 0.618 % 1)
    start = None
    for cost in (fewest, other):
        corner = programs.solve(-np.diag(cost), floor=floor)
        if corner is None:
            return None
        start = corner if start is None else (start + corner) / 2
        if dense_loss(start, cells.numbers, cells.weights) < SINGULAR * cells.numbers.sum():
            return start
    return None


def _short_steps(
    programs: Programs, P: FloatArray, cells: KeyCells, *, floor: float, most: int
) -> FloatArray:
    """Programs of the gradient inside a box that shrinks where the loss bends."""
    numbers, weights = cells.numbers, cells.weights
    box, value = 0.2, dense_loss(P, numbers, weights)
    for _ in range(most):
        gradient = dense_gradient(P, numbers, weights)
        corner = programs.solve(gradient, floor=floor, around=P, box=box)
        if corner is None:
            break
        best, step = min(
            (dense_loss(P + t * (corner - P), numbers, weights), t) for t in (1.0, 0.6, 0.3, 0.1)
        )
        promised = float((gradient * (P - corner)).sum())
        if best < value:
            P, value = P + step * (corner - P), best
        box *= 1.3 if step >= 0.6 else 0.4
        if promised < ENOUGH * value / 4:
            break
    return P


def _corrective_steps(
    programs: Programs, P: FloatArray, cells: KeyCells, *, floor: float, most: int
) -> tuple[FloatArray, float]:
    """The best mixture of the corners that the gradients point to, and its first-order gap."""
    corners, shares, gap = [P], np.ones(1), np.inf
    for _ in range(most):
        gradient = dense_gradient(P, cells.numbers, cells.weights)
        corner = programs.solve(gradient, floor=floor)
        value = dense_loss(P, cells.numbers, cells.weights)
        if corner is None or value <= 0:
            return P, 0.0 if value <= 0 else gap
        gap = max(float((gradient * (P - corner)).sum()) / value, 0.0)
        if gap < ENOUGH:
            break
        shares = _mix(np.array([*corners, corner]), np.append(shares, 0.0), cells)
        used = shares > 1e-9
        corners = [c for c, kept in zip([*corners, corner], used, strict=True) if kept]
        shares = shares[used] / shares[used].sum()
        P = np.tensordot(shares, np.array(corners), 1)
    return P, gap


def _mix(corners: FloatArray, start: FloatArray, cells: KeyCells) -> FloatArray:
    """The mixture of corners with the least exact loss; weights are rescaled to sum to one."""
    from scipy.optimize import minimize

    def value(weights: FloatArray) -> tuple[float, FloatArray]:
        total = max(float(weights.sum()), 1e-9)
        P = np.tensordot(weights / total, corners, 1)
        loss = dense_loss(P, cells.numbers, cells.weights)
        if not np.isfinite(loss):
            return UNSOLVABLE, np.zeros(len(weights))
        slope = np.tensordot(corners, dense_gradient(P, cells.numbers, cells.weights), 2)
        return loss, (slope - (slope @ weights) / total) / total

    bounds = [(0.0, None)] * len(start)
    options = {"maxiter": 60, "ftol": 1e-10}
    answer = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    weights = np.maximum(answer.x, 0)
    return np.asarray(weights / weights.sum())
