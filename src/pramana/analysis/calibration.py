"""Calibrate estimated counts to published totals, as survey offices calibrate weights.

A margin says that the cells with a value v of a column have the share s_v of the whole table:
sum_(cells with v) t - s_v sum t = 0. All margins together are B t = 0. Of estimates t with the
covariance V,

    t - V B' (B V B')^-1 B t

fulfils them and has the least variance among linear corrections; its covariance is
V - V B' (B V B')^-1 B V [Deming40]. It uses released counts and published totals alone, so that no
guarantee changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pramana.analysis.variance import JointErrors
from pramana.errors import InputError, InvalidNumber, NotCovered, TooLarge, UnknownColumn
from pramana.io.opening import open_table
from pramana.mechanisms.transition import Label
from pramana.schema.domains import label_text
from pramana.types import FloatArray

MOST_CELLS = 2_000
"""Cells whose covariance matrix is inverted."""

Margins: TypeAlias = str | Path | Mapping[str, Mapping[Label, float]]
"""Published totals by column and value: a mapping, or a file of column, value and total."""


def calibrated(errors: JointErrors, margins: Mapping[int, FloatArray]) -> JointErrors:
    """The numbers with these shares of the values of some axes, and how they err then."""
    shape, cells = errors.numbers.shape, errors.numbers.size
    if cells > MOST_CELLS:
        raise TooLarge(f"Tables of up to {MOST_CELLS:,} cells are calibrated, got {cells:,}.")
    assert errors.covariance is not None  # noqa: S101 - the caller has looked
    constraints = []
    for axis, shares in margins.items():
        places = np.indices(shape)[axis].ravel()
        constraints += [(places == value) - share for value, share in enumerate(shares)]
    bound, start = np.array(constraints), errors.numbers.ravel()
    covariance = errors.covariance([unit.reshape(shape) for unit in np.eye(cells)])
    carried = covariance @ bound.T
    values, vectors = np.linalg.eigh(bound @ carried)
    vectors = vectors[:, values > 1e-9 * covariance.diagonal().max()]  # others have no error
    gain = carried @ vectors @ np.linalg.inv(vectors.T @ bound @ carried @ vectors) @ vectors.T
    correction = np.eye(cells) - gain @ bound
    numbers = correction @ start
    if np.abs(bound @ numbers).max() > 1e-6 * np.abs(start).sum():
        raise NotCovered(
            "The margins contradict counts that the release states without an error. Check the "
            "margins of columns that were released unchanged."
        )
    covariance_of = partial(_corrected, errors, correction)
    return replace(errors, numbers=numbers.reshape(shape), covariance=covariance_of, counts=None)


def _corrected(
    errors: JointErrors, correction: FloatArray, contrasts: Sequence[FloatArray]
) -> FloatArray:
    """The covariance of combinations of corrected numbers."""
    assert errors.covariance is not None  # noqa: S101 - looked at before
    parts = [(contrast.ravel() @ correction).reshape(contrast.shape) for contrast in contrasts]
    return errors.covariance(parts)


def margins_of(
    source: Margins, columns: Mapping[str, Sequence[Label]], *, where: str
) -> dict[str, FloatArray]:
    """The published share of each value of some columns, in the order of their labels."""
    totals: dict[str, dict[str, object]] = {}
    if isinstance(source, Mapping):
        for name, values in source.items():
            totals[name] = {label_text(label): total for label, total in values.items()}
    else:
        table = open_table(source).to_arrow()
        if set(table.column_names) != {"column", "value", "total"}:
            raise InputError("A file of margins must have the columns column, value and total.")
        for row in table.to_pylist():
            by_label = totals.setdefault(str(row["column"]), {})
            label = label_text(row["value"])
            if label in by_label:
                raise InvalidNumber(
                    f"Margins of '{row['column']}' give a value twice.", column=str(row["column"])
                )
            by_label[label] = row["total"]
    for name in totals:
        if name not in columns:
            raise UnknownColumn(f"Margins name '{name}', which is no {where}.", column=name)
    return {name: _shares(name, columns[name], by_label) for name, by_label in totals.items()}


def _shares(name: str, values: Sequence[Label], totals: Mapping[str, object]) -> FloatArray:
    labels = [label_text(label) for label in values]
    if set(totals) != set(labels):
        lacking, strange = len(set(labels) - set(totals)), len(set(totals) - set(labels))
        raise InvalidNumber(
            f"Margins of '{name}' must give each of its {len(labels)} values once: {lacking} are "
            f"missing, {strange} are none of its values.",
            column=name,
        )
    given = [totals[label] for label in labels]
    numbers = np.array([float(t) if isinstance(t, int | float) else math.nan for t in given])
    if not ((numbers >= 0) & (numbers < math.inf)).all():
        raise InvalidNumber(f"Margins of '{name}' must be numbers of 0 or more.", column=name)
    if not numbers.sum() > 0:
        raise InvalidNumber(f"Margins of '{name}' must not all be 0.", column=name)
    return np.asarray(numbers / numbers.sum())
