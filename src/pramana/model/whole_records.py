"""Whole released records as evidence: fitted to, and judged by each record held out.

Few records are fitted to as they are. Of many, the tables of all pairs of columns are fitted to (a
composite likelihood; every column counts once a record), which takes the same time for a hundred
thousand records and for a million: at low retention nearly all that records say about dependence
is in their pairs, and at high retention many records say plenty. The choice among models is made by
the exact likelihood of whole records held out, given the columns released as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from pramana.model.observed import Answers, Feature, Observed
from pramana.randomness import Keystream
from pramana.table.cells import cell_counts, cell_numbers
from pramana.types import FloatArray, IntArray

__all__ = ["MOST_HELD", "WholeRecords", "different"]

FEW = 100_000
"""Up to so many codes, records times axes, are fitted to as whole records."""

MOST_FLAT = 2**62
"""Records with fewer possible cells are told apart by one number each."""

MOST_HELD = 10_000
"""So many records of each part are enough to judge by."""


@dataclass(frozen=True, eq=False)
class WholeRecords:
    """Released records, one code an axis.

    Attributes:
        sizes: How many values each axis has.
        channels: For each group of records what is seen of each axis; one group where matrices do
            not depend on strata.
        group: The group of each record.
        codes: One array of released codes an axis.
    """

    dear: ClassVar[bool] = True

    sizes: tuple[int, ...]
    channels: tuple[tuple[Feature, ...], ...]
    group: IntArray
    codes: tuple[IntArray, ...]

    @property
    def kept(self) -> list[int]:
        """The axes that were released as they are."""
        features = self.channels[0]
        return [axis for axis, feature in enumerate(features) if feature.moves is None]

    @cached_property
    def whole(self) -> Observed:
        """All records, to fit to."""
        return self.fitted(np.arange(len(self.group)))

    def fitted(self, rows: IntArray) -> Observed:
        """What a model of some records is fitted to."""
        if len(self.group) * len(self.sizes) <= FEW:
            return self.judged(rows, most=len(rows))
        return self.pairs(rows)

    def parts(self, number: int, keystream: Keystream) -> Iterator[tuple[IntArray, IntArray]]:
        """The records in parts by chance: all but one part, and that part."""
        part = keystream.integers("folds", 0, number, count=len(self.group)).astype(np.int64)
        for held in range(number):
            yield np.flatnonzero(part != held), np.flatnonzero(part == held)

    def folds(self, number: int, keystream: Keystream) -> Iterator[tuple[Observed, Observed]]:
        """What to fit to, and the records to judge by."""
        for rest, held in self.parts(number, keystream):
            if len(rest) and len(held):
                yield self.fitted(rest), self.judged(held)

    def pairs(self, rows: IntArray) -> Observed:
        """The tables of all pairs of axes of some records."""
        axes = range(len(self.sizes))
        answers = []
        for number, own in self._groups(rows):
            codes = [code[own] for code in self.codes]
            for pair in itertools.combinations(axes, 2) if len(axes) > 1 else [(0,)]:
                shape = [self.channels[number][axis].size for axis in pair]
                table = cell_counts([codes[axis] for axis in pair], shape) / max(len(axes) - 1, 1)
                places = [number * len(axes) + axis for axis in pair]
                answers.append(Answers.of_table(places, table, base=0.0, gain=1.0))
        return self._observed(answers)

    def judged(self, rows: IntArray, *, most: int = MOST_HELD) -> Observed:
        """Some of the records, whole: axes released as they are come first."""
        axes = [*self.kept, *(axis for axis in range(len(self.sizes)) if axis not in self.kept)]
        answers = []
        for number, own in self._groups(rows[:most]):
            places = tuple(number * len(axes) + axis for axis in axes)
            cells, counts = different([self.codes[axis][own] for axis in axes])
            answers.append(Answers(places, cells, counts, 0.0, 1.0, beside=len(self.kept)))
        return self._observed(answers)

    def _groups(self, rows: IntArray) -> Iterator[tuple[int, IntArray]]:
        if len(self.channels) == 1:
            yield 0, rows
            return
        for number in range(len(self.channels)):
            own = rows[self.group[rows] == number]
            if len(own):
                yield number, own

    def _observed(self, answers: Sequence[Answers]) -> Observed:
        features = tuple(itertools.chain.from_iterable(self.channels))
        return Observed(self.sizes, features, tuple(answers))


def different(codes: Sequence[IntArray]) -> tuple[IntArray, FloatArray]:
    """The different records of some codes, one row each, and how often each occurs."""
    if not len(codes[0]):
        return np.zeros((0, len(codes)), dtype=np.int64), np.zeros(0)
    sizes = [int(code.max()) + 1 for code in codes]
    if prod(sizes) < MOST_FLAT:
        found, counts = np.unique(cell_numbers(codes, sizes), return_counts=True)
        cells = np.stack(np.unravel_index(found, sizes), axis=1)
    else:
        cells, counts = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    return cells.astype(np.int64), counts.astype(np.float64)
