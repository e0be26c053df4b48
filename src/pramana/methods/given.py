"""Method ``matrix``: the steward brings the matrices, and gets to know what they guarantee.

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
from pathlib import Path
from typing import Any

import numpy as np

from pramana.errors import InvalidMatrix
from pramana.guarantees.base import Evidence, Guarantee
from pramana.guarantees.evaluate import attained
from pramana.matrices.families import Dense
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.transition import Label, TransitionMatrix
from pramana.methods.plan import Plan
from pramana.table.domains import label_text
from pramana.table.schema import Column, Schema, require_domains, require_keys

__all__ = ["given_design", "read_matrix"]


def given_design(
    schema: Schema,
    matrices: Mapping[str, TransitionMatrix],
    asked: Sequence[Guarantee] = (),
    *,
    records: int,
    crowd: int | None = None,
) -> Plan:
    """A plan with one given matrix for each randomised column; checked against what is asked."""
    require_keys(schema)
    require_domains(schema)
    crowd = records if crowd is None else crowd
    names = [column.name for column in schema.randomised]
    if set(names) != set(matrices):
        raise InvalidMatrix(
            f"A matrix must be given for each randomised column ({', '.join(names)}), "
            f"got {', '.join(matrices) or 'none'}."
        )
    if schema.impossible:
        raise InvalidMatrix(
            "Matrices of single columns cannot rule out impossible combinations. Drop the rules "
            "from the schema, or use method retention."
        )
    mechanism = Mechanism(
        tuple(
            Step((column.name,), by_labels(matrices[column.name], column))
            for column in schema.randomised
        )
    )
    return Plan(
        schema=schema,
        mechanism=mechanism,
        method="matrix",
        records=records,
        crowd=crowd,
        asked=tuple(asked),
        attained=attained(Evidence(schema, records, crowd, mechanism), asked),
    )


def by_labels(matrix: TransitionMatrix, column: Column) -> TransitionMatrix:
    """The same matrix in the order of the column's labels; refuses other labels than those."""
    texts = {label_text(label): place for place, label in enumerate(matrix.labels)}
    wanted = [label_text(label) for label in column.labels]
    unknown, lacking = set(texts) - set(wanted), set(wanted) - set(texts)
    if unknown or lacking:
        raise InvalidMatrix(
            f"The matrix for '{column.name}' must have the {len(wanted)} labels of the schema; "
            f"{len(unknown)} of its labels are unknown there and {len(lacking)} are lacking."
        )
    if matrix.labels == column.labels:
        return matrix
    order = [texts[text] for text in wanted]
    return Dense.from_weights(column.labels, matrix.weights[np.ix_(order, order)])


def read_matrix(path: str | Path) -> Dense:
    """A matrix from a CSV file (labels in the first row and column), or from a JSON file.

    The JSON form is ``{"labels": [...], "values": [[...], ...]}``.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InvalidMatrix(f"The matrix file {path} cannot be read as text.") from None
    labels, values = _from_json(text, path) if path.suffix == ".json" else _from_csv(text, path)
    return Dense.of(labels, values, what=f"the matrix in {path.name}")


def _from_json(text: str, path: Path) -> tuple[list[Label], Any]:
    try:
        form = json.loads(text)
        return list(form["labels"]), np.array(form["values"], dtype=np.float64)
    except (ValueError, KeyError, TypeError):
        raise InvalidMatrix(
            f"{path.name} must hold labels and values: rows of equally many numbers."
        ) from None


def _from_csv(text: str, path: Path) -> tuple[list[Label], Any]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows or len({len(row) for row in rows}) != 1:
        raise InvalidMatrix(f"{path.name} must have rows of equally many fields.")
    released = [name.strip() for name in rows[0][1:]]
    truths = [row[0].strip() for row in rows[1:]]
    try:
        values = np.array([[float(field) for field in row[1:]] for row in rows[1:]])
    except ValueError:
        raise InvalidMatrix(f"{path.name} must hold numbers beside its labels.") from None
    if len(released) != len(truths):
        raise InvalidMatrix(
            f"The matrix in {path.name} must be square, got {len(truths)} x {len(released)}. "
            "Rows are truths, columns released values."
        )
    if set(released) != set(truths) or len(set(truths)) < len(truths):
        raise InvalidMatrix(f"Rows and columns of {path.name} must have the same, distinct labels.")
    return truths, values[:, [released.index(truth) for truth in truths]]
