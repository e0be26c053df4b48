"""What a release answers to the steward's own questions, with the truth beside it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from pramana.errors import NotCovered, PramanaError, UnknownColumn
from pramana.estimation.variance import Question
from pramana.matrices.reporting import Reporting
from pramana.readings.base import Asked
from pramana.readings.release import Release
from pramana.table.cells import cell_counts
from pramana.table.codec import encode, encode_released
from pramana.table.domains import Label
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column, Schema
from pramana.types import FloatArray, Form

__all__ = ["Answer", "answer_as_it_stands", "answer_of", "own_questions"]

MOST_QUESTIONS = 10
"""So many two-way tables of keys are looked at where the steward has stated none."""

MOST_CELLS = 100_000
QUICKLY = Question(infer="records")


@dataclass(frozen=True, eq=False)
class Answer:
    """One table: in truth, and as an analyst of the release gets it.

    Attributes:
        columns: what is crossed.
        labels: of each column.
        truth: counts of records, one axis a column.
        found: the same from the release; ``None`` where it does not answer.
        estimated: whether the release was undone for it, or counted as it stands.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    truth: FloatArray
    found: FloatArray | None
    estimated: bool = True

    @property
    def error(self) -> float:
        """Sum of all that cells are off by, as a share of the records; one where none is told."""
        if self.found is None:
            return 1.0
        return float(np.abs(self.found - self.truth).sum() / max(float(self.truth.sum()), 1.0))

    @property
    def name(self) -> str:
        """The columns in words."""
        return " by ".join(self.columns)

    def largest(self, most: int) -> list[tuple[tuple[Label, ...], float, float | None]]:
        """The cells with most records: labels, truth, and what the release says."""
        order = np.argsort(-self.truth, axis=None, kind="stable")[:most]
        places = list(zip(*np.unravel_index(order, self.truth.shape), strict=True))
        return [
            (
                tuple(own[at] for own, at in zip(self.labels, place, strict=True)),
                float(self.truth[place]),
                None if self.found is None else float(self.found[place]),
            )
            for place in places
        ]

    def to_json(self) -> Form:
        """A plain form, without the cells: they are of the truth."""
        return {
            "columns": list(self.columns),
            "error": self.error,
            "how": "estimated" if self.estimated else "as it stands",
        }


def own_questions(schema: Schema, tables: Sequence[Sequence[str]] = ()) -> list[tuple[str, ...]]:
    """The tables asked for, here or in the schema; else of two keys each, or of the only one."""
    keys = {column.name for column in schema.randomised}
    own = [table for table in schema.tables if set(table) <= keys]  # others are of kept columns
    stated = [tuple(table) for table in (tables or own)]
    for name in (name for table in stated for name in table):
        if name not in keys:
            raise UnknownColumn(
                f"Tables of advice are of keys, and '{name}' is none. Keys: "
                f"{', '.join(sorted(keys)) or 'none'}."
            )
    if stated:
        return stated
    names = [column.name for column in schema.randomised]
    if len(names) < 2:
        return [(name,) for name in names]
    sizes = {column.name: len(column.labels) for column in schema.randomised if column.domain}
    pairs: list[tuple[str, ...]] = [
        (one, other)
        for one, other in itertools.combinations(names, 2)
        if sizes.get(one, 1) * sizes.get(other, 1) <= MOST_CELLS
    ] or [(name,) for name in names]
    step = max(1, len(pairs) // MOST_QUESTIONS)
    return pairs[::step][:MOST_QUESTIONS]


def answer_of(release: Release, truth: OpenedTable, columns: Sequence[str]) -> Answer:
    """What the release says to a table of keys: by its own estimate, or as its records stand."""
    own = [release.certificate.true_schema.column(name) for name in columns]
    told = _counted(own, truth)
    labels = tuple(column.labels for column in own)
    try:
        asked = Asked(tuple(columns), question=QUICKLY, weighted=False)
        found = release.reading.counts(asked, method="auto", share=False)
        return Answer(tuple(columns), labels, told, np.asarray(found.estimate, dtype=np.float64))
    except PramanaError:
        if isinstance(release.certificate.mechanism, Reporting):
            return Answer(tuple(columns), labels, told, None)
    return answer_as_it_stands(own, release.opened, truth)


def answer_as_it_stands(
    columns: Sequence[Column], released: OpenedTable, truth: OpenedTable
) -> Answer:
    """A table of released records, counted without undoing anything."""
    labels = tuple(column.labels for column in columns)
    counted = _counted(columns, released, released=True)
    names = tuple(column.name for column in columns)
    return Answer(names, labels, _counted(columns, truth), counted, estimated=False)


def _counted(
    columns: Sequence[Column], table: OpenedTable, *, released: bool = False
) -> FloatArray:
    sizes = [len(column.labels) for column in columns]
    if prod(sizes) > MOST_CELLS:
        raise NotCovered(f"A table of {prod(sizes):,} cells is not looked at.")
    code = encode_released if released else encode
    return cell_counts([code(c, table.to_arrow([c.name]).column(0)) for c in columns], sizes)
