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

The released count tells that bound badly where it is small. Of a cell that was released empty it
would be 0, and what one record has is drawn by nobody in a third of all releases and more. So the
interval of a count t has every one that is not refuted by the variance that it would have itself
[Wilson27]: c t (1 - t / n), where c is what a record of the cell counts by those that were
released, and at least what records count on average. A mean is a ratio, and a group of few released
records leaves every one possible [Fieller].

About a population, from which the records are a random sample, the same comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pramana.errors import InvalidTable
from pramana.estimation.contrasts import Apart
from pramana.estimation.independence import IndependenceTest, chi_square_tail
from pramana.estimation.layout import Layout
from pramana.estimation.moments import Moments
from pramana.estimation.question import USUAL, Question
from pramana.estimation.results import Estimate
from pramana.estimation.variance import Ratio, half_a_record, normal_interval, not_refuted
from pramana.types import FloatArray

__all__ = [
    "Drawn",
    "grouped_counts",
    "grouped_test",
    "grouped_values",
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
    squares, whole = float(moments.ww.sum()), total if share else total * records / moments.count
    if share:
        second = moments.ww * (1 - 2 * counts / total) + (counts / total) ** 2 * squares
    else:
        second = moments.ww - counts**2 / records
    apart = counts * (1 - counts / whole)
    one = np.divide(second, apart, out=np.zeros_like(counts), where=apart > 0)
    one = np.maximum(one, squares / total) * drawn.times(question)
    near = np.clip(counts, np.minimum(one, whole / 2), np.maximum(whole - one, whole / 2))
    se = np.sqrt(one * near * (1 - near / whole))
    low, high = not_refuted(counts, whole, z=question.z(counts.size), times=one)
    half = half_a_record(se, squares / total)
    low, high = np.maximum(low - half, 0), np.minimum(high + half, whole)
    scale = whole if share else 1.0
    return _as_released(
        layout,
        (counts / scale, se / scale, low / scale, high / scale),
        question,
        "share" if share else "count",
        drawn,
        moments,
        together=Apart(squares / total / scale),
    )


def grouped_values(
    moments: Moments,
    layout: Layout,
    *,
    of: str,
    drawn: Drawn,
    records: int,
    question: Question = USUAL,
    total: bool = False,
) -> Estimate:
    """Means (or totals) of a key in cells of keys, as they stand."""
    wy, wwyy = _values(moments)
    times, z = drawn.times(question), question.z(wy.size)
    second = times * (wwyy - wy**2 / records)
    if total:
        told = (moments.records > 0) | (times == 0)
        se = np.where(told, np.sqrt(np.maximum(second, 0)), np.nan)
        low, high = normal_interval(wy, se, z=z)
        low, high = np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)
        return _as_released(layout, (wy, se, low, high), question, f"total of {of}", drawn, moments)
    cov = times * (_second(moments.wwy) - wy * moments.w / records)
    ratio = Ratio(wy, moments.w, second, cov, times * (moments.ww - moments.w**2 / records))
    _, se, low, high = ratio.told(z)
    figures = (ratio.value, se, low, high)  # a number as released stands, however few tell it
    return _as_released(layout, figures, question, f"mean of {of}", drawn, moments)


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
    together: Apart | None = None,
) -> Estimate:
    return Estimate.of(
        layout,
        figures,
        question,
        what=what,
        method="as released",
        why=drawn.why,
        records=moments.count,
        together=together,
    )
