"""Released counts against their mean: a chi-square test that holds where few records change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.types import FloatArray

__all__ = ["ChiSquareFit", "fit_counts"]

FEWEST_EXPECTED = 5.0
"""Cells with fewer expected records are put together: chi-square is a law of large numbers."""


@dataclass(frozen=True)
class Distance:
    """How far counts lie from their mean, in units of their noise.

    ``far`` is less than the square where one record more or less is a large step: of a table in
    which hardly any record changes, the one that does lies many standard deviations off. A sum of
    draws, each within b of its mean, is t deviations off no more often than a normal one is
    t / sqrt(1 + b t / 3) (Bernstein).
    """

    square: float
    far: float

    @classmethod
    def of(cls, shifts: FloatArray, steps: FloatArray) -> Distance:
        """From deviations in independent directions, and the largest step of a record in each."""
        squares = shifts**2
        return cls(float(squares.sum()), float((squares / (1 + steps * np.abs(shifts) / 3)).sum()))

    def __add__(self, other: Distance) -> Distance:
        return Distance(self.square + other.square, self.far + other.far)


@dataclass(frozen=True)
class ChiSquareFit:
    """A chi-square test of released counts.

    Attributes:
        found: how far the released records lie from the mean.
        degrees: in how many directions they can.
        grain: by how much the square may change within the rounding of counts to whole numbers.
        truth: how far the true records themselves lie from it.
        step: the largest step of one record.
    """

    found: Distance
    degrees: int
    grain: float
    truth: Distance
    step: float

    @property
    def p_value(self) -> float:
        """How likely a sound release is to lie so far from the mean."""
        return _tails(self.found, self)[0]

    @property
    def too_close(self) -> float:
        """How likely a sound release is to lie so close to the mean."""
        return _tails(self.found, self)[1]

    @property
    def chance(self) -> float:
        """How likely a sound release is to be as far off, or as close, as this one."""
        return min(1.0, 2 * min(_tails(self.found, self)))

    @property
    def of_truth(self) -> float:
        """The chance of the true records themselves in place of the released ones."""
        return min(1.0, 2 * min(_tails(self.truth, self)))

    def __add__(self, other: ChiSquareFit) -> ChiSquareFit:
        """Two independent tables together."""
        return ChiSquareFit(
            self.found + other.found,
            self.degrees + other.degrees,
            self.grain + other.grain,
            self.truth + other.truth,
            max(self.step, other.step),
        )


def _tails(distance: Distance, fit: ChiSquareFit) -> tuple[float, float]:
    """Both tails; counts are whole numbers, so that the lower one begins half a record off."""
    from scipy.special import chdtr, chdtrc

    if not fit.degrees or not np.isfinite(distance.far):
        return float(np.isfinite(distance.far)), 1.0
    close = chdtr(fit.degrees, distance.square + fit.grain)
    return float(chdtrc(fit.degrees, distance.far)), float(close)


def fit_counts(values: FloatArray, before: FloatArray, after: FloatArray) -> ChiSquareFit:
    """How well released counts fit the true ones under a matrix."""
    mean = before @ values
    covariance = np.diag(mean) - (values.T * before) @ values
    ways = after - mean, before - mean
    if mean.min(initial=np.inf) < FEWEST_EXPECTED:
        gather = _gather(mean)
        covariance = gather @ covariance @ gather.T
        ways = gather @ ways[0], gather @ ways[1]
    off = ways[0]
    # Columns sum to the number of records, so that one direction has no variance: a pseudo-inverse.
    eigenvalues, vectors = np.linalg.eigh(covariance)
    kept = eigenvalues > 1e-9 * max(float(eigenvalues.max(initial=0.0)), 1e-300)
    idle = float(np.abs(vectors[:, ~kept].T @ off).max(initial=0.0))
    noise = np.sqrt(eigenvalues[kept])
    axes = vectors[:, kept] / noise
    steps = np.ptp(axes, axis=0) if kept.any() else noise
    found, truth = (Distance.of(axes.T @ way, steps) for way in ways)
    if idle > 1e-6 * max(1.0, float(before.sum())):  # moved where the matrices allow no movement
        found = Distance(np.inf, np.inf)
    grain, step = float((0.25 / noise**2).sum()), float(steps.max(initial=0.0))
    return ChiSquareFit(found, int(kept.sum()), grain, truth, step)


def _gather(mean: FloatArray) -> FloatArray:
    """Sums up the cells that expect too few records, and leaves the others alone."""
    few = np.flatnonzero(mean < FEWEST_EXPECTED)
    many = np.flatnonzero(mean >= FEWEST_EXPECTED)
    rows = np.eye(len(mean))[many]
    if not len(few):
        return rows
    pooled = np.zeros((1, len(mean)))
    pooled[0, few] = 1
    if mean[few].sum() < FEWEST_EXPECTED and len(many):
        rows[int(mean[many].argmin())] += pooled[0]
        return rows
    return np.vstack([rows, pooled])
