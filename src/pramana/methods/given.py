"""Method ``matrix``: matrices of the owner, and what they guarantee.

A matrix file names its values twice, as truths in the first column and as released values in the
first row; the order does not matter, since a category is found by its label:

    truth,F,M
    F,0.9,0.1
    M,0.2,0.8
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pramana.base.atomic_files import read_file
from pramana.base.text import counted
from pramana.errors import InputError, InvalidMatrix
from pramana.guarantees.base import Guarantee
from pramana.guarantees.claims import attained
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, Label, TransitionMatrix
from pramana.methods.base import Method, option
from pramana.methods.context import DesignContext
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.domains import label_text
from pramana.schema.schema import Column, Schema, require_domains, require_keys
from pramana.types import Entries

MATRIX_FILES = "Your own matrix for a column, as CSV or JSON; once for each key."

Matrices = Mapping[str, TransitionMatrix | str | Path] | None
"""A matrix, or the path of one, for each randomised column."""


def files_of(texts: Sequence[str]) -> dict[str, Path]:
    """Which file holds the matrix of which column.

    >>> files_of(["sex=sex.csv"])
    {'sex': PosixPath('sex.csv')}
    """
    files: dict[str, Path] = {}
    for text in texts:
        column, equals, file = text.rpartition("=")
        if not (column and equals and file) or column in files:
            raise InputError(f"--matrix takes COLUMN=FILE, once for each column, got '{text}'.")
        files[column] = Path(file)
    return files


def read_matrices(given: Matrices) -> dict[str, TransitionMatrix]:
    """Each matrix, read where a path was given."""
    return {
        name: matrix if isinstance(matrix, TransitionMatrix) else read_matrix(matrix)
        for name, matrix in (given or {}).items()
    }


@dataclass(frozen=True)
class GivenMatrices(Method):
    """One given matrix for each randomised column; checked against what is asked.

    Attributes:
        matrices: a matrix, or the path of one, for each randomised column.
    """

    matrices: Matrices = option(None, MATRIX_FILES, flag="--matrix", metavar="COLUMN=FILE",
                                read=files_of, chooses=True)  # fmt: skip

    name: ClassVar[str] = "matrix"
    when: ClassVar[str] = "You have your own matrices and want to know what they guarantee."
    aims: ClassVar[tuple[str, ...]] = ()
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset()
    kind: ClassVar[str] = "published"
    keeps_rules: ClassVar[bool] = False
    origin: ClassVar[str] = "brought by the owner; assumed not to have been made from the data"

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrices", read_matrices(self.matrices))

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """The given matrices, if they meet what is asked."""
        schema = context.schema
        require_keys(schema)
        require_domains(schema)
        if schema.impossible:
            raise InvalidMatrix(
                "Matrices of single columns cannot rule out impossible combinations. Drop the "
                "rules from the schema, or use method retention."
            )
        given = matrices_for(read_matrices(self.matrices), schema)
        _refuse_moved(given, schema)
        mechanism = Mechanism(tuple(Step((name,), matrix) for name, matrix in given.items()))
        known = context.counted if self.data_dependent else context.fixed
        return context.plan(
            self,
            mechanism,
            asked,
            attained(known(mechanism), asked),
            public={"matrices": self.origin},
        )

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """Where the matrices come from."""
        del certificate  # it is the same in all
        return {}, {"matrices": cls.origin}


@dataclass(frozen=True)
class MatricesFromData(GivenMatrices):
    """The same, for matrices made from these data: neither epsilon nor rho2 can hold then."""

    name: ClassVar[str] = "matrix-from-data"
    when: ClassVar[str] = "You have your own matrices, made from these data."
    data_dependent: ClassVar[bool] = True
    origin: ClassVar[str] = "brought by the owner, who made them from the data"


def _refuse_moved(given: Mapping[str, TransitionMatrix], schema: Schema) -> None:
    """Refuse a matrix that moves what the schema says must stay."""
    for column in schema.randomised:
        matrix = given[column.name]
        moved = [v for v in column.fixed if matrix.probability(v, v) < 1]
        if moved:
            raise InvalidMatrix(
                f"The matrix for '{column.name}' changes {counted(len(moved), 'value')} that the "
                "schema exempts or keeps missing. Give them rows with 1 on the diagonal, or change "
                "the schema.",
                column=column.name,
            )


def matrices_for(
    matrices: Mapping[str, TransitionMatrix], schema: Schema
) -> dict[str, TransitionMatrix]:
    """The matrix of each randomised column, in the order of its labels."""
    names = [column.name for column in schema.randomised]
    if set(names) != set(matrices):
        raise InvalidMatrix(
            f"A matrix must be given for each randomised column ({', '.join(names)}), "
            f"got {', '.join(matrices) or 'none'}."
        )
    return {c.name: by_labels(matrices[c.name], c) for c in schema.randomised}


def by_labels(matrix: TransitionMatrix, column: Column) -> TransitionMatrix:
    """The same matrix in the order of the column's labels; refuses other labels than those."""
    texts = {label_text(label): place for place, label in enumerate(matrix.labels)}
    wanted = [label_text(label) for label in column.labels]
    unknown, lacking = set(texts) - set(wanted), set(wanted) - set(texts)
    if unknown or lacking:
        raise InvalidMatrix(
            f"The matrix for '{column.name}' must have the {len(wanted)} labels of the schema; "
            f"{len(unknown)} of its labels are not in the schema and {len(lacking)} are missing.",
            column=column.name,
        )
    if matrix.labels == column.labels:
        return matrix
    order = [texts[text] for text in wanted]
    return Dense.from_weights(column.labels, matrix.weights[np.ix_(order, order)])


def read_matrix(path: str | Path) -> Dense:
    """A matrix from CSV (labels in first row and column) or JSON (``labels``, ``values``)."""
    path = Path(path)
    try:
        text = read_file(path, what="matrix file").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidMatrix(f"The matrix file {path} cannot be read as text.") from None
    labels, values = _from_json(text, path) if path.suffix == ".json" else _from_csv(text, path)
    return Dense.of(labels, values, what=f"the matrix in {path.name}")


def _from_json(text: str, path: Path) -> tuple[list[Label], Any]:
    try:
        form = json.loads(text)
        return list(form["labels"]), np.array(form["values"], dtype=np.float64)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise InvalidMatrix(
            f"{path.name} must hold labels and values: rows of equally many numbers."
        ) from None


def _from_csv(text: str, path: Path) -> tuple[list[Label], Any]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        raise InvalidMatrix(f"{path.name} must have rows of equally many fields.")
    released = [name.strip() for name in rows[0][1:]]
    truths = [row[0].strip() for row in rows[1:]]
    try:
        values = np.array([[float(field) for field in row[1:]] for row in rows[1:]])
    except ValueError:
        raise InvalidMatrix(f"{path.name} must hold labels and numbers.") from None
    if len(released) != len(truths):
        raise InvalidMatrix(
            f"The matrix in {path.name} must be square, got {len(truths)} x {len(released)}. "
            "Rows are original values, columns released values."
        )
    if set(released) != set(truths) or len(set(truths)) < len(truths):
        raise InvalidMatrix(f"Rows and columns of {path.name} must have the same, distinct labels.")
    return truths, values[:, [released.index(original) for original in truths]]
