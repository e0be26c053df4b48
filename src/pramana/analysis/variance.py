"""Errors of unbiased estimates: variances, intervals, ratios.

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
    channels: Channels,
    products: FloatArray,
    first: FloatArray,
    second: FloatArray,
    *,
    records: float,
    infer: Inference,
) -> FloatArray:
    """The covariance of two estimated sums a_g and b_g in every group.

    ``products`` are sums of a_i b_i by released cell; with a = b it is a variance. About a
    population the sums come from this many ``records``.
    """
    spread = channels.spread(products)
    if infer == "records":
        return spread - channels.solve(products)
    return spread - first * second / max(records, 1.0)


def bounded_interval(estimate: FloatArray, se: FloatArray, *, z: float) -> Interval:
    """The interval of a number that cannot be below 0 [Feldman].

    Cutting the usual interval at 0 gives a wrong level near 0, and an empty interval below it. This
    one holds at its level for every number from 0 on, and is the usual one where the estimate is
    more than 2 z standard errors above 0.

    >>> from pramana.analysis.question import quantile
    >>> low, high = bounded_interval(np.array([-2.0, 2.0, 5.0]), np.ones(3), z=quantile(0.95))
    >>> low.round(2), high.round(2)
    (array([0.  , 0.35, 3.04]), array([0.62, 3.96, 6.96]))
    """
    true, least, most = _accepted(z)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.where(se > 0, estimate / se, np.inf)
    low = np.where(at >= 2 * z, at - z, np.interp(at, most, true, left=0.0))
    high = np.where(at >= 0, at + z, np.interp(at, least, true))
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
    """All counts t that a count does not refute: those within z errors of it [Wilson27].

    A count t is judged by the variance that it would have itself: ``known`` + times t (1 - t /
    total).

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
"""A standard error below this many records comes from few records that move: about nine."""

NOTHING: Final = 1e-9
"""A record that adds no more variance than this adds none: the rest is rounding."""


def half_a_record(se: FloatArray, step: float | FloatArray) -> FloatArray:
    """What an interval is extended by at both ends where few records move.

    ``step`` is what one record changes. If a tenth of a record is expected to move, the one that
    does is three standard errors away, and one interval in ten would miss. Where nothing can move,
    nothing is added.

    >>> half_a_record(np.array([0.0, 0.3, 30.0]), 1.0)
    array([0. , 0.5, 0. ])
    """
    return np.where((se > 0) & (se < FEW * np.asarray(step)), np.asarray(step) / 2, 0.0)


@dataclass(frozen=True, eq=False)
class Unseen:
    """How far a count can lie from its estimate where few records determine the error.

    A cell that was released empty has the estimated variance 0, although every original record in
    it adds ``more``. Records of such a cell that were released in another one add up to
    ``strangers`` there. So a count that differs by d is judged by the variance that it would have
    itself, V + d more, of at least one such record [Wilson27], with half a record on top. There is
    no bound (minus infinity) where enough records are seen.

    Attributes:
        variance: As estimated.
        more: What one more original record of a group adds.
        strangers: What one record fewer adds at most; below 0 if it reduces the variance.
        step: What one record counts.
        least: The smallest variance that any original table gives.

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
        """How many more there can be: records of this group that were released in others."""
        return self._off(self.more, z)

    def below(self, z: float) -> FloatArray:
        """How many fewer there can be: records of other groups that were released here."""
        return self._off(np.maximum(self.strangers, 0), z)

    def ends(self, z: float) -> Interval:
        """Both."""
        return self.below(z), self.above(z)

    def nearer(self, z: float) -> FloatArray:
        """How many fewer there can be where fewer records have a smaller error.

        Of few records one may be seen by luck, which represents 1 + less of them: half of these are
        left. There is no bound (infinity) where the error is not smaller, or enough records are
        seen.
        """
        less = np.maximum(-self.strangers, 0)
        middle = z**2 * less * self.step / 2
        off = np.sqrt(middle**2 + z**2 * self.variance) - middle
        off = np.maximum(off, z * np.sqrt(self.least)) + (1 + less) * self.step / 2
        return np.where(self._few(less), off, np.inf)

    def _off(self, more: FloatArray, z: float) -> FloatArray:
        known = np.maximum(self.variance, more * self.step**2)
        middle = z**2 * more * self.step / 2
        off = middle + np.sqrt(middle**2 + z**2 * known) + self.step / 2
        return np.where(self._few(more), off, -np.inf)

    def _few(self, more: FloatArray) -> BoolArray:
        """Whether few records determine a variance to which each adds ``more``.

        One in 1 + more of them is seen, and represents all of these.
        """
        most = (FEW * self.step) ** 2 * more * (1 + more)
        return np.asarray((self.variance < most) & (more > NOTHING), dtype=np.bool_)


@lru_cache(maxsize=64)
def _accepted(z: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """True numbers up to z, in standard errors, and the estimates that each of them accepts.

    Estimates are accepted in the order of their likelihood ratio to the best number from 0 on. The
    ends x < 0 <= y for a number m have equal ratios, x m - m^2 / 2 = -(y - m)^2 / 2; x is found by
    bisection.
    """
    from scipy.special import ndtr

    true = np.geomspace(1e-3, z, 400)

    def other(least: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(true**2 - 2 * least * true, 0))

    low, high = np.full(true.shape, -1e3 * (1 + z**2)), np.zeros(true.shape)
    for _ in range(80):
        middle = (low + high) / 2
        outside = ndtr(-other(middle)) + ndtr(middle - true)
        too_near = outside > 2 * ndtr(-z)
        low, high = np.where(too_near, low, middle), np.where(too_near, middle, high)
    least = (low + high) / 2
    return true, least, true + other(least)


BORDER: Final = 3.0
"""A ratio has a bounded interval where its denominator is this many standard errors above 0.

The noise that the interval is about also decides whether there is one. Let the true denominator lie
one error below the border and correlate with the ratio by 0.8: the intervals that are given would
hold in 86 %. Wider by ``WIDER`` at the border, and by nothing two errors above it, they hold in 95
%.
"""

WIDER: Final = 1.0


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
        """The same ratio, in every cell with the variances of whichever has the larger error.

        An interval about a population holds for its records too.
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

        It holds also where the denominator is small. Where the denominator is near 0 (``BORDER``)
        every ratio is possible, and the interval is infinite.
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

    def figures(self, z: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Ratio, standard error and interval; no ratio where the interval is infinite."""
        low, high = self.interval(z)
        known = np.isfinite(high)
        return np.where(known, self.value, np.nan), np.where(known, self.se, np.nan), low, high
