"""Errors of unbiased estimates: variances, intervals, ratios.

A record with original value k is released as l with probability P_kl and then counts B_lg towards
group g, where B = P^-1 M. Records are randomised independently, so with weights w

    Var(estimate_g) = sum_k sum_{i in k} w_i^2 (sum_l P_kl B_lg^2 - M_kg)

about these records [Cator, Sec. 3], and the released sums of squares estimate it without bias:
``spread(W) - solve(W)`` with W_l the sum of w^2 over the records released as l. About a population
from which the records are a random sample, each record's whole contribution varies, and the
variance is ``spread(W) - estimate^2 / n``.

Differences and ratios: the numbers of a table are sums of the counts B_lg, of values times them, or
ratios of both. To first order a combination c of them is a sum over records of

    w (A_l y + D_l),   A and D the adjoint of what undoes the matrices, applied to c.

Its variance has the form of the variance of a count with A y + D in place of B.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Final, TypeAlias

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import Inference, quantile, students
from pramana.errors import harmless
from pramana.types import BoolArray, FloatArray, Form

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
    >>> Unseen(nobody, more, nobody, 1.0).ends(quantile(0.95))[1].round(2)
    array([-inf, 5.16])
    """

    variance: FloatArray
    more: FloatArray
    strangers: FloatArray
    step: FloatArray | float
    least: FloatArray | float = 0.0

    def ends(self, z: float) -> Interval:
        """How many fewer there can be, if records of other groups were released here, and more."""
        return self._off(np.maximum(self.strangers, 0), z), self._off(self.more, z)

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


Ends: TypeAlias = Callable[[float], Interval]
"""How far numbers can lie below and above their estimates at least, for intervals of z errors."""


@dataclass(frozen=True, eq=False)
class JointErrors:
    """The unbiased numbers of a table, and how they err together.

    Attributes:
        numbers: Shaped like the table.
        covariance: The covariance of some combinations, each shaped like the table; ``None`` where
            it is unknown.
        step: What a single record that moves changes of each number; 0 where it does not matter.
        unseen: Least distances of the ends of intervals where few records determine the errors.
        degrees: Degrees of freedom of the covariance.
        least_z: How many errors an interval reaches at least: one, where errors include a bias.
        counts: Of shares, the errors of the counts behind them.
    """

    numbers: FloatArray
    covariance: Callable[[Sequence[FloatArray]], FloatArray] | None = None
    step: FloatArray | float = 0.0
    unseen: Ends | None = None
    degrees: float = math.inf
    least_z: float = 0.0
    counts: JointErrors | None = None


def linear_covariance(
    moments: Moments,
    channels: Channels,
    weights: tuple[FloatArray, FloatArray],
    contrasts: Sequence[FloatArray],
    *,
    infer: Inference,
) -> FloatArray:
    """The covariance of combinations of numbers that are sums over records, as estimated.

    ``weights`` are what a value and what a record count in each group. It is ``nan`` where a number
    in use does not exist.
    """
    combined = [channels.layout.gather(contrast) for contrast in contrasts]
    used = np.any([part != 0 for part in combined], axis=0)
    slope, level = (np.where(used, side, 0.0) for side in weights)
    if not np.isfinite(slope).all():
        return np.full((len(combined), len(combined)), np.nan)
    sides = [(part * slope, part * level) for part in combined]
    return covariance_of_sums(moments, channels, sides, infer=infer)


def covariance_of_sums(
    moments: Moments,
    channels: Channels,
    sides: Sequence[tuple[FloatArray, FloatArray]],
    *,
    infer: Inference,
) -> FloatArray:
    """The covariance of sums over records of w (a y + d); ``sides`` are a and d by group."""

    def products(values: FloatArray, records: FloatArray, *sums: FloatArray) -> FloatArray:
        """Sums of w^2 (a y + d) (b y + e)."""
        ww, wwy, wwyy = (table.ravel() for table in sums)
        mixed = (values * wwy) @ records.T
        return (records * ww) @ records.T + (values * wwyy) @ values.T + mixed + mixed.T

    nothing = np.zeros_like(moments.w)
    wy, wwy, wwyy = (
        nothing if table is None else table for table in (moments.wy, moments.wwy, moments.wwyy)
    )
    squares = (moments.ww, wwy, wwyy)
    undone = [np.stack([channels.adjoint(s[at]).ravel() for s in sides]) for at in (0, 1)]
    values, records = (np.stack([side[at].ravel() for side in sides]) for at in (0, 1))
    spread = products(*undone, *squares)
    if infer == "records":  # contributions of the original records are no randomness
        return spread - products(values, records, *map(channels.solve, squares))
    sums = values @ channels.solve(wy).ravel() + records @ channels.solve(moments.w).ravel()
    return spread - np.outer(sums, sums) / max(moments.sample, 1.0)


def linear_errors(
    moments: Moments,
    channels: Channels,
    numbers: FloatArray,
    weights: tuple[FloatArray, FloatArray],
    *,
    infer: Inference,
    unseen: Ends | None = None,
) -> JointErrors:
    """How numbers err that are sums over records of w (slope y + level), by group.

    ``weights`` are slope and level: 0 and 1 of counts, 1 and 0 of totals, ``Ratio.slopes`` of
    means.
    """
    layout, (slope, level) = channels.layout, weights
    squares = level**2 * moments.ww.sum()
    if moments.wwy is not None and moments.wwyy is not None:
        squares = squares + slope**2 * moments.wwyy.sum() + 2 * slope * level * moments.wwy.sum()
    # The sample of a population does not depend on single records.
    squares = np.maximum(np.nan_to_num(squares), 0) * (infer == "records")
    return JointErrors(
        layout.lay_out(np.nan_to_num(numbers)),
        partial(_joint_covariance, moments, channels, weights, infer),
        layout.lay_out(np.sqrt(squares / max(moments.count, 1.0))),
        None if unseen is None else partial(_ends_by_columns, layout, unseen),
    )


def _joint_covariance(
    moments: Moments,
    channels: Channels,
    weights: tuple[FloatArray, FloatArray],
    infer: Inference,
    contrasts: Sequence[FloatArray],
) -> FloatArray:
    covariance = partial(linear_covariance, moments, channels, weights, contrasts)
    return _at_least_of_records(covariance, infer)


def _at_least_of_records(covariance: Callable[..., FloatArray], infer: Inference) -> FloatArray:
    """About a population no combination errs less than about its records."""
    known = covariance(infer="records")
    if infer == "records" or not np.isfinite(known).all():
        return known
    luck = covariance(infer=infer) - known
    values, vectors = np.linalg.eigh((luck + luck.T) / 2)
    return np.asarray(known + (vectors * np.maximum(values, 0)) @ vectors.T)


def totals_and_counts(moments: Moments, channels: Channels, infer: Inference) -> JointErrors:
    """Totals of values and counts of records by group, side by side on a last axis."""
    sums = [
        channels.layout.lay_out(channels.solve(part)) for part in (moments.values[0], moments.w)
    ]
    covariance = partial(_covariance_of_totals_and_counts, moments, channels, infer)
    return JointErrors(np.stack(sums, axis=-1), covariance)


def _covariance_of_totals_and_counts(
    moments: Moments, channels: Channels, infer: Inference, contrasts: Sequence[FloatArray]
) -> FloatArray:
    gather = channels.layout.gather
    sides = [(gather(contrast[..., 0]), gather(contrast[..., 1])) for contrast in contrasts]
    return _at_least_of_records(partial(covariance_of_sums, moments, channels, sides), infer)


def _ends_by_columns(layout: Layout, unseen: Ends, z: float) -> Interval:
    below, above = (layout.lay_out(np.maximum(end, 0)) for end in unseen(z))
    return below, above


def errors_of_shares(counts: JointErrors | None, place: int | None = None) -> JointErrors | None:
    """How shares err: of all records, or within the values of the column at ``place``.

    To first order a combination c of shares s is the combination (c - mean of c by s) / total of
    the counts, with mean and total taken within the part that the shares are of.
    """
    if counts is None or counts.covariance is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts.numbers / _within(counts.numbers, place)
    return replace(
        counts,
        numbers=shares,
        covariance=partial(_covariance_of_shares, counts, shares, place),
        step=_as_share(counts.step, counts, place),
        unseen=None if counts.unseen is None else partial(_ends_of_shares, counts, place),
        counts=counts,
    )


def _within(table: FloatArray, place: int | None) -> FloatArray:
    """The total of the part that each cell is a share of."""
    axes = tuple(at for at in range(table.ndim) if at != place)
    return np.broadcast_to(table.sum(axis=axes, keepdims=True), table.shape)


def _as_share(table: FloatArray | float, counts: JointErrors, place: int | None) -> FloatArray:
    total = _within(counts.numbers, place)
    return np.where(total > 0, table, 0.0) / np.where(total > 0, total, 1.0)


def _covariance_of_shares(
    counts: JointErrors, shares: FloatArray, place: int | None, contrasts: Sequence[FloatArray]
) -> FloatArray:
    assert counts.covariance is not None  # noqa: S101 - looked at when it was made
    total, parts = _within(counts.numbers, place), []
    for contrast in contrasts:
        used = _within(np.abs(contrast), place) > 0
        if (total[used] <= 0).any():
            return np.full((len(contrasts), len(contrasts)), np.nan)
        part = contrast - _within(contrast * np.nan_to_num(shares), place)
        parts.append(np.where(used, _as_share(part, counts, place), 0.0))
    return counts.covariance(parts)


def _ends_of_shares(counts: JointErrors, place: int | None, z: float) -> Interval:
    assert counts.unseen is not None  # noqa: S101 - looked at when it was made
    below, above = (_as_share(end, counts, place) for end in counts.unseen(z))
    return below, above


@dataclass(frozen=True)
class Contrast:
    """A difference or a ratio of two numbers of a table, with its error."""

    what: str
    estimate: float
    se: float
    low: float
    high: float
    level: float
    why: str
    weight: str | None = None

    def to_json(self) -> Form:
        """As JSON; a bound that does not exist becomes null."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }

    def conf_int(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high

    @property
    def stated(self) -> bool:
        """Whether there is an interval, be it without bounds."""
        return not math.isnan(self.low)

    @property
    def note(self) -> str:
        """What the error includes, and the weight of the records."""
        return self.why if self.weight is None else f"{self.why} Weighted by {self.weight}."

    def __repr__(self) -> str:
        ends = f"between {self.low:.4g} and {self.high:.4g} at level {self.level:g}"
        number = f"{self.estimate:.4g}"
        if self.stated:
            known = not math.isnan(self.estimate)
            number = f"{number} (se {self.se:.3g}), {ends}" if known else ends
        return harmless(f"{self.what}: {number}; {self.note}")

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"


@dataclass(frozen=True)
class TwoCells:
    """Two numbers of a table.

    Attributes:
        numbers: The unbiased numbers.
        spread: Their covariance, two by two.
        steps: What a single record that moves changes of each.
        ends: How far each can lie below and above, where few records determine that.
        z: How many errors an interval reaches.
    """

    numbers: tuple[float, float]
    spread: FloatArray
    steps: tuple[float, float]
    ends: FloatArray | None
    z: float

    @classmethod
    def of(
        cls, errors: JointErrors, se: FloatArray, places: Sequence[tuple[int, ...]], level: float
    ) -> TwoCells:
        """From two cells; the worst case where their covariance is unknown."""
        first, second = places
        z = max(students(quantile(level), errors.degrees), errors.least_z)
        if errors.covariance is None:
            a, b = float(se[first]), float(se[second])
            spread = np.array([[a**2, -a * b], [-a * b, b**2]])
        else:
            contrasts = [np.zeros(errors.numbers.shape) for _ in places]
            for contrast, place in zip(contrasts, places, strict=True):
                contrast[place] = 1.0
            spread = errors.covariance(contrasts)
        step, ends = np.broadcast_to(errors.step, errors.numbers.shape), None
        if errors.unseen is not None:
            unseen = errors.unseen(z)
            least = np.array([[float(end[place]) for end in unseen] for place in places])
            if least.any():
                wide = z * np.sqrt(np.maximum(np.diag(spread), 0))
                ends = np.maximum(least, wide[:, None])
        numbers = float(errors.numbers[first]), float(errors.numbers[second])
        return cls(numbers, spread, (float(step[first]), float(step[second])), ends, z)

    def difference(self) -> tuple[float, float, float, float]:
        """The first number less the second: estimate, error and interval."""
        spread = self.spread
        se = math.sqrt(max(float(spread[0, 0] - 2 * spread[0, 1] + spread[1, 1]), 0.0))
        se = se if np.isfinite(spread).all() else math.nan
        middle = self.numbers[0] - self.numbers[1]
        below = above = self.z * se + _half_of_both(se, *self.steps)
        if self.ends is not None:  # records missing in one cell may belong to the other
            (low_1, high_1), (low_2, high_2) = self.ends
            below, above = max(below, low_1 + high_2), max(above, high_1 + low_2)
        if math.isnan(middle):
            se = below = above = math.nan
        return middle, se, middle - below, middle + above

    def ratio(self) -> tuple[float, float, float, float]:
        """The first number over the second, with Fieller's interval."""
        spread, (above, below) = self.spread, self.numbers
        parts = (above, below, spread[0, 0], spread[0, 1], spread[1, 1])
        ratio = Ratio(*(np.array([value]) for value in parts))
        estimate, se = float(ratio.value[0]), float(ratio.se[0])
        low, high = (float(end[0]) for end in ratio.interval(self.z))
        if below > 0:
            half = _half_of_both(se, self.steps[0] / below, abs(above) * self.steps[1] / below**2)
            low, high = low - half, high + half
        if self.ends is not None:
            (low_1, high_1), (low_2, high_2) = self.ends
            least, most, rest = max(above - low_1, 0.0), below + high_2, below - low_2
            lowest = least / most if most > 0 else 0.0
            low = lowest if below <= 0 else min(low, lowest)
            high = max(high, (above + high_1) / rest) if rest > 0 else math.inf
        if not np.isfinite(spread).all():  # no error is known: less than an endless interval
            low = high = math.nan
        if math.isnan(estimate):
            some = self.ends is not None and not math.isnan(low)
            low, high = (low, math.inf) if some else (math.nan, math.nan)
            return estimate, math.nan, low, high
        return estimate, se, low, high


def _half_of_both(se: float, first: float, second: float) -> float:
    """Half a record of each cell where few move: one that moves may leave one, enter the other."""
    return 2 * float(half_a_record(np.array(se), (first + second) / 2))
