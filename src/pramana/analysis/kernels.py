"""Compiled loops over records; imported where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _drawn(weights: Any, uniform: float, chosen: int) -> int:
    """A value with probability in proportion to its weight; ``chosen`` where all weigh nothing."""
    total = 0.0
    for weight in weights:
        total += weight
    left = uniform * total
    for value in range(weights.shape[0]):
        if weights[value] > 0.0:
            chosen = value
            left -= weights[value]
            if left < 0.0:
                break
    return chosen


@njit(cache=True, nogil=True)
def redraw_column(
    values: Any,
    column: int,
    released: Any,
    likelihood: Any,
    base: Any,
    neighbours: Any,
    factors: Any,
    starts: Any,
    uniforms: Any,
) -> None:
    """Draw one column of every record given the others and what was released.

    The weight of value k is likelihood[released, k] * base[k] times one factor for each
    neighbouring column, found at ``starts[neighbour] + its value * size``.
    """
    size = base.shape[0]
    weights = np.empty(size)
    for record in range(values.shape[0]):
        seen = released[record]
        for value in range(size):
            weights[value] = likelihood[seen, value] * base[value]
        for place in range(neighbours.shape[0]):
            row = starts[place] + values[record, neighbours[place]] * size
            for value in range(size):
                weights[value] *= factors[row + value]
        values[record, column] = _drawn(weights, uniforms[record], values[record, column])


@njit(cache=True, nogil=True)
def draw_cells(
    released: Any, likelihood: Any, messages: Any, base: Any, stride: int, uniforms: Any, drawn: Any
) -> None:
    """Draw one axis of every record: weights are likelihood times a line of a table.

    ``base`` is where the line of each record begins in the flat ``messages``, ``stride`` the
    distance of its entries.
    """
    size = likelihood.shape[1]
    weights = np.empty(size)
    for record in range(released.shape[0]):
        seen, start = released[record], base[record]
        for value in range(size):
            weights[value] = likelihood[seen, value] * messages[start + value * stride]
        drawn[record] = _drawn(weights, uniforms[record], seen if seen < size else 0)
