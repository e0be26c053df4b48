"""What a release answers to the steward's own questions, with the truth beside it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pramana.errors import NotCovered, PramanaError, UnknownColumn
from pramana.estimation.question import Question
from pramana.matrices.reporting import Reporting
from pramana.readings.base import Asked
from pramana.readings.records import codes_and_labels
from pramana.readings.release import Release
from pramana.table.cells import cell_counts
from pramana.table.codec import encode, encode_released
from pramana.table.domains import Label
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column, Schema
from pramana.types import Codes, FloatArray, Form

__all__ = ["Answer", "Told", "answer_as_it_stands", "answer_of", "is_asked", "own_questions"]

MOST_QUESTIONS = 10
"""So many two-way tables of keys are looked at where the steward has stated none."""

MOST_CELLS = 100_000
QUICKLY = Question(infer="records")

Told: TypeAlias = tuple[FloatArray, tuple[tuple[Label, ...], ...]]
"""A table of the truth: records by cell, and the labels of each column."""

Encode: TypeAlias = Callable[[Column, pa.ChunkedArray], Codes]
"""How values become codes: those of the truth, or released ones."""


@dataclass(frozen=True, eq=False)
class Answer:
    """One table: in truth, and as an analyst of the release gets it.

    Attributes:
        columns: what is crossed.
        labels: of each column.
        truth: counts of records, one axis a column.
        found: the same from the release; ``None`` where it does not answer.
        estimated: whether the release was undone for it, or counted as it stands.
        unbiased: its unbiased counts, where others are told.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    truth: FloatArray
    found: FloatArray | None
    estimated: bool = True
    unbiased: FloatArray | None = None

    @property
    def unbiased_error(self) -> float:
        """The same of the unbiased estimate."""
        return replace(self, found=self.found if self.unbiased is None else self.unbiased).error

    @property
    def error(self) -> float:
        """Sum of all that cells are off by, as a share of the records; one where none is told.

        Cells that no record tells of, as a group of few where chance asked nobody, lack all theirs.
        """
        if self.found is None:
            return 1.0
        gaps = np.abs(np.nan_to_num(self.found) - self.truth)
        return float(gaps.sum() / max(float(self.truth.sum()), 1.0))

    @property
    def name(self) -> str:
        """The columns in words."""
        return " by ".join(self.columns)

    def largest(self, most: int) -> list[tuple[tuple[Label, ...], float, float | None]]:
        """The cells with most records: labels, truth, and what the release says."""
        order = np.argsort(-self.truth, axis=None, kind="stable")[:most]
        places, found = np.unravel_index(order, self.truth.shape), self.found
        return [
            (
                tuple(own[at] for own, at in zip(self.labels, place, strict=True)),
                float(self.truth[place]),
                None if found is None or np.isnan(found[place]) else float(found[place]),
            )
            for place in zip(*places, strict=True)
        ]

    def to_json(self) -> Form:
        """A plain form, without the cells: they are of the truth."""
        return {
            "columns": list(self.columns),
            "error": self.error,
            "how": "estimated" if self.estimated else "as it stands",
        }


def own_questions(schema: Schema, tables: Sequence[Sequence[str]] = ()) -> list[tuple[str, ...]]:
    """The tables asked for, here or in the schema, each once; else of two keys, or of the only one.

    Tables of columns that are released as they are alone are exact, and no question.
    """
    released = [column.name for column in schema.released]
    for name in (name for table in tables for name in table):
        if name not in released:
            raise UnknownColumn(
                f"Tables of advice are of columns that are released, and '{name}' is none. "
                f"Columns: {', '.join(released) or 'none'}.",
                column=name,
            )
    stated: dict[frozenset[str], tuple[str, ...]] = {}
    for table in tables or schema.tables:
        stated.setdefault(frozenset(table), tuple(table))
    if asked := [table for table in stated.values() if is_asked(schema, table)]:
        return asked
    if tables:
        raise UnknownColumn(
            "Tables of advice must hold a key: what is released as it is can be counted. Keys: "
            f"{', '.join(column.name for column in schema.randomised) or 'none'}."
        )
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


def is_asked(schema: Schema, table: Sequence[str]) -> bool:
    """Whether a table is of released columns, and some of them are randomised."""
    keys = {column.name for column in schema.randomised}
    return bool(keys & {*table}) and {*table} <= {column.name for column in schema.released}


def answer_of(
    release: Release,
    truth: OpenedTable,
    columns: Sequence[str],
    *,
    counted: dict[tuple[str, ...], Told] | None = None,
) -> Answer:
    """What the release says to a table: by its own estimate, or as its records stand.

    Who asks several releases of one truth keeps in ``counted`` what was counted there.
    """
    own = [release.certificate.true_schema.column(name) for name in columns]
    counted = {} if counted is None else counted
    if tuple(columns) not in counted:
        counted[tuple(columns)] = _counted(own, truth)
    told, labels = counted[tuple(columns)]
    try:
        asked = Asked(tuple(columns), question=QUICKLY, weighted=False)
        found = release.reading.counts(asked, method="auto", share=False)
        same = found.labels == labels  # noise on a number makes other values of it
        estimate = np.asarray(found.estimate, dtype=np.float64) if same else None
        return Answer(tuple(columns), labels, told, estimate, unbiased=found.unbiased)
    except PramanaError:
        if isinstance(release.certificate.mechanism, Reporting):
            return Answer(tuple(columns), labels, told, None)
    return answer_as_it_stands(own, release.opened, truth)


def answer_as_it_stands(
    columns: Sequence[Column], released: OpenedTable, truth: OpenedTable
) -> Answer:
    """A table of released records, counted without undoing anything."""
    counted, found = _counted(columns, released, encode=encode_released)
    told, labels = _counted(columns, truth)
    names = tuple(column.name for column in columns)
    return Answer(names, labels, told, counted if found == labels else None, estimated=False)


def _counted(columns: Sequence[Column], table: OpenedTable, *, encode: Encode = encode) -> Told:
    """Records by cell, and the labels of each column."""
    parts = [_coded(column, table.to_arrow([column.name]).column(0), encode) for column in columns]
    labels = tuple(own for _, own in parts)
    sizes = [len(own) for own in labels]
    if prod(sizes) > MOST_CELLS:
        raise NotCovered(f"A table of {prod(sizes):,} cells is not looked at.")
    return cell_counts([codes for codes, _ in parts], sizes), labels


def _coded(
    column: Column, values: pa.ChunkedArray, encode: Encode
) -> tuple[Codes, tuple[Label, ...]]:
    """As tables have them; of a column without a list of values each value is looked at once."""
    if column.domain is not None:
        return codes_and_labels(column, values, encode=encode)
    whole = values.combine_chunks()
    whole = whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
    whole = whole.dictionary_encode(null_encoding="encode")
    codes, labels = codes_and_labels(column, pa.chunked_array([whole.dictionary]))
    return codes[whole.indices.to_numpy(zero_copy_only=False)], labels
