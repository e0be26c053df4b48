"""Levels as numbers for a regression: one column each, or one column a level."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pramana.table.domains import Label
from pramana.types import FloatArray
from pramana.workloads.cells import Coding

__all__ = ["Form", "features", "level_values"]

Form = Literal["numeric", "dummy"]


def level_values(levels: tuple[Label, ...]) -> FloatArray:
    """Numbers stand for themselves; other levels for their place in the order.

    >>> level_values((10, 20, 40)).tolist(), level_values(("high", "low")).tolist()
    ([10.0, 20.0, 40.0], [0.0, 1.0])
    """
    if all(isinstance(level, int | float) for level in levels):
        return np.array(levels, dtype=np.float64)
    return np.arange(len(levels), dtype=np.float64)


def features(levels: Coding, cells: ArrayLike, *, form: Form) -> FloatArray:
    """One row a cell, without the constant term.

    ``numeric`` has one column a variable: a line. ``dummy`` has one column for each level but the
    first of every variable: any function of it [Wei, Sec. 4.4].
    """
    places = levels.unravel(cells)
    if form == "numeric":
        columns = [level_values(own)[places[:, j]] for j, own in enumerate(levels.levels)]
        return np.stack(columns, axis=1)
    parts = [
        (places[:, j, None] == np.arange(1, len(own))).astype(np.float64)
        for j, own in enumerate(levels.levels)
    ]
    return np.concatenate(parts, axis=1)
