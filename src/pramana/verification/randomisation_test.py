"""Were the released values drawn as the matrices say? Bets on every other way of making them.

For original records x_i with row P(x_i, .) of the matrices, a doubt says that cell y is released
q(y) times on average instead of m(y) = sum_i P(x_i, y) times. At a share s of the records the
stake is multiplied, for each released record, by r(y) = 1 + s (q(y) / m(y) - 1), and divided, for
each true record, by sum_y P(x_i, y) r(y): what a sound release wins on average, since records are
drawn one by one. Doubts are: values were left as they were (of all steps, of one, of all but one),
and values were drawn without looking at the truth. Cells are those of all steps at once, beside
the columns that are released unchanged; where these are too many, steps are looked at in parts,
and all of them at once over the cells that occur. Docs: docs/power.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from pramana.base.text import percent
from pramana.errors import OutsideDomain
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.mechanisms.sparse_rows import DENSE_LIMIT, SparseRows
from pramana.mechanisms.transition import TransitionMatrix
from pramana.schema.domains import label_key
from pramana.schema.joint_cells import cell_numbers, joint_groups
from pramana.types import BoolArray, FloatArray, IntArray
from pramana.verification.checks import SHARES, Bet, Check, average, found_from, needed
from pramana.verification.paired_records import Pair, PairedRecords, Stratum, joined

IMPOSSIBLE = "the release is one that the matrices cannot make"

MOST_CELLS = 60_000
"""Cells of all steps and groups of kept columns that are laid out."""

MOST_OF_A_SET = 2_000
"""Cells of one step, or of one set of reports, whose matrix is laid out."""

MOST_GROUPS = 5_000
"""Groups of kept columns, where only cells that occur are looked at."""

MOST_PAIRS = 20_000_000
"""Pairs of cells that occur which are looked at, where all cells are too many."""


@dataclass(frozen=True)
class Passage:
    """A channel that a share of the records passes, one axis a step, beside groups of kept columns.

    ``before`` are the cells of all original records, ``after`` those of the records released by it.
    """

    names: tuple[str, ...]
    share: float
    matrices: tuple[FloatArray, ...]
    shape: tuple[int, ...]
    before: IntArray
    after: IntArray

    @cached_property
    def truth(self) -> FloatArray:
        """How many original records each cell has."""
        return self._numbers(self.before)

    @cached_property
    def released(self) -> FloatArray:
        """How many released records each cell has."""
        return self._numbers(self.after)

    @cached_property
    def mean(self) -> FloatArray:
        """How many a sound release has on average."""
        return self.moved(self.names)

    def _numbers(self, cells: IntArray) -> FloatArray:
        found = np.bincount(cells, minlength=math.prod(self.shape)).astype(np.float64)
        return found.reshape(self.shape)

    def moved(self, names: Sequence[str]) -> FloatArray:
        """The mean where the steps of these names are drawn and all others left as they were."""
        table = self.truth * self.share
        for axis, (name, matrix) in enumerate(zip(self.names, self.matrices, strict=True), start=1):
            if name in names:
                table = _along(table, matrix.T, axis)
        return table

    def blind(self, names: Sequence[str]) -> FloatArray:
        """The mean where these steps are drawn without looking at the truth, margins kept."""
        table = self.mean
        axes = tuple(at for at, name in enumerate(self.names, start=1) if name in names)
        if not axes or not table.sum():
            return table
        others = tuple(axis for axis in range(table.ndim) if axis not in axes)
        inside, outside = (table.sum(axis=own, keepdims=True) for own in (others, axes))
        found: FloatArray = inside * outside / table.sum()
        return found

    def expected(self, odds: FloatArray, cells: IntArray) -> FloatArray:
        """The mean of the odds over the rows of these cells."""
        for axis, matrix in enumerate(self.matrices, start=1):
            odds = _along(odds, matrix, axis)
        found: FloatArray = odds.ravel()[cells]
        return found * self.share


def _along(table: FloatArray, matrix: FloatArray, axis: int) -> FloatArray:
    """The matrix applied to one axis."""
    rows = np.moveaxis(table, axis, -1)
    moved = np.asarray(rows.reshape(-1, rows.shape[-1]) @ matrix.T).reshape(rows.shape)
    found: FloatArray = np.moveaxis(moved, -1, axis)
    return found


def _laid_out(matrix: TransitionMatrix) -> FloatArray:
    """The probabilities; of very many values only those that are not zero, which multiply alike."""
    if isinstance(matrix, SparseRows) and matrix.size > DENSE_LIMIT:
        found: FloatArray = matrix.sparse
        return found
    return matrix.values


@dataclass(frozen=True)
class Doubt:
    """Another way to make a release: these steps left as they were, or drawn blindly."""

    words: str
    names: tuple[str, ...]
    blind: bool = False

    def mean(self, part: Passage) -> FloatArray:
        """How many records each cell would have."""
        if self.blind:
            return part.blind(self.names)
        return part.moved([name for name in part.names if name not in self.names])


def draws(mechanism: Mechanism, records: PairedRecords, *, level: float) -> Iterator[Check]:
    """One check for each way in which a release can be made otherwise."""
    views = list(_views(mechanism, records))
    doubts = [
        (people, doubt)
        for blocks in views
        for people in [[(block, _different(block)) for block in blocks]]
        for doubt in _doubts(blocks)
    ]
    whole = len(views) > 1
    number = len(doubts) + whole
    for people, doubt in doubts:
        stakes = [_stake(block, doubt, different) for block, different in people]
        yield _check(_bet(doubt.words, stakes, level / number), level / number)
    if whole:
        yield _check(_standing(mechanism, records, level / number), level / number)
    if isinstance(mechanism, AttributeSampler):
        yield from _not_seen(mechanism, views)


def _not_seen(
    mechanism: AttributeSampler, views: Sequence[Sequence[tuple[Passage, ...]]]
) -> Iterator[Check]:
    """Sets on which nothing was bet are said to be so."""
    seen = {name for blocks in views for parts in blocks for part in parts for name in part.names}
    left = [one.name for one in mechanism.sets if one.name not in seen]
    if left:
        named = ", ".join(left) if len(left) < 5 else f"{left[0]} to {left[-1]}, {len(left)} sets"
        told = f"cannot tell here: more than {MOST_OF_A_SET:,} cells, or rounded by chance"
        yield Check.asserted(f"draws: {named}", told)


def _check(bet: Bet, level: float) -> Check:
    name = f"draws: {bet.doubt}"
    if bet.gain >= needed(level, 1):
        if math.isinf(bet.gain):
            return Check.decided(name, False, IMPOSSIBLE)
        told = f"that makes the release exp({bet.gain:.0f}) times likelier"
        return Check.decided(name, False, f"so it seems: {told}")
    if bet.found_from is None:
        return Check.asserted(name, "cannot tell here: it would look as a sound release does")
    return Check.decided(
        name, True, f"not so; {percent(bet.found_from, 6)} of the records would be found"
    )


# -- what is looked at -----------------------------------------------------------------------------


def _views(mechanism: Mechanism, records: PairedRecords) -> Iterator[list[tuple[Passage, ...]]]:
    """Steps that are looked at together, each as one block a stratum; all of them if they fit."""
    if isinstance(mechanism, AttributeSampler):
        parts = tuple(_reports(mechanism, records))
        yield from [[parts]] if parts else []
        return
    steps = [step for step in mechanism.steps if records.cells(step) is not None]
    if not steps:
        return
    for group in _together(steps):
        yield [_block(group, *block, records) for block in records.strata(mechanism)]


def _together(steps: Sequence[Step]) -> list[list[Step]]:
    """All steps, or as few parts as leave room for kept columns."""
    sizes = [len(step.labels) for step in steps]
    if math.prod(sizes) <= MOST_CELLS:
        return [list(steps)]
    groups: list[list[Step]] = []
    for step in sorted(steps, key=lambda own: len(own.labels)):
        cells = math.prod(len(own.labels) for own in groups[-1]) if groups else MOST_CELLS
        if cells * len(step.labels) <= MOST_CELLS // 10:
            groups[-1].append(step)
        elif len(step.labels) <= MOST_OF_A_SET:
            groups.append([step])
    return groups


def _block(
    steps: Sequence[Step], stratum: Stratum, before: BoolArray, after: BoolArray,
    records: PairedRecords,
) -> tuple[Passage, ...]:  # fmt: skip
    """The records of one stratum, and the matrices that they pass."""
    pairs = [pair for step in steps if (pair := records.cells(step)) is not None]
    matrices = tuple(_laid_out(_matrix(step, stratum)) for step in steps)
    names = tuple(" x ".join(step.columns) for step in steps)
    sizes = [matrix.shape[0] for matrix in matrices]
    kept = _kept(records, math.prod(sizes))
    shape = (kept.size, *sizes)
    own = (kept, *pairs)
    true = cell_numbers([pair.before[before] for pair in own], shape)
    shown = cell_numbers([pair.after[after] for pair in own], shape)
    return (Passage(names, 1.0, matrices, shape, true, shown),)


def _matrix(step: Step, stratum: Stratum) -> TransitionMatrix:
    """The matrix of a step in a stratum."""
    if step.matrix is not None:
        return step.matrix
    own = tuple(stratum[name] for name in step.strata)
    for values, matrix in step.by_stratum.items():
        if tuple(map(label_key, values)) == own:
            return matrix
    raise OutsideDomain(f"A stratum of {', '.join(step.strata)} has no matrix.")


def _kept(records: PairedRecords, cells: int) -> Pair:
    """The columns that are released unchanged, in as many groups as there is room for."""
    kept = records.kept_together
    if kept is None:
        nothing = np.zeros(records.original.rows, dtype=np.int64)
        return Pair(nothing, nothing, 1)
    return kept.in_groups(max(1, MOST_CELLS // max(cells, 1)))


def _reports(mechanism: AttributeSampler, records: PairedRecords) -> Iterator[Passage]:
    """Every set that can be laid out is a part, which its share of the records passes.

    Nothing is bet on the others: odds of one, whatever they report.
    """
    asked = records.asked
    for number, one in enumerate(mechanism.sets):
        step = Step(one.columns, one.matrix)
        rows = np.flatnonzero(asked == number)
        cells = records.cells(step, rows)
        if cells is None or cells.size > MOST_OF_A_SET:
            continue
        kept = _kept(records, cells.size * len(mechanism.sets))
        shape = (kept.size, cells.size)
        before = cell_numbers([kept.before, cells.before], shape)
        after = cell_numbers([kept.after[rows], cells.after], shape)
        yield Passage((one.name,), one.share, (one.matrix.values,), shape, before, after)


def _doubts(blocks: Sequence[tuple[Passage, ...]]) -> Iterator[Doubt]:
    """All steps, each of them, and all but one, left as they were; each drawn blindly, and all."""
    names = tuple(dict.fromkeys(name for part in blocks[0] for name in part.names))
    together = ", ".join(names) if len(names) < 5 else f"{names[0]} to {names[-1]}"
    yield Doubt(f"{together} left as {'it was' if len(names) == 1 else 'they were'}", names)
    yield Doubt(f"{together} drawn without the truth", names, blind=True)
    for name in names if len(names) > 1 else ():
        yield Doubt(f"{name} left as it was", (name,))
        yield Doubt(f"{name} drawn without the truth", (name,), blind=True)
        if len(names) > 2:
            others = tuple(own for own in names if own != name)
            yield Doubt(f"all of these but {name} left as they were", others)


# -- all columns at once, where they have too many cells ------------------------------------------


def _standing(mechanism: Mechanism, records: PairedRecords, level: float) -> Bet:
    """Records left as they were in all columns at once, over the cells that occur in the truth."""
    steps = [step for step in mechanism.steps if records.cells(step) is not None]
    stakes = [_occurring(steps, *block, records) for block in records.strata(mechanism)]
    return _bet("whole records left as they were", stakes, level)


def _occurring(
    steps: Sequence[Step], stratum: Stratum, before: BoolArray, after: BoolArray,
    records: PairedRecords,
) -> Stake:  # fmt: skip
    """Cells of the truth that are aimed at, and all others as one, which stands last."""
    pairs = [pair for step in steps if (pair := records.cells(step)) is not None]
    matrices = [_matrix(step, stratum).values for step in steps]
    kept = _kept(records, MOST_CELLS // MOST_GROUPS)
    whole = joined([*pairs, kept])
    assert whole is not None  # noqa: S101 - there are kept columns, if only in one group
    codes, first, times = np.unique(whole.before[before], return_index=True, return_counts=True)
    truth = times.astype(np.float64)
    places = [pair.before[before][first] for pair in pairs]
    group = kept.before[before][first]
    aims = _aims(truth, places, matrices, group)
    table = [(own, _chances(own, aims[group[aims] == group[own[0]]], places, matrices))
             for own in _by_group(group)]  # fmt: skip
    mean = np.zeros(len(codes))
    for own, (chance, columns) in table:
        mean[columns] += truth[own] @ chance
    rest = max(float(truth.sum() - mean[aims].sum()), 1e-300)
    other = float(truth.sum() - truth[aims].sum()) / rest - 1
    odds = np.zeros(len(codes))
    odds[aims] = truth[aims] / mean[aims] - 1
    paid = np.zeros(len(codes))
    for own, (chance, columns) in table:
        paid[own] = chance @ odds[columns] + (1 - chance.sum(axis=1)) * other
    targets = np.full(whole.size, -1)
    targets[codes[aims]] = np.arange(len(aims))
    found = np.bincount(targets[whole.after[after]] % (len(aims) + 1), minlength=len(aims) + 1)
    return Stake(
        np.append(odds[aims], other), np.append(mean[aims], rest), found.astype(np.float64),
        paid, truth,
    )  # fmt: skip


def _by_group(group: IntArray) -> list[IntArray]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _aims(
    truth: FloatArray, places: Sequence[IntArray], matrices: Sequence[FloatArray], group: IntArray
) -> IntArray:
    """The cells to look at: all, or those that say most if columns were independent."""
    sizes = np.bincount(group).astype(np.float64)
    if float((sizes**2).sum()) <= MOST_PAIRS:
        return np.arange(len(truth))
    guess = np.full(len(truth), truth.sum())
    for at, matrix in zip(places, matrices, strict=True):
        margin = np.bincount(at, weights=truth, minlength=len(matrix)) @ matrix
        guess *= margin[at] / truth.sum()
    most = max(1, int(MOST_PAIRS / len(truth)))
    return np.sort(np.argsort(-(truth**2) / guess, kind="stable")[:most])


def _chances(
    own: IntArray, aims: IntArray, places: Sequence[IntArray], matrices: Sequence[FloatArray]
) -> tuple[FloatArray, IntArray]:
    """The chances of some cells to become those that are aimed at."""
    chance = np.ones((len(own), len(aims)))
    for at, matrix in zip(places, matrices, strict=True):
        chance *= matrix[:, at[aims]].take(at[own], axis=0)
    return chance, aims


# -- a bet -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stake:
    """What a doubt bets on cells: odds less one, the mean of a sound release, what was released.

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
        """Whether something was released that no sound release can hold."""
        return bool((self.released[self.mean <= 0] > 0).any())

    def owed(self, share: float) -> float:
        """What a sound release wins on average, at this share of the records."""
        return float(self.times @ _log(share * self.paid))

    def gain(self, share: float) -> float:
        """What was won."""
        times, odds = self._seen
        return float(times @ _log(share * odds)) - self.owed(share)

    @cached_property
    def _seen(self) -> tuple[FloatArray, FloatArray]:
        """The cells that were released: how often, and the odds of each."""
        seen = np.flatnonzero(self.released)
        return self.released[seen], self.odds[seen]

    def hoped(self, share: float) -> tuple[float, float]:
        """Mean and variance, from above, of what is won if the doubt is right."""
        likelier = 1 + share * self.odds
        won = np.log(np.maximum(likelier, 1e-300))
        many = self.mean * likelier * won
        return float(many.sum()) - self.owed(share), float(many @ won)


def _bet(words: str, stakes: Sequence[Stake], level: float) -> Bet:
    """What a doubt has won, and from which share of the records on it would nearly always win."""
    if any(stake.ruled_out for stake in stakes):
        return Bet(words, math.inf, None)
    gain = average([sum(stake.gain(share) for stake in stakes) for share in SHARES])
    hopes = ([stake.hoped(share) for stake in stakes] for share in SHARES)
    sums = ((sum(mean for mean, _ in own), math.sqrt(sum(var for _, var in own))) for own in hopes)
    return Bet(words, gain, found_from(SHARES, sums, level=level))


Different: TypeAlias = tuple[list[IntArray], FloatArray]
"""The true records that differ, by their cells in each part of a block, and how many there are."""


def _different(block: Sequence[Passage]) -> Different:
    """True records that are alike pay alike: a block has far fewer of them than records."""
    if len(block) == 1:
        found = np.flatnonzero(block[0].truth)
        return [found], block[0].truth.ravel()[found]
    groups = joint_groups([part.before for part in block])
    times = np.bincount(groups)
    one = np.zeros(len(times), dtype=np.int64)
    one[groups] = np.arange(len(groups))
    return [part.before[one] for part in block], times.astype(np.float64)


def _stake(block: Sequence[Passage], doubt: Doubt, different: Different | None = None) -> Stake:
    """What a doubt bets on the records of a block."""
    cells, times = different or _different(block)
    odds = [_odds(part.mean, doubt.mean(part)) for part in block]
    paid = np.zeros(len(times))
    for part, own, at in zip(block, odds, cells, strict=True):
        paid += part.expected(own, at)
    flat = [
        np.concatenate([table.ravel() for table in tables])
        for tables in (odds, [part.mean for part in block], [part.released for part in block])
    ]
    return Stake(flat[0], flat[1], flat[2], paid, times)


def _odds(mean: FloatArray, other: FloatArray) -> FloatArray:
    """How much likelier a cell is than in a sound release, less one."""
    odds = np.zeros_like(mean)
    np.divide(other, mean, out=odds, where=mean > 0)
    odds -= mean > 0
    return odds


def _log(odds: FloatArray) -> FloatArray:
    """log(1 + odds), where odds of -1 make a stake nothing."""
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log1p(np.maximum(odds, -1.0))
    return found
