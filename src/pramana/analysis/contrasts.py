"""Differences and ratios of the numbers of a table, with errors.

A released record in cell l counts b_lg = (P^-1 M)_lg towards group g. Numbers of a table are sums
of such counts, of values times them, or ratios of both, so that to first order any combination c
of them is a sum over records of

    w (A_l y + D_l),   A and D the adjoint of what undoes the matrices, applied to c.

Its variance has the form of that of a count (see variance.py) with A y + D in place of b. Numbers
of one table vary together, because they come from the same draws.
"""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.layout import Moments
from pramana.analysis.question import Inference, quantile, students
from pramana.analysis.variance import Ratio, Unseen, half_a_record
from pramana.errors import harmless
from pramana.types import FloatArray, Form


class VaryTogether(ABC):
    """How the unbiased numbers of a table vary together."""

    @property
    @abstractmethod
    def unbiased(self) -> FloatArray:
        """The numbers themselves, shaped like the table."""

    @abstractmethod
    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """The covariance of some combinations, each shaped like the table."""

    @property
    def record(self) -> FloatArray:
        """What a single record that moves changes of each number; 0 where it is no matter."""
        return np.zeros_like(self.unbiased)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of their covariance; infinite where it is as good as known."""
        return math.inf

    def unseen(self, z: float) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """How far each can lie below and above at least where few records tell; 0 elsewhere."""
        return np.zeros_like(self.unbiased), np.zeros_like(self.unbiased)


@dataclass(frozen=True)
class Apart:
    """Numbers of which nobody knows how they vary together.

    Attributes:
        step: What a single record that moves changes of each; 0 where it is no matter.
        least_z: How often an interval reaches their errors at least: once, where they hold a bias.
    """

    step: float = 0.0
    least_z: float = 0.0


@dataclass(frozen=True, eq=False)
class Reach:
    """How far numbers can lie below and above where a few values decide; 0 elsewhere.

    Attributes:
        ends: Below and above, by group, for intervals of ``z`` errors.
        z: Wider intervals reach farther in proportion.
    """

    ends: tuple[FloatArray, FloatArray]
    z: float

    def below(self, z: float) -> FloatArray:
        """How far below at least."""
        return self.ends[0] * max(z / self.z, 1.0)

    def above(self, z: float) -> FloatArray:
        """How far above at least."""
        return self.ends[1] * max(z / self.z, 1.0)


@dataclass(frozen=True, eq=False)
class Influence(VaryTogether):
    """Numbers that are sums over records: of weights, of values, or of residuals of means.

    Attributes:
        moments: Sums over the released records.
        channels: What undoes the matrices.
        infer: About these records or the population behind them.
        figures: The numbers, by group.
        slope: What a value counts in each group; 0 where only records are counted.
        level: What a record counts in each group.
        first: What all contributions of a group sum up to, by group.
        told: How far counts can be off where few records tell their errors.
    """

    moments: Moments
    channels: Channels
    infer: Inference
    figures: FloatArray
    slope: FloatArray
    level: FloatArray
    first: FloatArray
    told: Unseen | Reach | None = None

    @classmethod
    def of_counts(
        cls,
        moments: Moments,
        channels: Channels,
        counts: FloatArray,
        infer: Inference,
        *,
        unseen: Unseen | None = None,
    ) -> Influence:
        """Each record counts its weight."""
        nothing, one = np.zeros_like(counts), np.ones_like(counts)
        return cls(moments, channels, infer, counts, nothing, one, counts, unseen)

    @classmethod
    def of_totals(
        cls, moments: Moments, channels: Channels, totals: FloatArray, infer: Inference
    ) -> Influence:
        """Each record counts its value."""
        nothing, one = np.zeros_like(totals), np.ones_like(totals)
        return cls(moments, channels, infer, totals, one, nothing, totals)

    @classmethod
    def of_means(
        cls, moments: Moments, channels: Channels, ratio: Ratio, infer: Inference
    ) -> Influence:
        """Each record counts what its value differs from the mean, as a share of the group."""
        mean = ratio.value
        return cls(moments, channels, infer, mean, *ratio.slopes, np.zeros_like(mean))

    @property
    def unbiased(self) -> FloatArray:
        """Laid out by the columns asked for."""
        return self.channels.layout.lay_out(np.nan_to_num(self.figures))

    @property
    def record(self) -> FloatArray:
        """The root of the mean square over records; the luck of a sample is no matter of one."""
        moments, slope, level = self.moments, self.slope, self.level
        squares = level**2 * moments.ww.sum()
        if moments.wwy is not None and moments.wwyy is not None:
            squares = (
                squares + slope**2 * moments.wwyy.sum() + 2 * slope * level * moments.wwy.sum()
            )
        squares = np.maximum(np.nan_to_num(squares), 0) * (self.infer == "records")
        return self.channels.layout.lay_out(np.sqrt(squares / max(moments.count, 1.0)))

    def unseen(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Of counts; of values nobody knows what those who are not seen have."""
        ends = (np.zeros_like(self.figures),) * 2
        if self.told is not None:
            ends = self.told.below(z), self.told.above(z)
        below, above = (self.channels.layout.lay_out(np.maximum(end, 0)) for end in ends)
        return below, above

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """As estimated; no combination is surer about a population than about its records."""
        records = self.estimated(contrasts, infer="records")
        if self.infer == "records" or not np.isfinite(records).all():
            return records
        luck = self.estimated(contrasts, infer="population") - records
        values, vectors = np.linalg.eigh((luck + luck.T) / 2)
        return np.asarray(records + (vectors * np.maximum(values, 0)) @ vectors.T)

    def estimated(self, contrasts: Sequence[FloatArray], *, infer: Inference) -> FloatArray:
        """By sums over released cells; ``nan`` where a number that is used does not exist."""
        own = [self.channels.layout.gather(contrast) for contrast in contrasts]
        used = np.any([part != 0 for part in own], axis=0)
        slope, level = (np.where(used, side, 0.0) for side in (self.slope, self.level))
        if not np.isfinite(slope).all():
            return np.full((len(own), len(own)), np.nan)
        adjoint = self.channels.adjoint
        sides = [(adjoint(part * slope), adjoint(part * level)) for part in own]
        found = np.array([[self._products(one, two) for two in sides] for one in sides])
        if infer == "records":
            taken = self._kept(slope, level)
            less = np.array([[float((a * b * taken).sum()) for b in own] for a in own])
        else:
            sums = np.array([float((part * self.first).sum()) for part in own])
            less = np.outer(sums, sums) / max(self.moments.sample, 1.0)
        return np.asarray(found - less, dtype=np.float64)

    def _products(
        self, one: tuple[FloatArray, FloatArray], two: tuple[FloatArray, FloatArray]
    ) -> float:
        (a, d), (other_a, other_d), moments = one, two, self.moments
        found = moments.ww * d * other_d
        if moments.wwy is not None and moments.wwyy is not None:
            found = found + moments.wwyy * a * other_a + moments.wwy * (a * other_d + d * other_a)
        return float(found.sum())

    def _kept(self, slope: FloatArray, level: FloatArray) -> FloatArray:
        """What the same contributions of the truth would have, which is no randomness."""
        solve, moments = self.channels.solve, self.moments
        found = level**2 * solve(moments.ww)
        if moments.wwy is not None and moments.wwyy is not None:
            found = found + slope**2 * solve(moments.wwyy) + 2 * slope * level * solve(moments.wwy)
        return found


@dataclass(frozen=True, eq=False)
class SharesWithin(VaryTogether):
    """Shares of counts that vary together: of all, or of those with the same value of a column.

    To first order a combination c of shares s is the combination (c - mean of c by s) / total of
    the counts, with mean and total taken within the part that the shares are of.
    """

    counts: VaryTogether
    place: int | None = None

    @property
    def unbiased(self) -> FloatArray:
        """Counts over their total."""
        table = self.counts.unbiased
        with np.errstate(divide="ignore", invalid="ignore"):
            return table / self._within(table)

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """That of the counts, to first order."""
        total, shares = self._within(self.counts.unbiased), np.nan_to_num(self.unbiased)
        own = []
        for contrast in contrasts:
            used = self._within(np.abs(contrast)) > 0
            if (total[used] <= 0).any():
                return np.full((len(contrasts), len(contrasts)), np.nan)
            part = (contrast - self._within(contrast * shares)) / np.where(used, total, 1.0)
            own.append(np.where(used, part, 0.0))
        return self.counts.covariance(own)

    @property
    def record(self) -> FloatArray:
        """That of the counts, as a share of their total."""
        return self._as_share(self.counts.record)

    @property
    def degrees(self) -> float:
        """Those of the counts."""
        return self.counts.degrees

    def unseen(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Those of the counts, as shares of their total."""
        below, above = map(self._as_share, self.counts.unseen(z))
        return below, above

    def _as_share(self, table: FloatArray) -> FloatArray:
        total = self._within(self.counts.unbiased)
        return np.where(total > 0, table, 0.0) / np.where(total > 0, total, 1.0)

    def _within(self, table: FloatArray) -> FloatArray:
        axes = tuple(at for at in range(table.ndim) if at != self.place)
        return np.broadcast_to(table.sum(axis=axes, keepdims=True), table.shape)


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
        figures = {name: getattr(self, name) for name in ("estimate", "se", "low", "high")}
        plain = {name: own if math.isfinite(own) else None for name, own in figures.items()}
        told = {"level": self.level, "why": self.why, "weight": self.weight}
        return {"what": self.what, **plain, **told}

    def conf_int(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high

    @property
    def stated(self) -> bool:
        """Whether there is an interval, be it without bounds."""
        return not math.isnan(self.low)

    @property
    def note(self) -> str:
        """What the error is made of, and what weighed the records."""
        return self.why if self.weight is None else f"{self.why} Weighted by {self.weight}."

    def __repr__(self) -> str:
        ends = f"between {self.low:.4g} and {self.high:.4g} at level {self.level:g}"
        number = f"{self.estimate:.4g}"
        if self.stated:
            known = not math.isnan(self.estimate)
            number = f"{number} (se {self.se:.3g}), {ends}" if known else ends
        told = f"{self.what}: {number}; {self.note}"
        return harmless(told)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"


@dataclass(frozen=True)
class TwoNumbers:
    """The unbiased numbers of two cells, and how they vary together.

    Attributes:
        figures: The two numbers.
        covariance: Two by two.
        why: One sentence on the covariance.
        record: What a single record that moves changes of each.
        unseen: For each how far it can lie below and above at least, given z, where few records
            tell of it.
        degrees: Degrees of freedom of the covariance.
        least_z: How many errors an interval reaches at least.
    """

    figures: tuple[float, float]
    covariance: FloatArray
    why: str
    record: tuple[float, float] = (0.0, 0.0)
    unseen: Callable[[float], FloatArray] = field(default=lambda _: np.zeros((2, 2)), repr=False)
    degrees: float = math.inf
    least_z: float = 0.0

    @classmethod
    def of(
        cls,
        together: VaryTogether | Apart | None,
        unbiased: FloatArray,
        se: FloatArray,
        places: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> TwoNumbers:
        """From two cells; where their covariance is not known, the worst case."""
        first, second = places
        if together is None or isinstance(together, Apart):
            apart = together or Apart()
            a, b = float(se[first]), float(se[second])
            spread = np.array([[a**2, -a * b], [-a * b, b**2]])
            why = "how the two vary together is not known: an upper bound."
            figures = (float(unbiased[first]), float(unbiased[second]))
            return cls(figures, spread, why, (apart.step, apart.step), least_z=apart.least_z)
        contrasts = []
        for place in places:
            contrast = np.zeros(unbiased.shape)
            contrast[place] = 1.0
            contrasts.append(contrast)
        table, record = together.unbiased, together.record

        def unseen(z: float) -> FloatArray:
            ends = together.unseen(z)
            return np.array([[float(end[place]) for end in ends] for place in places])

        return cls(
            (float(table[first]), float(table[second])),
            together.covariance(contrasts),
            "the two come from the same draws, which is part of the error.",
            (float(record[first]), float(record[second])),
            unseen,
            together.degrees,
        )

    def z(self, level: float) -> float:
        """The quantile for a level."""
        return max(students(quantile(level), self.degrees), self.least_z)

    def reach(self, z: float) -> tuple[FloatArray, bool]:
        """For each how far it can lie below and above, and whether few records tell of either."""
        least = self.unseen(z)
        wide = z * np.sqrt(np.maximum(np.diag(self.covariance), 0))
        return np.maximum(least, wide[:, None]), bool(least.any())


def difference_of(pair: TwoNumbers, what: str, *, level: float) -> Contrast:
    """The first less the second."""
    spread, z = pair.covariance, pair.z(level)
    se = math.sqrt(max(float(spread[0, 0] - 2 * spread[0, 1] + spread[1, 1]), 0.0))
    se = se if np.isfinite(spread).all() else math.nan
    middle = pair.figures[0] - pair.figures[1]
    below = above = z * se + _half_of_both(se, *pair.record)
    (first, second), few = pair.reach(z)
    if few:  # people missing in one cell may belong to the other
        below, above = max(below, first[0] + second[1]), max(above, first[1] + second[0])
    if math.isnan(middle):
        se = below = above = math.nan
    return Contrast(what, middle, se, middle - below, middle + above, level, pair.why)


def ratio_of(pair: TwoNumbers, what: str, *, level: float) -> Contrast:
    """The first over the second, with Fieller's interval."""
    spread, (above, below) = pair.covariance, pair.figures
    parts = (above, below, spread[0, 0], spread[0, 1], spread[1, 1])
    ratio, z = Ratio(*(np.array([value]) for value in parts)), pair.z(level)
    estimate, se = float(ratio.value[0]), float(ratio.se[0])
    low, high = (float(end[0]) for end in ratio.interval(z))
    if below > 0:
        steps = (pair.record[0] / below, abs(above) * pair.record[1] / below**2)
        half = _half_of_both(se, *steps)
        low, high = low - half, high + half
    (first, second), few = pair.reach(z)
    if few:
        least, most, rest = max(above - first[0], 0.0), below + second[1], below - second[0]
        lowest = least / most if most > 0 else 0.0
        low = lowest if below <= 0 else min(low, lowest)
        high = max(high, (above + first[1]) / rest) if rest > 0 else math.inf
    if not np.isfinite(spread).all():  # no error is stated, which is less than an endless interval
        low = high = math.nan
    why = pair.why
    if math.isnan(estimate):
        se = math.nan
        if few and not math.isnan(low):
            high, why = math.inf, (
                "by the estimate nobody is in the second cell, but some may be: there is no upper "
                "end."
            )  # fmt: skip
        else:
            low = high = math.nan
    return Contrast(what, estimate, se, low, high, level, why)


def _half_of_both(se: float, first: float, second: float) -> float:
    """Half a record of each where few move: one that moves may leave one and enter the other."""
    return 2 * float(half_a_record(np.array(se), (first + second) / 2))
