"""How strongly two columns go together: Cramer's V, and the correlation of their positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable
from pramana.utility.distances import shares

__all__ = ["correlation", "cramers_v"]


def cramers_v(table: ArrayLike) -> float:
    """From 0 for independent columns to 1 where one column tells the other.

    >>> cramers_v([[10, 0], [0, 10]]), round(cramers_v([[10, 10], [10, 10]]), 12)
    (1.0, 0.0)
    """
    joint = _two_way(table)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    occurs = expected > 0
    square = float(((joint - expected)[occurs] ** 2 / expected[occurs]).sum())
    rows, columns = (int((joint.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    least = min(rows, columns) - 1
    return float(np.sqrt(min(square / least, 1.0))) if least > 0 else 0.0


def correlation(table: ArrayLike) -> float:
    """Pearson's correlation with values at their positions: for ordered columns.

    >>> correlation([[5, 0], [0, 5]])
    1.0
    """
    joint = _two_way(table)
    places = [np.arange(size, dtype=np.float64) for size in joint.shape]
    margins = [joint.sum(axis=1), joint.sum(axis=0)]
    centred = [p - float(m @ p) for p, m in zip(places, margins, strict=True)]
    spread = [float(m @ c**2) for c, m in zip(centred, margins, strict=True)]
    if min(spread) <= 0:
        return 0.0
    value = float(centred[0] @ joint @ centred[1]) / float(np.sqrt(spread[0] * spread[1]))
    return float(np.clip(value, -1, 1))


def _two_way(table: ArrayLike) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    joint = shares(table)
    if joint.ndim != 2:
        raise InvalidTable(f"An association is of two columns, got a table of {joint.ndim}.")
    return joint
