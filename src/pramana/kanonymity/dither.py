"""The Gaussian dither of every group, and draws of its members.

A dither is one part of the road draw -> forward -> backward of ``rosenblatt.py`` and can be
exchanged for any other continuous distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.errors import InvalidNumber
from pramana.kanonymity.groups import centres, order_of_groups
from pramana.kanonymity.mixture import NormalMixture
from pramana.randomness import Keystream
from pramana.types import FloatArray, IntArray

ALPHA = 1 / 3


def draw_members(labels: IntArray, keystream: Keystream) -> IntArray:
    """For every record a member of its group, each as likely: with replacement."""
    sizes = np.bincount(labels)
    order = order_of_groups(labels)
    starts = np.cumsum(sizes) - sizes
    picks = keystream.integers("k-anonymity/member", 0, sizes[labels]).astype(np.int64)
    members: IntArray = order[starts[labels] + picks]
    return members


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
