"""Combine estimates from several synthetic copies of one release.

The copies are draws of the original records given the release, with the parameters of their model
drawn anew for each. With U the mean of the variances of m fits and B the variance between the
estimates, the variance of the mean estimate is

    T = U + (1 + 1/m) B                                                     [Rubin87]

with Student's t on nu degrees of freedom, corrected for the size of the sample [Barnard99]. Proof,
and why the rule of fully synthetic data does not apply here: docs/proofs/pooling.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from pramana.analysis.estimates import html_table, text_table
from pramana.analysis.regression_results import Coefficients
from pramana.base.rounding import require_number
from pramana.errors import InputError, InvalidNumber
from pramana.types import FloatArray

ROUNDING = 1e-12
"""A smaller share of the variance between copies is rounding error."""


@dataclass(frozen=True, eq=False)
class PooledFit(Coefficients):
    """Estimates combined over synthetic copies.

    Attributes:
        names: One name an estimate.
        coefficients: The mean of the estimates.
        covariance: Of the mean: within the copies, and between them.
        degrees: Degrees of freedom of each estimate.
        copies: The number of copies.
        level: Of the intervals.
    """

    names: tuple[str, ...]
    coefficients: FloatArray = field(repr=False)
    covariance: FloatArray = field(repr=False)
    degrees: FloatArray = field(repr=False)
    copies: int
    level: float = 0.95
    _formats: ClassVar[Mapping[str, str]] = {
        "coef": ".5g",
        "std err": ".5g",
        "t": ".3f",
        "df": ".3g",
        "P>|t|": ".5g",
    }

    @property
    def confidence(self) -> float:
        """The confidence level of the intervals."""
        return self.level

    @property
    def p_value(self) -> FloatArray:
        """Two-sided, of the hypothesis that the coefficient is 0."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.degrees, -np.nan_to_num(np.abs(self.z), nan=0.0)))

    @property
    def _reach(self) -> FloatArray:
        from scipy.special import stdtrit

        return np.tile(stdtrit(self.degrees, (1 + self.level) / 2) * self.se, (2, 1))

    def to_arrow(self) -> pa.Table:
        """One row an estimate."""
        return pa.table({"name": list(self.names)} | self._columns())

    def to_pandas(self) -> Any:
        """One row an estimate, as a pandas data frame with the names as its index."""
        import pandas as pd

        return pd.DataFrame(self._columns(), index=list(self.names))

    def _columns(self) -> dict[str, FloatArray]:
        figures = {"coefficient": self.coefficients, "se": self.se, "t": self.z}
        ends = {"low": self.low, "high": self.high}
        return {**figures, "degrees": self.degrees, "p_value": self.p_value, **ends}

    def __repr__(self) -> str:
        return "\n".join([*text_table(self._rows(), left=1), self._note])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), self._note)

    @property
    def _note(self) -> str:
        return f"{self.copies} synthetic copies; errors include the draws of the model."


def pool(fits: Iterable[Any], *, level: float = 0.95) -> PooledFit:
    """Combine fits of one model to the copies of ``release.synthesize(copies=m)``.

    Args:
        fits: One fit a copy: an object with ``params`` and ``cov_params()`` or ``bse``, as those of
            statsmodels and of ``release.regress``, or a pair of an estimate and its variance (or of
            several estimates and their variances or covariance matrix).
        level: Of the intervals.

    >>> pooled = pool([(1.0, 0.5), (2.0, 0.5), (3.0, 0.5)])
    >>> pooled.coefficients.tolist(), pooled.se.round(4).tolist()
    ([2.0], [1.354])
    """
    require_number("level", level, low=0, high=1)
    read = [_read(fit) for fit in fits]
    if len(read) < 2:
        raise InvalidNumber(f"At least 2 fits are needed, one for each copy, got {len(read)}.")
    names = read[0][0]
    if any(other != names for other, *_ in read):
        raise InputError(
            "All fits must have the same estimates in the same order. A rare category may be "
            "missing in a copy: declare all categories of a column before fitting."
        )
    estimates = np.stack([values for _, values, _, _ in read])
    within = np.mean([covariance for _, _, covariance, _ in read], axis=0)
    deviations, copies = estimates - estimates.mean(axis=0), len(read)
    between = (1 + 1 / copies) * deviations.T @ deviations / (copies - 1)
    complete = min(degrees for *_, degrees in read)
    degrees = _degrees(np.diag(within), np.diag(between), copies, complete)
    return PooledFit(names, estimates.mean(axis=0), within + between, degrees, copies, level)


def _degrees(within: FloatArray, between: FloatArray, copies: int, complete: float) -> FloatArray:
    """Degrees of freedom of each estimate [Barnard99]; ``complete`` are those of one copy."""
    total = within + between
    share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    share = np.where(share > ROUNDING, share, 0.0)  # equal fits differ by rounding alone
    with np.errstate(divide="ignore"):
        by_copies = (copies - 1) / share**2
    if complete == inf:
        return np.asarray(by_copies)
    by_records = (complete + 1) / (complete + 3) * complete * (1 - share)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 / by_copies + 1 / by_records))


def _read(fit: Any) -> tuple[tuple[str, ...], FloatArray, FloatArray, float]:
    """The names, estimates, covariance and residual degrees of freedom of a fit."""
    if hasattr(fit, "params"):
        params = fit.params
        if hasattr(fit, "cov_params"):
            spread = np.asarray(fit.cov_params(), dtype=np.float64)
        else:
            spread = np.asarray(fit.bse, dtype=np.float64) ** 2
    elif isinstance(fit, tuple | list) and len(fit) == 2:
        params, spread = fit[0], np.asarray(fit[1], dtype=np.float64)
    else:
        raise InputError(
            "A fit must have params and cov_params() or bse, or be a pair of an estimate and its "
            f"variance, got {type(fit).__name__}."
        )
    if np.ndim(params) == 2:  # MNLogit of statsmodels has one column a category
        params = params.unstack() if hasattr(params, "unstack") else np.ravel(params, order="F")
    values = np.atleast_1d(np.asarray(params, dtype=np.float64)).ravel()
    if spread.size == values.size:
        spread = np.diag(spread.ravel(order="F"))
    if spread.shape != (values.size, values.size):
        raise InputError(
            f"A fit of {values.size} estimates must have as many variances, or their covariance "
            f"matrix, got {spread.size} numbers."
        )
    if not (
        np.isfinite(values).all() and np.isfinite(spread).all() and (np.diag(spread) >= 0).all()
    ):
        raise InvalidNumber("Estimates must be finite, and variances finite and 0 or more.")
    index = getattr(params, "index", None)
    names = index if index is not None and not callable(index) else range(1, values.size + 1)
    degrees = float(getattr(fit, "df_resid", inf) or inf)
    texts = (": ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names)
    return tuple(texts), values, spread, degrees
