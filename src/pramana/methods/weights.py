"""How coarse a weight must be so that enough people share each of its values.

A sampling weight with a value of its own singles a person out. Rounded in steps and cut at the top,
it hardly changes a total, and every value is shared.
"""

from __future__ import annotations

import numpy as np

from pramana.table.groups import COUNT, group_sizes
from pramana.table.opened import OpenedTable
from pramana.types import FloatArray, IntArray

__all__ = ["coarser_weight"]


def coarser_weight(table: OpenedTable, name: str, needed: float) -> tuple[float, float] | None:
    """The finest step to round to, and where to cut, so that each value has ``needed`` people.

    Only steps of 1, 2, 5, 10, 20, ... are tried, up to the largest weight; nothing if none will do.
    """
    counted = group_sizes(table, [name]).total().drop_null()
    values = np.asarray(counted.column(name).cast("double"), dtype=np.float64)
    numbers = np.asarray(counted.column(COUNT), dtype=np.int64)
    if not len(values) or values.min() < 0 or not np.isfinite(values).all():
        return None
    for power in range(-3, 12):
        for digit in (1.0, 2.0, 5.0):
            step = digit * 10.0**power
            if step > max(values.max(), 1e-3):
                return None
            top = _top(values, numbers, step, needed)
            if top is not None:
                return step, top
    return None


def _top(values: FloatArray, numbers: IntArray, step: float, needed: float) -> float | None:
    """Where to cut weights that are rounded to a step; nothing if a smaller value is too rare."""
    rounded = np.maximum(np.floor(values / step + 0.5), values > 0)
    levels, place = np.unique(rounded, return_inverse=True)
    people = np.bincount(place, numbers)
    above = np.cumsum(people[::-1])[::-1]
    enough = np.flatnonzero(above >= needed)
    if not len(enough):
        return None
    # The highest cut that leaves enough people at the top, if all below are shared by enough.
    cut = int(enough[-1])
    return float(levels[cut] * step) if (people[:cut] >= needed).all() else None
