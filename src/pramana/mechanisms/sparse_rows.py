"""The identity plus a few transitions: for domains of many thousand cells.

Only the off-diagonal entries that are not zero are kept, in compressed rows; the diagonal takes
what is left of 2**64. Solving goes through a sparse factorisation.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, SingularMatrix, TooLarge
from pramana.mechanisms.transition import (
    SINGULAR,
    Label,
    TransitionMatrix,
    amplification,
    check_labels,
    crossed_ratio,
    label_from_json,
    labels_to_json,
)
from pramana.types import FloatArray, Form, IntArray, Words

__all__ = ["SparseRows"]

DENSE_LIMIT = 5_000
"""The largest domain for which all entries are written out."""

NEGLIGIBLE = 1e-17
"""Entries of a series that are left out."""


@dataclass(frozen=True, eq=False, repr=False)
class SparseRows(TransitionMatrix):
    """Row i moves to ``targets[starts[i]:starts[i+1]]`` with the weights ``moves``, else stays.

    >>> matrix = SparseRows.of(("a", "b", "c"), rows=[0], columns=[2], probabilities=[0.25])
    >>> matrix.values
    array([[0.75, 0.  , 0.25],
           [0.  , 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    labels: tuple[Label, ...]
    starts: IntArray = field(repr=False)
    targets: IntArray = field(repr=False)
    moves: Words = field(repr=False)

    family: ClassVar[str] = "sparse-rows"

    def __post_init__(self) -> None:
        check_labels(self.labels)
        for name, kind in (("starts", np.int64), ("targets", np.int64), ("moves", np.uint64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_structure()
        if min(self.kept, default=0) < 0:
            raise InvalidMatrix(
                "The transitions out of a value must have at most probability 1 together."
            )

    def _check_structure(self) -> None:
        size, sources = self.size, self.sources
        good = (
            len(self.starts) == size + 1
            and self.starts[0] == 0
            and self.starts[-1] == len(self.targets) == len(self.moves)
            and (np.diff(self.starts) >= 0).all()
            and (len(self.targets) == 0 or (self.targets.min() >= 0 and self.targets.max() < size))
        )
        if not good:
            raise InvalidMatrix(
                f"The transitions must run between the {size} labels of the matrix."
            )
        if (self.targets == sources).any() or len(np.unique(sources * size + self.targets)) < len(
            sources
        ):
            raise InvalidMatrix("Each transition must be given once and lead to another value.")

    @classmethod
    def of(
        cls,
        labels: Sequence[Label],
        *,
        rows: ArrayLike,
        columns: ArrayLike,
        probabilities: ArrayLike,
    ) -> Self:
        """From a list of off-diagonal transitions; probabilities are rounded down to integers."""
        weights = np.ldexp(np.asarray(probabilities, dtype=np.float64), 64)
        if not ((weights >= 0) & (weights < TOTAL)).all():
            raise InvalidMatrix("A transition to another value must have a probability in [0, 1).")
        return cls.from_moves(labels, rows=rows, columns=columns, moves=weights.astype(np.uint64))

    @classmethod
    def from_moves(
        cls, labels: Sequence[Label], *, rows: ArrayLike, columns: ArrayLike, moves: ArrayLike
    ) -> Self:
        """From a list of off-diagonal transitions in integers over 2**64; zeros are left out."""
        row, column = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        weight = np.asarray(moves, dtype=np.uint64)
        order = np.lexsort((column, row))
        order = order[weight[order] > 0]
        starts = np.zeros(len(labels) + 1, dtype=np.int64)
        np.cumsum(np.bincount(row[order], minlength=len(labels)), out=starts[1:])
        return cls(tuple(labels), starts, column[order], weight[order])

    @cached_property
    def worked_out(self) -> dict[Hashable, Any]:
        """What was worked out from this matrix, by whatever name: it goes where the matrix goes."""
        return {}

    @cached_property
    def sources(self) -> IntArray:
        """The row of each transition."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def kept(self) -> list[int]:
        """The weight of each diagonal entry."""
        kept = [TOTAL] * self.size
        for source, move in zip(self.sources.tolist(), self.moves.tolist(), strict=True):
            kept[source] -= move
        return kept

    @cached_property
    def diagonal(self) -> FloatArray:
        """The probability of each value to stay as it is."""
        return np.ldexp(np.array(self.kept, dtype=np.float64), -64)

    @cached_property
    def aside(self) -> Any:
        """D^-1 O, with D the diagonal and O the other entries, sparse."""
        from scipy import sparse

        diagonal = sparse.diags_array(self.diagonal)
        return sparse.diags_array(1 / self.diagonal) @ (self.sparse.tocsr() - diagonal)

    @cached_property
    def sparse_inverse(self) -> Any:
        """The inverse, where ``aside`` is small: made once, however much is asked of a release.

        P = D (I + D^-1 O), so that P^-1 = (I - D^-1 O + (D^-1 O)^2 - ...) D^-1 ends after a few
        terms that are all sparse.
        """
        from scipy import sparse

        term = total = sparse.eye_array(self.size, format="csr")
        while term.nnz:
            term = -(term @ self.aside)
            term.data[np.abs(term.data) < NEGLIGIBLE] = 0
            term.eliminate_zeros()
            total = total + term
        return (total @ sparse.diags_array(1 / self.diagonal)).tocsr()

    @cached_property
    def sparse(self) -> Any:
        """All entries in floating point, as a SciPy array in compressed columns."""
        from scipy import sparse

        numbers = np.arange(self.size)
        entries = np.concatenate([np.ldexp(self.moves.astype(np.float64), -64), self.diagonal])
        rows = np.concatenate([self.sources, numbers])
        columns = np.concatenate([self.targets, numbers])
        return sparse.csc_array((entries, (rows, columns)), shape=(self.size, self.size))

    @property
    def weights(self) -> NDArray[np.object_]:
        """All entries as integers over 2**64, for domains that can be written out."""
        if self.size > DENSE_LIMIT:
            raise TooLarge(
                f"A matrix over {self.size:,} values is not written out in full, only up to "
                f"{DENSE_LIMIT:,}. Use its transitions."
            )
        weights = np.zeros((self.size, self.size), dtype=object)
        weights[self.sources, self.targets] = [int(move) for move in self.moves]
        np.fill_diagonal(weights, self.kept)
        return weights

    @cached_property
    def _full(self) -> bool:
        """Whether every truth can become every value that can be released."""
        columns = np.bincount(self.targets, minlength=self.size) + (self.diagonal > 0)
        return bool(np.isin(columns, (0, self.size)).all())

    @property
    def gamma(self) -> Fraction | float:
        """Unbounded as soon as one value can be reached by some truths only."""
        return amplification(self.weights) if self._full else math.inf

    @property
    def anonymity_ratio(self) -> float:
        """0 as soon as one value can be reached by some truths only [Ikarashi, Thm 3]."""
        return crossed_ratio(self.values) if self._full else 0.0

    def probability(self, truth: Label, released: Label) -> Fraction:
        """The exact probability that ``truth`` is released as ``released``."""
        row, column = self.positions[truth], self.positions[released]
        if row == column:
            return Fraction(self.kept[row], TOTAL)
        span = slice(self.starts[row], self.starts[row + 1])
        found = self.moves[span][self.targets[span] == column]
        return Fraction(int(found[0]) if len(found) else 0, TOTAL)

    def apply(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Expected released counts, in time linear in the transitions."""
        return self._columns(counts, axis, lambda table: self.sparse.T @ table)

    def solve(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Unbiased true counts by a sparse factorisation."""
        return self._columns(counts, axis, lambda table: self._factors.solve(table, "T"))

    def spread(self, counts: ArrayLike, *, axis: int = -1) -> FloatArray:
        """Counts times the squared inverse, a block of columns of the inverse at a time."""

        def squared(table: FloatArray) -> FloatArray:
            result = np.zeros_like(table)
            for block, squares in self._inverse_squares():
                result[block] = squares.T @ table
            return result

        return self._columns(counts, axis, squared)

    @property
    def expected_spread(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """What ``spread`` expects of a record, by value: its own (twice), most and least else."""
        own, most, least = (np.zeros(self.size) for _ in range(3))
        for block, squares in self._inverse_squares():
            found, each = self.sparse @ squares, np.arange(len(block))
            own[block] = found[block, each]
            found[block, each] = -np.inf
            most[block] = found.max(axis=0)
            found[block, each] = np.inf
            least[block] = found.min(axis=0)
        return own, own, most, least

    def _inverse_squares(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Columns of the inverse, squared, a block at a time: it is never written out."""
        for start in range(0, self.size, 512):
            block = np.arange(start, min(start + 512, self.size))
            unit = np.zeros((self.size, len(block)))
            unit[block, np.arange(len(block))] = 1
            yield block, self._factors.solve(unit) ** 2

    @cached_property
    def _factors(self) -> Any:
        from scipy.sparse.linalg import splu

        try:
            factors = splu(self.sparse)
        except RuntimeError:
            factors = None
        if factors is None or self.condition_number > SINGULAR:
            raise SingularMatrix(
                f"A matrix over {self.size:,} values cannot be undone: it is singular."
            )
        return factors

    @cached_property
    def condition_number(self) -> float:
        """An estimate in the 1-norm: the matrix is never inverted."""
        from scipy.sparse.linalg import LinearOperator, onenormest, splu

        try:
            factors = splu(self.sparse)
        except RuntimeError:
            return math.inf
        undo = LinearOperator(
            (self.size, self.size), matvec=factors.solve, rmatvec=lambda x: factors.solve(x, "T")
        )
        return float(onenormest(undo) * abs(self.sparse).sum(axis=0).max())

    @property
    def entropy(self) -> float:
        """Bits of uncertainty that a release adds, each truth equally likely."""
        entries = self.sparse.data[self.sparse.data > 0]
        return float(-(entries * np.log2(entries)).sum() / self.size)

    @staticmethod
    def _columns(counts: ArrayLike, axis: int, function: Any) -> FloatArray:
        """Put the axis first, flatten the rest, apply, and put all back."""
        table = np.moveaxis(np.asarray(counts, dtype=np.float64), axis, 0)
        result = function(np.ascontiguousarray(table.reshape(len(table), -1)))
        return np.moveaxis(result.reshape(table.shape), 0, axis)

    def to_json(self) -> Form:
        """A plain form; the integers as text."""
        return {
            "family": self.family,
            "labels": labels_to_json(self.labels),
            "starts": self.starts.tolist(),
            "targets": self.targets.tolist(),
            "moves": [str(move) for move in self.moves.tolist()],
        }

    @classmethod
    def from_json(cls, form: Form) -> SparseRows:
        """The reverse of :meth:`to_json`."""
        labels = tuple(label_from_json(label) for label in form["labels"])
        moves = np.array([int(move) for move in form["moves"]], dtype=np.uint64)
        return cls(
            labels, np.array(form["starts"]), np.array(form["targets"], dtype=np.int64), moves
        )
