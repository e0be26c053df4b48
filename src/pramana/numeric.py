"""Rounding that never flatters privacy, and probabilities as integers.

A probability is an integer over ``TOTAL = 2**64``: what the sampler compares with a 64-bit
word. Guarantees are ratios of such integers. They are exact as fractions and are rounded
once, at the end, towards the weaker statement: an epsilon up, a k down.

>>> float_up(Fraction(1, 3)) > Fraction(1, 3) > float_down(Fraction(1, 3))
True
>>> log_up(Fraction(1))
0.0
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InvalidMatrix, InvalidNumber

__all__ = [
    "TOTAL",
    "exp_down",
    "float_down",
    "float_up",
    "integer_rows",
    "log_up",
    "require_number",
]

TOTAL = 2**64
"""The integer that stands for probability one."""

ROW_SUM_TOLERANCE = 1e-9
"""How far the rows of a matrix in floating point may be from one before it is refused."""


def float_up(exact: Fraction | float) -> float:
    """The smallest float at or above ``exact``."""
    if isinstance(exact, float):
        return exact
    if exact > Fraction(math.nextafter(math.inf, 0)):
        return math.inf
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


def float_down(exact: Fraction | float) -> float:
    """The largest float at or below ``exact``."""
    return -float_up(-exact)


def log_up(exact: Fraction | float) -> float:
    """A float at or above the natural logarithm of ``exact``, and at most a few units off."""
    if exact == math.inf:
        return math.inf
    ratio = Fraction(exact)
    if ratio == 1:
        return 0.0
    # The logarithm of a correctly rounded libm is within one unit; two steps are outside it.
    # Near one, log1p of the exact difference keeps the digits that log would lose.
    near = math.log1p(float_up(ratio - 1)) if 0 < ratio < 2 else math.log(float_up(ratio))
    return math.nextafter(math.nextafter(near, math.inf), math.inf)


def exp_down(exponent: float) -> Fraction:
    """A number at or below exp(``exponent``), and at most a few units off."""
    if exponent > 700:  # beyond the floats: exp(700) > 2**1009 is below, and safe
        return Fraction(math.exp(700))
    near = math.expm1(exponent)
    return 1 + Fraction(math.nextafter(math.nextafter(near, -math.inf), -math.inf))


def require_number(
    name: str,
    value: float,
    *,
    low: float,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> None:
    """Refuse a parameter that is out of its range, or is not a number."""
    try:
        above = value > low if low_open else value >= low
        below = value < high if high_open else value <= high
        good = bool(above and below)  # a nan fails both
    except TypeError:
        good = False
    if good and not isinstance(value, bool | str):
        return
    opening, closing = "(" if low_open else "[", ")" if high_open or high == math.inf else "]"
    raise InvalidNumber(
        f"{name} must be a number in {opening}{low:g}, {high:g}{closing}, got {value!r}."
    )


def integer_rows(
    values: NDArray[np.floating[Any]], *, what: str = "the matrix"
) -> NDArray[np.object_]:
    """Rows of probabilities as rows of integers that sum to ``TOTAL`` exactly.

    A zero stays zero and a one stays one. What rounding leaves over goes to the largest entry of
    the row, where it is the least in proportion.
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise InvalidMatrix(
            f"Entries of {what} must be probabilities, and some are negative or not finite."
        )
    sums = values.sum(axis=1)
    wrong = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if wrong.any():
        raise InvalidMatrix(
            f"Each row of {what} must sum to 1, and {int(wrong.sum())} of {len(sums)} do not. "
            "Rows are truths, columns released values."
        )
    scaled = np.ldexp(values, 64)  # exact: only the exponent changes
    weights: NDArray[np.object_] = np.frompyfunc(int, 1, 1)(scaled).astype(object)
    largest = values.argmax(axis=1)
    rows = np.arange(len(values))
    weights[rows, largest] += TOTAL - weights.sum(axis=1)
    return weights
