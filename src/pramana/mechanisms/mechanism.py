"""The families of transition matrices, and the way back from their plain form.

What is done to a record: independent steps, each one matrix on one or several columns.

Independent steps form the Kronecker product of their matrices; it is never written out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from pramana.base.rounding import TOTAL
from pramana.errors import InvalidMatrix, UnknownColumn
from pramana.mechanisms.listed_cells import ListedCells
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import (
    Dense,
    Label,
    TransitionMatrix,
    as_cells,
    label_from_json,
    label_to_json,
)
from pramana.mechanisms.uniform_mixture import UniformMixture
from pramana.types import Form

__all__ = [
    "Dense",
    "ListedCells",
    "Mechanism",
    "SparseRows",
    "Step",
    "UniformMixture",
    "matrix_from_json",
    "with_fixed",
]

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


@dataclass(frozen=True)
class Step:
    """One matrix on ``columns``; or one matrix for each stratum, by the values of ``strata``.

    The labels of a step on several columns are tuples, one value a column; combinations that
    cannot exist are simply not among them.
    """

    columns: tuple[str, ...]
    matrix: TransitionMatrix | None = None
    strata: tuple[str, ...] = ()
    by_stratum: Mapping[tuple[Label, ...], TransitionMatrix] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.matrix is None) == (not self.by_stratum) or bool(self.strata) != bool(
            self.by_stratum
        ):
            raise InvalidMatrix(
                f"A step on {self._names} needs one matrix, or one for each stratum."
            )
        if len({matrix.labels for matrix in self.matrices}) > 1:
            raise InvalidMatrix(
                f"The matrices of all strata on {self._names} must have the same labels."
            )
        width = len(self.columns)
        if width > 1 and any(
            not isinstance(cell, tuple) or len(cell) != width for cell in self.labels
        ):
            raise InvalidMatrix(
                f"The labels of a joint step on {self._names} must be tuples of {width} values."
            )

    @property
    def _names(self) -> str:
        return ", ".join(f"'{name}'" for name in self.columns)

    @property
    def matrices(self) -> tuple[TransitionMatrix, ...]:
        """The one matrix, or those of all strata."""
        return (self.matrix,) if self.matrix is not None else tuple(self.by_stratum.values())

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values, or joint cells, that the step moves between."""
        return self.matrices[0].labels

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """The same, each with one value a column."""
        return as_cells(self.labels, len(self.columns))

    @property
    def gamma(self) -> Fraction | float:
        """The worst amplification over the strata: each is known, and so is its matrix."""
        return max(matrix.gamma for matrix in self.matrices)

    @property
    def anonymity_ratio(self) -> Fraction | float:
        """The worst ratio over the strata [Ikarashi, Cor. 4]."""
        return min(matrix.anonymity_ratio for matrix in self.matrices)

    def to_json(self) -> Form:
        """A plain form."""
        form: Form = {"columns": list(self.columns)}
        if self.matrix is not None:
            return form | {"matrix": self.matrix.to_json()}
        strata = [
            {"stratum": label_to_json(stratum), "matrix": matrix.to_json()}
            for stratum, matrix in self.by_stratum.items()
        ]
        return form | {"strata": list(self.strata), "by_stratum": strata}

    @classmethod
    def from_json(cls, form: Form) -> Step:
        """The reverse of :meth:`to_json`."""
        columns = tuple(form["columns"])
        if "matrix" in form:
            return cls(columns, matrix_from_json(form["matrix"]))
        by_stratum = {
            label_from_json(entry["stratum"]): matrix_from_json(entry["matrix"])
            for entry in form["by_stratum"]
        }
        return cls(columns, strata=tuple(form["strata"]), by_stratum=by_stratum)


@dataclass(frozen=True)
class Mechanism:
    """All steps; every column belongs to at most one of them."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        names = self.columns
        if len(set(names)) != len(names):
            raise InvalidMatrix("A column must belong to one step only.")

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are randomised."""
        return tuple(name for step in self.steps for name in step.columns)

    @property
    def marks(self) -> tuple[str, ...]:
        """What records may say that they were asked for; none where all of them tell everything."""
        return ()

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns on whose values a matrix depends."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.strata))

    @property
    def gamma(self) -> Fraction | float:
        """The amplification of all steps together: a product of fractions; ``inf`` if unbounded."""
        gammas = [step.gamma for step in self.steps]
        if math.inf in gammas:
            return math.inf
        return math.prod((Fraction(gamma) for gamma in gammas), start=Fraction(1))

    @property
    def anonymity_ratio(self) -> Fraction:
        """The product of the steps' own [Ikarashi, Cor. 4]."""
        return math.prod((Fraction(step.anonymity_ratio) for step in self.steps), start=Fraction(1))

    def step_of(self, column: str) -> Step:
        """The step that a column belongs to."""
        for step in self.steps:
            if column in step.columns:
                return step
        raise UnknownColumn(
            f"'{column}' is not randomised. Randomised are: {', '.join(self.columns) or 'none'}.",
            column=column,
        )

    def to_json(self) -> list[Form]:
        """A plain form."""
        return [step.to_json() for step in self.steps]

    @classmethod
    def from_json(cls, form: list[Form]) -> Mechanism:
        """The reverse of :meth:`to_json`."""
        return cls(tuple(Step.from_json(step) for step in form))
