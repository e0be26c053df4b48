"""The engine inside: one machine, all its cores, memory that does not grow with the table.

A table is opened once and carries a list of steps. Whoever counts, writes or collects it runs the
steps from first to last: threads load and work on large batches, which come out in order. Parquet
files are read by row groups; everything else in batches as they come.

The engine for files and for data frames in memory: all that no other engine serves.

Counts and sums over groups of records that are held in memory, by the codes of their values.

Advice and comparisons ask small tables by the hundred, and a question to the database costs
more than the counting does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.workers import default_threads, in_order
from pramana.engine.base import (
    Condition,
    MapBatches,
    Shuffle,
    SteppedTable,
    SumsAsked,
    number_in,
    spelled,
    sum_name,
)
from pramana.engine.shuffle import Piece, Shuffler
from pramana.errors import InputError
from pramana.io.opening import empty_like, open_table, to_kind
from pramana.io.output import group_size, write_records
from pramana.schema.codec import encode
from pramana.schema.domains import Label, Labels, label_text
from pramana.schema.joint_cells import Counts
from pramana.schema.opened_table import OpenedTable, Part, TableFormat
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, Codes, FloatArray, IntArray, Progress, TableLike


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
        """From a table that is open, or what can be opened on this machine.

        ``coded`` names the columns whose values will be looked up: they are read in a form that
        makes it fast.
        """
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
        """By the embedded database, which reads Parquet files where they lie; few texts here."""
        from pramana.engine.duckdb import grouped_sums

        found = counted(opened, asked)
        return grouped_sums(opened, asked) if found is None else found

    def empty_like(self, source: TableLike) -> TableLike | None:
        """A frame of the same kind without records."""
        empty: TableLike | None = empty_like(source)
        return empty

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """A frame of the same kind with all records."""
        made: TableLike = to_kind(opened.to_arrow(), like)
        return made


LOCAL: Final = LocalEngine()


MOST_RECORDS = 200_000
"""Above, the database counts by several threads."""

Coded: TypeAlias = tuple[IntArray, list[Label]]
"""A number for each record, and the value of each number; of the first one, none."""

COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def counted(opened: OpenedTable, asked: SumsAsked) -> pa.Table | None:
    """What the database answers; ``None`` where records or question are of another kind."""
    if opened.files or opened.format != "frame" or opened.rows > MOST_RECORDS:
        return None
    if not _answered_here(opened.schema, asked):
        return None
    inside = list(dict.fromkeys([*asked.columns, *(one.column for one in asked.where)]))
    summed = [name for name in (asked.value, asked.weight) if name is not None]
    table = opened.to_arrow(list(dict.fromkeys([*inside, *summed])))
    numbers = {name: _numbers(table.column(name)) for name in summed}
    if asked.weight is not None and table.column(asked.weight).null_count:
        return None
    coded = {name: _coded(table.column(name)) for name in inside}
    kept = np.ones(table.num_rows, dtype=bool)
    for one in asked.where:
        number = not _holds_texts(table.schema.field(one.column).type)
        kept &= _meant(one, coded[one.column], number=number)
    if asked.value is not None:
        kept &= ~np.isnan(numbers[asked.value])
    # One row for each combination of values that is there
    sizes = [len(coded[name][1]) for name in asked.columns]
    if prod(sizes) >= 2**62 or not (asked.columns or kept.any()):
        return None
    cells = np.zeros(int(kept.sum()), dtype=np.int64)
    for name, size in zip(asked.columns, sizes, strict=True):
        cells = cells * size + coded[name][0][kept]
    found, place = np.unique(cells, return_inverse=True)
    answer = {}
    for name, size in reversed([*zip(asked.columns, sizes, strict=True)]):
        found, own = np.divmod(found, size)
        kind = table.schema.field(name).type
        values = pa.array(coded[name][1], kind if pa.types.is_integer(kind) else pa.string())
        answer[name] = values.take(pa.array(own))
    answer = dict(reversed(answer.items()))
    terms = _terms(asked, {name: own[kept] for name, own in numbers.items()})
    sums = {name: np.bincount(place, term, len(found)) for name, term in terms.items()}
    return pa.table(
        answer | {sum_name(name): pa.array(own, pa.float64()) for name, own in sums.items()}
    )


def _answered_here(schema: pa.Schema, asked: SumsAsked) -> bool:
    """Groups and filters of texts, and of whole numbers; sums of numbers."""
    kinds = {name: schema.field(name).type for name in schema.names}
    summed = [kinds[name] for name in (asked.value, asked.weight) if name is not None]
    alike = [*asked.columns, *(c.column for c in asked.where if c.comparison in ("=", "!="))]
    beyond = [c.column for c in asked.where if c.comparison not in ("=", "!=")]
    return (
        all(_holds_texts(kinds[name]) or pa.types.is_integer(kinds[name]) for name in alike)
        and all(pa.types.is_integer(kinds[name]) for name in beyond)
        and all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in summed)
    )


def _meant(condition: Condition, coded: Coded, *, number: bool) -> BoolArray:
    """For each record whether a filter means it."""
    codes, values = coded
    if condition.comparison not in ("=", "!="):
        limit, beyond = _limit(condition), COMPARED[condition.comparison]
        meant = [value is not None and beyond(value, limit) for value in values]
        return np.array(meant)[codes]
    texts, missing = spelled(condition, number=number)
    named = {number_in(text, condition.column) if number else text for text in texts}
    listed = [missing if value is None else value in named for value in values]
    found: BoolArray = np.array(listed)[codes] == (condition.comparison == "=")
    return found


def _limit(condition: Condition) -> float:
    return number_in(label_text(condition.values[0]), condition.column)


def _terms(asked: SumsAsked, numbers: Mapping[str, FloatArray]) -> dict[str, FloatArray | None]:
    """What is summed, in the order of the database's answers; ``None`` where everybody is one."""
    y = None if asked.value is None else numbers[asked.value]
    if y is not None and asked.beyond is not None:
        y = COMPARED[asked.beyond.comparison](y, _limit(asked.beyond)).astype(np.float64)
    if asked.weight is None:
        alone: dict[str, FloatArray | None] = {} if y is None else {"wy": y, "wwyy": y * y}
        return {"n": None} | alone | {"w": None, "ww": None} | ({} if y is None else {"wwy": y})
    w = numbers[asked.weight]
    beside = {} if y is None else {"wy": w * y, "wwy": w * w * y, "wwyy": w * w * y * y}
    return {"n": None, "w": w, "ww": w * w} | beside


def _numbers(values: pa.ChunkedArray) -> FloatArray:
    """As floating-point numbers; what is missing is not a number."""
    found: FloatArray = pc.cast(values, pa.float64(), safe=False).to_numpy()
    return found


def _holds_texts(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _coded(values: pa.ChunkedArray) -> Coded:
    number: dict[Label, int] = {None: 0}
    parts = [np.zeros(0, dtype=np.int64)]
    for chunk in values.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        listed = [*coded.dictionary.to_pylist(), None]  # a list may hold a text twice, or none
        own = np.array([number.setdefault(text, len(number)) for text in listed], dtype=np.int64)
        indices = coded.indices.cast(pa.int64()).fill_null(len(listed) - 1)
        parts.append(own[indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts), list(number)
