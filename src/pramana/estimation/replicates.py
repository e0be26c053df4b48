"""Errors by replicate weights: what the sample's design leaves open, clusters and strata included.

A survey that was drawn in clusters comes with further columns of weights, each as if a part of the
sample had been left out. An estimate is made once with the weight and once with each of the R
replicates, and its variance is

    scale * sum_r (estimate_r - estimate)^2.                                [Wolter07, ch. 3 and 4]

Records are randomised one by one, so that what a record counts after its matrices were undone is a
measurement with an error of its own: between clusters these errors are independent, and a variance
that compares whole clusters holds them already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, TypeAlias, get_args

import numpy as np

from pramana.errors import InvalidNumber, UnknownColumn
from pramana.estimation.regression_results import Regression
from pramana.estimation.results import Estimate
from pramana.estimation.variance import Question
from pramana.numeric import require_number
from pramana.types import FloatArray

__all__ = ["Replicates", "Replication", "replicated_estimate", "replicated_regression"]

Replication: TypeAlias = Literal["brr", "fay", "jackknife", "bootstrap", "sdr"]
"""Balanced half-samples, Fay's form of them, jackknife, bootstrap, successive differences (ACS)."""


@dataclass(frozen=True)
class Replicates:
    """Columns of replicate weights, and how they make a variance.

    >>> Replicates("PWGTP*", kind="sdr").columns_in(["PWGTP", "PWGTP1", "PWGTP10", "PWGTP2"])
    ('PWGTP1', 'PWGTP2', 'PWGTP10')

    Attributes:
        columns: their names, or one name with a star for the numbers at its end.
        kind: ``brr``, ``fay``, ``jackknife`` (one cluster left out at a time), ``bootstrap``, or
            ``sdr``: successive differences, as in the American Community Survey.
        fay: for ``fay``: how much of its weight a half-sample that is left out keeps.
        scale: what the sum of squares is multiplied by, where it is none of these.
    """

    columns: str | tuple[str, ...]
    kind: Replication = "brr"
    fay: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, str):
            object.__setattr__(self, "columns", tuple(self.columns))
        if self.kind not in get_args(Replication):
            names = ", ".join(get_args(Replication))
            raise InvalidNumber(f"kind of replicates must be one of {names}, got {self.kind!r}.")
        if (self.kind == "fay") != (self.fay is not None):
            raise InvalidNumber("fay is stated for kind fay, and for no other.")
        if self.fay is not None:
            require_number("fay", self.fay, low=0, high=1, high_open=True)
        if self.scale is not None:
            require_number("scale", self.scale, low=0, low_open=True, high=np.inf, high_open=True)

    def columns_in(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns among those of a release; at least two."""
        found = self.columns
        if isinstance(found, str) and found.endswith("*"):
            ends = {name: re.fullmatch(re.escape(found[:-1]) + r"(\d+)", name) for name in names}
            numbers = {name: int(end.group(1)) for name, end in ends.items() if end is not None}
            found = tuple(sorted(numbers, key=lambda name: numbers[name]))
        found = (found,) if isinstance(found, str) else found
        lacking = [name for name in found if name not in names]
        if lacking or len(found) < 2:
            raise UnknownColumn(
                f"Replicate weights must be two or more columns of the release; {len(found)} are "
                f"named, and {len(lacking)} of them are not there."
            )
        return found

    def factor(self, number: int) -> float:
        """What the sum of squares over so many replicates is multiplied by."""
        if self.scale is not None:
            return self.scale
        if self.kind == "jackknife":
            return (number - 1) / number
        if self.kind == "sdr":
            return 4 / number
        return 1 / (number * (1 - (self.fay or 0.0)) ** 2)


@dataclass(frozen=True, eq=False)
class ReplicatedTogether:
    """Numbers of a table vary together as their replicates do."""

    figures: FloatArray
    others: FloatArray
    factor: float

    @property
    def unbiased(self) -> FloatArray:
        """The numbers themselves."""
        return self.figures

    def covariance(self, contrasts: Sequence[FloatArray]) -> FloatArray:
        """Of combinations of them."""
        apart = (self.others - self.figures).reshape(len(self.others), -1)
        own = np.stack([contrast.ravel() for contrast in contrasts])
        moved = np.where(own[:, None, :] != 0, own[:, None, :] * apart, 0.0).sum(axis=-1)
        return np.asarray(self.factor * moved @ moved.T, dtype=np.float64)


def replicated_estimate(
    found: Estimate, others: Sequence[FloatArray], replicates: Replicates, question: Question
) -> Estimate:
    """The same numbers with the errors that their replicates give."""
    assert found.unbiased is not None  # noqa: S101 - for the type checker
    figures, drawn = found.unbiased, np.stack(list(others))
    factor = replicates.factor(len(drawn))
    se = np.sqrt(factor * ((drawn - figures) ** 2).sum(axis=0))
    wide = _quantile(question.z(figures.size), len(drawn) - 1) * se
    low, high = figures - wide, figures + wide
    whole = found.what.split(" ")[0] in ("count", "share")
    if whole:
        low = np.maximum(low, 0.0)
    if found.what.startswith("share"):
        high = np.minimum(high, 1.0)
    return replace(
        found,
        se=se,
        low=np.fmin(low, found.estimate),
        high=np.fmax(high, found.estimate),
        why=f"{found.why.rstrip('.')}; errors by {len(drawn)} replicate weights "
        f"({replicates.kind}).",
        together=ReplicatedTogether(figures, drawn, factor),
        misses=1.0,
    )


def replicated_regression(
    found: Regression, others: Sequence[FloatArray], replicates: Replicates
) -> Regression:
    """The same coefficients with the covariance that their replicates give."""
    apart = np.stack(list(others)) - found.coefficients
    return replace(
        found,
        covariance=replicates.factor(len(apart)) * apart.T @ apart,
        why=f"{found.why.rstrip('.').split('; robust')[0]}; errors by {len(apart)} replicate "
        f"weights ({replicates.kind}).",
    )


def _quantile(z: float, degrees: int) -> float:
    """Student's, at the same probability: few replicates know their own spread less well."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, NormalDist().cdf(z)))
