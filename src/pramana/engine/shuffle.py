"""A uniformly random order of records, in memory or larger than it.

The record at position i draws word i of a stream, and records come in the order of their words,
ties resolved as in ``order_of_words`` (base/randomness.py). So the order is a function of the
key and the number of records alone. It is found in two passes, which also bound the memory:

1. Records are scattered into ranges by the leading bits of their words. Beyond a limit all that is
   held goes to a temporary file without a name, which ends with the process.
2. Each range is ordered by the rest of the words, on its own.

Columns of fixed width without missing values travel packed, row by row: one gather moves them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.base.processes import memory_bound
from pramana.base.randomness import Address, Keystream, order_of_words
from pramana.io.disk_buffer import ScratchFile
from pramana.types import IntArray, Words

RANGE_BITS_MOST: Final = 8
RANGE_RECORDS: Final = 2**16
"""Ranges below this size are ordered in the cache, in a third of the time of larger ones."""

RANGE_CELLS: Final = 2**21
WIDE_BITS_MOST: Final = 12
WIDE: Final = 8
"""A range of a table of more columns has about this many cells: it is copied thrice on its way."""

SHARE: Final = 6
"""Of the memory allowed that is held before it goes to the temporary file."""


@dataclass(frozen=True)
class RowLayout:
    """Which columns travel packed, and how."""

    schema: pa.Schema

    @cached_property
    def packed(self) -> list[int]:
        """Positions of the columns of fixed width that have no missing values."""
        return [at for at, field in enumerate(self.schema) if _is_fixed_width(field)]

    @cached_property
    def others(self) -> list[int]:
        """Positions of the columns that travel as Arrow arrays."""
        return [at for at in range(len(self.schema)) if at not in self.packed]

    @cached_property
    def other_schema(self) -> pa.Schema:
        """The columns that travel as Arrow arrays."""
        return pa.schema([self.schema.field(at) for at in self.others])

    @cached_property
    def width(self) -> int:
        """Bytes of a packed record: padded to a size that is gathered in one move."""
        width = sum(int(self.schema.field(at).type.bit_width) // 8 for at in self.packed)
        return 1 << (width - 1).bit_length() if 0 < width <= 32 else -(-width // 8) * 8

    def pack(self, batch: pa.RecordBatch) -> NDArray[np.void]:
        """The packed columns of a batch, one entry a record."""
        rows = np.zeros((len(batch), self.width), dtype=np.uint8)
        begin = 0
        for at in self.packed:
            values = _bytes_of(batch.column(at))
            rows[:, begin : begin + values.shape[1]] = values
            begin += values.shape[1]
        return rows.view(np.dtype((np.void, self.width))).reshape(len(batch)) if begin else _NONE

    def unpack(self, rows: NDArray[np.void], others: pa.RecordBatch, count: int) -> pa.RecordBatch:
        """The batch that was packed."""
        columns: list[Any] = [None] * len(self.schema)
        table = rows.view(np.uint8).reshape(len(rows), self.width if len(rows) else 0)
        begin = 0
        for at in self.packed:
            kind = self.schema.field(at).type
            end = begin + kind.bit_width // 8
            data = pa.py_buffer(np.ascontiguousarray(table[:, begin:end]))
            columns[at] = pa.Array.from_buffers(kind, count, [None, data])
            begin = end
        for place, at in enumerate(self.others):
            columns[at] = others.column(place)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


_NONE: Final = np.zeros(0, dtype=np.dtype((np.void, 1)))


def _is_fixed_width(field: pa.Field) -> bool:
    kind = field.type
    fixed = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)
    return not field.nullable and fixed


def _bytes_of(array: pa.Array) -> NDArray[np.uint8]:
    """The values of an array as rows of bytes."""
    width = array.type.bit_width // 8
    data = np.frombuffer(array.buffers()[1] or b"", dtype=np.uint8)
    begin = array.offset * width
    return data[begin : begin + len(array) * width].reshape(len(array), width)


@dataclass(frozen=True)
class Piece:
    """Some records in the order of their ranges; range r is ``ends[r]`` to ``ends[r + 1]``.

    Attributes:
        ends: Where the ranges end.
        words: The random word of each record.
        rows: The packed columns.
        others: The columns that travel as Arrow arrays.
    """

    ends: IntArray
    words: Words
    rows: NDArray[np.void]
    others: pa.RecordBatch

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return int(self.words.nbytes + self.rows.nbytes + self.others.nbytes)

    def part(self, number: int) -> tuple[Words, NDArray[np.void], pa.RecordBatch]:
        """The records of one range."""
        begin, end = int(self.ends[number]), int(self.ends[number + 1])
        rows = self.rows[begin:end] if len(self.rows) else self.rows
        others = self.others.slice(begin, end - begin) if self.others.num_columns else self.others
        return self.words[begin:end], rows, others


class Shuffler:
    """Takes the records of a table piece by piece and gives them back range by range.

    ``scatter`` and ``ordered`` may run in several threads at once, ``add`` in one.
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        keystream: Keystream,
        stream: Address,
        records: int,
        memory: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self._layout = RowLayout(schema)
        self._keystream, self._stream = keystream, stream
        columns = len(schema)
        by_cells = records * columns // RANGE_CELLS
        wanted = max((records // RANGE_RECORDS).bit_length(), by_cells.bit_length())
        most = WIDE_BITS_MOST if columns > WIDE else RANGE_BITS_MOST
        self._bits = min(most, wanted)
        self._memory = memory_bound() // SHARE if memory is None else memory
        self._folder = folder
        self._held: list[Piece] = []
        self._held_bytes = 0
        self._spill: _Spill | None = None
        self._counts = np.zeros(2**self._bits, dtype=np.int64)

    @property
    def counts(self) -> list[int]:
        """How many records each range has."""
        return [int(count) for count in self._counts]

    def scatter(self, batch: pa.RecordBatch, position: int) -> Piece:
        """The records of a batch by range, each range in the order of the records."""
        words = self._keystream.words(self._stream, position, len(batch))
        rows, others = self._layout.pack(batch), batch.select(self._layout.others)
        if not self._bits:
            return Piece(np.array([0, len(batch)]), words, rows, others)
        ranges = (words >> np.uint64(64 - self._bits)).astype(np.uint16)
        # Arrow counts where NumPy sorts digit by digit, and keeps the order of equals as well.
        order = pc.array_sort_indices(pa.array(ranges)).to_numpy().view(np.int64)
        ends = np.zeros(2**self._bits + 1, dtype=np.int64)
        np.cumsum(np.bincount(ranges, minlength=2**self._bits), out=ends[1:])
        words = words.take(order, mode="clip")
        return Piece(ends, words, _take_rows(rows, order), _take(others, order))

    def add(self, piece: Piece) -> None:
        """Hold the piece, in memory or in the temporary file."""
        self._held.append(piece)
        self._held_bytes += piece.size
        self._counts += np.diff(piece.ends)
        if self._held_bytes > self._memory:
            if self._spill is None:
                self._spill = _Spill(len(self._counts), self._layout, self._folder)
            self._spill.write(self._held)
            self._held, self._held_bytes = [], 0

    def ordered(self, begin: int, end: int) -> pa.RecordBatch:
        """The records at these places of the final order."""
        ends = np.cumsum(self._counts)
        first, last = np.searchsorted(ends, (begin, end - 1), side="right")
        if end <= begin:
            return pa.RecordBatch.from_pylist([], schema=self._layout.schema)
        numbers = [n for n in range(int(first), int(last) + 1) if self._counts[n]]
        ranges = [self._ordered(number, int(ends[number])) for number in numbers]
        skipped, many = begin - int(ends[first] - self._counts[first]), end - begin
        rows, others = ranges[0]
        if len(ranges) > 1:
            rows = np.concatenate([rows_of_range for rows_of_range, _ in ranges])
            others = _concatenated([rows_of_range for _, rows_of_range in ranges])
        rows = rows[skipped : skipped + many] if len(rows) else rows
        others = others.slice(skipped, many) if others.num_columns else others
        return self._layout.unpack(rows, others, many)

    def _ordered(self, number: int, end: int) -> tuple[NDArray[np.void], pa.RecordBatch]:
        """The records of one range, packed and others."""
        parts = self._spill.read(number) if self._spill is not None else []
        parts += [piece.part(number) for piece in self._held]
        words = np.concatenate([part[0] for part in parts])
        order = order_of_words(
            words,
            keystream=self._keystream,
            stream=self._stream,
            first_rank=end - len(words),
            shared_bits=self._bits,
        )
        rows = _take_rows(np.concatenate([part[1] for part in parts]), order)
        return rows, _take(_concatenated([part[2] for part in parts]), order)


class _Spill:
    """Pieces in a temporary file, range by range."""

    def __init__(self, ranges: int, layout: RowLayout, folder: Path | None) -> None:
        self._file, self._layout = ScratchFile(folder), layout
        self._places: list[list[tuple[int, int, int]]] = [[] for _ in range(ranges)]

    def write(self, pieces: list[Piece]) -> None:
        """Append the records of all pieces, range by range."""
        for number, places in enumerate(self._places):
            parts = [piece.part(number) for piece in pieces]
            words = np.concatenate([part[0] for part in parts])
            rows = np.concatenate([part[1] for part in parts])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, self._layout.other_schema) as writer:
                writer.write_batch(_concatenated([part[2] for part in parts]))
            others = sink.getvalue()
            begin = self._file.append(words.data)
            self._file.append(rows.view(np.uint8).data)
            self._file.append(others)
            places.append((begin, len(words), len(others)))

    def read(self, number: int) -> list[tuple[Words, NDArray[np.void], pa.RecordBatch]]:
        """The parts of one range, in the order in which they were written."""
        parts, width = [], self._layout.width
        for begin, records, size in self._places[number]:
            words = np.frombuffer(self._file.read(begin, 8 * records), np.uint64)
            rows = _NONE
            if width:
                data = self._file.read(begin + 8 * records, width * records)
                rows = np.frombuffer(data, np.dtype((np.void, width)))
            rest = self._file.read(begin + (8 + width) * records, size)
            with pa.ipc.open_stream(pa.py_buffer(rest)) as stream:
                parts.append((words, rows, _concatenated(list(stream))))
        return parts


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several; dictionaries that differ are made one."""
    if len(batches) == 1 or not batches[0].num_columns:
        return batches[0]
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    whole = table.to_batches()
    return whole[0] if whole else batches[0].slice(0, 0)


def _take(batch: pa.RecordBatch, order: NDArray[Any]) -> pa.RecordBatch:
    if not batch.num_columns:
        return batch
    indices = pa.array(order)
    columns = [_take_from(column, indices) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _take_from(column: pa.Array, indices: pa.Array) -> pa.Array:
    kind = column.type  # Arrow cannot take from views yet
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string()).take(indices).cast(kind)
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary()).take(indices).cast(kind)
    return column.take(indices)


def _take_rows(rows: NDArray[np.void], order: NDArray[Any]) -> NDArray[np.void]:
    return rows.take(order.view(np.int64), mode="clip") if len(rows) else rows
