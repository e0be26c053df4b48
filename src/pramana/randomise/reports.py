"""Truth to reports: which set a record is asked for, its cell drawn, all other columns empty.

Two words decide over record i: word i of the stream of sets says which set, word i of the stream
of answers what is reported of it. Out of the 2**64 words exactly ``weight`` ask for a set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

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
    def _ends(self) -> Words:
        """Where the words of each set end; the last ends at 2**64."""
        ends = np.cumsum([asked.weight for asked in self.mechanism.sets], dtype=object)[:-1]
        return ends.astype(np.uint64)

    def encode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Codes of what is reported; every value of every column is checked."""
        records = batch.num_rows
        words = self.keystream.words(Stream("asked"), position, records)
        asked: IntArray = np.searchsorted(self._ends, words, side="right").astype(np.int64)
        words = self.keystream.words(Stream("report"), position, records)
        columns = [self.schema.column(name) for name in self.mechanism.columns]
        truth = {column.name: encode(column, batch.column(column.name)) for column in columns}
        told = {
            column.name: np.full(
                records, len(column.labels), dtype=code_dtype(len(column.labels) + 1)
            )
            for column in columns
        }
        told_sets = asked.astype(code_dtype(len(self._codecs)))  # short ones are sorted by radix
        order = np.argsort(told_sets, kind="stable")
        ends = np.cumsum(np.bincount(asked, minlength=len(self._codecs)))
        begin = 0
        for codec, end in zip(self._codecs, ends.tolist(), strict=True):
            own = order[begin:end]
            if len(own):
                self._report(codec, own, truth, words[own], told)
            begin = end
        told[ASKED] = told_sets
        told |= {c.name: encode(c, batch.column(c.name)) for c in self.schema.binned}
        arrays = [
            pa.array(told[field.name])
            if field.name in told
            else batch.column(field.name).cast(field.type)
            for field in self.coded
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def _report(
        self,
        codec: StepCodec,
        own: IntArray,
        truth: dict[str, Codes],
        words: Words,
        told: dict[str, Codes],
    ) -> None:
        cells = codec.cells([truth[name][own] for name in codec.step.columns])
        assert codec.step.matrix is not None  # noqa: S101 - reports have no strata
        drawn = sample(codec.step.matrix, cells, words)
        for name, part in zip(codec.step.columns, codec.split(drawn), strict=True):
            told[name][own] = part

    def decode(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """Released values, nothing where a column was not asked for."""
        arrays = []
        for field in self.released:
            column = batch.column(field.name)
            if field.name == ASKED:
                names = pa.array([asked.name for asked in self.mechanism.sets])
                column = pa.DictionaryArray.from_arrays(column, names)
            elif field.name in self.mechanism.columns:
                column = self._told(field.name, column.to_numpy(), position)
            elif self.schema.column(field.name).binned:
                own = self.schema.column(field.name)
                column = self._decode(own, column.to_numpy(), position)
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)

    def _told(self, name: str, codes: Codes, position: int) -> pa.Array:
        column = self.schema.column(name)
        silent = codes == len(column.labels)
        if not (isinstance(column.domain, Bins) and column.domain.release == "draw"):
            each = self._decode(column, np.arange(len(column.labels), dtype=codes.dtype), 0)
            return each.take(pa.array(codes, mask=silent))
        known = np.where(silent, 0, codes).astype(code_dtype(len(column.labels)))
        values = self._decode(column, known, position)
        places = pa.array(np.arange(len(codes)), mask=silent)
        return values.take(places)
