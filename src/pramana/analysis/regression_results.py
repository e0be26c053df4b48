"""The result of a regression: coefficients by name with their errors.

Standard deviations and correlations are regressions of the release too. The
variance of x is the intercept of (x - m)**2 with m the estimated mean: the error of m enters
squared and is negligible against the error of the intercept. The correlation of x and y is the
slope of y in x after both are standardised, and has the standard error of that slope.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import erfc, inf, isfinite, sqrt
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from pramana.analysis.association import chi_square_tail
from pramana.analysis.estimate_charts import regression_chart
from pramana.analysis.estimates import DataFrames, Estimate, html_table, text_table
from pramana.analysis.question import Question, students
from pramana.analysis.regression import Family
from pramana.base.translation import gettext
from pramana.errors import NotCovered, UnknownColumn, harmless
from pramana.types import FloatArray, Form, TableLike


@dataclass(frozen=True)
class JointTest:
    """Wald's test that several coefficients are all 0."""

    names: tuple[str, ...]
    statistic: float
    degrees: int
    p_value: float


class Coefficients(DataFrames):
    """Coefficients with errors, under the names that users of statsmodels know."""

    names: tuple[str, ...]
    coefficients: FloatArray
    covariance: FloatArray
    _formats: ClassVar[Mapping[str, str]]
    """The head of each printed column and its format, without the ends of the intervals."""

    @property
    def se(self) -> FloatArray:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0))

    @property
    def z(self) -> FloatArray:
        """Coefficients in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coefficients / self.se

    @property
    @abstractmethod
    def p_value(self) -> FloatArray:
        """Two-sided, of the hypothesis that the coefficient is 0."""

    @property
    @abstractmethod
    def _reach(self) -> FloatArray:
        """How far the interval of each goes below and above it."""

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals."""
        return np.asarray(self.coefficients - self._reach[0], dtype=np.float64)

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals."""
        return np.asarray(self.coefficients + self._reach[1], dtype=np.float64)

    def summary(self) -> Self:
        """The table of coefficients, which the result shows by itself."""
        return self

    @property
    def params(self) -> Any:
        """The coefficients as a pandas series."""
        return self._series(self.coefficients)

    @property
    def bse(self) -> Any:
        """The standard errors as a pandas series."""
        return self._series(self.se)

    @property
    def tvalues(self) -> Any:
        """The coefficients in units of their standard errors as a pandas series."""
        return self._series(self.z)

    @property
    def pvalues(self) -> Any:
        """The p-values as a pandas series."""
        return self._series(self.p_value)

    def cov_params(self) -> Any:
        """The covariance of the coefficients as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.covariance, index=list(self.names), columns=list(self.names))

    @property
    @abstractmethod
    def confidence(self) -> float:
        """The confidence level of the intervals."""

    def conf_int(self, alpha: float | None = None) -> Any:
        """The ends of the intervals as a pandas data frame with columns 0 and 1."""
        import pandas as pd

        if alpha is not None and abs(1 - alpha - self.confidence) > 1e-9:
            raise NotCovered(
                "These intervals have the level {confidence:g}. Give regress or pool another "
                "level=.",
                confidence=self.confidence,
            )
        return pd.DataFrame({0: self.low, 1: self.high}, index=list(self.names))

    def _series(self, values: FloatArray) -> Any:
        import pandas as pd

        return pd.Series(values, index=list(self.names))

    @abstractmethod
    def _columns(self) -> dict[str, FloatArray]:
        """The numbers by their names in tables, the ends of the intervals last."""

    def _rows(self) -> list[list[str]]:
        level = self.confidence
        ends = {f"[{(1 - level) / 2:.3g}": ".5g", f"{(1 + level) / 2:.3g}]": ".5g"}
        formats = {**self._formats, **ends}
        columns = list(zip(self._columns().values(), formats.values(), strict=True))
        rows = [["", *formats]]
        for place, name in enumerate(self.names):
            rows.append([name, *(f"{values[place]:{digits}}" for values, digits in columns)])
        return rows


INTERNAL = frozenset({"basis", "from_zero", "like", "predictor", "question", "reach"})
"""What completion leaves out."""


@dataclass(frozen=True, eq=False)
class Regression(Coefficients):
    """Coefficients of a model of the original data.

    Attributes:
        formula: The formula.
        family: ``linear``, ``logistic``, ``poisson``, ``multinomial`` or ``ordered``.
        names: One name a coefficient.
        coefficients: One number each.
        covariance: Of the coefficients, randomisation included.
        question: What the intervals mean.
        records: The number of released records behind them.
        why: One sentence on what makes them right, with their errors.
        weight: The column by which records are weighted, if they are.
        like: A data frame of the kind that ``to_frame`` gives.
        reach: How far the interval of each goes below and above it; by default the quantile times
            its standard error.
        from_zero: How many standard errors each is off 0 by the test of its interval; by default
            ``z``.
        degrees: Degrees of freedom of the covariance, if it comes from replicate weights.
        basis: What makes the estimates right, without their errors.
        predictor: Gives the expected response of records by the coefficients.
        categories: Of the response of a multinomial or ordered model, in order.
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
    categories: tuple[str, ...] = ()
    _formats: ClassVar[Mapping[str, str]] = {
        "coef": ".5g",
        "std err": ".5g",
        "z": ".3f",
        "P>|z|": ".3f",
    }

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__()} - INTERNAL)

    @property
    def confidence(self) -> float:
        """The confidence level of the intervals."""
        return self.question.level

    @property
    def nobs(self) -> int:
        """The number of records, as statsmodels names it."""
        return self.records

    @property
    def p_value(self) -> FloatArray:
        """Two-sided, of the hypothesis that the coefficient is 0: 0.05 at an end of 95 %."""
        off = self.z if self.from_zero is None else self.from_zero
        if self.degrees < inf:
            from scipy.special import stdtr

            beyond = 2 * stdtr(self.degrees, -np.abs(off))
            return np.asarray(np.nan_to_num(beyond, nan=1.0), dtype=np.float64)
        return np.array([erfc(abs(z) / sqrt(2)) if z == z else 1.0 for z in off])

    @property
    def _reach(self) -> FloatArray:
        if self.reach is not None:
            return self.reach
        return np.tile(students(self.question.z(len(self.names)), self.degrees) * self.se, (2, 1))

    def predict(self, table: TableLike) -> FloatArray:
        """The expected response of records in original values, of a file or data frame.

        Of a multinomial or ordered model it is the probability of each of the ``categories``. It is
        nan where a covariate is missing, or is a category that the model does not know.
        """
        if self.predictor is None:
            raise NotCovered("This model holds no formula to predict by.")
        return self.predictor(table, self.coefficients)

    def test(self, *names: str) -> JointTest:
        """Test whether these coefficients, all of a factor say, are all 0."""
        places = [self._place(name) for name in names]
        tested = self.coefficients[places]
        part = self.covariance[np.ix_(places, places)]
        statistic, size = float(tested @ np.linalg.solve(part, tested)), len(tested)
        p_value = chi_square_tail(statistic, size)
        if self.degrees < inf:  # Hotelling's test
            from scipy.special import fdtrc

            left = self.degrees - size + 1
            if left < 1:
                raise NotCovered(
                    "{degrees:.0f} replicates do not determine the covariance of {size} "
                    "coefficients. Test fewer of them.",
                    degrees=self.degrees + 1,
                    size=size,
                )
            p_value = float(fdtrc(size, left, statistic * left / (self.degrees * size)))
        return JointTest(names, statistic, size, p_value)

    def __getitem__(self, name: str) -> dict[str, float]:
        """One coefficient with its statistics."""
        place = self._place(name)
        return {head: float(values[place]) for head, values in self._columns().items()}

    def _columns(self) -> dict[str, FloatArray]:
        ends = {"low": self.low, "high": self.high}
        figures = {"coefficient": self.coefficients, "se": self.se, "z": self.z}
        return {**figures, "p_value": self.p_value, **ends}

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise UnknownColumn(
                "The model has no coefficient '{name}'. It has: {names}.",
                name=name,
                names=", ".join(self.names),
            )
        return self.names.index(name)

    def to_arrow(self) -> pa.Table:
        """One row a coefficient; of a multinomial model with its category and term."""
        labels = {"name": list(self.names)}
        if self.family == "multinomial":
            each = len(self.names) // (len(self.categories) - 1)
            labels["category"] = [level for level in self.categories[1:] for _ in range(each)]
            pairs = zip(self.names, labels["category"], strict=True)
            labels["term"] = [name.removeprefix(f"{category}: ") for name, category in pairs]
        return pa.table({**labels, **self._columns()})

    def to_json(self) -> Form:
        """As JSON."""
        coefficients = [
            {"name": name}
            | {head: value if isfinite(value) else None for head, value in self[name].items()}
            for name in self.names
        ]
        return {
            "formula": self.formula,
            "family": self.family,
            "records": self.records,
            "level": self.question.level,
            "infer": self.question.infer,
            "weight": self.weight,
            "why": self.why,
            "coefficients": coefficients,
        }

    def plot(self) -> Any:
        """A chart of the coefficients with their intervals (Altair)."""
        return regression_chart(self)

    @property
    def note(self) -> str:
        """The number of records and what makes the estimates right."""
        weighted = gettext(" Weighted by {weight}.", weight=self.weight) if self.weight else ""
        return gettext("{number:,} records", number=self.records) + f"; {self.why}{weighted}"

    def __repr__(self) -> str:
        lines = text_table(self._rows(), left=1)
        return "\n".join([harmless(f"{self.family}: {self.formula}"), *lines, harmless(self.note)])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), f"{self.family}: {self.formula}. {self.note}")


Fit = Callable[[str], Regression]
"""Fits a formula with the filter, level and weights of the question."""


def standard_deviation(of: str, mean: float, fit: Fit) -> Estimate:
    """The root of the mean squared distance from the mean; its error by the delta method."""
    model = fit(f"I(({_quoted(of)} - {mean!r})**2) ~ 1")
    variance, low, high = (
        max(float(side[0]), 0.0) for side in (model.coefficients, model.low, model.high)
    )
    if not variance > 0:
        raise NotCovered("The release shows no variation of '{column}'.", column=of)
    se = float(model.se[0]) / (2 * sqrt(variance))
    return _single(f"standard deviation of {of}", model, sqrt(variance), se, sqrt(low), sqrt(high))


def correlation(names: tuple[str, str], moments: list[tuple[float, float]], fit: Fit) -> Estimate:
    """The slope of the second column in the first, each less its mean and over its deviation."""
    x, y = (
        f"I(({_quoted(name)} - {mean!r}) / {deviation!r})"
        for name, (mean, deviation) in zip(names, moments, strict=True)
    )
    model = fit(f"{y} ~ {x}")
    sides = (model.coefficients, model.low, model.high)
    slope, low, high = (float(np.clip(side[1], -1, 1)) for side in sides)
    what = f"correlation of {names[0]} and {names[1]}"
    return _single(what, model, slope, float(model.se[1]), low, high)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _single(what: str, model: Regression, *figures: float) -> Estimate:
    numbers: list[Any] = [np.array(figure) for figure in figures]
    return Estimate.of(
        (),
        (),
        numbers,
        model.question,
        records=model.records,
        what=what,
        method="unbiased",
        why=gettext("by a regression of the release: {why}", why=model.why),
        weight=model.weight,
        like=model.like,
    )
