"""Methods: from a target stated as a number to a plan, and from a plan to released records."""

from pramana.methods.base import Method
from pramana.methods.given import GivenMatrices, MatricesFromData
from pramana.methods.grouped import Centroid, Gaussian, Permute, Resample
from pramana.methods.invariant import Invariant
from pramana.methods.inverse_frequency import InverseFrequency
from pramana.methods.optimal.method import Optimal
from pramana.methods.plan import Plan
from pramana.methods.registry import METHODS
from pramana.methods.reports import Reports
from pramana.methods.retention import Retention

__all__ = [
    "METHODS",
    "Centroid",
    "Gaussian",
    "GivenMatrices",
    "Invariant",
    "InverseFrequency",
    "MatricesFromData",
    "Method",
    "Optimal",
    "Permute",
    "Plan",
    "Reports",
    "Resample",
    "Retention",
]
