"""The least value of a smooth function of a few numbers.

By quasi-Newton steps (BFGS) along slopes, measured by central differences where none are given. A
few lines here save loading a library of optimisers, which takes longer than all that a small table
needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pramana.types import FloatArray

__all__ = ["least"]

STEP = 1e-5
"""How far apart a slope is measured."""

FLAT = 1e-8
"""A slope that counts as none."""

ROUNDS = 200


def least(
    function: Callable[[FloatArray], float],
    start: FloatArray,
    *,
    slope: Callable[[FloatArray], FloatArray] | None = None,
) -> FloatArray:
    """Where the function is least, downhill from ``start``; ``slope`` gives its slopes.

    >>> least(lambda x: float((x[0] - 3) ** 2 + (x[0] + x[1]) ** 4), np.zeros(2)).round(2)[0]
    np.float64(3.0)
    """
    here, height = np.asarray(start, dtype=np.float64), float(function(start))
    slopes = partial(_slope, function) if slope is None else slope
    steep = slopes(here)
    inverse = np.eye(len(here))
    for _ in range(ROUNDS):
        way = -inverse @ steep
        if not steep @ way < 0:
            inverse, way = np.eye(len(here)), -steep
        there, lower = _downhill(function, here, height, way, float(steep @ way))
        if np.abs(steep).max() < FLAT or height - lower <= 1e-12 * abs(height):
            return there if lower < height else here
        after = slopes(there)
        inverse = _curved(inverse, there - here, after - steep)
        here, height, steep = there, lower, after
    return here


def _downhill(
    function: Callable[[FloatArray], float],
    here: FloatArray,
    height: float,
    way: FloatArray,
    fall: float,
) -> tuple[FloatArray, float]:
    """The first of ever shorter steps that gets down as far as the slope lets expect."""
    length = min(1.0, 2.0 / float(np.abs(way).max() or 1.0))
    while length > 1e-12:
        there = here + length * way
        lower = float(function(there))
        if lower <= height + 1e-4 * length * fall:
            return there, lower
        length /= 2
    return here, height


def _slope(function: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    moves = STEP * np.eye(len(at))
    return np.array([(function(at + m) - function(at - m)) / (2 * STEP) for m in moves])


def _curved(inverse: FloatArray, moved: FloatArray, turned: FloatArray) -> FloatArray:
    """The inverse of the curvature, corrected by what a step has shown of it."""
    along = float(moved @ turned)
    if along <= 1e-14:
        return inverse
    bent = np.eye(len(moved)) - np.outer(moved, turned) / along
    corrected: FloatArray = bent @ inverse @ bent.T + np.outer(moved, moved) / along
    return corrected
