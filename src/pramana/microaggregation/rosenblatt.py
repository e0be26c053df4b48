"""Rosenblatt's transformation: from Gaussian draws near groups to the distribution of the keys.

A dither draws a point near the group of every record; its conditional distribution functions turn
that point into independent uniform numbers [Wei, eq. 6]; the inverse conditional distribution
functions of the keys turn those into keys [Wei, eq. 7 to 9]. Whatever the dither, released keys
have the joint distribution of the original ones. The inverse needs no search: records are
sorted by their keys once, and for every record and number of leading keys the run of records that
share them is kept. A uniform number picks a place in the current run.

The dither is a mixture of Gaussians. With L the lower root of a component's covariance,
z = L^-1 (x - mean) is found key by key, and

    F(x_j | x_1 ... x_{j-1}) = sum_l p_l Phi(z_lj) / sum_l p_l,

where p_l is the component's share times the density of the keys before j [Wei, eq. 12 to 14]. (The
paper prints the conditional mean with a minus sign.) Components that agree up to a key are counted
once up to there. Two things are not exact: Phi is within 8e-8 [Abramowitz64, 7.1.26], the density
within 64 / 5040 times (z^2 / 128)^7; more than MOST components are first joined to MOST of the same
weights, means and covariances, which moves a key of 20,000 groups by at most 2.5e-3 on average.
"""

# Numba infers the types of every argument from the first call.
# mypy: disable-error-code="no-untyped-def", disallow-untyped-decorators=False

from __future__ import annotations

import heapq
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.base.processes import default_threads
from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber
from pramana.microaggregation.groups import (
    Key,
    centres,
    compact,
    made_once,
    order_of_values,
    put_back,
    sharing,
    standardise,
)
from pramana.microaggregation.kernels import kernel
from pramana.types import FloatArray, IntArray, Values

ALPHA = 1 / 3

# A uniform number that stands for the exact end of a value's share must not spill over
# into the next one by rounding; what this moves is less than one draw in 10**13.
SLACK = 1 - 2.0**-44


@dataclass(frozen=True, eq=False)
class Empirical:
    """The joint distribution of the keys: codes, sorted records, and runs that share j keys."""

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


@dataclass(frozen=True, eq=False)
class GaussianDither:
    """N(mean, covariance + alpha I) of every group, on standardised keys [Wei, sec. 3.2.2]."""

    points: FloatArray
    labels: IntArray
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise InvalidNumber("alpha must be a number > 0, got {alpha!r}.", alpha=self.alpha)

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


def gaussian_donors(
    keys: Sequence[Key], labels: IntArray, keystream: Keystream, *, alpha: float = ALPHA
) -> IntArray:
    """Gaussian dither, then Rosenblatt's transformation to the distribution of the keys.

    Keys with few values go first: a value that no other record has settles all keys after it.
    Unordered categories lie in the order of their codes; any order keeps the distribution.
    """
    ordered = sorted(keys, key=lambda key: np.unique(key.values).size)
    points = np.column_stack([scores(key) for key in ordered])
    dither = GaussianDither(points, labels, alpha)

    codes = [np.unique(key.values, return_inverse=True)[1].ravel() for key in ordered]
    distribution = Empirical.of(np.column_stack(codes).astype(np.int64))

    def donors(order: IntArray) -> IntArray:
        drawn = distribution.backward(dither.forward(dither.draw(keystream)))
        return np.argsort(order)[drawn[order]]

    order = order_of_values([*(key.values for key in ordered), labels]) if sharing() else None
    if order is None:
        return donors(np.arange(len(labels)))
    columns: list[Values] = [*(key.values[order] for key in ordered), labels[order]]
    return put_back(order[made_once(f"gaussian {alpha!r}", columns, lambda: donors(order))], order)


def scores(key: Key) -> FloatArray:
    """The standardised key, missing values one unit above the greatest."""
    values = standardise(key.values)
    missing = np.isnan(values)
    if not missing.any():
        return values
    return np.where(missing, np.max(values, where=~missing, initial=-1.0) + 1.0, values)


MOST = 2048
LANES = 128  # points that are worked on at once
BLOCKS = 32  # so many times, until a thread takes the next
LIMIT = 8.5  # deviations beyond which Phi is 0 or 1
SAME = 10  # digits by which components are told apart


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Gaussians with their weights: (c,), (c, d) and (c, d, d)."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @cached_property
    def roots(self) -> FloatArray:
        """Lower triangular L with L L' the covariance."""
        lower: FloatArray = np.linalg.cholesky(self.covariances).astype(np.float64)
        return lower

    def forward(self, points: FloatArray, *, most: int = MOST) -> FloatArray:
        """Uniform numbers for every point, key by key; in blocks, on all processors."""
        n, d = points.shape
        rows, starts = self.joined(most).rows()
        filled = np.concatenate([points, np.repeat(points[-1:], -n % LANES, axis=0)])
        blocks = np.ascontiguousarray(filled.reshape(-1, LANES, d).transpose(0, 2, 1))
        uniforms = np.empty_like(blocks)

        def work(begin: int) -> None:
            batch = slice(begin, begin + BLOCKS)
            z, total, share = np.empty((d, LANES)), np.empty((d, LANES)), np.ones((d + 1, LANES))
            _forward(blocks[batch], rows, starts, z, share, total, uniforms[batch])

        work(0)  # alone, so that threads do not all compile the same loop
        with ThreadPoolExecutor(default_threads()) as pool:
            list(pool.map(work, range(BLOCKS, len(blocks), BLOCKS)))
        numbers: FloatArray = uniforms.transpose(0, 2, 1).reshape(-1, d)[:n]
        return numbers

    def rows(self) -> tuple[FloatArray, IntArray]:
        """Components in an order in which those of the same first keys follow each other.

        For every component and key 1 / L_jj, mean_j / L_jj, the weight of all components that are
        the same up to this key, and L_j,<j / L_jj; and the key from which on each is not as the one
        before it.
        """
        count, d = self.means.shape
        traits = [np.column_stack([self.means[:, j], self.roots[:, j, : j + 1]]) for j in range(d)]
        traits = [trait.round(SAME) + 0.0 for trait in traits]
        order = np.lexsort(np.column_stack(traits).T[::-1])
        starts, new = np.full(count, d), np.zeros(count, bool)
        rows = np.zeros((count, d, d + 3))
        for j, trait in enumerate(traits):
            mean, lean, spread = trait[order, 0], trait[order, 1:-1], trait[order, -1]
            new[:1] = True
            new[1:] |= (trait[order[1:]] != trait[order[:-1]]).any(axis=1)
            starts[new & (starts == d)] = j
            run = np.cumsum(new) - 1
            rows[:, j, 0] = 1 / spread
            rows[:, j, 1] = mean / spread
            rows[:, j, 2] = np.bincount(run, self.weights[order])[run]
            rows[:, j, 3 : 3 + j] = lean / spread[:, None]
        kept = starts < d  # the rest are the same in all keys
        return rows[kept], starts[kept]

    def joined(self, most: int) -> NormalMixture:
        """At most ``most`` components, near ones joined with their moments kept."""
        if self.weights.size <= most:
            return self
        parts = split(self.means, self.weights, most)
        weights: FloatArray = np.bincount(parts, self.weights).astype(np.float64)

        def average(values: FloatArray) -> FloatArray:
            mean: FloatArray = np.bincount(parts, self.weights * values) / weights
            return mean

        d = self.means.shape[1]
        means = np.column_stack([average(self.means[:, i]) for i in range(d)])
        gaps = self.means - means[parts]
        spread = np.empty((weights.size, d, d))
        for i in range(d):
            for j in range(d):
                spread[:, i, j] = average(self.covariances[:, i, j] + gaps[:, i] * gaps[:, j])
        return NormalMixture(weights, means, spread)


def split(means: FloatArray, weights: FloatArray, most: int) -> IntArray:
    """Cut the components into ``most`` parts, the one with the widest and heaviest first."""
    labels = np.zeros(weights.size, np.int64)
    heap: list[tuple[float, int, int, IntArray]] = []

    def push(name: int, members: IntArray) -> None:
        share = weights[members]
        centre = share @ means[members] / share.sum()
        spread = share @ (means[members] - centre) ** 2
        widest = int(spread.argmax())
        if members.size > 1 and spread[widest] > 0:
            # joining keeps two moments, so what is lost grows with the third
            loss = spread[widest] ** 1.5 / share.sum() ** 0.5
            heapq.heappush(heap, (-float(loss), name, widest, members))

    push(0, np.arange(weights.size))
    for name in range(1, most):
        if not heap:
            break
        _, old, widest, members = heapq.heappop(heap)
        along = means[members, widest]
        right = along > np.average(along, weights=weights[members])
        if right.all() or not right.any():  # equal but for rounding
            continue
        labels[members[right]] = name
        push(old, members[~right])
        push(name, members[right])
    return compact(labels)


@kernel
def deviations(points, b, rows, c, j, z):
    """Key j of the points in deviations of component c, given the keys before."""
    lanes = points.shape[2]
    scale, mean = rows[c, j, 0], rows[c, j, 1]
    for i in range(lanes):
        z[j, i] = points[b, j, i] * scale - mean
    for h in range(j):
        lean = rows[c, j, 3 + h]
        if lean != 0.0:
            for i in range(lanes):
                z[j, i] -= lean * z[h, i]


@kernel
def weigh(z, j, weight, scale, share, total, out, b):
    """What a component adds to both sums of key j, and its share after that key.

    exp(-y) is the 64th power of six terms of the series of exp(-y / 64); a polynomial times it
    is what Phi leaves [Abramowitz64, 7.1.26].
    """
    for i in range(z.shape[1]):
        far = abs(z[j, i])
        far = far if far < LIMIT else LIMIT
        x = far * far * (-1 / 128)
        e = 1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720)))
        e = 1.0 + x * (1.0 + x * (0.5 + x * e))
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        t = 1.0 / (1.0 + 0.23164188826106536 * far)
        q = 0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)
        q = e * t * (0.127414796 + t * (-0.142248368 + t * q))
        q = q if z[j, i] < 0.0 else 1.0 - q
        posterior = weight * share[j, i]
        total[j, i] += posterior
        out[b, j, i] += posterior * q
        share[j + 1, i] = share[j, i] * e * scale


@kernel
def _forward(points, rows, starts, z, share, total, out):
    """Uniform numbers for every point, key by key.

    points[b, j] holds key j of the points of block b: the inner loops run along these, and need
    nothing but sums and products, so that processors take several at once, and all get the same.
    Component c is that before it up to key starts[c]; rows[c, j] holds 1 / L_jj, mean_j / L_jj, the
    weight of all components that are the same up to j, and L_j,<j / L_jj.
    """
    blocks, d, lanes = points.shape
    for b in range(blocks):
        for j in range(d):
            for i in range(lanes):
                total[j, i] = 0.0
                out[b, j, i] = 0.0
        for c in range(starts.size):
            for j in range(starts[c], d):
                deviations(points, b, rows, c, j, z)
                weigh(z, j, rows[c, j, 2], rows[c, j, 0], share, total, out, b)
        for j in range(d):
            for i in range(lanes):
                out[b, j, i] /= total[j, i]
