"""Pramana: publish tables about people by post-randomisation.

Names load when they are used, so that ``import pramana`` costs next to nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pramana.base.registry import lazy_exports

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.learning import ReleasedFeatures, learn, learn_tree
    from pramana.analysis.pooling import PooledFit, pool
    from pramana.analysis.regression_results import Regression
    from pramana.analysis.release import Release
    from pramana.api import (
        advise,
        attack,
        audit,
        compare,
        describe,
        design,
        evidence,
        load,
        protect,
        report,
        unchanged_records,
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
    from pramana.guarantees.base import Guarantee
    from pramana.guarantees.correct_match import CorrectMatch
    from pramana.guarantees.differential_privacy import DifferentialPrivacy
    from pramana.guarantees.k_anonymity import KAnonymity
    from pramana.guarantees.pk_anonymity import PkAnonymity
    from pramana.guarantees.privacy_breach import PrivacyBreach
    from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
    from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
    from pramana.ledger.ledger import Budget, Ledger
    from pramana.mechanisms.mechanism import Mechanism, Step
    from pramana.mechanisms.transition import Dense, TransitionMatrix, UniformMixture
    from pramana.methods.attribute_sampling import AttributeSampling
    from pramana.methods.base import Method
    from pramana.methods.frequency_preserving import Invariant, InverseFrequency
    from pramana.methods.given import GivenMatrices, MatricesFromData
    from pramana.methods.microaggregated import Centroid, Gaussian, Permute, Resample
    from pramana.methods.optimal.method import Optimal
    from pramana.methods.plan import Plan
    from pramana.methods.retention import Retention
    from pramana.methods.shuffled_marginals import ShuffledMarginals
    from pramana.microaggregation.clustering import cluster
    from pramana.release.certificate import Certificate
    from pramana.release.signing import make_keys
    from pramana.schema.domains import Bins, Categories, NumberGrid
    from pramana.schema.recoding import Noise, Recoding
    from pramana.schema.roles import Role
    from pramana.schema.schema import Column, Impossible, Replicates, Schema
    from pramana.verification.checks import Verdict

__all__ = ["AlteredRelease", "AttributeSampling", "Bins", "Budget", "Categories",
           "Centroid", "Certificate", "Column", "CorrectMatch", "Dense",
           "DifferentialPrivacy", "DoesNotHold", "Estimate", "Gaussian",
           "GivenMatrices", "Guarantee", "Impossible", "Infeasible", "InputError",
           "InvalidMatrix", "InvalidNumber", "InvalidSchema", "InvalidTable",
           "Invariant", "InverseFrequency", "KAnonymity", "Ledger",
           "MatricesFromData", "Mechanism", "Method", "MissingExtra", "Noise",
           "NotARelease", "NotCovered", "NumberGrid", "Optimal", "OutputExists",
           "OutsideDomain", "Permute", "PkAnonymity", "Plan", "PooledFit", "PramanaError",
           "PrivacyBreach", "Recoding", "Regression", "Release", "ReleasedFeatures",
           "Replicates", "Resample", "Retention", "Role", "Schema",
           "ShuffledMarginals", "ShuffledPrivacy", "SingularMatrix",
           "SpontaneousRecognition", "Step", "TooLarge", "TransitionMatrix",
           "UniformMixture", "UnknownColumn",
           "Verdict", "advise", "attack", "audit", "cluster", "compare", "describe",
           "design", "evidence", "learn", "learn_tree", "load", "make_keys", "pool", "protect",
           "report",
           "unchanged_records", "verify"]  # fmt: skip

_SOURCES = {
    "analysis.estimates": "Estimate",
    "analysis.learning": "ReleasedFeatures learn learn_tree",
    "analysis.pooling": "PooledFit pool",
    "analysis.regression_results": "Regression",
    "analysis.release": "Release",
    "api": "advise attack audit compare describe evidence load report unchanged_records verify "
    "design protect",
    "errors": "AlteredRelease DoesNotHold Infeasible InputError InvalidMatrix InvalidNumber "
    "InvalidSchema InvalidTable MissingExtra NotARelease NotCovered OutputExists "
    "OutsideDomain PramanaError SingularMatrix TooLarge UnknownColumn",
    "guarantees.base": "Guarantee",
    "guarantees.correct_match": "CorrectMatch",
    "guarantees.differential_privacy": "DifferentialPrivacy",
    "guarantees.k_anonymity": "KAnonymity",
    "guarantees.pk_anonymity": "PkAnonymity",
    "guarantees.privacy_breach": "PrivacyBreach",
    "guarantees.shuffled_privacy": "ShuffledPrivacy",
    "guarantees.spontaneous_recognition": "SpontaneousRecognition",
    "ledger.ledger": "Budget Ledger",
    "mechanisms.mechanism": "Dense Mechanism Step UniformMixture",
    "mechanisms.transition": "TransitionMatrix",
    "methods.attribute_sampling": "AttributeSampling",
    "methods.base": "Method",
    "methods.given": "GivenMatrices MatricesFromData",
    "methods.frequency_preserving": "Invariant InverseFrequency",
    "methods.microaggregated": "Centroid Gaussian Permute Resample",
    "methods.optimal.method": "Optimal",
    "methods.plan": "Plan",
    "methods.retention": "Retention",
    "methods.shuffled_marginals": "ShuffledMarginals",
    "microaggregation.clustering": "cluster",
    "release.certificate": "Certificate",
    "release.signing": "make_keys",
    "schema.domains": "Bins Categories NumberGrid",
    "schema.recoding": "Noise Recoding",
    "schema.roles": "Role",
    "schema.schema": "Column Impossible Replicates Schema",
    "verification.checks": "Verdict",
}

__getattr__ = lazy_exports(__name__, _SOURCES)

# Numba reads .numba_config.yaml in the working folder, which may name a folder of pickled functions
# to load or a class to import. What the environment states takes precedence, also if it is empty.
for _setting in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
    os.environ.setdefault(_setting, "")


def __dir__() -> list[str]:
    return list(__all__)
