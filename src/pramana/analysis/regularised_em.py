"""Several climbs at once: small tables cost what calling NumPy costs, five of them little more.

Each table goes its own way to the last bit, as if it were climbed alone (em.py): along its axes it
is summed up in the same order, and it stops where it would stop. That holds for columns that were
released as they are or mixed evenly; other matrices are multiplied in an order that depends on how
many rows there are.

The regularised EM: a chain of models, and how far to follow the data along it.

    one-way margins -> denoised pairs -> pairwise log-linear model -> all tables

Each model is the prior of the next, worth so many pseudo-records. How many is asked of the data:
a part of the released records is held out, the rest is fitted with ever fewer pseudo-records, and
each fit counts by how well it explains the records held out, less two things: half a standard error
of that comparison, because with strong noise a fit to noise often looks better by chance, and how
improbable its dependence is beforehand (association.py). What is left over are log weights, and the
result is the weighted mean of the fits: where nothing stands out, it stays near the prior. There is
nothing to tune. The parts are drawn from a fixed keystream, so that an estimate depends on the
release and on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import isfinite
from typing import Final

import numpy as np

from pramana.analysis.association import surprise_of, surprises_of
from pramana.analysis.channels import Channel, Channels, Same, UniformChannel
from pramana.analysis.em import (
    LONGEST_JUMP,
    Climb,
    Margins,
    divide,
    expected_truth,
    fit_margins,
    margin_of,
)
from pramana.analysis.spectral import first_guess
from pramana.base.randomness import Keystream
from pramana.types import FloatArray

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


PULLS = (1e5, 3e4, 1e4, 3e3, 1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0)
"""Pseudo-records to try, from nearly the prior to nearly none."""

FAR_BEHIND = 3.0
"""The walk ends at a fit whose log weight is so far below the best: it counts for nothing."""

FOLDS = 5
LARGE = 20_000
"""Above so many cells one part is held out instead of five, and the pairwise model is left out."""


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A fitted distribution of the truth.

    Attributes:
        table: The fitted true table; it sums to the number of released records.
    """

    table: FloatArray

    def truth(self, released: FloatArray, channels: Channels) -> FloatArray:
        """The expected true table of these very records.

        Not the fitted distribution: what the release says for certain (columns released as they
        are, values that never change) is kept, however the model would smooth it.
        """
        return expected_truth(released, self.table, channels)


def fit(released: FloatArray, channels: Channels) -> FittedTable:
    """Follow the chain as far as held-out records say.

    A small table of two columns stays at the guess unless their dependence is beyond doubt: all
    that noise could have made is averaged there already.
    """
    guess = first_guess(released, channels)
    if guess.settled:
        return FittedTable(guess.table)
    parts = _parts(released, 1 if released.size > LARGE else FOLDS)
    starts = [first_guess(rest, channels).table for rest, _ in parts]
    table = guess.table
    for margins in _links(channels, released.size):
        weights, starts = _walk(parts, starts, channels, margins)
        table = _mean(_ladder(released, table, channels, margins), weights)
    return FittedTable(guess.believed(table))


def _links(channels: Channels, cells: int) -> list[Margins | None]:
    ways = len(channels.layout.axes)
    if ways < 3 or cells > LARGE:
        return [None]
    return [list(combinations(range(ways), 2)), None]


def _ladder(
    released: FloatArray, prior: FloatArray, channels: Channels, margins: Margins | None
) -> Iterator[FloatArray]:
    """The prior, then fits with ever fewer pseudo-records: each starts from the one before."""
    climb = _climber(channels, prior, margins, float(prior.sum()))
    table = prior
    yield table
    for pull in PULLS:
        table = climb.run(released, pull=pull, start=table)
        yield table


def _ladders(
    released: list[FloatArray],
    priors: list[FloatArray],
    channels: Channels,
    margins: Margins | None,
) -> Iterator[Sequence[FloatArray]]:
    """A rung of each of several ladders after the other, climbed at once where that can be."""
    if not Climbs.possible(channels, [*released, *priors]):
        each = zip(released, priors, strict=True)
        yield from zip(*(_ladder(*own, channels, margins) for own in each), strict=True)
        return
    climbs = Climbs([_climber(channels, prior, margins, float(prior.sum())) for prior in priors])
    counts, tables = np.stack(released), np.stack(priors)
    yield list(tables)
    for pull in PULLS:
        tables = climbs.run(counts, pull=pull, starts=tables)
        yield list(tables)


def _mean(tables: Iterator[FloatArray], weights: FloatArray) -> FloatArray:
    found = sum(weight * table for weight, table in zip(weights, tables, strict=False))
    return np.asarray(found, dtype=np.float64)


def _climber(
    channels: Channels, prior: FloatArray, margins: Margins | None, records: float
) -> Climb:
    cells = prior.size
    if cells > LARGE:
        return Climb(channels, prior, margins, tolerance=3e-3, most=30)
    # The more records a cell has, the smaller the error that stopping early may add.
    exactness = min(1.0, 10 * math.sqrt(cells / max(records, 1.0)))
    return Climb(channels, prior, margins, tolerance=1e-4 * exactness)


def _walk(
    parts: list[tuple[FloatArray, FloatArray]],
    priors: list[FloatArray],
    channels: Channels,
    margins: Margins | None,
) -> tuple[FloatArray, list[FloatArray]]:
    """The weights of the prior and of each fit after it, and the mean tables they lead to."""
    first = _said(priors, channels)
    usual = _surprise(priors)
    gains: list[float] = []
    rungs: list[list[FloatArray]] = []
    for tables in _ladders([rest for rest, _ in parts], priors, channels, margins):
        gain = _gain(parts, first, _said(list(tables), channels)) - _surprise(list(tables)) + usual
        gains.append(gain)
        rungs.append(list(tables))
        if gain < max(gains) - FAR_BEHIND:
            break
    weights = np.exp(np.array(gains) - max(gains))
    weights /= weights.sum()
    return weights, [_mean(iter(tables), weights) for tables in zip(*rungs, strict=True)]


def _said(tables: list[FloatArray], channels: Channels) -> list[FloatArray]:
    """The logarithms of the probabilities of released cells."""
    tiny = 1e-300
    return [
        np.log(np.maximum(channels.forward(table) / max(float(table.sum()), tiny), tiny))
        for table in tables
    ]


def _surprise(tables: list[FloatArray]) -> float:
    if all(table.flags.c_contiguous for table in tables):
        return sum(surprises_of(np.stack(tables))) / len(tables)
    return sum(map(surprise_of, tables)) / len(tables)


def _gain(
    parts: list[tuple[FloatArray, FloatArray]], first: list[FloatArray], now: list[FloatArray]
) -> float:
    """How much better held-out records are explained than at first, less half its error [Yao]."""
    better = [new - old for new, old in zip(now, first, strict=True)]
    gain = sum(float((held * more).sum()) for (_, held), more in zip(parts, better, strict=True))
    square = sum(
        float((held * more**2).sum()) for (_, held), more in zip(parts, better, strict=True)
    )
    return gain - math.sqrt(square) / 2


def _parts(released: FloatArray, number: int) -> list[tuple[FloatArray, FloatArray]]:
    """Released records with a fifth held out, in ``number`` ways that do not overlap."""
    from scipy.special import bdtrik

    stream = Keystream.from_seed(0)
    counts = np.rint(released)
    left, parts = counts, []
    for part in range(number):
        uniforms = stream.uniforms("held out", part * counts.size, counts.size)
        share = 1 / (FOLDS - part)
        # The inverse of the binomial distribution at a uniform number is a binomial draw.
        drawn = np.zeros_like(counts)
        some = left > 0
        if share == 1:
            drawn = left
        else:
            drawn[some] = np.ceil(bdtrik(uniforms.reshape(counts.shape)[some], left[some], share))
        held = np.clip(np.nan_to_num(drawn), 0, left)
        left = left - held
        parts.append((counts - held, held))
    return parts
