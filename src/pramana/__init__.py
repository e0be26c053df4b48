"""Pramana: publish tables about people by post-randomisation.

Names load when they are used, so that ``import pramana`` costs next to nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pramana.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pramana.api import (
        advise,
        attack,
        audit,
        compare,
        describe,
        design,
        load,
        protect,
        report,
        verbatim,
        verify,
    )
    from pramana.errors import (
        AlteredRelease,
        DoesNotHold,
        Infeasible,
        InputError,
        InvalidMatrix,
        InvalidNumber,
        InvalidSchema,
        InvalidTable,
        MissingExtra,
        NotARelease,
        NotCovered,
        OutputExists,
        OutsideDomain,
        PramanaError,
        SingularMatrix,
        TooLarge,
        UnknownColumn,
    )
    from pramana.estimation.regression_results import Regression
    from pramana.estimation.results import Estimate
    from pramana.guarantees.base import Guarantee
    from pramana.guarantees.breach import PrivacyBreach
    from pramana.guarantees.correct_match import CorrectMatch
    from pramana.guarantees.differential_privacy import DifferentialPrivacy
    from pramana.guarantees.k_anonymity import KAnonymity
    from pramana.guarantees.pk_anonymity import PkAnonymity
    from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
    from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
    from pramana.ledger.book import Budget, Ledger
    from pramana.matrices import Dense, Mechanism, Step, TransitionMatrix, UniformMixture
    from pramana.methods.base import Method
    from pramana.methods.given import GivenMatrices, MatricesFromData
    from pramana.methods.grouped import Centroid, Gaussian, Permute, Resample
    from pramana.methods.invariant import Invariant
    from pramana.methods.inverse_frequency import InverseFrequency
    from pramana.methods.optimal.method import Optimal
    from pramana.methods.plan import Plan
    from pramana.methods.reports import Reports
    from pramana.methods.retention import Retention
    from pramana.microaggregation.clustering import cluster
    from pramana.readings.release import Release
    from pramana.release.certificate import Certificate
    from pramana.release.signing import make_keys
    from pramana.release.verify import Verdict
    from pramana.table.domains import Bins, Categories
    from pramana.table.recoding import Noise, Recoding
    from pramana.table.replicates import Replicates
    from pramana.table.schema import Column, Impossible, Role, Schema
    from pramana.workloads.learning import ReleasedFeatures, learn
    from pramana.workloads.trees import mine_tree

__all__ = [
    "AlteredRelease",
    "Bins",
    "Budget",
    "Categories",
    "Centroid",
    "Certificate",
    "Column",
    "CorrectMatch",
    "Dense",
    "DifferentialPrivacy",
    "DoesNotHold",
    "Estimate",
    "Gaussian",
    "GivenMatrices",
    "Guarantee",
    "Impossible",
    "Infeasible",
    "InputError",
    "InvalidMatrix",
    "InvalidNumber",
    "InvalidSchema",
    "InvalidTable",
    "Invariant",
    "InverseFrequency",
    "KAnonymity",
    "Ledger",
    "MatricesFromData",
    "Mechanism",
    "Method",
    "MissingExtra",
    "Noise",
    "NotARelease",
    "NotCovered",
    "Optimal",
    "OutputExists",
    "OutsideDomain",
    "Permute",
    "PkAnonymity",
    "Plan",
    "PramanaError",
    "PrivacyBreach",
    "Recoding",
    "Regression",
    "Release",
    "ReleasedFeatures",
    "Replicates",
    "Reports",
    "Resample",
    "Retention",
    "Role",
    "Schema",
    "ShuffledPrivacy",
    "SingularMatrix",
    "SpontaneousRecognition",
    "Step",
    "TooLarge",
    "TransitionMatrix",
    "UniformMixture",
    "UnknownColumn",
    "Verdict",
    "advise",
    "attack",
    "audit",
    "cluster",
    "compare",
    "describe",
    "design",
    "learn",
    "load",
    "make_keys",
    "mine_tree",
    "protect",
    "report",
    "verbatim",
    "verify",
]

_SOURCES = {
    "errors": "AlteredRelease DoesNotHold Infeasible InputError InvalidMatrix InvalidNumber "
    "InvalidSchema InvalidTable MissingExtra NotARelease NotCovered OutputExists "
    "OutsideDomain PramanaError SingularMatrix TooLarge UnknownColumn",
    "api": "advise attack audit compare describe load report verbatim verify",
    "planning": "design",
    "protecting": "protect",
    "methods.grouped": "Centroid Gaussian Permute Resample",
    "methods.given": "GivenMatrices MatricesFromData",
    "methods.invariant": "Invariant",
    "methods.inverse_frequency": "InverseFrequency",
    "methods.base": "Method",
    "methods.optimal.method": "Optimal",
    "methods.plan": "Plan",
    "methods.reports": "Reports",
    "methods.retention": "Retention",
    "estimation.results": "Estimate",
    "estimation.regression_results": "Regression",
    "guarantees.correct_match": "CorrectMatch",
    "guarantees.differential_privacy": "DifferentialPrivacy",
    "guarantees.base": "Guarantee",
    "guarantees.k_anonymity": "KAnonymity",
    "guarantees.pk_anonymity": "PkAnonymity",
    "guarantees.breach": "PrivacyBreach",
    "guarantees.shuffled_privacy": "ShuffledPrivacy",
    "guarantees.spontaneous_recognition": "SpontaneousRecognition",
    "microaggregation.clustering": "cluster",
    "ledger.book": "Budget Ledger",
    "matrices": "Dense Mechanism Step TransitionMatrix UniformMixture",
    "readings.release": "Release",
    "release.certificate": "Certificate",
    "release.verify": "Verdict",
    "release.signing": "make_keys",
    "table.domains": "Bins Categories",
    "table.recoding": "Noise Recoding",
    "table.replicates": "Replicates",
    "table.schema": "Column Impossible Role Schema",
    "workloads.learning": "ReleasedFeatures learn",
    "workloads.trees": "mine_tree",
}

__getattr__ = lazy_exports(__name__, _SOURCES)

# Numba reads .numba_config.yaml in the working folder, which may name a folder of pickled functions
# to load or a class to import. What the environment states takes precedence, also if it is empty.
for _setting in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
    os.environ.setdefault(_setting, "")


def __dir__() -> list[str]:
    return list(__all__)
