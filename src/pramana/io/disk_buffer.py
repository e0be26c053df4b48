"""Buffer batches to read them again: in memory, and beyond a limit in a temporary file.

A text file, a generator or a database is read once, so that all passes see the same records.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.base.processes import memory_bound
from pramana.schema.opened_table import Part

SHARE: Final = 16
"""Share of the memory limit, as 1 in 16, that is used before columns go to the file."""

BYTE, WIDE = pa.uint8(), pa.int32()
"""Indices of dictionaries as they are held, and as readers give them."""

Place: TypeAlias = pa.Array | tuple[int, int]


class ScratchFile:
    """A temporary file without a name: it ends with this object or the process."""

    def __init__(self, folder: Path | None = None) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._end = 0

    def append(self, data: Any) -> int:
        """Write bytes at the end; return where they begin."""
        begin, left = self._end, memoryview(data).cast("B")
        while len(left):
            written = os.pwrite(self._file, left, self._end)
            self._end += written
            left = left[written:]
        return begin

    def read(self, begin: int, size: int) -> NDArray[np.uint8]:
        """Read bytes; threads may read at once."""
        data, done = np.empty(size, np.uint8), 0
        while done < size:  # one call reads at most 2 GiB
            done += os.preadv(self._file, [data[done:].data], begin + done)
        return data


class DiskBuffer:
    """Columns of batches, each readable on its own and by several threads.

    >>> held = DiskBuffer()
    >>> held.add(pa.record_batch({"sex": ["F", "M"]}))
    >>> held.rows, [part.load().num_rows for part in held.parts(["sex"])]
    (2, [2])
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch] = (), *, memory: int | None = None
    ) -> None:
        self.rows = 0
        self._memory = memory_bound() // SHARE if memory is None else memory
        self._held = 0
        self._batches: list[tuple[int, dict[str, Place]]] = []
        self._types: dict[str, pa.DataType] = {}
        self._file: ScratchFile | None = None
        for batch in batches:
            self.add(batch)

    def add(self, batch: pa.RecordBatch) -> None:
        """Buffer one more batch."""
        self.put(len(self._batches), batch)

    def put(self, at: int, batch: pa.RecordBatch) -> None:
        """Buffer columns of batch number ``at``, next to those that are buffered already."""
        arrays = list(map(_narrow, batch.columns))
        columns: dict[str, Place] = dict(zip(batch.schema.names, arrays, strict=True))
        self._types |= zip(batch.schema.names, batch.schema.types, strict=True)
        self._held += sum(array.nbytes for array in arrays)
        if self._held > self._memory:
            columns = {name: self._written(name, array) for name, array in columns.items()}
        if at < len(self._batches):
            self._batches[at][1].update(columns)
            return
        self._batches.append((batch.num_rows, columns))
        self.rows += batch.num_rows

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        """The batches of some columns, loaded when they are used."""
        position = 0
        for rows, places in self._batches:
            yield Part(position, rows, partial(self._load, places, tuple(columns)))
            position += rows

    def _load(self, places: dict[str, Place], columns: Sequence[str]) -> pa.RecordBatch:
        arrays = [_as(self._types[name], self._read(places[name])) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _written(self, name: str, array: pa.Array) -> tuple[int, int]:
        """Append a column to the file."""
        if self._file is None:
            self._file = ScratchFile()
        batch = pa.RecordBatch.from_arrays([array], names=[name])
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        data = sink.getvalue()
        return self._file.append(data), data.size

    def _read(self, place: Place) -> pa.Array:
        if not isinstance(place, tuple) or self._file is None:
            return place
        with pa.ipc.open_stream(pa.py_buffer(self._file.read(*place))) as stream:
            return stream.read_next_batch().column(0)


def _narrow(array: pa.Array) -> pa.Array:
    """Dictionary indices as bytes, if there are few entries."""
    if not pa.types.is_dictionary(array.type) or array.type.index_type != WIDE:
        return array
    if len(array.dictionary) > 2**BYTE.bit_width:
        return array
    try:
        indices = array.indices.cast(BYTE)
    except pa.ArrowInvalid:
        return array
    return pa.DictionaryArray.from_arrays(indices, array.dictionary, safe=False)


def _as(kind: pa.DataType, array: pa.Array) -> pa.Array:
    """Dictionary indices of the original width: other batches may have more entries."""
    if array.type == kind:
        return array
    indices = array.indices.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(
        indices, array.dictionary, ordered=kind.ordered, safe=False
    )
