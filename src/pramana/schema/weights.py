"""Coarsen sampling weights so that enough people share each value, and recognise weights.

A unique sampling weight identifies a person. Weights are rounded to multiples of a step and cut at
the top. Small weights are raised to one step and large ones are cut; step and cut are chosen so
that both effects nearly cancel in the total, and the remaining shift is reported. Weights larger
than nearly all others are left out of this balance. Steps and cuts are round numbers, so that they
disclose no individual value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import as_whole
from pramana.base.text import records_that
from pramana.base.translation import gettext, noop
from pramana.errors import InvalidTable
from pramana.schema.group_sizes import COUNT, group_sizes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.tally import Tally
from pramana.types import FloatArray, IntArray

SHARED = 50  # one in this many people is to share each value
STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)  # steps are these, times a power of ten
DEAR = 3.0
"""The cost of a shift of all weights, relative to an equal error of one weight."""

TYPICAL = 20.0
"""Weights up to this multiple of the median count in the choice, however rare."""

MOST_SHIFT = 0.05  # the relative error of a total that is accepted


@dataclass(frozen=True)
class CoarseWeight:
    """A weight in steps.

    >>> CoarseWeight(60, 300, 0.0214).shifted
    'the sum of all weights is 2.2 % more than before'

    Attributes:
        step: Weights become multiples of this, and at least this.
        top: Larger ones become this one.
        shift: By which share of itself the total of all weights grows.
        spread: How far a weight is off, in standard deviations of the weights, up to a largest one.
    """

    step: float
    top: float
    shift: float
    spread: float = 0.0

    @property
    def entries(self) -> dict[str, float]:
        """As lines of a schema say it: whole numbers where they are whole."""
        return {"round": as_whole(float(self.step)), "top": as_whole(float(self.top))}

    @property
    def shifted(self) -> str:
        """The change of the total in words, rounded up."""
        share = math.ceil(abs(self.shift) * 1000 - 1e-9) / 10
        if not share:
            return gettext("the sum of all weights stays the same")
        more = noop("the sum of all weights is {share:g} % more than before")
        less = noop("the sum of all weights is {share:g} % less than before")
        return gettext(more if self.shift > 0 else less, share=share)


def coarse_weight_of(table: OpenedTable, name: str, least: float = 2) -> CoarseWeight | None:
    """The step and cap for a weight of a table, by :func:`coarse_weight`."""
    counted = group_sizes(table, [name]).total().drop_null()
    values = np.asarray(counted.column(name).cast("double", safe=False), dtype=np.float64)
    return coarse_weight(values, np.asarray(counted.column(COUNT), dtype=np.int64), least)


def coarse_weight(values: FloatArray, numbers: IntArray, least: float = 2) -> CoarseWeight | None:
    """The best step and cap so that one person in fifty has each value.

    If the total would change too much, the share is halved until it does not. ``None`` if fewer
    than ``least`` people would share a value, or if the weights are coarse enough already.

    >>> coarse_weight(np.arange(1.0, 1001), np.ones(1000, dtype=np.int64)).entries
    {'round': 20, 'top': 980}
    """
    if not len(values) or values.min() < 0 or not 0 < values.max() < math.inf:
        return None
    goal, finest = float(numbers.sum()) / SHARED, best_steps(values, numbers, least)
    # Where few hold much of the total, no cut keeps it, and fewer people would share for nothing.
    most = MOST_SHIFT if finest is None else max(MOST_SHIFT, abs(finest.shift) + 0.01)
    while goal > max(least, numbers.min()):
        coarse = best_steps(values, numbers, goal)
        if coarse is not None and abs(coarse.shift) <= most:
            return coarse
        goal /= 2
    return None if numbers.min() >= least else finest


def proposed_by(tally: Tally, k: float) -> CoarseWeight | None:
    """Step and cut for a weight some values of which fewer than ``k`` share; none elsewhere."""
    if not tally.complete or not tally.distinct or int(tally.numbers.min()) >= k:
        return None
    values = np.asarray(tally.values.cast("double", safe=False), dtype=np.float64)
    return coarse_weight(values, tally.numbers, k)


def best_steps(values: FloatArray, numbers: IntArray, needed: float) -> CoarseWeight | None:
    """The step and cut that keep weights and their total best, ``needed`` people at each."""
    order = np.argsort(values)
    values, numbers = values[order], numbers[order]
    median = _at(values[values > 0], numbers[values > 0], 0.5)
    # What few weigh beyond all measure is lost by any cut that enough people share.
    most = max(TYPICAL * median, _at(values, numbers, 1 - needed / float(numbers.sum())))
    capped = np.minimum(values, most)
    tried = (_best_cut(capped, numbers, step, needed) for step in _steps(median, most))
    candidates = [candidate for candidate in tried if candidate is not None]

    def cost(candidate: CoarseWeight) -> tuple[float, float]:
        typical = abs(_shift(*_middle(values, numbers), candidate))
        return max(typical - MOST_SHIFT, 0.0), candidate.spread + DEAR * abs(candidate.shift)

    best = min(candidates, key=cost, default=None)
    return None if best is None else replace(best, shift=_shift(values, numbers, best))


def _at(values: FloatArray, numbers: IntArray, share: float) -> float:
    """The value, of values in order, up to which this share of the people is."""
    seen = np.cumsum(numbers)
    return float(values[np.searchsorted(seen, max(share, 0.0) * seen[-1])])


def _middle(values: FloatArray, numbers: IntArray) -> tuple[FloatArray, IntArray]:
    """The weights between the quartiles."""
    low, high = (_at(values, numbers, share) for share in (0.25, 0.75))
    inside = (low <= values) & (values <= high)
    return values[inside], numbers[inside]


def _shift(values: FloatArray, numbers: IntArray, coarse: CoarseWeight) -> float:
    """The relative change of the sum of all weights."""
    steps = np.maximum(np.floor(values / coarse.step + 0.5), values > 0) * coarse.step
    total = float(numbers @ values)
    return float(numbers @ np.minimum(steps, coarse.top)) / total - 1 if total else 0.0


def _steps(median: float, largest: float) -> Iterator[float]:
    """Round numbers up to the largest weight, from a thousandth of the median on."""
    for power in range(math.floor(math.log10(median)) - 3, math.floor(math.log10(largest)) + 1):
        for digits in STEPS:
            step = float(f"{digits}e{power}")
            if step <= largest:
                yield step


def _best_cut(
    values: FloatArray, numbers: IntArray, step: float, needed: float
) -> CoarseWeight | None:
    """The best cap of rounded weights under which each value has enough people."""
    rounded = np.maximum(np.floor(values / step + 0.5), values > 0)
    starts = np.flatnonzero(np.diff(rounded, prepend=-1.0))
    levels = rounded[starts] * step
    people, total = np.add.reduceat(numbers, starts), numbers @ values
    above = _from_here(people)
    rare = np.flatnonzero(people < needed)
    may = (above >= needed) & (levels > 0)
    may[int(rare[0]) + 1 if len(rare) else len(levels) :] = False
    if not may.any():
        return None
    below = np.cumsum(people * levels) - people * levels
    shift = (below + above * levels) / total - 1
    # Squared errors: of weights below by rounding, of weights above by the cut.
    off = np.add.reduceat(numbers * (rounded * step - values) ** 2, starts)
    sums = _from_here(np.add.reduceat(numbers * values, starts))
    squares = _from_here(np.add.reduceat(numbers * values**2, starts))
    cut = np.maximum(squares - 2 * levels * sums + above * levels**2, 0)
    mean = total / numbers.sum()
    spread = np.sqrt((np.cumsum(off) - off + cut) / max(numbers @ (values - mean) ** 2, 1e-300))
    at = int(np.argmin(np.where(may, spread + DEAR * np.abs(shift), np.inf)))
    return CoarseWeight(step, float(f"{levels[at]:.12g}"), float(shift[at]), float(spread[at]))


def _from_here(numbers: FloatArray) -> FloatArray:
    """The sum of each number and all later ones."""
    return np.cumsum(numbers[::-1])[::-1]


def require_finite(table: OpenedTable, name: str) -> None:
    """Refuse infinite weights: one of them would determine every estimate."""
    if not pa.types.is_floating(table.schema.field(name).type):
        return
    infinite = sum(table.summaries(_infinite, [name]))
    if infinite:
        raise InvalidTable(
            "{records} an infinite weight in '{column}'. Correct that in the table, or leave it "
            "empty there: a record without a weight counts zero.",
            column=name,
            records=records_that(infinite, "has", "have"),
        )


def _infinite(batches: Iterable[pa.RecordBatch]) -> int:
    return sum(pc.sum(pc.is_inf(batch.column(0))).as_py() or 0 for batch in batches)
