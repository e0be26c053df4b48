"""Errors by replicate weights, and errors of weights that were rounded before the release.

An estimate is made once with the weight and once with each replicate weight r; its variance is

    scale * sum_r (estimate_r - estimate)^2                                 [Wolter07, ch. 3 and 4]

and at least that of the randomisation alone. A number that some replicate lacks has no error by
replicates, and its interval no end (docs/howto/weights.md).

Rounded weights. The original weights of all records with one released weight w may be denser at
either end of its step: with a density that is linear in the step their mean lies within step / 6 of
w. To first order an estimate errs by the sum over records of the error of the weight times the
influence u of the record: 1 on a count, y on a total, (y - mean) / W on a mean or share of a group
of weight W. That is

    sum over released weights of e_w times the sum of u with that weight, + sum of u_i e_i,

with independent e_w of mean 0 and variance step^2 / 108, shared by all records with a weight, and
e_i of variance step^2 / 12 for each. The share below a quantile errs so, and its ends are where the
shares farther down and up lie. The lowest step includes all smaller weights: its mean is too high
by a number from 0 to step / 2. At a cap the excess is taken to be exponential with the scale s that
the median weight and the share of records at the cap suggest: it is too low by s, give or take s /
2. Errors state the root mean square of all this.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pramana.analysis.estimates import Estimate
from pramana.analysis.numbers import beyond_scores
from pramana.analysis.question import Question, Rounded, students
from pramana.analysis.regression_results import Regression
from pramana.analysis.released_records import Reading
from pramana.analysis.variance import JointErrors, errors_of_shares
from pramana.base.translation import gettext
from pramana.engine.base import Condition, SumsAsked, number_in, sums_in
from pramana.errors import NotCovered, TooLarge
from pramana.schema.domains import Label, label_text
from pramana.schema.recoding import Recoding
from pramana.schema.schema import Replicates
from pramana.types import FloatArray

# -- replicate weights ------------------------------------------------------------------------


def replicated_estimate(
    estimate: Estimate,
    others: Sequence[FloatArray],
    replicates: Replicates,
    question: Question,
    *,
    least: FloatArray,
    bounds: tuple[float, float],
) -> Estimate:
    """The same numbers with the errors that their replicates give, and ``least`` at least.

    Intervals stay within the ``bounds`` of the quantity.
    """
    numbers, drawn = estimate.unbiased, np.stack(list(others))
    factor = replicates.factor(len(drawn))
    spread = factor * ((drawn - numbers) ** 2).sum(axis=0)
    more = np.fmax(least**2 - spread, 0.0)
    se = np.sqrt(spread + more)
    wide = students(question.z(numbers.size), len(drawn) - 1) * se
    known = np.isfinite(numbers) & np.isfinite(wide)
    low, high = np.where(known, numbers - wide, -np.inf), np.where(known, numbers + wide, np.inf)
    low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    apart = math.sqrt(factor) * (drawn - numbers).reshape(len(drawn), -1).T
    covariance = partial(_covariance_with, None, (apart, more.ravel()))
    return replace(
        estimate,
        se=se,
        low=np.fmin(low, estimate.estimate),
        high=np.fmax(high, estimate.estimate),
        why=gettext(
            "{why}; errors by {number} replicate weights ({kind}).",
            why=estimate.why.rstrip("."),
            number=len(drawn),
            kind=replicates.kind,
        ),
        together=JointErrors(numbers, covariance, degrees=len(drawn) - 1.0),
    )


Moved = tuple[FloatArray, FloatArray]
"""Of numbers, what moves them together (last axis), and the variance of what moves each alone."""


def _covariance_with(
    before: Callable[[Sequence[FloatArray]], FloatArray] | None,
    moved: Moved,
    contrasts: Sequence[FloatArray],
) -> FloatArray:
    """The covariance with what moves numbers in addition; numbers that are not used may be nan."""
    together, alone = moved
    flat = np.stack([contrast.ravel() for contrast in contrasts])
    used, parts = flat != 0, together.reshape(flat.shape[1], -1)
    both = flat @ np.nan_to_num(parts)
    both[used @ np.isnan(parts)] = np.nan
    known = 0.0 if before is None else before(contrasts)
    return np.asarray(known + both @ both.T + np.where(used, flat * alone.ravel(), 0.0) @ flat.T)


def replicated_regression(
    fitted: Regression, others: Sequence[FloatArray], replicates: Replicates, *, least: FloatArray
) -> Regression:
    """The same coefficients with the covariance that their replicates give, or ``least`` errors."""
    apart = np.stack(list(others)) - fitted.coefficients
    covariance = replicates.factor(len(apart)) * apart.T @ apart
    return replace(
        fitted,
        covariance=covariance + np.diag(np.fmax(least**2 - np.diag(covariance), 0.0)),
        reach=None,
        from_zero=None,
        degrees=len(apart) - 1,
        why=gettext(
            "{why}; errors by {number} replicate weights ({kind}).",
            why=fitted.basis,
            number=len(apart),
            kind=replicates.kind,
        ),
    )


# -- rounded weights --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ByWeight:
    """Sums by cell and by released weight, on the last axis; each record counts once.

    Attributes:
        weights: The released weights.
        n: The number of records.
        y: The sum of their values.
        yy: The sum of squared values.
    """

    weights: tuple[Label, ...]
    n: FloatArray
    y: FloatArray
    yy: FloatArray

    @classmethod
    def of(cls, reading: Reading, question: Question, of: str | None) -> ByWeight:
        """Of column ``of``, or of 1 for each record; the last column asked for is the weight."""
        if of is None:
            counts = reading.counts(question, method=reading.unbiased, share=False)
            return cls(counts.labels[-1], counts.unbiased, counts.unbiased, counts.unbiased)
        if reading.records.changed([of]):
            return cls._of_randomised(reading, question, of)
        present = Condition(of, ">=", (-sys.float_info.max,))
        totals = [
            reading.values(replace(question, beyond=beyond), of, total=True)
            for beyond in (present, question.beyond)
        ]
        n, y = (total.unbiased for total in totals)
        if question.beyond is not None:
            return cls(totals[0].labels[-1], n, y, y)
        # Squares as if values varied in each cell as they do in all.
        sums = sums_in(reading.records.summed(SumsAsked((), value=of)))
        mean = y.sum() / max(float(n.sum()), 1e-300)
        variance = max(sums["wwyy"].sum() / sums["n"].sum() - mean**2, 0.0)
        centre = (y.sum(axis=-1) / np.maximum(n.sum(axis=-1), 1e-300))[..., None]
        return cls(totals[0].labels[-1], n, y, n * (variance + centre**2))

    @classmethod
    def _of_randomised(cls, reading: Reading, question: Question, of: str) -> ByWeight:
        column, beyond = reading.records.certificate.schema.column(of), question.beyond
        by_value = replace(question, by=(*question.by, of), beyond=None)
        counts = reading.counts(by_value, method=reading.unbiased, share=False)
        gone = (None, *column.codes_for_missing)
        present = np.array([label not in gone for label in column.labels])
        scores = np.array([0.0 if label in gone else float(str(label)) for label in column.labels])
        if beyond is not None:
            limit = number_in(label_text(beyond.values[0]), of)
            scores = np.mean(beyond_scores(column, beyond.comparison, limit), axis=0)
        table = counts.unbiased
        return cls(counts.labels[-2], table @ present, table @ scores, table @ scores**2)

    @property
    def whole(self) -> FloatArray:
        """The sum of the weights of each cell."""
        return np.asarray(self.n @ _numbers(self.weights))


def _numbers(weights: Sequence[Label]) -> FloatArray:
    return np.array([0.0 if weight is None else float(weight) for weight in weights])


Influences = tuple[FloatArray, FloatArray]
"""Sums by cell and released weight of what the weight of a record adds, and of squares of it."""


def influences_on_means(parts: ByWeight, mean: FloatArray) -> Influences:
    """On means, and on shares beyond a number."""
    mean, whole = np.nan_to_num(mean)[..., None], parts.whole[..., None]
    each = np.where(whole > 0, 1 / np.where(whole > 0, whole, 1.0), 0.0)
    squares = parts.yy - 2 * mean * parts.y + mean**2 * parts.n
    return (parts.y - mean * parts.n) * each, squares * each**2


def rounding_errors(
    recoding: Recoding, weights: Sequence[Label], records: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What rounding and capping added to each released weight, which this many ``records`` have.

    The expectation, the variance of what all records with the weight share, and the variance of
    what each has on top of that.
    """
    values, step, top = _numbers(weights), recoding.round or 0.0, recoding.top
    lowest = (values > 0) & np.isclose(values, step)
    mean = np.where(lowest, step / 4, 0.0)
    shared = np.where(values > 0, np.where(lowest, step**2 / 48, step**2 / 108), 0.0)
    alone = np.where(values > 0, np.where(lowest, 1.5**2, 1.0) * step**2 / 12, 0.0)
    at_top = np.isclose(values, top) if top is not None else np.zeros(len(values), dtype=bool)
    share = float(records[at_top].sum() / max(records.sum(), 1.0))
    if top is not None and share > 0:
        order = np.argsort(values)
        middle = np.searchsorted(np.cumsum(records[order]), records.sum() / 2)
        median = float(values[order][middle])
        scale = (top - median) / math.log(0.5 / share) if share < 0.5 and median < top else top
        mean = np.where(at_top, mean - scale, mean)
        shared = np.where(at_top, shared + scale**2 / 4, shared)
        alone = np.where(at_top, alone + scale**2, alone)
    return mean, shared, alone


def with_rounded_weights(
    estimate: Estimate, question: Question, rounded: Rounded, reading: Reading
) -> Estimate:
    """A weighted estimate whose errors include how the weights of the release were rounded."""
    weight = reading.records.certificate.schema.weight
    if weight is None or (weight.recoding.round is None and weight.recoding.top is None):
        return estimate
    recoding, name = weight.recoding, weight.name
    by_weight = replace(
        question.about_records(),
        by=(*question.by, name),
        weighted=False,
        replicates=None,
        simultaneous=False,
        method="auto",
        beyond=rounded.beyond,
    )

    def moved(parts: ByWeight, influences: Influences) -> Moved:
        everyone = replace(by_weight, by=(name,), where=(), beyond=None)
        numbers = ByWeight.of(reading, everyone, None)
        at = dict(zip(numbers.weights, numbers.n.tolist(), strict=True))
        number = np.array([at.get(label, 0.0) for label in parts.weights])
        mean, shared, alone = rounding_errors(recoding, parts.weights, number)
        sums, squares = influences
        shift = (sums @ mean)[..., None]
        together = np.concatenate([sums * np.sqrt(shared), shift], axis=-1)
        return together, np.maximum(squares, 0.0) @ alone

    try:
        if rounded.shares:
            return _rounded_quantiles(estimate, question, rounded, reading, by_weight, moved)
        parts = ByWeight.of(reading, by_weight, rounded.of)
        if parts.n.shape[:-1] != estimate.estimate.shape:
            return estimate  # values of a column without a domain that some weight does not have
        totals = moved(parts, (parts.y, parts.yy))
        together, luck = totals
        if rounded.kind != "total":
            if rounded.kind == "share":  # of all, or within the values of a column
                axes = tuple(at for at in range(parts.n.ndim - 1) if at != rounded.place)
                n = np.broadcast_to(parts.n.sum(axis=axes, keepdims=True), parts.n.shape)
                parts = replace(parts, n=n, y=parts.n, yy=parts.n)
            together, luck = moved(parts, influences_on_means(parts, estimate.unbiased))
    except (NotCovered, TooLarge):
        return estimate
    variance = (together**2).sum(axis=-1) + luck
    wide = question.z(estimate.estimate.size) * np.sqrt(variance)
    # The errors of shares come from those of the counts behind them.
    errors = errors_of_rounded(estimate.together, (together, luck))
    if estimate.together is not None and estimate.together.counts is not None:
        counts = errors_of_rounded(estimate.together.counts, totals)
        errors = errors_of_shares(counts, rounded.place)
    return _widened(estimate, wide, wide, np.sqrt(variance), rounded.bounds, errors)


def errors_of_rounded(together: JointErrors | None, moved: Moved) -> JointErrors | None:
    """Numbers that err together as before and, independently, as weights were rounded."""
    if together is None or together.covariance is None:
        return together
    return replace(together, covariance=partial(_covariance_with, together.covariance, moved))


def _rounded_quantiles(
    estimate: Estimate,
    question: Question,
    rounded: Rounded,
    reading: Reading,
    by_weight: Question,
    moved: Callable[[ByWeight, Influences], Moved],
) -> Estimate:
    """Ends at shares that are farther by the error of the share below a quantile."""
    assert rounded.of is not None  # noqa: S101 - a quantile is one of a column
    shares = np.array(rounded.shares)
    quantiles = np.array(estimate.unbiased).reshape(-1, len(shares))
    known = quantiles[np.isfinite(quantiles)]
    if not len(known):
        return estimate
    places = np.unique(np.quantile(known, np.linspace(0, 1, 64), method="inverted_cdf"))
    nearest = np.abs(np.nan_to_num(quantiles)[..., None] - places).argmin(axis=-1)
    variance = np.zeros(quantiles.shape)
    for at, place in enumerate(places.tolist()):
        below = replace(by_weight, beyond=Condition(rounded.of, "<=", (place,)))
        parts = ByWeight.of(reading, below, rounded.of)
        if parts.n[..., 0].size != len(quantiles):
            return estimate
        for column, share in enumerate(shares):
            mean = np.full(parts.n.shape[:-1], share)
            together, luck = moved(parts, influences_on_means(parts, mean))
            each = ((together**2).sum(axis=-1) + luck).ravel()
            variance[:, column] = np.where(nearest[:, column] == at, each, variance[:, column])
    z = question.z(quantiles.size)
    wide = z * np.sqrt(variance)
    ends = [np.floor((shares - wide) * 1000) / 1000, np.ceil((shares + wide) * 1000) / 1000]
    ends = [np.clip(end, 0.0005, 0.9995) for end in ends]
    asked = tuple(np.unique(np.concatenate([end.ravel() for end in ends])).tolist())
    table = reading.quantile(replace(question, beyond=None), rounded.of, shares=asked)
    curve = np.array(table.unbiased).reshape(len(quantiles), len(asked))
    rows = np.arange(len(quantiles))[:, None]
    low, high = (curve[rows, np.searchsorted(asked, end)] for end in ends)
    down, up = (
        np.maximum(np.nan_to_num(gap), 0).reshape(estimate.unbiased.shape)
        for gap in (quantiles - low, high - quantiles)
    )
    error = (down + up) / (2 * z)
    return _widened(estimate, down, up, error, rounded.bounds, estimate.together)


def _widened(
    estimate: Estimate,
    below: FloatArray,
    above: FloatArray,
    error: FloatArray,
    bounds: tuple[float, float],
    together: JointErrors | None,
) -> Estimate:
    with np.errstate(invalid="ignore"):
        low = estimate.unbiased - np.hypot(estimate.unbiased - estimate.low, below)
        high = estimate.unbiased + np.hypot(estimate.high - estimate.unbiased, above)
    known = np.isfinite(estimate.unbiased)
    return replace(
        estimate,
        se=np.hypot(estimate.se, error),
        low=np.maximum(np.where(known, low, estimate.low), bounds[0]),
        high=np.minimum(np.where(known, high, estimate.high), bounds[1]),
        why=gettext(
            "{why}; errors include that weights were rounded.", why=estimate.why.rstrip(".")
        ),
        together=together,
    )
