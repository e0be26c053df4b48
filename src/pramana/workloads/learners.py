"""The door to scikit-learn, which comes with the extra ``mining``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import MissingExtra
from pramana.types import FloatArray

__all__ = ["default_regressor", "default_tree", "logistic_regression", "scikit_learn"]


LEAF = 0.002


def scikit_learn(module: str) -> Any:
    """A module of scikit-learn, or one line that says how to get it."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtra(
            "Learning needs scikit-learn, an extra: pip install 'pramana[mining]'."
        ) from None


def logistic_regression(
    x: ArrayLike, y: ArrayLike, *, weight: ArrayLike
) -> Callable[[ArrayLike], FloatArray]:
    """The log odds of class 1 as a function of x, fitted without a penalty."""
    preprocessing, linear = scikit_learn("preprocessing"), scikit_learn("linear_model")
    scale = preprocessing.StandardScaler().fit(x, sample_weight=weight)
    model = linear.LogisticRegression(C=np.inf, max_iter=1000, tol=1e-8)
    model.fit(scale.transform(x), y, sample_weight=weight)

    def log_odds(points: ArrayLike) -> FloatArray:
        odds: FloatArray = model.decision_function(scale.transform(points))
        return odds

    return log_odds


def default_tree(records: int, draws: int = 1) -> Any:
    """A decision tree by information gain, as in [Dowd].

    A tree grown to purity learns the noise that randomisation left: a leaf holds at least 0.2 %
    of the records, counted in each of the rebuilt tables.
    """
    trees = scikit_learn("tree")
    leaf = max(5, round(LEAF * records)) * draws
    return trees.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=leaf, random_state=0)


def default_regressor(records: int) -> Any:
    """A regression tree with leaves as large as those of a tree of classes."""
    trees = scikit_learn("tree")
    leaf = max(5, round(LEAF * records))
    return trees.DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0)
