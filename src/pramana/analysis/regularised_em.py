"""The regularised EM: estimate an original table through a chain of models.

    one-way margins -> denoised pairs -> pairwise log-linear model -> all tables

Each model is the prior of the next, worth a number of pseudo-records. The data choose this number:
a part of the released records is held out, the rest is fitted with ever fewer pseudo-records, and
each fit is scored by the likelihood of the held-out records. From the score two things are taken
off: half a standard error of the comparison, because with strong noise a fit to noise often looks
better by chance, and how improbable its dependence is beforehand (association.py). The scores are
log weights, and the result is the weighted mean of the fits. It stays near the prior if no fit is
clearly better. The parts are drawn from a fixed keystream, so an estimate is a function of the
release alone.

Write x for the original table, y for the released one, P for the mechanism. Given a guess p of the
original distribution, the expected original table of these records is

    z = p * P (y / (p P)).

Repeating p := z climbs the likelihood to its non-negative maximum, and then follows noise. Two
things hold it back: pseudo-records of a prior table (a Dirichlet prior), and a log-linear model, in
which only the margins of z are passed on (iterative proportional fitting).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from pramana.analysis.association import surprises_of
from pramana.analysis.channels import (
    Channels,
    Margins,
    Verb,
    divide,
    expected_truth,
    fit_margins,
    margin_of,
)
from pramana.analysis.spectral import first_guess
from pramana.base.randomness import Keystream
from pramana.types import FloatArray

PULLS = (1e5, 3e4, 1e4, 3e3, 1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0)
"""Pseudo-records to try, from nearly the prior to nearly none."""

FAR_BEHIND = 3.0
"""The walk ends at a fit whose log weight is so far below the best."""

FOLDS = 5
LARGE = 20_000
"""Above so many cells one part is held out instead of five, and the pairwise model is left out."""

LONGEST_JUMP = 16.0


def fit(released: FloatArray, channels: Channels) -> FloatArray:
    """The fitted distribution, in records.

    A small table of two columns stays at the first guess unless its dependence is beyond doubt: the
    guess is already the mean of all tables that noise could have made.
    """
    guess = first_guess(released, channels)
    if guess.settled:
        return guess.table
    parts = _folds(released, 1 if released.size > LARGE else FOLDS)
    priors = [first_guess(rest, channels).table for rest, _ in parts]
    table = guess.table
    ways = len(channels.layout.axes)
    pairwise = [] if ways < 3 or released.size > LARGE else [list(combinations(range(ways), 2))]
    for margins in (*pairwise, None):
        weights, priors = _weigh(parts, priors, channels, margins)
        table = _mean(_ladder(released, table, channels, margins), weights)
    return guess.believed(table)


def fitted_truth(released: FloatArray, channels: Channels) -> FloatArray:
    """The expected original table of these very records.

    Unlike the fitted distribution it keeps what the release says for certain: columns released
    unchanged, and values that never change.
    """
    return expected_truth(released, fit(released, channels), channels)


def climb(
    released: FloatArray,
    prior: FloatArray,
    start: FloatArray,
    channels: Channels,
    margins: Margins | None,
    *,
    pull: float,
    tolerance: float,
    most: int = 300,
) -> FloatArray:
    """The table to which EM leads from ``start``, with ``pull`` pseudo-records of the prior.

    It stops when a round moves less than the share ``tolerance`` of the records, or after ``most``
    rounds. Two rounds show the direction and how fast it shrinks; a jump along it, on the
    logarithms so that it stays positive and inside the model, saves many rounds [Varadhan].

    Args:
        released: The released counts.
        prior: The table of the pseudo-records.
        start: Where to begin.
        channels: The mechanism on the axes of the table.
        margins: The margins of a log-linear model, or ``None`` for all tables.
        pull: The number of pseudo-records.
        tolerance: See above.
        most: See above.
    """
    total = released.sum()
    if not total > 0:
        return prior
    added = prior * (pull / prior.sum())
    table: FloatArray = start * (total / start.sum())

    def one_round(table: FloatArray) -> FloatArray:
        ratio = divide(released, _through(channels, "forward", table))
        expected: FloatArray = table * _through(channels, "backward", ratio) + added
        expected = expected * (total / expected.sum())
        if margins is None:
            return expected
        return fit_margins(table, [margin_of(expected, keep) for keep in margins], margins)

    for _ in range(most // 3):
        first = one_round(table)
        second = one_round(first)
        settled = np.abs(second - first).sum() < tolerance * total
        table = one_round(_jump(table, first, second, total))
        if settled:
            break
    return table


def _through(channels: Channels, verb: Verb, table: FloatArray) -> FloatArray:
    for channel in channels.each:
        table = channel.along(verb, table)
    return table


def _jump(table: FloatArray, first: FloatArray, second: FloatArray, total: float) -> FloatArray:
    """Extrapolate two rounds to where they lead."""
    tiny = 1e-12 * total / table.size
    logs = [np.log(np.maximum(part, tiny)) for part in (table, first, second)]
    step, bend = logs[1] - logs[0], logs[2] - 2 * logs[1] + logs[0]
    # Cells that hold many records decide how far to jump.
    along, across = ((second * part**2).sum() for part in (step, bend))
    if not (across > 0 and along > across):
        return second
    length = min(math.sqrt(along / across), LONGEST_JUMP)
    far = logs[0] + 2 * length * step + length**2 * bend
    jumped = np.exp(np.minimum(np.maximum(far, -700.0), 700.0))
    jumped = np.where(second > tiny, jumped, second)
    size = jumped.sum()
    return jumped * (total / size) if np.isfinite(size) and size > 0 else second


def _ladder(
    released: FloatArray, prior: FloatArray, channels: Channels, margins: Margins | None
) -> Iterator[FloatArray]:
    """The prior, then fits with ever fewer pseudo-records: each starts from the one before."""
    # The more records a cell has, the smaller the error that stopping early may add.
    exactness = 10 * math.sqrt(prior.size / max(prior.sum(), 1.0))
    large = prior.size > LARGE
    tolerance, most = (3e-3, 30) if large else (1e-4 * min(exactness, 1), 300)
    table = prior
    yield table
    for pull in PULLS:
        table = climb(
            released, prior, table, channels, margins, pull=pull, tolerance=tolerance, most=most
        )
        yield table


def _mean(tables: Iterable[FloatArray], weights: FloatArray) -> FloatArray:
    weighted = (weight * table for weight, table in zip(weights, tables, strict=False))
    return np.asarray(sum(weighted), dtype=np.float64)


Fold = tuple[FloatArray, FloatArray]
"""The released records without a part, and that part."""


def _weigh(
    folds: Sequence[Fold], priors: Sequence[FloatArray], channels: Channels, margins: Margins | None
) -> tuple[FloatArray, list[FloatArray]]:
    """The weights of the prior and of each fit after it, and the mean table of each fold."""
    first = [_log_shares(prior, channels) for prior in priors]
    usual = np.mean(surprises_of(np.stack(priors)))
    pairs = zip(folds, priors, strict=True)
    ladders = [_ladder(rest, prior, channels, margins) for (rest, _), prior in pairs]
    gains: list[float] = []
    rungs: list[tuple[FloatArray, ...]] = []
    for tables in zip(*ladders, strict=True):
        surprise = np.mean(surprises_of(np.stack(tables)))
        better = [_log_shares(t, channels) - log for t, log in zip(tables, first, strict=True)]
        gains.append(float(_gain(folds, better) - surprise + usual))
        rungs.append(tables)
        if gains[-1] < max(gains) - FAR_BEHIND:
            break
    weights = np.exp(np.array(gains) - max(gains))
    weights /= weights.sum()
    return weights, [_mean(tables, weights) for tables in zip(*rungs, strict=True)]


def _log_shares(table: FloatArray, channels: Channels) -> FloatArray:
    """The logarithms of the probabilities of released cells."""
    tiny = 1e-300
    shares = channels.forward(table) / max(float(table.sum()), tiny)
    return np.asarray(np.log(np.maximum(shares, tiny)))


def _gain(folds: Sequence[Fold], better: Sequence[FloatArray]) -> float:
    """The gain in log-likelihood of held-out records, less half its standard error [Yao]."""
    held = [held for _, held in folds]
    gain = sum(float((h * more).sum()) for h, more in zip(held, better, strict=True))
    square = sum(float((h * more**2).sum()) for h, more in zip(held, better, strict=True))
    return gain - math.sqrt(square) / 2


def _folds(released: FloatArray, number: int) -> list[Fold]:
    """Released records with a fifth held out, in ``number`` ways that do not overlap."""
    from scipy.special import bdtrik

    stream = Keystream.from_seed(0)
    counts = np.rint(released)
    left, folds = counts, []
    for fold in range(number):
        uniforms = stream.uniforms("held out", fold * counts.size, counts.size)
        share = 1 / (FOLDS - fold)
        # The inverse of the binomial distribution at a uniform number is a binomial draw.
        drawn = np.zeros_like(counts)
        some = left > 0
        if share == 1:
            drawn = left
        else:
            drawn[some] = np.ceil(bdtrik(uniforms.reshape(counts.shape)[some], left[some], share))
        held = np.clip(np.nan_to_num(drawn), 0, left)
        left = left - held
        folds.append((counts - held, held))
    return folds
