"""Counts, means and tests from a release whose keys were replaced within groups.

Each record gets the keys of another at random, by itself, and over all records every combination
of keys comes as often as before in expectation. So the sum over records of any function h of the
keys is unbiased as it stands. Records draw independently, and a variance is at most a second
moment, so with e = h less what it is compared with

    Var(sum e) <= E sum e^2,

which the released records estimate. A count over all n records compares with its mean, and since
sum (w p)^2 >= (sum w p)^2 / n, its variance is at most the sum of w^2 less the squared count over
n: n p (1 - p) without weights, what as many independent draws from the whole table would have.
Groups are alike inside, so that the true variance is smaller. Where keys are only handed round,
nothing is drawn and no count changes.

About a population, from which the records are a random sample, the same comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pramana.errors import InvalidTable
from pramana.estimation.independence import IndependenceTest, chi_square_tail
from pramana.estimation.layout import Layout
from pramana.estimation.moments import Moments
from pramana.estimation.results import Estimate
from pramana.estimation.variance import USUAL, Question, normal_interval
from pramana.types import FloatArray

__all__ = [
    "Drawn",
    "grouped_counts",
    "grouped_means",
    "grouped_test",
    "grouped_totals",
    "without_interval",
]


@dataclass(frozen=True)
class Drawn:
    """How keys come about: with how much of the variance of independent draws, and in words."""

    variance: float
    why: str

    def times(self, question: Question) -> float:
        """How often the variance of one sample counts."""
        return self.variance + (1.0 if question.infer == "population" else 0.0)


def grouped_counts(
    moments: Moments,
    layout: Layout,
    *,
    drawn: Drawn,
    records: int,
    question: Question = USUAL,
    share: bool = False,
) -> Estimate:
    """Counts (or shares of those that pass the filter) as they stand.

    ``records`` are all released records, also those that a filter leaves out: how many pass is
    itself drawn.
    """
    counts, total = moments.w, float(moments.w.sum())
    if total <= 0:
        raise InvalidTable("There are no released records to count. Does the filter select any?")
    shares = counts / total
    if share:
        second, counts = moments.ww * (1 - 2 * shares) + shares**2 * moments.ww.sum(), shares
    else:
        second = moments.ww - counts**2 / records
    se = np.sqrt(drawn.times(question) * np.maximum(second, 0)) / (total if share else 1.0)
    low, high = normal_interval(counts, se, z=question.z(counts.size))
    most = 1.0 if share else np.inf
    figures = (counts, se, np.maximum(low, 0), np.minimum(high, most))
    what = "share" if share else "count"
    return _as_released(layout, figures, question, what, drawn, moments)


def grouped_means(
    moments: Moments, layout: Layout, *, of: str, drawn: Drawn, question: Question = USUAL
) -> Estimate:
    """Means of a key in cells of keys, as they stand."""
    wy, wwyy = _values(moments)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = wy / moments.w
        second = wwyy - 2 * mean * _second(moments.wwy) + mean**2 * moments.ww
        se = np.sqrt(drawn.times(question) * np.maximum(second, 0)) / moments.w
    low, high = normal_interval(mean, se, z=question.z(mean.size))
    return _as_released(layout, (mean, se, low, high), question, f"mean of {of}", drawn, moments)


def grouped_totals(
    moments: Moments, layout: Layout, *, of: str, drawn: Drawn, question: Question = USUAL
) -> Estimate:
    """Totals of a key in cells of keys, as they stand."""
    wy, wwyy = _values(moments)
    se = np.sqrt(drawn.times(question) * wwyy)
    low, high = normal_interval(wy, se, z=question.z(wy.size))
    return _as_released(layout, (wy, se, low, high), question, f"total of {of}", drawn, moments)


def grouped_test(found: IndependenceTest, drawn: Drawn) -> IndependenceTest:
    """A test of two keys from the test of the released table.

    Drawing adds at most as much variance, in every direction, as the sample has: half of Pearson's
    statistic is at most chi-squared under independence.
    """
    statistic = found.statistic / (1 + drawn.variance)
    p_value = chi_square_tail(statistic, found.degrees)
    return replace(
        found,
        statistic=statistic,
        p_value=p_value,
        why=f"{drawn.why} The statistic is divided by what drawing adds at most: rejects too "
        "rarely rather than too often."
        if drawn.variance
        else drawn.why,
    )


def without_interval(found: Estimate, reason: str) -> Estimate:
    """The same numbers, for which no error can be stated."""
    unknown = np.full_like(found.estimate, np.nan)
    return replace(
        found,
        se=unknown,
        low=unknown,
        high=unknown,
        no_interval=reason,
        why="as released, biased by an unknown amount.",
    )


def _values(moments: Moments) -> tuple[FloatArray, FloatArray]:
    if moments.wy is None or moments.wwyy is None or moments.count <= 0:
        raise InvalidTable("No released record with a value is left. Does the filter select any?")
    return moments.wy, moments.wwyy


def _second(sums: FloatArray | None) -> FloatArray:
    return np.zeros(()) if sums is None else sums


def _as_released(
    layout: Layout,
    figures: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    question: Question,
    what: str,
    drawn: Drawn,
    moments: Moments,
) -> Estimate:
    return Estimate.of(
        layout,
        figures,
        question,
        what=what,
        method="as released",
        why=drawn.why,
        records=moments.count,
    )
