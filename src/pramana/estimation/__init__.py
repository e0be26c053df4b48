"""Estimates of the truth from a release: tables, means, totals, tests and rebuilt records."""

from pramana.estimation.counts import METHODS, Method, estimate_counts
from pramana.estimation.independence import IndependenceTest, independence_test
from pramana.estimation.layout import Layout
from pramana.estimation.means import estimate_means, estimate_totals
from pramana.estimation.moments import Moments
from pramana.estimation.rebuild import REBUILDS, Rebuild, Rebuilt, rebuild_records
from pramana.estimation.regression_results import Regression
from pramana.estimation.results import Estimate
from pramana.estimation.unchanged import invariant_counts
from pramana.estimation.variance import Inference, Question

__all__ = [
    "METHODS",
    "REBUILDS",
    "Estimate",
    "IndependenceTest",
    "Inference",
    "Layout",
    "Method",
    "Moments",
    "Question",
    "Rebuild",
    "Rebuilt",
    "Regression",
    "estimate_counts",
    "estimate_means",
    "estimate_totals",
    "independence_test",
    "invariant_counts",
    "rebuild_records",
]
