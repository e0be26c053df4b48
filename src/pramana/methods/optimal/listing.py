"""The relevant cells of a large domain: those that occur, and empty ones that are good targets.

A good target lies in many rare combinations at once. As in column generation, the covering over the
targets listed so far gives every rare combination a price, and cells are sought whose combinations
are worth more than a move costs, by changing one key at a time from many starts. The search may
miss a cell; the loss is measured (docs/proofs/recognition_matrices.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from pramana.errors import TooLarge
from pramana.guarantees.spontaneous_recognition import choices_of_keys
from pramana.methods.optimal.cells import LEAST_KEPT, KeyCells
from pramana.methods.optimal.covering import NEARLY, SMALL_SHARE, cover, first_needs
from pramana.schema.joint_cells import CellRules, Counts, cell_numbers
from pramana.types import BoolArray, FloatArray, IntArray

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
