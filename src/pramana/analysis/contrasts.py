"""Differences and ratios of the numbers of a table, and how these numbers err together.

A released record in cell l counts b_lg = (P^-1 M)_lg towards group g. Numbers of a table are sums
of such counts, of values times them, or ratios of both. To first order a combination c of them is a
sum over records of

    w (A_l y + D_l),   A and D the adjoint of what undoes the matrices, applied to c.

Its variance has the form of that of a count (see variance.py) with A y + D in place of b.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import Inference, quantile, students
from pramana.analysis.variance import Ratio, half_a_record
from pramana.errors import harmless
from pramana.types import FloatArray, Form

Ends: TypeAlias = Callable[[float], tuple[FloatArray, FloatArray]]
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
    flat = np.stack([part.ravel() for part in combined])
    values = np.stack([channels.adjoint(part * slope).ravel() for part in combined])
    records = np.stack([channels.adjoint(part * level).ravel() for part in combined])
    spread = (records * moments.ww.ravel()) @ records.T
    kept = level**2 * channels.solve(moments.ww)
    if moments.wwy is not None and moments.wwyy is not None:
        mixed = (values * moments.wwy.ravel()) @ records.T
        spread += (values * moments.wwyy.ravel()) @ values.T + mixed + mixed.T
        kept = kept + slope**2 * channels.solve(moments.wwyy)
        kept = kept + 2 * slope * level * channels.solve(moments.wwy)
    if infer == "records":  # contributions of the original records are no randomness
        return np.asarray(spread - (flat * kept.ravel()) @ flat.T)
    first = level * channels.solve(moments.w)
    if moments.wy is not None:
        first = first + slope * channels.solve(moments.wy)
    sums = flat @ first.ravel()
    return np.asarray(spread - np.outer(sums, sums) / max(moments.sample, 1.0))


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
    """About a population no combination errs less than about its records."""
    known = linear_covariance(moments, channels, weights, contrasts, infer="records")
    if infer == "records" or not np.isfinite(known).all():
        return known
    luck = linear_covariance(moments, channels, weights, contrasts, infer=infer) - known
    values, vectors = np.linalg.eigh((luck + luck.T) / 2)
    return np.asarray(known + (vectors * np.maximum(values, 0)) @ vectors.T)


def _ends_by_columns(layout: Layout, unseen: Ends, z: float) -> tuple[FloatArray, FloatArray]:
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


def _ends_of_shares(
    counts: JointErrors, place: int | None, z: float
) -> tuple[FloatArray, FloatArray]:
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
        numbers = {name: getattr(self, name) for name in ("estimate", "se", "low", "high")}
        return {
            "what": self.what,
            **{name: number if math.isfinite(number) else None for name, number in numbers.items()},
            "level": self.level,
            "why": self.why,
            "weight": self.weight,
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
