"""Expectation-maximisation on whole tables.

Write x for the true table, y for the released one, P for the mechanism. Given a guess p of the
true distribution, the expected true table of these records is

    z = p * P (y / (p P)),

each released cell shared out among the truths it can come from, in proportion to how likely each
is. Repeating p := z climbs the likelihood to its non-negative maximum, and then chases noise. Two
things hold it back: pseudo-records that pull towards a prior table (a Dirichlet prior), and a
log-linear model, in which only the margins of z are passed on (iterative proportional fitting).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.analysis.channels import Channel, Channels, Verb
from pramana.types import FloatArray

Margins = Sequence[tuple[int, ...]]


def divide(above: FloatArray, below: FloatArray) -> FloatArray:
    """``above / below``, and 0 where nothing is below."""
    if np.minimum.reduce(below, axis=None, initial=np.inf) > 0:  # nearly always, and twice as fast
        return above / below
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def expected_truth(released: FloatArray, guess: FloatArray, channels: Channels) -> FloatArray:
    """The expected true table of the released records, if the truth is distributed as ``guess``."""
    return guess * channels.backward(divide(released, channels.forward(guess)))


def margin_of(table: FloatArray, keep: tuple[int, ...]) -> FloatArray:
    """The margin over some axes, in a shape that broadcasts against the table."""
    out = tuple(axis for axis in range(table.ndim) if axis not in keep)
    margin: FloatArray = np.add.reduce(table, axis=out, keepdims=True)
    return margin


def fit_margins(table: FloatArray, targets: Sequence[FloatArray], margins: Margins) -> FloatArray:
    """Scale ``table`` to the given margins in turn: a round of iterative proportional fitting."""
    for target, keep in zip(targets, margins, strict=True):
        table = table * divide(target, margin_of(table, keep))
    return table


@dataclass(frozen=True, eq=False)
class Climb:
    """Several tables of one mechanism that climb at once, inside one model.

    Small tables cost what calling NumPy costs: five of them little more than one. Each goes its own
    way, to the last bit where columns are unchanged or mixed evenly, and stops where it would stop
    alone.

    Attributes:
        channels: The mechanism on the axes of a table.
        priors: For each table the one that its pseudo-records follow, along a first axis.
        margins: The margins of a log-linear model, or ``None`` for all tables.
        tolerances: A table stops when a round moves less than this share of its records.
        most: All stop after this many rounds.
    """

    channels: Channels
    priors: FloatArray
    margins: Margins | None
    tolerances: FloatArray
    most: int = 300

    def run(self, released: FloatArray, *, pull: float, starts: FloatArray) -> FloatArray:
        """The tables that ``released`` and ``pull`` pseudo-records of each prior lead to.

        Two rounds of EM show the direction and how fast it shrinks; a jump along it, on the
        logarithms so that it stays positive and inside the model, saves many rounds [Varadhan].
        """
        totals = _sums(released)
        if not (totals > 0).all():
            return self.priors
        added = self.priors * _each(pull / _sums(self.priors), released)
        tables = starts * _each(totals / _sums(starts), released)
        tolerances, found = self.tolerances, np.empty_like(tables)
        live = np.arange(len(tables))
        for _ in range(self.most // 3):
            first = self._round(released, tables, added, totals)
            second = self._round(released, first, added, totals)
            moved = _sums(np.abs(second - first))
            tables = self._round(released, _jump(tables, first, second, totals), added, totals)
            left = ~(moved < tolerances * totals)
            if not left.all():
                found[live[~left]] = tables[~left]
                live, tolerances = live[left], tolerances[left]
                tables, released, added, totals = (
                    part[left] for part in (tables, released, added, totals)
                )
            if not len(live):
                break
        found[live] = tables
        return found

    def _round(
        self, released: FloatArray, tables: FloatArray, added: FloatArray, totals: FloatArray
    ) -> FloatArray:
        ratios = divide(released, self._through("forward", tables))
        expected = tables * self._through("backward", ratios) + added
        expected *= _each(totals / _sums(expected), expected)
        if self.margins is None:
            return expected
        margins = [(0, *(axis + 1 for axis in keep)) for keep in self.margins]
        return fit_margins(tables, [margin_of(expected, keep) for keep in margins], margins)

    @cached_property
    def _behind(self) -> list[Channel]:
        return [channel.behind() for channel in self.channels.each]

    def _through(self, verb: Verb, tables: FloatArray) -> FloatArray:
        for channel in self._behind:
            tables = channel.along(verb, tables)
        return tables


def _sums(tables: FloatArray) -> FloatArray:
    """The sum of each table."""
    total: FloatArray = np.add.reduce(tables.reshape(len(tables), -1), axis=1)
    return total


def _each(numbers: Sequence[float] | FloatArray, tables: FloatArray) -> FloatArray:
    """One number a table, in a shape that broadcasts against them."""
    return np.asarray(numbers, dtype=np.float64).reshape(-1, *(1,) * (tables.ndim - 1))


LONGEST_JUMP = 16.0


def _jump(
    tables: FloatArray, first: FloatArray, second: FloatArray, totals: FloatArray
) -> FloatArray:
    """Extrapolate two rounds to where they lead, each table as far as it says itself."""
    tiny = _each(1e-12 * totals / tables[0].size, tables)
    logs = [np.log(np.maximum(part, tiny)) for part in (tables, first, second)]
    step, bend = logs[1] - logs[0], logs[2] - 2 * logs[1] + logs[0]
    # Cells that hold many records say how far to jump.
    along, across = (_sums(second * part**2) for part in (step, bend))
    jumps = (across > 0) & (along > across)
    ratios = np.divide(along, across, where=jumps, out=np.zeros_like(along))
    lengths = np.minimum(np.sqrt(ratios), LONGEST_JUMP)
    far = logs[0] + _each(2 * lengths, tables) * step + _each(lengths**2, tables) * bend
    jumped = np.exp(np.minimum(np.maximum(far, -700.0), 700.0))
    jumped = np.where(second > tiny, jumped, second)
    sizes = _sums(jumped)
    jumps &= np.isfinite(sizes) & (sizes > 0)
    factors = np.divide(totals, sizes, where=jumps, out=np.zeros_like(totals))
    factor = _each(factors, tables)
    return np.where(factor > 0, jumped * factor, second)
