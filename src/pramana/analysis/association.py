"""How strongly the columns of a table depend on each other, and how strongly they usually do.

Noise makes independent columns look dependent, and the stronger the noise the more so. The data
alone cannot tell the two apart where noise is strong; what is known beforehand can: columns of
surveys are mostly weakly dependent, and a few strongly. Over 1,500 pairs of columns of seven
censuses and surveys Cramer's V has the median 0.07, 0.39 at the 90th percentile and 0.72 at the
99th: a tail like 1 / V^2, as the density (1 + V / median)^-2 / median up to 1 has it. Where data
tell V well, this changes next to nothing, however strong the dependence; where they do not, the
estimate stays near independence.

To make strong dependence up is worse than to understate it: more than V = 0.34 is told only where
the release is a hundred times as likely under dependence, every V from 0 to 1 alike, as it is under
independence. Of independent columns that ratio is 1 on average, so that it reaches 100 in at most
one table of a hundred (Markov), and in fact in far fewer (docs/howto/shrinkage.md).

The mean of all small tables that could have made what was released.

Counts cannot be negative, and that tells much where noise is strong: most of what noise could have
done leads to tables that cannot be. So tables are drawn beforehand, from nearly independent ones to
those with all but a few cells empty, each brought to the margins of the truth. Each counts by how
probable it makes the released table, and by how usual so much dependence is (above). Their
weighted mean has the least squared error of all estimates, on average over such truths.

That needs tables among those drawn that look like what was seen. The more cells, and the more the
data tell, the fewer there are: how many really count is told along, and those who ask take what
was found in another way instead (spectral.py). The draws come from a fixed keystream, so that an
estimate depends on the release and on nothing else.
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
"""Dependence above ``STRONG`` is told where it makes the data so much likelier, as a logarithm."""

FAR: Final = 8.0
"""Beyond this many errors from what was seen no truth is thought of."""

STEPS: Final = np.linspace(0, 1, 401)[1:] ** 2
STEPS_APART: Final = np.gradient(STEPS)
"""Where lengths of the truth are tried: densest near none."""


def strength_of(dependence: FloatArray, independent: FloatArray) -> float:
    """Cramer's V of a table, given by what it differs from independence.

    >>> strength_of(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0))
    1.0
    """
    return float(_strengths(dependence[None], independent[None])[0])


def surprises_of(tables: FloatArray) -> list[float]:
    """How improbable the dependence of each table is beforehand: -log density.

    Summed over pairs of axes; tables lie behind each other along the first axis.
    """
    found = [0.0] * len(tables)
    totals = np.maximum(tables.sum(axis=tuple(range(1, tables.ndim))), 1e-300)[:, None, None]
    for pair in combinations(range(1, tables.ndim), 2):
        out = tuple(axis for axis in range(1, tables.ndim) if axis not in pair)
        margins = tables.sum(axis=out)
        independent = margins.sum(axis=2)[:, :, None] * margins.sum(axis=1)[:, None] / totals
        each = _strengths(margins - independent, independent).tolist()
        densities = [2 * math.log1p(strength / USUAL_STRENGTH) for strength in each]
        found = [own + more for own, more in zip(found, densities, strict=True)]
    return found


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
    """How many in one of all pairs are usually less dependent than each of some strengths.

    >>> usual_below(np.array([0.0, USUAL_STRENGTH, 1.0])).round(3)
    array([0.   , 0.535, 1.   ])
    """
    return np.asarray(strengths / (USUAL_STRENGTH + strengths) * (1 + USUAL_STRENGTH))


def believable(dependence: FloatArray, independent: FloatArray, evidence: float) -> FloatArray:
    """The same dependence, but no stronger than its evidence lets one say.

    >>> believable(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0), 1.0)[0]
    array([ 1.7, -1.7])
    """
    strength = strength_of(dependence, independent)
    return dependence if evidence >= SURE or strength <= STRONG else dependence * STRONG / strength


def usual_part(strength: float, square: float, free: int) -> tuple[float, float]:
    """How much of a dependence to keep, and the evidence for there being any.

    The dependence is a vector of ``free`` coordinates with noise of variance 1 on each; its squared
    length is ``square`` and its Cramer's V ``strength``. A true vector of length r, in a direction
    of which nothing is known, has made this one with a density in proportion to
    exp(-r^2 / 2) 0F1(free / 2, r^2 square / 4), and lies along it by I_{n+1} / I_n (r length), of
    n = free / 2 - 1. What is kept is its mean, averaged over the usual strengths. The evidence is
    the logarithm of how much likelier the data are than under independence, averaged over all V.

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


SMALL: Final = 30
"""Up to this many cells a table is small."""

DRAWS: Final = 2_000
WEAKEST, STRONGEST = 0.02, 4.0
"""Deviations of the logarithms of cells: next to no dependence, and all but a few cells empty."""

ROUNDS: Final = 16
LEAST: Final = 2e-3
"""No row or column is thought to hold a smaller share: it would hardly tell, and never settle."""

CLASSES: Final = np.concatenate([[0.0], np.geomspace(4e-3, 1.0, 30)])
"""Of Cramer's V: drawn tables of a class share what is usual for it."""


def mean_table(
    released: FloatArray, channels: Channels, margins: tuple[FloatArray, FloatArray], noise: float
) -> tuple[FloatArray, float, float]:
    """What the mean of possible truths differs from independence, and how many of them count.

    And the evidence for dependence: the logarithm of how much likelier the release is by tables of
    all strengths alike than by independence.

    Args:
        released: The released two-way table.
        channels: Its mechanism.
        margins: Those of the truth.
        noise: The share of chance in where a record ends up.
    """
    total = float(released.sum())
    dependence, strengths = _drawn(*(_shares(margin) for margin in margins))
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


def _shares(margin: FloatArray) -> FloatArray:
    shares = np.maximum(margin / margin.sum(), LEAST)
    return np.asarray(shares / shares.sum())


def _drawn(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tables with these margins, side by side along the last axis, and their Cramer's V.

    Of each table there is what it differs from independence.
    """
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
    """What cells of drawn tables are beside those of independence.

    Each comes with its opposite, so that all together lean to no side.
    """
    half = DRAWS // 2
    normals = Keystream.from_seed(0).normals("possible tables", 0, half * rows * columns)
    deviations = np.geomspace(WEAKEST, STRONGEST, half)
    tables = deviations * normals.reshape(half, rows, columns).transpose(1, 2, 0)
    both = np.clip(np.concatenate([tables, -tables], axis=2), -12, 12)
    return np.ascontiguousarray(np.exp(both))


def _spread_over(strengths: FloatArray, below: FloatArray) -> FloatArray:
    """How much each table counts, if so much is below each class of strengths."""
    classes = np.clip(np.digitize(strengths, CLASSES) - 1, 0, len(CLASSES) - 2)
    number = np.bincount(classes, minlength=len(CLASSES) - 1)
    return np.asarray((np.diff(below) / np.maximum(number, 1))[classes])
