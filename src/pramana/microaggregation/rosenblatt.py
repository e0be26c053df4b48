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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber
from pramana.microaggregation.groups import (
    Key,
    centres,
    made_once,
    order_of_values,
    put_back,
    sharing,
    standardise,
)
from pramana.microaggregation.mixture import NormalMixture
from pramana.types import FloatArray, IntArray, Values

ALPHA = 1 / 3

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
        records: IntArray = self.order[self.starts[-1, place]]
        return records

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


@dataclass(frozen=True, eq=False)
class GaussianDither:
    """N(mean, covariance + alpha I) of every group, on standardised keys [Wei, sec. 3.2.2]."""

    points: FloatArray
    labels: IntArray
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise InvalidNumber(f"alpha must be a number > 0, got {self.alpha!r}.")

    def mixture(self) -> NormalMixture:
        """The Gaussian of every group with its share of the records."""
        means = centres(self.points, self.labels)
        gaps = self.points - means[self.labels]
        sizes = np.bincount(self.labels)
        d = self.points.shape[1]
        spread = np.empty((sizes.size, d, d))
        for i in range(d):
            for j in range(i + 1):
                both = np.bincount(self.labels, gaps[:, i] * gaps[:, j]) / sizes
                spread[:, i, j] = spread[:, j, i] = both + (self.alpha if i == j else 0.0)
        return NormalMixture(sizes / sizes.sum(), means, spread)

    def draw(self, keystream: Keystream) -> FloatArray:
        """The mean of the group plus the root of its covariance times standard normals."""
        n, d = self.points.shape
        mixture = self.mixture()
        normals = keystream.normals("k-anonymity/gaussian", 0, n * d).reshape(n, d)
        drawn = mixture.means[self.labels]
        for i in range(d):
            for j in range(i + 1):
                drawn[:, i] += mixture.roots[self.labels, i, j] * normals[:, j]
        return drawn

    def forward(self, points: FloatArray) -> FloatArray:
        """Conditional distribution functions of the mixture, far components left out."""
        return self.mixture().forward(points)


def gaussian_donors(keys: Sequence[Key], labels: IntArray, keystream: Keystream) -> IntArray:
    """Gaussian dither, then Rosenblatt's transformation to the distribution of the keys.

    Keys with few values go first: a value that no other record has settles all keys after it.
    Unordered categories lie in the order of their codes; any order keeps the distribution.
    """
    ordered = transformation_order(keys)
    points = np.column_stack([scores(key) for key in ordered])
    dither = GaussianDither(points, labels)

    def drawn() -> IntArray:
        return transform(dither, empirical(ordered), keystream)

    if not sharing():
        return drawn()
    columns: list[Values] = [*(key.values for key in ordered), labels]
    order = order_of_values(columns)
    place = np.argsort(order)
    held = [column[order] for column in columns]
    shared = made_once("gaussian", held, lambda: place[drawn()[order]])
    return put_back(order[shared], order)


def transformation_order(keys: Sequence[Key]) -> list[Key]:
    """The keys, those with the fewest values first."""
    return sorted(keys, key=lambda key: np.unique(key.values).size)


def empirical(keys: Sequence[Key]) -> Empirical:
    """The joint distribution of the keys; missing is a value that comes last."""
    codes = [np.unique(key.values, return_inverse=True)[1].ravel() for key in keys]
    return Empirical.of(np.column_stack(codes).astype(np.int64))


def scores(key: Key) -> FloatArray:
    """The standardised key, missing values one unit above the greatest."""
    values = standardise(key.values)
    missing = np.isnan(values)
    if not missing.any():
        return values
    return np.where(missing, np.max(values, where=~missing, initial=-1.0) + 1.0, values)
