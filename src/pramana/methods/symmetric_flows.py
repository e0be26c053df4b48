"""Symmetric flows: the fewest expected changes that keep every rare value from being matched.

Let F be a symmetric table, F_ij the expected number of records of i that are released as j: then
t P = t, and expected frequencies do not change. A block of [Ghatak, eq. 3] has equal flows. As long
as no other value is turned into c more often than c stays, the largest probability of a correct
match is at most xi = 1/m iff

    T_c + O_c / (T_c - O_c) * sum_i F_ic / (1 - F_ic / T_i) >= m,

O_c the flow out of c (docs/proofs/correct_match.md). Flows between two rare values serve both, so
rare values are pooled among themselves first. The rest is a small problem in F: the logarithm of
the condition is linearised, and linear programs propose steps that are kept short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pramana.base.rounding import TOTAL
from pramana.types import FloatArray, IntArray, Words

Pairs = tuple[IntArray, IntArray, FloatArray]
"""Pairs of values, and the flow between them."""

PENALTY = 1e5
"""The price of missing a condition, in expected changes."""

ROOM = 1e-8
"""How far from equal chances the programs stay, so that rounding cannot reverse them."""

ROUNDS, NEWTON = 25, 6
"""The most linear programs, and the most steps that restore the conditions."""

MARGIN = 1e-10
ENOUGH = 1e-5
"""A round that gains less than this share of the changes is the last one."""

MOST_PAIRS = 600
"""With more pairs the values that are left are pooled instead of optimised."""

SLACK = 1e-9
"""How far inside the bound the programs aim, so that rounding to integers cannot cross it."""


def least_cost(
    cost: FloatArray,
    rows: Any,
    least: FloatArray | float,
    most: FloatArray,
    *,
    low: FloatArray,
    high: FloatArray,
) -> FloatArray | None:
    """The x of least cost with low <= x <= high and, of sparse rows, least <= A x <= most."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # quicker than linprog, same solver

    constraints = LinearConstraint(rows, np.broadcast_to(least, most.shape), most)
    answer = milp(cost, constraints=constraints, bounds=Bounds(low, high))
    return np.array(answer.x) if answer.status == 0 else None


def theta_of(frequency: float, m: float) -> float:
    """The root of psi(T, theta) = 1/m [Ghatak, eq. 11]: T + theta^2 / (T - theta) = m."""
    short = m - frequency
    if short <= 0:
        return 0.0
    # The same root as (sqrt(d^2 + 4 T d) - d) / 2, without cancellation for large d
    return 2 * frequency * short / (short + math.sqrt(short**2 + 4 * frequency * short))


def balanced(
    times: Sequence[int], first: IntArray, second: IntArray, flow: FloatArray, *, up: bool = False
) -> tuple[IntArray, IntArray, Words]:
    """Rows, columns and integer weights that move exactly as many records from i to j as back.

    With g = gcd(T_i, T_j) and one integer c for the pair, the weights c T_j / g and c T_i / g make
    T_i w_ij = T_j w_ji: t P = t holds in integers, not only up to rounding. The flow is rounded to
    such a multiple, down or up.
    """
    moves = []
    for i, j, amount in zip(first.tolist(), second.tolist(), flow.tolist(), strict=True):
        common = math.gcd(times[i], times[j])
        to, back = times[j] // common, times[i] // common
        c = (int(math.ldexp(amount, 64)) + (times[i] * to - 1 if up else 0)) // (times[i] * to)
        c = min(c, (TOTAL - 1) // max(to, back))
        moves.append((c * to, c * back))
    weights = np.array(moves, dtype=np.uint64).reshape(-1, 2).T.ravel()
    return np.concatenate([first, second]), np.concatenate([second, first]), weights


def least_flows(times: IntArray, m: float) -> tuple[Pairs, float]:
    """Flows inside one group of values with a correct match of at most 1/m for each.

    The second result is a lower bound on the expected changes of all such flows: each rare value
    loses at least its bound; a flow between two rare values serves both, and is at most
    T_i T_j / m; what remains must go to a frequent value and come back.
    """
    rare = np.flatnonzero((times > 0) & (times < m))
    if len(rare) == 0:
        none = np.zeros(0, dtype=np.int64)
        return (none, none, np.zeros(0)), 0.0
    pools, rest = _pools(times, rare, m)
    if rest and pools:  # what is left over is served best together with one more pool
        rest += pools.pop()
    parts = [_even_mix(times, np.array(pool), m) for pool in pools]
    if rest:
        parts.append(_solve_rest(times, np.array(rest), np.flatnonzero(times >= m), m))
    first, second, flow = (np.concatenate(column) for column in zip(*parts, strict=True))
    size = times[rare].astype(float)
    needed = _outflow_bound(times[times > 0].astype(float), m)[times[times > 0] < m]
    among = size * (size.sum() - size) / m
    return (first, second, flow), float((needed + np.maximum(needed - among, 0)).sum())


def _outflow_bound(times: FloatArray, m: float) -> FloatArray:
    """The least that can leave each rare value, whatever the flows are.

    The sum in the condition is at most O_c / (1 - s) with s the largest share F_ic / T_i. That
    share is at most the share of c that stays, and at most O_c over the smallest other frequency.
    """
    order = np.sort(times)
    smallest = np.where(times == order[0], order[min(1, len(order) - 1)], order[0])
    low, high = np.zeros(len(times)), times.astype(float)
    for _ in range(60):
        out = (low + high) / 2
        share = np.minimum(1 - out / times, out / smallest)
        enough = times + out**2 / (np.maximum(times - out, 1e-300) * (1 - share)) >= m
        low, high = np.where(enough, low, out), np.where(enough, out, high)
    return np.where(times < m, low, 0.0)


def _pools(times: IntArray, rare: IntArray, m: float) -> tuple[list[list[int]], list[int]]:
    """Sets of rare values with a little more than m records each, and what is left over.

    One record above m leaves room to mix a little less than fully: exactly m would put the chance
    on xi itself, where rounding decides.
    """
    enough = math.ceil(m) + 1
    waiting = sorted(rare.tolist(), key=lambda i: (-times[i], i))
    pools: list[list[int]] = []
    while sum(int(times[i]) for i in waiting) >= enough:
        pool, total = [], 0
        for i in waiting:
            if total + times[i] <= enough:
                pool.append(i)
                total += int(times[i])
        waiting = [i for i in waiting if i not in set(pool)]
        while total < enough and waiting:  # no exact fit: take the smallest ones that remain
            pool.append(waiting.pop())
            total += int(times[pool[-1]])
        pools.append(pool)
    return pools, waiting


def _even_mix(times: IntArray, members: IntArray, m: float) -> Pairs:
    """F_ij = z T_i T_j / n inside a pool of n >= m records, with the smallest z that does."""
    size = times[members].astype(float)
    total = size.sum()

    def holds(z: float) -> bool:
        stay = 1 - z * (1 - size / total)
        inflow = z * size / total
        odds = inflow / (1 - inflow) * (1 - stay) / np.maximum(stay, 1e-300)
        return bool((size + (total - size) * odds >= m * (1 + SLACK)).all())

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    i, j = np.triu_indices(len(members), 1)
    return members[i], members[j], high * size[i] * size[j] / total


def _solve_rest(times: IntArray, rare: IntArray, common: IntArray, m: float) -> Pairs:
    """Rare values with each other and with frequent ones, by linear programs from two starts."""
    partners = _partners(times, rare, common, m)
    everyone = np.concatenate([rare, partners])
    if len(rare) * (len(rare) - 1) / 2 + len(rare) * len(partners) > MOST_PAIRS:
        # One pool, topped up by the smallest frequent values
        pool, extra = list(rare), list(partners)
        while times[pool].sum() < math.ceil(m) + 1 and extra:
            pool.append(extra.pop(0))
        first, second, flow = _even_mix(times, np.array(pool), m)
        kept = (times[first] < m) | (times[second] < m)
        return first[kept], second[kept], flow[kept]
    i, j = np.triu_indices(len(everyone), 1)
    used = i < len(rare)  # flows between two frequent values help nobody
    i, j, size = i[used], j[used], times[everyone].astype(float)
    problem = FlowProblem(size, len(rare), i, j, m * (1 + SLACK))
    starts = [size[i] * size[j] / size.sum()]  # full mixing of everyone
    frequent = size[len(rare) :].sum()
    if frequent > 0:  # flows to frequent values only
        theta = np.array([theta_of(t, problem.m) for t in size])
        starts.append(np.where(j >= len(rare), theta[i] * size[j] / frequent, 0.0))
    answers = [problem.improved(start) for start in starts]
    met = [flow for flow in answers if problem.shortfall(flow) <= 0]
    if not met:
        return _even_mix(times, everyone, m)
    best = min(met, key=lambda flow: float(flow.sum()))
    kept = best > 0
    return everyone[i[kept]], everyone[j[kept]], best[kept]


def _partners(times: IntArray, rare: IntArray, common: IntArray, m: float) -> IntArray:
    """The smallest frequent values, which serve with the fewest changes, and the largest ones."""
    order = common[np.argsort(times[common], kind="stable")]
    few = max(2, min(6, MOST_PAIRS // (4 * len(rare))))
    while few < len(order) and 2 * few < len(order):
        chosen = np.concatenate([order[:few], order[-few:]])
        needed = sum(theta_of(float(times[i]), m) for i in rare)
        if times[chosen].sum() >= 4 * needed + m:
            return chosen
        few *= 2
    return order


@dataclass(frozen=True)
class FlowProblem:
    """Values with ``times`` records, the first ``rare`` of them rare; a flow on each pair."""

    times: FloatArray
    rare: int
    first: IntArray
    second: IntArray
    m: float

    @cached_property
    def dominance(self) -> Any:
        """Rows A with A F <= 1: F_ic / T_i + O_c / T_c <= 1, for each pair both ways."""
        from scipy import sparse

        pairs = np.arange(len(self.first))
        where = (np.concatenate([self.first, self.second]), np.concatenate([pairs, pairs]))
        shape = (len(self.times), len(pairs))
        incidence = sparse.csr_array((np.ones(2 * len(pairs)), where), shape=shape)
        shares = sparse.diags_array(1 / self.times) @ incidence
        entering = sparse.diags_array(1 / self.times[self.second])
        leaving = sparse.diags_array(1 / self.times[self.first])
        rows = [shares[self.first] + entering, shares[self.second] + leaving]
        return sparse.vstack(rows, format="csr") if len(pairs) else sparse.csr_array((0, 0))

    @cached_property
    def served(self) -> tuple[IntArray, IntArray, IntArray]:
        """A rare value, its partner and their pair; a pair of two rare values serves both."""
        shared = self.second < self.rare
        return (
            np.concatenate([self.first, self.second[shared]]),
            np.concatenate([self.second, self.first[shared]]),
            np.concatenate([np.arange(len(self.first)), np.flatnonzero(shared)]),
        )

    def excess(self, flow: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logarithm of the condition for the rare values, and its slopes as ``served``."""
        size = self.times[: self.rare]
        ends = np.column_stack([self.first, self.second]).ravel()
        leaving = np.bincount(ends, np.repeat(flow, 2), len(self.times))
        out = np.clip(leaving[: self.rare], 1e-12, size * (1 - 1e-12))
        c, partner, pair = self.served
        left = np.maximum(1 - flow[pair] / self.times[partner], 1e-12)
        inflow = np.maximum(np.bincount(c, flow[pair] / left, self.rare), 1e-12)
        h = np.log(out / (size - out)) + np.log(inflow / (self.m - size))
        return h, 1 / out[c] + 1 / (size - out)[c] + 1 / (left**2 * inflow[c])

    def shortfall(self, flow: FloatArray) -> float:
        """By how much the worst value misses its condition; at or below 0 if none does."""
        return float(np.max(-self.excess(flow)[0]))

    def improved(self, start: FloatArray) -> FloatArray:
        """A local minimum from a start, by steps that the linear programs propose."""
        scale = self.times[self.first] * np.minimum(self.times[self.second] / self.m, 1.0)
        flow, reach = start, 0.5
        merit = self._merit(flow)
        for _ in range(ROUNDS):
            step = self._program(flow, reach * np.maximum(scale, flow))
            if step is None:
                break
            tried = np.maximum(flow + step, 0)
            value = self._merit(tried)
            gained, promised = merit - value, flow.sum() - tried.sum()
            if gained > 0:
                flow, merit, reach = tried, value, min(2 * reach, 1.0)
            else:
                reach /= 4
            if reach < 1e-4 or 0 <= max(gained, promised) < ENOUGH * merit:
                break
        for _ in range(NEWTON):  # make up for the little that the last step may have missed
            if self.shortfall(flow) <= 0:
                break
            step = self._program(flow, np.full(len(flow), np.inf), aim=MARGIN)
            if step is None:
                break
            flow = np.maximum(flow + step, 0)
        return flow

    def _merit(self, flow: FloatArray) -> float:
        missing = np.maximum(-self.excess(flow)[0], 0).sum()
        crossed = np.maximum(self.dominance @ flow - (1 - ROOM), 0).sum()
        return float(flow.sum() + PENALTY * (missing + crossed))

    def _program(
        self, flow: FloatArray, reach: FloatArray, *, aim: float = 0.0
    ) -> FloatArray | None:
        """The best step inside the box, conditions linearised; a shortfall has a price."""
        from scipy import sparse

        h, slope = self.excess(flow)
        pairs, rare = len(flow), self.rare
        # Rows A of A (step, shortfall) <= b: the linearised conditions, then dominance
        (c, _, pair), shares = self.served, self.dominance.tocoo()
        rows = np.concatenate([c, np.arange(rare), rare + shares.row])
        columns = np.concatenate([pair, pairs + np.arange(rare), shares.col])
        entries = np.concatenate([-slope, np.full(rare, -1.0), shares.data])
        shape = (rare + self.dominance.shape[0], pairs + rare)
        answer = least_cost(
            np.concatenate([np.ones(pairs), np.full(rare, PENALTY)]),
            sparse.csc_array((entries, (rows, columns)), shape=shape),
            -np.inf,
            np.concatenate([h - aim, np.maximum(1 - ROOM - self.dominance @ flow, 0)]),
            low=np.concatenate([np.maximum(-flow, -reach), np.zeros(rare)]),
            high=np.concatenate([reach, np.full(rare, np.inf)]),
        )
        return None if answer is None else answer[:pairs]
