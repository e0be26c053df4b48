"""A table for any learner: each released record gets values again that the truth could have had.

    rank       one attribute at a time [Dowd, Alg. 2]: sort the records by the released value and
               hand out the estimated true counts in that order. Margins come back, dependence
               between columns does not.
    posterior  draw each record's values from their distribution given the whole released record
               and an estimated joint distribution: for thin releases a model of latent classes that
               brings no more dependence than records held out confirm (modelled.py); else the whole
               table if it is small enough (joint.py), or a model with one term for every pair of
               columns (pairwise.py).

A rebuilt record is nobody's: it is a draw from what the release allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InvalidNumber, InvalidTable
from pramana.estimation.channels import Channels
from pramana.estimation.counts import clip
from pramana.estimation.joint import draw_from_joint
from pramana.estimation.layout import Layout
from pramana.estimation.modelled import draw_from_model
from pramana.estimation.pairwise import draw_from_pairs
from pramana.randomness import Keystream
from pramana.types import FloatArray, IntArray

__all__ = ["JOINT_CELLS", "REBUILDS", "Rebuild", "Rebuilt", "rebuild_records", "whole_numbers"]

Rebuild = Literal["posterior", "rank"]
REBUILDS: tuple[Rebuild, ...] = ("posterior", "rank")

JOINT_CELLS = 200_000
"""Up to so many cells the whole joint distribution is estimated."""


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Rebuilt records, and how they came about.

    Attributes:
        columns: The columns, in the order of ``codes``.
        codes: One array of codes a column.
        method: ``posterior`` or ``rank``.
        why: One sentence on the model behind the draws.
    """

    columns: tuple[str, ...]
    codes: tuple[NDArray[Any], ...]
    method: str
    why: str


def rebuild_records(
    codes: Sequence[NDArray[Any]],
    layout: Layout,
    *,
    keystream: Keystream,
    method: Rebuild = "posterior",
) -> Rebuilt:
    """Rebuild records that are given as one array of released codes a column of ``layout``."""
    if method not in REBUILDS:
        raise InvalidNumber(f"method must be one of {', '.join(REBUILDS)}, got {method!r}.")
    if not codes or len(codes[0]) == 0:
        raise InvalidTable("There are no released records to rebuild.")
    channels = Channels(layout.only(range(len(layout.axes))))
    places = layout.positions(codes)
    if method == "rank":
        found = _ranked(places, channels)
        why = "one column at a time: margins come back, dependence between columns does not."
    elif (modelled := draw_from_model(places, channels, keystream)) is not None:
        found, how = modelled
        why = f"drawn given each whole released record and a model of the whole table: {how}"
    elif prod(layout.shape) <= JOINT_CELLS:
        found = draw_from_joint(places, channels, keystream)
        why = "drawn given each whole released record and the estimated joint distribution."
    else:
        found = draw_from_pairs(places, channels, keystream)
        why = "drawn given each whole released record and all estimated pairs of columns."
    rebuilt = [column for axis, place in zip(layout.axes, found, strict=True)
               for column in _codes(layout, axis.columns, place)]  # fmt: skip
    same_kind = [new.astype(old.dtype) for new, old in zip(rebuilt, codes, strict=True)]
    return Rebuilt(layout.columns, tuple(same_kind), method, why)


def _codes(layout: Layout, columns: tuple[str, ...], places: IntArray) -> list[IntArray]:
    """The code of each column at each position of an axis."""
    axis = next(axis for axis in layout.axes if axis.columns == columns)
    found = []
    for part, name in enumerate(columns):
        known = {label: code for code, label in enumerate(layout.labels[name])}
        found.append(np.array([known[cell[part]] for cell in axis.cells])[places])
    return found


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


def _ranked(places: list[IntArray], channels: Channels) -> list[IntArray]:
    """[Dowd, Alg. 2], on each axis by itself; within strata where the matrix depends on them."""
    found = []
    for axis, seen in enumerate(places):
        strata = [place for place in channels.closure((axis,)) if place != axis]
        shape = [channels.layout.shape[place] for place in strata]
        group = np.zeros(len(seen), dtype=np.int64)
        for place, size in zip(strata, shape, strict=True):
            group = group * size + places[place]
        found.append(_rank_groups(seen, group, axis, strata, channels))
    return found


def _rank_groups(
    seen: IntArray, group: IntArray, axis: int, strata: list[int], channels: Channels
) -> IntArray:
    if channels.layout.axes[axis].step is None:
        return seen
    size, sizes = channels.layout.shape[axis], [channels.layout.shape[s] for s in strata]
    table = np.bincount(group * size + seen, minlength=prod(sizes) * size)
    sub = Channels(channels.layout.only([*strata, axis]))
    estimates = sub.solve(table.reshape(*sizes, size).astype(np.float64)).reshape(-1, size)
    order = np.lexsort((seen, group))
    result = np.empty_like(seen)
    handed = [
        np.repeat(np.arange(size), whole_numbers(clip(estimate), int(total)))
        for estimate, total in zip(
            estimates, table.reshape(-1, size).sum(axis=1).astype(float), strict=True
        )
        if total > 0
    ]
    result[order] = np.concatenate(handed)
    return result
