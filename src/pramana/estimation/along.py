"""Operations along one axis of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from pramana.types import FloatArray

__all__ = ["sum_along", "times_along"]


def sum_along(table: FloatArray, place: int) -> FloatArray:
    """The sum over one axis, which keeps its place with length 1."""
    return np.asarray(table.sum(axis=place, keepdims=True), dtype=np.float64)


def times_along(table: FloatArray, matrix: Any, place: int) -> FloatArray:
    """Multiply one axis of a table by a matrix, dense or sparse."""
    moved = np.moveaxis(table, place, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    product = np.asarray(flat @ matrix, dtype=np.float64)
    return np.moveaxis(product.reshape(*moved.shape[:-1], -1), -1, place)
