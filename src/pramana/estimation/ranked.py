"""Margins handed out to records in the order of what was released of them [Dowd, Alg. 2]."""

from __future__ import annotations

from math import prod

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.counts import clip
from pramana.estimation.regularised_em import fit
from pramana.randomness import Keystream, Stream
from pramana.table.cells import cell_numbers
from pramana.types import FloatArray, IntArray

__all__ = ["ranked", "whole_numbers"]


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
