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
density that is linear in the step their mean lies within step / 6 of w. The error of a total is

    sum over released weights of e_w times the records (or sum of values) with that weight,

with independent e_w of mean 0 and variance step^2 / 108, and step^2 / 12 for the luck of a record.
The lowest step takes in all smaller weights: its mean is too high by a number from 0 to step / 2.
At a cut the excess is taken to be exponential with the scale s that the median weight and the share
of records at the cut suggest: it is too low by s, give or take s / 2. Errors state the root mean
square of all this, since nothing tells the difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana.analysis.contrasts import Apart, VaryTogether
from pramana.analysis.estimates import Estimate
from pramana.analysis.question import Question, students
from pramana.analysis.regression_results import Regression
from pramana.schema.domains import Label
from pramana.schema.recoding import Recoding
from pramana.schema.replicates import Replicates
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


def rounding_errors(
    recoding: Recoding, weights: Sequence[Label], records: FloatArray
) -> FloatArray:
    """Mean and variance of what rounding and cutting added to each released weight: two rows.

    ``records`` is how many records have each weight.
    """
    values = np.array([0.0 if weight is None else float(weight) for weight in weights])
    step, top, number = recoding.round or 0.0, recoding.top, np.maximum(records, 1.0)
    lowest = (values > 0) & np.isclose(values, step)
    mean = np.where(lowest, step / 4, 0.0)
    variance = np.where(lowest, step**2 / 48, step**2 / 108) + step**2 / 12 / number
    variance = np.where(values > 0, variance, 0.0)
    at_top = np.isclose(values, top) if top is not None else np.zeros(len(values), dtype=bool)
    share = float(records[at_top].sum() / max(records.sum(), 1.0))
    if top is not None and share > 0:
        order = np.argsort(values)
        middle = np.searchsorted(np.cumsum(records[order]), records.sum() / 2)
        median = float(values[order][middle])
        scale = (top - median) / math.log(0.5 / share) if share < 0.5 and median < top else top
        mean = np.where(at_top, mean - scale, mean)
        variance = np.where(at_top, variance + scale**2 * (1 / 4 + 1 / number), variance)
    return np.stack([mean, variance])


def rounded_estimate(
    found: Estimate, parts: FloatArray, errors: FloatArray, question: Question
) -> Estimate:
    """A weighted count or total whose errors include how the weights were rounded.

    Args:
        found: The estimate.
        parts: Of each cell the records (or the sum of values) at each released weight, on the last
            axis.
        errors: Mean and variance of ``rounding_errors``.
        question: What the intervals mean.
    """
    assert found.unbiased is not None  # noqa: S101 - for the type checker
    mean, variances = errors
    moved = np.concatenate([parts * np.sqrt(variances), (parts @ mean)[..., None]], axis=-1)
    variance = (moved**2).sum(axis=-1)
    wide = question.z(found.estimate.size) * np.sqrt(variance)
    low = found.unbiased - np.hypot(found.unbiased - found.low, wide)
    high = found.unbiased + np.hypot(found.high - found.unbiased, wide)
    together = found.together
    if together is not None and not isinstance(together, Apart):
        together = RoundedTogether(together, moved)
    return replace(
        found,
        se=np.hypot(found.se, np.sqrt(variance)),
        low=np.maximum(low, 0.0) if found.what == "count" else low,
        high=high,
        why=f"{found.why.rstrip('.')}; errors include that weights were rounded.",
        together=together,
    )


@dataclass(frozen=True, eq=False)
class RoundedTogether(VaryTogether):
    """Numbers that vary as ``together`` says and, beside that, as weights were rounded alike."""

    together: VaryTogether
    parts: FloatArray

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
        return np.asarray(self.together.covariance(contrasts) + moved @ moved.T, dtype=np.float64)


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
