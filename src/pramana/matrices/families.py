"""The families of transition matrices, and the way back from their plain form."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pramana.errors import InvalidMatrix
from pramana.matrices.dense import Dense
from pramana.matrices.listed_cells import ListedCells
from pramana.matrices.sparse_rows import SparseRows
from pramana.matrices.transition import Label, TransitionMatrix
from pramana.matrices.uniform_mixture import UniformMixture
from pramana.numeric import TOTAL
from pramana.types import Form

__all__ = ["Dense", "ListedCells", "SparseRows", "UniformMixture", "matrix_from_json", "with_fixed"]

FAMILIES: Form = {cls.family: cls for cls in (UniformMixture, Dense, SparseRows, ListedCells)}


def matrix_from_json(form: Form) -> TransitionMatrix:
    """Any matrix from its plain form."""
    try:
        family = FAMILIES[form["family"]]
    except (KeyError, TypeError):
        raise InvalidMatrix(
            f"The family of a matrix must be one of {', '.join(FAMILIES)}."
        ) from None
    try:
        matrix: TransitionMatrix = family.from_json(form)
    except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidMatrix):
            raise
        raise InvalidMatrix(
            f"The plain form of a {form['family']} matrix is incomplete or broken."
        ) from None
    return matrix


def with_fixed(
    labels: tuple[Label, ...], fixed: Collection[Label], *, retention: float
) -> TransitionMatrix:
    """A uniform mixture of the values that may change, beside values that stay as they are.

    A fixed value is neither left nor reached, so its record is exposed: gamma is infinite and
    the anonymity ratio 0 by the same formulas as for any matrix.
    """
    free = tuple(label for label in labels if label not in fixed)
    if len(free) == len(labels):
        return UniformMixture.of(labels, retention=retention)
    weights = np.zeros((len(labels), len(labels)), dtype=object)
    np.fill_diagonal(weights, TOTAL)
    if len(free) > 1:
        where = [labels.index(label) for label in free]
        weights[np.ix_(where, where)] = UniformMixture.of(free, retention=retention).weights
    return Dense.from_weights(labels, weights)
