"""Reports: each record answers one set of columns, drawn by chance, and nothing else.

A set S is drawn with the probability ``weight / 2**64``, whatever the record is; then the joint
cell of S goes through the matrix of S, a uniform mixture on the cells that can exist. As a channel
from records to what is released, P[x, (S, y)] = weight(S) P_S[x_S, y]: in every ratio of two
truths the weight cancels, so each set gets the whole budget (docs/proofs/reports.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from pramana.base.name_lists import as_table
from pramana.base.rounding import TOTAL, log_up
from pramana.errors import InvalidMatrix, NotCovered
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Label, are_cells, as_cells
from pramana.mechanisms.uniform_mixture import UniformMixture
from pramana.types import Form

__all__ = ["AttributeSampler", "AttributeSet"]


@dataclass(frozen=True)
class AttributeSet:
    """A set of columns that a record may be asked for.

    Attributes:
        columns: The columns, in the order of the schema.
        weight: The probability of being asked for them, as an integer over 2**64.
        matrix: What is done to their joint cell; labels are tuples where columns are several.
    """

    columns: tuple[str, ...]
    weight: int
    matrix: UniformMixture

    def __post_init__(self) -> None:
        if not 0 < self.weight <= TOTAL:
            raise InvalidMatrix(
                f"The weight of {self.name} must lie in (0, 2**64], got {self.weight}."
            )
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise InvalidMatrix(f"A set must name different columns, got {self.name or 'none'}.")
        if len(self.columns) > 1 and not are_cells(self.matrix.labels, len(self.columns)):
            raise InvalidMatrix(f"The labels of {self.name} must be tuples, one value a column.")

    @cached_property
    def name(self) -> str:
        """The columns in words: what a released record says that it was asked for."""
        return as_table(self.columns)

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """The labels of the matrix, each as a tuple with one value a column."""
        return as_cells(self.matrix.labels, len(self.columns))

    @property
    def share(self) -> float:
        """The probability of being asked."""
        return self.weight / TOTAL

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "columns": list(self.columns),
            "weight": str(self.weight),
            "matrix": self.matrix.to_json(),
        }

    @classmethod
    def from_json(cls, form: Form) -> AttributeSet:
        """The reverse of :meth:`to_json`."""
        matrix = UniformMixture.from_json(form["matrix"])
        return cls(tuple(form["columns"]), int(form["weight"]), matrix)


@dataclass(frozen=True)
class AttributeSampler(Mechanism):
    """All sets that a record may be asked for; their weights sum to 2**64.

    It has no steps: whatever undoes or attacks steps on whole records does not take reports for
    such, and who walks through its steps, as a promise may that knows of whole records alone, is
    refused. One that found none would promise all that records which tell nothing keep.
    """

    steps: tuple[Step, ...] = field(default=(), init=False)
    sets: tuple[AttributeSet, ...] = ()

    def __post_init__(self) -> None:
        total = sum(asked.weight for asked in self.sets)
        if total != TOTAL:
            raise InvalidMatrix(f"The weights of all sets must sum to 2**64, got {total}.")
        names = [asked.name for asked in self.sets]
        if len(set(names)) != len(names):
            raise InvalidMatrix(
                "Each set of columns must be listed once, and no two may read alike: rename "
                "columns that have a * in their names."
            )

    def __iter__(self) -> Iterator[Step]:
        raise NotCovered(
            "Each record answers one set of columns, and no step is done to whole records: what "
            "rests on such steps does not speak of reports."
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked for."""
        return tuple(dict.fromkeys(name for asked in self.sets for name in asked.columns))

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The sets in words."""
        return tuple(asked.name for asked in self.sets)

    def labels_of(self, column: str) -> tuple[Label, ...]:
        """The values of a column that can be told, in the order of the first set that has it."""
        one = next(asked for asked in self.sets if column in asked.columns)
        place = one.columns.index(column)
        return tuple(dict.fromkeys(cell[place] for cell in one.cells))

    @property
    def gamma(self) -> Fraction | float:
        """The largest ratio of two truths' probabilities of one report: the weights cancel."""
        alike = {(one.matrix.size, one.matrix.other): one.matrix for one in self.sets}
        return max(matrix.gamma for matrix in alike.values())

    @property
    def epsilon(self) -> float:
        """ln gamma, rounded up."""
        return log_up(self.gamma)

    @property
    def anonymity_ratio(self) -> Fraction:
        """The smallest ratio of a swap: gamma**-2, reached within the set of the largest gamma."""
        gamma = self.gamma
        return Fraction(0) if gamma == math.inf else 1 / Fraction(gamma) ** 2

    def containing(self, columns: Sequence[str]) -> tuple[AttributeSet, ...]:
        """The sets that hold all of these columns."""
        wanted = set(columns)
        return tuple(asked for asked in self.sets if wanted <= set(asked.columns))

    def to_json(self) -> list[Form]:
        """A plain form."""
        return [asked.to_json() for asked in self.sets]

    @classmethod
    def from_json(cls, form: list[Form]) -> AttributeSampler:
        """The reverse of :meth:`to_json`."""
        return cls(tuple(AttributeSet.from_json(asked) for asked in form))
