"""Any stochastic matrix, entry by entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.errors import InvalidMatrix
from pramana.matrices.integers import integer_rows
from pramana.matrices.transition import (
    Label,
    TransitionMatrix,
    amplification,
    check_labels,
    crossed_ratio,
    label_from_json,
    labels_to_json,
)
from pramana.numeric import TOTAL
from pramana.types import FloatArray, Form

__all__ = ["Dense"]


@dataclass(frozen=True, eq=False, repr=False)
class Dense(TransitionMatrix):
    """A matrix that a person or a design wrote down; labels are required and checked.

    >>> swap = Dense.of(("F", "M"), [[0.875, 0.125], [0.25, 0.75]])
    >>> float(swap.gamma)
    6.0
    """

    labels: tuple[Label, ...]
    rows: tuple[tuple[int, ...], ...]

    family: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        check_labels(self.labels)
        if len(self.rows) != self.size or any(len(row) != self.size for row in self.rows):
            widths = sorted({len(row) for row in self.rows})
            raise InvalidMatrix(
                f"The matrix must be square with one row a label, got {len(self.rows)} rows of "
                f"{' or '.join(map(str, widths))} for {self.size} labels. "
                "Rows are truths, columns released values."
            )
        if any(min(row) < 0 or sum(row) != TOTAL for row in self.rows):
            raise InvalidMatrix(
                "Each row of integer weights must be at or above 0 and sum to 2**64."
            )

    @classmethod
    def of(cls, labels: Sequence[Label], values: ArrayLike, *, what: str = "the matrix") -> Dense:
        """From probabilities in floating point: zeros stay zero, ones stay one."""
        table = np.asarray(values, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            shape = " x ".join(map(str, table.shape))
            raise InvalidMatrix(
                f"{what[:1].upper()}{what[1:]} must be square, got {shape}. "
                "Rows are truths, columns released values."
            )
        return cls(tuple(labels), tuple(map(tuple, integer_rows(table, what=what))))

    @classmethod
    def from_weights(cls, labels: Sequence[Label], weights: NDArray[np.object_]) -> Dense:
        """From integers over 2**64."""
        return cls(tuple(labels), tuple(tuple(map(int, row)) for row in weights.tolist()))

    @cached_property
    def weights(self) -> NDArray[np.object_]:
        """All entries as integers over 2**64."""
        weights = np.empty((self.size, self.size), dtype=object)
        weights[:] = self.rows
        weights.flags.writeable = False
        return weights

    @cached_property
    def values(self) -> FloatArray:
        """All entries in floating point, correctly rounded."""
        values = np.ldexp(self.weights.astype(np.float64), -64)
        values.flags.writeable = False
        return values

    @cached_property
    def gamma(self) -> Fraction | float:
        """The largest ratio inside a column."""
        return amplification(self.weights)

    @cached_property
    def anonymity_ratio(self) -> float:
        """The smallest crossed ratio [Ikarashi, Thm 3], rounded down."""
        return crossed_ratio(self.values)

    def to_json(self) -> Form:
        """A plain form; the integers as text."""
        return {
            "family": self.family,
            "labels": labels_to_json(self.labels),
            "rows": [[str(weight) for weight in row] for row in self.rows],
        }

    @classmethod
    def from_json(cls, form: Form) -> Dense:
        """The reverse of :meth:`to_json`."""
        labels = tuple(label_from_json(label) for label in form["labels"])
        return cls(labels, tuple(tuple(int(weight) for weight in row) for row in form["rows"]))
