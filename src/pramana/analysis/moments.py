"""Standard deviations and correlations, by regressions of the release.

The variance of x is the intercept of (x - m)**2 with m the estimated mean: the error of m enters
squared and vanishes beside the error of the intercept. The correlation of x and y is the slope of y
in x after both are standardised, and has the standard error of that slope.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from pramana.analysis.estimates import Estimate
from pramana.analysis.regression_results import Regression
from pramana.errors import NotCovered

Fit = Callable[[str], Regression]
"""Fits a formula with the filter, level and weights of the question."""


def standard_deviation(of: str, mean: float, fit: Fit) -> Estimate:
    """The root of the mean squared distance from the mean; its error by the delta method."""
    model = fit(f"I(({_quoted(of)} - {mean!r})**2) ~ 1")
    variance, low, high = (
        max(float(side[0]), 0.0) for side in (model.coefficients, model.low, model.high)
    )
    if not variance > 0:
        raise NotCovered(f"'{of}' does not vary, as far as the release tells.", column=of)
    se = float(model.se[0]) / (2 * sqrt(variance))
    return _single(f"standard deviation of {of}", model, sqrt(variance), se, sqrt(low), sqrt(high))


def correlation(names: tuple[str, str], moments: list[tuple[float, float]], fit: Fit) -> Estimate:
    """The slope of the second column in the first, each less its mean and over its deviation."""
    x, y = (
        f"I(({_quoted(name)} - {mean!r}) / {deviation!r})"
        for name, (mean, deviation) in zip(names, moments, strict=True)
    )
    model = fit(f"{y} ~ {x}")
    slope, se, low, high = (
        float(side[1]) for side in (model.coefficients, model.se, model.low, model.high)
    )
    bounds = (float(np.clip(end, -1, 1)) for end in (slope, low, high))
    slope, low, high = bounds
    return _single(f"correlation of {names[0]} and {names[1]}", model, slope, se, low, high)


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
        why=f"by a regression of the release: {model.why}",
        weight=model.weight,
        like=model.like,
    )
