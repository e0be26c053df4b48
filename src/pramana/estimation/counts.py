"""Counts and shares of the true table, by three methods, with errors.

    inverse   undo the matrices: unbiased and maximum likelihood [Cator, eq. 4]; may be negative
    clipped   the same with negative counts set to zero and the rest rescaled [Dowd, Sec. 4.3]
    em        non-negative and shrunk towards what noise and data leave of the dependence, see
              regularised_em.py: far smaller errors in tables of many cells, at the price of a bias
              that no single cell can show

Standard errors and intervals are those of the unbiased estimate, whatever the method, because its
error is known and not only hoped for; the unbiased estimate itself stands beside the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pramana.errors import InvalidTable
from pramana.estimation.channels import Channels
from pramana.estimation.contrasts import Influence, SharesWithin
from pramana.estimation.layout import Layout
from pramana.estimation.moments import Moments
from pramana.estimation.question import USUAL, Inference, Question
from pramana.estimation.regularised_em import fit
from pramana.estimation.results import Estimate
from pramana.estimation.variance import (
    Interval,
    Ratio,
    Sums,
    Unseen,
    bounded_interval,
    count_covariance,
    half_a_record,
    total_covariance,
)
from pramana.numeric import require_choice
from pramana.types import BoolArray, FloatArray

__all__ = [
    "DROWNED",
    "METHODS",
    "SMALL_ERROR",
    "TAKEN_IN",
    "CountMethod",
    "clip",
    "estimate_counts",
    "expected_error",
    "off_by",
    "require_method",
    "shrunk_words",
]

CountMethod = Literal["auto", "inverse", "clipped", "em"]
METHODS: tuple[CountMethod, ...] = ("auto", "inverse", "clipped", "em")


def require_method(method: str) -> None:
    """Refuse a name that is no method."""
    require_choice("method", method, METHODS)


SMALL_ERROR = 0.05
"""Up to this expected error, as a share of all records, an unbiased estimate is good enough."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Counts by solving, by group, with all that their errors need.

    Attributes:
        ratio: The counts, over all records that pass the filter.
        records: How many were released.
        unseen: How far off the counts can be where few records tell their errors.
    """

    ratio: Ratio
    records: float
    unseen: Unseen

    @property
    def estimate(self) -> FloatArray:
        """Unbiased counts."""
        return self.ratio.above

    @property
    def se(self) -> FloatArray:
        """Their standard errors."""
        return np.sqrt(self.ratio.v_above)

    @property
    def error(self) -> float:
        """The expected sum of absolute errors, as a share of the records."""
        return expected_error(self.se, self.records)

    def figures(self, *, share: bool) -> tuple[FloatArray, FloatArray]:
        """Estimates and standard errors, of counts or of shares."""
        return (self.ratio.value, self.ratio.se) if share else (self.estimate, self.se)

    def interval(self, z: float, *, share: bool) -> Interval:
        """The interval of the unbiased estimate, where the truth can lie."""
        low, high = bounded_interval(self.estimate, self.se, z=z)
        half = half_a_record(self.se, self.unseen.step)
        below, above = self.unseen.below(z), self.unseen.above(z)
        low = np.maximum(low - half, self.estimate - self.unseen.nearer(z))
        low = np.maximum(np.minimum(low, self.estimate - below), 0)
        high = np.maximum(np.maximum(high + half, self.estimate + above), low)
        if not share:
            return np.minimum(low, self.records), np.minimum(high, self.records)
        whole = self.ratio.below
        if not self.ratio.v_below.any():  # the number of records is known
            return np.minimum(low / whole, 1), np.minimum(high / whole, 1)
        lower, upper = self.ratio.interval(z)
        lower, upper = lower - half / whole, upper + half / whole
        # A share below 0 is a count below 0, and one that few records tell of is a count of few:
        # its ends come from the count.
        counted = (self.estimate < 0) | np.isfinite(above)
        upper = np.where(counted, np.maximum(upper, high / whole), upper)
        lower = np.where(np.isfinite(below), np.minimum(lower, low / whole), lower)
        lower = np.where(self._everyone, 1, lower)
        return np.clip(lower, 0, 1), np.clip(upper, 0, 1)

    @property
    def _everyone(self) -> BoolArray:
        """Cells that hold all who pass the filter by what was asked: 1 is no estimate."""
        own = np.stack([self.estimate, self.ratio.v_above, self.ratio.cov])
        whole = np.stack([self.ratio.below, self.ratio.v_below, self.ratio.v_below])
        return np.asarray(np.isclose(own, whole, rtol=1e-9).all(axis=0), dtype=np.bool_)


def expected_error(se: FloatArray, total: float) -> float:
    """E sum |estimate - truth| / total of Normal errors.

    >>> round(expected_error(np.array([30.0, 40.0]), 1000.0), 4)
    0.0559
    """
    return float(math.sqrt(2 / math.pi) * se.sum() / total) if total > 0 else 0.0


def clip(estimate: FloatArray, *, most: float = math.inf) -> FloatArray:
    """Set negative counts to zero and rescale to the same total [Dowd, Sec. 4.3], ``most`` at most.

    >>> clip(np.array([6.0, 5.0, -1.0]))
    array([5.45454545, 4.54545455, 0.        ])
    """
    positive = np.maximum(estimate, 0)
    total, kept = min(max(float(estimate.sum()), 0.0), most), float(positive.sum())
    return positive * (total / kept) if kept > 0 else positive


def solve_counts(moments: Moments, channels: Channels, question: Question) -> Solved:
    """Undo the matrices, and say how far off that can be."""
    estimate = channels.solve(moments.w)
    sums = Sums(estimate, estimate, moments.count)
    least = channels.least_variance(moments.ww) if channels.randomised else np.zeros_like(estimate)

    def ratio_about(infer: Inference) -> Ratio:
        variance = count_covariance(channels, moments.ww, sums, infer=infer)
        cov, v_total = total_covariance(channels, moments.ww, sums, infer=infer)
        return Ratio(
            estimate,
            np.full_like(estimate, estimate.sum()),
            v_above=np.maximum(variance, least),
            cov=cov,
            v_below=np.full_like(estimate, max(v_total, 0.0)),
        )

    ratio = ratio_about(question.infer)
    if question.infer == "population" and channels.randomised:
        known = ratio_about("records")
        most = np.maximum(ratio.v_above, known.v_above)
        ratio = replace(ratio.at_least(known), v_above=most)
    weight = float(moments.w.sum())
    step = float(moments.ww.sum()) / max(weight, 1e-300)
    added = channels.one_more if channels.randomised else (np.zeros_like(estimate),) * 2
    return Solved(ratio, weight, Unseen(ratio.v_above, *added, step, least))


def estimate_counts(
    moments: Moments,
    layout: Layout,
    *,
    method: CountMethod = "auto",
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """The true table of ``layout.by``, from the released one.

    Args:
        moments: Sums over the released records, by released cell.
        layout: The axes of the released table.
        method: ``auto`` takes ``inverse`` where its expected error is small, else ``em``.
        question: What the intervals shall mean.
        share: Shares of the records (that pass the filter) instead of counts.
    """
    require_method(method)
    if moments.count <= 0:
        raise InvalidTable(
            "There are no released records to estimate from. Does the filter select any?"
        )
    channels = Channels(layout)
    solved = solve_counts(moments, channels, question)
    if share and solved.ratio.below.flat[0] <= 0:
        raise InvalidTable(
            "Shares need records: by the estimate, none of the truths meets the filter."
        )
    chosen, why = _chosen(method, solved, channels)
    figures = _figures(chosen, moments, channels, solved, question, share=share)
    counted = Influence.of_counts(
        moments, channels, solved.estimate, question.infer, unseen=solved.unseen
    )
    return Estimate.of(
        layout,
        figures,
        question,
        what="share" if share else "count",
        method=chosen,
        why=why,
        records=moments.count,
        together=SharesWithin(counted) if share else counted,
        misses=TAKEN_IN if chosen == "em" else 1.0,
        unbiased=solved.figures(share=share)[0],
    )


def _figures(
    method: CountMethod,
    moments: Moments,
    channels: Channels,
    solved: Solved,
    question: Question,
    *,
    share: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Estimate, se, low and high by group."""
    estimate, se = solved.figures(share=share)
    if method == "inverse":
        return estimate, se, *solved.interval(question.z(estimate.size), share=share)
    estimate = (
        clip(solved.estimate, most=solved.records)
        if method == "clipped"
        else fitted_counts(moments, channels)
    )
    if share:
        estimate = estimate / max(float(estimate.sum()), 1e-300)
    misses = TAKEN_IN if method == "em" else 1.0
    low, high = solved.interval(question.z(estimate.size, misses=misses), share=share)
    return estimate, se, np.minimum(low, estimate), np.maximum(high, estimate)


def fitted_counts(moments: Moments, channels: Channels) -> FloatArray:
    """The shrunken table, by group; weighted records are fitted as so many equal ones."""
    whole = Channels(channels.layout.only(range(len(channels.layout.axes))))
    scale = float(moments.w.sum()) / max(moments.effective, 1e-300)
    released = moments.w / scale
    return channels.merge(fit(released, whole).truth(released, whole)) * scale


TAKEN_IN = 1.1
"""How many times the misses asked for an interval starts with before it takes in the EM estimate.

When the unbiased interval lies to one side of the truth, the EM estimate lies beyond the truth at
most every other time: taking it in catches up to half of the misses. With 1.1 times the misses
to begin with, between 0.55 and 1.1 times those asked for remain.
"""


def off_by(error: float) -> str:
    """An expected error in words."""
    return f"{error:.2g} of the records" if error < 1 else "more than all records"


def shrunk_words(error: float) -> str:
    """What a shrunken estimate is, and that it is next to nothing where noise drowns the table."""
    told = f"the estimate is shrunk by what noise explains, {BESIDE}"
    return f"{told} {DROWNED}" if error >= 1 else told


BESIDE = "se and interval are those of the unbiased one."
DROWNED = (
    "Not reliable: noise is stronger than the table, so that the estimate leans to even counts "
    "and a large cell may be chance. Ask for fewer columns, or read the intervals alone."
)


def _chosen(method: CountMethod, solved: Solved, channels: Channels) -> tuple[CountMethod, str]:
    if not channels.randomised:
        return "inverse", "these columns were released as they are."
    error = f"the expected total error of undoing the matrices is {off_by(solved.error)}"
    if method == "inverse":
        return method, f"unbiased as asked; {error}."
    if method == "clipped":
        return method, f"as asked; {error} before clipping; biased where the truth is near 0."
    if method == "em":
        return method, f"as asked; {error}; {shrunk_words(solved.error)}"
    if solved.error <= SMALL_ERROR:
        return "inverse", f"{error}, small enough to stay unbiased."
    return "em", f"{error}; {shrunk_words(solved.error)}"
