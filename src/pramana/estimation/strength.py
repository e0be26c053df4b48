"""How strongly the columns of a table depend on each other, and how strongly they usually do.

Noise makes independent columns look dependent, and the stronger the noise the more so. The data
alone cannot tell the two apart where noise is strong; what is known beforehand can: columns of
surveys are mostly weakly dependent, and a few strongly. Over 1,500 pairs of columns of seven
censuses and surveys Cramer's V has the median below and a tail like 1 / V^2 (0.39 at the 90th
percentile, 0.72 at the 99th), which is the law of density (1 + V / median)^-2 / median. Where data
tell V well, this changes next to nothing, however strong the dependence; where they do not, the
estimate stays near independence.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Final

import numpy as np

from pramana.types import FloatArray

__all__ = ["USUAL_STRENGTH", "strength_of", "surprise_of", "usual_part"]

USUAL_STRENGTH: Final = 0.07
"""The median of Cramer's V over pairs of columns, before any data are seen."""


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


def usual_part(strength: float, errors: float) -> float:
    """How much of a dependence of this strength to keep, which lies so many errors away from none.

    The error of V is V / errors. The most probable V under Normal noise solves
    (V - strength) / error^2 + 2 / (median + V) = 0, or is 0 where that is more probable.

    >>> round(usual_part(0.3, 3.0), 2), usual_part(0.3, 2.0), usual_part(0.3, 30.0) > 0.99
    (0.78, 0.0, True)
    """
    if not math.isfinite(errors) or strength <= 0:
        return float(errors > 0)
    error = strength / max(errors, 1e-300)
    inside = (strength + USUAL_STRENGTH) ** 2 - 8 * error**2
    likely = (strength - USUAL_STRENGTH + math.sqrt(max(inside, 0.0))) / 2
    if inside < 0 or likely <= 0:
        return 0.0
    price = ((strength - likely) / error) ** 2 / 2 + _surprise(likely)
    return likely / strength if price < errors**2 / 2 else 0.0
