"""The local engine: files and data frames on one machine, in memory that does not grow with them.

A table is opened once and carries a list of steps. Whoever counts, writes or collects it runs the
steps from first to last: threads load and work on large batches, which come out in order. Parquet
files are read by row groups; everything else in batches as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from pramana.base.workers import default_threads, in_order
from pramana.engine.base import (
    MapBatches,
    Shuffle,
    SteppedTable,
    SumsAsked,
)
from pramana.engine.shuffle import Piece, Shuffler
from pramana.errors import InputError
from pramana.io.opening import empty_like, open_table, to_kind
from pramana.io.output import group_size, write_records
from pramana.schema.codec import encode
from pramana.schema.domains import Labels
from pramana.schema.joint_cells import Counts
from pramana.schema.opened_table import OpenedTable, Part, TableFormat
from pramana.schema.schema import Column, Schema
from pramana.types import Codes, Progress, TableLike


@dataclass(frozen=True)
class LocalTable(SteppedTable):
    """A table on this machine, with the five verbs of :class:`pramana.engine.base.Table`.

    >>> from pramana.base.randomness import Keystream
    >>> people = LocalTable.of(pa.table({"sex": ["F", "M", "M"]}))
    >>> shuffled = people.shuffle(keystream=Keystream.from_seed(1))
    >>> sorted(shuffled.to_arrow()["sex"].to_pylist())
    ['F', 'M', 'M']

    Attributes:
        threads: How many parts are worked on at once.
        memory: Bytes that a shuffle holds before it goes to a temporary file.
    """

    threads: int = field(default_factory=default_threads)
    memory: int | None = None

    @classmethod
    def of(
        cls,
        table: TableLike,
        *,
        coded: Collection[str] = (),
        threads: int | None = None,
        memory: int | None = None,
    ) -> LocalTable:
        """From a table that can be opened; values of ``coded`` columns will be looked up."""
        opened = open_table(table)
        opened = opened.fitted(coded=coded) if coded else opened
        return cls(opened, (), default_threads() if threads is None else threads, memory)

    def count(self, columns: Sequence[Column], *, progress: Progress | None = None) -> Counts:
        """How many records have which combination of values in these columns."""
        counter, names = self._counter(columns), [column.name for column in columns]

        def codes_of(part: Part) -> list[Codes]:
            batch = part.load()
            return [encode(column, batch.column(column.name)) for column in columns]

        parts = self._parts(progress) if self.steps else self.opened.parts(names)
        for codes in in_order(codes_of, parts, threads=self.threads, cells=_cells(len(names))):
            counter.add(codes)
            if progress is not None:
                progress(len(codes[0]))
        return counter.result()

    def write(
        self,
        path: Path,
        *,
        file_format: TableFormat = "parquet",
        labels: Labels | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write all records to one file, which appears whole or not at all; give their number."""
        batches = self.batches(progress)
        return write_records(self.schema(), batches, path, file_format=file_format, labels=labels)

    # -- what they rest on -----------------------------------------------------------------

    def batches(self, progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """The records after all steps, in order."""
        parts, cells = self._parts(progress), _cells(len(self.schema()))
        for batch in in_order(_loaded, parts, threads=self.threads, cells=cells):
            yield batch
            if progress is not None:
                progress(len(batch))

    def to_arrow(self, *, progress: Progress | None = None) -> pa.Table:
        """All records in memory."""
        return pa.Table.from_batches(list(self.batches(progress)), self.schema())

    def to_opened(self) -> OpenedTable:
        """All records in memory, opened."""
        return open_table(self.to_arrow())

    def _parts(self, progress: Progress | None) -> Iterator[Part]:
        """The parts of the table after all steps; ``progress`` hears of every shuffle."""
        parts, schema = self.opened.parts(), self.opened.schema
        for step in self.steps:
            if isinstance(step, MapBatches):
                parts, schema = _mapped(parts, step), step.schema
            else:
                parts = self._shuffled(parts, schema, step, progress)
        return parts

    def _shuffled(
        self, parts: Iterator[Part], schema: pa.Schema, step: Shuffle, progress: Progress | None
    ) -> Iterator[Part]:
        """The same records in their new order, one part a row group of the file to come."""
        shuffler = Shuffler(
            schema,
            keystream=step.keystream,
            stream=step.stream,
            records=self.records,
            memory=self.memory,
        )

        def scattered(part: Part) -> Piece:
            return shuffler.scatter(part.load(), part.position)

        for piece in in_order(scattered, parts, threads=self.threads, cells=_cells(len(schema))):
            shuffler.add(piece)
            if progress is not None:
                progress(len(piece.words))
        total, size = sum(shuffler.counts), group_size(len(schema))
        for begin in range(0, total, size):
            end = min(begin + size, total)
            yield Part(begin, end - begin, partial(shuffler.ordered, begin, end))


def _loaded(part: Part) -> pa.RecordBatch:
    return part.load()


def _mapped(parts: Iterator[Part], step: MapBatches) -> Iterator[Part]:
    for part in parts:
        yield replace(part, load=partial(_load_mapped, part, step))


def _load_mapped(part: Part, step: MapBatches) -> pa.RecordBatch:
    return step(part.load(), part.position)


def _cells(columns: int) -> Callable[[Part], int]:
    """How many cells a part of so many columns has."""
    return lambda part: part.records * columns


class LocalEngine:
    """Files and data frames on this machine."""

    name: ClassVar[str] = "local"
    on_one_machine: ClassVar[bool] = True
    reads_files: ClassVar[bool] = True

    def read(self, path: str, *, master: str | None = None) -> TableLike:
        """The file itself."""
        if master is not None:
            raise InputError(
                f"--master names a cluster, and engine {self.name} has none: add --engine spark."
            )
        return path

    def serves(self, source: object) -> bool:
        """Whatever no other engine serves."""
        del source
        return True

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """A file of a known format, a data frame, or a table that is open already."""
        return open_table(source, schema=schema)

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> LocalTable:
        """Its batches, worked on by threads."""
        return LocalTable.of(opened, coded=coded)

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """By the embedded database, which reads Parquet files where they lie."""
        from pramana.engine.duckdb import grouped_sums

        return grouped_sums(opened, asked)

    def empty_like(self, source: TableLike) -> TableLike | None:
        """A frame of the same kind without records."""
        empty: TableLike | None = empty_like(source)
        return empty

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """A frame of the same kind with all records."""
        made: TableLike = to_kind(opened.to_arrow(), like)
        return made


LOCAL: Final = LocalEngine()
