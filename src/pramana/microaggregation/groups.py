"""Partitions of records into groups, as one label a record: sums, centres, cells, cuts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pramana.schema.joint_cells import joint_groups
from pramana.types import FloatArray, IntArray

Clustering = Literal["default", "greedy", "mdav", "cells"]
"""How groups are found."""

MOST_AXES = 10  # a k-d tree in more dimensions looks at nearly everything
FEW_POINTS = 5000  # points for which that does not matter


def compact(labels: NDArray[np.generic]) -> IntArray:
    """The same groups, numbered 0, 1, 2, ... without gaps."""
    return joint_groups([labels])


def order_of_groups(labels: IntArray) -> IntArray:
    """The records group by group, those of a group in the order that they are in.

    Sorted by sixteen bits at a time, for which counting is enough.
    """
    order = np.argsort((labels & 0xFFFF).astype(np.uint16), kind="stable")
    high, top = labels >> 16, int(labels.max(initial=0)) >> 16
    while top > 0:
        order = order[np.argsort((high[order] & 0xFFFF).astype(np.uint16), kind="stable")]
        high, top = high >> 16, top >> 16
    return order


def group_sums(points: FloatArray, labels: IntArray, weights: IntArray | int = 1) -> FloatArray:
    """Sum of the members of every group, column by column, each as often as its weight says."""
    groups = int(labels.max()) + 1
    columns = [np.bincount(labels, points[:, c] * weights, groups) for c in range(points.shape[1])]
    return np.column_stack(columns) if columns else np.zeros((groups, 0))


def centres(points: FloatArray, labels: IntArray) -> FloatArray:
    """Mean of the members of every group."""
    means: FloatArray = group_sums(points, labels) / np.bincount(labels)[:, None]
    return means


def within(points: FloatArray, labels: IntArray) -> float:
    """Sum over the records of the squared distance to the centre of their group."""
    middle, total = centres(points, labels), 0.0
    for c in range(points.shape[1]):
        gap = points[:, c] - middle[labels, c]
        total += float(np.square(gap).sum())
    return total


def bounds(points: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value of every group, column by column."""
    order = order_of_groups(labels)
    starts = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    low, high = np.empty((starts.size, points.shape[1])), np.empty((starts.size, points.shape[1]))
    for c in range(points.shape[1]):
        column = points[order, c]
        low[:, c] = np.minimum.reduceat(column, starts)
        high[:, c] = np.maximum.reduceat(column, starts)
    return low, high


def rank_within(labels: IntArray, values: FloatArray | None = None) -> IntArray:
    """Place of every record in its group, by value, equal ones by position: 0, 1, 2, ..."""
    order = order_of_groups(labels) if values is None else np.lexsort((values, labels))
    sizes = np.bincount(labels)
    rank = np.empty(labels.size, np.int64)
    rank[order] = np.arange(labels.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank


def search_space(points: FloatArray) -> FloatArray:
    """The points as they are searched for neighbours: on their main axes where there are many.

    Distances on the first principal axes are never above the true ones and keep most of them.
    Only the choice of candidates rests on them.
    """
    if points.shape[1] <= MOST_AXES or len(points) <= FEW_POINTS:
        return np.ascontiguousarray(points)
    axes = np.linalg.eigh(np.cov(points, rowvar=False))[1][:, -MOST_AXES:]
    return np.ascontiguousarray(points @ axes)


def cells_of(points: FloatArray) -> IntArray:
    """One label a record: equal records, and only those, share it."""
    if points.shape[1] == 0:
        return np.zeros(len(points), np.int64)
    return joint_groups(list(points.T))


def chop(points: FloatArray, labels: IntArray, limit: int) -> IntArray:
    """Cut groups of more than ``limit`` records into equal parts along their widest column.

    With limit >= 2k - 1 and groups of k or more, no part has fewer than k.
    """
    low, high = bounds(points, labels)
    sizes = np.bincount(labels)
    widest = (high - low).argmax(axis=1)
    along = points[np.arange(labels.size), widest[labels]]
    rank = rank_within(labels, along)
    parts = -(-sizes // limit)
    part = rank * parts[labels] // sizes[labels]
    return compact(labels * (int(parts.max()) + 1) + part)
