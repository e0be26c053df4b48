"""Conditional distribution functions of a mixture of many Gaussians.

With L the lower root of a component's covariance, z = L^-1 (x - mean) is found key by key, and

    F(x_j | x_1 ... x_{j-1}) = sum_l p_l Phi(z_lj) / sum_l p_l,

where p_l is the component's share times the density of the keys before j [Wei, eq. 12 to 14].
The paper prints the conditional mean with a minus sign; this road has it right by itself:
mean_j + L_j,<j z_<j is mean_j + C_j,<j C_<j,<j^-1 (x_<j - mean_<j).

Three things make a million records possible, each with its error:

- a component whose share has fallen below CUT of the largest is left out from there on: at most
  MOST * CUT = 2e-5 of the mass for mixtures of up to MOST components;
- Phi and the density are read from a table by straight lines: at most 2e-6 in Phi, and in
  proportion at most 8e-6 z^2 in the density;
- more than MOST components are first joined to MOST of the same weights, means and covariances
  in all; ``joining_error`` measures what that does to the numbers.
"""

from __future__ import annotations

import heapq
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.kanonymity.groups import compact
from pramana.types import FloatArray, IntArray

MOST = 2048
CUT = 1e-8
CHUNK = 4096  # records a thread works on at a time
LIMIT = 8.5  # the table ends here: Phi is 0 or 1, the density 2e-16 of its greatest value
STEPS = 128  # table entries a unit


def normal_table() -> FloatArray:
    """Phi and exp(-z^2 / 2) at -LIMIT, ..., LIMIT, each with its step to the next entry."""
    from scipy.special import ndtr

    z = np.arange(-LIMIT * STEPS, LIMIT * STEPS + 3) / STEPS
    below, density = ndtr(z), np.exp(-0.5 * z * z)
    return np.column_stack([below[:-1], np.diff(below), density[:-1], np.diff(density)])


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
        """Uniform numbers for every point, key by key; in chunks, on all processors."""
        from pramana.kanonymity import kernels_mixture

        small = self.joined(most)
        rows, table, uniforms = small.rows(), normal_table(), np.empty_like(points)
        count = small.weights.size

        def work(begin: int) -> None:
            some = slice(begin, begin + CHUNK)
            scratch = (np.empty(small.means.shape), np.empty(count), np.empty(count, np.int64))
            constants = (table, LIMIT, float(STEPS), CUT)
            kernels_mixture.forward(
                points[some], small.weights, rows, *constants, *scratch, uniforms[some]
            )

        work(0)  # alone, so that threads do not all compile the same loop
        with ThreadPoolExecutor() as pool:
            list(pool.map(work, range(CHUNK, len(points), CHUNK)))
        return uniforms

    def rows(self) -> FloatArray:
        """For every key and component: mean_j, 1 / L_jj and L_j,<j."""
        count, d = self.means.shape
        rows = np.zeros((d, count, d + 1))
        for j in range(d):
            rows[j, :, 0] = self.means[:, j]
            rows[j, :, 1] = 1 / self.roots[:, j, j]
            rows[j, :, 2 : 2 + j] = self.roots[:, j, :j]
        return rows

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
        middle = share @ means[members] / share.sum()
        spread = share @ (means[members] - middle) ** 2
        widest = int(spread.argmax())
        if members.size > 1 and spread[widest] > 0:
            # joining keeps two moments, so what is lost grows with the third
            lost = spread[widest] ** 1.5 / share.sum() ** 0.5
            heapq.heappush(heap, (-float(lost), name, widest, members))

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
