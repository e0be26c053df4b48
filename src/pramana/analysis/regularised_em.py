"""The regularised EM: estimate an original table through a chain of models.

    one-way margins -> denoised pairs -> pairwise log-linear model -> all tables

Each model is the prior of the next, worth a number of pseudo-records. Fits with ever fewer of them
are scored by the likelihood of held-out records, less half a standard error of the comparison, and
less how improbable their dependence is beforehand (association.py). The scores are log weights, and
the result is the weighted mean of the fits (docs/howto/shrinkage.md).

Given a guess p of the original distribution, the released table y and the mechanism P, the expected
original table of these records is

    z = p * P (y / (p P)).

Repeating p := z climbs the likelihood to its non-negative maximum, and then follows noise. Two
things hold it back: pseudo-records of a prior table (a Dirichlet prior), and a log-linear model, in
which only the margins of z are passed on (iterative proportional fitting).

The first guess of a table comes from its one- and two-way margins. The Pearson residuals of a
released two-way table are noise of variance (nearly) 1 in every entry, whatever the matrices, plus
what is left of the dependence. Their singular values are shrunk by the rule that is optimal under
white noise [Gavish], or all of it by one factor if Stein's estimate of the error is smaller then
[Candes]. Undoing the matrices then amplifies little noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from pramana.analysis.association import (
    SMALL,
    SURE,
    believable,
    mean_table,
    strength_of,
    surprises_of,
    usual_part,
)
from pramana.analysis.channels import (
    Channels,
    Margins,
    divide,
    expected_original,
    fit_margins,
    margin_of,
)
from pramana.analysis.latent_classes import LEAN
from pramana.base.randomness import Keystream
from pramana.types import FloatArray

NO_NOISE = 1e-9

ENOUGH = 4.0
"""This many possible tables beyond one weigh as much as the guess from directions."""

STEPS = 200

INDEPENDENT_SHARE = 0.01
"""The share of independence in the guess, so that no cell starts at 0."""


def onto_simplex(estimate: FloatArray, total: float) -> FloatArray:
    """The nearest non-negative table with the given total.

    Subtracts one constant from all entries and cuts at 0. Unlike cutting and rescaling it does
    not take from large entries more than from small ones.

    >>> onto_simplex(np.array([6.0, 5.0, -1.0]), 10.0)
    array([5.5, 4.5, 0. ])
    """
    flat = np.sort(estimate.ravel())[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > excess)[-1]) if total > 0 else 0
    return np.asarray(np.maximum(estimate - excess[last], 0), dtype=np.float64)


def leaning(estimate: FloatArray, se: FloatArray, total: float | FloatArray) -> FloatArray:
    """The most probable positive table with the given total.

    The last axis is a table; further axes hold several tables, each with its own total.

    The cells have like Normal errors and a Dirichlet prior of a little more than one record each.
    If errors differ, all cells still move by one constant, which has less error than moves by
    error. Without noise it is the nearest table. With noise stronger than the table, the nearest
    table would be a single random cell, and this one has nearly even counts.

    >>> leaning(np.array([6.0, 5.0, -1.0]), np.full(3, 0.01), 10.0).round(2)
    array([5.5, 4.5, 0. ])
    >>> leaning(np.array([600.0, -500.0, -90.0]), np.full(3, 500.0), 10.0).round(2)
    array([3.42, 3.26, 3.32])
    """
    table, totals = np.zeros_like(estimate), np.asarray(total, dtype=np.float64)
    some = totals > 0
    values, apart, totals = estimate[some], 4 * LEAN * se[some] ** 2, totals[some][:, None]
    # Newton's steps to the constant: the sum is convex and falls, so none from above goes too far.
    middle = np.min(values, axis=1, keepdims=True) - totals
    for _ in range(STEPS):
        cells, width = _root(values - middle, apart)
        size = np.add.reduce(cells, axis=1, keepdims=True)
        above = size > totals * (1 + 1e-14)
        if not above.any():
            break
        rises = np.add.reduce(divide(cells, width), axis=1, keepdims=True)
        middle = np.where(above, middle + (size - totals) / rises, middle)
    table[some] = cells * (totals / size)
    return table


def _root(moved: FloatArray, apart: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The positive x with x (x - moved) = apart / 4, exact on either side of 0; and x / (dx/dm)."""
    width = np.sqrt(moved**2 + apart)
    length = np.abs(moved) + width
    return np.where(moved > 0, length / 2, divide(apart / 2, length)), width


def shrink_singular_values(values: FloatArray, rows: int, columns: int) -> FloatArray:
    """Singular values of signal plus noise of variance 1, shrunk for the least squared error."""
    longer = max(rows, columns, 1)
    ratio = min(rows, columns) / longer
    scaled = values / np.sqrt(longer)
    inside = np.maximum((scaled**2 - ratio - 1) ** 2 - 4 * ratio, 0)
    shrunk = divide(np.sqrt(inside), scaled) * np.sqrt(longer)
    return np.where(scaled > 1 + np.sqrt(ratio), shrunk, 0)


Signal = tuple[FloatArray, float, int]
"""A table, its squared length in errors, and in how many coordinates."""

MarginPair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class FirstGuess:
    """A positive table that fits all denoised two-way margins of the original data.

    Attributes:
        table: The counts.
        evidence: For the dependence of two columns, as a logarithm (association.py).
        averaged: Whether it is the mean of all possible tables of two columns (association.py).
    """

    table: FloatArray
    evidence: float = math.inf
    averaged: bool = False

    @property
    def settled(self) -> bool:
        """Whether following the data further would follow their noise."""
        return self.averaged and self.evidence < SURE

    def believed(self, table: FloatArray) -> FloatArray:
        """Another table of the two columns, its dependence no stronger than the evidence allows."""
        if self.evidence >= SURE:
            return table
        independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / float(table.sum())
        kept = believable(table - independent, independent, self.evidence)
        return np.asarray(independent + kept, dtype=np.float64)


def first_guess(released: FloatArray, channels: Channels) -> FirstGuess:
    """The best guess from one- and two-way margins alone."""
    total, ways = float(released.sum()), released.ndim
    if total <= 0:  # a single record, which is held out
        return FirstGuess(np.ones(released.shape))

    def spanning(table: FloatArray, axes: tuple[int, ...]) -> FloatArray:
        """The same table in a shape that broadcasts against all axes."""
        return table.reshape([released.shape[a] if a in axes else 1 for a in range(ways)])

    singles = [single_margin(released, channels, axis) for axis in range(ways)]
    independent = np.full(released.shape, total)
    for axis, single in enumerate(singles):
        independent = independent * spanning(single / max(total, 1e-300), (axis,))
    pairs = list(combinations(range(ways), 2))
    guesses = [_usual_pair(released, channels, (a, b), (singles[a], singles[b])) for a, b in pairs]
    targets = [spanning(guess.table, pair) for guess, pair in zip(guesses, pairs, strict=True)]
    table = independent
    for _ in range(20 if table.size > 100_000 else 60):
        fitted = fit_margins(table, targets, pairs)
        moved = float(np.abs(fitted - table).sum())
        table = fitted
        if moved < 1e-3 * total:
            break
    floor = 1e-6 * total / released.size  # EM can never leave an exact 0 again
    table = (1 - INDEPENDENT_SHARE) * table + INDEPENDENT_SHARE * independent + floor
    return replace(guesses[0], table=table) if ways == 2 else FirstGuess(table)


def single_margin(released: FloatArray, channels: Channels, axis: int) -> FloatArray:
    """The margin of one axis, non-negative; shrunk if it is noise."""
    places = channels.closure((axis,))
    sub = Channels(channels.layout.only(places))
    seen = _marginal(released, range(released.ndim), places)
    estimate = _marginal(sub.solve(seen), places, (axis,))
    total = float(seen.sum())
    even = np.full(estimate.size, total / estimate.size)
    variance = np.maximum(_marginal(sub.spread(seen), places, (axis,)) - estimate, 0)
    # [James-Stein]: towards even counts by as much as noise alone would have moved them away; not
    # at all if most of the way is no noise, as uneven counts are not nearer to even ones then.
    distance = float(((estimate - even) ** 2).sum())
    real = max(0.0, 1 - float(variance.sum()) / distance) if distance > 0 else 0.0
    keep = min(1.0, 2 * real)
    return leaning(even + keep * (estimate - even), keep * np.sqrt(variance), total)


def _marginal(table: FloatArray, places: Sequence[int], keep: tuple[int, ...]) -> FloatArray:
    out = tuple(at for at, place in enumerate(places) if place not in keep)
    return np.asarray(table.sum(axis=out), dtype=np.float64)


def _usual_pair(
    released: FloatArray, channels: Channels, pair: tuple[int, int], margins: MarginPair
) -> FirstGuess:
    """The two-way margin whose dependence is no stronger than noise and experience allow."""
    seen = ReleasedPair.of(released, channels, pair, margins)
    dependence, square, free = seen.white() if seen.alone else seen.in_strata()
    keep, evidence = usual_part(strength_of(dependence, seen.independent), square, free)
    kept, averaged = keep * dependence, seen.small and seen.noise > NO_NOISE
    if averaged:
        mean, counting, evidence = mean_table(seen.table, seen.channels, margins, seen.noise)
        kept += (mean - kept) / (1 + (ENOUGH / max(counting - 1, 1e-9)) ** 2)
    kept = believable(kept, seen.independent, evidence)
    return FirstGuess(_fitting(seen.independent + kept, margins), evidence, averaged)


def usual_pair(unbiased: FloatArray, se: FloatArray, margins: MarginPair) -> FloatArray:
    """The same of a table that was undone already, from its standard errors.

    The margins may be known better than from the table itself.
    """
    total = max(float(unbiased.sum()), 1e-300)
    dependence = unbiased - np.outer(unbiased.sum(axis=1), unbiased.sum(axis=0)) / total
    independent = np.outer(*margins) / total
    kept, square, free = shrunk(divide(dependence, se))
    keep, evidence = usual_part(strength_of(kept * se, independent), square, free)
    return _fitting(independent + believable(keep * kept * se, independent, evidence), margins)


@dataclass(frozen=True, eq=False)
class ReleasedPair:
    """The released table of a pair of axes, and of those that their matrices depend on."""

    table: FloatArray
    channels: Channels
    places: tuple[int, ...]
    pair: tuple[int, int]
    independent: FloatArray

    @classmethod
    def of(
        cls, released: FloatArray, channels: Channels, pair: tuple[int, int], margins: MarginPair
    ) -> ReleasedPair:
        """From the table of all axes, with the given margins of the original data."""
        places = channels.closure(pair)
        seen = _marginal(released, range(released.ndim), places)
        independent = np.outer(*margins) / max(float(seen.sum()), 1e-300)
        return cls(seen, Channels(channels.layout.only(places)), places, pair, independent)

    @property
    def alone(self) -> bool:
        """Whether the matrices of the pair depend on nothing else."""
        return self.places == self.pair

    @property
    def small(self) -> bool:
        """Whether all possible tables can be enumerated."""
        wide = min(self.table.shape) > 1 and self.table.sum() > 0
        return self.alone and wide and self.table.size <= SMALL

    @cached_property
    def noise(self) -> float:
        """The share of chance in the released cell of a record, under independence.

        It is 0 if all values stay for certain: unchanged columns, retention 1.
        """
        total = max(float(self.table.sum()), 1e-300)
        return 1 - float(self.channels.squared(self.independent).sum()) / total

    @property
    def unbiased(self) -> FloatArray:
        """The difference of the solved table to independence."""
        solved = _marginal(self.channels.solve(self.table), self.places, self.pair)
        total = max(float(self.table.sum()), 1e-300)
        return solved - np.outer(solved.sum(axis=1), solved.sum(axis=0)) / total

    def white(self) -> Signal:
        """Released minus independent, denoised, and undone; and its length in errors."""
        total = max(float(self.table.sum()), 1e-300)
        expected = np.outer(self.table.sum(axis=1), self.table.sum(axis=0)) / total
        scale = np.sqrt(expected)
        residuals = divide(self.table - expected, scale)
        if self.noise <= NO_NOISE:
            return self.channels.solve(residuals * scale), np.inf, 1
        kept, square, free = shrunk(residuals / np.sqrt(self.noise))
        return self.channels.solve(kept * np.sqrt(self.noise) * scale), square, free

    def in_strata(self) -> Signal:
        """The same where residuals are not white: as if noise were even."""
        dependence, channels = self.unbiased, self.channels
        noise = channels.spread(self.table) - channels.solve(self.table)
        floor = np.maximum(self.independent, 1e-3 * self.independent.mean())
        expected = float((_marginal(np.maximum(noise, 0), self.places, self.pair) / floor).sum())
        power = float((dependence**2 / floor).sum())
        if expected <= 1e-9 * power or power <= 0:
            return dependence, np.inf, 1
        free = max((dependence.shape[0] - 1) * (dependence.shape[1] - 1), 1)
        return dependence, power * free / expected, free


def _fitting(table: FloatArray, margins: MarginPair) -> FloatArray:
    """The nearest possible table, brought to its margins; an empty value becomes independent."""
    rows, columns = margins
    total = float(rows.sum())
    near = onto_simplex(table, total)
    occurs = np.outer(near.sum(axis=1), near.sum(axis=0)) > 0
    fitted = np.where(occurs, near, np.outer(rows, columns) / max(total, 1e-300))
    for _ in range(50):
        fitted = fitted * divide(rows, fitted.sum(axis=1))[:, None]
        factors = divide(columns, fitted.sum(axis=0))
        fitted = fitted * factors
        if np.abs(factors * (columns > 0) - (columns > 0)).max() < 1e-4:
            break
    return np.asarray(fitted)


def shrunk(residuals: FloatArray) -> Signal:
    """The signal in signal plus noise of variance 1.

    It is shrunk in all directions alike, or in a few, with singular values shrunk one by one:
    whichever has the smaller error by Stein's unbiased estimate. Its squared length in errors and
    their number of coordinates are for the later decision how much of it to keep.
    """
    rows, columns = residuals.shape[0] - 1, residuals.shape[1] - 1
    power, free = float((residuals**2).sum()), rows * columns
    if power <= 0 or free < 1:
        return residuals, 0.0, 1
    if min(residuals.shape) > 600:  # for which singular values take too long
        return residuals, power, free
    left, values, right = np.linalg.svd(residuals, full_matrices=False)
    risk = free + (4 - free) * free / power if power > free else power - free
    if risk <= _spectral_risk(values, rows, columns):
        return residuals, power, free
    kept = shrink_singular_values(values, rows, columns)
    length = float(np.sqrt((kept**2).sum()))
    errors = min(length, _largest_score(values, rows, columns))
    return np.asarray((left * kept) @ right), errors**2, 1


def _largest_score(values: FloatArray, rows: int, columns: int) -> float:
    """How far the largest singular value lies beyond those of noise alone, in deviations.

    Its square has the law of Tracy and Widom, of mean -1.21 and deviation 1.27 [Johnstone].
    """
    edge = math.sqrt(rows) + math.sqrt(columns)
    scale = edge * math.cbrt(edge / math.sqrt(rows * columns))
    return max(0.0, float((values[0] ** 2 - edge**2) / scale + 1.21) / 1.27)


def _spectral_risk(values: FloatArray, rows: int, columns: int) -> float:
    """The unbiased estimate of the squared error of shrunk singular values [Candes]."""
    fewer, more = sorted((rows, columns))
    before, step = np.maximum(values[:fewer], 1e-9), 1e-4
    after = shrink_singular_values(before, rows, columns)
    slope = shrink_singular_values(before + step, rows, columns) - after
    gaps = before[:, None] ** 2 - before**2
    pulled = divide(np.broadcast_to((before * after)[:, None], gaps.shape), np.abs(gaps))
    divergence = (more - fewer) * (after / before).sum() + slope.sum() / step
    divergence += 2 * (pulled * np.sign(gaps)).sum()
    return float(((after - before) ** 2).sum() - rows * columns + 2 * divergence)


PULLS = (1e5, 3e4, 1e4, 3e3, 1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0)
"""Pseudo-records to try, from nearly the prior to nearly none."""


FOLDS = 5
LARGE = 20_000
"""Above this many cells one part is held out instead of five, and the pairwise model is left out.
"""


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


def fitted_original(released: FloatArray, channels: Channels) -> FloatArray:
    """The expected original table of these very records.

    Unlike the fitted distribution it keeps what the release says for certain: columns released
    unchanged, and values that never change.
    """
    return expected_original(released, fit(released, channels), channels)


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
    ``margins`` are those of a log-linear model; all tables are possible where there are none.
    """
    total = released.sum()
    if not total > 0:
        return prior
    added = prior * (pull / prior.sum())
    table: FloatArray = start * (total / start.sum())

    def one_round(table: FloatArray) -> FloatArray:
        expected: FloatArray = expected_original(released, table, channels) + added
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


def _jump(table: FloatArray, first: FloatArray, second: FloatArray, total: float) -> FloatArray:
    """Extrapolate two rounds to where they lead."""
    tiny = 1e-12 * total / table.size
    logs = [np.log(np.maximum(part, tiny)) for part in (table, first, second)]
    step, bend = logs[1] - logs[0], logs[2] - 2 * logs[1] + logs[0]
    # Cells that hold many records decide how far to jump.
    along, across = ((second * part**2).sum() for part in (step, bend))
    if not (across > 0 and along > across):
        return second
    length = min(math.sqrt(along / across), 16.0)
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
    ladders = [
        _ladder(rest, prior, channels, margins)
        for (rest, _), prior in zip(folds, priors, strict=True)
    ]
    gains: list[float] = []
    rungs: list[tuple[FloatArray, ...]] = []
    for tables in zip(*ladders, strict=True):
        surprise = np.mean(surprises_of(np.stack(tables)))
        better = [_log_shares(t, channels) - log for t, log in zip(tables, first, strict=True)]
        pairs = [(held, more) for (_, held), more in zip(folds, better, strict=True)]
        gain = sum(float((held * more).sum()) for held, more in pairs)
        square = sum(float((held * more**2).sum()) for held, more in pairs)
        # Less half the standard error of the gain [Yao].
        gains.append(float(gain - math.sqrt(square) / 2 - surprise + usual))
        rungs.append(tables)
        if gains[-1] < max(gains) - 3.0:  # clearly behind
            break
    weights = np.exp(np.array(gains) - max(gains))
    weights /= weights.sum()
    return weights, [_mean(tables, weights) for tables in zip(*rungs, strict=True)]


def _log_shares(table: FloatArray, channels: Channels) -> FloatArray:
    """The logarithms of the probabilities of released cells."""
    tiny = 1e-300
    shares = channels.forward(table) / max(float(table.sum()), tiny)
    return np.asarray(np.log(np.maximum(shares, tiny)))


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
