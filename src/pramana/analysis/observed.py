"""Released data, counted: the evidence to which models of original data are fitted.

An axis is a variable of the model: one column, or several that impossible combinations tie
together, with the combinations that can exist as its values. A feature is what a release shows of
an axis: the axis itself, some of its columns, or a released value. It is the channel

    P[x, l] = base[l] + moves[x, l]

from the values of the axis to the released ones, where ``base`` is common to all original values.
What comes from it carries no information, and leaving it out makes every step of a fit longer.

Answers are the joint cells of some features, with counts. With p the model's probability of a cell,
the probability of its release is proportional to ``base + gain * p``: for a report by a uniform
mixture base 1 and gain gamma - 1, for a whole record that went through independent steps base 0 and
gain 1 (its steps are the channels of its features). With columns released unchanged, and z the
probability of their values, it is ``base * z + gain * p``.

Few whole records are fitted to as they are. For many, the tables of all pairs of columns are fitted
to (a composite likelihood), which takes the same time for any number of records: at low retention
nearly all information about dependence is in pairs. Models are chosen by the exact likelihood of
whole records held out, given the columns released unchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np

from pramana.base.randomness import Keystream, Stream
from pramana.errors import InvalidTable
from pramana.schema.joint_cells import cell_counts, cell_numbers
from pramana.types import FloatArray, IntArray

FEW = 100_000
"""Up to this many codes, records times axes, are fitted to as whole records."""


MOST_HELD = 10_000
"""This many records of each part are enough to judge by."""


@dataclass(frozen=True, eq=False)
class Feature:
    """What a release shows of one axis.

    Attributes:
        axis: The place of the axis.
        size: How many values can be released.
        base: The part of the probability of each that does not depend on the original value.
        moves: The rest, original by released values; ``None`` where the axis itself is released.
    """

    axis: int
    size: int
    base: FloatArray | None = None
    moves: FloatArray | None = None

    @classmethod
    def of_channel(cls, axis: int, matrix: FloatArray) -> Feature:
        """A released value: rows are original values, columns released ones."""
        base = matrix.min(axis=0)
        return cls(axis, matrix.shape[1], base, matrix - base)

    @classmethod
    def of_groups(cls, axis: int, groups: IntArray) -> Feature:
        """Some columns of an axis: for each of its values the group that is released."""
        size = int(groups.max()) + 1
        return cls(axis, size, None, np.eye(size)[groups])

    def seen(self, profile: FloatArray) -> FloatArray:
        """The probabilities of released values, from those of the axis (its values come first)."""
        if self.moves is None:
            return profile
        moved: FloatArray = self.moves.T @ profile
        return moved if self.base is None else moved + self.base[:, None]


@dataclass(frozen=True, eq=False)
class Answers:
    """Released cells, and how often each was released.

    Attributes:
        features: Places of the features, in the order of the columns of ``cells``.
        cells: One row per cell that was released, one code a feature.
        counts: How often each was released.
        base: See the head of the module.
        gain: See the head of the module.
        unchanged: This many features, the first ones, were released unchanged.
    """

    features: tuple[int, ...]
    cells: IntArray
    counts: FloatArray
    base: float
    gain: float
    unchanged: int = 0

    @classmethod
    def of_table(
        cls,
        features: Sequence[int],
        table: FloatArray,
        *,
        base: float,
        gain: float,
        unchanged: int = 0,
    ) -> Answers:
        """From counts with one axis a feature."""
        cells = np.argwhere(table > 0).astype(np.int64)
        counts = table[table > 0].astype(np.float64)
        return cls(tuple(features), cells, counts, base, gain, unchanged)

    def with_counts(self, counts: FloatArray) -> Answers:
        """The same cells with other counts; those without a count are left out."""
        some = counts > 0
        return replace(self, cells=self.cells[some], counts=counts[some])


@dataclass(frozen=True, eq=False)
class Observed:
    """All that was released, counted.

    Attributes:
        sizes: How many values each axis has.
        features: What can be released.
        answers: What was released, and how often.
        dear: Whether judging takes long: one part is then held out once, and two priors tried.
    """

    dear: ClassVar[bool] = False

    sizes: tuple[int, ...]
    features: tuple[Feature, ...]
    answers: tuple[Answers, ...]

    def __post_init__(self) -> None:
        if not self.answers or self.records <= 0:
            raise InvalidTable("A model needs at least one released record, got none.")

    @property
    def records(self) -> float:
        """How many records were released."""
        return float(sum(answer.counts.sum() for answer in self.answers))

    @property
    def whole(self) -> Observed:
        """Itself: reports of one set each are fitted to as they are."""
        return self

    def folds(self, number: int, keystream: Keystream) -> Iterator[tuple[Observed, Observed]]:
        """The records in ``number`` random parts: all but one part, and that part.

        Of few records a part may have none: it is left out.
        """
        parts = []
        for place, answer in enumerate(self.answers):
            counts = answer.counts.astype(np.int64)
            cells = np.repeat(np.arange(len(counts)), counts)
            stream = Stream("folds", place)
            part = keystream.integers(stream, 0, number, count=len(cells)).astype(np.int64)
            parts.append(cell_counts([part, cells], [number, len(counts)]))

        def counted(counts: list[FloatArray]) -> Observed:
            pairs = zip(self.answers, counts, strict=True)
            answers = tuple(answer.with_counts(counts) for answer, counts in pairs)
            return Observed(self.sizes, self.features, answers)

        for at in range(number):
            held = [counts[at] for counts in parts]
            rest = [counts.sum(axis=0) - counts[at] for counts in parts]
            if any(counts.any() for counts in held) and any(counts.any() for counts in rest):
                yield counted(rest), counted(held)


@dataclass(frozen=True, eq=False)
class WholeRecords:
    """Released records, one code an axis, in groups with separate channels."""

    dear: ClassVar[bool] = True

    sizes: tuple[int, ...]
    channels: tuple[tuple[Feature, ...], ...]
    group: IntArray
    codes: tuple[IntArray, ...]

    @property
    def kept(self) -> list[int]:
        """The axes that were released unchanged."""
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
        """The records in random parts: all but one part, and that part."""
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
        for number, members in self._groups(rows):
            for pair in itertools.combinations(axes, 2) if len(axes) > 1 else [(0,)]:
                shape = [self.channels[number][axis].size for axis in pair]
                counts = cell_counts([self.codes[axis][members] for axis in pair], shape)
                places = [number * len(axes) + axis for axis in pair]
                table = counts / max(len(axes) - 1, 1)  # every column counts once a record
                answers.append(Answers.of_table(places, table, base=0.0, gain=1.0))
        return self._observed(answers)

    def judged(self, rows: IntArray, *, most: int = MOST_HELD) -> Observed:
        """Some of the records, whole: axes released unchanged come first."""
        axes = [*self.kept, *(axis for axis in range(len(self.sizes)) if axis not in self.kept)]
        answers = []
        for number, members in self._groups(rows[:most]):
            places = tuple(number * len(axes) + axis for axis in axes)
            cells, counts = different([self.codes[axis][members] for axis in axes])
            answers.append(Answers(places, cells, counts, 0.0, 1.0, unchanged=len(self.kept)))
        return self._observed(answers)

    def _groups(self, rows: IntArray) -> Iterator[tuple[int, IntArray]]:
        for number in range(len(self.channels)):
            members = rows[self.group[rows] == number]
            if len(members):
                yield number, members

    def _observed(self, answers: Sequence[Answers]) -> Observed:
        features = tuple(itertools.chain.from_iterable(self.channels))
        return Observed(self.sizes, features, tuple(answers))


def different(codes: Sequence[IntArray]) -> tuple[IntArray, FloatArray]:
    """The different records of some codes, one row each, and how often each occurs."""
    if not len(codes[0]):
        return np.zeros((0, len(codes)), dtype=np.int64), np.zeros(0)
    sizes = [int(code.max()) + 1 for code in codes]
    if prod(sizes) < 2**62:  # one number distinguishes all cells
        numbers, counts = np.unique(cell_numbers(codes, sizes), return_counts=True)
        cells = np.stack(np.unravel_index(numbers, sizes), axis=1)
    else:
        cells, counts = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    return cells.astype(np.int64), counts.astype(np.float64)
