"""Methods by name, as commands and certificates spell them."""

from __future__ import annotations

from pramana.methods.base import Method
from pramana.registry import Registry

__all__ = ["METHODS"]

METHODS: Registry[type[Method]] = Registry(
    "pramana.methods",
    {
        "retention": "pramana.methods.retention:Retention",
        "reports": "pramana.methods.reports:Reports",
        "optimal": "pramana.methods.optimal.method:Optimal",
        "inverse-frequency": "pramana.methods.inverse_frequency:InverseFrequency",
        "invariant": "pramana.methods.invariant:Invariant",
        "matrix": "pramana.methods.given:GivenMatrices",
        "matrix-from-data": "pramana.methods.given:MatricesFromData",
        "resample": "pramana.methods.grouped:Resample",
        "permute": "pramana.methods.grouped:Permute",
        "gaussian": "pramana.methods.grouped:Gaussian",
        "centroid": "pramana.methods.grouped:Centroid",
    },
)
"""The first that aims at all that is asked is the usual one."""
