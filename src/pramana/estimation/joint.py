"""Draw true records from the whole estimated joint distribution.

Given the released record l, the truth k has probability proportional to p_k prod_a P_a[k_a, l_a].
It is drawn axis by axis: the first from its margin, where the later axes are summed out through
their matrices; the next given the first; and so on. Every sum is one line of a table that has been
passed forward along the later axes, so a record costs the sum of the sizes, not their product.
"""

from __future__ import annotations

import numpy as np

from pramana.estimation.channels import Channels
from pramana.randomness import Keystream, Stream
from pramana.table.cells import cell_numbers
from pramana.types import FloatArray, IntArray

__all__ = ["draw_given_table", "likelihood_of"]


def draw_given_table(
    places: list[IntArray], table: FloatArray, channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Draw every record given its release and the distribution of the truth."""
    from pramana.estimation.kernels import draw_cells

    shape, records = channels.layout.shape, len(places[0])
    strides = np.array([int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))])
    # Axes that others depend on come first: they must be known when those are drawn.
    order = sorted(range(len(shape)), key=lambda axis: channels.layout.axes[axis].step is not None)
    current = list(places)  # released values, replaced by drawn ones as we go
    for at, axis in enumerate(order):
        if channels.layout.axes[axis].step is None:
            continue
        message = table
        for later in order[at + 1 :]:
            message = channels.each[later].forward(message)
        base = sum(
            (current[other] * strides[other] for other in range(len(shape)) if other != axis),
            start=np.zeros(records, dtype=np.int64),
        )
        rows, seen = likelihood_of(axis, places, channels)
        drawn = np.empty(records, dtype=np.int64)
        uniforms = keystream.uniforms(Stream("rebuild", axis), 0, records)
        flat = np.ascontiguousarray(message).ravel()
        draw_cells(seen, rows, flat, base, int(strides[axis]), uniforms, drawn)
        current[axis] = drawn
    return current


def likelihood_of(
    axis: int, places: list[IntArray], channels: Channels
) -> tuple[FloatArray, IntArray]:
    """A table [what was seen, truth] of probabilities, and what was seen of every record.

    Where the matrix depends on a stratum, what was seen is the stratum and the value.
    """
    layout = channels.layout
    size = layout.shape[axis]
    strata = [place for place in channels.closure((axis,)) if place != axis]
    sub = Channels(layout.only([*strata, axis]))
    sizes = [layout.shape[place] for place in strata]
    seen = cell_numbers([places[place] for place in (*strata, axis)], [*sizes, size])
    rows = []
    for value in range(size):
        unit = np.zeros((*sizes, size))
        unit[..., value] = 1
        rows.append(sub.each[-1].forward(unit).reshape(-1, size))
    # rows[truth][stratum, released] -> [stratum, released, truth]
    table = np.stack(rows, axis=-1).reshape(-1, size)
    return np.ascontiguousarray(table), seen
