"""How far an unbiased estimate can be off: variances, intervals, ratios.

A record with true value k is released as l with probability P_kl and then counts B_lg towards
group g, where B = P^-1 M. Records are randomised independently, so with weights w

    Var(estimate_g) = sum_k sum_{i in k} w_i^2 (sum_l P_kl B_lg^2 - M_kg)

about these records [Cator, Sec. 3], and the released sums of squares estimate it without bias:
``spread(W) - solve(W)`` with W_l the sum of w^2 over the records released as l. About a population
from which the records are a random sample, each record's whole contribution varies, and the
variance is ``spread(W) - estimate^2 / n``.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from pramana.errors import InvalidNumber
from pramana.estimation.channels import Channels
from pramana.numeric import require_number
from pramana.types import FloatArray

__all__ = [
    "USUAL",
    "Inference",
    "Interval",
    "Question",
    "Ratio",
    "Sums",
    "count_covariance",
    "normal_interval",
    "quantile",
    "total_covariance",
]

Inference = Literal["records", "population"]
"""About these records (randomisation only), or about the population that they were drawn from."""

Interval = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Question:
    """What the intervals shall mean.

    Attributes:
        level: The probability with which an interval holds.
        infer: ``records`` or ``population``.
        simultaneous: Whether all intervals of a table shall hold together.
        errors: Whether standard errors are wanted where they take long; intervals come anyway.
    """

    level: float = 0.95
    infer: Inference = "records"
    simultaneous: bool = False
    errors: bool = True

    def __post_init__(self) -> None:
        require_number("level", self.level, low=0, high=1, low_open=True, high_open=True)
        if self.infer not in ("records", "population"):
            raise InvalidNumber(f"infer must be 'records' or 'population', got {self.infer!r}.")

    def z(self, numbers: int, *, misses: float = 1.0) -> float:
        """The Normal quantile, for a table of so many numbers; ``misses`` scales 1 - level."""
        level = max(1 - misses * (1 - self.level), 1e-6)
        return quantile(level, numbers=numbers if self.simultaneous else 1)


USUAL = Question()
"""Intervals at 95 % about these records, each for itself."""


def count_covariance(
    channels: Channels, products: FloatArray, sums: Sums, *, infer: Inference
) -> FloatArray:
    """The covariance of two estimated sums a_g and b_g in every group.

    ``products`` are sums of a_i b_i by released cell; with a = b it is a variance.
    """
    spread = channels.spread(products)
    if infer == "records":
        return spread - channels.solve(products)
    return spread - sums.first * sums.second / max(sums.records, 1.0)


def total_covariance(
    channels: Channels, products: FloatArray, sums: Sums, *, infer: Inference
) -> tuple[FloatArray, float]:
    """The covariance of each group with the total of all groups, and the variance of the total.

    Both are 0 about these records where nothing is left out: their number is known.
    """
    cross, gross = channels.cross(products), float(channels.gross(products).sum())
    if infer == "records":
        solved = channels.solve(products)
        return cross - solved, gross - float(solved.sum())
    total = float(sums.first.sum())
    records = max(sums.records, 1.0)
    return cross - sums.first * total / records, gross - total**2 / records


@dataclass(frozen=True)
class Sums:
    """Two estimated sums of every group, and how many records they come from."""

    first: FloatArray
    second: FloatArray
    records: float


def quantile(level: float, *, numbers: int = 1) -> float:
    """The Normal quantile of a two-sided interval, for one number or for many at once.

    Many at once: all ``numbers`` intervals hold together with probability ``level`` or more,
    whatever the correlation of the estimates [Sidak].

    >>> round(quantile(0.95), 3), round(quantile(0.95, numbers=10), 3)
    (1.96, 2.8)
    """
    require_number("level", level, low=0, high=1, low_open=True, high_open=True)
    each = level ** (1 / max(numbers, 1))
    return NormalDist().inv_cdf((1 + each) / 2)


def normal_interval(estimate: FloatArray, se: FloatArray, *, z: float) -> Interval:
    """Estimate plus or minus z standard errors."""
    return estimate - z * se, estimate + z * se


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio of two estimates, with their variances and covariance."""

    above: FloatArray
    below: FloatArray
    v_above: FloatArray
    cov: FloatArray
    v_below: FloatArray

    @property
    def value(self) -> FloatArray:
        """The ratio; ``nan`` where the denominator is not positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.below > 0, self.above / self.below, np.nan)

    @property
    def se(self) -> FloatArray:
        """The standard error of the ratio, to first order."""
        ratio = self.value
        variance = np.maximum(self.v_above - 2 * ratio * self.cov + ratio**2 * self.v_below, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.below > 0, np.sqrt(variance) / self.below, np.nan)

    def interval(self, z: float) -> Interval:
        """All ratios r with |above - r below| within z standard errors of 0 [Fieller].

        Right also where the denominator is small, when the first-order interval is far too short;
        where the denominator cannot be told from 0, any ratio is possible, and it says so.
        """
        a = self.below**2 - z**2 * self.v_below
        b = self.above * self.below - z**2 * self.cov
        c = self.above**2 - z**2 * self.v_above
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(b**2 - a * c, 0))
            low, high = (b - root) / a, (b + root) / a
        known = (a > 0) & (self.below > 0)
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)
