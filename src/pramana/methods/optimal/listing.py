"""The cells that matter: those that occur, and empty ones that are good targets.

A good target lies in many rare combinations at once. As in column generation, the program over the
targets listed so far gives every rare combination a price, and cells are sought whose combinations
are worth more than a move costs, by changing one key at a time from many starts. The search may
miss a cell; the loss is measured (docs/proofs/spontaneous_recognition.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from pramana.errors import TooLarge
from pramana.guarantees.spontaneous_recognition import choices_of_keys
from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.methods.optimal.covering import NEARLY, first_cover
from pramana.schema.joint_cells import CellRules, Counts, cell_numbers
from pramana.types import FloatArray, IntArray

ROUNDS, QUICK_ROUNDS, OFTEN = 4, 8, 6
"""So often cells are added at most; the latter two where few occur."""

ENOUGH = 0.02
"""Cells are added until the program gets no better than by this share; less where few occur."""

REACH, SLIGHTLY = 3.0, 1e-3
"""Up to so many times 1/alpha records a combination gets targets; beyond ``NEARLY`` just some."""

FEW = 2_000
"""With fewer cells that occur the program is quick, and is solved more often."""

SPARED = 0.25
"""Cells stay listed that miss the price by no more; a move costs 2."""

ADDED = 4_000
SWEEPS = 6
EACH = 4
"""So many cells are taken from each start; three times as many where few occur."""

MOST_NEEDS = 200_000
"""Rare cells, once for each rare combination they are in: for so many a design takes minutes."""

LOOKED_UP = 200_000
"""Up to so many combinations of a choice have a place each in a table."""


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
        counts: of the keys.
        alpha: the target.
        rules: which cells can exist, and which must stay.
        width: how many keys a user looks at together.
        choices: instead of all choices of that width, the ones to protect.
    """
    # Refuse keys whose joint cells cannot even be numbered
    if prod(counts.sizes) >= 2**53:
        largest = max(range(len(counts.sizes)), key=lambda place: counts.sizes[place])
        raise TooLarge(
            f"The {len(counts.sizes)} keys have {prod(counts.sizes):.0e} joint cells, too many to "
            f"number. Coarsen '{counts.columns[largest]}', which has {counts.sizes[largest]:,} "
            "values, or declare fewer keys.",
            column=counts.columns[largest],
        )
    asked = choices_of_keys(counts.columns, width=width, choices=choices)
    own = counts.cells.astype(np.int64)
    cells = KeyCells.listed(counts, own, choices=asked, rules=rules)
    _require_quick(cells, alpha)
    short = np.maximum(NEARLY / alpha - cells.totals, 0.0)
    # Combinations that are frequent now may turn out too rare once records move.
    short = np.maximum(short, np.where(cells.totals * alpha < REACH, SLIGHTLY, 0.0))
    short[cells.totals == 0] = 0.0
    left = cells.codes[cells.rare(alpha)]
    cells = _with(cells, short, left)
    # First as if no rare record left: that program is many times quicker, and its cells are good.
    if len(own) > FEW:
        cells = _grown(cells, alpha, left, keep=1.0, rounds=ROUNDS, enough=ENOUGH)
        return _grown(cells, alpha, left, keep=LEAST_KEPT, rounds=ROUNDS, enough=ENOUGH)
    enough = 0.1 * ENOUGH
    cells = _grown(cells, alpha, left, keep=1.0, rounds=QUICK_ROUNDS, enough=enough)
    cells = _grown(cells, alpha, left, keep=LEAST_KEPT, rounds=OFTEN, enough=enough)
    return _grown(
        cells, alpha, left, keep=LEAST_KEPT, rounds=OFTEN, enough=enough, empty_targets=False
    )


def _require_quick(cells: KeyCells, alpha: float) -> None:
    """Refuse what would take longer than anyone waits: time grows with the rare combinations."""
    rare = (cells.totals > 0) & (cells.totals * alpha < 1)
    held = rare[cells.combination[cells.rare(alpha)]].sum(axis=0)
    if int(held.sum()) <= MOST_NEEDS:
        return
    names, by_choice = cells.counts.columns, list(zip(cells.choices, held.tolist(), strict=True))
    part = {name: sum(own for keys, own in by_choice if name in keys) for name in names}
    worst = max(names, key=part.__getitem__)
    raise TooLarge(
        f"{int(rare.sum()):,} combinations of keys that are looked at together are shared by too "
        f"few people, and {int(held.sum()):,} cells of all keys stand in them: a design takes up "
        f"to {MOST_NEEDS:,}. Coarsen '{worst}', which is in most of them and has "
        f"{cells.counts.sizes[names.index(worst)]:,} values, lower --width, raise alpha, or "
        "declare fewer keys.",
        column=worst,
    )


def _grown(
    cells: KeyCells,
    alpha: float,
    left: IntArray,
    *,
    keep: float,
    rounds: int,
    enough: float,
    empty_targets: bool = True,
) -> KeyCells:
    """Cells added by the prices of the program, until it hardly gets better."""
    least = np.inf
    for _ in range(rounds):
        found = first_cover(cells, alpha, empty_targets=empty_targets, keep=keep)
        if found is None or found.least > least * (1 - enough):
            return cells
        least = found.least
        worth = np.zeros(len(cells.totals))
        worth[found.combinations] = np.maximum(found.worth, 0.0)
        also = cells.codes[found.targets]
        grown = _with(cells, worth, left, limit=found.limit, also=also, most=ADDED)
        if grown.size == cells.size:
            return cells
        many = len(cells.counts.numbers) > FEW
        cells = _pruned(grown, cells, worth, found.limit) if many else grown
    return cells


def _pruned(grown: KeyCells, cells: KeyCells, worth: FloatArray, limit: float) -> KeyCells:
    """Without the empty cells that were there already and are far from paying."""
    far = (cells.numbers == 0) & (_Prices.of(cells, worth).value(cells.codes) < limit - SPARED)
    sizes = cells.counts.sizes
    flat = cell_numbers(list(grown.codes.T), sizes)
    keep = ~np.isin(flat, cell_numbers(list(cells.codes[far].T), sizes))
    return KeyCells.listed(
        grown.counts, grown.codes[keep], choices=grown.choices, rules=grown.rules
    )


def _with(
    cells: KeyCells,
    worth: FloatArray,
    left: IntArray,
    *,
    limit: float = 0.0,
    also: IntArray | None = None,
    most: int | None = None,
) -> KeyCells:
    """With cells whose combinations are worth more than ``limit``, none of them ``left``."""
    starts, pins = _starts(cells, worth)
    if also is not None and len(also):
        starts = np.concatenate([starts, also])
        pins = np.concatenate([pins, np.zeros((len(also), pins.shape[1]), dtype=bool)])
    if not len(starts):
        return cells
    prices = _Prices.of(cells, worth)
    around = prices.around(prices.climbed(starts, pins), pins)
    start = np.tile(np.arange(len(starts)), len(around))
    codes = np.concatenate(around)
    flat = cell_numbers(list(codes.T), cells.counts.sizes)
    good = cells.rules.free(codes.T) & ~np.isin(
        flat, cell_numbers(list(left.T), cells.counts.sizes)
    )
    codes, start, flat = codes[good], start[good], flat[good]
    value = prices.value(codes)
    order = np.lexsort((-value, start))
    codes, start, value, flat = codes[order], start[order], value[order], flat[order]
    each = EACH if len(cells.counts.numbers) > FEW else 3 * EACH
    rank = np.arange(len(start)) - np.searchsorted(start, start)
    pays = np.flatnonzero((rank < each) & (value > limit + 1e-6))
    first = pays[np.unique(flat[pays], return_index=True)[1]]
    best = first[np.argsort(-value[first], kind="stable")[:most]]
    return cells.joined(codes[best])


def _starts(cells: KeyCells, worth: FloatArray) -> tuple[IntArray, np.ndarray]:
    """For each combination with a price a cell that has it, and the keys that are to stay."""
    wanted = np.flatnonzero(worth > 1e-9)
    starts, pins = [], []
    for place, keys in enumerate(cells.choices):
        column = cells.combination[:, place]
        first = np.full(len(cells.totals), -1, dtype=np.int64)
        first[column[::-1]] = np.arange(cells.size)[::-1]
        own = first[wanted]
        own = own[own >= 0]
        pin = np.zeros((len(own), cells.codes.shape[1]), dtype=bool)
        pin[:, [cells.counts.columns.index(name) for name in keys]] = True
        starts.append(cells.codes[own])
        pins.append(pin)
    return np.concatenate(starts), np.concatenate(pins)


@dataclass(frozen=True)
class _Prices:
    """What every combination of every choice is worth, found by the codes of a cell."""

    cells: KeyCells
    places: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[IntArray | None, FloatArray], ...]

    @classmethod
    def of(cls, cells: KeyCells, worth: FloatArray) -> _Prices:
        places, strides = [], []
        tables: list[tuple[IntArray | None, FloatArray]] = []
        for choice, keys in enumerate(cells.choices):
            own = tuple(cells.counts.columns.index(name) for name in keys)
            sizes = [cells.counts.sizes[place] for place in own]
            places.append(own)
            strides.append(tuple(prod(sizes[at + 1 :]) for at in range(len(sizes))))
            numbers, flat = cells.flats(choice)
            priced = worth[numbers] > 1e-9
            where, price = flat[priced], worth[numbers][priced]
            if prod(sizes) <= LOOKED_UP:
                table = np.zeros(prod(sizes))
                table[where] = price
                tables.append((None, table))
            else:
                tables.append((where, price))
        return cls(cells, tuple(places), tuple(strides), tuple(tables))

    def _of(self, choice: int, flat: IntArray) -> FloatArray:
        where, price = self.tables[choice]
        if where is None:
            return price[flat]
        if not len(where):
            return np.zeros(flat.shape)
        at = np.minimum(np.searchsorted(where, flat), len(where) - 1)
        return np.where(where[at] == flat, price[at], 0.0)

    def _flat(self, choice: int, codes: IntArray) -> IntArray:
        own = codes[:, self.places[choice]]
        return own @ np.array(self.strides[choice], dtype=np.int64)

    def value(self, codes: IntArray) -> FloatArray:
        """What all combinations of each cell are worth together."""
        total = np.zeros(len(codes))
        for choice in range(len(self.places)):
            total += self._of(choice, self._flat(choice, codes))
        return total

    def climbed(self, codes: IntArray, pins: np.ndarray) -> IntArray:
        """Cells with one key at a time changed to what is worth the most, pinned keys apart."""
        codes = codes.copy()
        every = np.arange(len(codes))
        for _ in range(SWEEPS):
            before = codes.copy()
            for key in range(codes.shape[1]):
                loose = np.flatnonzero(~pins[:, key])
                if len(loose):
                    score = self._scores(codes[loose], key)
                    own = score[every[: len(loose)], codes[loose, key]]
                    pays = score.max(axis=1) > own + 1e-12
                    codes[loose, key] = np.where(pays, score.argmax(axis=1), codes[loose, key])
            if (codes == before).all():
                break
        return codes

    def around(self, codes: IntArray, pins: np.ndarray) -> list[IntArray]:
        """The cells themselves, and those with one key changed to what is worth the most else."""
        found, every = [codes], np.arange(len(codes))
        for key in range(codes.shape[1]):
            score = self._scores(codes, key)
            score[every, codes[:, key]] = -2.0
            other = codes.copy()
            other[:, key] = np.where(pins[:, key], codes[:, key], score.argmax(axis=1))
            found.append(other)
        return found

    def _scores(self, codes: IntArray, key: int) -> FloatArray:
        """What each value of a key would be worth to each cell, its other keys given."""
        size = self.cells.counts.sizes[key]
        score = np.zeros((len(codes), size))
        for choice, places in enumerate(self.places):
            if key in places:
                stride = self.strides[choice][places.index(key)]
                rest = self._flat(choice, codes) - codes[:, key] * stride
                score += self._of(choice, rest[:, None] + stride * np.arange(size))
        score[~self._free(codes, key)] = -1.0
        return score

    def _free(self, codes: IntArray, key: int) -> np.ndarray:
        """Which values of a key each cell may have, its other keys given."""
        rules, size = self.cells.rules, self.cells.counts.sizes[key]
        free = np.ones((len(codes), size), dtype=bool)
        if rules.fixed:
            free &= ~rules.fixed[key]
        for rule in rules.impossible:
            if key in (place for place, _ in rule):
                broken = np.ones(len(codes), dtype=bool)
                for place, marked in rule:
                    if place != key:
                        broken &= marked[codes[:, place]]
                (own,) = (marked for place, marked in rule if place == key)
                free &= ~(broken[:, None] & own[None, :])
        return free
