"""How far an unbiased estimate can be off: variances, intervals, ratios.

A record with original value k is released as l with probability P_kl and then counts B_lg towards
group g, where B = P^-1 M. Records are randomised independently, so with weights w

    Var(estimate_g) = sum_k sum_{i in k} w_i^2 (sum_l P_kl B_lg^2 - M_kg)

about these records [Cator, Sec. 3], and the released sums of squares estimate it without bias:
``spread(W) - solve(W)`` with W_l the sum of w^2 over the records released as l. About a population
from which the records are a random sample, each record's whole contribution varies, and the
variance is ``spread(W) - estimate^2 / n``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.question import Inference
from pramana.types import BoolArray, FloatArray

Interval = tuple[FloatArray, FloatArray]


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
        varies = gross - float(solved.sum())
        return cross - solved, varies if abs(varies) > NOTHING * gross else 0.0
    total = float(sums.first.sum())
    records = max(sums.records, 1.0)
    return cross - sums.first * total / records, gross - total**2 / records


@dataclass(frozen=True)
class Sums:
    """Two estimated sums of every group, and how many records they come from."""

    first: FloatArray
    second: FloatArray
    records: float


def normal_interval(estimate: FloatArray, se: FloatArray, *, z: float) -> Interval:
    """Estimate plus or minus z standard errors."""
    return estimate - z * se, estimate + z * se


def bounded_interval(estimate: FloatArray, se: FloatArray, *, z: float) -> Interval:
    """The interval of a number that cannot be below 0 [Feldman].

    An interval that is merely cut at 0 is empty where the estimate is far below 0, and its level is
    wrong near 0. This one holds at its level for every true number, 0 included, is never empty, and
    is the usual one where the estimate is more than 2 z standard errors above 0.

    >>> from pramana.analysis.question import quantile
    >>> low, high = bounded_interval(np.array([-2.0, 2.0, 5.0]), np.ones(3), z=quantile(0.95))
    >>> low.round(2), high.round(2)
    (array([0.  , 0.35, 3.04]), array([0.62, 3.96, 6.96]))
    """
    truth, least, most = _accepted(z)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(se > 0, estimate / se, np.inf)
    low = np.where(at >= 2 * z, at - z, np.interp(at, most, truth, left=0.0))
    high = np.where(at >= 0, at + z, np.interp(at, least, truth))
    sure = np.isinf(at)
    with np.errstate(invalid="ignore"):
        return np.where(sure, estimate, low * se), np.where(sure, estimate, high * se)


def not_refuted(
    counts: FloatArray,
    total: float,
    *,
    z: float,
    times: FloatArray | float,
    known: FloatArray | float = 0.0,
) -> Interval:
    """All t within z errors of a count whose variance is ``known`` + times t (1 - t / total).

    A count is judged by the variance that it would have itself [Wilson27].

    >>> from pramana.analysis.question import quantile
    >>> low, high = not_refuted(np.array([0.0, 50.0]), 100.0, z=quantile(0.95), times=1.0)
    >>> low.round(2), high.round(2)
    (array([ 0.  , 40.38]), array([ 3.7 , 59.62]))
    """
    square = 1 + z**2 * times / total
    middle = counts + z**2 * times / 2
    root = np.sqrt(np.maximum(middle**2 - square * (counts**2 - z**2 * known), 0))
    return (middle - root) / square, (middle + root) / square


FEW: Final = 3.0
"""A standard error of this many records is one of few that move: about nine."""


def half_a_record(se: FloatArray, step: float | FloatArray) -> FloatArray:
    """What an interval leaves to both sides where few records move; ``step`` is what one changes.

    If a tenth of a record is expected to move, the one that did is three standard errors away, and
    one interval in ten would miss. Where nothing can move, nothing is left.

    >>> half_a_record(np.array([0.0, 0.3, 30.0]), 1.0)
    array([0. , 0.5, 0. ])
    """
    return np.where((se > 0) & (se < FEW * np.asarray(step)), np.asarray(step) / 2, 0.0)


def few_seen(variance: FloatArray, more: FloatArray, step: FloatArray | float) -> BoolArray:
    """Where a variance is told by few records, of those that add ``more`` each.

    One in 1 + more of them shows itself, and then stands for all of these.
    """
    each = more * (1 + more)
    return np.asarray((variance < (FEW * step) ** 2 * each) & (more > NOTHING), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Unseen:
    """How far a count can lie from its estimate where few records tell the error.

    Of a cell that was released empty the variance is estimated as 0, while every record that is
    truly there adds ``more`` to it; and people of such a cell, who stand elsewhere, add up to
    ``strangers`` to that of the cell where they stand, which shows no sign of them either. So a
    count that is d off is judged by the variance that it would have itself, V + d more, of at
    least one such record [Wilson27], with half a record on top. No bound (minus infinity) where
    enough records are seen.

    Attributes:
        variance: As it was estimated.
        more: What one more original record of a group adds.
        strangers: What one fewer, a stranger in its place, adds at most; below 0 if it takes off.
        step: What a single record counts.
        least: What the variance of no truth is below.

    >>> from pramana.analysis.question import quantile
    >>> nobody, more = np.zeros(2), np.array([0.0, 1.0])
    >>> Unseen(nobody, more, nobody, 1.0).above(quantile(0.95)).round(2)
    array([-inf, 5.16])
    """

    variance: FloatArray
    more: FloatArray
    strangers: FloatArray
    step: FloatArray | float
    least: FloatArray | float = 0.0

    def above(self, z: float) -> FloatArray:
        """How many more there can be: own people who stand elsewhere."""
        return self._off(self.more, z)

    def below(self, z: float) -> FloatArray:
        """How many fewer there can be: people of other cells who stand here."""
        return self._off(np.maximum(self.strangers, 0), z)

    def nearer(self, z: float) -> FloatArray:
        """How many fewer there can be where the error of fewer people is smaller.

        Half of what one who shows himself stands for is left, 1 + less of them: of few people one
        may be seen by luck. No truth has a smaller variance than ``least``. No bound (infinity)
        where the error is not smaller, or enough records are seen.
        """
        less = np.maximum(-self.strangers, 0)
        middle = z**2 * less * self.step / 2
        off = np.sqrt(middle**2 + z**2 * self.variance) - middle
        off = np.maximum(off, z * np.sqrt(self.least)) + (1 + less) * self.step / 2
        return np.where(few_seen(self.variance, less, self.step), off, np.inf)

    def _off(self, more: FloatArray, z: float) -> FloatArray:
        known = np.maximum(self.variance, more * self.step**2)
        middle = z**2 * more * self.step / 2
        off = middle + np.sqrt(middle**2 + z**2 * known) + self.step / 2
        return np.where(few_seen(self.variance, more, self.step), off, -np.inf)


NOTHING: Final = 1e-9
"""Up to this a record adds no variance but by rounding."""


@lru_cache(maxsize=64)
def _accepted(z: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """True numbers up to z, in standard errors, and which estimates each of them accepts.

    Estimates are accepted in the order of their likelihood over the greatest that any truth of 0 or
    more has. For a truth m up to z the ends have equal ratios, x m - m^2 / 2 = -(y - m)^2 / 2, and
    x < 0 <= y; x is found by halving.
    """
    from scipy.special import ndtr

    truth = np.geomspace(1e-3, z, 400)

    def other(least: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(truth**2 - 2 * least * truth, 0))

    low, high = np.full(truth.shape, -1e3 * (1 + z**2)), np.zeros(truth.shape)
    for _ in range(80):
        middle = (low + high) / 2
        outside = ndtr(-other(middle)) + ndtr(middle - truth)
        too_near = outside > 2 * ndtr(-z)
        low, high = np.where(too_near, low, middle), np.where(too_near, middle, high)
    least = (low + high) / 2
    return truth, least, truth + other(least)


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

    @property
    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """What a value, and what a record, counts in the ratio, to first order."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(self.below > 0, 1 / self.below, np.nan)
        return slope, -self.value * slope

    def at_least(self, other: Ratio) -> Ratio:
        """The same ratio, in every cell with the variances of whichever is wider.

        What is said of a population holds for these records too. Both are estimated, and where few
        records move, a release in which none did would make the first the smaller one.
        """
        wider = other.se > self.se
        return replace(
            self,
            v_above=np.where(wider, other.v_above, self.v_above),
            cov=np.where(wider, other.cov, self.cov),
            v_below=np.where(wider, other.v_below, self.v_below),
        )

    def interval(self, z: float) -> Interval:
        """All ratios r with |above - r below| within z standard errors of 0 [Fieller].

        Right also where the denominator is small, when the first-order interval is far too short.
        A denominator that is not well away from 0 leaves every ratio possible, and the interval is
        infinite. Of denominators near that border those come through that noise made larger, and
        with them their ratios are off: near it intervals are wider (see ``BORDER``).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where(self.v_below > 0, self.below / np.sqrt(self.v_below), np.inf)
        wide = z + WIDER * np.clip((BORDER + 2 - away) / 2, 0, 1)
        a = self.below**2 - wide**2 * self.v_below
        b = self.above * self.below - wide**2 * self.cov
        c = self.above**2 - wide**2 * self.v_above
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(b**2 - a * c, 0))
            low, high = (b - root) / a, (b + root) / a
        known = (a > 0) & (self.below > 0) & (away >= BORDER)
        return np.where(known, low, -np.inf), np.where(known, high, np.inf)

    def told(self, z: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Value, standard error and interval: no value where every one is possible."""
        low, high = self.interval(z)
        known = np.isfinite(high)
        return np.where(known, self.value, np.nan), np.where(known, self.se, np.nan), low, high


BORDER: Final = 3.0
"""A ratio has a bounded interval where its denominator is this many standard errors above 0.

Whether there is one is decided by the very noise that the interval is about. Let the true
denominator be one error below the border, and the error of the ratio correlated with it by 0.8 (a
group whose mean is far from all others'): of the intervals that are given, 86 % would hold. Wider
by ``WIDER`` at the border, and by nothing two errors above it, they hold in 95 %, and nowhere less
but for groups that nearly never come through.
"""

WIDER: Final = 1.0
