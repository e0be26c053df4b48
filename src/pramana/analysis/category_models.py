"""Logit models of a response with three or more categories: multinomial and ordered.

Both are given to the corrected scores (regression.py) as several equations a record, whose scores
are added. The first category is the reference of a multinomial model: with x the row of the model
matrix, category c has the score (1[y = c] - p_c) x, where p_c is proportional to exp(x' b_c).

An ordered model has P(y <= k) = F(a_k - x'b) with the logistic F and increasing thresholds a_k
(proportional odds) [McCullagh80]. With u = a_k - x'b and l = a_(k-1) - x'b, category k has the
probability

    F(u) - F(l) = F(u) (1 - F(l)) (1 - exp(a_(k-1) - a_k)),

whose logarithm has three terms: the log-likelihood of a logistic response 1 with the predictor u,
and of a response 0 with the predictor l, and a term of the gap between the thresholds alone, with
the derivative 1 / (exp(gap) - 1) in the gap. They are the three equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pramana.analysis.formula_syntax import Term
from pramana.analysis.regression import LINKS
from pramana.base.translation import gettext
from pramana.errors import InvalidNumber
from pramana.mechanisms.transition import Label
from pramana.schema.domains import Bins, Categories, label_text
from pramana.schema.schema import Column
from pramana.types import FloatArray, IntArray

CategoryFamily: TypeAlias = Literal["multinomial", "ordered"]
MOST_CATEGORIES = 12
INTERCEPT = "Intercept"


@dataclass(frozen=True)
class CategoryModel:
    """The equations of a model of categories.

    Attributes:
        family: Multinomial or ordered.
        categories: Of the response, in order.
        terms: The names of the columns of the model matrix.
    """

    family: CategoryFamily
    categories: tuple[str, ...]
    terms: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """One name a coefficient: ``category: term``, or ``category | next category`` and terms."""
        if self.family == "multinomial":
            return tuple(
                f"{category}: {term}" for category in self.categories[1:] for term in self.terms
            )
        pairs = zip(self.categories, self.categories[1:], strict=False)
        return (*(" | ".join(pair) for pair in pairs), *(t for t in self.terms if t != INTERCEPT))

    @property
    def equations(self) -> int:
        """The number of equations a record."""
        return len(self.categories) if self.family == "multinomial" else 3

    def rows(self, design: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Design and response of the equations, by the model matrix and the category of each row.

        The coefficients are the last axis of the design, the equations the one before.
        """
        last = len(self.categories) - 1
        x = np.zeros((len(design), self.equations, len(self.names)))
        if self.family == "multinomial":
            for category in range(1, last + 1):
                begin = (category - 1) * len(self.terms)
                x[:, category, begin : begin + len(self.terms)] = design
            return x, (codes[:, None] == np.arange(last + 1)) * 1.0
        design = self._without_intercept(design)
        below, above = np.flatnonzero(codes < last), np.flatnonzero(codes > 0)
        inner = np.intersect1d(below, above)
        x[below, 0, codes[below]] = 1
        x[above, 1, codes[above] - 1] = 1
        x[below, 0, last:], x[above, 1, last:] = -design[below], -design[above]
        x[inner, 2, codes[inner]], x[inner, 2, codes[inner] - 1] = 1, -1
        return x, np.tile((1.0, 0.0, 0.0), (len(x), 1))

    def probabilities(self, design: FloatArray, coefficients: FloatArray) -> FloatArray:
        """The probability of each category, one row per row of the model matrix."""
        if self.family == "multinomial":
            x, _ = self.rows(design, np.zeros(len(design), dtype=np.int64))
            return LINKS["multinomial"](x @ coefficients)[0]
        thresholds, slopes = np.split(coefficients, [len(self.categories) - 1])
        eta = thresholds - (self._without_intercept(design) @ slopes)[:, None]
        upto = LINKS["logistic"](eta)[0]
        return np.diff(upto, axis=1, prepend=0.0, append=1.0)

    def _without_intercept(self, design: FloatArray) -> FloatArray:
        return design[:, [term != INTERCEPT for term in self.terms]]


def category_response(
    left: tuple[Term, ...], frame: Any, columns: Mapping[str, Column], family: CategoryFamily
) -> tuple[tuple[str, ...], IntArray]:
    """The categories of a response, in order, and the code of each row of the grid.

    The order is that of ``C(y, levels=[...])``, or of the schema, or of numbers.
    """
    import pandas as pd

    factor = left[0][0] if len(left) == 1 and len(left[0]) == 1 else None
    if factor is None or not (factor.is_column or factor.categories):
        raise InvalidNumber(
            "The response of a model of family '{family}' must be one column.", family=family
        )
    (name,) = factor.columns
    labels = _labels(columns[name], frame[name], fitted=factor.is_column)
    texts = [label_text(label) for label in labels]
    if not 2 < len(labels) <= MOST_CATEGORIES:
        advice = gettext("merge or filter values")
        if len(labels) == 2:
            advice = gettext("use family 'logistic'")
        raise InvalidNumber(
            "The response of a model of family '{family}' must have 3 to {most_categories} "
            "categories, '{column}' has {count}: {advice}.",
            column=name,
            family=family,
            most_categories=MOST_CATEGORIES,
            count=len(labels),
            advice=advice,
        )
    if factor.levels is not None:
        wanted = [label_text(label) for label in factor.levels]
        if sorted(wanted) != sorted(texts):
            raise InvalidNumber(
                "levels must name each category of '{column}' once: {texts}.",
                column=name,
                texts=", ".join(texts),
            )
        labels = [labels[texts.index(text)] for text in wanted]
    elif (
        family == "ordered"
        and not columns[name].ordered
        and any(isinstance(label, str) for label in labels)
    ):
        raise InvalidNumber(
            "The categories of '{column}' have no declared order. State it in the formula: "
            "C({name}, levels={labels}).",
            column=name,
            name=name if name.isidentifier() else f"`{name}`",
            labels=labels,
        )
    codes = pd.Categorical(frame[name], categories=labels).codes.astype(np.int64)
    return tuple(label_text(label) for label in labels), np.asarray(codes)


def _labels(column: Column, values: Any, *, fitted: bool) -> list[Label]:
    """The categories that occur; of a randomised column all that it may have had."""
    if isinstance(column.domain, Categories | Bins):
        gone = (None, *column.domain.missing_labels)
        return [label for label in column.labels if label not in gone and (values == label).any()]
    if fitted and values.dtype.kind in "iuf":
        raise InvalidNumber(
            "'{column}' holds numbers: use family 'linear' or 'poisson', or write C({column}) for "
            "categories in the order of the numbers.",
            column=column.name,
        )
    return sorted(values.unique())
