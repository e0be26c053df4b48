"""Workloads: what people do with a release: weights, regressions, trees."""

from pramana.workloads.covariate_shift import (
    ShiftWeights,
    cell_weights,
    effective_size,
    histogram_intersection,
    logistic_weights,
    market_weights,
)
from pramana.workloads.regression import (
    AdditiveModel,
    fit_additive,
    fit_cells,
    fit_release,
    r_squared,
    relative_bias,
)
from pramana.workloads.transfer import transfer_weights
from pramana.workloads.trees import MinedTree, mine_tree

__all__ = [
    "AdditiveModel",
    "MinedTree",
    "ShiftWeights",
    "cell_weights",
    "effective_size",
    "fit_additive",
    "fit_cells",
    "fit_release",
    "histogram_intersection",
    "logistic_weights",
    "market_weights",
    "mine_tree",
    "r_squared",
    "relative_bias",
    "transfer_weights",
]
