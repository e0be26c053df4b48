"""Counts and shares of the original table, with standard errors and intervals.

Where the matrices are published there are three methods:

    unbiased  undo the matrices: unbiased and maximum likelihood [Cator, eq. 4]; may be negative
    clipped   the same with negative counts set to zero and the rest rescaled [Dowd, Sec. 4.3]
    shrunk    non-negative and shrunk towards what noise and data leave of the dependence
              (regularised_em.py): far smaller errors in tables of many cells, at the price of a
              bias that no single cell can show

Standard errors and intervals are those of the unbiased estimate, whatever the method, because its
error is known. The unbiased estimate itself is reported with the other.

``invariant_counts``: a withheld matrix that leaves frequencies unchanged in expectation. With
t P = t for the original frequencies t (invariant and inverse-frequency matrices), the released
frequencies are unbiased, and an analyst needs no matrix for them [Ghatak, Sec. 2]. Their variance
is sum_i t_i P_ij (1 - P_ij), which the certificate must state.

A certificate states one figure for all values of a column, rounded up, which is far too much for
the rare ones. The released count says more: it is a sum of n independent draws of ones and zeros
with mean t_j, and no such sum varies by more than t_j (1 - t_j / n), whatever the matrix. So both
bounds hold, and the interval has every t_j that neither refutes [Wilson27].

``bounded_counts``: a withheld matrix that moves frequencies by a stated error. Of the value j
with t_j records the released count has a mean t_j + b_j and a standard deviation s_j. The
certificate states one error e for the whole column that no |b_j| + s_j exceeds. With z >= 1
standard deviations for the chance of drawing,

    |count - t_j|  <=  |b_j| + z s_j  <=  z e,

so that z e to both sides holds as often as z standard deviations do, whatever the bias. About a
population the deviation of its own sample is added to e: sqrt(s^2 + d^2) <= s + d. A difference of
two counts is off by z times both errors at most, for the same reason, and z >= 1 there as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pramana.analysis.channels import Channels
from pramana.analysis.contrasts import Apart, Influence, SharesWithin
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import METHODS, USUAL, CountMethod, Inference, Question
from pramana.analysis.regularised_em import fitted_truth
from pramana.analysis.variance import (
    Interval,
    Ratio,
    Sums,
    Unseen,
    bounded_interval,
    count_covariance,
    half_a_record,
    not_refuted,
    total_covariance,
)
from pramana.base.rounding import require_choice
from pramana.errors import InvalidTable, NotCovered
from pramana.types import BoolArray, FloatArray


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
        records: The weight of all released records that pass filters on columns as they are.
        most: The weight of those that each group cannot be told apart from.
        unseen: How far off the counts can be where few records tell their errors.
    """

    ratio: Ratio
    records: float
    most: FloatArray
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
            return np.minimum(low, self.most), np.minimum(high, self.most)
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


def solve_counts(
    moments: Moments, channels: Channels, question: Question, *, share: bool = False
) -> Solved:
    """Undo the matrices, and say how far off that can be.

    How many records pass a filter is part of the luck of a count, and known to a share.
    """
    estimate = channels.solve(moments.w)
    sums = Sums(estimate, estimate, moments.count if share else moments.sample)
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
        wider = np.maximum(ratio.v_above, known.v_above)
        ratio = replace(ratio.at_least(known), v_above=wider)
    most = channels.known(moments.w)
    step = channels.known(moments.ww) / np.where(most > 0, most, 1.0)
    added = channels.one_more if channels.randomised else (np.zeros_like(estimate),) * 2
    unseen = Unseen(ratio.v_above, *added, step, least)
    return Solved(ratio, float(moments.w.sum()), most, unseen)


def estimate_counts(
    moments: Moments,
    layout: Layout,
    *,
    method: CountMethod = "auto",
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """The original table of ``layout.by``, from the released one.

    Args:
        moments: Sums over the released records, by released cell.
        layout: The axes of the released table.
        method: ``auto`` takes ``unbiased`` where its expected error is small, else ``shrunk``.
        question: What the intervals shall mean.
        share: Shares of the records (that pass the filter) instead of counts.
    """
    require_method(method)
    if moments.count <= 0:
        raise InvalidTable(
            "There are no released records to estimate from. Does the filter select any?"
        )
    channels = Channels(layout)
    solved = solve_counts(moments, channels, question, share=share)
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
    if method != "unbiased":
        estimate = (
            clip(solved.estimate, most=solved.records)
            if method == "clipped"
            else fitted_counts(moments, channels)
        )
        estimate = estimate / max(float(estimate.sum()), 1e-300) if share else estimate
    return estimate, se, *solved.interval(question.z(estimate.size), share=share)


def fitted_counts(moments: Moments, channels: Channels) -> FloatArray:
    """The shrunken table, by group; weighted records are fitted as this many equal ones.

    Columns are fitted in the order of the schema: a fit stops a little earlier or later in another
    order, and one question has one answer.
    """
    axes, names = channels.layout.axes, list(channels.layout.labels)
    order = sorted(range(len(axes)), key=lambda place: names.index(axes[place].columns[0]))
    whole = Channels(channels.layout.only(order))
    scale = float(moments.w.sum()) / max(moments.effective, 1e-300)
    released = np.ascontiguousarray((moments.w / scale).transpose(order))
    truth = fitted_truth(released, whole) * scale
    return channels.merge(np.ascontiguousarray(truth.transpose(np.argsort(order))))


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
        return "unbiased", "these columns were released as they are."
    error = f"the expected total error of undoing the matrices is {off_by(solved.error)}"
    if method == "unbiased":
        return method, f"unbiased as asked; {error}."
    if method == "clipped":
        return method, f"as asked; {error} before clipping; biased where the truth is near 0."
    if method == "shrunk":
        return method, f"as asked; {error}; {shrunk_words(solved.error)}"
    if solved.error <= SMALL_ERROR:
        return "unbiased", f"{error}, small enough to stay unbiased."
    return "shrunk", f"{error}; {shrunk_words(solved.error)}"


def as_released(
    layout: Layout,
    figures: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    question: Question,
    *,
    whole: float,
    share: bool,
    why: str,
    records: float,
    together: Apart | None = None,
) -> Estimate:
    """Released counts, their errors and ends of intervals; as shares of the whole if asked."""
    scale = whole if share else 1.0
    estimate, se, low, high = (figure / scale for figure in figures)
    return Estimate.of(
        layout,
        (estimate, se, low, high),
        question,
        what="share" if share else "count",
        method="as released",
        why=why,
        records=records,
        together=together and replace(together, step=together.step / scale),
    )


def _one_column(released: ArrayLike, layout: Layout) -> tuple[FloatArray, float]:
    counts = np.asarray(released, dtype=np.float64)
    if len(layout.axes) != 1 or not layout.axes[0].whole:
        raise NotCovered(
            "Frequencies of a matrix that was withheld are unbiased one column at a time only: "
            "its dependence on other columns is blurred by an unknown amount. Ask for one column."
        )
    if counts.shape != layout.shape or counts.sum() <= 0:
        raise InvalidTable("There must be released records, one count for each value.")
    return counts, float(counts.sum())


def invariant_counts(
    released: ArrayLike,
    layout: Layout,
    *,
    variance: ArrayLike,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Released counts (or shares) of one column, with errors.

    ``variance`` is that of each count as the certificate states it.
    """
    counts, total = _one_column(released, layout)
    stated = np.asarray(variance, dtype=np.float64)
    drawn = 1.0 if question.infer == "population" else 0.0  # how often people were drawn themselves
    near = np.clip(counts, 1, max(total - 1, 1))  # a count of 0 may be of a value that some have
    most = near * (1 - near / total)
    se = np.sqrt(np.maximum(np.minimum(stated, most) + drawn * most, 0))
    z, half = question.z(counts.size), half_a_record(se, 1.0)
    low, high = not_refuted(counts, total, z=z, known=stated, times=drawn)
    least, largest = not_refuted(counts, total, z=z, times=drawn + 1)
    low = np.maximum(np.maximum(low, least) - half, 0)
    high = np.minimum(np.minimum(high, largest) + half, total)
    return as_released(
        layout,
        (counts, se, low, high),
        question,
        whole=total,
        share=share,
        why="the matrix leaves frequencies unchanged in expectation: unbiased as they stand; se is "
        "the most that the certificate and the count itself leave possible.",
        records=total,
    )


BIAS: Final = 1.0
"""How many errors an interval reaches at least, however low its level: a bias may be all of one."""


def bounded_counts(
    released: ArrayLike,
    layout: Layout,
    *,
    error: ArrayLike,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Released counts (or shares) of one column, with intervals that hold whatever the bias.

    ``error`` is what bias and standard deviation of each count make together at most.
    """
    counts, total = _one_column(released, layout)
    se = np.broadcast_to(np.asarray(error, dtype=np.float64), counts.shape)
    if question.infer == "population":
        near = np.clip(counts, 1, max(total - 1, 1))  # of 0 released there may be some
        se = se + np.sqrt(near * (1 - near / total))
    reach = max(question.z(counts.size), BIAS) * se + half_a_record(se, 1.0)
    low, high = np.maximum(counts - reach, 0), np.minimum(counts + reach, total)
    return as_released(
        layout,
        (counts, se, low, high),
        question,
        whole=total,
        share=share,
        why="the matrix is withheld and may move frequencies: se is the most that bias and chance "
        "make together, as the certificate states it.",
        records=total,
        together=Apart(1.0, BIAS),
    )


# -- means and totals ------------------------------------------------------------------------
