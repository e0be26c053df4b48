"""MDAV, maximum distance to average vector: the clustering that the field uses.

The heuristic with fixed group size of Domingo-Ferrer and Torra [DomingoFerrer05].
"""

from __future__ import annotations

import numpy as np

from pramana.types import FloatArray, IntArray


def mdav(points: FloatArray, *, k: int) -> IntArray:
    """Labels of groups of k records, the last of k to 2k - 1. Time grows as n squared over k."""
    from pramana.kanonymity import kernels_baseline

    n, d = points.shape
    labels = np.full(n, -1, np.int64)
    free, near = np.empty(n, np.int64), np.empty(k, np.int64)
    kernels_baseline.mdav(points, k, labels, free, near, np.empty(k), np.empty((1, d)))
    return labels
