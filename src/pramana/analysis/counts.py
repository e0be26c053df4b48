"""Counts and shares of the original table, with standard errors and intervals.

Where the matrices are published there are three methods:

    unbiased  undo the matrices: unbiased and maximum likelihood [Cator, eq. 4]; may be negative
    clipped   the same with negative counts set to zero and the rest rescaled [Dowd, Sec. 4.3]
    shrunk    non-negative and shrunk to what noise and data leave of the dependence
              (regularised_em.py): far smaller errors in tables of many cells, with a bias

Standard errors and intervals are those of the unbiased estimate, whatever the method.

``withheld_counts`` reads a withheld matrix that leaves frequencies unchanged in expectation
[Ghatak, Sec. 2]: released frequencies are unbiased. Their variance is sum_i t_i P_ij (1 - P_ij).
The certificate states one number for all values of a column, which is far too large for rare ones.
The released count gives a second bound: it is a sum of n independent draws of ones and zeros with
mean t_j, which varies by at most t_j (1 - t_j / n). The interval has every t_j that neither bound
refutes [Wilson27].

Another withheld matrix moves frequencies by a stated error e, which no sum of bias and standard
deviation exceeds: z e to both sides holds as often as z >= 1 standard
deviations do (docs/proofs/withheld_matrices.md). About a population the deviation of the sample is
added to e: sqrt(s^2 + d^2) <= s + d. A difference of two counts errs by z times both errors at
most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pramana.analysis.channels import Channels
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import METHODS, USUAL, CountMethod, Inference, Question
from pramana.analysis.regularised_em import fitted_original
from pramana.analysis.variance import (
    NOTHING,
    JointErrors,
    Ratio,
    Unseen,
    bounded_interval,
    count_covariance,
    errors_of_shares,
    half_a_record,
    linear_errors,
    not_refuted,
)
from pramana.base.rounding import require_choice
from pramana.base.text import percent
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidTable, NotCovered
from pramana.types import FloatArray

SMALL_ERROR = 0.05
"""Up to this expected error, as a share of all records, an unbiased estimate is good enough."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Unbiased counts by group, and what their errors need.

    Attributes:
        ratio: The counts, over all records that pass the filter.
        records: The weight of all released records that pass filters on unchanged columns.
        most: The weight of the records with the same unchanged values, for each group.
        unseen: The reach of intervals where few records determine the errors.
    """

    ratio: Ratio
    records: float
    most: FloatArray
    unseen: Unseen

    @property
    def se(self) -> FloatArray:
        """The standard errors of the counts."""
        return np.sqrt(self.ratio.v_above)

    def figures(self, z: float, *, share: bool) -> tuple[FloatArray, ...]:
        """Estimate, standard error, and ends of the interval, of counts or of shares."""
        counts, se, unseen = self.ratio.above, self.se, self.unseen
        low, high = bounded_interval(counts, se, z=z)
        half = half_a_record(se, unseen.step)
        below, above = unseen.ends(z)
        low = np.maximum(low - half, counts - unseen.nearer(z))
        low = np.maximum(np.minimum(low, counts - below), 0)
        high = np.maximum(np.maximum(high + half, counts + above), low)
        if not share:
            return counts, se, np.minimum(low, self.most), np.minimum(high, self.most)
        shares, whole = (self.ratio.value, self.ratio.se), self.ratio.below
        if not self.ratio.v_below.any():  # the number of records is known
            return *shares, np.minimum(low / whole, 1), np.minimum(high / whole, 1)
        lower, upper = self.ratio.interval(z)
        lower, upper = lower - half / whole, upper + half / whole
        # Where the count is below 0, or few records determine it, its ends are those of the count.
        few = (counts < 0) | np.isfinite(above)
        upper = np.where(few, np.maximum(upper, high / whole), upper)
        lower = np.where(np.isfinite(below), np.minimum(lower, low / whole), lower)
        # A cell that holds all records which pass the filter has the share 1, without an error.
        cell = np.stack([counts, self.ratio.v_above, self.ratio.cov])
        total = np.stack([whole, self.ratio.v_below, self.ratio.v_below])
        lower = np.where(np.isclose(cell, total, rtol=1e-9).all(axis=0), 1, lower)
        return *shares, np.clip(lower, 0, 1), np.clip(upper, 0, 1)


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
    """Undo the matrices, and estimate the errors.

    The number of records that pass a filter is random for a count, and known for a share.
    """
    counts = channels.solve(moments.w)
    total, nothing = float(counts.sum()), np.zeros_like(counts)
    records = moments.count if share else moments.sample
    least = channels.least_variance(moments.ww) if channels.randomised else nothing
    in_total = channels.in_total
    of_total = float((moments.ww * in_total**2).sum())

    def ratio_about(infer: Inference) -> Ratio:
        variance = count_covariance(
            channels, moments.ww, counts, counts, records=records, infer=infer
        )
        about_records = infer == "records"
        known = channels.solve(moments.ww) if about_records else counts * total / max(records, 1.0)
        # The total does not vary where nothing is left out: the number of records is known.
        varies = of_total - float(known.sum())
        return Ratio(
            counts,
            np.full_like(counts, total),
            v_above=np.maximum(variance, least),
            cov=channels.solve(moments.ww * in_total) - known,
            v_below=np.full_like(counts, varies if varies > NOTHING * of_total else 0.0),
        )

    ratio = ratio_about(question.infer)
    if question.infer == "population" and channels.randomised:
        known = ratio_about("records")
        wider = np.maximum(ratio.v_above, known.v_above)
        ratio = replace(ratio.at_least(known), v_above=wider)
    most = channels.known(moments.w)
    step = channels.known(moments.ww) / np.where(most > 0, most, 1.0)
    added = channels.one_more if channels.randomised else (nothing, nothing)
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

    The method ``auto`` takes ``unbiased`` where its expected error is small, else ``shrunk``.
    Shares are those of the records that pass the filter.
    """
    require_choice("method", method, METHODS)
    if moments.count <= 0:
        raise InvalidTable(
            "There are no released records to estimate from. Does the filter select any?"
        )
    channels = Channels(layout)
    solved = solve_counts(moments, channels, question, share=share)
    counts = solved.ratio.above
    if share and counts.sum() <= 0:
        raise InvalidTable(
            "Shares need records: by the estimate, no original record meets the filter."
        )
    chosen, why = _chosen(method, solved, channels)
    unbiased, *errors = solved.figures(question.z(counts.size), share=share)
    estimate = unbiased
    if chosen != "unbiased":
        clipped = chosen == "clipped"
        estimate = (
            clip(counts, most=solved.records) if clipped else fitted_counts(moments, channels)
        )
        estimate = estimate / max(float(estimate.sum()), 1e-300) if share else estimate
    nothing, one = np.zeros_like(counts), np.ones_like(counts)
    together = linear_errors(
        moments,
        channels,
        counts,
        (nothing, one),
        infer=question.infer,
        unseen=solved.unseen.ends,
    )
    return Estimate.by_groups(
        layout,
        (estimate, *errors),
        question,
        what="share" if share else "count",
        method=chosen,
        why=why,
        records=moments.count,
        together=errors_of_shares(together) if share else together,
        unbiased=unbiased,
    )


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
    table = fitted_original(released, whole) * scale
    return channels.merge(np.ascontiguousarray(table.transpose(np.argsort(order))))


def off_by(error: float) -> str:
    """An expected error in words."""
    if error >= 1:
        return gettext("more than all records")
    return gettext("{share} of the records", share=numeral(percent(error, 2)))


def shrunk_words(error: float) -> str:
    """What a shrunken estimate is, with a warning where noise is stronger than the table."""
    words = gettext("The estimate is shrunk. {shrinkage}", shrinkage=gettext(SHRINKAGE))
    return f"{words} {gettext(DROWNED)}" if error >= 1 else words


SHRINKAGE = noop(
    "Differences that noise can explain are reduced. Standard errors and intervals belong to the "
    "unbiased estimate."
)
DROWNED = noop(
    "It is not reliable: noise exceeds the differences between cells. Ask for fewer columns, or "
    "use the intervals alone."
)


def _chosen(method: CountMethod, solved: Solved, channels: Channels) -> tuple[CountMethod, str]:
    if not channels.randomised:
        return "unbiased", gettext("these columns were released unchanged.")
    size = expected_error(solved.se, solved.records)
    error = gettext(
        "the expected total error of the unbiased estimate is {size}", size=off_by(size)
    )
    if method == "unbiased":
        return method, f"{error}."
    if method == "clipped":
        return method, gettext("{error} before clipping. Counts near 0 are biased.", error=error)
    if method == "shrunk":
        return method, f"{error}. {shrunk_words(size)}"
    if size <= SMALL_ERROR:
        return "unbiased", f"{error}."
    return "shrunk", f"{error}. {shrunk_words(size)}"


def as_released(
    layout: Layout,
    figures: tuple[FloatArray, ...],
    question: Question,
    *,
    whole: float,
    share: bool,
    why: str,
    records: float,
    step: float = 0.0,
    least_z: float = 0.0,
) -> Estimate:
    """Released counts, their errors and ends of intervals; as shares of the whole if asked."""
    scale = whole if share else 1.0
    scaled = [figure / scale for figure in figures]
    errors = JointErrors(layout.lay_out(scaled[0]), step=step / scale, least_z=least_z)
    return Estimate.by_groups(
        layout,
        scaled,
        question,
        what="share" if share else "count",
        method="as released",
        why=why,
        records=records,
        together=errors,
    )


def withheld_counts(
    released: ArrayLike,
    layout: Layout,
    *,
    error: ArrayLike,
    biased: bool = False,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Released counts (or shares) of one column, by the ``error`` that the certificate states.

    It is the standard deviation of each unbiased count, or if ``biased`` a bound of bias and
    standard deviation together.
    """
    counts = np.asarray(released, dtype=np.float64)
    if len(layout.axes) != 1 or not layout.axes[0].whole:
        raise NotCovered(
            "Frequencies of a withheld matrix are known for one column at a time: its dependence "
            "on other columns is attenuated by an unknown amount. Ask for one column."
        )
    if counts.shape != layout.shape or counts.sum() <= 0:
        raise InvalidTable("There must be released records, one count for each value.")
    total, z = float(counts.sum()), question.z(counts.size)
    stated = np.broadcast_to(np.asarray(error, dtype=np.float64), counts.shape)
    near = np.clip(counts, 1, max(total - 1, 1))  # a released count of 0 may hide some
    luck, sampled = near * (1 - near / total), float(question.infer == "population")
    if biased:
        se = stated + np.sqrt(luck) * sampled
        reach = max(z, BIAS) * se + half_a_record(se, 1.0)
        low, high = counts - reach, counts + reach
        why = gettext(
            "the matrix is withheld, and released counts may be biased. se bounds bias and "
            "standard deviation together, as the certificate states it."
        )
    else:
        se = np.sqrt(np.minimum(stated**2, luck) + sampled * luck)
        half = half_a_record(se, 1.0)
        low, high = not_refuted(counts, total, z=z, known=stated**2, times=sampled)
        least, largest = not_refuted(counts, total, z=z, times=sampled + 1)
        low, high = np.maximum(low, least) - half, np.minimum(high, largest) + half
        why = gettext(
            "released counts are unbiased, because the matrix keeps frequencies in expectation. "
            "se is an upper bound from the certificate and the count."
        )
    return as_released(
        layout,
        (counts, se, np.maximum(low, 0), np.minimum(high, total)),
        question,
        whole=total,
        share=share,
        why=why,
        records=total,
        step=float(biased),
        least_z=BIAS * biased,
    )


BIAS: Final = 1.0
"""How many errors an interval reaches at least, however low its level: all of one may be bias."""
