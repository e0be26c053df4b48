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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pramana.analysis.estimates import Estimate
from pramana.analysis.question import Question, students
from pramana.analysis.regression_results import Regression
from pramana.schema.replicates import Replicates
from pramana.types import FloatArray


@dataclass(frozen=True, eq=False)
class ReplicatedTogether:
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
    def record(self) -> FloatArray:
        """Replicates tell of the luck of a sample, which is no matter of single records."""
        return np.zeros_like(self.figures)

    @property
    def degrees(self) -> float:
        """One fewer than the replicates."""
        return len(self.others) - 1.0

    def unseen(self, z: float) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Nor is who is not seen."""
        return np.zeros_like(self.figures), np.zeros_like(self.figures)

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
