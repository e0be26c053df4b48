"""The engine for tables that outgrow one machine: the five verbs on a Spark data frame.

The same functions on batches run in Spark's workers (``mapInArrow``), with words addressed by the
position of a record, so that a seeded release holds the same records in the same order as one of
the local engine, and a task that is repeated draws every record as before.

A shuffle moves chunks, not records: a worker orders a batch by the leading bits of the records'
words and hands Spark one value a range; the worker that gets a range orders its records by the
rest. Nothing waits for Spark to sort rows, and the driver holds nothing that grows with the records
but the sizes of partitions and ranges, which the workers count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from pramana.base.atomic_files import whole_folder
from pramana.base.processes import Item, Result
from pramana.engine.base import MapBatches, Shuffle, SteppedTable, SumsAsked
from pramana.engine.spark.opening import (
    SparkOpened,
    SpreadTable,
    collect_summaries,
    each,
    grouped_sums,
    map_in_arrow,
    open_spark,
    packed,
    range_sizes,
)
from pramana.engine.spark.session import active_session, one_line, read_path, start_session
from pramana.engine.spark.tasks import (
    CHUNKS,
    WRITTEN,
    Begin,
    Gathered,
    Scattered,
    Typed,
    Written,
    as_stream,
    finished_parts,
    from_stream,
)
from pramana.errors import InvalidTable
from pramana.schema.codec import encode
from pramana.schema.domains import Labels
from pramana.schema.joint_cells import Counter, Counts
from pramana.schema.opened_table import OpenedTable, value_type
from pramana.schema.schema import Column, Schema
from pramana.types import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


RANGE_RECORDS: Final = 2**20
"""About this many records are ordered at a time, in the memory of one worker."""

RANGE_BITS_MOST: Final = 15


@dataclass(frozen=True)
class SparkTable(SteppedTable):
    """A Spark data frame with the five verbs of :class:`pramana.engine.base.Table`."""

    opened: SparkOpened

    @classmethod
    def of(cls, table: DataFrame | SparkOpened, *, schema: Schema | None = None) -> SparkTable:
        """From a data frame of a classic Spark session."""
        return cls(table if isinstance(table, SparkOpened) else open_spark(table, schema=schema))

    def count(self, columns: Sequence[Column], *, progress: Progress | None = None) -> Counts:
        """How many records have which combination of values in these columns."""
        counter = self._counter(columns)
        for counts in self._summaries(partial(_counted, tuple(columns))):
            counter.add(list(counts.cells.T), counts.numbers)
        self._tell(progress)
        return counter.result()

    def write(
        self,
        path: Path,
        *,
        file_format: str = "parquet",
        labels: Labels | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write a folder of Parquet files; workers must see it under the driver's path."""
        if file_format != "parquet":
            raise InvalidTable(f"Spark writes Parquet, not {file_format}. Ask for parquet.")
        del labels  # a Parquet file has none
        schema = self.schema()
        with one_line(), whole_folder(Path(path)) as place, self._staged() as staged:
            frame, begin, functions = staged
            with packed(frame, begin, functions, Written(str(place), schema)) as task:
                written = map_in_arrow(frame, task, WRITTEN).collect()
            finished_parts(place, [(row["part"], row["records"]) for row in written])
        self._tell(progress)
        return self.records

    # -- beyond them -----------------------------------------------------------------------

    def to_arrow(self, *, progress: Progress | None = None) -> pa.Table:
        """All records in the memory of the driver."""
        batches: list[pa.RecordBatch] = []
        for content in self._summaries(as_stream):
            batches += [] if content is None else from_stream(content)
        self._tell(progress)
        return pa.Table.from_batches(batches, self.schema())

    def to_opened(self) -> SparkOpened:
        """A Spark data frame of the records, made now and kept by the workers."""
        with one_line(), self._frame() as frame:
            return open_spark(frame.localCheckpoint(eager=True), computed=False)

    # -- what they rest on -----------------------------------------------------------------

    @contextmanager
    def _frame(self) -> Iterator[DataFrame]:
        """A data frame that can be computed while the block runs."""
        from pyspark.sql.pandas.types import from_arrow_schema

        typed = pa.schema([pa.field(item.name, _spark_type(item.type)) for item in self.schema()])
        with (
            self._staged() as (frame, begin, functions),
            packed(frame, begin, functions, Typed(typed)) as task,
        ):
            yield map_in_arrow(frame, task, from_arrow_schema(typed))

    def _summaries(self, function: Callable[[Iterator[pa.RecordBatch]], Any]) -> Iterator[Any]:
        with one_line(), self._staged() as (frame, begin, functions):
            yield from collect_summaries(frame, begin, functions, function)

    @contextmanager
    def _staged(
        self,
    ) -> Iterator[tuple[DataFrame, Begin, tuple[MapBatches, ...]]]:
        """Everything up to the last shuffle as a data frame, and what is to be done after it."""
        begin, frame = self.opened.beginning()
        yield from _after_shuffles(frame, begin, self.steps, self.opened.schema, self.records)

    def _tell(self, progress: Progress | None) -> None:
        if progress is not None:
            progress(self.passes * self.records)


def _after_shuffles(
    frame: DataFrame,
    begin: Begin,
    steps: Sequence[MapBatches | Shuffle],
    schema: pa.Schema,
    records: int,
) -> Iterator[tuple[DataFrame, Begin, tuple[MapBatches, ...]]]:
    """Turn shuffle after shuffle into a data frame of chunks."""
    functions: list[MapBatches] = []
    for at, step in enumerate(steps):
        if isinstance(step, MapBatches):
            functions.append(step)
            schema = step.schema
            continue
        bits = min(RANGE_BITS_MOST, (records // RANGE_RECORDS).bit_length())
        end = Scattered(step.keystream, step.stream, bits)
        ranges = range_sizes(frame, step.keystream, step.stream, bits=bits, records=records)
        gathered = Gathered(schema, step.keystream, step.stream, bits, ranges)
        with packed(frame, begin, tuple(functions), end) as task:
            chunks = map_in_arrow(frame, task, CHUNKS).repartitionById(2**bits, "range")
            yield from _after_shuffles(chunks, gathered, steps[at + 1 :], schema, records)
            return
    yield frame, begin, tuple(functions)


def _counted(columns: tuple[Column, ...], batches: Iterator[pa.RecordBatch]) -> Counts:
    """The counts of one partition."""
    counter = Counter([c.name for c in columns], [c.labels for c in columns])
    for batch in batches:
        counter.add([encode(column, batch.column(column.name)) for column in columns])
    return counter.result()


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_unsigned_integer(kind):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(
            kind.bit_width, pa.decimal128(20, 0)
        )
    return kind


class SparkEngine:
    """Data frames of a Spark session, worked on by its workers."""

    name: ClassVar[str] = "spark"
    on_one_machine: ClassVar[bool] = False
    reads_files: ClassVar[bool] = True

    def read(self, path: str, *, master: str | None = None) -> Any:
        """Parquet or CSV files, wherever Spark reads; starts Spark if need be."""
        return read_path(path, master=master)

    def connect(self, master: str | None) -> None:
        """Start Spark on a master, or take up the session that is active."""
        if master is not None or active_session() is None:
            start_session(master=master)

    def each(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """By the workers."""
        return each(active_session(), function, items)

    def spread(self, opened: OpenedTable) -> OpenedTable:
        """Files of a release, of which every worker must see the folder under the same path."""
        about = {item.name: getattr(opened, item.name) for item in fields(OpenedTable)}
        return SpreadTable(**about, session=active_session())

    def serves(self, source: object) -> bool:
        """Whether it is a data frame of Spark."""
        kind = type(source)
        return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"

    def open(self, source: Any, *, schema: Schema | None = None) -> OpenedTable:
        """The types of its columns, that it can be read again, and the sizes of its partitions."""
        return open_spark(source, schema=schema)

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> SparkTable:
        """Its partitions, in the hands of the workers."""
        del coded
        return SparkTable.of(opened)

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """By the workers, partition by partition."""
        return grouped_sums(opened, asked)

    def empty_like(self, source: Any) -> Any:
        """The data frame itself: a plan of work, no records are held."""
        return source

    def as_kind(self, opened: OpenedTable, like: Any) -> Any:
        """A data frame of the same session; the very one where the records lie in Spark."""
        if self.serves(opened.source):
            return opened.source
        table = opened.to_arrow()
        fields = [(item.name, value_type(item.type)) for item in table.schema]
        return like.sparkSession.createDataFrame(table.cast(pa.schema(fields)))


SPARK: Final = SparkEngine()
