"""The small problem behind symmetric flows, by a sequence of linear programs.

Minimise the sum of the flows F_e >= 0 over pairs e = (c, i) such that every rare c has

    h_c = ln O_c - ln(T_c - O_c) + ln sum_e F_e / (1 - F_e / T_i) - ln(m - T_c) >= 0

and nobody is turned into a value more often than its own records stay there. The second is linear.
The first is linearised where we stand, and the step is kept short enough to be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pramana.methods.least_cost import least_cost
from pramana.types import FloatArray, IntArray

__all__ = ["FlowProblem", "improve"]


PENALTY = 1e5
ROOM = 1e-8
"""How far from equal chances the programs stay, so that rounding cannot reverse them."""

ROUNDS = 25
NEWTON = 6
MARGIN = 1e-10
ENOUGH = 1e-5
"""A round that gains less than this share of the changes is the last one."""


@dataclass(frozen=True)
class FlowProblem:
    """Values with ``times`` records, the first ``rare`` of them rare; a flow on each pair."""

    times: FloatArray
    rare: int
    first: IntArray
    second: IntArray
    m: float

    @cached_property
    def incidence(self) -> Any:
        """Rows are values, columns pairs."""
        from scipy import sparse

        pairs = np.arange(len(self.first))
        where = (np.concatenate([self.first, self.second]), np.concatenate([pairs, pairs]))
        shape = (len(self.times), len(pairs))
        return sparse.csr_array((np.ones(2 * len(pairs)), where), shape=shape)

    @cached_property
    def dominance(self) -> Any:
        """Rows A with A F <= 1: F_ic / T_i + O_c / T_c <= 1, for each pair both ways."""
        from scipy import sparse

        shares = sparse.diags_array(1 / self.times) @ self.incidence
        pairs = len(self.first)
        entering = sparse.diags_array(1 / self.times[self.second])
        leaving = sparse.diags_array(1 / self.times[self.first])
        rows = [shares[self.first] + entering, shares[self.second] + leaving]
        return sparse.vstack(rows, format="csr") if pairs else sparse.csr_array((0, 0))

    @cached_property
    def served(self) -> tuple[IntArray, IntArray, IntArray]:
        """A rare value, its partner and their pair; a pair of two rare values serves both."""
        shared = self.second < self.rare
        return (
            np.concatenate([self.first, self.second[shared]]),
            np.concatenate([self.second, self.first[shared]]),
            np.concatenate([np.arange(len(self.first)), np.flatnonzero(shared)]),
        )

    @cached_property
    def ends(self) -> IntArray:
        """Both values of every pair, pair by pair."""
        return np.column_stack([self.first, self.second]).ravel()

    @cached_property
    def places(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where the entries of the programs stand, column by column: all programs share that.

        Rows, where each column begins, and in which order slopes, shortfalls and shares come.
        """
        (c, _, pair), shares = self.served, self.dominance.tocoo()
        own, pairs = np.arange(self.rare), len(self.first)
        rows = np.concatenate([c, own, self.rare + shares.row])
        columns = np.concatenate([pair, pairs + own, shares.col])
        order = np.lexsort((rows, columns))
        begins = np.searchsorted(columns[order], np.arange(pairs + self.rare + 1))
        return rows[order], begins, order

    def excess(self, flow: FloatArray) -> tuple[FloatArray, FloatArray]:
        """h for the rare values, and its slopes in the order of ``served``."""
        size = self.times[: self.rare]
        leaving = np.bincount(self.ends, np.repeat(flow, 2), len(self.times))
        out = np.clip(leaving[: self.rare], 1e-12, size * (1 - 1e-12))
        c, partner, pair = self.served
        left = np.maximum(1 - flow[pair] / self.times[partner], 1e-12)
        inflow = np.maximum(np.bincount(c, flow[pair] / left, self.rare), 1e-12)
        h = np.log(out / (size - out)) + np.log(inflow / (self.m - size))
        return h, 1 / out[c] + 1 / (size - out)[c] + 1 / (left**2 * inflow[c])

    def bounds(self, slope: FloatArray) -> Any:
        """Rows A of a program with A (step, shortfall) <= b: those linearised, then dominance."""
        from scipy import sparse

        rows, begins, order = self.places
        entries = np.concatenate([-slope, np.full(self.rare, -1.0), self.dominance.data])[order]
        shape = (self.rare + self.dominance.shape[0], len(self.first) + self.rare)
        return sparse.csc_array((entries, rows, begins), shape=shape)

    def shortfall(self, flow: FloatArray) -> float:
        """By how much the worst value misses its bound; at or below 0 if none does."""
        return float(np.max(-self.excess(flow)[0]))


def improve(problem: FlowProblem, start: FloatArray) -> FloatArray:
    """A local minimum from a start, by steps that the linear programs propose."""
    scale = problem.times[problem.first] * np.minimum(
        problem.times[problem.second] / problem.m, 1.0
    )
    flow, reach = start, 0.5
    merit = _merit(problem, flow)
    for _ in range(ROUNDS):
        step = _program(problem, flow, reach * np.maximum(scale, flow))
        if step is None:
            break
        tried = np.maximum(flow + step, 0)
        value = _merit(problem, tried)
        gained, promised = merit - value, flow.sum() - tried.sum()
        if gained > 0:
            flow, merit, reach = tried, value, min(2 * reach, 1.0)
        else:
            reach /= 4
        if reach < 1e-4 or 0 <= max(gained, promised) < ENOUGH * merit:
            break
    return _restore(problem, flow)


def _merit(problem: FlowProblem, flow: FloatArray) -> float:
    missing = np.maximum(-problem.excess(flow)[0], 0).sum()
    crossed = np.maximum(problem.dominance @ flow - (1 - ROOM), 0).sum()
    return float(flow.sum() + PENALTY * (missing + crossed))


def _program(
    problem: FlowProblem, flow: FloatArray, reach: FloatArray, *, aim: float = 0.0
) -> FloatArray | None:
    """The best step inside the box, bounds linearised; a shortfall is allowed at a price."""
    h, slope = problem.excess(flow)
    pairs, rare = len(flow), problem.rare
    at_most = np.concatenate([h - aim, np.maximum(1 - ROOM - problem.dominance @ flow, 0)])
    answer = least_cost(
        np.concatenate([np.ones(pairs), np.full(rare, PENALTY)]),
        problem.bounds(slope),
        -np.inf,
        at_most,
        low=np.concatenate([np.maximum(-flow, -reach), np.zeros(rare)]),
        high=np.concatenate([reach, np.full(rare, np.inf)]),
    )
    return None if answer is None else answer[:pairs]


def _restore(problem: FlowProblem, flow: FloatArray) -> FloatArray:
    """Make up for the little that the last step may have missed, as Newton's method does."""
    for _ in range(NEWTON):
        if problem.shortfall(flow) <= 0:
            return flow
        step = _program(problem, flow, np.full(len(flow), np.inf), aim=MARGIN)
        if step is None:
            break
        flow = np.maximum(flow + step, 0)
    return flow
