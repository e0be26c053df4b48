"""Counts and shares of the true table, by three methods, with errors.

    inverse   undo the matrices: unbiased and maximum likelihood [Cator, eq. 4]; may be negative
    clipped   the same with negative counts set to zero and the rest rescaled [Dowd, Sec. 4.3]
    em        non-negative and regularised, see regularised_em.py: far smaller errors in tables of
              many cells, at the price of a bias that no single cell can show

Intervals always rest on the unbiased estimate, because its error is known and not only hoped for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pramana.errors import InvalidNumber, InvalidTable
from pramana.estimation.bootstrap import em_errors
from pramana.estimation.channels import Channels
from pramana.estimation.contrasts import Influence, SharesWithin
from pramana.estimation.layout import Layout
from pramana.estimation.moments import Moments
from pramana.estimation.results import Estimate
from pramana.estimation.variance import (
    USUAL,
    Interval,
    Question,
    Ratio,
    Sums,
    count_covariance,
    normal_interval,
    total_covariance,
)
from pramana.types import FloatArray

__all__ = [
    "METHODS",
    "CountMethod",
    "clip",
    "estimate_counts",
    "expected_error",
    "require_method",
]

CountMethod = Literal["auto", "inverse", "clipped", "em"]
METHODS: tuple[CountMethod, ...] = ("auto", "inverse", "clipped", "em")


def require_method(method: str) -> None:
    """Refuse a name that is no method."""
    if method not in METHODS:
        raise InvalidNumber(f"method must be one of {', '.join(METHODS)}, got {method!r}.")


SMALL_ERROR = 0.05
"""Up to this expected error, as a share of all records, an unbiased estimate is good enough."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Counts by solving, by group, with all that their errors need."""

    ratio: Ratio
    records: float

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
        """The interval of the unbiased estimate, cut where the truth cannot lie.

        An upper end below 0 is left as it is: cutting it at 0 would make the intervals of empty
        cells hold too often.
        """
        if share:
            low, high = self.ratio.interval(z)
            return np.maximum(low, 0), np.minimum(high, 1)
        low, high = normal_interval(self.estimate, self.se, z=z)
        return np.maximum(low, 0), np.minimum(high, self.records)


def expected_error(se: FloatArray, total: float) -> float:
    """E sum |estimate - truth| / total of Normal errors.

    >>> round(expected_error(np.array([30.0, 40.0]), 1000.0), 4)
    0.0559
    """
    return float(math.sqrt(2 / math.pi) * se.sum() / total) if total > 0 else 0.0


def clip(estimate: FloatArray) -> FloatArray:
    """Set negative counts to zero and rescale to the same total [Dowd, Sec. 4.3].

    >>> clip(np.array([6.0, 5.0, -1.0]))
    array([5.45454545, 4.54545455, 0.        ])
    """
    positive = np.maximum(estimate, 0)
    total, kept = max(float(estimate.sum()), 0.0), float(positive.sum())
    return positive * (total / kept) if kept > 0 else positive


def solve_counts(moments: Moments, channels: Channels, question: Question) -> Solved:
    """Undo the matrices, and say how far off that can be."""
    estimate = channels.solve(moments.w)
    sums = Sums(estimate, estimate, moments.count)
    variance = count_covariance(channels, moments.ww, sums, infer=question.infer)
    cov, v_total = total_covariance(channels, moments.ww, sums, infer=question.infer)
    ratio = Ratio(
        estimate,
        np.full_like(estimate, estimate.sum()),
        v_above=np.maximum(variance, 0),
        cov=cov,
        v_below=np.full_like(estimate, max(v_total, 0.0)),
    )
    return Solved(ratio, float(moments.w.sum()))


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
    counted = Influence.of_counts(moments, channels, solved.estimate, question.infer)
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
    misses = 1.0
    if method == "em":
        estimate, se = em_errors(moments, channels, infer=question.infer, errors=question.errors)
        misses = TAKEN_IN
    elif method == "clipped":
        estimate = clip(solved.estimate)
        se = solved.se
    if method != "inverse" and share:
        total = max(float(estimate.sum()), 1e-300)
        estimate, se = estimate / total, se / total
    low, high = solved.interval(question.z(estimate.size, misses=misses), share=share)
    return estimate, se, np.minimum(low, estimate), np.maximum(high, estimate)


TAKEN_IN = 1.2
"""How many times the misses asked for an interval starts with before it takes in the EM estimate.

When the unbiased interval lies to one side of the truth, the EM estimate lies beyond the truth at
most every other time: taking it in catches up to half of the misses. With 1.2 times the misses
to begin with, between 0.6 and 1.2 times those asked for remain.
"""


def _chosen(method: CountMethod, solved: Solved, channels: Channels) -> tuple[CountMethod, str]:
    if not channels.randomised:
        return "inverse", "these columns were released as they are."
    share = f"{solved.error:.2g} of the records" if solved.error < 1 else "more than all records"
    error = f"the expected total error of undoing the matrices is {share}"
    if method == "inverse":
        return method, f"unbiased as asked; {error}."
    if method == "clipped":
        return method, f"as asked; {error} before clipping; biased where the truth is near 0."
    if method == "em":
        return method, f"as asked; {error}; shrinking trades it for a bias."
    if solved.error <= SMALL_ERROR:
        return "inverse", f"{error}, small enough to stay unbiased."
    return "em", f"{error}, and shrinking makes it much smaller; intervals are the unbiased ones."
