"""How strongly the columns of a table depend on each other, and how strongly they usually do.

Noise makes independent columns look dependent. The prior of Cramer's V separates the two: over
1,500 pairs of columns of seven censuses and surveys it has the median 0.07, 0.39 at the 90th
percentile and 0.72 at the 99th, a tail like 1 / V^2, as the density (1 + V / median)^-2 / median up
to 1 has it. Where the data determine V, the prior changes next to nothing; where they do not, the
estimate stays near independence.

To invent strong dependence is worse than to understate it: more than V = 0.34 is estimated only
where the release is a hundred times as likely under dependence (every V from 0 to 1 alike) as under
independence. For independent columns that ratio is 1 on average, so that it reaches 100 in at most
one table of a hundred (Markov; docs/howto/shrinkage.md).

Small tables: the posterior mean over possible original tables. Counts cannot be negative, which
excludes most of what strong noise could produce. Tables are drawn from the prior, from nearly
independent ones to those with all but a few cells empty, each with the margins of the original.
Each is weighted by the likelihood of the release and by the prior of its V. This needs drawn tables
near the release: where few of them count, what ``spectral.py`` found is taken instead. The draws
come from a fixed keystream, so that an estimate depends on the release and on nothing else.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from pramana.analysis.channels import Channels
from pramana.base.randomness import Keystream
from pramana.types import FloatArray

USUAL_STRENGTH: Final = 0.07
"""The median of Cramer's V over pairs of columns, before any data are seen."""

STRONG: Final = 0.34
SURE: Final = math.log(100)
"""Dependence above ``STRONG`` needs this logarithm of a Bayes factor."""

FAR: Final = 8.0
"""No original is considered beyond this many errors from the release."""

STEPS: Final = np.linspace(0, 1, 401)[1:] ** 2
STEPS_APART: Final = np.gradient(STEPS)
"""Lengths of the original vector that are tried: densest near 0."""


def strength_of(dependence: FloatArray, independent: FloatArray) -> float:
    """Cramer's V of a table, given by its difference from independence.

    >>> strength_of(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0))
    1.0
    """
    return float(_strengths(dependence[None], independent[None])[0])


def surprises_of(tables: FloatArray) -> list[float]:
    """How improbable the dependence of each table is a priori: -log density.

    Summed over pairs of axes; tables lie behind each other along the first axis.
    """
    surprises = np.zeros(len(tables))
    totals = np.maximum(tables.sum(axis=tuple(range(1, tables.ndim))), 1e-300)[:, None, None]
    for pair in combinations(range(1, tables.ndim), 2):
        out = tuple(axis for axis in range(1, tables.ndim) if axis not in pair)
        margins = tables.sum(axis=out)
        independent = margins.sum(axis=2)[:, :, None] * margins.sum(axis=1)[:, None] / totals
        strengths = _strengths(margins - independent, independent)
        surprises += 2 * np.log1p(strengths / USUAL_STRENGTH)
    return [float(surprise) for surprise in surprises]


def _strengths(dependence: FloatArray, independent: FloatArray) -> FloatArray:
    """The same as :func:`strength_of`, of several tables."""
    totals, free = independent.sum(axis=(1, 2)), min(independent.shape[1:]) - 1
    if free < 1:
        return np.zeros(len(totals))
    empty = totals <= 0  # written this way round, nan stays nan
    # A value that hardly anybody has must not make a table look dependent by its noise.
    few = np.where(empty, 1.0, 1e-3 * totals / independent[0].size)[:, None, None]
    squares = (dependence**2 / np.maximum(independent, few)).sum(axis=(1, 2))
    return np.sqrt(np.where(empty, 0.0, squares) / np.where(empty, 1.0, totals * free))


def usual_below(strengths: FloatArray) -> FloatArray:
    """The prior probability that a pair is less dependent than each of some strengths.

    >>> usual_below(np.array([0.0, USUAL_STRENGTH, 1.0])).round(3)
    array([0.   , 0.535, 1.   ])
    """
    return np.asarray(strengths / (USUAL_STRENGTH + strengths) * (1 + USUAL_STRENGTH))


def believable(dependence: FloatArray, independent: FloatArray, evidence: float) -> FloatArray:
    """The same dependence, but no stronger than its evidence allows.

    >>> believable(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0), 1.0)[0]
    array([ 1.7, -1.7])
    """
    strength = strength_of(dependence, independent)
    return dependence if evidence >= SURE or strength <= STRONG else dependence * STRONG / strength


def usual_part(strength: float, square: float, free: int) -> tuple[float, float]:
    """The part of a dependence to keep, and the evidence for there being any.

    The dependence is a vector of ``free`` coordinates with noise of variance 1 on each; its squared
    length is ``square`` and its Cramer's V ``strength``. An original vector of length r, in an
    unknown direction, has the likelihood exp(-r^2 / 2) 0F1(free / 2, r^2 square / 4), and the mean
    component I_{n+1} / I_n (r length) along the observed one, n = free / 2 - 1. The kept part is
    the mean over the prior of r. The evidence is the logarithm of the Bayes factor of dependence,
    every V alike, against independence.

    >>> [round(usual_part(0.9, square, 4)[0], 2) for square in (4.0, 16.0, 40.0)]
    [0.04, 0.42, 0.83]
    """
    if not math.isfinite(square) or strength <= 0 or square <= 0:
        return float(square > 0), square if square > 0 else 0.0
    length = math.sqrt(square)
    error = strength / length
    most = 1 / error
    least = min(max(0.0, math.sqrt(max(square - free, 0.0)) - FAR), most * (1 - 1e-9))
    radius = least + (min(most, length + FAR) - least) * STEPS
    along, likely = _bessel(radius * length, free)
    likely -= radius**2 / 2
    chances = np.exp(likely - likely.max()) * STEPS_APART
    weights = chances / (1 + radius * error / USUAL_STRENGTH) ** 2
    kept = float((weights * radius * along).sum() / weights.sum()) / length
    apart = error * (min(most, length + FAR) - least)
    return min(kept, 1.0), float(likely.max()) + math.log(max(float(chances.sum()) * apart, 1e-300))


def _bessel(at: FloatArray, free: int) -> tuple[FloatArray, FloatArray]:
    """I_{n+1} / I_n of n = free / 2 - 1, and its integral from 0, the logarithm of 0F1.

    Exact for one coordinate; for more the ratio is Amos's bound, which is exact at both ends.
    """
    if free == 1:
        return np.tanh(at), np.logaddexp(at, -at) - math.log(2)
    half = (free - 1) / 2
    bent = np.hypot(at, half + 1)
    return at / (half + bent), bent - half - 1 - half * np.log((half + bent) / (2 * half + 1))


# -- small tables -----------------------------------------------------------------------------

SMALL: Final = 30
"""Up to this many cells a table is small."""

DRAWS: Final = 2_000
WEAKEST, STRONGEST = 0.02, 4.0
"""Deviations of the logarithms of cells: next to no dependence, and all but a few cells empty."""

ROUNDS: Final = 16
LEAST: Final = 2e-3
"""The smallest share of a row or column: a smaller one never settles."""

CLASSES: Final = np.concatenate([[0.0], np.geomspace(4e-3, 1.0, 30)])
"""Of Cramer's V: drawn tables of a class share its prior probability."""


def mean_table(
    released: FloatArray, channels: Channels, margins: tuple[FloatArray, FloatArray], noise: float
) -> tuple[FloatArray, float, float]:
    """The posterior mean of a small table, less independence, and how many drawn tables count.

    And the evidence for dependence: the logarithm of its Bayes factor against independence, all
    strengths alike.

    Args:
        released: The released two-way table.
        channels: Its mechanism.
        margins: Those of the original.
        noise: The share of chance in where a record is released.
    """
    total = float(released.sum())
    rows, columns = (np.maximum(margin / margin.sum(), LEAST) for margin in margins)
    dependence, strengths = _drawn(rows / rows.sum(), columns / columns.sum())
    expected = np.outer(released.sum(axis=1), released.sum(axis=0)) / total
    scale = np.sqrt(np.maximum(expected, 1e-9))
    # Pearson residuals are Normal with the same deviation in every cell; these are their means.
    means = channels.forward(dependence) * (total / scale)[:, :, None]
    seen = (released - expected) / scale
    likely = (means * (seen[:, :, None] - means / 2)).sum(axis=(0, 1)) / noise
    chances, most = np.exp(likely - likely.max()), float(likely.max())
    alike = _spread_over(strengths, CLASSES)
    evidence = most + float(np.log((chances * alike).sum() / alike.sum()))
    weights = chances * _spread_over(strengths, usual_below(CLASSES))
    weights /= weights.sum()
    return (dependence * weights).sum(axis=2) * total, float(1 / (weights**2).sum()), evidence


def _spread_over(strengths: FloatArray, below: FloatArray) -> FloatArray:
    """The weight of each table, given the probability below each class of strengths."""
    classes = np.clip(np.digitize(strengths, CLASSES) - 1, 0, len(CLASSES) - 2)
    number = np.maximum(np.bincount(classes, minlength=len(CLASSES) - 1), 1)
    return np.asarray((np.diff(below) / number)[classes])


def _drawn(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tables with these margins, less independence, along the last axis, and their Cramer's V."""
    independent = np.outer(rows, columns)[:, :, None]
    tables = _factors(len(rows), len(columns)) * independent
    for _ in range(ROUNDS):
        tables *= (rows[:, None] / tables.sum(axis=1))[:, None]
        tables *= columns[:, None] / tables.sum(axis=0)
    dependence = tables - tables.sum(axis=1)[:, None] * columns[:, None]
    squares = (dependence**2 / independent).sum(axis=(0, 1)) / (min(len(rows), len(columns)) - 1)
    return dependence, np.sqrt(squares)


@lru_cache(maxsize=16)
def _factors(rows: int, columns: int) -> FloatArray:
    """Cells of drawn tables relative to independence; each table comes with its opposite."""
    half = DRAWS // 2
    normals = Keystream.from_seed(0).normals("possible tables", 0, half * rows * columns)
    deviations = np.geomspace(WEAKEST, STRONGEST, half)
    tables = deviations * normals.reshape(half, rows, columns).transpose(1, 2, 0)
    both = np.clip(np.concatenate([tables, -tables], axis=2), -12, 12)
    return np.ascontiguousarray(np.exp(both))
