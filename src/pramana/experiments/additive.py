"""Regressions that are a sum of functions of one variable each [Wei, Sec. 4.4].

``dummy`` lets each function be anything (one coefficient a level), ``numeric`` makes it a line.
Least squares needs no more of the data than the number of records and the total of the response in
each cell of the variables, whose levels are 0, 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pramana.types import FloatArray, IntArray

__all__ = ["Form", "features", "levels_of", "predict_cells"]

Form = Literal["numeric", "dummy"]


def levels_of(shape: Sequence[int]) -> IntArray:
    """The levels of every cell, one row a cell, in the order of their numbers.

    >>> levels_of((2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    cells = np.arange(int(np.prod(shape)))
    return np.stack(np.unravel_index(cells, tuple(shape)), axis=1).astype(np.int64)


def features(shape: Sequence[int], *, form: Form) -> FloatArray:
    """One row a cell, without the constant: a column a variable, or one for each later level."""
    levels = levels_of(shape)
    if form == "numeric":
        return levels.astype(np.float64)
    parts = [levels[:, j, None] == np.arange(1, size) for j, size in enumerate(shape)]
    return np.concatenate(parts, axis=1).astype(np.float64)


def predict_cells(
    shape: Sequence[int], counts: FloatArray, totals: FloatArray, *, form: Form
) -> FloatArray:
    """The response predicted for every cell, from weights and weighted totals of the response.

    Directions that the cells leave open (a level that does not occur) get coefficient zero.

    >>> predict_cells((2,), np.array([1.0, 2.0]), np.array([2.0, 8.0]), form="dummy").round(9)
    array([2., 4.])
    """
    x = np.concatenate([np.ones((counts.size, 1)), features(shape, form=form)], axis=1)
    size = np.sqrt(x.T**2 @ np.abs(counts))
    scale = np.where(size > 0, size, 1.0)  # one unit for all terms that occur
    gram = (x.T * counts) @ x / scale[:, None] / scale
    coefficients = np.linalg.lstsq(gram, x.T @ totals / scale, rcond=1e-10)[0] / scale
    return np.asarray(x @ coefficients, dtype=np.float64)
