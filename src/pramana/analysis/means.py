"""Means and totals of a column released as it is, by groups of randomised columns.

Sums are corrected like counts: the total of y over the truths in group g is estimated by
sum_l B_lg S_l, with S_l the sum of y over the records released as l. It is unbiased, and its
variance is that of a count with y^2 in place of 1. A mean is the ratio of a total and a count; its
interval is Fieller's, which stays right where a group is small, and is infinite where a group
cannot be told well from an empty one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pramana.analysis.channels import Channels
from pramana.analysis.contrasts import Influence
from pramana.analysis.estimates import Estimate
from pramana.analysis.layout import Layout, Moments
from pramana.analysis.question import USUAL, Inference, Question
from pramana.analysis.variance import Ratio, Sums, count_covariance, half_a_record, normal_interval
from pramana.errors import InvalidTable
from pramana.types import FloatArray


def estimate_totals(
    moments: Moments, layout: Layout, *, of: str, question: Question = USUAL, noise: float = 0.0
) -> Estimate:
    """The total of column ``of`` in every cell of ``layout.by``; weighted where there are weights.

    ``moments`` are summed over the records that have a value; ``noise`` is the variance of what was
    added to each.
    """
    wy, _, wwyy = _values(moments, of)
    channels = Channels(layout)
    total = channels.solve(wy)
    sums = Sums(total, total, moments.sample)
    variance = count_covariance(channels, wwyy, sums, infer=question.infer)
    se = np.sqrt(np.maximum(variance + _noise(channels, moments, noise, question), 0))
    low, high = normal_interval(total, se, z=question.z(total.size))
    people = np.maximum(channels.known(moments.records), 1.0)
    half = _half(se, np.sqrt(channels.known(wwyy) / people), question)
    return Estimate.of(
        layout,
        (total, se, low - half, high + half),
        question,
        what=f"total of {of}",
        method="unbiased",
        why=_why(channels, "sums are corrected like counts; unbiased."),
        records=moments.count,
        together=Influence.of_totals(moments, channels, total, question.infer),
    )


def estimate_means(
    moments: Moments, layout: Layout, *, of: str, question: Question = USUAL, noise: float = 0.0
) -> Estimate:
    """The mean of column ``of`` in every cell of ``layout.by``; weighted where there are weights.

    Where a group cannot be told well from an empty one, the mean can be anything: it is ``nan``,
    and its interval infinite.
    """
    wy, wwy, wwyy = _values(moments, of)
    channels = Channels(layout)
    above, below = channels.solve(wy), channels.solve(moments.w)

    def ratio_about(infer: Inference) -> Ratio:
        def covariance(products: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
            sums = Sums(first, second, moments.sample)
            return count_covariance(channels, products, sums, infer=infer)

        added = _noise(channels, moments, noise, replace(question, infer=infer))
        return Ratio(
            above,
            below,
            v_above=np.maximum(covariance(wwyy, above, above) + added, 0),
            cov=covariance(wwy, above, below),
            v_below=np.maximum(covariance(moments.ww, below, below), 0),
        )

    ratio = ratio_about(question.infer)
    if question.infer == "population":
        ratio = ratio.at_least(ratio_about("records"))
    mean, se, low, high = ratio.told(question.z(above.size))
    half = _half(se, _step(moments, channels, ratio), question)
    figures = (mean, se, low - half, high + half)
    return Estimate.of(
        layout,
        figures,
        question,
        what=f"mean of {of}",
        method="unbiased",
        why=_why(channels, "a corrected total over a corrected count; nearly unbiased.")
        + (UNBOUNDED if np.isinf(figures[3]).any() else ""),
        records=moments.count,
        together=Influence.of_means(moments, channels, ratio, question.infer),
    )


def _half(se: FloatArray, step: FloatArray, question: Question) -> FloatArray:
    """Where few records move; the luck of a sample is no matter of single records."""
    return half_a_record(se, step) if question.infer == "records" else np.zeros_like(se)


def _step(moments: Moments, channels: Channels, ratio: Ratio) -> FloatArray:
    """By how much a record that moves into a group changes its mean, as a mean square root."""
    assert moments.wwy is not None  # noqa: S101 - for the type checker
    assert moments.wwyy is not None  # noqa: S101 - for the type checker
    yy, y, one = (channels.known(part) for part in (moments.wwyy, moments.wwy, moments.ww))
    people = np.maximum(channels.known(moments.records), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = yy - 2 * ratio.value * y + ratio.value**2 * one
        step: FloatArray = np.sqrt(np.maximum(squares, 0) / people) / ratio.below
    return step


def _noise(channels: Channels, moments: Moments, noise: float, question: Question) -> FloatArray:
    """The variance that noise adds to a total of these records: noise times the sum of w^2.

    About a population nothing is added: released squares hold it already.
    """
    spread: FloatArray = np.zeros_like(channels.solve(moments.ww))
    if noise and question.infer == "records":
        spread = noise * np.maximum(channels.solve(moments.ww), 0)
    return spread


UNBOUNDED = " Groups that noise does not tell well from empty ones have no mean that can be told."


def _why(channels: Channels, corrected: str) -> str:
    return corrected if channels.randomised else "these columns were released as they are."


def _values(moments: Moments, of: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    if moments.wy is None or moments.wwy is None or moments.wwyy is None:
        raise InvalidTable(
            f"Means and totals of '{of}' need sums of its values and squares.", column=of
        )
    if moments.count <= 0:
        raise InvalidTable(
            f"No released record with a value of '{of}' is left. Does the filter select any?",
            column=of,
        )
    return moments.wy, moments.wwy, moments.wwyy
