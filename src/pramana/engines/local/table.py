"""The engine inside: one machine, all its cores, memory that does not grow with the table.

Parts of a table are loaded and worked on in several threads and come out in order. Parquet files
are read by row groups; everything else in batches as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, TypeVar

import pyarrow as pa

from pramana.crew import Hands
from pramana.engines.base import BatchFunction, Source
from pramana.engines.local.shuffle import Piece, Shuffler
from pramana.errors import InvalidTable, UnknownColumn
from pramana.formats.door import group_size, write_parts, write_records
from pramana.formats.opening import open_table
from pramana.parallel import default_threads, in_order
from pramana.randomness import Address, Keystream
from pramana.table.codec import encode
from pramana.table.counts import Counter, Counts
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, Part, TableFormat
from pramana.table.schema import Column
from pramana.types import Codes, Progress, TableLike

__all__ = ["LocalTable"]

SPAN_RECORDS: Final = 2**18
SPANS: Final = 4
"""Records are put in order so many at a time, or so often for each processor."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class LocalTable:
    """A table on this machine, with the five verbs of :class:`pramana.engines.base.Table`.

    >>> people = LocalTable.of(pa.table({"sex": ["F", "M", "M"]}))
    >>> shuffled = people.shuffle(keystream=Keystream.from_seed(1))
    >>> sorted(shuffled.to_arrow()["sex"].to_pylist())
    ['F', 'M', 'M']

    Attributes:
        source: Where its parts come from.
        threads: How many parts are worked on at once.
        memory: Bytes that a shuffle holds before it goes to a temporary file.
        passes: How often each record is reported to ``progress``: once, and once a shuffle.
    """

    source: Source
    threads: int = field(default_factory=default_threads)
    memory: int | None = None
    passes: int = 1

    @classmethod
    def of(
        cls,
        table: TableLike,
        *,
        coded: Collection[str] = (),
        threads: int | None = None,
        memory: int | None = None,
    ) -> LocalTable:
        """From a table that is open, or what can be opened on this machine.

        ``coded`` names the columns whose values will be looked up: they are read in a form that
        makes it fast.
        """
        opened = open_table(table)
        source = Source.of_opened(opened.fitted(coded=coded) if coded else opened)
        return cls(source, default_threads() if threads is None else threads, memory)

    @property
    def records(self) -> int | None:
        """The number of records, where it is known before reading."""
        return self.source.records

    # -- the five verbs --------------------------------------------------------------------

    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self.source.schema

    def count(self, columns: Sequence[Column], *, progress: Progress | None = None) -> Counts:
        """How many records have which combination of values in these columns."""
        for column in columns:
            if column.name not in self.source.schema.names:
                raise UnknownColumn(f"The table has no column '{column.name}'.")
        names = [column.name for column in columns]
        counter = Counter(names, [column.labels for column in columns])

        def coded(part: Part) -> list[Codes]:
            batch = part.load()
            return [encode(column, batch.column(column.name)) for column in columns]

        parts = self.source.only(names).parts(progress)
        for codes in in_order(coded, parts, threads=self.threads, cells=_cells(len(names))):
            counter.add(codes)
            if progress is not None:
                progress(len(codes[0]))
        return counter.result()

    def map_batches(self, function: BatchFunction, *, schema: pa.Schema) -> LocalTable:
        """The table that ``function`` makes of each batch; it has the given schema."""
        source = self.source

        def parts(progress: Progress | None) -> Iterator[Part]:
            for part in source.parts(progress):
                yield replace(part, load=partial(_mapped, function, part, schema))

        return replace(self, source=replace(source, schema=schema, parts=parts, narrow=None))

    def shuffle(self, *, keystream: Keystream, stream: Address = "shuffle") -> LocalTable:
        """The records in a uniformly random order, by words that are addressed by position."""
        source = self.source
        step = group_size(len(source.schema))

        def parts(progress: Progress | None) -> Iterator[Part]:
            apart = all(map(_is_narrow, source.schema))
            hands = self._hands(source.parts(progress), len(source.schema), apart=apart)
            held = Shuffler.holds(source.schema, source.records, self.memory)
            shuffler = Shuffler(
                source.schema,
                keystream=keystream,
                stream=stream,
                records=source.records,
                memory=self.memory,
                share=held and hands.copies > 0,
            )
            for piece in hands.each(partial(_scattered, shuffler), apart=held):
                shuffler.add(piece)
                if progress is not None:
                    progress(int(piece.ends[-1]))
            total = sum(shuffler.counts)
            span = step * max(1, min(SPAN_RECORDS, total // (SPANS * self.threads)) // step)
            for begin in range(0, total, span):
                end = min(begin + span, total)
                yield Part(begin, end - begin, partial(shuffler.ordered, begin, end), apart)

        made = Source(source.schema, parts, source.records, step=step)
        return replace(self, source=made, passes=self.passes + 1)

    def write(
        self,
        path: Path,
        *,
        file_format: TableFormat = "parquet",
        labels: Labels | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write all records to one file, which appears whole or not at all; give their number."""
        schema, step = self.source.schema, self.source.step
        if step is None or step % group_size(len(schema)):
            batches = self.batches(progress)
            if progress is not None:
                batches = _told(batches, progress)
            return write_records(schema, batches, path, file_format=file_format, labels=labels)

        def work(
            function: Callable[[Part], Made], parts: Iterable[Part], apart: bool
        ) -> Iterator[Made]:
            return self._hands(parts, len(schema)).each(function, apart=apart)

        parts = self.source.parts(progress)
        return write_parts(
            schema, parts, path,
            work=work, file_format=file_format, labels=labels, progress=progress,
        )  # fmt: skip

    # -- what they rest on -----------------------------------------------------------------

    def batches(self, progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """The records in order; ``progress`` hears of the passes before the last."""
        cells = _cells(len(self.source.schema))
        return in_order(_loaded, self.source.parts(progress), threads=self.threads, cells=cells)

    def _hands(self, parts: Iterable[Part], columns: int, *, apart: bool = True) -> Hands[Part]:
        """Who works on parts: copies of this process on those that they can load, or threads.

        Not ``apart`` is what would be held by several at once, and takes any amount of memory.
        """
        cells, waiting = _cells(columns), iter(parts)
        first = next(waiting, None)
        if first is None or not first.apart or not apart:
            left = waiting if first is None else chain([first], waiting)
            return Hands(left, self.threads, cells)
        return Hands.of([first, *waiting], self.threads, cells)

    def to_arrow(self, *, progress: Progress | None = None) -> pa.Table:
        """All records in memory."""
        batches = self.batches(progress)
        held = list(batches if progress is None else _told(batches, progress))
        return pa.Table.from_batches(held, self.source.schema)

    def to_opened(self) -> OpenedTable:
        """All records in memory, opened."""
        return open_table(self.to_arrow())


def _cells(columns: int) -> Callable[[Part], int]:
    """How many cells a part of so many columns has."""
    return lambda part: part.records * columns


def _told(batches: Iterable[pa.RecordBatch], progress: Progress) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        progress(len(batch))


def _loaded(part: Part) -> pa.RecordBatch:
    return part.load()


def _mapped(function: BatchFunction, part: Part, schema: pa.Schema) -> pa.RecordBatch:
    batch = function(part.load(), part.position)
    if len(batch) != part.records or batch.schema != schema:
        raise InvalidTable(
            f"A function on batches must keep the {part.records} records and give the columns "
            f"that were announced, got {len(batch)} records."
        )
    return batch


def _is_narrow(field: pa.Field) -> bool:
    """Whether each value of a column takes the same few bytes: not texts, nor lists of them."""
    return bool(pa.types.is_primitive(field.type) or pa.types.is_decimal(field.type))


def _scattered(shuffler: Shuffler, part: Part) -> Piece:
    return shuffler.scatter(part.load(), part.position)
