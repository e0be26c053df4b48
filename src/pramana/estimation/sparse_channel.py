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


MOST_HELD, MOST_ENTRIES = 32, 20_000
"""So many ways to merge a matrix are worked out once, where its inverse has up to so many entries
(a megabyte a way): a table, its shares and their errors ask for few, and each release of a plan for
the same."""


def has_sparse_inverse(matrix: SparseRows) -> bool:
    """Whether the series ends soon."""
    found = matrix.worked_out.get(SMALL)
    if found is None:
        small = (matrix.diagonal > 0).all()
        found = bool(small) and float(abs(matrix.aside).sum(axis=1).max()) <= SMALL
        matrix.worked_out[SMALL] = found
    return bool(found)


@dataclass(frozen=True, eq=False)
class _Merged:
    """The inverse of a matrix with its columns merged into groups, and what variances need of it.

    Attributes:
        matrix: What is undone.
        groups: Of each cell; less than 0 where it is in none.
        number: How many groups there are.
    """

    matrix: SparseRows
    groups: tuple[int, ...]
    number: int

    @classmethod
    def of(cls, matrix: SparseRows, axis: Axis) -> _Merged:
        """That of an axis, worked out once where it is small."""
        number = max(len(axis.group_cells), 1)
        held, asked = matrix.worked_out, (axis.groups, number)
        found = held.get(asked)
        if found is None:
            found = cls(matrix, axis.groups, number)
            if matrix.sparse_inverse.nnz <= MOST_ENTRIES and len(held) < MOST_HELD:
                held[asked] = found
        return found

    @cached_property
    def inverse(self) -> Any:
        """Its merged columns."""
        inverse = self.matrix.sparse_inverse
        if self.groups == tuple(range(self.matrix.size)):
            return inverse
        return (inverse @ self._membership).tocsr()

    @cached_property
    def squares(self) -> Any:
        """Each entry squared."""
        return self.inverse.power(2)

    @cached_property
    def sums(self) -> FloatArray:
        """Over all groups."""
        return np.asarray(self.inverse.sum(axis=1)).reshape(-1)

    @cached_property
    def crossed(self) -> Any:
        """Each entry times the sum of its row."""
        return self.inverse.multiply(self.sums.reshape(-1, 1)).tocsr()

    @cached_property
    def turned(self) -> Any:
        """Its rows as columns."""
        return self.inverse.T.tocsr()

    @cached_property
    def expected(self) -> Expected:
        """By entries that are not 0; some truth is so far that it counts nothing for a group."""
        squares = (self.matrix.sparse @ self.squares).tocsr()
        member = squares.multiply(self._membership).tocsr()
        most, other = (
            np.maximum(part.max(axis=0).toarray().ravel(), 0) for part in (member, squares - member)
        )
        least = np.full(len(most), np.inf)
        entries = member.tocoo()
        np.minimum.at(least, entries.col, entries.data)
        return most, np.where(np.isinf(least), 0.0, least), other, np.zeros_like(most)

    @cached_property
    def _membership(self) -> Any:
        from scipy import sparse

        groups = np.array(self.groups)
        inside = np.flatnonzero(groups >= 0)
        shape = (len(groups), self.number)
        entries = (np.ones(len(inside)), (inside, groups[inside]))
        return sparse.csr_array(entries, shape=shape)


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
        return times_along(table, self._merged.inverse, self.place)

    def spread(self, table: FloatArray) -> FloatArray:
        """Counts times merged columns of the inverse, squared."""
        return times_along(table, self._merged.squares, self.place)

    def cross(self, table: FloatArray) -> FloatArray:
        """Merged columns times their sum over all groups."""
        return times_along(table, self._merged.crossed, self.place)

    def gross(self, table: FloatArray) -> FloatArray:
        """That sum squared."""
        shape = [1] * table.ndim
        shape[self.place] = -1
        return sum_along(table * (self._merged.sums**2).reshape(shape), self.place)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """Merged rows of the inverse."""
        return times_along(table, self._merged.turned, self.place)

    def expects(self, before: Expected) -> Expected:
        """Times what one record counts here; a stranger differs in this axis or in another one."""
        return expected_along(self._merged.expected, self.place, before)

    @cached_property
    def _merged(self) -> _Merged:
        return _Merged.of(self.matrix, self.axis)
