"""The least loss on a large joint domain: a covering problem, and few transitions.

Cells with at least 1/alpha records meet C1 whatever is done [Cator, eq. 2]. A rare cell m is safe
at a combination k of its values if enough records are released with k:

    sum_{t in k} x_t + U(k) - sum_{m' in k} u_m' e_m'  >=  (1 - e_m) / alpha,

x_t the expected number of records that move to the target cell t, e_m the probability that a record
of m leaves. A linear program over targets and leaving probabilities, with the convex cost of
leaving in pieces, finds where records go; with many combinations it is solved approximately
(approximate.py). The full condition is checked afterwards by the guarantee itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana.methods.optimal.approximate import Saddle, State, curved
from pramana.methods.optimal.cells import KeyCells
from pramana.types import BoolArray, FloatArray, IntArray

PIECES = np.array([0.0, 0.2, 0.36, 0.5, 0.61, 0.71, 0.8, 0.87])
"""Where the convex cost of leaving is joined by straight lines."""

SMALL_SHARE = 0.005
"""Sources are added until no more than this share of each has to move."""

NEARLY = 1.3
"""Combinations with up to this many times 1/alpha records are under constraint from the start."""

AT_ONCE, FIRST, ADDED = 60_000, 20, 5_000
"""So many targets are taken at once; else so many a combination first, and so many more."""

MANY, WITHIN, ROUGHLY = 3_000, 0.02, 0.05
"""With more combinations the program is solved within this share of a bound, or that one first."""


@dataclass(frozen=True)
class Reached:
    """Where a first-order method ended, found again by cells and combinations."""

    targets: IntArray
    movers: IntArray
    needs: IntArray
    state: State

    def at(self, targets: IntArray, movers: IntArray, needs: IntArray) -> State:
        """The same as far as others have it too, and nothing where they do not."""
        inflow, leaving, prices, share = self.state
        found = (
            _found(self.targets, inflow, targets),
            _found(self.movers, leaving, movers),
            _found(self.needs, prices, needs),
        )
        return *found, share


def _found(own: IntArray, values: FloatArray, wanted: IntArray) -> FloatArray:
    if not len(own):
        return np.zeros(len(wanted))
    order = np.argsort(own)
    at = order[np.minimum(np.searchsorted(own[order], wanted), len(own) - 1)]
    found: FloatArray = np.where(own[at] == wanted, values[at], 0.0)
    return found


@dataclass(frozen=True)
class Covering:
    """How many records each target needs, how often each rare cell is left, and a lower bound.

    One more record in one of the ``combinations`` is worth ``worth``; a target pays if its
    combinations are together worth more than ``limit``.
    """

    targets: IntArray
    inflow: FloatArray
    movers: IntArray
    leaving: FloatArray
    least: float
    combinations: IntArray
    worth: FloatArray
    limit: float
    reached: Reached | None = None


@dataclass(frozen=True)
class _Rows:
    """The combinations under constraint, numbered 0 .. and the cells that belong to them."""

    combinations: IntArray
    place: IntArray  # combination -> number, or -1

    @classmethod
    def of(cls, cells: KeyCells, combinations: IntArray) -> _Rows:
        place = np.full(len(cells.totals), -1, dtype=np.int64)
        place[combinations] = np.arange(len(combinations))
        return cls(combinations, place)

    def incidence(self, cells: KeyCells, which: IntArray) -> Any:
        """Rows are combinations, columns the cells asked."""
        from scipy import sparse

        numbers = self.place[cells.combination[which]]
        cell, choice = np.nonzero(numbers >= 0)
        entries = (numbers[cell, choice], cell)
        shape = (len(self.combinations), len(which))
        return sparse.csr_array((np.ones(len(cell)), entries), shape=shape)


def first_cover(
    cells: KeyCells, alpha: float, *, empty_targets: bool, keep: float
) -> Covering | None:
    """The first covering: nearly rare combinations too, and no cell that is made to stay."""
    also, sure = first_constraints(cells, alpha, share=SMALL_SHARE)
    none = np.zeros(cells.size, dtype=bool)
    return cover(
        cells,
        alpha,
        also=also,
        sure=sure,
        staying=none,
        empty_targets=empty_targets,
        keep=keep,
        within=ROUGHLY,
    )


def first_constraints(
    cells: KeyCells, alpha: float, *, share: float
) -> tuple[IntArray, FloatArray]:
    """Combinations that are nearly rare, and the records of each that can be counted on."""
    near = (cells.totals * alpha >= 1) & (cells.totals * alpha < NEARLY)
    frequent = by_combination(cells, np.where(cells.numbers * alpha >= 1, cells.numbers, 0.0))
    return np.flatnonzero(near), cells.totals - share * frequent


def by_combination(cells: KeyCells, amounts: FloatArray) -> FloatArray:
    """Amounts of cells added up by combination."""
    total = np.zeros(len(cells.totals))
    for column in cells.combination.T:
        total += np.bincount(column, amounts, len(total))
    return total


def cover(
    cells: KeyCells,
    alpha: float,
    *,
    also: IntArray,
    sure: FloatArray,
    staying: BoolArray,
    empty_targets: bool,
    keep: float,
    start: Reached | None = None,
    within: float = WITHIN,
) -> Covering | None:
    """Targets and leaving chances of least cost for the rare combinations, and those in ``also``.

    ``sure`` is the number of records of each combination that can be counted on (frequent cells
    that are sources lose a small share); ``staying`` cells do not leave; with
    ``empty_targets`` only cells that nobody leaves are targets: what arrives in a cell that is left
    again costs more than the program knows. ``start`` is where a program much like this one
    ended. Nothing if the program has no solution.
    """
    problem = np.flatnonzero((cells.totals > 0) & (cells.totals * alpha < 1))
    rows = _Rows.of(cells, np.union1d(problem, also))
    troubled = np.zeros(len(cells.totals), dtype=bool)
    troubled[problem] = True
    rare = cells.rare(alpha)
    movers = rare[troubled[cells.combination[rare]].any(axis=1) & ~cells.fixed[rare]]
    movers = movers[~staying[movers]]
    barred = cells.fixed.copy()
    if empty_targets:
        barred[movers] = True
    targets = _targets(cells, rows, barred)
    if len(targets) == 0:
        return None
    if keep >= 0.999:
        movers = movers[:0]
    if len(rows.combinations) > MANY:
        return _nearly(cells, alpha, rows, rare, movers, targets, sure, 1 - keep, start, within)
    pieces = np.append(PIECES[1 - keep - 0.01 > PIECES], 1 - keep)
    return _program(cells, alpha, rows, rare, movers, targets, sure, pieces)


def _targets(cells: KeyCells, rows: _Rows, barred: BoolArray) -> IntArray:
    """One cell for each set of covered combinations; one that occurs rather than an empty one."""
    numbers = rows.place[cells.combination]
    useful = np.flatnonzero((numbers >= 0).any(axis=1) & ~barred)
    order = useful[np.argsort(-cells.numbers[useful], kind="stable")]
    signature = np.ascontiguousarray(numbers[order].astype(np.int32))
    as_bytes = signature.view(np.dtype((np.void, signature.itemsize * signature.shape[1])))
    _, first = np.unique(as_bytes.ravel(), return_index=True)
    return order[np.sort(first)]


def _program(
    cells: KeyCells,
    alpha: float,
    rows: _Rows,
    rare: IntArray,
    movers: IntArray,
    targets: IntArray,
    sure: FloatArray,
    ends: FloatArray,
) -> Covering | None:
    """Solve over few targets, add those whose price is right, until none is left out wrongly."""
    covers = rows.incidence(cells, targets)
    program = _Program.of(cells, rows, rare, movers, alpha, sure[rows.combinations], ends)
    few = len(targets) <= AT_ONCE
    active = np.arange(len(targets)) if few else _first_targets(covers)
    while True:
        answer = program.solve(covers[:, active])
        if answer is None:
            return None
        price = 2 - covers.T @ answer.eqlin.marginals + answer.ineqlin.marginals[-1]
        price[active] = 0
        cheap = np.flatnonzero(price < -1e-6)
        if len(cheap) == 0:
            break
        active = np.union1d(active, cheap[np.argsort(price[cheap])[:ADDED]])
    inflow = np.maximum(answer.x[: len(active)], 0)
    leaving = np.clip(program.spread @ answer.x[program.pieces(len(active))], 0, ends[-1])
    kept, left = inflow > 1e-9, leaving > 1e-9
    least = _least(answer, program, len(active))
    return Covering(
        targets[active][kept],
        inflow[kept],
        movers[left],
        leaving[left],
        least,
        rows.combinations,
        answer.eqlin.marginals,
        float(2 + answer.ineqlin.marginals[-1]),
    )


def _nearly(
    cells: KeyCells,
    alpha: float,
    rows: _Rows,
    rare: IntArray,
    movers: IntArray,
    targets: IntArray,
    sure: FloatArray,
    most: float,
    start: Reached | None,
    within: float,
) -> Covering | None:
    """The program over all targets by a first-order method, within a share of a bound."""
    from scipy import sparse

    weight = cells.numbers[movers]
    row, mover = _needs(cells, rows, rare, movers)
    saddle = Saddle(
        covers=(alpha * rows.incidence(cells, targets)).tocsr(),
        leaves=(alpha * rows.incidence(cells, movers) @ sparse.diags_array(weight)).tocsr(),
        row=row,
        mover=mover,
        asked=1 - alpha * sure[rows.combinations][row],
        weight=weight,
        most=most,
    )
    needs = rows.combinations[row] * (cells.size + 1)
    needs[mover >= 0] += 1 + movers[mover[mover >= 0]]
    begin = None if start is None else start.at(targets, movers, needs)
    near = saddle.solve(within=within, start=begin)
    if near is None:
        return None
    kept, left = near.inflow > 1e-9, near.leaving > 1e-9
    return Covering(
        targets[kept],
        near.inflow[kept],
        movers[left],
        near.leaving[left],
        near.least,
        rows.combinations,
        alpha * near.worth,
        near.limit,
        Reached(targets, movers, needs, near.state),
    )


def _first_targets(covers: Any) -> IntArray:
    """For each combination the targets that cover the most combinations besides."""
    many = np.asarray(covers.sum(axis=0)).ravel()
    chosen = []
    for k in range(covers.shape[0]):
        inside = covers.indices[covers.indptr[k] : covers.indptr[k + 1]]
        chosen.append(inside[np.argsort(-many[inside], kind="stable")[:FIRST]])
    return np.unique(np.concatenate(chosen)).astype(np.int64)


@dataclass(frozen=True)
class _Program:
    """Variables: x_t; pieces of e_m; what movers supply; the expected records d_k of each row."""

    weight: FloatArray
    ends: FloatArray
    spread: Any
    leave: Any
    own: Any
    records: Any
    alpha: float
    sure: FloatArray

    @classmethod
    def of(
        cls,
        cells: KeyCells,
        rows: _Rows,
        rare: IntArray,
        movers: IntArray,
        alpha: float,
        sure: FloatArray,
        ends: FloatArray,
    ) -> _Program:
        from scipy import sparse

        weight = cells.numbers[movers]
        ones = np.ones((1, len(ends) - 1))
        spread = sparse.kron(sparse.eye_array(len(movers)), ones, format="csr")
        leave = rows.incidence(cells, movers) @ sparse.diags_array(weight) @ spread
        own, records = _asked(*_needs(cells, rows, rare, movers), rows, movers, alpha)
        return cls(weight, ends, spread, leave, own @ spread, records, alpha, sure)

    def pieces(self, targets: int) -> slice:
        """Where the pieces of e stand among the variables."""
        return slice(targets, targets + self.spread.shape[1])

    def solve(self, covers: Any) -> Any:
        """The program over some targets, or nothing if it has no solution."""
        from scipy import sparse
        from scipy.optimize import linprog

        count, targets = covers.shape
        one = sparse.csr_array([[1.0]])
        blocks = [
            [sparse.csr_array((self.own.shape[0], targets)), self.own, None, self.records],
            [None, -sparse.csr_array(self.weight[None, :]) @ self.spread, one, None],
            [sparse.csr_array(-np.ones((1, targets))), None, one, None],
        ]
        slope = np.diff(curved(self.ends)) / np.diff(self.ends)
        curve = np.outer(self.weight, slope).ravel()
        answer = linprog(
            np.concatenate([np.full(targets, 2.0), curve, [-2.0], np.zeros(count)]),
            A_ub=sparse.block_array(blocks).tocsc(),
            b_ub=np.concatenate([np.full(self.own.shape[0], -1 / self.alpha), [0.0, 0.0]]),
            A_eq=sparse.hstack(
                [covers, -self.leave, sparse.csr_array((count, 1)), -sparse.eye_array(count)]
            ).tocsc(),
            b_eq=-self.sure,
            bounds=_bounds(targets, len(self.weight), count, self.ends),
            method="highs-ipm",  # several times the simplex here: many rows are tied
        )
        return answer if answer.x is not None and answer.status == 0 else None


def _bounds(targets: int, movers: int, count: int, ends: FloatArray) -> FloatArray:
    high = np.concatenate(
        [np.full(targets, np.inf), np.tile(np.diff(ends), movers), np.full(1 + count, np.inf)]
    )
    return np.column_stack([np.zeros(len(high)), high])


def _needs(
    cells: KeyCells, rows: _Rows, rare: IntArray, movers: IntArray
) -> tuple[IntArray, IntArray]:
    """The row and the mover of each need; cells that do not leave share one need, mover -1."""
    numbers = rows.place[cells.combination[rare]]
    cell, choice = np.nonzero(numbers >= 0)
    k = numbers[cell, choice]
    place = np.full(cells.size, -1, dtype=np.int64)
    place[movers] = np.arange(len(movers))
    mover = place[rare[cell]]
    stays = np.flatnonzero(mover < 0)
    _, first = np.unique(k[stays], return_index=True)
    keep = np.concatenate([np.flatnonzero(mover >= 0), stays[first]])
    return k[keep], mover[keep]


def _asked(
    k: IntArray, mover: IntArray, rows: _Rows, movers: IntArray, alpha: float
) -> tuple[Any, Any]:
    """-e_m / alpha - d_k <= -1 / alpha, a row for each need."""
    from scipy import sparse

    has = np.flatnonzero(mover >= 0)
    own = sparse.csr_array(
        (np.full(len(has), -1 / alpha), (has, mover[has])), shape=(len(k), len(movers))
    )
    ones = (-np.ones(len(k)), (np.arange(len(k)), k))
    return own, sparse.csr_array(ones, shape=(len(k), len(rows.combinations)))


def _least(answer: Any, program: _Program, targets: int) -> float:
    """The value of the program with the curved cost instead of its pieces, by duality.

    The duals fix what one more unit of leaving is worth to each cell, r times its weight; the best
    answer to that is read off the pieces in the program, and off the curve for the bound.
    """
    weight, ends = program.weight, program.ends
    if not len(weight):
        return float(answer.fun)
    pieces = len(ends) - 1
    reduced = (answer.lower.marginals + answer.upper.marginals)[program.pieces(targets)]
    slope = (curved(ends[1:2]) / ends[1:2])[0]
    worth = np.maximum(slope - reduced.reshape(-1, pieces)[:, 0] / weight, 0)
    straight = (curved(ends)[None, :] - worth[:, None] * ends[None, :]).min(axis=1)
    stay = np.maximum(1 / np.sqrt(np.maximum(worth - 1, 1.0)), 1 - ends[-1])
    bent = np.where(worth > 2, curved(1 - stay) - worth * (1 - stay), 0.0)
    return float(answer.fun + (weight * (bent - straight)).sum())
