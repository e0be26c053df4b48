"""Was the order of the released records drawn at random? E-values against orders that were not.

In a shuffle each released record is drawn from those that are left, whatever comes before it. So an
alternative order is a bet, record by record: it says which values are likelier at a place, and
the stake is divided by what it wins on average over the records that are left. Columns come one
after the other: given the columns before it, the values of a column are drawn from the records left
that agree in those. Exact for every table, whatever the associations.

The alternatives: a record is near those that were near it in the original order, at distances from
none to a quarter of the table, in the old direction or turned; stretches of records moved each by
its own distance; and records are next to similar ones, as if sorted. What is likelier near an
original record follows from its row of the matrix. Docs: docs/power.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pramana.base.processes import default_threads, in_order
from pramana.base.translation import gettext, noop
from pramana.mechanisms.mechanism import AttributeSampler, Step
from pramana.mechanisms.transition import Label
from pramana.types import BoolArray, FloatArray, IntArray
from pramana.verification.checks import SURE, Check, average, needed
from pramana.verification.randomisation_test import Pair, PairedRecords, joined

MOST_RECORDS = 20_000
"""The first released records are tested, which are as good as any in a shuffle."""

MOST_VALUES = 32
"""The most values of a column; neighbouring ones are merged."""

STRENGTHS = (0.9, 0.3, 0.1, 0.02)
EACH = np.array(STRENGTHS)[:, None]
WIDTHS = (1, 3, 9, 27, 81, 243, 729, 2187, 6561)
RUNS = (48, 192)
"""Lengths of stretches that may have moved as a whole."""

MOST_RUNS, FEWEST_RUNS = 16, 3
RUN_PLACES = 2**28
"""Limits the stretches of a large table: each is compared with every place of the original."""

LIKELY_RUNS = 0.05
CANDIDATES = 4
PART = 2**16
MOST_CELLS = 4096
"""The most cells of a step on several columns whose matrix is laid out."""

SILENT = "asserted by the owner: these columns are too similar"


@dataclass(frozen=True)
class Ordered:
    """Values of the original records, those released, and what an original value makes likelier."""

    before: IntArray
    after: IntArray
    odds: FloatArray
    """For an original value (row) how much likelier it makes a released one, less one."""

    known: bool
    """Whether these odds are those of what was done to it: else nothing is said of their power."""

    @property
    def size(self) -> int:
        """How many values it has."""
        return len(self.odds)

    @classmethod
    def of(cls, pair: Pair, matrix: FloatArray | None, *, kept: bool = False) -> Ordered:
        """A column that passes a matrix, or is taken to be as it is, which ``kept`` says is so."""
        whole = pair.size <= MOST_VALUES
        grouped = pair.in_groups(MOST_VALUES)
        rows = matrix if whole and matrix is not None else np.eye(grouped.size)
        expected = (
            np.bincount(grouped.before, minlength=grouped.size) @ rows / max(len(grouped.before), 1)
        )
        # A value that only the release has is met nowhere in the truth: nothing is bet on it.
        odds = np.zeros_like(rows)
        there = expected > 0
        odds[:, there] = rows[:, there] / expected[there] - 1
        return cls(grouped.before, grouped.after, odds, kept or (whole and matrix is not None))


def _shares_left(prefix: IntArray, after: IntArray, size: int) -> FloatArray:
    """For each released record the shares of the values of a column among the records left.

    Those left are the records from it on that agree with it in the columns before.
    """
    order = np.lexsort((-np.arange(len(after)), prefix))  # from the end, group by group
    shown = np.zeros((len(after), size), dtype=np.int32)
    shown[np.arange(len(after)), after[order]] = 1
    total = shown.cumsum(axis=0, dtype=np.int32)
    first = np.flatnonzero(np.diff(prefix[order], prepend=-1))
    starts = np.repeat(first, np.diff([*first, len(after)]))
    total -= total[starts] - shown[starts]
    counts = np.empty_like(total)
    counts[order] = total
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float64)


class Orders:
    """A release and its original data, prepared for e-values of the order."""

    def __init__(self, columns: Sequence[Ordered], whole: Pair) -> None:
        self.columns = columns
        self.whole = whole
        self.records = len(columns[0].before)
        self.seen = min(self.records, MOST_RECORDS)
        self.left: list[FloatArray] = []
        self.weights: list[float] = []
        prefix = np.zeros(self.seen, dtype=np.int64)
        for column in columns:
            after = column.after[: self.seen]
            self.left.append(_shares_left(prefix, after, column.size))
            # What is fixed by the columns before is no news: one record of each of their groups.
            self.weights.append(1 - (int(prefix.max()) + 1) / self.seen)
            prefix = np.unique(prefix * column.size + after, return_inverse=True)[1].ravel()

    def steps(self, odds: Sequence[FloatArray]) -> FloatArray:
        """The logarithm of what each record wins, by strength, for odds at each place."""
        total = np.zeros((len(STRENGTHS), self.seen))
        for column, left, odds_of_column in zip(self.columns, self.left, odds, strict=True):
            odds_of_column = np.maximum(odds_of_column, -1.0)
            here = odds_of_column[np.arange(self.seen), column.after[: self.seen]]
            mean = np.einsum("ja,ja->j", left, odds_of_column)
            total += np.log1p(EACH * here) - np.log1p(EACH * mean)
        return total

    def gain(self, odds: Sequence[FloatArray]) -> float:
        """What a bet has won over all records."""
        return average(self.steps(odds).sum(axis=1))

    def still(self, *, turned: bool = False) -> float:
        """The e-value of the alternative that whole records are in their original places."""
        true = (self.whole.before[::-1] if turned else self.whole.before)[: self.seen]
        after, places = self.whole.after[: self.seen], np.arange(self.seen)
        numbers = np.bincount(self.whole.before, minlength=self.whole.size)
        rare = self.records / np.maximum(numbers, 1)[true]
        keys = np.sort(after * self.seen + places)
        ends = (
            np.searchsorted(keys, at) for at in ((true + 1) * self.seen, true * self.seen + places)
        )
        here, mean = (
            (after == true) * rare - 1,
            np.subtract(*ends) / (self.seen - places) * rare - 1,
        )
        return average([float((np.log1p(s * here) - np.log1p(s * mean)).sum()) for s in STRENGTHS])

    # -- doubts -----------------------------------------------------------------------------------

    def near(self, width: int, *, turned: bool = False) -> list[FloatArray]:
        """What the original records within ``width`` places make likelier."""
        half = width // 2
        places = np.arange(-half, self.seen + half) % self.records
        places = self.records - 1 - places if turned else places
        return [_means(column.odds[column.before[places]], width) for column in self.columns]

    def sorted(self, width: int) -> list[FloatArray]:
        """What the released records just before make likelier."""
        odds_of = []
        for column in self.columns:
            after = column.after[: self.seen]
            shown = np.zeros((self.seen, column.size))
            shown[np.arange(self.seen), after] = 1
            share = shown.mean(axis=0)
            past = np.cumsum(np.vstack([np.zeros((width + 1, column.size)), shown]), axis=0)
            window = past[width : width + self.seen] - past[: self.seen]
            number = np.minimum(np.arange(self.seen), width)[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                odds = (window + share) / (number + 1) / share - 1
            odds_of.append(np.where(share > 0, odds, 0.0))
        return odds_of

    def fits(self, starts: Sequence[int], length: int) -> NDArray[np.float32]:
        """How well the released records of short blocks fit the original data, for every distance.

        The stretches follow each other, from the first record on.
        """
        total = np.zeros((len(starts), self.records), dtype=np.float32)
        last = starts[-1] + length - 1

        def add(begin: int) -> None:
            """To some of the distances, which stay in the cache."""
            part = total[:, begin : begin + PART]
            distances = np.arange(begin - last, begin + part.shape[1])
            rows, many = list(part), part.shape[1]
            for column in self.columns:
                true = column.before[-distances % self.records]  # further back, further moved
                for value, here in zip(*_released(column.after[: last + 1]), strict=True):
                    original = column.odds[:, value].astype(np.float32).take(true)
                    for place in np.flatnonzero(here).tolist():
                        row, first = rows[place // length], last - place
                        row += original[first : first + many]

        for _ in in_order(add, range(0, self.records, PART), threads=default_threads()):
            pass
        return total

    def runs(self, length: int) -> float:
        """The gain of a bet that stretches moved, each by its own distance.

        A stretch bets on all distances alike; of most of them the part of the stake is given up.
        """
        many = min(MOST_RUNS, max(FEWEST_RUNS, RUN_PLACES // (length * self.records)))
        starts = range(0, min(self.seen, length * many) - length + 1, length)
        gain = 0.0
        for start, fits in zip(starts, self.fits(starts, length), strict=True):
            stop = start + length
            moved = np.argpartition(-fits, CANDIDATES)[:CANDIDATES]
            places = (np.arange(start, stop) - moved[:, None]) % self.records
            steps = np.zeros((len(moved), len(STRENGTHS)))
            for column, left in zip(self.columns, self.left, strict=True):
                odds = column.odds[column.before[places]]
                here = odds[:, np.arange(length), column.after[start:stop]][:, None]
                mean = np.einsum("ja,mja->mj", left[start:stop], odds)[:, None]
                steps += (np.log1p(EACH * here) - np.log1p(EACH * mean)).sum(axis=2)
            stake = np.logaddexp.reduce(steps.ravel()) - math.log(len(STRENGTHS) * self.records)
            likely = math.log(LIKELY_RUNS) + stake
            gain += float(np.logaddexp(math.log1p(-LIKELY_RUNS), likely))
        return gain


def _released(after: IntArray) -> tuple[IntArray, BoolArray]:
    """The values that were released, and for each of them where."""
    values = np.unique(after)
    return values, after == values[:, None]


def _means(odds: FloatArray, width: int) -> FloatArray:
    """Means over every ``width`` places that follow each other."""
    if width == 1:
        return odds
    total = np.cumsum(np.concatenate([np.zeros((1, odds.shape[1])), odds]), axis=0)
    means: FloatArray = (total[width:] - total[:-width]) / width
    return means


# -- the check -------------------------------------------------------------------------------------


def order_check(records: PairedRecords, *, level: float) -> Check:
    """Whether the order is consistent with a shuffle; wrong less than once in 1 / level."""
    columns = list(_columns(records))
    unchanged = [] if records.kept_together is None else [records.kept_together]
    whole = joined([*unchanged, *records.randomised.values()])
    if not columns or whole is None:
        return Check.asserted("shuffle", SILENT)
    orders = Orders(columns, whole)
    widths = [width for width in WIDTHS if width == 1 or width <= orders.records // 4]
    bets = list(_bets(orders, widths))
    least = needed(level, len(bets))
    doubt, gain = max(bets, key=lambda bet: bet[1])
    if gain >= least:
        detail = "not a random order: {doubt} (exp({gain:.0f}) times more likely)"
        return Check.decided("shuffle", False, detail, doubt=doubt, gain=gain)
    reach = _reach(orders, widths, least + math.log(len(STRENGTHS)))
    if reach is None:
        return Check.asserted(
            "shuffle",
            "consistent with a shuffle; asserted by the owner: these columns are too similar",
        )
    words = "consistent with a shuffle; records left in their places would be detected"
    if reach > 1:
        words = (
            "consistent with a shuffle; a shuffle within blocks of up to {reach} records would be "
            "detected"
        )
    return Check.decided("shuffle", True, words, reach=reach)


def _columns(records: PairedRecords) -> Iterator[Ordered]:
    """Unchanged columns first, since they say most; then those that pass matrices."""
    for pair in records.kept.values():
        if pair.size > 1:
            yield Ordered.of(pair, None, kept=True)
    mechanism = records.certificate.mechanism
    steps = {n: step for step in (mechanism.steps if mechanism else ()) for n in step.columns}
    for name, pair in records.randomised.items():
        if pair.size < 2:
            continue
        step = steps.get(name)
        if step is not None and len(step.columns) == 1 and step.matrix is not None:
            cells = records.cells(step)
            yield Ordered.of(cells or pair, None if cells is None else step.matrix.values)
        elif isinstance(mechanism, AttributeSampler):
            yield Ordered.of(pair, _reported(mechanism, name, records)[: pair.size, : pair.size])
        else:
            column = Ordered.of(pair, None if step is None else _among_others(step, name, records))
            # Columns of one step say the same: one of them counts for the power.
            first = step is None or name == step.columns[0]
            yield column if first else replace(column, known=False)


def _reported(mechanism: AttributeSampler, name: str, records: PairedRecords) -> FloatArray:
    """What a column is reported as, or not at all (the last), over all sets that contain it."""
    places = _places(name, records)
    size = len(places)
    rows = np.zeros((size + 1, size + 1))
    for asked in mechanism.containing([name]):
        axis = asked.columns.index(name)
        cells = np.bincount([places[cell[axis]] for cell in asked.cells], minlength=size)
        kept = float(asked.matrix.retention)
        rows[:size, :size] += asked.share * (kept * np.eye(size) + (1 - kept) * cells / cells.sum())
    rows[:, size] = 1 - rows[:, :size].sum(axis=1)
    return rows


def _among_others(step: Step, name: str, records: PairedRecords) -> FloatArray | None:
    """The matrix of a column that is moved together with others, on average over the people."""
    if step.matrix is None or len(step.labels) > MOST_CELLS:
        return None
    cells, places = records.cells(step), _places(name, records)
    if cells is None:
        return None
    axis = step.columns.index(name)
    values = np.eye(len(places))[[places[cell[axis]] for cell in step.labels]]
    people = np.bincount(cells.before, minlength=cells.size)
    rows: FloatArray = values.T @ (people[:, None] * (step.matrix.values @ values))
    held = values.T @ people
    return np.where(held[:, None] > 0, rows / np.maximum(held, 1)[:, None], np.eye(len(places)))


def _places(name: str, records: PairedRecords) -> dict[Label, int]:
    labels = records.certificate.schema.column(name).labels
    return {label: place for place, label in enumerate(labels)}


def _bets(orders: Orders, widths: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Every doubt and what it has won."""
    for turned in (False, True):
        still = noop("whole records are at their original places")
        near = noop("records are within {width} places of the original ones")
        if turned:
            still = noop("whole records are at their original places, reversed")
            near = noop("records are within {width} places of the original ones, reversed")
        yield gettext(still), orders.still(turned=turned)
        for width in widths:
            yield gettext(near, width=width), orders.gain(orders.near(width, turned=turned))
    for width in (1, 16, 128):
        yield gettext("records are next to similar ones"), orders.gain(orders.sorted(width))
    for length in RUNS:
        if 4 * length <= orders.seen:
            words = gettext("blocks of {length} records have moved as a whole", length=length)
            yield words, orders.runs(length)


def _reach(orders: Orders, widths: Sequence[int], least: float) -> int | None:
    """The largest width inside which a shuffle would nearly always be found."""
    reach = None
    for width in widths:
        mean = square = 0.0
        for column, weight, odds in zip(
            orders.columns, orders.weights, orders.near(width), strict=True
        ):
            if not column.known:
                continue
            share = np.bincount(column.after, minlength=column.size) / orders.records
            likelier = 1 + STRENGTHS[0] * np.maximum(odds, -1.0)
            won = np.log(likelier)
            mean += weight * float((share * likelier * won).sum())
            square += weight * float((share * likelier * won**2).sum())
        if mean - SURE * math.sqrt(square) < least:
            break
        reach = width
    return reach
