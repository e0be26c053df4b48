"""Byun's greedy k-member clustering, the one of the paper [Wei, sec. 3.1]."""

from __future__ import annotations

import numpy as np

from pramana.types import FloatArray, IntArray


def greedy(points: FloatArray, *, k: int, first: int = 0) -> IntArray:
    """Labels of floor(n / k) groups; ``first`` is the record that the first start is far from.

    Takes time in proportion to n squared. The paper prints ceil(n / k) groups, which would
    leave one of them short; no more than floor(n / k) groups can have k members.
    """
    from pramana.kanonymity import kernels_baseline

    n, groups = len(points), len(points) // k
    labels, free, sizes = (np.empty(size, np.int64) for size in (n, n, groups))
    middle = np.empty((groups, points.shape[1]))
    kernels_baseline.greedy(points, n, k, first, labels, free, middle, sizes)
    return labels
