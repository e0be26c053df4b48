"""Truth to reports: which set a record is asked for, its cell drawn, all other columns empty.

Two words decide over record i: word i of the stream of sets says which set, word i of the stream
of answers what is reported of it. Exactly ``weight`` of 2**64 words ask for a set. Sets that
have all combinations of their columns are drawn all at once, the others one after the other.
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
from pramana.randomise.sampling import sample
from pramana.randomness import Stream
from pramana.table.codec import code_dtype, encode
from pramana.table.domains import Bins
from pramana.table.schema import ASKED
from pramana.types import Codes, IntArray, Words

__all__ = ["Reporter"]


@dataclass(frozen=True)
class Reporter(Randomiser):
    """What is done to a batch of true records that answer one set each."""

    mechanism: Reporting

    @cached_property
    def coded(self) -> pa.Schema:
        """Codes, one more of each column for what is not asked; then the number of the set."""
        fields = [
            pa.field(field.name, self._wide(field.name), nullable=False)
            if field.name in self.mechanism.columns
            else field
            for field in super().coded
        ]
        kind = pa.from_numpy_dtype(code_dtype(len(self.mechanism.sets)))
        return pa.schema([*fields, pa.field(ASKED, kind, nullable=False)])

    def _wide(self, name: str) -> pa.DataType:
        return pa.from_numpy_dtype(code_dtype(len(self.schema.column(name).labels) + 1))

    @cached_property
    def released(self) -> pa.Schema:
        """The columns of the schema, each of which may be empty, and the set in words."""
        fields = [
            field.with_nullable(True) if field.name in self.mechanism.columns else field
            for field in super().released
        ]
        kind = pa.dictionary(self.coded.field(ASKED).type, pa.string())
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
    def _turns(self) -> _Turns:
        return _Turns.of([asked.weight for asked in self.mechanism.sets])

    @cached_property
    def _wholes(self) -> _WholeSets:
        return _WholeSets.of(self._codecs, self._names)

    def encode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Codes of what is reported; every value of every column is checked."""
        records = batch.num_rows
        words = self.keystream.words(Stream("asked"), position, records)
        asked = self._turns.asked(words)
        words = self.keystream.words(Stream("report"), position, records)
        columns = [self.schema.column(name) for name in self._names]
        most = max(len(column.labels) for column in columns)
        # One row a column, and one more for what sets of fewer columns lack.
        truth = np.zeros((len(columns) + 1, records), dtype=code_dtype(most + 1))
        told = np.empty_like(truth)
        for row, column in enumerate(columns):
            truth[row] = encode(column, batch.column(column.name))
            told[row] = len(column.labels)
        self._wholes.draw(asked, words, truth, told)
        self._draw_others(asked, words, truth, told)
        found = {
            column.name: told[row].astype(code_dtype(len(column.labels) + 1), copy=False)
            for row, column in enumerate(columns)
        }
        found[ASKED] = asked.astype(code_dtype(len(self._codecs)))
        found |= {c.name: encode(c, batch.column(c.name)) for c in self.schema.binned}
        arrays = [
            pa.array(found[field.name])
            if field.name in found
            else batch.column(field.name).cast(field.type)
            for field in self.coded
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def _draw_others(self, asked: IntArray, words: Words, truth: Codes, told: Codes) -> None:
        """What sets report of which some combinations cannot be."""
        for number in np.flatnonzero(~self._wholes.whole).tolist():
            codec, own = self._codecs[number], np.flatnonzero(asked == number)
            rows = [self._names.index(name) for name in codec.step.columns]
            cells = codec.cells([truth[row][own] for row in rows])
            assert codec.step.matrix is not None  # noqa: S101 - reports have no strata
            drawn = sample(codec.step.matrix, cells, words[own])
            for row, part in zip(rows, codec.split(drawn), strict=True):
                told[row][own] = part

    def decode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released values, nothing where a column was not asked for."""
        arrays = []
        for field in self.released:
            column = batch.column(field.name)
            if field.name == ASKED:
                names = pa.array([asked.name for asked in self.mechanism.sets])
                column = pa.DictionaryArray.from_arrays(column, names)
            elif field.name in self._names:
                column = self._told(field.name, column.to_numpy(), position)
            elif self.schema.column(field.name).binned:
                own = self.schema.column(field.name)
                column = self._decode(own, column.to_numpy(), position)
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)

    def _told(self, name: str, codes: Codes, position: int) -> pa.Array:
        column = self.schema.column(name)
        if not (isinstance(column.domain, Bins) and column.domain.release == "draw"):
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
        indices = pa.array(codes, mask=codes >= known)
        return pa.DictionaryArray.from_arrays(indices, each.dictionary, safe=False)
    if not (pa.types.is_integer(each.type) or pa.types.is_floating(each.type)):
        return pa.concat_arrays([each, pa.nulls(1, each.type)]).take(pa.array(codes))
    values = np.append(each.fill_null(0).to_numpy(), 0).astype(each.type.to_pandas_dtype())
    told = np.packbits(codes < known, bitorder="little")
    buffers = [pa.py_buffer(told), pa.py_buffer(values.take(codes))]
    return pa.Array.from_buffers(each.type, len(codes), buffers)


@dataclass(frozen=True, eq=False)
class _Turns:
    """Which set a word asks for.

    Attributes:
        ends: where the words of each set end; the last ends at 2**64.
        first: the set of the first word that begins with the same 16 bits.
        alone: whether all words that begin so ask for it.
    """

    ends: Words
    first: IntArray
    alone: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def of(cls, weights: Sequence[int]) -> _Turns:
        ends = np.array(list(itertools.accumulate(weights))[:-1], dtype=np.uint64)
        begins = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
        first, last = (
            np.searchsorted(ends, words, side="right").astype(np.int64)
            for words in (begins, begins | np.uint64(2**48 - 1))
        )
        return cls(ends, first, first == last)

    def asked(self, words: Words) -> IntArray:
        begin = (words >> np.uint64(48)).astype(np.int64)
        found = self.first[begin]
        open_ = np.flatnonzero(~self.alone[begin])
        found[open_] = np.searchsorted(self.ends, words[open_], side="right")
        return found


@dataclass(frozen=True, eq=False)
class _WholeSets:
    """Sets whose cells are all combinations of their columns, in order: drawn together.

    Attributes:
        whole: which sets are so.
        rows: of each set, the rows of its columns, filled up with the row of no column.
        sizes: how many values these have, filled up with 1.
        other: the weight of each other cell in the set's mixture.
        last: the last word that draws a cell and does not keep the true one.
    """

    whole: np.ndarray[tuple[int], np.dtype[np.bool_]]
    rows: IntArray
    sizes: Words
    other: Words
    last: Words

    @classmethod
    def of(cls, codecs: Sequence[StepCodec], names: Sequence[str]) -> _WholeSets:
        widest = max(len(codec.columns) for codec in codecs)
        rows = np.full((len(codecs), widest), len(names), dtype=np.int64)
        sizes = np.ones((len(codecs), widest), dtype=np.uint64)
        whole, other = np.zeros(len(codecs), dtype=bool), np.ones(len(codecs), dtype=np.uint64)
        for at, codec in enumerate(codecs):
            matrix, width = codec.step.matrix, len(codec.columns)
            if isinstance(matrix, UniformMixture) and matrix.size > 1 and codec.orderly:
                whole[at], other[at] = matrix.other > 0, max(matrix.other, 1)
                rows[at, :width] = [names.index(column.name) for column in codec.columns]
                sizes[at, :width] = [len(column.labels) for column in codec.columns]
        return cls(whole, rows, sizes, other, sizes.prod(axis=1) * other - np.uint64(1))

    def draw(self, asked: IntArray, words: Words, truth: Codes, told: Codes) -> None:
        """Fill in what records report; as ``sample`` does it, set by set."""
        own = np.arange(len(asked)) if self.whole.all() else np.flatnonzero(self.whole[asked])
        asked, words = asked[own], words[own]
        rows, sizes = self.rows[asked].T, self.sizes[asked].T
        cells = np.zeros(len(own), dtype=np.uint64)
        for row, size in zip(rows, sizes, strict=True):
            cells *= size
            cells += truth[row, own]
        cells = np.where(words > self.last[asked], cells, words // self.other[asked])
        for row, size in zip(rows[::-1], sizes[::-1], strict=True):
            cells, told[row, own] = cells // size, cells % size
