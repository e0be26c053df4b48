"""From original records to released ones: encode and draw, shuffle, decode; a batch at a time.

A batch function needs to know only the position of its first record. Record i is randomised in a
step by word i of the stream of that step, whatever the batches are. Between drawing and decoding,
codes are small integers without missing values: that makes the shuffle cheap.

Attribute sampling: two words decide over record i. Word i of one stream selects the set, word i of
another what is reported of it; all other columns are empty. Exactly ``weight`` of 2**64 words
select a set. Sets with all combinations of their columns are drawn together, the others one after
the other. A report travels as one number: the cells of all sets are numbered through.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream, Stream
from pramana.base.text import records_that
from pramana.errors import OutsideDomain
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.mechanisms.sampler import BLOCK, randomise, sample, sample_by_stratum
from pramana.mechanisms.transition import UniformMixture
from pramana.schema.codec import code_dtype, decode, encode, partly_reported, released_type
from pramana.schema.domains import label_key
from pramana.schema.joint_cells import JointCells
from pramana.schema.opened_table import value_type
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.types import Codes, IntArray, Words


@dataclass(frozen=True)
class Randomiser:
    """Randomises batches of original records by the matrices of a mechanism."""

    schema: Schema
    mechanism: Mechanism
    types: pa.Schema
    keystream: Keystream

    @cached_property
    def coded(self) -> pa.Schema:
        """The Arrow schema between drawing and decoding: codes of randomised and binned columns."""
        return self._types(lambda column: pa.from_numpy_dtype(code_dtype(len(column.labels))))

    @cached_property
    def released(self) -> pa.Schema:
        """The Arrow schema of the release: released columns in the order of the schema."""
        return self._types(released_type, gaps=True)

    def _types(self, kind_of: Callable[[Column], pa.DataType], *, gaps: bool = False) -> pa.Schema:
        fields = []
        for column in self.schema.released:
            if column.coded:
                nullable = gaps and None in column.labels
                fields.append(pa.field(column.name, kind_of(column), nullable=nullable))
            else:
                kind = value_type(self.types.field(column.name).type)
                fields.append(pa.field(column.name, kind))
        return pa.schema(fields)

    @cached_property
    def _steps(self) -> tuple[StepCodec, ...]:
        return tuple(
            StepCodec(step, tuple(self.schema.column(name) for name in step.columns))
            for step in self.mechanism
        )

    def __call__(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The released records of a batch whose first record is at ``position``, in order."""
        return self.decode(self.encode(batch, position), position)

    def encode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released codes of randomised and binned columns, and the other released columns."""
        drawn: dict[str, Codes] = {}
        for step in self._steps:
            cells = step.cells([self.codes(name, batch, position) for name in step.columns])
            if step.step.matrix is not None:
                released = randomise(
                    step.step.matrix,
                    cells,
                    keystream=self.keystream,
                    stream=step.stream,
                    start=position,
                )
            else:
                words = self.keystream.words(step.stream, position, len(cells))
                strata = step.strata_of(batch)
                released = sample_by_stratum(step.step.matrices, strata, cells, words)
            drawn.update(zip(step.step.columns, step.split(released), strict=True))
        return self._with(drawn, batch)

    def _with(self, drawn: dict[str, Codes], batch: pa.RecordBatch) -> pa.RecordBatch:
        """The codes drawn, those of binned columns, and all other columns unchanged."""
        drawn |= {c.name: encode(c, batch.column(c.name)) for c in self.schema.binned}
        arrays = [
            pa.array(drawn[field.name])
            if field.name in drawn
            else batch.column(field.name).cast(field.type)
            for field in self.coded
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def decode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released values of encoded records; a draw inside a bin is that of the position."""
        arrays = [
            self._decode(column, batch.column(column.name).to_numpy(), position)
            if column.coded
            else batch.column(column.name)
            for column in self.schema.released
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)

    def codes(self, column: Column, batch: pa.RecordBatch, position: int) -> Codes:
        """The code of each value; numbers of a grid are rounded by the word of each record."""
        words = None
        if column.gridded:
            words = self.keystream.words(Stream("rounding", column.name), position, len(batch))
        return encode(column, batch.column(column.name), words)

    def _decode(self, column: Column, codes: Codes, position: int) -> pa.Array:
        words = None
        if column.drawn:
            words = self.keystream.words(Stream("inside", column.name), position, len(codes))
        return decode(column, codes, words)


class StepCodec:
    """The columns of a step as one code a record, and back."""

    def __init__(self, step: Step, columns: Sequence[Column]) -> None:
        self.step = step
        self.columns = tuple(columns)
        self.stream = Stream("release", *step.columns)

    @cached_property
    def _cells(self) -> JointCells:
        """The cells of the matrix."""
        return JointCells(tuple(column.labels for column in self.columns), self.step.cells)

    @cached_property
    def _straight(self) -> bool:
        """Whether the codes of the only column are the positions in the matrix."""
        return len(self.columns) == 1 and self.step.labels == self.columns[0].labels

    @cached_property
    def orderly(self) -> bool:
        """Whether every combination of values has a code, in order, the last column fastest."""
        return self._straight or self._cells.orderly

    def cells(self, parts: Sequence[Codes]) -> Codes:
        """One code per record from those of each column; refuses impossible combinations."""
        if self._straight:
            return parts[0]
        cells = self._cells.codes(parts)
        impossible = int(np.count_nonzero(cells < 0))
        if impossible:
            names = " and ".join(f"'{column.name}'" for column in self.columns)
            raise OutsideDomain(
                "{records} a combination of {names} that the schema calls impossible. Correct "
                "them, or drop the rule.",
                records=records_that(impossible, "holds", "hold"),
                names=names,
            )
        return cells.astype(code_dtype(len(self._cells.cells)))

    def split(self, codes: Codes) -> list[Codes]:
        """The code of each column."""
        return [codes] if self._straight else [part[codes] for part in self._cells.parts]

    def strata_of(self, records: pa.RecordBatch | pa.Table) -> IntArray:
        """The number of the stratum of each record, by the text of its values."""
        numbers = {
            tuple(map(label_key, stratum)): number
            for number, stratum in enumerate(self.step.by_stratum)
        }
        (batch,) = pa.table(records).combine_chunks().to_batches()
        encoded = [batch.column(name).dictionary_encode() for name in self.step.strata]
        texts = [[label_key(v) for v in array.dictionary.to_pylist()] for array in encoded]
        places = np.stack(
            [np.asarray(a.indices.fill_null(len(t))) for a, t in zip(encoded, texts, strict=True)]
        )
        combos, inverse = np.unique(places, axis=1, return_inverse=True)
        strata: IntArray = np.array(
            [
                numbers.get(tuple((*t, None)[i] for t, i in zip(texts, combo, strict=True)), -1)
                for combo in combos.T
            ]
        )[inverse]
        unknown = int(np.count_nonzero(strata < 0))
        if unknown:
            names = ", ".join(self.step.strata)
            raise OutsideDomain(
                "{records} in a stratum of {names} without a matrix.",
                records=records_that(unknown, "lies", "lie"),
                names=names,
            )
        return strata


@dataclass(frozen=True)
class Reporter(Randomiser):
    """Randomises batches of original records that answer one attribute set each."""

    mechanism: AttributeSampler

    @cached_property
    def coded(self) -> pa.Schema:
        """The number of the report, and the columns that are not randomised."""
        others = [field for field in super().coded if field.name not in self._names]
        kind = pa.from_numpy_dtype(code_dtype(int(self._starts[-1])))
        return pa.schema([*others, pa.field(REPORTED, kind, nullable=False)])

    @cached_property
    def released(self) -> pa.Schema:
        """The columns of the schema, each of which may be empty, and the name of the set."""
        fields = [
            field.with_nullable(True) if field.name in self._names else field
            for field in super().released
        ]
        kind = pa.dictionary(pa.from_numpy_dtype(self._sets.dtype), pa.string())
        return pa.schema([*fields, pa.field(REPORTED, kind, nullable=False)])

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
        codes_of = {}
        for name in self._names:
            known = len(self.schema.column(name).labels)
            codes_of[name] = np.full(len(self._sets), known, dtype=code_dtype(known + 1))
        for codec, start in zip(self._codecs, self._starts.tolist(), strict=False):
            cells = np.arange(len(codec.step.labels))
            for column, part in zip(codec.columns, codec.split(cells), strict=True):
                codes_of[column.name][start : start + len(cells)] = part
        return codes_of

    @cached_property
    def _turns(self) -> _Turns:
        return _Turns.of([asked.weight for asked in self.mechanism.sets])

    @cached_property
    def _wholes(self) -> _WholeSets:
        return _WholeSets.of(self._codecs, self._names, self._starts)

    def encode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The number of each report; the values of all columns are checked."""
        records = batch.num_rows
        asked = self._turns.asked(self.keystream.words(Stream("asked"), position, records))
        words = self.keystream.words(Stream("report"), position, records)
        columns = [self.schema.column(name) for name in self._names]
        most = max(len(column.labels) for column in columns)
        # One row per column, and one more for what sets of fewer columns lack.
        original = np.zeros((len(columns) + 1, records), dtype=code_dtype(most))
        for row, column in enumerate(columns):
            original[row] = self.codes(column, batch, position)
        reports = np.empty(records, dtype=code_dtype(int(self._starts[-1])))
        self._wholes.draw(asked, words, original, reports)
        # Sets without some impossible combinations
        for number in np.flatnonzero(~self._wholes.whole).tolist():
            codec, chosen = self._codecs[number], np.flatnonzero(asked == number)
            rows = [self._names.index(name) for name in codec.step.columns]
            cells = codec.cells([original[row][chosen] for row in rows])
            assert codec.step.matrix is not None  # noqa: S101 - reports have no strata
            drawn = sample(codec.step.matrix, cells, words[chosen]).astype(np.int64)
            reports[chosen] = drawn + self._starts[number]
        return self._with({REPORTED: reports}, batch)

    def decode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released values, empty for columns that were not asked for."""
        reports = batch.column(REPORTED).to_numpy().astype(np.int64)
        names, arrays = pa.array([asked.name for asked in self.mechanism.sets]), []
        for field in self.released:
            if field.name == REPORTED:
                column = pa.DictionaryArray.from_arrays(self._sets.take(reports), names)
            elif field.name in self._names:
                column = self._values(field.name, self._parts[field.name].take(reports), position)
            else:
                column = batch.column(field.name)
                if self.schema.column(field.name).binned:
                    described = self.schema.column(field.name)
                    column = self._decode(described, column.to_numpy(), position)
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)

    def _values(self, name: str, codes: Codes, position: int) -> pa.Array:
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
    """The value of each code; null if it is missing (the last label) or was not asked (past it)."""
    known = len(each) - each.null_count
    if pa.types.is_dictionary(each.type):
        indices = partly_reported(codes, codes < known)
        return pa.DictionaryArray.from_arrays(indices, each.dictionary, safe=False)
    if not (pa.types.is_integer(each.type) or pa.types.is_floating(each.type)):
        return pa.concat_arrays([each, pa.nulls(1, each.type)]).take(pa.array(codes))
    values = np.append(each.fill_null(0).to_numpy(), 0).astype(each.type.to_pandas_dtype())
    return partly_reported(values.take(codes), codes < known)


@dataclass(frozen=True, eq=False)
class _Turns:
    """The set that a word selects.

    Attributes:
        ends: the ends of the words of each set; the last one, 2**64, is left out.
        first: the set of all words that begin with the same 16 bits, -1 if they have several.
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
        sets: IntArray = self.first.take((words >> np.uint64(48)).view(np.int64), mode="clip")
        several = np.flatnonzero(sets < 0)
        sets[several] = np.searchsorted(self.ends, words[several], side="right")
        return sets


@dataclass(frozen=True, eq=False)
class _WholeSets:
    """Sets whose cells are all combinations of their columns, in order: drawn together.

    Attributes:
        whole: whether each set is one of them.
        rows: the row of each column of each set, filled up with a row of zeros.
        sizes: the number of its values, filled up with 1.
        other: the weight of every other cell in the set's mixture.
        last: the last word that draws a cell and does not keep the original one.
        starts: the number of the first cell of each set.
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

    def draw(self, asked: IntArray, words: Words, original: Codes, reports: Codes) -> None:
        """Fill in the numbers of reports of these sets, as ``sample`` draws them."""
        records, steps = len(asked), np.arange(BLOCK)
        for begin in range(0, records, BLOCK):  # so that all arrays stay in the cache
            part = slice(begin, begin + BLOCK)
            sets, chance = asked[part], words[part]
            cells = np.zeros(len(sets), dtype=np.int64)
            for rows, sizes in zip(self.rows, self.sizes, strict=True):
                places = (rows * records + begin).take(sets) + steps[: len(sets)]
                cells *= sizes.take(sets)
                cells += original.reshape(-1).take(places)
            drawn = (chance // self.other.take(sets)).view(np.int64)
            keep = -(chance > self.last.take(sets)).astype(np.int64)  # all bits or none
            reports[part] = (drawn ^ ((drawn ^ cells) & keep)) + self.starts.take(sets)
