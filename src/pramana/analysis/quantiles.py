"""Quantiles of a column released unchanged, by groups of randomised columns.

The q-quantile of a group is the smallest value t at which a share of q or more lies at or below t.
For any t the sum over the truths of the group of

    v = 1{y <= t} - q

is estimated like a total, without bias and with a known variance. Where the group has its quantile
that sum turns from negative to positive. So the interval holds every t at which neither "the sum up
to t is negative" nor "the sum below t is positive" can be refuted at the level asked for: the test
of [Woodruff52] turned round, which stays right for small groups as Fieller's interval of a mean
does, and has no end where the group cannot be told from an empty one. The estimate is where the
sums, made monotone, turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout
from pramana.analysis.question import Question
from pramana.analysis.variance import half_a_record
from pramana.base.rounding import require_number
from pramana.errors import InvalidTable, TooLarge
from pramana.types import FloatArray, IntArray

MOST_NUMBERS = 2_000_000_000
"""Records times groups; more would take minutes."""


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
        steps: How much each value weighs when sums are made monotone.
        coarse: Whether there are more values between these.
        record: What a single record changes of a sum, about.
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
        found = float(self.values[turned[0] if len(turned) else -1])
        low, high = min(float(low), found), max(float(high), found)
        return found, (high - low) / (2 * z), low, high


def quantiles_of(curves: Sequence[Sequence[Curve]], z: float) -> tuple[FloatArray, ...]:
    """Estimate, se, low and high: one row a group, one column a quantile."""
    found = np.array([[curve.invert(z) for curve in group] for group in curves])
    return tuple(np.asarray(found[..., figure]) for figure in range(4))


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

    Args:
        records: The released records in the order of the value.
        layout: The axes of their cells.
        of: The name of the column.
        shares: Which quantiles; they become a column of the table where there are several.
        question: What the intervals shall mean.
        times: Where nothing is undone: how often the second moment counts as variance.
        why: What to say about the error then.
    """
    channels, shape = Channels(layout), layout.grouped_shape
    if prod(shape) * (len(records.values) + prod(layout.shape)) > MOST_NUMBERS:
        raise TooLarge(
            f"Quantiles of {len(records.values):,} values in {prod(shape):,} groups are too many "
            "to compute. Ask for fewer columns, or filter."
        )
    z = question.z(prod(shape) * len(shares))
    curves = [
        _curves(records, _counts_of(channels, group), shares, question, times)
        for group in range(prod(shape))
    ]
    estimate, se, low, high = quantiles_of(curves, z)
    told = why or (
        "the share of the truth below each value is corrected like a count; the interval holds "
        "what its test does not refute."
    )
    parts = [
        Estimate.of(
            layout,
            (estimate[:, at], se[:, at], low[:, at], high[:, at]),
            question,
            what=f"quantile {share:g} of {of}",
            method="as released" if times is not None else "unbiased",
            why=told if channels.randomised or why else "these columns were released as they are.",
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

    def stack(figure: str) -> FloatArray:
        return np.stack([getattr(part, figure) for part in parts], axis=-1)

    return replace(
        parts[0],
        by=(*parts[0].by, name),
        labels=(*parts[0].labels, tuple(shares)),
        what=f"quantile of {of}",
        estimate=stack("estimate"),
        unbiased=stack("unbiased"),
        se=stack("se"),
        low=stack("low"),
        high=stack("high"),
    )


def _counts_of(channels: Channels, group: int) -> FloatArray:
    """What each released cell counts towards a group."""
    one = np.zeros(prod(channels.layout.grouped_shape))
    one[group] = 1.0
    return channels.adjoint(one.reshape(channels.layout.grouped_shape)).ravel()


def _curves(
    records: OrderedRecords,
    counts: FloatArray,
    shares: Sequence[float],
    question: Question,
    times: float | None,
) -> list[Curve]:
    """The sums of one group for each quantile, all from the same running sums."""
    own, ends = counts[records.places], records.ends
    first = _running(records.w * own, ends)
    second = _running(records.ww * own**2, ends)
    truth = _running(records.ww * own, ends)
    values = records.values[ends]
    steps = np.diff(_running(records.n, ends))
    moved = times is None and question.infer == "records"
    weight = math.sqrt(float(records.ww.sum() / records.n.sum())) if moved else 0.0
    found = []
    for q in shares:
        sums = first - q * first[-1]
        spread = (1 - 2 * q) * second + q**2 * second[-1]
        if times is not None:
            variance = times * spread
        elif moved:
            variance = spread - (1 - 2 * q) * truth - q**2 * truth[-1]
        else:
            variance = spread - sums**2 / float(records.n.sum())
        record = weight * math.sqrt(q * (1 - q))
        found.append(Curve(values, sums, variance, steps, record=record))
    return found


def _running(terms: FloatArray, ends: IntArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(terms)[ends]])
