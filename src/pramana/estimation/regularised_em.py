"""The regularised EM: a chain of models, and how far to follow the data along it.

    one-way margins -> denoised pairs -> pairwise log-linear model -> all tables

Each model is the prior of the next, worth so many pseudo-records. How many is asked of the data:
a part of the released records is held out, the rest is fitted with ever fewer pseudo-records, and
the walk stops where the held-out records are explained best. There is nothing to tune. The parts
are drawn from a fixed keystream, so that an estimate depends on the release and on nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.em import Climb, Margins, expected_truth, log_likelihood
from pramana.estimation.spectral import first_guess
from pramana.randomness import Keystream
from pramana.types import FloatArray

__all__ = ["FittedTable", "fit", "refit"]

PULLS = (1e5, 3e4, 1e4, 3e3, 1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0)
"""Pseudo-records to try, from nearly the prior to nearly none."""

FOLDS = 5
LARGE = 20_000
"""Above so many cells one part is held out instead of five, and the pairwise model is left out."""


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A fitted distribution of the truth.

    Attributes:
        table: The fitted true table; it sums to the number of released records.
        pulls: Pseudo-records at each link of the chain; ``inf`` where the prior was kept.
    """

    table: FloatArray
    pulls: tuple[float, ...]

    def truth(self, released: FloatArray, channels: Channels) -> FloatArray:
        """The expected true table of these very records.

        Not the fitted distribution: what the release says for certain (columns released as they
        are, values that never change) is kept, however the model would smooth it.
        """
        return expected_truth(released, self.table, channels)


def fit(released: FloatArray, channels: Channels) -> FittedTable:
    """Follow the chain as far as held-out records say."""
    links = _links(channels, released.size)
    parts = _parts(released, 1 if released.size > LARGE else FOLDS)
    starts = [first_guess(rest, channels) for rest, _ in parts]
    table, pulls = first_guess(released, channels), []
    for margins in links:
        pull, starts = _walk(parts, starts, channels, margins)
        pulls.append(pull)
        table = _climb(released, table, channels, margins, pull)
    return FittedTable(table, tuple(pulls))


def refit(released: FloatArray, channels: Channels, pulls: tuple[float, ...]) -> FittedTable:
    """The same with the pseudo-records already chosen: what a bootstrap repeats."""
    table = first_guess(released, channels)
    for margins, pull in zip(_links(channels, released.size), pulls, strict=True):
        if math.isfinite(pull):
            climb = _climber(channels, table, margins, float(released.sum()))
            table = climb.run(released, pull=pull, start=table)
    return FittedTable(table, pulls)


def _links(channels: Channels, cells: int) -> list[Margins | None]:
    ways = len(channels.layout.axes)
    if ways < 3 or cells > LARGE:
        return [None]
    return [list(combinations(range(ways), 2)), None]


def _climb(
    released: FloatArray,
    prior: FloatArray,
    channels: Channels,
    margins: Margins | None,
    pull: float,
) -> FloatArray:
    """Down the same ladder of pulls as the walk took: each step starts from the one above."""
    if math.isinf(pull):
        return prior
    climb = _climber(channels, prior, margins, float(released.sum()))
    table = prior
    for step in (step for step in PULLS if step >= pull):
        table = climb.run(released, pull=step, start=table)
    return table


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
) -> tuple[float, list[FloatArray]]:
    """The pull under which held-out records are likeliest, and the tables it leads to."""
    climbs = [_climber(channels, prior, margins, float(prior.sum())) for prior in priors]
    tables = best_tables = priors
    best, best_pull, worse = _score(parts, tables, channels), math.inf, 0
    for pull in PULLS:
        tables = [
            climb.run(rest, pull=pull, start=table)
            for climb, (rest, _), table in zip(climbs, parts, tables, strict=True)
        ]
        score = _score(parts, tables, channels)
        if score > best:
            best, best_pull, best_tables, worse = score, pull, tables, 0
        else:
            worse += 1
            if worse == 2:
                break
    return best_pull, best_tables


def _score(
    parts: list[tuple[FloatArray, FloatArray]], tables: list[FloatArray], channels: Channels
) -> float:
    return sum(
        log_likelihood(held, table, channels)
        for (_, held), table in zip(parts, tables, strict=True)
    )


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
