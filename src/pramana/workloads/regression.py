"""Regressions that are a sum of functions of one variable each [Wei, Sec. 4.4].

``dummy`` lets each function be anything (one coefficient a level), ``numeric`` makes it a line.
Least squares needs no more of the data than the number of records and the total of the response in
each cell, so that a model can be fitted on records or on the *estimated* tables of a randomised
release: the estimated counts and totals are unbiased, and with them the normal equations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidNumber, InvalidTable, OutsideDomain
from pramana.types import FloatArray
from pramana.workloads.cells import Coding, as_weights
from pramana.workloads.features import Form, features

if TYPE_CHECKING:
    from pramana.estimation.results import Estimate

__all__ = [
    "AdditiveModel",
    "fit_additive",
    "fit_cells",
    "fit_release",
    "r_squared",
    "relative_bias",
]


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A constant, and a function of each variable.

    Attributes:
        coding: the variables and their levels.
        form: ``dummy`` or ``numeric``.
        coefficients: the constant first.
    """

    coding: Coding
    form: Form
    coefficients: FloatArray = field(repr=False)

    def at_cells(self, cells: ArrayLike) -> FloatArray:
        """The predicted response of cells, by their numbers."""
        values: FloatArray = _design(self.coding, cells, self.form) @ self.coefficients
        return values

    def predict(self, records: Any) -> FloatArray:
        """The predicted response of each record."""
        cells = self.coding.cells(records)
        unknown = int((cells < 0).sum())
        if unknown:
            raise OutsideDomain(
                f"{unknown:,} of {cells.size:,} records hold levels that the model never saw. "
                "Merge levels, or fit on a table that has them all."
            )
        occupied, where = np.unique(cells, return_inverse=True)
        return self.at_cells(occupied)[where.ravel()]


class _Release(Protocol):
    """What a release must answer."""

    def crosstab(self, *by: str, **how: Any) -> Estimate: ...

    def total(self, of: str, *, by: Any = (), **how: Any) -> Estimate: ...


def fit_additive(
    records: Any,
    response: ArrayLike,
    *,
    form: Form = "dummy",
    sample_weight: ArrayLike | None = None,
    coding: Coding | None = None,
) -> AdditiveModel:
    """Weighted least squares on records.

    Args:
        records: the predictors, each with few levels.
        response: one number a record.
        form: ``dummy`` or ``numeric``.
        sample_weight: one weight a record, such as those of ``cell_weights``.
        coding: the levels, where more can occur than do here.
    """
    coding = Coding.of(records) if coding is None else coding
    cells = coding.cells(records)
    y = np.asarray(response, dtype=np.float64)
    if y.shape != cells.shape or not np.isfinite(y).all():
        raise InvalidNumber(f"The response must be one finite number a record: {cells.size}.")
    weight = as_weights(sample_weight, cells.size)
    occupied, where = np.unique(cells, return_inverse=True)
    counts = np.bincount(where.ravel(), weight, occupied.size)
    totals = np.bincount(where.ravel(), weight * y, occupied.size)
    return fit_cells(coding, occupied, counts, totals, form=form)


def fit_cells(
    coding: Coding, cells: ArrayLike, counts: ArrayLike, totals: ArrayLike, *, form: Form = "dummy"
) -> AdditiveModel:
    """Least squares from the weight and the weighted total of the response in each cell.

    Estimated counts may be negative; the normal equations are unbiased all the same. Directions
    that the cells leave open (a level that does not occur) get coefficient zero.
    """
    x = _design(coding, cells, form)
    n, t = np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    size = np.sqrt(x.T**2 @ np.abs(n))
    scale = np.where(size > 0, size, 1.0)  # one unit for all terms that occur
    gram = (x.T * n) @ x / scale[:, None] / scale
    solution = np.linalg.lstsq(gram, x.T @ t / scale, rcond=1e-10)[0] / scale
    return AdditiveModel(coding, form, solution)


def fit_release(
    release: _Release,
    response: str,
    *,
    by: tuple[str, ...] | list[str],
    form: Form = "dummy",
    cell_weight: ArrayLike | None = None,
) -> AdditiveModel:
    """The same model from a randomised release: from its estimated counts and totals.

    Args:
        release: a release that ``load`` or ``protect`` gave.
        response: a column of numbers that was released as it is.
        by: the predictors, randomised or not.
        form: ``dummy`` or ``numeric``.
        cell_weight: w(x) of each cell, in the order of ``release.crosstab(*by)``.
    """
    counts = release.crosstab(*by, method="inverse")
    totals = release.total(response, by=list(by))
    if counts.labels != totals.labels:
        raise InvalidTable("Counts and totals must be of the same cells, and are not.")
    coding = Coding.of_estimate(counts)
    n, t = counts.estimate.ravel(), totals.estimate.ravel()
    w = np.ones(n.size) if cell_weight is None else np.asarray(cell_weight, np.float64).ravel()
    if w.shape != n.shape:
        raise InvalidNumber(f"cell_weight must be one number a cell: {n.size}, got {w.size}.")
    return fit_cells(coding, np.arange(coding.size), w * n, w * t, form=form)


def relative_bias(
    predicted: ArrayLike, truth: ArrayLike, *, weight: ArrayLike | None = None
) -> float:
    """How far the mean prediction is off the true mean, as a share of it.

    >>> round(relative_bias([11.0, 11.0], [8.0, 12.0]), 12)
    0.1
    """
    guess, real = np.asarray(predicted, np.float64), np.asarray(truth, np.float64)
    w = as_weights(weight, real.size)
    mean = float((w * real).sum())
    if mean == 0:
        raise InvalidNumber("A bias relative to a mean of 0 does not exist.")
    return float((w * guess).sum()) / mean - 1


def r_squared(predicted: ArrayLike, truth: ArrayLike, *, weight: ArrayLike | None = None) -> float:
    """The share of the variance that a prediction explains; below 0 if the mean does better.

    >>> r_squared([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    guess, real = np.asarray(predicted, np.float64), np.asarray(truth, np.float64)
    w = as_weights(weight, real.size)
    centre = float((w * real).sum() / w.sum())
    spread = float((w * np.square(real - centre)).sum())
    if spread == 0:
        raise InvalidNumber("R squared needs a response that varies.")
    return 1 - float((w * np.square(real - guess)).sum()) / spread


def _design(coding: Coding, cells: ArrayLike, form: Form) -> FloatArray:
    numbers = np.asarray(cells)
    return np.concatenate(
        [np.ones((numbers.size, 1)), features(coding, numbers, form=form)], axis=1
    )
