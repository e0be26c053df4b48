"""Pramana: publish tables about people by post-randomisation.

Names load when they are used, so that ``import pramana`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pramana.api import (
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
    from pramana.estimation import Estimate, Regression
    from pramana.guarantees import (
        CorrectMatch,
        DifferentialPrivacy,
        Guarantee,
        KAnonymity,
        PkAnonymity,
        PrivacyBreach,
        ShuffledPrivacy,
        SpontaneousRecognition,
    )
    from pramana.kanonymity import cluster
    from pramana.matrices import Dense, Mechanism, Step, TransitionMatrix, UniformMixture
    from pramana.methods import (
        Centroid,
        Gaussian,
        GivenMatrices,
        Invariant,
        InverseFrequency,
        MatricesFromData,
        Method,
        Optimal,
        Permute,
        Plan,
        Reports,
        Resample,
        Retention,
    )
    from pramana.readings import Release
    from pramana.release import Certificate, Verdict, make_keys
    from pramana.table import Bins, Categories, Column, Impossible, Role, Schema
    from pramana.workloads import mine_tree

__all__ = [
    "Bins",
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
    "MatricesFromData",
    "Mechanism",
    "Method",
    "MissingExtra",
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
    "Regression",
    "Release",
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
    "attack",
    "audit",
    "cluster",
    "compare",
    "describe",
    "design",
    "load",
    "make_keys",
    "mine_tree",
    "protect",
    "report",
    "verbatim",
    "verify",
]

_ROOMS = {
    "api": "attack audit compare describe design load protect report verbatim verify",
    "methods": "Centroid Gaussian GivenMatrices Invariant InverseFrequency MatricesFromData Method "
    "Optimal Permute Plan Reports Resample Retention",
    "estimation": "Estimate Regression",
    "guarantees": "CorrectMatch DifferentialPrivacy Guarantee KAnonymity PkAnonymity "
    "PrivacyBreach ShuffledPrivacy SpontaneousRecognition",
    "kanonymity": "cluster",
    "matrices": "Dense Mechanism Step TransitionMatrix UniformMixture",
    "readings": "Release",
    "release": "Certificate Verdict make_keys",
    "table": "Bins Categories Column Impossible Role Schema",
    "workloads": "mine_tree",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name from its room; what has no other room is an error class."""
    if name not in __all__:
        raise AttributeError(f"module 'pramana' has no attribute '{name}'")
    return getattr(import_module(f"pramana.{_ROOM_OF.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return list(__all__)
