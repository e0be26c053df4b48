"""The regularised EM: a chain of models, and how far to follow the data along it.

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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from pramana.analysis.association import surprises_of
from pramana.analysis.channels import Channels, Mixed, Unchanged
from pramana.analysis.em import Climb, Margins, expected_truth
from pramana.analysis.spectral import first_guess
from pramana.base.randomness import Keystream
from pramana.types import FloatArray

MOST_AT_ONCE: Final = 4096
"""Cells of each of several tables that climb at once; larger ones climb one after the other."""

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
        ladder = _ladders([released], [table], channels, margins)
        table = _mean((rung[0] for rung in ladder), weights)
    return FittedTable(guess.believed(table))


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
