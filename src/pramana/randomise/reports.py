"""Truth to reports: which set a record is asked for, its cell drawn, all other columns empty.

Two words decide over record i: word i of the stream of sets says which set, word i of the stream
of answers what is reported of it. Exactly ``weight`` of 2**64 words ask for a set. Sets that
have all combinations of their columns are drawn all at once, the others one after the other.

A report travels as one number: the cells of all sets are counted through, one set after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from pramana.matrices.families import UniformMixture
from pramana.matrices.mechanism import Step
from pramana.matrices.reporting import Reporting
from pramana.randomise.protect import Randomiser, StepCodec
from pramana.randomise.sampling import BLOCK, sample
from pramana.randomness import Stream
from pramana.table.codec import code_dtype, encode, partly_told
from pramana.table.schema import ASKED
from pramana.types import Codes, IntArray, Words

__all__ = ["Reporter"]


@dataclass(frozen=True)
class Reporter(Randomiser):
    """What is done to a batch of true records that answer one set each."""

    mechanism: Reporting

    @cached_property
    def coded(self) -> pa.Schema:
        """The number of the report, and what stays beside it."""
        beside = [field for field in super().coded if field.name not in self._names]
        kind = pa.from_numpy_dtype(code_dtype(int(self._starts[-1])))
        return pa.schema([*beside, pa.field(ASKED, kind, nullable=False)])

    @cached_property
    def released(self) -> pa.Schema:
        """The columns of the schema, each of which may be empty, and the set in words."""
        fields = [
            field.with_nullable(True) if field.name in self._names else field
            for field in super().released
        ]
        kind = pa.dictionary(pa.from_numpy_dtype(self._sets.dtype), pa.string())
        return pa.schema([*fields, pa.field(ASKED, kind, nullable=False)])

    @cached_property
    def _codecs(self) -> tuple[StepCodec, ...]:
        return tuple(
            StepCodec(
                Step(asked.columns, asked.matrix),
                tuple(self.schema.column(name) for name in asked.columns),
            )
            for asked in self.mechanism.sets
        )

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.mechanism.columns

    @cached_property
    def _spelled(self) -> pa.Array:
        """Each set in words."""
        return pa.array([asked.name for asked in self.mechanism.sets])

    @cached_property
    def _starts(self) -> IntArray:
        """The number of the first cell of each set; the last is that of all cells."""
        return np.cumsum([0, *(asked.matrix.size for asked in self.mechanism.sets)])

    @cached_property
    def _sets(self) -> Codes:
        """The set of each report."""
        sets = np.arange(len(self._codecs), dtype=code_dtype(len(self._codecs)))
        return np.repeat(sets, np.diff(self._starts))

    @cached_property
    def _parts(self) -> dict[str, Codes]:
        """The code of each column in each report, past its last one where it is not asked."""
        found = {}
        for name in self._names:
            known = len(self.schema.column(name).labels)
            found[name] = np.full(len(self._sets), known, dtype=code_dtype(known + 1))
        for codec, start in zip(self._codecs, self._starts.tolist(), strict=False):
            cells = np.arange(len(codec.step.labels))
            for column, part in zip(codec.columns, codec.split(cells), strict=True):
                found[column.name][start : start + len(cells)] = part
        return found

    @cached_property
    def _turns(self) -> _Turns:
        return _Turns.of([asked.weight for asked in self.mechanism.sets])

    @cached_property
    def _wholes(self) -> _WholeSets:
        return _WholeSets.of(self._codecs, self._names, self._starts)

    def encode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The number of each report; every value of every column is checked."""
        records = batch.num_rows
        asked = self._turns.asked(self.keystream.words(Stream("asked"), position, records))
        words = self.keystream.words(Stream("report"), position, records)
        columns = [self.schema.column(name) for name in self._names]
        most = max(len(column.labels) for column in columns)
        # One row a column, and one more for what sets of fewer columns lack.
        truth = np.zeros((len(columns) + 1, records), dtype=code_dtype(most))
        for row, column in enumerate(columns):
            truth[row] = encode(column, batch.column(column.name))
        reports = np.empty(records, dtype=code_dtype(int(self._starts[-1])))
        self._wholes.draw(asked, words, truth, reports)
        self._draw_others(asked, words, truth, reports)
        found = {c.name: encode(c, batch.column(c.name)) for c in self.schema.binned}
        found[ASKED] = reports
        arrays = [
            pa.array(found[field.name])
            if field.name in found
            else batch.column(field.name).cast(field.type)
            for field in self.coded
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def _draw_others(self, asked: IntArray, words: Words, truth: Codes, reports: Codes) -> None:
        """What sets report of which some combinations cannot be."""
        for number in np.flatnonzero(~self._wholes.whole).tolist():
            codec, own = self._codecs[number], np.flatnonzero(asked == number)
            rows = [self._names.index(name) for name in codec.step.columns]
            cells = codec.cells([truth[row][own] for row in rows])
            assert codec.step.matrix is not None  # noqa: S101 - reports have no strata
            drawn = sample(codec.step.matrix, cells, words[own]).astype(np.int64)
            reports[own] = drawn + self._starts[number]

    def decode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released values, nothing where a column was not asked for."""
        reports = batch.column(ASKED).to_numpy().astype(np.int64)
        arrays = []
        for field in self.released:
            if field.name == ASKED:
                column = pa.DictionaryArray.from_arrays(self._sets.take(reports), self._spelled)
            elif field.name in self._names:
                column = self._told(field.name, self._parts[field.name].take(reports), position)
            else:
                column = batch.column(field.name)
                if self.schema.column(field.name).binned:
                    own = self.schema.column(field.name)
                    column = self._decode(own, column.to_numpy(), position)
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)

    def _told(self, name: str, codes: Codes, position: int) -> pa.Array:
        column = self.schema.column(name)
        if not column.drawn:
            each = self._decode(column, np.arange(len(column.labels), dtype=codes.dtype), 0)
            return _looked_up(each, codes)
        silent = codes == len(column.labels)
        known = np.where(silent, 0, codes).astype(code_dtype(len(column.labels)))
        values = self._decode(column, known, position)
        places = pa.array(np.arange(len(codes)), mask=silent)
        return values.take(places)


def _looked_up(each: pa.Array, codes: Codes) -> pa.Array:
    """The value of each code: none where it is missing (the last label) or not asked (past it)."""
    known = len(each) - each.null_count
    if pa.types.is_dictionary(each.type):
        indices = partly_told(codes, codes < known)
        return pa.DictionaryArray.from_arrays(indices, each.dictionary, safe=False)
    if not (pa.types.is_integer(each.type) or pa.types.is_floating(each.type)):
        return pa.concat_arrays([each, pa.nulls(1, each.type)]).take(pa.array(codes))
    values = np.append(each.fill_null(0).to_numpy(), 0).astype(each.type.to_pandas_dtype())
    return partly_told(values.take(codes), codes < known)


@dataclass(frozen=True, eq=False)
class _Turns:
    """Which set a word asks for.

    Attributes:
        ends: where the words of each set end; the last ends at 2**64.
        first: the set of all words that begin with the same 16 bits, -1 where they have several.
    """

    ends: Words
    first: IntArray

    @classmethod
    def of(cls, weights: Sequence[int]) -> _Turns:
        ends = np.array(list(itertools.accumulate(weights))[:-1], dtype=np.uint64)
        begins = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
        first, last = (
            np.searchsorted(ends, words, side="right").astype(np.int64)
            for words in (begins, begins | np.uint64(2**48 - 1))
        )
        return cls(ends, np.where(first == last, first, -1))

    def asked(self, words: Words) -> IntArray:
        found: IntArray = self.first.take((words >> np.uint64(48)).view(np.int64), mode="clip")
        several = np.flatnonzero(found < 0)
        found[several] = np.searchsorted(self.ends, words[several], side="right")
        return found


@dataclass(frozen=True, eq=False)
class _WholeSets:
    """Sets whose cells are all combinations of their columns, in order: drawn together.

    Attributes:
        whole: which sets are so.
        rows: of each column of each set, its row; filled up with the row of no column.
        sizes: how many values it has, filled up with 1.
        other: the weight of each other cell in the set's mixture.
        last: the last word that draws a cell and does not keep the true one.
        starts: the number of its first cell.
    """

    whole: np.ndarray[tuple[int], np.dtype[np.bool_]]
    rows: IntArray
    sizes: IntArray
    other: Words
    last: Words
    starts: IntArray

    @classmethod
    def of(cls, codecs: Sequence[StepCodec], names: Sequence[str], starts: IntArray) -> _WholeSets:
        widest = max(len(codec.columns) for codec in codecs)
        rows = np.full((widest, len(codecs)), len(names), dtype=np.int64)
        sizes = np.ones((widest, len(codecs)), dtype=np.int64)
        whole, other = np.zeros(len(codecs), dtype=bool), np.ones(len(codecs), dtype=np.uint64)
        for at, codec in enumerate(codecs):
            matrix, width = codec.step.matrix, len(codec.columns)
            if isinstance(matrix, UniformMixture) and matrix.size > 1 and codec.orderly:
                whole[at], other[at] = matrix.other > 0, max(matrix.other, 1)
                rows[:width, at] = [names.index(column.name) for column in codec.columns]
                sizes[:width, at] = [len(column.labels) for column in codec.columns]
        cells = sizes.prod(axis=0, dtype=np.uint64)
        return cls(whole, rows, sizes, other, cells * other - np.uint64(1), starts)

    def draw(self, asked: IntArray, words: Words, truth: Codes, reports: Codes) -> None:
        """Fill in the numbers of reports, by cells as ``sample`` draws them, set by set.

        Those of other sets mean nothing yet.
        """
        records, steps = len(asked), np.arange(BLOCK)
        for begin in range(0, records, BLOCK):  # so that all arrays stay in the cache
            part = slice(begin, begin + BLOCK)
            sets, chance = asked[part], words[part]
            cells = np.zeros(len(sets), dtype=np.int64)
            for rows, sizes in zip(self.rows, self.sizes, strict=True):
                places = (rows * records + begin).take(sets) + steps[: len(sets)]
                cells *= sizes.take(sets)
                cells += truth.reshape(-1).take(places)
            drawn = (chance // self.other.take(sets)).view(np.int64)
            keep = -(chance > self.last.take(sets)).astype(np.int64)  # all bits or none
            reports[part] = (drawn ^ ((drawn ^ cells) & keep)) + self.starts.take(sets)
