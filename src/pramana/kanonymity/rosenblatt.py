"""Rosenblatt's transformation: from any dither to the distribution of the keys.

A dither draws a point near the group of every record; its conditional distribution functions turn
that point into independent uniform numbers [Wei, eq. 6]; the inverse conditional distribution
functions of the keys turn those into keys [Wei, eq. 7 to 9]. Whatever the dither, the
keys that come out have the joint distribution of those that went in.

The inverse needs no search: the records are sorted by their keys once, and for every record
and every number of leading keys the run of records that share them is kept. A uniform number
then picks a place in the current run, and the run of that place is the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.randomness import Keystream
from pramana.types import FloatArray, IntArray

# A uniform number that stands for the exact end of a value's share must not spill over
# into the next one by rounding; what this moves is less than one draw in 10**13.
SLACK = 1 - 2.0**-44


class Dither(Protocol):
    """A continuous distribution for every group, and the mixture of them all."""

    def draw(self, keystream: Keystream) -> FloatArray:
        """One point for every record, from the distribution of its group."""

    def forward(self, points: FloatArray) -> FloatArray:
        """Conditional distribution functions of the mixture: numbers in (0, 1], key by key."""


@dataclass(frozen=True, eq=False)
class Empirical:
    """The joint distribution of the keys as sorted arrays.

    Attributes:
        codes: the keys in the order of the transformation: records by keys, ranks of values.
        order: the records sorted by their keys.
        starts: for every sorted place, where the run begins that shares the first j keys.
        ends: where that run ends; both have one row for each j = 0, 1, ..., number of keys.
    """

    codes: IntArray
    order: IntArray
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    @classmethod
    def of(cls, codes: IntArray) -> Empirical:
        """From the codes of every record."""
        n, d = codes.shape
        order = np.lexsort(codes.T[::-1]) if d else np.arange(n)
        starts, ends = np.zeros((d + 1, n), np.int32), np.full((d + 1, n), n, np.int32)
        new = np.zeros(n, bool)
        new[:1] = True
        for j in range(d):
            column = codes[order, j]
            new[1:] |= column[1:] != column[:-1]
            heads = np.flatnonzero(new)
            lengths = np.diff(heads, append=n)
            starts[j + 1] = np.repeat(heads, lengths)
            ends[j + 1] = np.repeat(heads + lengths, lengths)
        return cls(codes, order, starts, ends)

    def backward(self, uniforms: FloatArray) -> IntArray:
        """For every row of uniform numbers a record that holds the keys they stand for."""
        place = np.zeros(len(uniforms), np.int64)
        for j in range(self.codes.shape[1]):
            low, high = self.starts[j, place], self.ends[j, place]
            # the least value whose share of the run reaches u [Wei, eq. 8]
            steps = np.ceil(uniforms[:, j] * (high - low) * SLACK).astype(np.int64)
            place = low + np.clip(steps - 1, 0, high - low - 1)
        found: IntArray = self.order[self.starts[-1, place]]
        return found

    def find(
        self, codes: IntArray, j: int, low: IntArray, high: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Inside the runs low ... high of j shared keys, those where key j has these codes."""
        column = self.codes[self.order, j]
        bottom, top = low.astype(np.int64), high.astype(np.int64)
        while (bottom < top).any():  # all records halve their range at once
            middle = (bottom + top) >> 1
            under = (bottom < top) & (column[np.minimum(middle, column.size - 1)] < codes)
            top = np.where(under | (bottom >= top), top, middle)
            bottom = np.where(under, middle + 1, bottom)
        at = np.minimum(bottom, column.size - 1)
        return self.starts[j + 1, at].astype(np.int64), self.ends[j + 1, at].astype(np.int64)


def transform(dither: Dither, keys: Empirical, keystream: Keystream) -> IntArray:
    """For every record the record whose keys it takes: draw, forward, backward."""
    return keys.backward(dither.forward(dither.draw(keystream)))
