"""The covering of a large domain by a first-order method, with a bound on what it gives up.

With y_mk >= 0 the price of the need of cell m at combination k, lambda in [0, 1] of what movers
supply, and c the cost of leaving, the program is the saddle point

    min_x,e max_y,lambda  2 lambda sum_t x_t + sum_m u_m [c(e_m) - 2 lambda e_m]
                          + sum_mk y_mk (1 - alpha d_k(x, e) - e_m).

Steps are those of the primal-dual hybrid gradient with a step for every variable [Pock11], drawn to
the point of the last restart [Lu24]. The answer is repaired until every need is met, and prices are
scaled until no target pays, so that cost and bound hold for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pramana.types import FloatArray, IntArray

MOST, LOOK = 2_000, 100
"""So many steps at most, and after so many the gap is looked at."""

SMALL = 0.005
"""Targets that fewer records go to are given up, where others can take their part."""

State = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Inflow x, leaving e, prices y, and lambda."""


def curved(e: FloatArray) -> FloatArray:
    """What leaving costs a record: 1 / (1 - e) - (1 - e), if it is spread over many targets."""
    return 1 / (1 - e) - (1 - e)


@dataclass(frozen=True)
class Near:
    """An answer that meets every need, its cost, a bound below it, and the prices of the bound."""

    state: State
    inflow: FloatArray
    leaving: FloatArray
    cost: float
    least: float
    worth: FloatArray
    limit: float


@dataclass(frozen=True)
class Saddle:
    """The program as a saddle point.

    ``covers`` and ``leaves`` say what one record that arrives in a target, and what all that
    leave a mover, change in each combination; both are multiplied by alpha. Need j is of
    combination ``row[j]`` and of mover ``mover[j]``, or of cells that stay (-1); ``reported`` is
    what it lacks.
    """

    covers: Any
    leaves: Any
    row: IntArray
    mover: IntArray
    asked: FloatArray
    weight: FloatArray
    most: float

    @cached_property
    def _back(self) -> tuple[Any, Any]:
        return self.covers.T.tocsr(), self.leaves.T.tocsr()

    @cached_property
    def _own(self) -> tuple[IntArray, IntArray]:
        """Which needs are of movers, and of which."""
        own = np.flatnonzero(self.mover >= 0)
        return own, self.mover[own]

    @cached_property
    def _uncovered(self) -> IntArray:
        """Needs of combinations that no target covers: only leaving meets them."""
        return np.flatnonzero(np.diff(self.covers.indptr)[self.row] == 0)

    @cached_property
    def steps(self) -> State:
        """A step for every variable: one over the sum of its row or column [Pock11]."""
        needs = np.bincount(self.row, minlength=self.covers.shape[0]).astype(np.float64)
        arrive, leave = (back @ needs for back in self._back)
        own = np.bincount(self._own[1], minlength=len(self.weight))
        total = self.covers.sum(axis=1) + self.leaves.sum(axis=1)
        prices = 1 / np.maximum(np.asarray(total).ravel()[self.row] + (self.mover >= 0), 1e-9)
        supplied = np.full(1, 1 / (2 * (self.weight.sum() + self.covers.shape[1])))
        return 1 / (arrive + 2), 1 / (leave + own + 2 * self.weight), prices, supplied

    def solve(self, *, within: float, start: State | None = None) -> Near | None:
        """An answer within this share of the bound, or the last; ``None`` without solution."""
        if self.floor is None:
            return None
        best: Near | None = None
        pace = _Pace(self, start or self._nothing(), self.floor)
        for turn in range(MOST + 1):
            if turn % LOOK == 0:
                best = self._better(best, pace.reached)
                if best is not None and best.cost <= best.least * (1 + within):
                    break
            pace.step()
        return best

    @cached_property
    def floor(self) -> FloatArray | None:
        """How often each mover leaves at least in every answer; nothing where there is none."""
        return self._least_leaving(np.zeros(len(self.weight)))

    def _nothing(self) -> State:
        targets, floor = np.zeros(self.covers.shape[1]), np.zeros(len(self.weight))
        return targets, floor, np.zeros(len(self.row)), np.ones(1)

    def have(self, inflow: FloatArray, leaving: FloatArray) -> FloatArray:
        """What each need has of what it asks."""
        found: FloatArray = (self.covers @ inflow - self.leaves @ leaving)[self.row]
        own, mover = self._own
        found[own] += leaving[mover]
        return found

    def paid(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What prices pay for one record in each target, and for leaving each mover."""
        own, mover = self._own
        rows = np.bincount(self.row, prices, self.covers.shape[0])
        arrive, leave = (back @ rows for back in self._back)
        return arrive, np.bincount(mover, prices[own], len(self.weight)) - leave

    def _better(self, best: Near | None, state: State) -> Near | None:
        """The best answer and the best bound that are known by now."""
        inflow, leaving, prices, share = state
        least, scale = self._bound(prices, float(share[0]))
        mended = self._mended(inflow, leaving)
        if mended is None:
            return best
        cost = self.cost(*mended)
        if best is not None and best.cost < cost:
            mended, cost = (best.inflow, best.leaving), best.cost
        worth = np.float64(scale) * np.bincount(self.row, prices, self.covers.shape[0])
        limit = 2 * float(share[0])
        if best is not None and best.least > least:
            least, worth, limit = best.least, best.worth, best.limit
        return Near(state, *mended, cost, least, worth, limit)

    def cost(self, inflow: FloatArray, leaving: FloatArray) -> float:
        """What an answer costs, with the curved cost of leaving."""
        supplied = min(float((self.weight * leaving).sum()), float(inflow.sum()))
        return float(2 * inflow.sum() + (self.weight * curved(leaving)).sum() - 2 * supplied)

    def _bound(self, prices: FloatArray, share: float) -> tuple[float, float]:
        """No answer costs less than this; prices are scaled until no target pays."""
        arrive, leave = self.paid(prices)
        scale = min(1.0, 2 * share / max(float(arrive.max(initial=0.0)), 1e-300))
        gain = 2 * share * self.weight + scale * leave
        slope = np.maximum(gain / self.weight - 1, 1.0)
        wish = 1 - np.maximum(1 / np.sqrt(slope), 1 - self.most)
        leaving = wish if self.floor is None else np.maximum(wish, self.floor)
        kept = (self.weight * curved(leaving) - gain * leaving).sum()
        return float(scale * (prices * self.asked).sum() + kept), scale

    def _least_leaving(self, leaving: FloatArray) -> FloatArray | None:
        """At least these chances, and what combinations ask that no target covers.

        Who leaves asks more of the others there: the least answer is climbed to from below.
        """
        needs = self._uncovered
        if not len(needs):
            return leaving
        leaving, row, mover = leaving.copy(), self.row[needs], self.mover[needs]
        own = mover >= 0
        for _ in range(MOST):
            lacks = self.asked[needs] + (self.leaves @ leaving)[row] + 1e-9
            if (lacks[~own] > 1e-6).any() or (lacks[own] > self.most).any():
                return None
            before = leaving.copy()
            np.maximum.at(leaving, mover[own], lacks[own])
            if np.abs(leaving - before).max(initial=0.0) < 1e-10:
                break
        return leaving

    def _mended(
        self, inflow: FloatArray, leaving: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """The answer with every need met, by few targets: those that meet the most at once."""
        raised = self._least_leaving(np.clip(leaving, 0.0, self.most))
        if raised is None:
            return None
        inflow = np.where(inflow < SMALL, 0.0, inflow)
        for _ in range(LOOK):
            short = np.zeros(self.covers.shape[0])
            np.maximum.at(short, self.row, self.asked - self.have(inflow, raised))
            rows = np.flatnonzero(short > 1e-8)
            rows = rows[np.diff(self.covers.indptr)[rows] > 0]
            if not len(rows):
                break
            inflow = inflow + self._added(rows, short)
        return inflow, raised

    def _added(self, rows: IntArray, short: FloatArray) -> FloatArray:
        """For each combination that lacks records the target that does the most, and how many."""
        gain = self._back[0] @ np.maximum(short, 0.0)
        part = self.covers[rows]
        place = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
        order = np.lexsort((gain[part.indices], place))
        target = part.indices[order[np.cumsum(np.diff(part.indptr)) - 1]]
        added = np.full(self.covers.shape[1], np.inf)
        np.minimum.at(added, target, short[rows] / self.covers.data[0])
        added[np.isinf(added)] = 0.0
        return np.maximum(added, np.where(added > 0, SMALL, 0.0))


class _Pace:
    """Steps of the saddle point, drawn to where they last started anew."""

    def __init__(self, saddle: Saddle, state: State, floor: FloatArray) -> None:
        self.saddle, self.floor = saddle, floor
        self.state = self.start = self.reached = state
        self.turn = self.turns = 0
        self.weight = 1.0
        self.first = self.last = np.inf

    def step(self) -> None:
        """One step, and a new start where they have come closer or go round."""
        self.reached = self._next(self.state)
        moved = self._length(self.reached, self.state)
        self.first = moved if self.turn == 0 else self.first
        nearer = moved <= 0.2 * self.first or (moved <= 0.8 * self.first and moved > self.last)
        self.turns += 1
        if self.turn > 5 and (nearer or self.turn > 0.36 * self.turns + 20):
            # Start where we are, with steps as long as both sides went
            primal, dual = self._parts(self.reached, self.start)
            if primal > 1e-12 and dual > 1e-12:
                self.weight = float(np.sqrt(self.weight * dual / primal))
            self.state = self.start = self.reached
            self.turn, self.first, self.last = 0, np.inf, np.inf
            return
        self.last = moved
        self.turn += 1
        drawn = self.turn / (self.turn + 1)
        self.state = _drawn(self.reached, self.state, self.start, drawn)

    def _next(self, state: State) -> State:
        inflow, leaving, prices, share = state
        saddle, tau = self.saddle, self.saddle.steps
        arrive, leave = saddle.paid(prices)
        went = np.maximum(inflow - tau[0] / self.weight * (2 * share - arrive), 0.0)
        step = tau[1] / self.weight
        left = self._left(leaving + step * (2 * share * saddle.weight + leave), step)
        ahead, out = 2 * went - inflow, 2 * left - leaving
        lacks = saddle.asked - saddle.have(ahead, out)
        paid = np.maximum(prices + tau[2] * self.weight * lacks, 0.0)
        spare = ahead.sum() - (saddle.weight * out).sum()
        supplied = np.clip(share + 2 * tau[3] * self.weight * spare, 0.0, 1.0)
        return went, left, paid, supplied

    def _left(self, wish: FloatArray, step: FloatArray) -> FloatArray:
        """The chance near the wish of which the curved cost is least, by Newton's steps."""
        low, most, cost = self.floor, self.saddle.most, step * self.saddle.weight
        found = np.clip(wish - 2 * cost, low, most)
        for _ in range(6):
            stay = 1 - found
            slope = found - wish + cost * (1 / stay**2 + 1)
            found = np.clip(found - slope / (1 + 2 * cost / stay**3), low, most)
        return found

    def _parts(self, one: State, other: State) -> tuple[float, float]:
        """How far apart in what is done, and in prices; each in the measure of its steps."""
        squares = [
            float(((a - b) ** 2 / step).sum())
            for a, b, step in zip(one, other, self.saddle.steps, strict=True)
        ]
        return float(np.sqrt(squares[0] + squares[1])), float(np.sqrt(squares[2] + squares[3]))

    def _length(self, one: State, other: State) -> float:
        primal, dual = self._parts(one, other)
        return float(np.hypot(primal * np.sqrt(self.weight), dual / np.sqrt(self.weight)))


def _drawn(reached: State, state: State, start: State, drawn: float) -> State:
    """The step doubled, and drawn to the start."""
    x, e, y, s = (
        drawn * (2 * new - old) + (1 - drawn) * first
        for new, old, first in zip(reached, state, start, strict=True)
    )
    return x, e, y, s
