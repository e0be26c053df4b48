"""Mechanisms: how a record is randomised, by independent steps or by attribute sampling.

Independent steps, each one matrix on one or several columns, form the Kronecker product of their
matrices; it is never written out. The families of matrices are found here by name.

Attribute sampling: each record answers one set of columns, drawn at random, and nothing else. A
set S is drawn with the probability ``weight / 2**64``, independently of the record; then the joint
cell of S goes through the matrix of S, a uniform mixture on the cells that can exist. As a channel
from records to releases, P[x, (S, y)] = weight(S) P_S[x_S, y]: in every ratio of two original
values the weight cancels, so each set gets the whole budget (docs/proofs/attribute_sampling.md).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import TOTAL, log_up
from pramana.base.text import as_table, records_that
from pramana.errors import AlteredRelease, InvalidMatrix, NotCovered, UnknownColumn
from pramana.mechanisms.sparse_rows import ListedCells, SparseRows
from pramana.mechanisms.transition import (
    Dense,
    Label,
    TransitionMatrix,
    UniformMixture,
    are_cells,
    as_cells,
    label_from_json,
    label_to_json,
)
from pramana.schema.codec import code_dtype, decode, encode_released
from pramana.schema.joint_cells import cell_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.types import Form, IntArray

FAMILIES: Form = {cls.family: cls for cls in (UniformMixture, Dense, SparseRows, ListedCells)}


def matrix_from_json(form: Form) -> TransitionMatrix:
    """Any matrix from its JSON form."""
    try:
        family = FAMILIES[form["family"]]
    except (KeyError, TypeError):
        raise InvalidMatrix(
            f"The family of a matrix must be one of {', '.join(FAMILIES)}."
        ) from None
    try:
        matrix: TransitionMatrix = family.from_json(form)
    except InvalidMatrix:
        raise
    except (KeyError, TypeError, IndexError, ValueError, OverflowError):
        raise InvalidMatrix(
            f"The JSON form of a {form['family']} matrix is incomplete or broken."
        ) from None
    return matrix


def with_fixed(
    labels: tuple[Label, ...], fixed: Collection[Label], *, retention: float
) -> TransitionMatrix:
    """A uniform mixture of the values that may change; fixed ones stay (gamma is infinite)."""
    free = tuple(label for label in labels if label not in fixed)
    if len(free) == len(labels):
        return UniformMixture.of(labels, retention=retention)
    weights = np.zeros((len(labels), len(labels)), dtype=object)
    np.fill_diagonal(weights, TOTAL)
    if len(free) > 1:
        places = [labels.index(label) for label in free]
        weights[np.ix_(places, places)] = UniformMixture.of(free, retention=retention).weights
    return Dense.from_weights(labels, weights)


@dataclass(frozen=True)
class Step:
    """One matrix on ``columns``, or one for each stratum; labels of several columns are tuples."""

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
        if width > 1 and not are_cells(self.labels, width):
            raise InvalidMatrix(
                f"The labels of a joint step on {self._names} must be tuples of {width} values."
            )

    @property
    def _names(self) -> str:
        return ", ".join(f"'{name}'" for name in self.columns)

    @property
    def matrices(self) -> tuple[TransitionMatrix, ...]:
        """The one matrix, or the matrices of all strata."""
        return (self.matrix,) if self.matrix is not None else tuple(self.by_stratum.values())

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values, or joint cells, that the step moves between."""
        return self.matrices[0].labels

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """The same, each with one value per column."""
        return as_cells(self.labels, len(self.columns))

    @property
    def gamma(self) -> Fraction | float:
        """The largest amplification of the strata."""
        return max(matrix.gamma for matrix in self.matrices)

    @property
    def anonymity_ratio(self) -> Fraction | float:
        """The smallest ratio of the strata [Ikarashi, Cor. 4]."""
        return min(matrix.anonymity_ratio for matrix in self.matrices)

    def to_json(self) -> Form:
        """The JSON form."""
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
        """Names of the attribute sets; none if every record has all columns."""
        return ()

    @property
    def picked(self) -> tuple[str, ...]:
        """Names of the attribute sets of which one is drawn for each record."""
        return self.marks

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns on whose values a matrix depends."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.strata))

    def rows(self, records: int) -> int:
        """The number of rows of a release."""
        return records

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
        """The JSON form."""
        return [step.to_json() for step in self.steps]

    @classmethod
    def from_json(cls, form: list[Form]) -> Mechanism:
        """The reverse of :meth:`to_json`."""
        return cls(tuple(Step.from_json(step) for step in form))


@dataclass(frozen=True)
class AttributeSet:
    """A set of columns, the probability of being asked for it over 2**64, and its matrix."""

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
        """The name of the set in released records."""
        return as_table(self.columns)

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """The labels of the matrix, each as a tuple with one value per column."""
        return as_cells(self.matrix.labels, len(self.columns))

    @property
    def share(self) -> float:
        """The probability of the set."""
        return self.weight / TOTAL

    def to_json(self) -> Form:
        """The JSON form."""
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
    """All attribute sets; their weights sum to 2**64.

    It has no steps: code that iterates over steps, and so assumes whole records, is refused.
    """

    steps: tuple[Step, ...] = field(default=(), init=False)
    sets: tuple[AttributeSet, ...] = ()

    def __post_init__(self) -> None:
        self._require_weights()
        names = [asked.name for asked in self.sets]
        if len(set(names)) != len(names):
            raise InvalidMatrix(
                "Each set of columns must be listed once, and no two may have the same text: "
                "rename columns that have a * in their names."
            )

    def _require_weights(self) -> None:
        total = sum(asked.weight for asked in self.sets)
        if total != TOTAL:
            raise InvalidMatrix(f"The weights of all sets must sum to 2**64, got {total}.")

    def __iter__(self) -> Iterator[Step]:
        raise NotCovered(
            "Each record reports one attribute set, and no step applies to whole records."
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all sets."""
        return tuple(dict.fromkeys(name for asked in self.sets for name in asked.columns))

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The names of the sets."""
        return tuple(asked.name for asked in self.sets)

    def labels_of(self, column: str) -> tuple[Label, ...]:
        """The values of a column, in the order of the first set that contains it."""
        first = next(asked for asked in self.sets if column in asked.columns)
        place = first.columns.index(column)
        return tuple(dict.fromkeys(cell[place] for cell in first.cells))

    @property
    def gamma(self) -> Fraction | float:
        """The largest ratio of two original values in one report: the weights cancel."""
        alike = {(one.matrix.size, one.matrix.other): one.matrix for one in self.sets}
        return max(matrix.gamma for matrix in alike.values())

    @property
    def epsilon(self) -> float:
        """Ln gamma, rounded up."""
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
        """The JSON form."""
        return [asked.to_json() for asked in self.sets]

    @classmethod
    def from_json(cls, form: list[Form]) -> AttributeSampler:
        """The reverse of :meth:`to_json`."""
        return cls(tuple(AttributeSet.from_json(asked) for asked in form))


@dataclass(frozen=True)
class ShuffledRounds(AttributeSampler):
    """Sets that every record is asked for, each in a round that is shuffled by itself.

    Answers of one person in two rounds cannot be linked, so that a round shows no more than how
    often each cell was answered [docs/proofs/shuffled_marginals.md]. Every weight is 2**64.
    """

    def _require_weights(self) -> None:
        if not self.sets or any(asked.weight != TOTAL for asked in self.sets):
            raise InvalidMatrix("Every record must be asked for every set: weights of 2**64.")

    @cached_property
    def gamma(self) -> Fraction | float:
        """The ratio before any shuffle: the product over the rounds."""
        gammas = [one.matrix.gamma for one in self.sets]
        if math.inf in gammas:
            return math.inf
        return math.prod((Fraction(gamma) for gamma in gammas), start=Fraction(1))

    @property
    def anonymity_ratio(self) -> Fraction:
        """The smallest ratio of a swap in a round: other rounds say nothing about it."""
        return min(Fraction(one.matrix.anonymity_ratio) for one in self.sets)

    @property
    def picked(self) -> tuple[str, ...]:
        """None: everybody answers every set."""
        return ()

    def rows(self, records: int) -> int:
        """One row per cell, however many records there are."""
        del records
        return sum(one.matrix.size for one in self.sets)


NOT_REPORTED = -1  # the code of what was not asked
LOOK = "It was altered: pramana verify lists all failed checks."


def released_codes(
    mechanism: Mechanism | None, column: Column, released: OpenedTable | pa.Table
) -> IntArray:
    """The released code of each record, ``NOT_REPORTED`` where it was not asked for the column."""
    if not isinstance(mechanism, AttributeSampler) or column.name not in mechanism.columns:
        return encode_released(column, _columns(released, [column.name])[0]).astype(np.int64)
    values, marks = _columns(released, [column.name, REPORTED])
    sets = pa.array([asked.name for asked in mechanism.containing([column.name])], pa.string())
    reported = pc.is_in(marks.cast(pa.string()), value_set=sets)
    codes = np.full(len(values), NOT_REPORTED, dtype=np.int64)
    codes[np.asarray(reported)] = encode_released(column, values.filter(reported))
    return codes


def reported_sets(mechanism: AttributeSampler, released: OpenedTable | pa.Table) -> IntArray:
    """Which set each record was asked for, by its place among the sets."""
    (marks,) = _columns(released, [REPORTED])
    names = pa.array([asked.name for asked in mechanism.sets], pa.string())
    places = pc.index_in(marks.cast(pa.string()), value_set=names)
    return np.asarray(pc.fill_null(places, NOT_REPORTED)).astype(np.int64)


def stated_sets(mechanism: AttributeSampler, released: OpenedTable | pa.Table) -> IntArray:
    """The same, for who relies on them: a record that names none of the sets is refused."""
    sets = reported_sets(mechanism, released)
    if unknown := int((sets == NOT_REPORTED).sum()):
        raise AlteredRelease(
            f"{records_that(unknown, 'names', 'name')} a set of columns that the certificate does "
            f"not state. {LOOK}"
        )
    return sets


def _columns(table: OpenedTable | pa.Table, names: Sequence[str]) -> list[pa.ChunkedArray]:
    columns = table.select(names) if isinstance(table, pa.Table) else table.to_arrow(list(names))
    return [columns.column(name) for name in names]


MIDDLE = np.uint64(2**63)  # the word by which a bin that is released as a number shows its middle


def table_of_rounds(schema: Schema, mechanism: ShuffledRounds) -> pa.Table:
    """One row per cell: its values, nothing in columns outside its round, and the round."""
    rows = mechanism.rows(0)
    starts = np.cumsum([0, *(asked.matrix.size for asked in mechanism.sets)])
    columns: dict[str, pa.Array] = {}
    for column in schema.released:
        if column.name not in mechanism.columns:
            continue
        codes, reported = np.zeros(rows, dtype=code_dtype(len(column.labels))), np.zeros(rows, bool)
        for asked, begin in zip(mechanism.sets, starts.tolist(), strict=False):
            if column.name in asked.columns:
                place = slice(begin, begin + asked.matrix.size)
                labels = [schema.column(name).labels for name in asked.columns]
                codes[place] = cell_codes(labels, asked.cells)[asked.columns.index(column.name)]
                reported[place] = True
        values = decode(column, codes, np.full(rows, MIDDLE))
        columns[column.name] = values.take(pa.array(np.arange(rows), mask=~reported))
    sets = np.repeat(
        np.arange(len(mechanism.sets), dtype=code_dtype(len(mechanism.sets))), np.diff(starts)
    )
    columns[REPORTED] = pa.DictionaryArray.from_arrays(sets, pa.array(mechanism.marks, pa.string()))
    return pa.table(columns)
