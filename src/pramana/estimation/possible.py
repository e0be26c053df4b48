"""The mean of all small tables that could have made what was released.

Counts cannot be negative, and that tells much where noise is strong: most of what noise could have
done leads to tables that cannot be. So tables are drawn beforehand, from nearly independent ones to
those with all but a few cells empty, each brought to the margins of the truth. Each counts by how
probable it makes the released table, and by how usual so much dependence is (strength.py). Their
weighted mean has the least squared error of all estimates, on average over such truths.

That needs tables among those drawn that look like what was seen. The more cells, and the more the
data tell, the fewer there are: how many really count is told along, and those who ask take what
was found in another way instead (spectral.py). The draws come from a fixed keystream, so that an
estimate depends on the release and on nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from pramana.estimation.channels import Channels
from pramana.estimation.strength import usual_below
from pramana.randomness import Keystream
from pramana.types import FloatArray

__all__ = ["SMALL", "mean_table"]

SMALL: Final = 30
"""Up to so many cells a table is small."""

DRAWS: Final = 2_000
WEAKEST, STRONGEST = 0.02, 4.0
"""Deviations of the logarithms of cells: next to no dependence, and all but a few cells empty."""

ROUNDS: Final = 16
LEAST: Final = 2e-3
"""No row or column is thought to hold a smaller share: it would hardly tell, and never settle."""

CLASSES: Final = np.concatenate([[0.0], np.geomspace(4e-3, 1.0, 30)])
"""Of Cramer's V: drawn tables of a class share what is usual for it."""


def mean_table(
    released: FloatArray, channels: Channels, margins: tuple[FloatArray, FloatArray], noise: float
) -> tuple[FloatArray, float, float]:
    """What the mean of possible truths differs from independence, and how many of them count.

    And the evidence for dependence: the logarithm of how much likelier the release is by tables of
    all strengths alike than by independence.

    Args:
        released: The released two-way table.
        channels: Its mechanism.
        margins: Those of the truth.
        noise: The share of chance in where a record ends up.
    """
    total = float(released.sum())
    dependence, strengths = _drawn(*(_shares(margin) for margin in margins))
    expected = np.outer(released.sum(axis=1), released.sum(axis=0)) / total
    scale = np.sqrt(np.maximum(expected, 1e-9))
    # Pearson residuals are Normal with the same deviation in every cell; these are their means.
    means = channels.forward(dependence) * (total / scale)[:, :, None]
    seen = (released - expected) / scale
    likely = (means * (seen[:, :, None] - means / 2)).sum(axis=(0, 1)) / noise
    chances, most = np.exp(likely - likely.max()), float(likely.max())
    alike = _spread_over(strengths, CLASSES)
    evidence = most + float(np.log((chances * alike).sum() / alike.sum()))
    weights = chances * _spread_over(strengths, usual_below(CLASSES))
    weights /= weights.sum()
    return (dependence * weights).sum(axis=2) * total, float(1 / (weights**2).sum()), evidence


def _shares(margin: FloatArray) -> FloatArray:
    shares = np.maximum(margin / margin.sum(), LEAST)
    return np.asarray(shares / shares.sum())


def _drawn(rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tables with these margins, side by side along the last axis, and their Cramer's V.

    Of each table there is what it differs from independence.
    """
    independent = np.outer(rows, columns)[:, :, None]
    tables = _factors(len(rows), len(columns)) * independent
    for _ in range(ROUNDS):
        tables *= (rows[:, None] / tables.sum(axis=1))[:, None]
        tables *= columns[:, None] / tables.sum(axis=0)
    dependence = tables - tables.sum(axis=1)[:, None] * columns[:, None]
    squares = (dependence**2 / independent).sum(axis=(0, 1)) / (min(len(rows), len(columns)) - 1)
    return dependence, np.sqrt(squares)


@lru_cache(maxsize=16)
def _factors(rows: int, columns: int) -> FloatArray:
    """What cells of drawn tables are beside those of independence.

    Each comes with its opposite, so that all together lean to no side.
    """
    half = DRAWS // 2
    normals = Keystream.from_seed(0).normals("possible tables", 0, half * rows * columns)
    deviations = np.geomspace(WEAKEST, STRONGEST, half)
    tables = deviations * normals.reshape(half, rows, columns).transpose(1, 2, 0)
    both = np.clip(np.concatenate([tables, -tables], axis=2), -12, 12)
    return np.ascontiguousarray(np.exp(both))


def _spread_over(strengths: FloatArray, below: FloatArray) -> FloatArray:
    """How much each table counts, if so much is below each class of strengths."""
    classes = np.clip(np.digitize(strengths, CLASSES) - 1, 0, len(CLASSES) - 2)
    number = np.bincount(classes, minlength=len(CLASSES) - 1)
    return np.asarray((np.diff(below) / np.maximum(number, 1))[classes])
