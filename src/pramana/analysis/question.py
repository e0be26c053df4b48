"""The question that an analyst asks of a release, and the quantiles of its intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from pramana.base.rounding import require_choice, require_number
from pramana.engine.choose import Condition
from pramana.errors import InputError, InvalidNumber
from pramana.schema.replicates import Replicates

Inference = Literal["records", "population"]
"""About these records (randomisation only), or about the population that they were drawn from."""


@dataclass(frozen=True)
class Question:
    """Which table is estimated, from which records, and what its intervals mean.

    Attributes:
        by: The columns of the table.
        where: Which records, by their original values.
        level: The probability with which an interval holds.
        infer: ``records`` or ``population``.
        simultaneous: Whether all intervals of a table hold together with that probability.
        weighted: Whether the weights of the release are used, where it has any.
        replicates: Columns of replicate weights for errors about the population.
        beyond: Replaces the values of a column by whether they lie beyond a number.
    """

    by: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    level: float = 0.95
    infer: Inference = "records"
    simultaneous: bool = False
    weighted: bool = True
    replicates: Replicates | None = None
    beyond: Condition | None = None

    def __post_init__(self) -> None:
        require_number("level", self.level, low=0, high=1, low_open=True, high_open=True)
        require_choice("infer", self.infer, ("records", "population"))
        if not all(isinstance(name, str) for name in self.by):
            raise InputError("Columns are asked for by their names, as in crosstab('sex', 'age').")
        if len(set(self.by)) < len(self.by):
            raise InvalidNumber("Each column must be asked for once.")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of the table and of the filter."""
        return (*self.by, *(condition.column for condition in self.where))

    def about_records(self) -> Question:
        """Return the same question about these records alone."""
        return replace(self, infer="records")

    def z(self, numbers: int, *, misses: float = 1.0) -> float:
        """The Normal quantile, for a table of so many numbers; ``misses`` scales 1 - level."""
        level = max(1 - misses * (1 - self.level), 1e-6)
        return quantile(level, numbers=numbers if self.simultaneous else 1)


USUAL = Question()
"""Intervals at 95 % about these records, each for itself."""


def quantile(level: float, *, numbers: int = 1) -> float:
    """The Normal quantile of a two-sided interval, for one number or for many at once.

    Many at once: all ``numbers`` intervals hold together with probability ``level`` or more,
    whatever the correlation of the estimates [Sidak].

    >>> round(quantile(0.95), 3), round(quantile(0.95, numbers=10), 3)
    (1.96, 2.8)
    """
    require_number("level", level, low=0, high=1, low_open=True, high_open=True)
    from statistics import NormalDist

    each = level ** (1 / max(numbers, 1))
    return NormalDist().inv_cdf((1 + each) / 2)


def students(z: float, degrees: float) -> float:
    """Student's quantile at the same probability: few replicates know their own spread less well.

    >>> round(students(quantile(0.95), 19), 3), round(students(quantile(0.95), math.inf), 3)
    (2.093, 1.96)
    """
    from statistics import NormalDist

    from scipy.special import stdtrit

    return z if math.isinf(degrees) else float(stdtrit(degrees, NormalDist().cdf(z)))
