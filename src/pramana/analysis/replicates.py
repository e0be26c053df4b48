"""Errors by replicate weights: what the sample's design leaves open, clusters and strata included.

A survey that was drawn in clusters comes with further columns of weights, each as if a part of the
sample had been left out. An estimate is made once with the weight and once with each of the R
replicates, and its variance is

    scale * sum_r (estimate_r - estimate)^2.                                [Wolter07, ch. 3 and 4]

Records are randomised one by one, so that what a record counts after its matrices were undone is a
measurement with an error of its own: between clusters these errors are independent, and a variance
that compares whole clusters holds them already. Few replicates tell their own spread badly, and it
comes out as nearly 0 now and then: no error is told that is smaller than that of the randomisation
alone, which is known. A number that some replicate does not have, as the mean of a group that lies
in the one cluster left out, has no error by them, and its interval no end.

Weights that were rounded before the release add an error that no weight shows. The original
weights of all records with one released weight w may be denser at either end of its step: with a
density that is linear in the step their mean lies within step / 6 of w. To first order an estimate
errs by the sum over records of the error of the weight times the influence u of the record: 1 on a
count, y on a total, (y - mean) / W on a mean or share of a group of weight W. That is

    sum over released weights of e_w times the sum of u with that weight, + sum of u_i e_i,

with independent e_w of mean 0 and variance step^2 / 108, which all records with a weight share, and
e_i of variance step^2 / 12 for the luck of each. Of a quantile the share below it errs so, and its
ends are where the shares farther down and up lie.
The lowest step takes in all smaller weights: its mean is too high by a number from 0 to step / 2.
At a cut the excess is taken to be exponential with the scale s that the median weight and the share
of records at the cut suggest: it is too low by s, give or take s / 2. Errors state the root mean
square of all this, since nothing tells the difference.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana.analysis.contrasts import Apart, SharesWithin, VaryTogether
from pramana.analysis.estimates import Estimate
from pramana.analysis.numbers import beyond_scores
from pramana.analysis.question import Question, Rounded, students
from pramana.analysis.records import Reading, ReleasedRecords
from pramana.analysis.regression_results import Regression
from pramana.engine.base import Condition, SumsAsked, number_in, sums_in
from pramana.errors import NotCovered, TooLarge
from pramana.schema.domains import Label, label_text
from pramana.schema.recoding import Recoding
from pramana.schema.schema import Replicates
from pramana.types import FloatArray


@dataclass(frozen=True, eq=False)
class ReplicatedTogether(VaryTogether):
    """Numbers of a table vary together as their replicates do, and each by ``more`` on its own."""

    figures: FloatArray
    others: FloatArray
    factor: float
    more: FloatArray

    @property
    def unbiased(self) -> FloatArray:
        """The numbers themselves."""
        return self.figures

    @property
    def degrees(self) -> float:
        """One fewer than the replicates."""
        return len(self.others) - 1.0

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """Of combinations of them."""
        apart = (self.others - self.figures).reshape(len(self.others), -1)
        own = np.stack([contrast.ravel() for contrast in contrasts])
        moved = np.where(own[:, None, :] != 0, own[:, None, :] * apart, 0.0).sum(axis=-1)
        alone = np.where(own != 0, own * self.more.ravel(), 0.0) @ own.T
        return np.asarray(self.factor * moved @ moved.T + alone, dtype=np.float64)


def replicated_estimate(
    found: Estimate,
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
    assert found.unbiased is not None  # noqa: S101 - for the type checker
    figures, drawn = found.unbiased, np.stack(list(others))
    factor = replicates.factor(len(drawn))
    spread = factor * ((drawn - figures) ** 2).sum(axis=0)
    more = np.fmax(least**2 - spread, 0.0)
    se = np.sqrt(spread + more)
    wide = students(question.z(figures.size), len(drawn) - 1) * se
    told = np.isfinite(figures) & np.isfinite(wide)
    low, high = np.where(told, figures - wide, -np.inf), np.where(told, figures + wide, np.inf)
    low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    return replace(
        found,
        se=se,
        low=np.fmin(low, found.estimate),
        high=np.fmax(high, found.estimate),
        why=f"{found.why.rstrip('.')}; errors by {len(drawn)} replicate weights "
        f"({replicates.kind}).",
        together=ReplicatedTogether(figures, drawn, factor, more),
    )


@dataclass(frozen=True, eq=False)
class ByWeight:
    """Sums by cell and by released weight, on the last axis; each record counts once.

    Attributes:
        weights: The released weights.
        n: The number of records.
        y: The sum of their values.
        yy: The sum of the squares of these, or about that.
    """

    weights: tuple[Label, ...]
    n: FloatArray
    y: FloatArray
    yy: FloatArray

    @classmethod
    def of(
        cls, reading: Reading, records: ReleasedRecords, question: Question, of: str | None
    ) -> ByWeight:
        """Of column ``of``, or of 1 for each record; the last column asked for is the weight."""
        if of is None:
            counts = reading.counts(question, method=reading.unbiased, share=False)
            n = np.asarray(counts.unbiased)
            return cls(counts.labels[-1], n, n, n)
        if records.changed([of]):
            return cls._of_randomised(reading, records, question, of)
        there = Condition(of, ">=", (-sys.float_info.max,))
        found = [
            reading.values(replace(question, beyond=beyond), of, total=True)
            for beyond in (there, question.beyond)
        ]
        n, y = (np.asarray(own.unbiased) for own in found)
        if question.beyond is not None:
            return cls(found[0].labels[-1], n, y, y)
        sums = sums_in(records.summed(SumsAsked((), value=of)))
        return cls(found[0].labels[-1], n, y, _squares(n, y, sums["wwyy"].sum() / sums["n"].sum()))

    @classmethod
    def _of_randomised(
        cls, reading: Reading, records: ReleasedRecords, question: Question, of: str
    ) -> ByWeight:
        column, beyond = records.certificate.schema.column(of), question.beyond
        asked = replace(question, by=(*question.by, of), beyond=None)
        counts = reading.counts(asked, method=reading.unbiased, share=False)
        gone = (None, *column.codes_for_missing)
        there = np.array([label not in gone for label in column.labels])
        pairs = zip(column.labels, there, strict=True)
        scores = np.array([float(str(label)) if told else 0.0 for label, told in pairs])
        if beyond is not None:
            limit = number_in(label_text(beyond.values[0]), of)
            scores = np.mean(beyond_scores(column, beyond.comparison, limit), axis=0)
        table = np.asarray(counts.unbiased)
        return cls(counts.labels[-2], table @ there, table @ scores, table @ scores**2)

    @property
    def whole(self) -> FloatArray:
        """The sum of the weights of each cell."""
        return np.asarray(self.n @ _numbers(self.weights))


def _squares(n: FloatArray, y: FloatArray, square: float) -> FloatArray:
    """Sums of squares by cell, as if values varied in each as they do in all."""
    people = np.maximum(n, 1e-300)
    mean = y.sum() / max(float(n.sum()), 1e-300)
    centre = (y.sum(axis=-1) / np.maximum(n.sum(axis=-1), 1e-300))[..., None] + 0 * people
    return np.asarray(n * (max(square - mean**2, 0.0) + centre**2))


def _numbers(weights: Sequence[Label]) -> FloatArray:
    return np.array([0.0 if weight is None else float(weight) for weight in weights])


@dataclass(frozen=True, eq=False)
class RecordInfluences:
    """What the weight of a record adds to an estimate.

    Attributes:
        sums: By cell, and by released weight on the last axis.
        squares: The sums of their squares.
    """

    sums: FloatArray
    squares: FloatArray

    @classmethod
    def of_total(cls, parts: ByWeight) -> RecordInfluences:
        """On counts and totals: the values themselves."""
        return cls(parts.y, parts.yy)

    @classmethod
    def of_mean(cls, parts: ByWeight, mean: FloatArray) -> RecordInfluences:
        """On means, and on shares beyond a number."""
        mean, whole = np.nan_to_num(mean)[..., None], parts.whole[..., None]
        each = np.where(whole > 0, 1 / np.where(whole > 0, whole, 1.0), 0.0)
        squares = parts.yy - 2 * mean * parts.y + mean**2 * parts.n
        return cls((parts.y - mean * parts.n) * each, squares * each**2)

    @classmethod
    def of_share(cls, parts: ByWeight, share: FloatArray, place: int | None) -> RecordInfluences:
        """On shares of counts, of all or within the values of the column at ``place``."""
        share = np.nan_to_num(share)[..., None]
        axes = tuple(at for at in range(parts.n.ndim - 1) if at != place)
        n = np.broadcast_to(parts.n.sum(axis=axes, keepdims=True), parts.n.shape)
        whole = (n @ _numbers(parts.weights))[..., None]
        each = np.where(whole > 0, 1 / np.where(whole > 0, whole, 1.0), 0.0)
        squares = parts.n * (1 - 2 * share) + share**2 * n
        return cls((parts.n - share * n) * each, squares * each**2)


@dataclass(frozen=True, eq=False)
class RoundingErrors:
    """What rounding and cutting added to each released weight.

    Attributes:
        mean: Expected.
        shared: The variance of what all records with the weight share.
        alone: The variance of what each has on top of that.
    """

    mean: FloatArray
    shared: FloatArray
    alone: FloatArray

    @classmethod
    def of(
        cls, recoding: Recoding, weights: Sequence[Label], records: FloatArray
    ) -> RoundingErrors:
        """Of weights that so many ``records`` have each."""
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
        return cls(mean, shared, alone)

    def moved(self, influences: RecordInfluences) -> tuple[FloatArray, FloatArray]:
        """Of estimates, what weights move together (last axis), and the variance of luck."""
        parts = influences.sums * np.sqrt(self.shared)
        together = np.concatenate([parts, (influences.sums @ self.mean)[..., None]], axis=-1)
        return together, np.maximum(influences.squares, 0.0) @ self.alone


def rounded_estimate(
    found: Estimate,
    influences: RecordInfluences,
    errors: RoundingErrors,
    question: Question,
    *,
    counts: RecordInfluences,
    bounds: tuple[float, float],
) -> Estimate:
    """A weighted estimate whose errors include how the weights were rounded.

    Args:
        found: The estimate.
        influences: Of each record on it.
        errors: Of the weights.
        question: What the intervals mean.
        counts: Influences on the counts behind shares.
        bounds: Of the quantity.
    """
    assert found.unbiased is not None  # noqa: S101 - for the type checker
    moved, luck = errors.moved(influences)
    variance = (moved**2).sum(axis=-1) + luck
    wide = question.z(found.estimate.size) * np.sqrt(variance)
    together = found.together
    if isinstance(together, SharesWithin):
        below = RoundedTogether(together.counts, *errors.moved(counts))
        together = replace(together, counts=below)
    elif together is not None and not isinstance(together, Apart):
        together = RoundedTogether(together, moved, luck)
    return _widened(found, wide, wide, np.sqrt(variance), bounds, together)


MOST_PLACES = 64
"""Quantiles of more groups are taken together by about these values."""


def with_rounded_weights(
    found: Estimate,
    question: Question,
    rounded: Rounded,
    reading: Reading,
    records: ReleasedRecords,
    *,
    bounds: tuple[float, float],
) -> Estimate:
    """A weighted estimate whose errors include how the weights of the release were rounded."""
    weight = records.certificate.schema.weight
    if weight is None or (weight.recoding.round is None and weight.recoding.top is None):
        return found
    asked = replace(
        question.about_records(),
        by=(*question.by, weight.name),
        weighted=False,
        replicates=None,
        simultaneous=False,
        method="auto",
        beyond=rounded.beyond,
    )

    def errors_of(parts: ByWeight) -> RoundingErrors:
        all_of = replace(asked, by=(weight.name,), where=(), beyond=None)
        numbers = ByWeight.of(reading, records, all_of, None)
        at = dict(zip(numbers.weights, numbers.n.tolist(), strict=True))
        number = np.array([at.get(label, 0.0) for label in parts.weights])
        return RoundingErrors.of(weight.recoding, parts.weights, number)

    assert found.unbiased is not None  # noqa: S101 - for the type checker
    try:
        if rounded.shares and rounded.of is not None:
            return _rounded_quantiles(found, question, rounded, reading, records, asked, errors_of)
        parts = ByWeight.of(reading, records, asked, rounded.of)
        if parts.n.shape[:-1] != found.estimate.shape:
            return found  # values of a column without a domain that some weight does not have
        errors = errors_of(parts)
    except (NotCovered, TooLarge):
        return found
    influences = counts = RecordInfluences.of_total(parts)
    if rounded.kind == "mean":
        influences = RecordInfluences.of_mean(parts, found.unbiased)
    elif rounded.kind == "share":
        influences = RecordInfluences.of_share(parts, found.unbiased, rounded.place)
    if found.what == "count":
        bounds = (0.0, np.inf)
    return rounded_estimate(found, influences, errors, question, counts=counts, bounds=bounds)


def _rounded_quantiles(
    found: Estimate,
    question: Question,
    rounded: Rounded,
    reading: Reading,
    records: ReleasedRecords,
    asked: Question,
    errors_of: Callable[[ByWeight], RoundingErrors],
) -> Estimate:
    """Ends where the shares lie that are farther by the error of the share below a quantile."""
    assert found.unbiased is not None and rounded.of is not None  # noqa: S101, PT018
    quantiles = np.array(found.unbiased).reshape(-1, len(rounded.shares))
    told = quantiles[np.isfinite(quantiles)]
    if not len(told):
        return found
    places = np.unique(np.quantile(told, np.linspace(0, 1, MOST_PLACES), method="inverted_cdf"))
    nearest = np.abs(np.nan_to_num(quantiles)[..., None] - places).argmin(axis=-1)
    variance = np.zeros(quantiles.shape)
    for at, place in enumerate(places.tolist()):
        below = replace(asked, beyond=Condition(rounded.of, "<=", (place,)))
        parts = ByWeight.of(reading, records, below, rounded.of)
        if parts.n[..., 0].size != len(quantiles):
            return found
        errors = errors_of(parts)
        for own, share in enumerate(rounded.shares):
            mean = np.full(parts.n.shape[:-1], share)
            moved, luck = errors.moved(RecordInfluences.of_mean(parts, mean))
            each = ((moved**2).sum(axis=-1) + luck).ravel()
            variance[:, own] = np.where(nearest[:, own] == at, each, variance[:, own])
    z = question.z(quantiles.size)
    wide = z * np.sqrt(variance)
    ends = [np.floor((np.array(rounded.shares) - wide) * 1000) / 1000,
            np.ceil((np.array(rounded.shares) + wide) * 1000) / 1000]  # fmt: skip
    ends = [np.clip(end, 0.0005, 0.9995) for end in ends]
    shares = tuple(np.unique(np.concatenate([end.ravel() for end in ends])).tolist())
    table = reading.quantile(replace(question, beyond=None), rounded.of, shares=shares)
    curve = np.array(table.unbiased).reshape(len(quantiles), len(shares))
    rows = np.arange(len(quantiles))[:, None]
    low, high = (curve[rows, np.searchsorted(shares, end)] for end in ends)
    shape = found.unbiased.shape
    apart = [np.maximum(np.nan_to_num(own), 0).reshape(shape)
             for own in (quantiles - low, high - quantiles)]  # fmt: skip
    error = (apart[0] + apart[1]) / (2 * z)
    return _widened(found, apart[0], apart[1], error, (-np.inf, np.inf), found.together)


def _widened(
    found: Estimate,
    below: FloatArray,
    above: FloatArray,
    error: FloatArray,
    bounds: tuple[float, float],
    together: VaryTogether | Apart | None,
) -> Estimate:
    assert found.unbiased is not None  # noqa: S101 - for the type checker
    with np.errstate(invalid="ignore"):
        low = found.unbiased - np.hypot(found.unbiased - found.low, below)
        high = found.unbiased + np.hypot(found.high - found.unbiased, above)
    told = np.isfinite(found.unbiased)
    low, high = np.where(told, low, found.low), np.where(told, high, found.high)
    return replace(
        found,
        se=np.hypot(found.se, error),
        low=np.maximum(low, bounds[0]),
        high=np.minimum(high, bounds[1]),
        why=f"{found.why.rstrip('.')}; errors include that weights were rounded.",
        together=together,
    )


@dataclass(frozen=True, eq=False)
class RoundedTogether(VaryTogether):
    """Numbers that vary as ``together`` says and, beside that, as weights were rounded alike."""

    together: VaryTogether
    parts: FloatArray
    luck: FloatArray

    @property
    def unbiased(self) -> FloatArray:
        """The numbers themselves."""
        return self.together.unbiased

    @property
    def record(self) -> FloatArray:
        """What a single record changes."""
        return self.together.record

    @property
    def degrees(self) -> float:
        """Those of the covariance."""
        return self.together.degrees

    def unseen(self, z: float) -> tuple[FloatArray, FloatArray]:
        """What few records tell of."""
        return self.together.unseen(z)

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """With what one rounded weight does to all cells at once."""
        flat = np.stack([contrast.ravel() for contrast in contrasts])
        moved = flat @ self.parts.reshape(flat.shape[1], -1)
        found = self.together.covariance(contrasts) + moved @ moved.T
        return np.asarray(found + (flat * self.luck.ravel()) @ flat.T, dtype=np.float64)


def replicated_regression(
    found: Regression, others: Sequence[FloatArray], replicates: Replicates, *, least: FloatArray
) -> Regression:
    """The same coefficients with the covariance that their replicates give, or ``least`` errors."""
    apart = np.stack(list(others)) - found.coefficients
    covariance = replicates.factor(len(apart)) * apart.T @ apart
    return replace(
        found,
        covariance=covariance + np.diag(np.fmax(least**2 - np.diag(covariance), 0.0)),
        reach=None,
        from_zero=None,
        degrees=len(apart) - 1,
        why=f"{found.basis}; errors by {len(apart)} replicate weights ({replicates.kind}).",
    )
