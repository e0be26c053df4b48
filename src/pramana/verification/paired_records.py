"""The released and the original records side by side, as codes that mean the same in both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.mechanisms.mechanism import (
    NOT_REPORTED,
    AttributeSampler,
    Mechanism,
    Step,
    released_codes,
    reported_sets,
)
from pramana.release.certificate import Certificate
from pramana.schema.codec import comparable, encode
from pramana.schema.domains import label_key
from pramana.schema.joint_cells import JointCells
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import BoolArray, FloatArray, IntArray

Stratum: TypeAlias = Mapping[str, str | None]
"""The columns that make a stratum, each with the text of its value."""

LARGEST = 50_000_000
"""Joint domains up to here are laid out to find the cell of a record."""


@dataclass(frozen=True)
class Pair:
    """One code a record, of the original records in their order and of the released in theirs."""

    before: IntArray
    after: IntArray
    size: int

    def with_other(self, other: Pair) -> Pair:
        """The codes of two pairs together: those that occur, numbered anew."""
        both = [a.astype(np.int64) * other.size + b for a, b in (
            (self.before, other.before), (self.after, other.after))]  # fmt: skip
        if self.size * other.size <= LARGEST:  # no need to sort
            there = np.zeros(self.size * other.size, np.bool_)
            for codes in both:
                there[codes] = True
            numbers = np.cumsum(there) - 1
            return Pair(numbers[both[0]], numbers[both[1]], int(numbers[-1]) + 1)
        found, places = np.unique(np.concatenate(both), return_inverse=True)
        places = places.ravel()
        return Pair(places[: len(both[0])], places[len(both[0]) :], len(found))

    @property
    def as_often(self) -> bool:
        """Whether each code has as many released records as true ones."""
        original, released = self.numbers
        return bool((original == released).all())

    @property
    def numbers(self) -> tuple[FloatArray, FloatArray]:
        """How many original and how many released records have each code."""
        before, after = (
            np.bincount(codes, minlength=self.size).astype(np.float64)
            for codes in (self.before, self.after)
        )
        return before, after

    def in_groups(self, most: int) -> Pair:
        """The same in at most this many groups of neighbouring codes with about as many records."""
        if self.size <= most:
            return self
        shares = np.cumsum(np.bincount(self.before, minlength=self.size)) / max(len(self.before), 1)
        group = np.minimum((shares * most).astype(np.int64), most - 1)
        return Pair(group[self.before], group[self.after], most)


@dataclass(frozen=True)
class PairedRecords:
    """A release beside its original."""

    certificate: Certificate
    released: OpenedTable
    original: OpenedTable
    _values: dict[str, Pair] = field(default_factory=dict, init=False)
    _cells: dict[tuple[str, ...], Pair | None] = field(default_factory=dict, init=False)

    @cached_property
    def kept(self) -> dict[str, Pair]:
        """The columns that are released unchanged, or in their bins; without noise."""
        return {
            column.name: self._coded(column) if column.binned else self.values(column.name)
            for column in self.certificate.as_they_are
            if not column.noisy
        }

    @cached_property
    def randomised(self) -> dict[str, Pair]:
        """The randomised columns by their labels; those without a domain by their values."""
        return {
            column.name: self._coded(column) if column.domain is not None
            else self.values(column.name)
            for column in self.certificate.schema.randomised
        }  # fmt: skip

    @cached_property
    def kept_together(self) -> Pair | None:
        """All columns that are released unchanged, as one."""
        return joined(self.kept.values())

    @cached_property
    def asked(self) -> IntArray:
        """Which set each released record was asked for, where records are reports."""
        assert isinstance(self.certificate.mechanism, AttributeSampler)  # noqa: S101 - the caller knows
        return reported_sets(self.certificate.mechanism, self.released)

    def strata(self, mechanism: Mechanism) -> Iterator[tuple[Stratum, BoolArray, BoolArray]]:
        """Each stratum, and which true and which released records lie in it."""
        names = mechanism.strata
        whole = joined(self.values(name) for name in names)
        if whole is None:
            every = np.ones(self.original.rows, dtype=bool)
            yield {}, every, every
            return
        columns = {name: self.original.to_arrow([name]).column(0) for name in names}
        for code, first in zip(*np.unique(whole.before, return_index=True), strict=True):
            stratum = {n: label_key(column[int(first)].as_py()) for n, column in columns.items()}
            yield stratum, whole.before == code, whole.after == code

    def cells(self, step: Step, rows: IntArray | None = None) -> Pair | None:
        """The cells of a step, of all released records or some; none where they are too many."""
        if rows is not None:
            return self._cells_of(step, rows)
        if step.columns not in self._cells:
            self._cells[step.columns] = self._cells_of(step, slice(None))
        return self._cells[step.columns]

    def _cells_of(self, step: Step, some: IntArray | slice) -> Pair | None:
        columns = [self.certificate.schema.column(name) for name in step.columns]
        rounded = any(column.gridded for column in columns)  # which point a number became is lost
        if rounded or math.prod(len(column.labels) for column in columns) > LARGEST:
            return None
        cells = JointCells(tuple(column.labels for column in columns), step.cells)
        pairs = [self.randomised[name] for name in step.columns]
        before = cells.codes([pair.before for pair in pairs])
        after = cells.codes([pair.after[some] for pair in pairs])
        wrong = (before < 0).any() or (after < 0).any()
        return None if wrong else Pair(before, after, len(cells.cells))

    def _coded(self, column: Column) -> Pair:
        before = encode(column, self.original.to_arrow([column.name]).column(0))
        after = released_codes(self.certificate.mechanism, column, self.released)
        silent = after == NOT_REPORTED  # not asked is a value of its own, which no true record has
        size = len(column.labels)
        after = np.where(silent, size, after)
        return Pair(before.astype(np.int64), after, size + bool(silent.any()))

    def values(self, name: str) -> Pair:
        """Codes by the values that occur, in their order."""
        if name in self._values:
            return self._values[name]
        both = [
            comparable(table.to_arrow([name]).column(0)) for table in (self.original, self.released)
        ]
        if both[0].type != both[1].type:
            both = [column.cast(pa.string()) for column in both]
        whole = pa.concat_arrays([*both[0].chunks, *both[1].chunks])
        coded = whole.dictionary_encode(null_encoding="encode")
        order = np.argsort(np.asarray(pc.rank(coded.dictionary)), kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        codes = ranks[np.asarray(coded.indices)]
        pair = Pair(codes[: self.original.rows], codes[self.original.rows :], len(order))
        return self._values.setdefault(name, pair)


def joined(pairs: Iterable[Pair]) -> Pair | None:
    """Several pairs as one."""
    whole: Pair | None = None
    for pair in pairs:
        whole = pair if whole is None else whole.with_other(pair)
    return whole
