"""The channel of a matrix that is the identity and a few transitions.

Where these are few and small the inverse is sparse too (``SparseRows.sparse_inverse``): that of a
matrix over many thousand cells is written down entry by entry, and its squares, which every
variance needs, with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pramana.estimation.along import Expected, expected_along, sum_along, times_along
from pramana.estimation.layout import Axis
from pramana.matrices import SparseRows
from pramana.types import FloatArray

__all__ = ["Sparse", "has_sparse_inverse"]

SMALL = 0.5
"""The series is used where transitions have at most this weight beside the diagonal."""


def has_sparse_inverse(matrix: SparseRows) -> bool:
    """Whether the series ends soon."""
    if not (matrix.diagonal > 0).all():
        return False
    return float(abs(matrix.aside).sum(axis=1).max()) <= SMALL


@dataclass(frozen=True)
class Sparse:
    """Nothing of the size of the matrix squared is ever formed."""

    place: int
    axis: Axis
    matrix: SparseRows

    def forward(self, table: FloatArray) -> FloatArray:
        """Counts times the matrix."""
        return times_along(table, self.matrix.sparse, self.place)

    def backward(self, table: FloatArray) -> FloatArray:
        """The matrix times values of released cells."""
        return times_along(table, self.matrix.sparse.T, self.place)

    def squared(self, table: FloatArray) -> FloatArray:
        """Counts times the squared matrix."""
        return times_along(table, self.matrix.sparse.power(2), self.place)

    def solve(self, table: FloatArray) -> FloatArray:
        """Counts times merged columns of the inverse."""
        return times_along(table, self._merged, self.place)

    def spread(self, table: FloatArray) -> FloatArray:
        """Counts times merged columns of the inverse, squared."""
        return times_along(table, self._merged.power(2), self.place)

    def cross(self, table: FloatArray) -> FloatArray:
        """Merged columns times their sum over all groups."""
        rows = np.asarray(self._merged.sum(axis=1)).reshape(-1, 1)
        return times_along(table, self._merged.multiply(rows).tocsr(), self.place)

    def gross(self, table: FloatArray) -> FloatArray:
        """That sum squared."""
        rows = np.asarray(self._merged.sum(axis=1)).reshape(-1)
        shape = [1] * table.ndim
        shape[self.place] = -1
        return sum_along(table * (rows**2).reshape(shape), self.place)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """Merged rows of the inverse."""
        return times_along(table, self._merged.T.tocsr(), self.place)

    def expects(self, before: Expected) -> Expected:
        """By entries that are not 0; some truth is so far that it counts nothing for a group."""
        squares = (self.matrix.sparse @ self._merged.power(2)).tocsr()
        member = squares.multiply(self._membership).tocsr()
        most, other = (
            np.maximum(part.max(axis=0).toarray().ravel(), 0) for part in (member, squares - member)
        )
        least = np.full(len(most), np.inf)
        entries = member.tocoo()
        np.minimum.at(least, entries.col, entries.data)
        own = (most, np.where(np.isinf(least), 0.0, least), other, np.zeros_like(most))
        return expected_along(own, self.place, before)

    @cached_property
    def _merged(self) -> Any:
        inverse = self.matrix.sparse_inverse
        return inverse if self.axis.whole else (inverse @ self._membership).tocsr()

    @cached_property
    def _membership(self) -> Any:
        from scipy import sparse

        groups = np.array(self.axis.groups)
        inside = np.flatnonzero(groups >= 0)
        shape = (self.axis.size, max(len(self.axis.group_cells), 1))
        entries = (np.ones(len(inside)), (inside, groups[inside]))
        return sparse.csr_array(entries, shape=shape)
