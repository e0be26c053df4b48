"""Rows of probabilities as rows of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InvalidMatrix
from pramana.numeric import TOTAL

__all__ = ["integer_rows"]

ROW_SUM_TOLERANCE = 1e-9
"""How far the rows of a matrix in floating point may be from one before it is refused."""


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
