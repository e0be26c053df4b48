"""Transition matrices and mechanisms: what is done to a value, and to a record."""

from pramana.matrices.families import (
    Dense,
    ListedCells,
    SparseRows,
    UniformMixture,
    matrix_from_json,
    with_fixed,
)
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.reporting import AskedSet, Reporting
from pramana.matrices.transition import Label, TransitionMatrix

__all__ = [
    "AskedSet",
    "Dense",
    "Label",
    "ListedCells",
    "Mechanism",
    "Reporting",
    "SparseRows",
    "Step",
    "TransitionMatrix",
    "UniformMixture",
    "matrix_from_json",
    "with_fixed",
]
