"""How strongly the columns of a table depend on each other, and how strongly they usually do.

Noise makes independent columns look dependent, and the stronger the noise the more so. The data
alone cannot tell the two apart where noise is strong; what is known beforehand can: columns of
surveys are mostly weakly dependent, and a few strongly. Over 1,500 pairs of columns of seven
censuses and surveys Cramer's V has the median 0.07, 0.39 at the 90th percentile and 0.72 at the
99th: a tail like 1 / V^2, as the density (1 + V / median)^-2 / median up to 1 has it. The median
taken is 0.012 and not 0.07: to make dependence up is worse than to understate it (what it costs is
measured in docs/howto/estimate.md). Where data tell V
well, this changes next to nothing, however strong the dependence; where they do not, the estimate
stays near independence.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Final

import numpy as np

from pramana.types import FloatArray

__all__ = ["USUAL_STRENGTH", "strength_of", "surprise_of", "usual_below", "usual_part"]

USUAL_STRENGTH: Final = 0.012
"""The median of Cramer's V over pairs of columns, before any data are seen; on the low side."""

FAR: Final = 8.0
"""Beyond so many errors from what was seen no truth is thought of."""

STEPS: Final = np.linspace(0, 1, 401)[1:] ** 2
STEPS_APART: Final = np.gradient(STEPS)
"""Where lengths of the truth are tried: densest near none."""


def strength_of(dependence: FloatArray, independent: FloatArray) -> float:
    """Cramer's V of a table, given by what it differs from independence.

    >>> strength_of(np.array([[5.0, -5], [-5, 5]]), np.full((2, 2), 5.0))
    1.0
    """
    total, free = float(independent.sum()), min(independent.shape) - 1
    if free < 1 or total <= 0:
        return 0.0
    # A value that hardly anybody has must not make a table look dependent by its noise.
    few = 1e-3 * total / independent.size
    square = float((dependence**2 / np.maximum(independent, few)).sum())
    return float(np.sqrt(square / (total * free)))


def surprise_of(table: FloatArray) -> float:
    """How improbable so much dependence is beforehand, summed over pairs of axes: -log density."""
    found, total = 0.0, max(float(table.sum()), 1e-300)
    for pair in combinations(range(table.ndim), 2):
        out = tuple(axis for axis in range(table.ndim) if axis not in pair)
        margin = table.sum(axis=out)
        independent = np.outer(margin.sum(axis=1), margin.sum(axis=0)) / total
        found += _surprise(strength_of(margin - independent, independent))
    return found


def _surprise(strength: float) -> float:
    return 2 * math.log1p(strength / USUAL_STRENGTH)


def usual_below(strengths: FloatArray) -> FloatArray:
    """How many in one of all pairs are usually less dependent than each of some strengths.

    >>> usual_below(np.array([0.0, USUAL_STRENGTH, 1.0])).round(3)
    array([0.   , 0.506, 1.   ])
    """
    return np.asarray(strengths / (USUAL_STRENGTH + strengths) * (1 + USUAL_STRENGTH))


def usual_part(strength: float, square: float, free: int) -> float:
    """How much of a dependence to keep: its mean given the data and what is known beforehand.

    The dependence is a vector of ``free`` coordinates with noise of variance 1 on each; its squared
    length is ``square`` and its Cramer's V ``strength``. A true vector of length r, in a direction
    of which nothing is known, has made this one with a density in proportion to
    exp(-r^2 / 2) 0F1(free / 2, r^2 square / 4), and lies along it by I_{n+1} / I_n (r length), of
    n = free / 2 - 1. Averaged over the usual strengths. The ratio of Bessel functions is Amos's
    bound, which is exact at both ends; its integral is the logarithm of 0F1.

    >>> [round(usual_part(0.9, square, 4), 2) for square in (4.0, 16.0, 40.0)]
    [0.01, 0.19, 0.83]
    """
    if not math.isfinite(square) or strength <= 0 or square <= 0:
        return float(square > 0)
    length = math.sqrt(square)
    error, order = strength / length, free / 2 - 1
    most = 1 / error
    least = min(max(0.0, math.sqrt(max(square - free, 0.0)) - FAR), most * (1 - 1e-9))
    radius = least + (min(most, length + FAR) - least) * STEPS
    bent = np.sqrt((radius * length) ** 2 + (order + 1.5) ** 2)
    along = radius * length / (order + 0.5 + bent)
    likely = bent - (order + 0.5) * np.log(order + 0.5 + bent) - radius**2 / 2
    weights = np.exp(likely - likely.max()) * STEPS_APART
    weights /= (1 + radius * error / USUAL_STRENGTH) ** 2
    return min(float((weights * radius * along).sum() / weights.sum()) / length, 1.0)
