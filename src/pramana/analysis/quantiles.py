"""Quantiles of a column released unchanged, by groups of randomised columns.

The q-quantile of a group is the smallest value t at which a share of q or more lies at or below t.
For any t the sum over the original records of the group of

    v = 1{y <= t} - q

is estimated like a total, without bias and with a known variance. At the quantile that sum turns
from negative to positive. So the interval holds every t at which neither "the sum up to t is
negative" nor "the sum below t is positive" can be refuted at the level [Woodruff52]. As Fieller's
interval of a mean it holds for small groups, and has no end where the group may be empty. The
estimate is where the sums, made monotone, change their sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout
from pramana.analysis.question import Question
from pramana.analysis.variance import half_a_record
from pramana.base.rounding import require_number
from pramana.base.translation import gettext
from pramana.errors import InvalidTable, TooLarge
from pramana.types import FloatArray, IntArray


def require_shares(shares: Sequence[float]) -> tuple[float, ...]:
    """Refuse shares that are not between 0 and 1."""
    for share in shares:
        require_number("A quantile", share, low=0, high=1, low_open=True, high_open=True)
    return tuple(float(share) for share in shares)


@dataclass(frozen=True, eq=False)
class OrderedRecords:
    """Released records in the order of a value, those of one cell and value together."""

    values: FloatArray
    places: IntArray
    n: FloatArray
    w: FloatArray
    ww: FloatArray

    @classmethod
    def of(
        cls, values: FloatArray, places: IntArray, n: FloatArray, w: FloatArray, ww: FloatArray
    ) -> OrderedRecords:
        """From rows in any order; those without a value are left out."""
        present = ~np.isnan(values)
        order = np.flatnonzero(present)[np.argsort(values[present], kind="stable")]
        if not len(order):
            raise InvalidTable(
                "No released record with a value is left. Does the filter select any?"
            )
        return cls(values[order], places[order], n[order], w[order], ww[order])

    @property
    def ends(self) -> IntArray:
        """The last row of each distinct value."""
        return np.append(np.flatnonzero(np.diff(self.values) > 0), len(self.values) - 1)


@dataclass(frozen=True, eq=False)
class Curve:
    """The sums of v of one group, from below all values to above them.

    Attributes:
        values: Distinct values in order.
        sums: One number more: the sum with none of the values below, then up to each of them.
        variance: Of each sum.
        steps: The weight of each value when sums are made monotone.
        coarse: Whether there are more values between these.
        record: What a single record changes of a sum.
    """

    values: FloatArray
    sums: FloatArray
    variance: FloatArray
    steps: FloatArray
    coarse: bool = False
    record: float = 0.0

    def invert(self, z: float) -> tuple[float, float, float, float]:
        """Estimate, standard error, and the ends of the interval."""
        from scipy.optimize import isotonic_regression

        whole = float(self.sums[-1] - self.sums[0])
        error, slack = np.sqrt(np.maximum(self.variance, 0)), 1e-9 * abs(whole)
        wide = z * error + half_a_record(error, self.record)
        possible = np.flatnonzero(self.sums >= -wide - slack)
        below = np.flatnonzero(self.sums < wide - slack)
        first = possible[0] if len(possible) else 0
        low = -math.inf if not first else self.values[max(first - 1 - self.coarse, 0)]
        last = below[-1] if len(below) else len(self.values)
        high = math.inf if last == len(self.values) else self.values[last]
        if whole <= 0 or (math.isinf(low) and math.isinf(high)):
            return math.nan, math.nan, -math.inf, math.inf
        even = isotonic_regression(self.sums[1:], weights=self.steps).x
        turned = np.flatnonzero(even >= -slack)
        quantile = float(self.values[turned[0] if len(turned) else -1])
        low, high = min(float(low), quantile), max(float(high), quantile)
        return quantile, (high - low) / (2 * z), low, high


def quantiles_of(curves: Sequence[Curve], z: float) -> FloatArray:
    """Estimates, standard errors and ends: four rows, one column a curve."""
    return np.array([curve.invert(z) for curve in curves]).T


def estimate_quantiles(
    records: OrderedRecords,
    layout: Layout,
    *,
    of: str,
    shares: Sequence[float],
    question: Question,
    times: float | None = None,
    why: str = "",
) -> Estimate:
    """Quantiles of column ``of`` in every cell of ``layout.by``; weighted where there are weights.

    Several ``shares`` become a column of the table. Where nothing is undone, ``times`` says how
    often the second moment counts as variance, and ``why`` what that means for the error.
    """
    channels, groups = Channels(layout), prod(layout.grouped_shape)
    if groups * (len(records.values) + prod(layout.shape)) > 2_000_000_000:
        raise TooLarge(
            "Quantiles of {count:,} values in {groups:,} groups are too many to compute. Ask for "
            "fewer columns, or filter.",
            count=len(records.values),
            groups=groups,
        )
    curves: list[Curve] = []
    for unit in range(groups):
        one = np.zeros(groups)
        one[unit] = 1.0
        counts = channels.adjoint(one.reshape(layout.grouped_shape)).ravel()
        curves += _curves(records, counts, shares, question, times)
    figures = quantiles_of(curves, question.z(len(curves))).reshape(4, groups, len(shares))
    if not why:
        why = gettext("these columns were released unchanged.")
        if channels.randomised:
            why = gettext(
                "the share of the original records below each value is corrected like a count; "
                "the interval contains the values that its test does not reject."
            )
    parts = [
        Estimate.by_groups(
            layout,
            list(figures[:, :, at]),
            question,
            what=gettext("quantile {share:g} of {of}", share=share, of=of),
            method="as released" if times is not None else "unbiased",
            why=why,
            records=float(records.n.sum()),
        )
        for at, share in enumerate(shares)
    ]
    return stacked(parts, shares, of)


def stacked(parts: Sequence[Estimate], shares: Sequence[float], of: str) -> Estimate:
    """One table with a last column of quantiles; the only one as it is."""
    if len(parts) == 1:
        return parts[0]
    name = "quantile" if "quantile" not in parts[0].by else "quantile_"
    return Estimate.stacked(name, shares, parts, f"quantile of {of}", last=True)


def _curves(
    records: OrderedRecords,
    counts: FloatArray,
    shares: Sequence[float],
    question: Question,
    times: float | None,
) -> list[Curve]:
    """The sums of one group for each quantile, all from the same running sums.

    ``counts`` are what each released cell counts towards the group.
    """
    weights, ends = counts[records.places], records.ends

    def running(terms: FloatArray) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(terms)[ends]])

    first, second = running(records.w * weights), running(records.ww * weights**2)
    original, values = running(records.ww * weights), records.values[ends]
    steps = np.diff(running(records.n))
    moved = times is None and question.infer == "records"
    weight = math.sqrt(float(records.ww.sum() / records.n.sum())) if moved else 0.0
    curves = []
    for q in shares:
        sums = first - q * first[-1]
        spread = (1 - 2 * q) * second + q**2 * second[-1]
        if times is not None:
            variance = times * spread
        elif moved:
            variance = spread - (1 - 2 * q) * original - q**2 * original[-1]
        else:
            variance = spread - sums**2 / float(records.n.sum())
        record = weight * math.sqrt(q * (1 - q))
        curves.append(Curve(values, sums, variance, steps, record=record))
    return curves
