"""Several climbs at once: small tables cost what calling NumPy costs, five of them little more.

Each table goes its own way to the last bit, as if it were climbed alone (em.py): along its axes it
is summed up in the same order, and it stops where it would stop. That holds for columns that were
released as they are or mixed evenly; other matrices are multiplied in an order that depends on how
many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Final

import numpy as np

from pramana.estimation.channels import Channel, Channels, Same, UniformChannel
from pramana.estimation.em import LONGEST_JUMP, Climb, divide, fit_margins, margin_of
from pramana.types import FloatArray

__all__ = ["Climbs"]

MOST_CELLS: Final = 4096
"""Of each table; larger ones are better looked at one after the other."""


class Climbs:
    """Climbs of as many tables, by one mechanism and inside one model."""

    def __init__(self, climbs: Sequence[Climb]) -> None:
        first = climbs[0]
        self.most = first.most
        self.priors = np.stack([climb.prior for climb in climbs])
        self.tolerances = np.array([climb.tolerance for climb in climbs])
        self.channels = [_behind(channel) for channel in first.channels.each]
        self.margins = (
            None
            if first.margins is None
            else [(0, *(axis + 1 for axis in keep)) for keep in first.margins]
        )

    @staticmethod
    def possible(channels: Channels, tables: Sequence[FloatArray]) -> bool:
        """Whether these tables can be climbed at once."""
        return (
            len(tables) > 1
            and all(isinstance(channel, Same | UniformChannel) for channel in channels.each)
            and tables[0].size <= MOST_CELLS
            and all(table.flags.c_contiguous and table.sum() > 0 for table in tables)
        )

    def run(self, released: FloatArray, *, pull: float, starts: FloatArray) -> FloatArray:
        """The tables that ``released`` and ``pull`` pseudo-records of each prior lead to."""
        totals = _sums(released)
        added = self.priors * _each(pull / _sums(self.priors), released)
        tables = starts * _each(totals / _sums(starts), released)
        tolerances, found = self.tolerances, np.empty_like(tables)
        live = np.arange(len(tables))
        for _ in range(self.most // 3):
            go = partial(self._round, released, added=added, totals=totals)
            first = go(tables)
            second = go(first)
            moved = _sums(np.abs(second - first))
            tables = go(_jump(tables, first, second, totals))
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
        self, released: FloatArray, tables: FloatArray, *, added: FloatArray, totals: FloatArray
    ) -> FloatArray:
        expected = tables * self._through(divide(released, self._through(tables))) + added
        expected *= _each(totals / _sums(expected), expected)
        if self.margins is None:
            return expected
        targets = [margin_of(expected, keep) for keep in self.margins]
        return fit_margins(tables, targets, self.margins)

    def _through(self, tables: FloatArray) -> FloatArray:
        """Forward; and backward, as even mixtures are symmetric."""
        for channel in self.channels:
            tables = channel.forward(tables)
        return tables


def _behind(channel: Channel) -> Channel:
    """The same for tables that lie behind each other along a first axis."""
    assert isinstance(channel, Same | UniformChannel)  # noqa: S101 - who asks has looked
    return replace(channel, place=channel.place + 1)


def _sums(tables: FloatArray) -> FloatArray:
    """The sum of each table."""
    total: FloatArray = np.add.reduce(tables.reshape(len(tables), -1), axis=1)
    return total


def _each(numbers: Sequence[float] | FloatArray, tables: FloatArray) -> FloatArray:
    """One number a table, in a shape that broadcasts against them."""
    return np.asarray(numbers, dtype=np.float64).reshape(-1, *(1,) * (tables.ndim - 1))


def _jump(
    tables: FloatArray, first: FloatArray, second: FloatArray, totals: FloatArray
) -> FloatArray:
    """Extrapolate two rounds to where they lead, each table as far as it says itself."""
    tiny = _each(1e-12 * totals / tables[0].size, tables)
    logs = [np.log(np.maximum(part, tiny)) for part in (tables, first, second)]
    step, bend = logs[1] - logs[0], logs[2] - 2 * logs[1] + logs[0]
    along, across = (_sums(second * part**2).tolist() for part in (step, bend))
    lengths = list(map(_length, along, across))
    far = (
        logs[0]
        + _each([2 * length for length in lengths], tables) * step
        + _each([length**2 for length in lengths], tables) * bend
    )
    jumped = np.exp(np.minimum(np.maximum(far, -700.0), 700.0))
    jumped = np.where(second > tiny, jumped, second)
    factors = [
        total / size if length > 0 and isfinite(size) and size > 0 else 0.0
        for length, total, size in zip(
            lengths, totals.tolist(), _sums(jumped).tolist(), strict=True
        )
    ]
    factor = _each(factors, tables)
    return np.where(factor > 0, jumped * factor, second)


def _length(along: float, across: float) -> float:
    """How far a table jumps; 0 where it does not."""
    if across <= 0 or along <= across:
        return 0.0
    length: float = min(np.sqrt(along / across), LONGEST_JUMP)
    return length
