"""Transition matrices and mechanisms: what is done to a value, and to a record."""

from pramana.matrices.families import (
    Dense,
    SparseRows,
    UniformMixture,
    matrix_from_json,
    with_fixed,
)
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.transition import Label, TransitionMatrix

__all__ = [
    "Dense",
    "Label",
    "Mechanism",
    "SparseRows",
    "Step",
    "TransitionMatrix",
    "UniformMixture",
    "matrix_from_json",
    "with_fixed",
]
