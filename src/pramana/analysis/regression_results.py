"""What a regression is: coefficients by name with their errors, and how they came about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import erfc, inf, isfinite, sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.analysis.estimates import frame_of, html_table, text_table
from pramana.analysis.independence import chi_square_tail
from pramana.analysis.question import Question, students
from pramana.analysis.regression import Family
from pramana.errors import NotCovered, UnknownColumn, harmless
from pramana.types import FloatArray, Form, TableLike

HEADS = ("coefficient", "se", "z", "p_value", "low", "high")


@dataclass(frozen=True)
class JointTest:
    """Whether several coefficients are all 0, by Wald's statistic."""

    names: tuple[str, ...]
    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a model of the truth.

    Attributes:
        formula: What was asked.
        family: ``linear``, ``logistic`` or ``poisson``.
        names: One name a coefficient.
        coefficients: One number each.
        covariance: Of the coefficients, the randomisation included.
        reach: How far the interval of each goes below and above it; not given, as far as the
            quantile times its standard error.
        from_zero: By how many standard errors the test of which the interval has the ends finds
            each off 0; not given, as many as ``z``.
        degrees: Degrees of freedom of the covariance, where replicate weights told it.
        question: What the intervals mean.
        records: The number of released records behind them.
        why: One sentence on what makes them right, with their errors.
        basis: The same without the errors.
        weight: The column by which records are weighted, if they are.
        like: A data frame of the kind that ``to_frame`` gives.
        predictor: Gives the expected response of records by the coefficients.
    """

    formula: str
    family: Family
    names: tuple[str, ...]
    coefficients: FloatArray = field(repr=False)
    covariance: FloatArray = field(repr=False)
    question: Question
    records: int
    why: str
    weight: str | None = None
    like: Any = field(default=None, repr=False)
    reach: FloatArray | None = field(default=None, repr=False)
    from_zero: FloatArray | None = field(default=None, repr=False)
    degrees: float = inf
    basis: str = field(default="", repr=False)
    predictor: Callable[[TableLike, FloatArray], FloatArray] | None = field(
        default=None, repr=False
    )

    @property
    def se(self) -> FloatArray:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    @property
    def params(self) -> Any:
        """The coefficients as a pandas series."""
        return self._series(self.coefficients)

    @property
    def bse(self) -> Any:
        """The standard errors as a pandas series."""
        return self._series(self.se)

    @property
    def pvalues(self) -> Any:
        """The p-values as a pandas series."""
        return self._series(self.p_value)

    def conf_int(self) -> Any:
        """The ends of the intervals as a pandas data frame with columns 0 and 1."""
        import pandas as pd

        return pd.DataFrame({0: self.low, 1: self.high}, index=list(self.names))

    def _series(self, values: FloatArray) -> Any:
        import pandas as pd

        return pd.Series(values, index=list(self.names))

    def summary(self) -> Regression:
        """The table of coefficients, which a regression shows by itself."""
        return self

    def predict(self, table: TableLike) -> FloatArray:
        """The expected response of records in original values, of a file or data frame.

        It is nan where a covariate is missing, or is a category that the model does not know.
        """
        if self.predictor is None:
            raise NotCovered("This model holds no formula to predict by.")
        return self.predictor(table, self.coefficients)

    @property
    def z(self) -> FloatArray:
        """Coefficients in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coefficients / self.se

    @property
    def p_value(self) -> FloatArray:
        """Two-sided, of the hypothesis that the coefficient is 0: 0.05 at an end of 95 %."""
        off = self.z if self.from_zero is None else self.from_zero
        if self.degrees < inf:
            from scipy.special import stdtr

            beyond = 2 * stdtr(self.degrees, -np.abs(off))
            return np.asarray(np.nan_to_num(beyond, nan=1.0), dtype=np.float64)
        tails = [erfc(abs(value) / sqrt(2)) if value == value else 1.0 for value in off]
        return np.array(tails)

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals."""
        return np.asarray(self.coefficients - self._reach[0], dtype=np.float64)

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals."""
        return np.asarray(self.coefficients + self._reach[1], dtype=np.float64)

    @property
    def _reach(self) -> FloatArray:
        if self.reach is not None:
            return self.reach
        return np.tile(students(self.question.z(len(self.names)), self.degrees) * self.se, (2, 1))

    def __getitem__(self, name: str) -> dict[str, float]:
        """One coefficient with its figures."""
        (place,) = self._places((name,))
        figures = (self.coefficients, self.se, self.z, self.p_value, self.low, self.high)
        return {head: float(own[place]) for head, own in zip(HEADS, figures, strict=True)}

    def test(self, *names: str) -> JointTest:
        """Whether these coefficients are all 0: all of a factor's, say."""
        places = self._places(names)
        own = self.coefficients[places]
        part = self.covariance[np.ix_(places, places)]
        statistic = float(own @ np.linalg.solve(part, own))
        p_value = chi_square_tail(statistic, len(own))
        if self.degrees < inf:  # as many as the replicates tell apart, those of the test taken off
            from scipy.special import fdtrc

            left = self.degrees - len(own) + 1
            if left < 1:
                raise NotCovered(
                    f"{self.degrees + 1:.0f} replicates do not tell how {len(own)} coefficients "
                    "vary together. Test fewer of them."
                )
            p_value = float(fdtrc(len(own), left, statistic * left / (self.degrees * len(own))))
        return JointTest(names, statistic, len(own), p_value)

    def to_arrow(self) -> pa.Table:
        """One row a coefficient."""
        rows = [self[name] for name in self.names]
        columns = {head: [row[head] for row in rows] for head in HEADS}
        return pa.table({"name": list(self.names), **columns})

    def to_frame(self, like: Any = None) -> Any:
        """One row a coefficient, as a data frame of the kind that was released, or of ``like``."""
        return frame_of(self.to_arrow(), self.like if like is None else like)

    def to_json(self) -> Form:
        """As JSON."""
        return {
            "formula": self.formula,
            "family": self.family,
            "records": self.records,
            "level": self.question.level,
            "infer": self.question.infer,
            "weight": self.weight,
            "why": self.why,
            "coefficients": [{"name": name, **self._plain(name)} for name in self.names],
        }

    def _plain(self, name: str) -> dict[str, float | None]:
        return {head: own if isfinite(own) else None for head, own in self[name].items()}

    def plot(self) -> Any:
        """A chart of the coefficients with their intervals (Altair)."""
        from pramana.analysis.charts import regression_chart

        return regression_chart(self)

    @property
    def note(self) -> str:
        """How the numbers came about."""
        weighted = f" Weighted by {self.weight}." if self.weight else ""
        return f"{self.records:,} records; {self.why}{weighted}"

    def __repr__(self) -> str:
        lines = text_table(self._rows(), left=1)
        return "\n".join([harmless(f"{self.family}: {self.formula}"), *lines, harmless(self.note)])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), f"{self.family}: {self.formula}. {self.note}")

    def _rows(self) -> list[list[str]]:
        level = self.question.level
        ends = f"[{(1 - level) / 2:.3g}", f"{(1 + level) / 2:.3g}]"
        rows = [["", "coef", "std err", "z", "P>|z|", *ends]]
        for name in self.names:
            digits = (".5g", ".5g", ".3f", ".3f", ".5g", ".5g")
            figures = zip(self[name].values(), digits, strict=True)
            rows.append([name, *(f"{figure:{digit}}" for figure, digit in figures)])
        return rows

    def _places(self, names: tuple[str, ...]) -> list[int]:
        for name in names:
            if name not in self.names:
                raise UnknownColumn(
                    f"The model has no coefficient '{name}'. It has: {', '.join(self.names)}."
                )
        return [self.names.index(name) for name in names]
