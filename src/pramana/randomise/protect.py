"""Truth and plan to released records: encode and draw, shuffle, decode; a batch at a time.

A batch function needs to know only the position of its first record. The word that decides over
record i in a step is word i of the stream of that step, whatever the batches are. Between drawing
and decoding, codes are small integers without missing values: that makes the shuffle cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from pramana.errors import OutsideDomain
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.transition import Label
from pramana.randomise.sampling import randomise, sample_by_stratum
from pramana.randomness import Keystream, Stream
from pramana.table.cells import JointCells
from pramana.table.codec import code_dtype, decode, encode, released_type
from pramana.table.domains import label_key
from pramana.table.schema import Column, Schema
from pramana.text import records_that
from pramana.types import Codes, IntArray

__all__ = ["Randomiser", "StepCodec"]


@dataclass(frozen=True)
class Randomiser:
    """What is done to a batch of true records.

    Attributes:
        schema: what each column is.
        mechanism: the matrices of the randomised columns.
        types: the Arrow schema of the true table.
        keystream: where the words come from.
    """

    schema: Schema
    mechanism: Mechanism
    types: pa.Schema
    keystream: Keystream

    @cached_property
    def coded(self) -> pa.Schema:
        """The Arrow schema between drawing and decoding: codes of randomised and binned columns."""
        return pa.schema([self._field(column, _coded_field) for column in self.schema.released])

    @cached_property
    def released(self) -> pa.Schema:
        """The Arrow schema of the release: the schema's columns in its order, no identifiers."""
        return pa.schema([self._field(column, _released_field) for column in self.schema.released])

    def _field(self, column: Column, made: Callable[[Column, pa.DataType], pa.Field]) -> pa.Field:
        like = _plain(self.types.field(column.name).type)
        return made(column, like) if column.coded else pa.field(column.name, like)

    @cached_property
    def _steps(self) -> tuple[StepCodec, ...]:
        return tuple(
            StepCodec(step, tuple(self.schema.column(name) for name in step.columns))
            for step in self.mechanism
        )

    def __call__(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The released records of a batch whose first record stands at ``position``, in order."""
        return self.decode(self.encode(batch, position), position)

    def encode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released codes of randomised and binned columns; the rest as it is, identifiers gone."""
        drawn: dict[str, Codes] = {}
        for step in self._steps:
            released = self._draw(step, step.encode(batch), batch, position)
            drawn.update(zip(step.step.columns, step.split(released), strict=True))
        drawn |= {c.name: encode(c, batch.column(c.name)) for c in self.schema.binned}
        arrays = [
            pa.array(drawn[field.name])
            if field.name in drawn
            else _as(field.type, batch.column(field.name))
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

    def _draw(self, step: StepCodec, codes: Codes, batch: pa.RecordBatch, position: int) -> Codes:
        if step.step.matrix is not None:
            return randomise(
                step.step.matrix,
                codes,
                keystream=self.keystream,
                stream=step.stream,
                start=position,
            )
        words = self.keystream.words(step.stream, position, len(codes))
        return sample_by_stratum(step.step.matrices, step.strata_of(batch), codes, words)

    def _decode(self, column: Column, codes: Codes, position: int) -> pa.Array:
        words = None
        if column.drawn:
            words = self.keystream.words(Stream("inside", column.name), position, len(codes))
        return decode(column, codes, words, like=_plain(self.types.field(column.name).type))


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
        """Whether the codes of the one column are the positions in the matrix."""
        return len(self.columns) == 1 and self.step.labels == self.columns[0].labels

    @cached_property
    def orderly(self) -> bool:
        """Whether every combination of values has a code, in order, the last column fastest."""
        return self._straight or self._cells.orderly

    def encode(self, batch: pa.RecordBatch) -> Codes:
        """One code a record; refuses combinations that the schema calls impossible."""
        return self.cells([encode(column, batch.column(column.name)) for column in self.columns])

    def cells(self, parts: Sequence[Codes]) -> Codes:
        """The same from the codes of each column."""
        if self._straight:
            return parts[0]
        cells = self._cells.codes(parts)
        impossible = int(np.count_nonzero(cells < 0))
        if impossible:
            names = " and ".join(f"'{column.name}'" for column in self.columns)
            raise OutsideDomain(
                f"{records_that(impossible, 'holds', 'hold')} a combination of {names} that the "
                "schema calls impossible. Correct them, or drop the rule."
            )
        return cells.astype(code_dtype(len(self._cells.cells)))

    def split(self, codes: Codes) -> list[Codes]:
        """The code of each column."""
        return [codes] if self._straight else [part[codes] for part in self._cells.parts]

    def strata_of(self, batch: pa.RecordBatch) -> IntArray:
        """Which stratum's matrix each record has, by the text of its values."""
        numbers = {
            tuple(map(label_key, _as_tuple(stratum))): number
            for number, stratum in enumerate(self.step.by_stratum)
        }
        encoded = [batch.column(name).dictionary_encode() for name in self.step.strata]
        texts = [[label_key(v) for v in array.dictionary.to_pylist()] for array in encoded]
        places = np.stack(
            [np.asarray(a.indices.fill_null(len(t))) for a, t in zip(encoded, texts, strict=True)]
        )
        combos, inverse = np.unique(places, axis=1, return_inverse=True)
        found = np.array(
            [
                numbers.get(tuple((*t, None)[i] for t, i in zip(texts, combo, strict=True)), -1)
                for combo in combos.T
            ]
        )
        unknown = int(np.count_nonzero(found[inverse] < 0))
        if unknown:
            names = ", ".join(self.step.strata)
            raise OutsideDomain(
                f"{records_that(unknown, 'lies', 'lie')} in a stratum of {names} without a matrix."
            )
        strata: IntArray = found[inverse]
        return strata


def _as_tuple(stratum: Label) -> tuple[Label, ...]:
    return stratum if isinstance(stratum, tuple) else (stratum,)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values, whether or not they are dictionary-encoded."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _coded_field(column: Column, _: pa.DataType) -> pa.Field:
    kind = pa.from_numpy_dtype(code_dtype(len(column.labels)))
    return pa.field(column.name, kind, nullable=False)


def _released_field(column: Column, like: pa.DataType) -> pa.Field:
    return pa.field(column.name, released_type(column, like=like), nullable=None in column.labels)


def _as(kind: pa.DataType, array: pa.Array) -> pa.Array:
    return array if array.type == kind else array.cast(kind)
