"""How strongly the columns of a table depend on each other, and how strongly they usually do.

Noise makes independent columns look dependent, and the stronger the noise the more so. The data
alone cannot tell the two apart where noise is strong; what is known beforehand can: columns of
surveys are mostly weakly dependent. Cramer's V of a pair is taken to be exponential with the mean
below (over pairs of columns of censuses and surveys it is about 0.1). Where data tell V well, this
changes next to nothing; where they do not, the estimate stays near independence.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np

from pramana.types import FloatArray

__all__ = ["USUAL_STRENGTH", "strength_of", "surprise_of", "usual_part"]

USUAL_STRENGTH: Final = 0.1
"""The mean of Cramer's V over pairs of columns, before any data are seen."""


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
        found += strength_of(margin - independent, independent) / USUAL_STRENGTH
    return found


def usual_part(strength: float, errors: float) -> float:
    """How much of a dependence of this strength to keep, which lies so many errors away from none.

    The error of V is V / errors; the most probable V under Normal noise is V - error^2 / mean.

    >>> usual_part(0.3, 3.0), usual_part(0.3, 1.0), usual_part(0.3, 30.0) > 0.99
    (0.6666666666666667, 0.0, True)
    """
    if errors <= 0:
        return 0.0
    return max(0.0, 1 - strength / errors**2 / USUAL_STRENGTH)
