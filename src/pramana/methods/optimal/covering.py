"""The least loss on a large joint domain: a covering problem, solved as a saddle point.

Cells with at least 1/alpha records meet C1 whatever is done [Cator, eq. 2]. A rare cell m is safe
at a combination k of its values if enough records are released with k:

    sum_{t in k} x_t + U(k) - sum_{m' in k} u_m' e_m'  >=  (1 - e_m) / alpha,

x_t the expected number of records that move to the target cell t, e_m the probability that a record
of m leaves. With y_mk >= 0 the price of this need, lambda in [0, 1] of what movers supply, and c
the convex cost of leaving, the program is the saddle point

    min_x,e max_y,lambda  2 lambda sum_t x_t + sum_m u_m [c(e_m) - 2 lambda e_m]
                          + sum_mk y_mk (1 - alpha d_k(x, e) - e_m).

Steps are those of the primal-dual hybrid gradient with a step for every variable [Pock11], drawn to
the point of the last restart [Lu24]. The answer is repaired until every need is met, and prices are
scaled until no target pays, so that cost and bound hold for themselves. The full condition is
checked afterwards by the guarantee itself.

The cells are those that occur, and empty ones that are good targets. A good target lies in many
rare combinations at once. As in column generation, the covering over the targets listed so far
gives every rare combination a price, and cells are sought whose combinations are worth more than a
move costs, by changing one key at a time from many starts. The search may miss a cell; the loss is
measured (docs/proofs/recognition_matrices.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from pramana.errors import TooLarge
from pramana.guarantees.spontaneous_recognition import choices_of_keys
from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.schema.joint_cells import CellRules, Counts, cell_numbers
from pramana.types import BoolArray, FloatArray, IntArray

SMALL_SHARE = 0.005
"""The share of each frequent cell that moves at first."""

NEARLY = 1.3
"""Combinations with up to this many times 1/alpha records have needs from the start."""

WITHIN = 0.02
"""The relative gap at which the program ends."""

MOST, LOOK = 2_000, 100
"""The largest number of steps, and the steps after which the gap is computed."""

SMALL = 0.005
"""Targets that receive fewer records are given up, where others can take their part."""

State = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Inflow x, leaving e, prices y, and lambda."""


@dataclass(frozen=True)
class Covering:
    """The records that each target needs, the chances of leaving, and a lower bound on the loss.

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


def first_needs(cells: KeyCells, alpha: float, *, share: float) -> tuple[IntArray, FloatArray]:
    """Combinations that are nearly rare, and the records of each that can be counted on."""
    near = (cells.totals * alpha >= 1) & (cells.totals * alpha < NEARLY)
    frequent = cells.by_combination(np.where(cells.numbers * alpha >= 1, cells.numbers, 0.0))
    return np.flatnonzero(near), cells.totals - share * frequent


def cover(
    cells: KeyCells,
    alpha: float,
    *,
    also: IntArray,
    sure: FloatArray,
    staying: BoolArray | None = None,
    empty_targets: bool,
    keep: float,
    within: float = WITHIN,
) -> Covering | None:
    """Targets and chances of leaving of least cost for the rare combinations.

    The combinations ``also`` have needs too. ``sure`` is the number of records of each combination
    that can be counted on (frequent cells that are sources lose a small share); ``staying`` cells
    do not leave; with ``empty_targets`` only cells that no record leaves are targets, since what
    arrives in a cell that is left again costs more than the program knows. ``None`` if the program
    has no solution.
    """
    from scipy import sparse

    rare_combination = (cells.totals > 0) & (cells.totals * alpha < 1)
    combinations = np.union1d(np.flatnonzero(rare_combination), also)
    number = np.full(len(cells.totals), -1, dtype=np.int64)
    number[combinations] = np.arange(len(combinations))
    rare = cells.rare(alpha)
    movers = rare[rare_combination[cells.combination[rare]].any(axis=1) & ~cells.fixed[rare]]
    if staying is not None:
        movers = movers[~staying[movers]]
    barred = cells.fixed.copy()
    if empty_targets:
        barred[movers] = True
    targets = _targets(cells, number, barred)
    if len(targets) == 0:
        return None
    if keep >= 0.999:
        movers = movers[:0]

    def incidence(which: IntArray) -> Any:
        """Rows are combinations, columns these cells; alpha where a cell has a combination."""
        rows = number[cells.combination[which]]
        cell, choice = np.nonzero(rows >= 0)
        entries = (np.full(len(cell), alpha), (rows[cell, choice], cell))
        return sparse.csr_array(entries, shape=(len(combinations), len(which)))

    row, mover = _needs(cells, number, rare, movers)
    weight = cells.numbers[movers]
    saddle = Saddle(
        covers=incidence(targets),
        leaves=(incidence(movers) @ sparse.diags_array(weight)).tocsr(),
        row=row,
        mover=mover,
        asked=1 - alpha * sure[combinations][row],
        weight=weight,
        most=1 - keep,
    )
    answer = saddle.solve(within=within)
    if answer is None:
        return None
    used, left = answer.inflow > 1e-9, answer.leaving > 1e-9
    return Covering(
        targets[used],
        answer.inflow[used],
        movers[left],
        answer.leaving[left],
        answer.least,
        combinations,
        alpha * answer.worth,
        answer.limit,
    )


def _targets(cells: KeyCells, number: IntArray, barred: BoolArray) -> IntArray:
    """One cell for each set of covered combinations; one that occurs rather than an empty one."""
    numbers = number[cells.combination]
    useful = np.flatnonzero((numbers >= 0).any(axis=1) & ~barred)
    order = useful[np.argsort(-cells.numbers[useful], kind="stable")]
    _, first = np.unique(numbers[order], axis=0, return_index=True)
    return order[np.sort(first)]


def _needs(
    cells: KeyCells, number: IntArray, rare: IntArray, movers: IntArray
) -> tuple[IntArray, IntArray]:
    """The combination and the mover of each need; cells that stay share one need, mover -1."""
    numbers = number[cells.combination[rare]]
    cell, choice = np.nonzero(numbers >= 0)
    k = numbers[cell, choice]
    place = np.full(cells.size, -1, dtype=np.int64)
    place[movers] = np.arange(len(movers))
    mover = place[rare[cell]]
    stays = np.flatnonzero(mover < 0)
    _, first = np.unique(k[stays], return_index=True)
    kept = np.concatenate([np.flatnonzero(mover >= 0), stays[first]])
    return k[kept], mover[kept]


def curved(e: FloatArray) -> FloatArray:
    """The cost of leaving, 1 / (1 - e) - (1 - e), for a record that has many targets."""
    return 1 / (1 - e) - (1 - e)


@dataclass(frozen=True)
class CoveringSolution:
    """An answer that meets every need, its cost, a bound below it, and the prices of the bound."""

    inflow: FloatArray
    leaving: FloatArray
    cost: float
    least: float
    worth: FloatArray
    limit: float


@dataclass(frozen=True)
class Saddle:
    """The program as a saddle point.

    ``covers`` has the change of each combination by a record that enters a target, and
    ``leaves`` the change by all records that leave a mover; both are multiplied by alpha. Need j
    belongs to combination ``row[j]`` and to mover ``mover[j]``, or to cells that stay (-1);
    ``asked`` is what it lacks.
    """

    covers: Any
    leaves: Any
    row: IntArray
    mover: IntArray
    asked: FloatArray
    weight: FloatArray
    most: float

    @cached_property
    def _transposed(self) -> tuple[Any, Any]:
        return self.covers.T.tocsr(), self.leaves.T.tocsr()

    @cached_property
    def _of_movers(self) -> tuple[IntArray, IntArray]:
        """Which needs are of movers, and of which."""
        needs = np.flatnonzero(self.mover >= 0)
        return needs, self.mover[needs]

    @cached_property
    def _covered(self) -> BoolArray:
        """The combinations that some target covers."""
        return np.asarray(np.diff(self.covers.indptr) > 0)

    @cached_property
    def steps(self) -> State:
        """A step for every variable: one over the sum of its row or column [Pock11]."""
        needs = np.bincount(self.row, minlength=self.covers.shape[0]).astype(np.float64)
        arrive, leave = (transposed @ needs for transposed in self._transposed)
        needs_of_mover = np.bincount(self._of_movers[1], minlength=len(self.weight))
        total = np.asarray(self.covers.sum(axis=1) + self.leaves.sum(axis=1)).ravel()
        prices = 1 / np.maximum(total[self.row] + (self.mover >= 0), 1e-9)
        supplied = np.full(1, 1 / (2 * (self.weight.sum() + self.covers.shape[1])))
        return 1 / (arrive + 2), 1 / (leave + needs_of_mover + 2 * self.weight), prices, supplied

    @cached_property
    def floor(self) -> FloatArray | None:
        """The least chance of leaving of each mover in every answer; ``None`` without an answer."""
        return self._least_leaving(np.zeros(len(self.weight)))

    def solve(self, *, within: float) -> CoveringSolution | None:
        """An answer within this share of the bound, or the last; ``None`` without a solution."""
        if self.floor is None:
            return None
        best: CoveringSolution | None = None
        for turn, state in enumerate(self._states(self.floor)):
            if turn % LOOK == 0:
                best = self._better(best, state)
                if best is not None and best.cost <= best.least * (1 + within):
                    break
            if turn == MOST:
                break
        return best

    def have(self, inflow: FloatArray, leaving: FloatArray) -> FloatArray:
        """What each need has of what it asks."""
        received: FloatArray = (self.covers @ inflow - self.leaves @ leaving)[self.row]
        needs, mover = self._of_movers
        received[needs] += leaving[mover]
        return received

    def cost(self, inflow: FloatArray, leaving: FloatArray) -> float:
        """The cost of an answer, with the curved cost of leaving."""
        supplied = min(float((self.weight * leaving).sum()), float(inflow.sum()))
        return float(2 * inflow.sum() + (self.weight * curved(leaving)).sum() - 2 * supplied)

    def _paid(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What prices pay for one record in each target, and for leaving each mover."""
        needs, mover = self._of_movers
        rows = np.bincount(self.row, prices, self.covers.shape[0])
        arrive, leave = (transposed @ rows for transposed in self._transposed)
        return arrive, np.bincount(mover, prices[needs], len(self.weight)) - leave

    def _better(self, best: CoveringSolution | None, state: State) -> CoveringSolution | None:
        """The best answer and the best bound that are known by now."""
        inflow, leaving, prices, share = state
        repaired = self._repaired(inflow, leaving)
        if repaired is None:
            return best
        cost = self.cost(*repaired)
        if best is not None and best.cost < cost:
            repaired, cost = (best.inflow, best.leaving), best.cost
        limit = 2 * float(share[0])
        arrive, leave = self._paid(prices)
        # Prices are scaled until no target pays: no answer costs less than this then
        scale = min(1.0, limit / max(float(arrive.max(initial=0.0)), 1e-300))
        gain = limit * self.weight + scale * leave
        wish = 1 - np.maximum(np.maximum(gain / self.weight - 1, 1.0) ** -0.5, 1 - self.most)
        wish = np.maximum(wish, 0.0 if self.floor is None else self.floor)
        kept = (self.weight * curved(wish) - gain * wish).sum()
        least = float(scale * (prices * self.asked).sum() + kept)
        worth = np.float64(scale) * np.bincount(self.row, prices, self.covers.shape[0])
        if best is not None and best.least > least:
            least, worth, limit = best.least, best.worth, best.limit
        return CoveringSolution(*repaired, cost, least, worth, limit)

    def _least_leaving(self, leaving: FloatArray) -> FloatArray | None:
        """At least these chances, and what combinations ask that no target covers.

        A record that leaves asks more of the others there: the least answer is climbed to from
        below.
        """
        needs = np.flatnonzero(~self._covered[self.row])
        if not len(needs):
            return leaving
        leaving, row, mover = leaving.copy(), self.row[needs], self.mover[needs]
        moves = mover >= 0
        for _ in range(MOST):
            lacks = self.asked[needs] + (self.leaves @ leaving)[row] + 1e-9
            if (lacks[~moves] > 1e-6).any() or (lacks[moves] > self.most).any():
                return None
            before = leaving.copy()
            np.maximum.at(leaving, mover[moves], lacks[moves])
            if np.abs(leaving - before).max(initial=0.0) < 1e-10:
                break
        return leaving

    def _repaired(
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
            rows = np.flatnonzero((short > 1e-8) & self._covered)
            if not len(rows):
                break
            # For each combination that lacks records, the target that does the most
            gain = self._transposed[0] @ np.maximum(short, 0.0)
            part = self.covers[rows]
            place = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
            order = np.lexsort((gain[part.indices], place))
            target = part.indices[order[np.cumsum(np.diff(part.indptr)) - 1]]
            added = np.full(self.covers.shape[1], np.inf)
            np.minimum.at(added, target, short[rows] / self.covers.data[0])
            inflow = inflow + np.where(np.isinf(added), 0.0, np.maximum(added, SMALL))
        return inflow, raised

    def _states(self, floor: FloatArray) -> Iterator[State]:
        """The steps of the primal-dual method, restarted when they have come closer or circle."""
        targets = self.covers.shape[1]
        state: State = np.zeros(targets), np.zeros(len(floor)), np.zeros(len(self.row)), np.ones(1)
        start, weight = state, 1.0
        turn, first, last = 0, np.inf, np.inf
        yield state
        for turns in range(1, MOST + 2):
            reached = self._next(state, weight, floor)
            primal, dual = self._distances(reached, state)
            moved = float(np.hypot(primal * np.sqrt(weight), dual / np.sqrt(weight)))
            first = moved if turn == 0 else first
            nearer = moved <= 0.2 * first or (moved <= 0.8 * first and moved > last)
            if turn > 5 and (nearer or turn > 0.36 * turns + 20):
                # Restart here, with steps as long as both sides went
                primal, dual = self._distances(reached, start)
                if primal > 1e-12 and dual > 1e-12:
                    weight = float(np.sqrt(weight * dual / primal))
                state = start = reached
                turn, first, last = 0, np.inf, np.inf
            else:
                last, turn = moved, turn + 1
                drawn = turn / (turn + 1)
                x, e, y, s = (
                    drawn * (2 * new - old) + (1 - drawn) * origin
                    for new, old, origin in zip(reached, state, start, strict=True)
                )
                state = x, e, y, s
            yield reached

    def _next(self, state: State, weight: float, floor: FloatArray) -> State:
        inflow, leaving, prices, share = state
        tau = self.steps
        arrive, leave = self._paid(prices)
        new_inflow = np.maximum(inflow - tau[0] / weight * (2 * share - arrive), 0.0)
        step = tau[1] / weight
        wish = leaving + step * (2 * share * self.weight + leave)
        # The chance near the wish of which the curved cost is least, by Newton's steps
        cost = step * self.weight
        new_leaving = np.clip(wish - 2 * cost, floor, self.most)
        for _ in range(6):
            stay = 1 - new_leaving
            slope = new_leaving - wish + cost * (1 / stay**2 + 1)
            new_leaving = np.clip(new_leaving - slope / (1 + 2 * cost / stay**3), floor, self.most)
        ahead, out = 2 * new_inflow - inflow, 2 * new_leaving - leaving
        lacks = self.asked - self.have(ahead, out)
        spare = ahead.sum() - (self.weight * out).sum()
        new_share = np.clip(share + 2 * tau[3] * weight * spare, 0.0, 1.0)
        return new_inflow, new_leaving, np.maximum(prices + tau[2] * weight * lacks, 0.0), new_share

    def _distances(self, one: State, other: State) -> tuple[float, float]:
        """The distances of what is done and of prices, in the measure of the steps."""
        squares = [
            float(((a - b) ** 2 / step).sum())
            for a, b, step in zip(one, other, self.steps, strict=True)
        ]
        return float(np.sqrt(squares[0] + squares[1])), float(np.sqrt(squares[2] + squares[3]))


WHOLE = 20_000
"""Up to this many joint cells all of them are considered; of more, the relevant ones are listed."""

ROUGHLY = 0.05
"""The relative gap at which the programs that give prices end."""

REACH, SLIGHTLY = 3.0, 1e-3
"""Up to this many times 1/alpha records a combination gets targets; beyond ``NEARLY`` just some."""

ADDED, EACH, SWEEPS = 4_000, 8, 6
"""The most cells added at once, those taken from each start, and the sweeps over the keys."""

MOST_NEEDS = 200_000
"""The most pairs of a rare cell and a rare combination: a design takes minutes then."""


def listed_cells(
    counts: Counts,
    alpha: float,
    *,
    rules: CellRules,
    width: int,
    choices: Sequence[Sequence[str]] = (),
) -> KeyCells:
    """The cells that occur, and empty ones that are good targets.

    Args:
        counts: counts of the keys.
        alpha: the target.
        rules: which cells can exist, and which must stay.
        width: the number of keys that are known together.
        choices: the sets of keys to protect, instead of all sets of that width.
    """
    if prod(counts.sizes) >= 2**53:
        largest = max(range(len(counts.sizes)), key=lambda place: counts.sizes[place])
        raise TooLarge(
            f"The {len(counts.sizes)} keys have {prod(counts.sizes):.0e} joint cells, too many to "
            f"number. Coarsen '{counts.columns[largest]}', which has {counts.sizes[largest]:,} "
            "values, or declare fewer keys.",
            column=counts.columns[largest],
        )
    all_choices = choices_of_keys(counts.columns, width=width, choices=choices)
    occurring = counts.cells.astype(np.int64)
    cells = KeyCells.listed(counts, occurring, choices=all_choices, rules=rules)
    _require_quick(cells, alpha)
    short = np.maximum(NEARLY / alpha - cells.totals, 0.0)
    # Combinations that are frequent now may turn out too rare once records move
    short = np.maximum(short, np.where(cells.totals * alpha < REACH, SLIGHTLY, 0.0))
    left = cells.codes[cells.rare(alpha)]
    cells = _with_targets(cells, short, left, limit=0.0)
    # Prices twice, first as if no rare record left; further rounds change the loss by a percent
    for keep in (1.0, LEAST_KEPT):
        also, sure = first_needs(cells, alpha, share=SMALL_SHARE)
        covering = cover(
            cells, alpha, also=also, sure=sure, empty_targets=True, keep=keep, within=ROUGHLY
        )
        if covering is not None:
            worth = np.zeros(len(cells.totals))
            worth[covering.combinations] = np.maximum(covering.worth, 0.0)
            more = cells.codes[covering.targets]
            cells = _with_targets(cells, worth, left, limit=covering.limit, more=more)
    return cells


def _require_quick(cells: KeyCells, alpha: float) -> None:
    """Refuse designs that take too long: time grows with the rare combinations."""
    rare = (cells.totals > 0) & (cells.totals * alpha < 1)
    needs = rare[cells.combination[cells.rare(alpha)]].sum(axis=0)
    if int(needs.sum()) <= MOST_NEEDS:
        return
    names, by_choice = cells.counts.columns, list(zip(cells.choices, needs.tolist(), strict=True))
    part = {name: sum(number for keys, number in by_choice if name in keys) for name in names}
    worst = max(names, key=part.__getitem__)
    raise TooLarge(
        f"{int(rare.sum()):,} combinations of keys that can be known together are shared by too "
        f"few people, with {int(needs.sum()):,} pairs of a rare cell and such a combination; at "
        f"most {MOST_NEEDS:,} can be designed for. Coarsen '{worst}', which is in most of them "
        f"and has {cells.counts.sizes[names.index(worst)]:,} values, lower --width, raise alpha, "
        "or declare fewer keys.",
        column=worst,
    )


def _with_targets(
    cells: KeyCells,
    worth: FloatArray,
    left: IntArray,
    *,
    limit: float,
    more: IntArray | None = None,
) -> KeyCells:
    """With cells whose combinations are worth more than ``limit``, none of them in ``left``.

    The search starts from a cell of each combination with a price, whose keys are pinned, and from
    the cells in ``more``.
    """
    sizes = cells.counts.sizes
    prices = _Prices(cells, worth)
    priced = np.flatnonzero((worth > 1e-9) & (cells.totals > 0))
    starts, pins = [], []
    for place, places in enumerate(prices.places):
        combination, first = np.unique(cells.combination[:, place], return_index=True)
        start = cells.codes[first[np.isin(combination, priced)]]
        pin = np.zeros(start.shape, dtype=bool)
        pin[:, places] = True
        starts.append(start)
        pins.append(pin)
    if more is not None:
        starts.append(more)
        pins.append(np.zeros(more.shape, dtype=bool))
    start, pin = np.concatenate(starts), np.concatenate(pins)
    if not len(start):
        return cells
    codes, origin = prices.neighbours(prices.climbed(start, pin), pin)
    flat = cell_numbers(list(codes.T), sizes)
    barred = np.concatenate([cells.codes, left])
    free = cells.rules.free(codes.T) & ~np.isin(flat, cell_numbers(list(barred.T), sizes))
    codes, origin, flat = codes[free], origin[free], flat[free]
    value = prices.value(codes)
    order = np.lexsort((-value, origin))
    codes, origin, value, flat = codes[order], origin[order], value[order], flat[order]
    rank = np.arange(len(origin)) - np.searchsorted(origin, origin)
    pays = np.flatnonzero((rank < EACH) & (value > limit + 1e-6))
    once = pays[np.unique(flat[pays], return_index=True)[1]]
    new = once[np.argsort(-value[once], kind="stable")[:ADDED]]
    every = np.concatenate([cells.codes, codes[new]])
    every = every[np.argsort(cell_numbers(list(every.T), sizes))]
    return KeyCells.listed(cells.counts, every, choices=cells.choices, rules=cells.rules)


class _Prices:
    """The worth of every combination of every choice, found by the codes of a cell."""

    def __init__(self, cells: KeyCells, worth: FloatArray) -> None:
        self.rules, self.sizes = cells.rules, cells.counts.sizes
        self.places: list[list[int]] = []
        self._strides: list[IntArray] = []
        self._tables: list[tuple[IntArray, FloatArray]] = []
        for choice, keys in enumerate(cells.choices):
            places = [cells.counts.columns.index(name) for name in keys]
            sizes = [self.sizes[place] for place in places]
            self.places.append(places)
            self._strides.append(np.array([prod(sizes[at + 1 :]) for at in range(len(sizes))]))
            combination, first = np.unique(cells.combination[:, choice], return_index=True)
            priced = worth[combination] > 1e-9
            where = self._flat(choice, cells.codes[first[priced]])
            self._tables.append((where, worth[combination[priced]]))

    def _flat(self, choice: int, codes: IntArray) -> IntArray:
        return codes[:, self.places[choice]] @ self._strides[choice]

    def _price(self, choice: int, flat: IntArray) -> FloatArray:
        where, price = self._tables[choice]
        if not len(where):
            return np.zeros(flat.shape)
        at = np.minimum(np.searchsorted(where, flat), len(where) - 1)
        return np.where(where[at] == flat, price[at], 0.0)

    def value(self, codes: IntArray) -> FloatArray:
        """The worth of all combinations of each cell together."""
        total = np.zeros(len(codes))
        for choice in range(len(self.places)):
            total += self._price(choice, self._flat(choice, codes))
        return total

    def climbed(self, codes: IntArray, pins: BoolArray) -> IntArray:
        """Cells with one key at a time changed to its best value; pinned keys stay."""
        codes = codes.copy()
        for _ in range(SWEEPS):
            before = codes.copy()
            for key in range(codes.shape[1]):
                loose = np.flatnonzero(~pins[:, key])
                score = self._scores(codes[loose], key)
                now = score[np.arange(len(loose)), codes[loose, key]]
                pays = score.max(axis=1, initial=-1.0) > now + 1e-12
                codes[loose[pays], key] = score[pays].argmax(axis=1)
            if (codes == before).all():
                break
        return codes

    def neighbours(self, codes: IntArray, pins: BoolArray) -> tuple[IntArray, IntArray]:
        """The cells, those with one key changed to the best other value, and their origins."""
        cells, every = [codes], np.arange(len(codes))
        for key in range(codes.shape[1]):
            score = self._scores(codes, key)
            score[every, codes[:, key]] = -2.0
            other = codes.copy()
            other[:, key] = np.where(pins[:, key], codes[:, key], score.argmax(axis=1))
            cells.append(other)
        return np.concatenate(cells), np.tile(every, len(cells))

    def _scores(self, codes: IntArray, key: int) -> FloatArray:
        """What each value of a key would be worth to each cell, its other keys given."""
        size = self.sizes[key]
        score = np.zeros((len(codes), size))
        for choice, places in enumerate(self.places):
            if key in places:
                stride = self._strides[choice][places.index(key)]
                rest = self._flat(choice, codes) - codes[:, key] * stride
                score += self._price(choice, rest[:, None] + stride * np.arange(size))
        score[~self._free(codes, key)] = -1.0
        return score

    def _free(self, codes: IntArray, key: int) -> BoolArray:
        """Which values of a key each cell may have, its other keys given."""
        free = np.ones((len(codes), self.sizes[key]), dtype=bool)
        if self.rules.fixed:
            free &= ~self.rules.fixed[key]
        for rule in self.rules.impossible:
            marked = dict(rule)
            if key in marked:
                broken = np.ones(len(codes), dtype=bool)
                for place, values in marked.items():
                    if place != key:
                        broken &= values[codes[:, place]]
                free &= ~(broken[:, None] & marked[key][None, :])
        return free
