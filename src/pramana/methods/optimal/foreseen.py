"""How many records will change for an alpha, told at once: no matrix is searched for.

Take one choice of keys alone. A combination that u < 1/alpha people share is safe once enough
others are released with it: s (1/alpha - u) of them where its own records stay with chance s.
Staying costs those arrivals, each about 2 of the loss where frequent cells supply them; leaving
costs u (1/s - s) (covering.py) and supplies u (1 - s) arrivals elsewhere. The least of both is at

    1 / s^2 = price / (alpha u) - 1,

with the price 2 of an arrival, or the one at which those who leave are as many as are needed.

All choices together need more than the one that needs most, and matrices on a grid more than the
best ones. On tables of people it is 1 to 5 times as many (tests/methods/test_foreseen.py), which is
what is told: a rule of thumb, and no bound.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pramana.methods.optimal.cells import LEAST_KEPT
from pramana.types import FloatArray, IntArray

__all__ = ["changes_foreseen", "changes_of_choice"]

TIMES = (1.0, 5.0)
"""So many times what the worst choice of keys needs by itself."""

PRICE, HALVINGS = 2.0, 40


def changes_foreseen(totals: Iterable[FloatArray | IntArray], alpha: float) -> tuple[float, float]:
    """Between how many records will change so that nobody is recognised beyond ``alpha``.

    Args:
        totals: of each choice of keys, the records of each combination of values.
        alpha: the largest posterior allowed.
    """
    most = max(changes_of_choice(np.asarray(own, dtype=np.float64), alpha) for own in totals)
    return TIMES[0] * most, TIMES[1] * most


def changes_of_choice(totals: FloatArray, alpha: float) -> float:
    """How many records change where one choice of keys is looked at."""
    rare = totals[(totals > 0) & (totals * alpha < 1)]

    def at(price: float) -> tuple[float, float]:
        """Who arrives in rare combinations and who leaves them."""
        stays = np.maximum(price / (alpha * rare) - 1, 1) ** -0.5
        stays = np.maximum(stays, LEAST_KEPT)
        return float((stays * (1 / alpha - rare)).sum()), float((rare * (1 - stays)).sum())

    low, high = 0.0, PRICE
    arriving, leaving = at(high)
    for _ in range(HALVINGS if arriving < leaving else 0):
        middle = (low + high) / 2
        arriving, leaving = at(middle)
        low, high = (low, middle) if arriving < leaving else (middle, high)
    return max(arriving, leaving)
