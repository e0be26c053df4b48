"""Opened tables: known types, batches on request, and checks that the data do not change.

Files are compared by size, modification time and inode. Tables of other packages are compared by a
checksum of each column. The checksum adds one 64-bit number per record, made of its value and its
position, so that neither the batches nor their order matter. It detects a table that answers
differently on a second pass; it is not a cryptographic digest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.processes import default_threads, in_order, memory_bound
from pramana.base.randomness import GOLDEN_GAMMA, splitmix64
from pramana.errors import InvalidTable, UnknownColumn
from pramana.schema.domains import Labels
from pramana.schema.recoding import Recoding
from pramana.types import Words


@dataclass(frozen=True)
class FileStamp:
    """Size, modification time and inode of a file at one moment.

    Changes that keep the size can stay unseen: within the resolution of the file system's times, if
    a time is set back, or by a network cache. Readers compare record counts too.
    """

    path: Path
    size: int
    modified_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        """Return the stamp of a file as it is now."""
        try:
            with path.open("rb"):  # a file that may not be read is refused here
                stat = path.stat()
        except OSError:
            raise InvalidTable("{path} cannot be read. Check the permissions.", path=path) from None
        return cls(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def require_unchanged(self) -> None:
        """Refuse a file that changed: what was counted must be what is released."""
        if FileStamp.of(self.path) != self:
            raise InvalidTable(
                "{path} changed while it was read. Start again when it is complete.", path=self.path
            )


def require_unchanged(stamps: Iterable[FileStamp]) -> None:
    """Refuse files that changed since they were stamped."""
    for stamp in stamps:
        stamp.require_unchanged()


BATCH = 131_072  # records in a batch by default
BATCH_CELLS = 2**23  # cells of a batch, however many columns there are: about 128 MiB
CELL_BYTES = 2**8
"""Of the memory allowed for each of them, where it is less: several copies are on their way."""

TableFormat: TypeAlias = str
"""The name of a format, or ``frame`` for objects in memory."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Part:
    """A batch that is still to be loaded, with the position of its first record and its size."""

    position: int
    records: int
    load: Callable[[], pa.RecordBatch]


OpenParts: TypeAlias = Callable[[Sequence[str]], Iterator[Part]]
"""From the names of some columns to their parts, in order; anew at every call."""


ColumnFunction: TypeAlias = Callable[[pa.Array], pa.Array]
"""From the values of a column to as many others, each by itself."""


class Fit(Protocol):
    """Another view of the same table."""

    def __call__(self, *, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        """With ``text`` columns left as text, ``coded`` ones of text as dictionaries."""


@dataclass(frozen=True)
class OpenedTable:
    """A table whose batches can be read as often as needed.

    Attributes:
        schema: The columns and their Arrow types.
        rows: The number of records.
        format: What it was read from; ``frame`` for objects in memory.
        source: The path or the object itself, to give back the same kind.
        opener: Gives the parts of some columns.
        labels: Labels of variables and values, where the format has them.
        files: The files that every pass reads again; none for what is held.
        fit: Gives views with other types, where the format has a choice.
        raw: The table as it was before its columns were recoded.
        recoded: How they were, by name.
    """

    schema: pa.Schema
    rows: int
    format: TableFormat
    source: Any = field(repr=False)  # an object in memory would show its records
    opener: OpenParts = field(repr=False, compare=False)
    labels: Labels = field(default_factory=Labels)
    files: tuple[FileStamp, ...] = ()
    fit: Fit | None = field(default=None, repr=False, compare=False)
    raw: OpenedTable | None = field(default=None, repr=False, compare=False)
    recoded: Mapping[str, Recoding] = field(default_factory=dict)

    @classmethod
    def of_arrow(
        cls, table: pa.Table, *, kind: TableFormat = "frame", source: Any = None, **about: Any
    ) -> OpenedTable:
        """A table in memory; views of text become text, which every function takes."""
        table = without_views(table.replace_schema_metadata(None))

        def parts(columns: Sequence[str]) -> Iterator[Part]:
            rows = batch_rows(len(columns))
            return placed(table.select(list(columns)).to_batches(max_chunksize=rows))

        source = table if source is None else source
        return cls(table.schema, table.num_rows, kind, source, parts, **about)

    def fitted(self, *, text: Collection[str] = (), coded: Collection[str] = ()) -> OpenedTable:
        """The same table with the types that a schema asks for; nothing is parsed again."""
        return self if self.fit is None else self.fit(text=text, coded=coded)

    def with_columns(
        self, functions: Mapping[str, ColumnFunction], schema: pa.Schema
    ) -> OpenedTable:
        """The same records with functions of some columns in their place, by name."""

        def parts(columns: Sequence[str]) -> Iterator[Part]:
            recodings = {name: functions[name] for name in columns if name in functions}
            fields = pa.schema([schema.field(name) for name in columns])
            for part in self.parts(columns):
                load = partial(_load_mapped, part, recodings, fields)
                yield replace(part, load=load) if recodings else part

        return replace(self, schema=schema, opener=parts)

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Part]:
        """The records in order, in parts that threads may load."""
        names = list(self.schema.names if columns is None else columns)
        for name in names:
            if name not in self.schema.names:
                raise UnknownColumn("The table has no column '{column}'.", column=name)
        return self.opener(names) if names else placed(_bare(self.rows))

    def batches(
        self, columns: Sequence[str] | None = None, *, size: int = BATCH
    ) -> Iterator[pa.RecordBatch]:
        """The records in order, in batches of at most ``size``; anew at every call."""
        for part in self.parts(columns):
            batch = part.load()
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)

    def summaries(
        self,
        function: Callable[[Iterator[pa.RecordBatch]], Made],
        columns: Sequence[str] | None = None,
        *,
        by_part: bool = False,
    ) -> Iterator[Made]:
        """What ``function`` makes of all records: one summary, or one for each partition.

        With ``by_part`` threads make one of each part, which is as good only where the function
        looks at every record by itself.
        """
        if not by_part:
            yield function(self.batches(columns))
            return
        yield from in_order(
            lambda part: function(iter([part.load()])),
            self.parts(columns),
            threads=default_threads(),
            cells=lambda part: part.records * len(self.schema if columns is None else columns),
        )

    def require_unchanged(self) -> None:
        """Refuse a table whose files changed since it was opened."""
        require_unchanged(self.files)

    def first(self, columns: Sequence[str], records: int | None = None) -> pa.Table:
        """Some columns of the first records, or of all, without dictionaries."""
        held: list[pa.RecordBatch] = []
        left = self.rows if records is None else records
        for batch in self.batches(columns):
            held.append(batch.slice(0, left))
            left -= len(held[-1])
            if left <= 0:
                break
        wanted = pa.schema([self.schema.field(name) for name in columns])
        table = pa.Table.from_batches(held, held[0].schema if held else wanted)
        for at, item in enumerate(table.schema):
            if pa.types.is_dictionary(item.type):
                table = table.set_column(at, item.name, without_dictionary(table.column(at)))
        return table

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All records, or some columns of them, in memory."""
        names = list(self.schema.names if columns is None else columns)
        batches = list(self.batches(names))
        wanted = pa.schema([self.schema.field(name) for name in names])
        return pa.Table.from_batches(batches, batches[0].schema if batches else wanted)


def mapped(
    functions: Mapping[str, ColumnFunction], schema: pa.Schema, batch: pa.RecordBatch
) -> pa.RecordBatch:
    """A batch with functions of some of its columns in their place."""
    arrays = [
        functions[name](array) if name in functions else array
        for name, array in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _load_mapped(
    part: Part, functions: Mapping[str, ColumnFunction], schema: pa.Schema
) -> pa.RecordBatch:
    return mapped(functions, schema, part.load())


def batch_rows(columns: int) -> int:
    """How many records a batch with this number of columns has at most.

    >>> batch_rows(6), batch_rows(800)
    (131072, 10485)
    """
    return max(1, min(BATCH, batch_cells() // max(columns, 1)))


def batch_cells() -> int:
    """How many cells a batch has at most."""
    return min(BATCH_CELLS, memory_bound() // CELL_BYTES)


def without_views(table: pa.Table) -> pa.Table:
    """The table with text in place of views of text."""
    for at, item in enumerate(table.schema):
        coded = pa.types.is_dictionary(item.type)
        kind = value_type(item.type)
        if not (pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)):
            continue
        text = pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
        if not coded:
            table = table.set_column(at, item.name, table.column(at).cast(text))
            continue
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(text))
            for chunk in table.column(at).chunks
        ]
        empty = pa.array([], text).dictionary_encode()
        table = table.set_column(at, item.name, pa.chunked_array(chunks or [empty]))
    return table


def placed(batches: Iterable[pa.RecordBatch]) -> Iterator[Part]:
    """Batches as they come, each with the position of its first record."""
    position = 0
    for batch in batches:
        yield Part(position, len(batch), partial(_same, batch))
        position += len(batch)


def _bare(rows: int) -> Iterator[pa.RecordBatch]:
    """A number of records without columns: file formats differ in what they return for these."""
    for start in range(0, rows, BATCH):
        yield pa.RecordBatch.from_arrays([pa.nulls(min(BATCH, rows - start))], [""]).select([])


def _same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def value_type(kind: pa.DataType) -> pa.DataType:
    """The Arrow type of values, also behind a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def without_dictionary(array: pa.Array | pa.ChunkedArray) -> Any:
    """The values of an array, not codes of a dictionary."""
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array of values, not of dictionary codes."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return without_dictionary(array)


def is_whole(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are whole numbers, also behind a dictionary."""
    return bool(pa.types.is_integer(value_type(kind)))


def is_number(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type can be added up, also behind a dictionary."""
    kind = value_type(kind)
    return is_whole(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


# -- checksums -------------------------------------------------------------------------------------

PER_BYTE: Final = np.uint64(0xBF58476D1CE4E5B9)
MISSING: Final = np.uint64(0xD6E8FEB86659FD93)
LENGTHS: Final = 1024
ANOTHER: Final = (
    "The table must hold the same values each time it is read, and '{name}' held others. Write it "
    "to a file and protect that."
)
OTHER_NUMBER: Final = (
    "The table must hold the same records each time it is read, and held another number of them. "
    "Write it to a file and protect that."
)

Marked: TypeAlias = tuple[str, bool]
"""A column, and whether it is read as numbers: a view may read it as text."""


def marks_of(batch: pa.RecordBatch, position: int, names: Iterable[str]) -> dict[str, int]:
    """The marks of some columns of a batch, by the position of its first record."""
    return {name: mark_of(batch.column(name), position) for name in names}


def mark_of(values: pa.Array, position: int) -> int:
    """The mark of the values of a column, from a position on."""
    if not len(values):
        return 0
    places = np.arange(position + 1, position + 1 + len(values), dtype=np.uint64)
    with np.errstate(over="ignore"):
        return int(splitmix64(words_of(values) + places * GOLDEN_GAMMA).sum(dtype=np.uint64))


def words_of(values: pa.Array) -> Words:
    """A word for each value; the same for missing ones, whatever lies below them."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        words = np.append(words_of(values.dictionary), MISSING)
        places = np.asarray(pc.fill_null(values.indices.cast(pa.int64()), len(words) - 1))
        return np.asarray(words[places], dtype=np.uint64)
    words = _present(values)
    if values.null_count:
        words = np.where(np.asarray(values.is_null()), MISSING, words)
    return np.asarray(words, dtype=np.uint64)


def _present(values: pa.Array) -> Words:
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), dtype=np.uint64)
    if pa.types.is_floating(kind):
        numbers = np.asarray(pc.fill_null(values.cast(pa.float64()), 0.0), dtype=np.float64)
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        whole = values.cast(pa.uint64() if pa.types.is_unsigned_integer(kind) else pa.int64())
        return np.asarray(pc.fill_null(whole, 0)).view(np.uint64)
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _present(values.view(width) if kind.bit_width in (32, 64) else values.cast(width))
    if not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
        values = values.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string())
    return _of_texts(values)


def _of_texts(values: pa.Array) -> Words:
    """A sum over the bytes of each text, weighed by their places in it."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    content = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    ends = ends - ends[0]
    lengths = np.diff(ends)
    inside = np.arange(len(content)) - np.repeat(ends[:-1], lengths)
    weights = splitmix64(np.arange(1, LENGTHS + 1, dtype=np.uint64) * GOLDEN_GAMMA)
    parts = (content.astype(np.uint64) + np.uint64(1)) * weights[inside % LENGTHS]
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts, dtype=np.uint64)])
    words: Words = total[ends[1:]] - total[ends[:-1]] + lengths.astype(np.uint64) * PER_BYTE
    return words


# -- a table of another package ---------------------------------------------------------------


@dataclass
class _Pass:
    """What one pass over some columns has seen, part by part, in whatever order."""

    rows: int
    known: dict[Marked, int]
    parts: dict[int, tuple[int, dict[str, int]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def load(self, part: Part, names: Sequence[Marked]) -> pa.RecordBatch:
        """The part; the last of a pass settles whether all was as before."""
        batch = part.load()
        if len(batch) != part.records:
            raise InvalidTable(OTHER_NUMBER)
        marks = marks_of(batch, part.position, [name for name, _ in names])
        with self.lock:
            self.parts[part.position] = len(batch), marks
            if sum(records for records, _ in self.parts.values()) == self.rows:
                for name, view in names:
                    total = sum(marks[name] for _, marks in self.parts.values()) % 2**64
                    if self.known.setdefault((name, view), total) != total:
                        raise InvalidTable(ANOTHER.format(name=name))
        return batch


def steady(opened: OpenedTable, known: dict[Marked, int] | None = None) -> OpenedTable:
    """The same table, refused once a column holds other values than when it was read first.

    So are its views with other types, and a table that has another number of records than it says.
    """
    seen_before = {} if known is None else known

    def parts(columns: Sequence[str]) -> Iterator[Part]:
        names = [(name, is_number(opened.schema.field(name).type)) for name in columns]
        seen, place = _Pass(opened.rows, seen_before), 0
        for part in opened.parts(columns):
            if part.position != place:
                raise InvalidTable(OTHER_NUMBER)
            place += part.records
            yield replace(part, load=partial(seen.load, part, names))
        if place != opened.rows:
            raise InvalidTable(OTHER_NUMBER)

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        return steady(opened.fitted(text=text, coded=coded), seen_before)

    return replace(opened, opener=parts, fit=None if opened.fit is None else fit)
