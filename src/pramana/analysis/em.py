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

import numpy as np

from pramana.analysis.channels import Channels
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


@dataclass(frozen=True)
class Climb:
    """How to climb: towards which prior, with how many pseudo-records, inside which model.

    Attributes:
        channels: The mechanism on the axes of the table.
        prior: The table that pseudo-records follow.
        margins: The margins of a log-linear model, or ``None`` for all tables.
        tolerance: Stop when a round moves less than this share of the records.
        most: Stop after so many rounds.
    """

    channels: Channels
    prior: FloatArray
    margins: Margins | None
    tolerance: float = 1e-4
    most: int = 300

    def run(self, released: FloatArray, *, pull: float, start: FloatArray) -> FloatArray:
        """The table that ``released`` and ``pull`` pseudo-records of the prior lead to.

        Two rounds of EM show the direction and how fast it shrinks; a jump along it, on the
        logarithms so that it stays positive and inside the model, saves many rounds [Varadhan].
        """
        total = float(released.sum())
        if total <= 0:
            return self.prior
        added = self.prior * (pull / float(self.prior.sum()))
        table = start * (total / float(start.sum()))
        for _ in range(self.most // 3):
            first = self._round(released, table, added, total)
            second = self._round(released, first, added, total)
            jumped = _jump(table, first, second, total)
            table = self._round(released, jumped, added, total)
            if np.add.reduce(np.abs(second - first), axis=None) < self.tolerance * total:
                break
        return table

    def _round(
        self, released: FloatArray, table: FloatArray, added: FloatArray, total: float
    ) -> FloatArray:
        expected = expected_truth(released, table, self.channels) + added
        expected *= total / np.add.reduce(expected, axis=None)
        if self.margins is None:
            return expected
        targets = [margin_of(expected, keep) for keep in self.margins]
        return fit_margins(table, targets, self.margins)


LONGEST_JUMP = 16.0


def _jump(table: FloatArray, first: FloatArray, second: FloatArray, total: float) -> FloatArray:
    """Extrapolate two rounds to where they lead."""
    tiny = 1e-12 * total / table.size
    logs = [np.log(np.maximum(part, tiny)) for part in (table, first, second)]
    step, bend = logs[1] - logs[0], logs[2] - 2 * logs[1] + logs[0]
    # Cells that hold many records say how far to jump.
    along = float(np.add.reduce(second * step**2, axis=None))
    across = float(np.add.reduce(second * bend**2, axis=None))
    if across <= 0 or along <= across:
        return second
    length = min(np.sqrt(along / across), LONGEST_JUMP)
    far = logs[0] + 2 * length * step + length**2 * bend
    jumped = np.exp(np.minimum(np.maximum(far, -700.0), 700.0))
    jumped = np.where(second > tiny, jumped, second)
    size = float(np.add.reduce(jumped, axis=None))
    return jumped * (total / size) if np.isfinite(size) and size > 0 else second
