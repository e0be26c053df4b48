"""The regularised EM: a chain of models, and how far to follow the data along it.

    one-way margins -> denoised pairs -> pairwise log-linear model -> all tables

Each model is the prior of the next, worth this many pseudo-records. How many is asked of the data:
a part of the released records is held out, the rest is fitted with ever fewer pseudo-records, and
each fit counts by how well it explains the records held out, less two things: half a standard error
of that comparison, because with strong noise a fit to noise often looks better by chance, and how
improbable its dependence is beforehand (association.py). What is left over are log weights, and the
result is the weighted mean of the fits: where nothing stands out, it stays near the prior. There is
nothing to tune. The parts are drawn from a fixed keystream, so that an estimate depends on the
release and on nothing else.

Expectation-maximisation on whole tables.

Write x for the original table, y for the released one, P for the mechanism. Given a guess p of the
true distribution, the expected original table of these records is

    z = p * P (y / (p P)),

each released cell shared out among the truths it can come from, in proportion to how likely each
is. Repeating p := z climbs the likelihood to its non-negative maximum, and then chases noise. Two
things hold it back: pseudo-records that pull towards a prior table (a Dirichlet prior), and a
log-linear model, in which only the margins of z are passed on (iterative proportional fitting).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np

from pramana.analysis.association import surprises_of
from pramana.analysis.channels import (
    Channel,
    Channels,
    Margins,
    Mixed,
    Unchanged,
    Verb,
    divide,
    expected_truth,
    fit_margins,
    margin_of,
)
from pramana.analysis.spectral import first_guess
from pramana.base.randomness import Keystream
from pramana.types import FloatArray

MOST_AT_ONCE: Final = 4096
"""Cells of each of several tables that climb at once; larger ones climb one after the other."""


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


# -- the chain of models ----------------------------------------------------------------------

PULLS = (1e5, 3e4, 1e4, 3e3, 1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0)
"""Pseudo-records to try, from nearly the prior to nearly none."""

FAR_BEHIND = 3.0
"""The walk ends at a fit whose log weight is so far below the best: it counts for nothing."""

FOLDS = 5
LARGE = 20_000
"""Above so many cells one part is held out instead of five, and the pairwise model is left out."""


def fit(released: FloatArray, channels: Channels) -> FloatArray:
    """The fitted distribution, in records: follow the chain as far as held-out records say.

    A small table of two columns stays at the guess unless their dependence is beyond doubt: all
    that noise could have made is averaged there already.
    """
    guess = first_guess(released, channels)
    if guess.settled:
        return guess.table
    parts = _parts(released, 1 if released.size > LARGE else FOLDS)
    starts = [first_guess(rest, channels).table for rest, _ in parts]
    table = guess.table
    for margins in _links(channels, released.size):
        weights, starts = _walk(parts, starts, channels, margins)
        ladder = _ladders([released], [table], channels, margins)
        table = _mean((rung[0] for rung in ladder), weights)
    return guess.believed(table)


def fitted_truth(released: FloatArray, channels: Channels) -> FloatArray:
    """The expected original table of these very records.

    Not the fitted distribution: what the release says for certain (columns released unchanged,
    values that never change) is kept, however the model would smooth it.
    """
    return expected_truth(released, fit(released, channels), channels)


def _links(channels: Channels, cells: int) -> list[Margins | None]:
    ways = len(channels.layout.axes)
    if ways < 3 or cells > LARGE:
        return [None]
    return [list(combinations(range(ways), 2)), None]


def _ladders(
    released: Sequence[FloatArray],
    priors: Sequence[FloatArray],
    channels: Channels,
    margins: Margins | None,
) -> Iterator[Sequence[FloatArray]]:
    """The priors, then fits with ever fewer pseudo-records: each starts from the one before."""
    if len(released) > 1 and not climbs_at_once(channels, [*released, *priors]):
        pairs = zip(released, priors, strict=True)
        alone = (_ladders([table], [prior], channels, margins) for table, prior in pairs)
        yield from ([rung[0] for rung in rungs] for rungs in zip(*alone, strict=True))
        return
    counts, tables = (
        np.stack(list(side)) if len(side) > 1 else side[0][None] for side in (released, priors)
    )
    cells = tables[0].size
    # The more records a cell has, the smaller the error that stopping early may add.
    exactness = 10 * np.sqrt(cells / np.maximum([table.sum() for table in priors], 1.0))
    tolerances = np.full(len(tables), 3e-3) if cells > LARGE else 1e-4 * np.minimum(exactness, 1)
    climb = Climb(channels, tables, margins, tolerances, most=30 if cells > LARGE else 300)
    yield list(tables)
    for pull in PULLS:
        tables = climb.run(counts, pull=pull, starts=tables)
        yield list(tables)


def climbs_at_once(channels: Channels, tables: Sequence[FloatArray]) -> bool:
    """Whether several tables can climb at once, to the last bit as each would alone.

    Other matrices are multiplied in an order that depends on how many rows there are.
    """
    return (
        all(isinstance(channel, Unchanged | Mixed) for channel in channels.each)
        and tables[0].size <= MOST_AT_ONCE
        and all(table.flags.c_contiguous and table.sum() > 0 for table in tables)
    )


def _mean(tables: Iterable[FloatArray], weights: FloatArray) -> FloatArray:
    found = sum(weight * table for weight, table in zip(weights, tables, strict=False))
    return np.asarray(found, dtype=np.float64)


def _walk(
    parts: list[tuple[FloatArray, FloatArray]],
    priors: list[FloatArray],
    channels: Channels,
    margins: Margins | None,
) -> tuple[FloatArray, list[FloatArray]]:
    """The weights of the prior and of each fit after it, and the mean tables they lead to."""
    first = _said(priors, channels)
    usual = np.mean(surprises_of(np.stack(priors)))
    gains: list[float] = []
    rungs: list[Sequence[FloatArray]] = []
    for tables in _ladders([rest for rest, _ in parts], priors, channels, margins):
        surprise = np.mean(surprises_of(np.stack(tables)))
        gain = float(_gain(parts, first, _said(tables, channels)) - surprise + usual)
        gains.append(gain)
        rungs.append(tables)
        if gain < max(gains) - FAR_BEHIND:
            break
    weights = np.exp(np.array(gains) - max(gains))
    weights /= weights.sum()
    return weights, [_mean(tables, weights) for tables in zip(*rungs, strict=True)]


def _said(tables: Sequence[FloatArray], channels: Channels) -> list[FloatArray]:
    """The logarithms of the probabilities of released cells."""
    tiny = 1e-300
    return [
        np.log(np.maximum(channels.forward(table) / max(float(table.sum()), tiny), tiny))
        for table in tables
    ]


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
