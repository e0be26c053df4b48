"""Were the released values drawn as the matrices say? E-values against other ways of making them.

For original records x_i with row P(x_i, .) of the matrices, an alternative releases cell y q(y)
times on average instead of m(y) = sum_i P(x_i, y) times. At a share s of the records the stake is
multiplied, for each released record, by r(y) = 1 + s (q(y) / m(y) - 1), and divided, for each
original record, by sum_y P(x_i, y) r(y): what a valid release wins on average, since records are
drawn one by one. The alternatives: values were left unchanged (of all steps, of one, of all but
one), and values were drawn without looking at the original ones. Cells are those of all steps at
once, together with the columns that are released unchanged. Where these are too many, steps are
tested in parts, and all of them at once over the cells that occur. Docs: docs/power.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import percent
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import OutsideDomain
from pramana.mechanisms.mechanism import (
    NOT_REPORTED,
    AttributeSampler,
    Mechanism,
    Step,
    released_codes,
    reported_sets,
)
from pramana.mechanisms.sparse_rows import DENSE_LIMIT, SparseRows
from pramana.mechanisms.transition import TransitionMatrix
from pramana.release.certificate import Certificate
from pramana.schema.codec import comparable, encode
from pramana.schema.domains import label_key
from pramana.schema.joint_cells import JointCells, cell_numbers, joint_groups
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import BoolArray, FloatArray, IntArray
from pramana.verification.checks import SHARES, Check, average, detectable_share, needed

Stratum: TypeAlias = Mapping[str, str | None]
"""The columns that make a stratum, each with the text of its value."""

LARGEST = 50_000_000
"""Joint domains up to here are laid out to find the cell of a record."""


@dataclass(frozen=True)
class Pair:
    """One code per record, of the original records in their order and of the released in theirs."""

    before: IntArray
    after: IntArray
    size: int

    @property
    def as_often(self) -> bool:
        """Whether each code has as many released records as true ones."""
        original, released = self.numbers
        return bool((original == released).all())

    @property
    def numbers(self) -> tuple[FloatArray, FloatArray]:
        """How many original and how many released records have each code."""
        before, after = (
            np.bincount(codes, minlength=self.size).astype(np.float64)
            for codes in (self.before, self.after)
        )
        return before, after

    def in_groups(self, most: int) -> Pair:
        """The same in at most this many groups of neighbouring codes with about as many records."""
        if self.size <= most:
            return self
        shares = np.cumsum(np.bincount(self.before, minlength=self.size)) / max(len(self.before), 1)
        group = np.minimum((shares * most).astype(np.int64), most - 1)
        return Pair(group[self.before], group[self.after], most)


@dataclass(frozen=True)
class PairedRecords:
    """A release and its original data."""

    certificate: Certificate
    released: OpenedTable
    original: OpenedTable
    _values: dict[str, Pair] = field(default_factory=dict, init=False)
    _cells: dict[tuple[str, ...], Pair | None] = field(default_factory=dict, init=False)

    @cached_property
    def kept(self) -> dict[str, Pair]:
        """The columns that are released unchanged, or in their bins; without noise."""
        return {
            column.name: self._coded(column) if column.binned else self.values(column.name)
            for column in self.certificate.as_they_are
            if not column.noisy
        }

    @cached_property
    def randomised(self) -> dict[str, Pair]:
        """The randomised columns by their labels; those without a domain by their values."""
        return {
            column.name: self._coded(column) if column.domain is not None
            else self.values(column.name)
            for column in self.certificate.schema.randomised
        }  # fmt: skip

    @cached_property
    def kept_together(self) -> Pair | None:
        """All columns that are released unchanged, as one."""
        return joined(self.kept.values())

    @cached_property
    def asked(self) -> IntArray:
        """Which set each released record was asked for, where records are reports."""
        assert isinstance(self.certificate.mechanism, AttributeSampler)  # noqa: S101 - the caller knows
        return reported_sets(self.certificate.mechanism, self.released)

    def strata(self, mechanism: Mechanism) -> Iterator[tuple[Stratum, BoolArray, BoolArray]]:
        """Each stratum, and which true and which released records lie in it."""
        names = mechanism.strata
        whole = joined(self.values(name) for name in names)
        if whole is None:
            every = np.ones(self.original.rows, dtype=bool)
            yield {}, every, every
            return
        columns = {name: self.original.to_arrow([name]).column(0) for name in names}
        for code, first in zip(*np.unique(whole.before, return_index=True), strict=True):
            stratum = {n: label_key(column[int(first)].as_py()) for n, column in columns.items()}
            yield stratum, whole.before == code, whole.after == code

    def cells(self, step: Step, rows: IntArray | None = None) -> Pair | None:
        """The cells of a step, of all released records or some; none where they are too many."""
        if rows is not None:
            return self._cells_of(step, rows)
        if step.columns not in self._cells:
            self._cells[step.columns] = self._cells_of(step, slice(None))
        return self._cells[step.columns]

    def _cells_of(self, step: Step, some: IntArray | slice) -> Pair | None:
        columns = [self.certificate.schema.column(name) for name in step.columns]
        rounded = any(column.gridded for column in columns)  # which point a number became is lost
        if rounded or math.prod(len(column.labels) for column in columns) > LARGEST:
            return None
        cells = JointCells(tuple(column.labels for column in columns), step.cells)
        pairs = [self.randomised[name] for name in step.columns]
        before = cells.codes([pair.before for pair in pairs])
        after = cells.codes([pair.after[some] for pair in pairs])
        wrong = (before < 0).any() or (after < 0).any()
        return None if wrong else Pair(before, after, len(cells.cells))

    def _coded(self, column: Column) -> Pair:
        before = encode(column, self.original.to_arrow([column.name]).column(0))
        after = released_codes(self.certificate.mechanism, column, self.released)
        silent = after == NOT_REPORTED  # not asked is a value of its own, which no true record has
        size = len(column.labels)
        after = np.where(silent, size, after)
        return Pair(before.astype(np.int64), after, size + bool(silent.any()))

    def values(self, name: str) -> Pair:
        """Codes by the values that occur, in their order."""
        if name in self._values:
            return self._values[name]
        whole = both_tables(self.original, self.released, name).combine_chunks()
        coded = whole.dictionary_encode(null_encoding="encode")
        order = np.argsort(np.asarray(pc.rank(coded.dictionary)), kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        codes = ranks[np.asarray(coded.indices)]
        pair = Pair(codes[: self.original.rows], codes[self.original.rows :], len(order))
        return self._values.setdefault(name, pair)


def both_tables(original: OpenedTable, released: OpenedTable, name: str) -> pa.ChunkedArray:
    """A column of both tables, one below the other; as texts where their types differ."""
    both = [comparable(table.to_arrow([name]).column(0)) for table in (original, released)]
    if both[0].type != both[1].type:
        both = [column.cast(pa.string()) for column in both]
    return pa.chunked_array([*both[0].chunks, *both[1].chunks], both[0].type)


def joined(pairs: Iterable[Pair]) -> Pair | None:
    """Several pairs as one: the combinations that occur, numbered anew."""
    several = list(pairs)
    if len(several) < 2:
        return next(iter(several), None)
    places = joint_groups([np.concatenate([pair.before, pair.after]) for pair in several])
    records = len(several[0].before)
    return Pair(places[:records], places[records:], int(places.max(initial=-1)) + 1)


IMPOSSIBLE = noop("the matrices cannot produce this release")
KEPT = noop("{columns} left unchanged")
BLIND = noop("{columns} randomised independently of the original")

MOST_CELLS = 60_000
"""The most cells of all steps and groups of unchanged columns that are laid out."""

MOST_OF_A_SET = 2_000
"""The most cells of one step, or of one attribute set, whose matrix is laid out."""

MOST_GROUPS = 5_000
"""The most groups of unchanged columns, where only cells that occur are tested."""

MOST_PAIRS = 20_000_000
"""The most pairs of cells that occur which are tested, where all cells are too many."""


@dataclass(frozen=True)
class Passage:
    """A channel that a share of the records passes, one axis per step, after an axis of groups.

    ``before`` are the cells of all original records, ``after`` those of the records released by it.
    """

    names: tuple[str, ...]
    share: float
    matrices: tuple[FloatArray, ...]
    shape: tuple[int, ...]
    before: IntArray
    after: IntArray

    @cached_property
    def original(self) -> FloatArray:
        """The number of original records in each cell."""
        return self._counts(self.before)

    @cached_property
    def released(self) -> FloatArray:
        """The number of released records in each cell."""
        return self._counts(self.after)

    @cached_property
    def mean(self) -> FloatArray:
        """The expected number in a valid release."""
        return self.moved(self.names)

    def _counts(self, cells: IntArray) -> FloatArray:
        counts = np.bincount(cells, minlength=math.prod(self.shape))
        return counts.astype(np.float64).reshape(self.shape)

    def moved(self, names: Sequence[str]) -> FloatArray:
        """The mean if the steps of these names are drawn and all others left unchanged."""
        table = self.original * self.share
        for axis, (name, matrix) in enumerate(zip(self.names, self.matrices, strict=True), start=1):
            if name in names:
                table = _along(table, matrix.T, axis)
        return table

    def blind(self, names: Sequence[str]) -> FloatArray:
        """The mean if these steps are randomised independently of the original, margins kept."""
        table = self.mean
        axes = tuple(axis for axis, name in enumerate(self.names, start=1) if name in names)
        if not axes or not table.sum():
            return table
        others = tuple(axis for axis in range(table.ndim) if axis not in axes)
        inside, outside = table.sum(axis=others, keepdims=True), table.sum(axis=axes, keepdims=True)
        return np.asarray(inside * outside / table.sum(), dtype=np.float64)

    def expected(self, odds: FloatArray, cells: IntArray) -> FloatArray:
        """The mean of the odds over the rows of these cells."""
        for axis, matrix in enumerate(self.matrices, start=1):
            odds = _along(odds, matrix, axis)
        return np.asarray(odds.ravel()[cells] * self.share, dtype=np.float64)


def _along(table: FloatArray, matrix: FloatArray, axis: int) -> FloatArray:
    """The matrix applied to one axis."""
    rows = np.moveaxis(table, axis, -1)
    moved = np.asarray(rows.reshape(-1, rows.shape[-1]) @ matrix.T).reshape(rows.shape)
    return np.asarray(np.moveaxis(moved, -1, axis), dtype=np.float64)


@dataclass(frozen=True)
class Doubt:
    """Another way to make a release: these steps left unchanged, or drawn blindly."""

    words: str
    names: tuple[str, ...]
    blind: bool = False

    def mean(self, part: Passage) -> FloatArray:
        """The expected number of records in each cell."""
        if self.blind:
            return part.blind(self.names)
        return part.moved([name for name in part.names if name not in self.names])


def draws(mechanism: Mechanism, records: PairedRecords, *, level: float) -> Iterator[Check]:
    """One check for each way in which a release can be made otherwise."""
    views = list(_views(mechanism, records))
    doubts = [(view, doubt) for view in views for doubt in _doubts(view)]
    in_parts = len(views) > 1
    level = level / max(len(doubts) + in_parts, 1)
    distinct = {id(block): _distinct(block) for view in views for block in view}
    for view, doubt in doubts:
        stakes = [_stake(block, doubt, distinct[id(block)]) for block in view]
        yield _check(doubt.words, stakes, level)
    if in_parts:
        steps = [step for step in mechanism.steps if records.cells(step) is not None]
        stakes = [_occurring(steps, *block, records) for block in records.strata(mechanism)]
        yield _check(gettext("whole records left unchanged"), stakes, level)
    if isinstance(mechanism, AttributeSampler):
        tested = {name for view in views for block in view for part in block for name in part.names}
        left = [one.name for one in mechanism.sets if one.name not in tested]
        if left:
            few = ", ".join(left)
            if len(left) > 4:
                few = gettext(
                    "{first} to {last}, {number} sets",
                    first=left[0], last=left[-1], number=len(left),
                )  # fmt: skip
            detail = "asserted by the owner: more than {most:,} cells, or rounded by chance"
            yield replace(
                Check.asserted("randomisation: {doubt}", detail, doubt=few, most=MOST_OF_A_SET),
                decides=gettext("randomisation"),
            )


def _check(doubt: str, stakes: Sequence[Stake], level: float) -> Check:
    """The check of one alternative, by what a bet on it has won."""
    return replace(_decided(doubt, stakes, level), decides=gettext("randomisation"))


def _decided(doubt: str, stakes: Sequence[Stake], level: float) -> Check:
    name = "randomisation: {doubt}"
    if any(stake.ruled_out for stake in stakes):
        return Check.decided(name, False, IMPOSSIBLE, doubt=doubt)
    gain = _gain(stakes)
    if gain >= needed(level, 1):
        detail = "the records show it: that makes the release exp({gain:.0f}) times likelier"
        return Check.decided(name, False, detail, doubt=doubt, gain=gain)
    hoped = (np.sum([stake.hoped(share) for stake in stakes], axis=0) for share in SHARES)
    gains = ((mean, math.sqrt(square)) for mean, square in hoped)
    least = detectable_share(SHARES, gains, level=level)
    if least is None:
        detail = "asserted by the owner: such a release cannot be distinguished from a valid one"
        return Check.asserted(name, detail, doubt=doubt)
    return Check.decided(
        name,
        True,
        "no evidence; the test finds it if at least {share} of the records are affected",
        doubt=doubt,
        share=numeral(percent(least, 6)),
    )


def _gain(stakes: Sequence[Stake]) -> float:
    """The logarithm of what a bet has become that is divided among all shares."""
    return average([sum(stake.gain(share) for stake in stakes) for share in SHARES])


# -- what is tested together -----------------------------------------------------------------------


def _views(mechanism: Mechanism, records: PairedRecords) -> Iterator[list[tuple[Passage, ...]]]:
    """Steps that are tested together, each as one block a stratum; all of them if they fit."""
    if isinstance(mechanism, AttributeSampler):
        parts = tuple(_reports(mechanism, records))
        yield from [[parts]] if parts else []
        return
    steps = [step for step in mechanism.steps if records.cells(step) is not None]
    groups: list[list[Step]] = [steps] if steps else []
    if math.prod(len(step.labels) for step in steps) > MOST_CELLS:
        groups = []  # as few parts as leave room for unchanged columns
        for step in sorted(steps, key=lambda step: len(step.labels)):
            cells = math.prod(len(step.labels) for step in groups[-1]) if groups else MOST_CELLS
            if cells * len(step.labels) <= MOST_CELLS // 10:
                groups[-1].append(step)
            elif len(step.labels) <= MOST_OF_A_SET:
                groups.append([step])
    for group in groups:
        yield [_block(group, *block, records) for block in records.strata(mechanism)]


def _block(
    steps: Sequence[Step],
    stratum: Stratum,
    before: BoolArray,
    after: BoolArray,
    records: PairedRecords,
) -> tuple[Passage, ...]:
    """The records of one stratum, and the matrices that they pass."""
    pairs = [pair for step in steps if (pair := records.cells(step)) is not None]
    # Of very many values only the probabilities that are not zero, which multiply alike.
    matrices = tuple(
        matrix.sparse
        if isinstance(matrix, SparseRows) and matrix.size > DENSE_LIMIT
        else matrix.values
        for matrix in (_matrix(step, stratum) for step in steps)
    )
    sizes = [matrix.shape[0] for matrix in matrices]
    groups = _unchanged(records, math.prod(sizes))
    shape = (groups.size, *sizes)
    true = cell_numbers([pair.before[before] for pair in (groups, *pairs)], shape)
    shown = cell_numbers([pair.after[after] for pair in (groups, *pairs)], shape)
    names = tuple(" x ".join(step.columns) for step in steps)
    return (Passage(names, 1.0, matrices, shape, true, shown),)


def _matrix(step: Step, stratum: Stratum) -> TransitionMatrix:
    """The matrix of a step in a stratum."""
    if step.matrix is not None:
        return step.matrix
    values = tuple(stratum[name] for name in step.strata)
    for labels, matrix in step.by_stratum.items():
        if tuple(map(label_key, labels)) == values:
            return matrix
    raise OutsideDomain("A stratum of {strata} has no matrix.", strata=", ".join(step.strata))


def _unchanged(records: PairedRecords, cells: int) -> Pair:
    """The columns that are released unchanged, in as many groups as there is room for."""
    unchanged = records.kept_together
    if unchanged is None:
        nothing = np.zeros(records.original.rows, dtype=np.int64)
        return Pair(nothing, nothing, 1)
    return unchanged.in_groups(max(1, MOST_CELLS // max(cells, 1)))


def _reports(mechanism: AttributeSampler, records: PairedRecords) -> Iterator[Passage]:
    """Every set that can be laid out is a part, which its share of the records passes.

    Nothing is bet on the others: odds of one, whatever they report.
    """
    asked = records.asked
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(asked == number)
        cells = records.cells(Step(one.columns, one.matrix), rows)
        if cells is None or cells.size > MOST_OF_A_SET:
            continue
        groups = _unchanged(records, cells.size * len(mechanism.sets))
        shape = (groups.size, cells.size)
        before = cell_numbers([groups.before, cells.before], shape)
        after = cell_numbers([groups.after[rows], cells.after], shape)
        yield Passage((one.name,), one.share, (one.matrix.values,), shape, before, after)


def _doubts(blocks: Sequence[tuple[Passage, ...]]) -> Iterator[Doubt]:
    """All steps, each of them, and all but one, left unchanged; each drawn blindly, and all."""
    names = tuple(dict.fromkeys(name for part in blocks[0] for name in part.names))
    together = ", ".join(names)
    if len(names) > 4:
        together = gettext("{first} to {last}", first=names[0], last=names[-1])
    yield Doubt(gettext(KEPT, columns=together), names)
    yield Doubt(gettext(BLIND, columns=together), names, blind=True)
    for name in names if len(names) > 1 else ():
        yield Doubt(gettext(KEPT, columns=name), (name,))
        yield Doubt(gettext(BLIND, columns=name), (name,), blind=True)
        if len(names) > 2:
            others = tuple(other for other in names if other != name)
            words = gettext("all of these but {column} left unchanged", column=name)
            yield Doubt(words, others)


# -- stakes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stake:
    """What an alternative bets on cells: odds less one, the mean of a valid release, the release.

    ``paid`` are the mean odds over the rows of original records, ``times`` how many records have
    them.
    """

    odds: FloatArray
    mean: FloatArray
    released: FloatArray
    paid: FloatArray
    times: FloatArray

    @property
    def ruled_out(self) -> bool:
        """Whether something was released that no valid release can hold."""
        return bool((self.released[self.mean <= 0] > 0).any())

    def owed(self, share: float) -> float:
        """What a valid release wins on average, at this share of the records."""
        return float(self.times @ _log(share * self.paid))

    def gain(self, share: float) -> float:
        """What was won."""
        there = np.flatnonzero(self.released)
        won = self.released[there] @ _log(share * self.odds[there])
        return float(won) - self.owed(share)

    def hoped(self, share: float) -> tuple[float, float]:
        """Mean and variance, from above, of what is won if the alternative is right."""
        likelier = 1 + share * self.odds
        won = np.log(np.maximum(likelier, 1e-300))
        many = self.mean * likelier * won
        return float(many.sum()) - self.owed(share), float(many @ won)


Distinct = tuple[list[IntArray], FloatArray]
"""Original records that differ: their cells in each part of a block, and how many there are."""


def _distinct(block: Sequence[Passage]) -> Distinct:
    """Original records that are alike pay alike: a block has far fewer of them than records."""
    if len(block) == 1:
        cells = np.flatnonzero(block[0].original)
        return [cells], block[0].original.ravel()[cells]
    groups = joint_groups([part.before for part in block])
    times = np.bincount(groups)
    record = np.zeros(len(times), dtype=np.int64)
    record[groups] = np.arange(len(groups))
    return [part.before[record] for part in block], times.astype(np.float64)


def _stake(block: Sequence[Passage], doubt: Doubt, distinct: Distinct | None = None) -> Stake:
    """What an alternative bets on the records of a block."""
    cells, times = distinct or _distinct(block)
    odds, paid = [], np.zeros(len(times))
    for part, places in zip(block, cells, strict=True):
        likelier = np.zeros_like(part.mean)
        np.divide(doubt.mean(part), part.mean, out=likelier, where=part.mean > 0)
        likelier -= part.mean > 0
        paid += part.expected(likelier, places)
        odds.append(likelier.ravel())
    mean, released = (
        np.concatenate([getattr(part, name).ravel() for part in block])
        for name in ("mean", "released")
    )
    return Stake(np.concatenate(odds), mean, released, paid, times)


def _log(odds: FloatArray) -> FloatArray:
    """log(1 + odds), where odds of -1 make a stake nothing."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(np.maximum(odds, -1.0)), dtype=np.float64)


def _occurring(
    steps: Sequence[Step],
    stratum: Stratum,
    before: BoolArray,
    after: BoolArray,
    records: PairedRecords,
) -> Stake:
    """All columns at once: the original cells that are tested, and all others as one, the last."""
    pairs = [pair for step in steps if (pair := records.cells(step)) is not None]
    matrices = [_matrix(step, stratum).values for step in steps]
    unchanged = _unchanged(records, MOST_CELLS // MOST_GROUPS)
    whole = joined([*pairs, unchanged])
    assert whole is not None  # noqa: S101 - there are unchanged columns, if only in one group
    codes, first, times = np.unique(whole.before[before], return_index=True, return_counts=True)
    original = times.astype(np.float64)
    places = [pair.before[before][first] for pair in pairs]
    group = unchanged.before[before][first]
    tested = _tested_cells(original, places, matrices, group)
    order = np.argsort(group, kind="stable")
    table = []
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        columns = tested[group[tested] == group[rows[0]]]
        chance = np.ones((len(rows), len(columns)))
        for place, matrix in zip(places, matrices, strict=True):
            chance *= matrix[:, place[columns]].take(place[rows], axis=0)
        table.append((rows, columns, chance))
    mean = np.zeros(len(codes))
    for rows, columns, chance in table:
        mean[columns] += original[rows] @ chance
    rest = max(float(original.sum() - mean[tested].sum()), 1e-300)
    other = float(original.sum() - original[tested].sum()) / rest - 1
    odds = np.zeros(len(codes))
    odds[tested] = original[tested] / mean[tested] - 1
    paid = np.zeros(len(codes))
    for rows, columns, chance in table:
        paid[rows] = chance @ odds[columns] + (1 - chance.sum(axis=1)) * other
    targets = np.full(whole.size, -1)
    targets[codes[tested]] = np.arange(len(tested))
    many = len(tested) + 1
    released = np.bincount(targets[whole.after[after]] % many, minlength=many).astype(np.float64)
    return Stake(
        np.append(odds[tested], other), np.append(mean[tested], rest), released, paid, original
    )


def _tested_cells(
    original: FloatArray,
    places: Sequence[IntArray],
    matrices: Sequence[FloatArray],
    group: IntArray,
) -> IntArray:
    """The cells to test: all, or those that say most if columns were independent."""
    sizes = np.bincount(group).astype(np.float64)
    if float((sizes**2).sum()) <= MOST_PAIRS:
        return np.arange(len(original))
    guess = np.full(len(original), original.sum())
    for place, matrix in zip(places, matrices, strict=True):
        margin = np.bincount(place, weights=original, minlength=len(matrix)) @ matrix
        guess *= margin[place] / original.sum()
    most = max(1, int(MOST_PAIRS / len(original)))
    return np.sort(np.argsort(-(original**2) / guess, kind="stable")[:most])
