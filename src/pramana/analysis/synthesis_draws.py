"""Draw true records from the whole estimated joint distribution.

Given the released record l, the truth k has probability proportional to p_k prod_a P_a[k_a, l_a].
It is drawn axis by axis: the first from its margin, where the later axes are summed out through
their matrices; the next given the first; and so on. Every sum is one line of a table that has been
passed forward along the later axes, so a record costs the sum of the sizes, not their product.

Margins handed out to records in the order of what was released of them [Dowd, Alg. 2].
"""

from __future__ import annotations

from math import prod

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.counts import clip
from pramana.analysis.regularised_em import fit
from pramana.base.randomness import Keystream, Stream
from pramana.schema.joint_cells import cell_numbers
from pramana.types import FloatArray, IntArray


def draw_given_table(
    places: list[IntArray], table: FloatArray, channels: Channels, keystream: Keystream
) -> list[IntArray]:
    """Draw every record given its release and the distribution of the truth."""
    from pramana.analysis.kernels import draw_cells

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


def whole_numbers(shares: FloatArray, total: int) -> IntArray:
    """Integers in proportion to ``shares`` that sum to ``total``: largest remainders go up.

    >>> whole_numbers(np.array([0.5, 0.3, 0.2]), 7).tolist()
    [4, 2, 1]
    """
    exact = shares * (total / shares.sum())
    numbers: IntArray = np.floor(exact).astype(np.int64)
    short = total - int(numbers.sum())
    numbers[np.argsort(numbers - exact, kind="stable")[:short]] += 1
    return numbers


def ranked(
    places: list[IntArray],
    channels: Channels,
    keystream: Keystream,
    *,
    fitted: bool = False,
) -> list[IntArray]:
    """[Dowd, Alg. 2], on each axis by itself; within strata where the matrix depends on them.

    What is handed out are unbiased counts with negative ones cut off, or, ``fitted``, those of the
    regularised EM, which is nearer to the truth the more noise there is.
    Records with the same released value come in an order of chance, on each axis another: that of
    the file would tie axes together that are independent.
    """
    found = []
    for axis, seen in enumerate(places):
        strata = [place for place in channels.closure((axis,)) if place != axis]
        shape = [channels.layout.shape[place] for place in strata]
        group = cell_numbers([places[place] for place in strata], shape, records=len(seen))
        ties = keystream.words(Stream("rebuild", "ties", axis), 0, len(seen))
        order = np.lexsort((ties, seen, group))
        found.append(_rank_groups(seen, group, order, axis, strata, channels, fitted))
    return found


def _rank_groups(
    seen: IntArray,
    group: IntArray,
    order: IntArray,
    axis: int,
    strata: list[int],
    channels: Channels,
    fitted: bool,
) -> IntArray:
    if channels.layout.axes[axis].step is None:
        return seen
    size, sizes = channels.layout.shape[axis], [channels.layout.shape[s] for s in strata]
    table = np.bincount(group * size + seen, minlength=prod(sizes) * size)
    sub = Channels(channels.layout.only([*strata, axis]))
    whole = table.reshape(*sizes, size).astype(np.float64)
    found = fit(whole, sub).truth(whole, sub) if fitted else sub.solve(whole)
    estimates = found.reshape(-1, size)
    result = np.empty_like(seen)
    handed = [
        np.repeat(np.arange(size), whole_numbers(_shares(estimate, counts), counts.sum()))
        for estimate, counts in zip(estimates, table.reshape(-1, size), strict=True)
        if counts.any()
    ]
    result[order] = np.concatenate(handed)
    return result


def _shares(estimate: FloatArray, counts: IntArray) -> FloatArray:
    """What to hand out, in proportion: an estimate without negative counts.

    Where nothing was moved, the counts as they are.
    """
    if np.array_equal(estimate, counts):
        return estimate
    own = clip(estimate)
    return own if own.any() else np.ones(len(own))
