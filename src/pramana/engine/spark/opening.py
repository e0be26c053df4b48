"""Spark data frames, opened: their types, the size of each partition, summaries by the workers.

A record's position is the number of records in the partitions before plus its place in its own.
That is an address only if a partition that is read again has the same records in the same order.
Files and data held by the driver are like that; the outcome of a join or a sort is not, since
Spark brings its records as they come. Spark itself knows which is which, and the others are
refused.

Sums over groups of released records: the question that DuckDB answers, partition by partition.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from pramana.base.processes import Item
from pramana.base.randomness import Address, Keystream
from pramana.engine import local
from pramana.engine.base import MapBatches, SumsAsked
from pramana.engine.spark.session import one_line
from pramana.engine.spark.tasks import (
    Begin,
    Partition,
    Summary,
    Task,
    Typed,
    as_stream,
    count_words,
    from_stream,
    open_door,
    pickled_apart,
)
from pramana.errors import InputError, InvalidTable
from pramana.io.base import require_distinct_names
from pramana.io.opening import checked, open_table, require_columns, require_types
from pramana.schema.domains import Bins, Categories, Label, label_text
from pramana.schema.opened_table import ColumnFunction, OpenedTable, Part, mapped, placed
from pramana.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Made = TypeVar("Made")

SUMMARIES = "part int, made binary"

LEAST_AT_ONCE = 16
"""The driver takes the summaries of this many partitions at once, or of two for each core."""


@dataclass(frozen=True)
class SparkOpened(OpenedTable):
    """A Spark data frame whose partitions have been counted, with marks of columns by partition."""

    sizes: tuple[int, ...] = ()
    known: dict[int, dict[str, int]] = field(default_factory=dict, repr=False, compare=False)

    def summaries(
        self,
        function: Callable[[Iterator[pa.RecordBatch]], Made],
        columns: Sequence[str] | None = None,
        *,
        by_part: bool = False,
    ) -> Iterator[Made]:
        """What ``function`` makes of each partition, by the workers."""
        del by_part
        begin, frame = self.beginning(columns)
        yield from collect_summaries(frame, begin, (), function, parts=len(self.sizes))

    def with_columns(
        self, functions: Mapping[str, ColumnFunction], schema: pa.Schema
    ) -> SparkOpened:
        """The same records with functions of some columns in their place, by the workers."""
        from pyspark.sql.pandas.types import from_arrow_schema

        nullable = pa.schema([item.with_nullable(True) for item in schema])
        begin, frame = self.beginning()
        step = MapBatches(partial(_mapped_anywhere, functions, schema), schema)
        with one_line(), packed(frame, begin, (step,), Typed(nullable)) as task:
            made = map_in_arrow(frame, task, from_arrow_schema(nullable))
        arrow = _arrow_schema(made)
        parts = partial(_to_driver, made, arrow)
        return replace(self, schema=arrow, source=made, opener=parts, known={})

    def beginning(self, columns: Sequence[str] | None = None) -> tuple[Begin, DataFrame]:
        """How a stage on some of the columns begins, and the data frame of those."""
        names = list(self.schema.names if columns is None else columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        return Partition(schema, self.sizes, self.known), select(self.source, names)


def _mapped_anywhere(
    functions: Mapping[str, ColumnFunction], schema: pa.Schema, batch: pa.RecordBatch, _: int
) -> pa.RecordBatch:
    """Functions of columns as one of batches, whatever their position."""
    return mapped(functions, schema, batch)


def open_spark(
    frame: DataFrame | SparkOpened, *, schema: Schema | None = None, computed: bool = True
) -> SparkOpened:
    """Open a Spark data frame that gives the same order again, or is never ``computed`` again."""
    if isinstance(frame, SparkOpened):
        checked(frame, schema=schema)
        return frame
    if not hasattr(frame, "_jdf"):
        raise InputError(
            "Spark Connect ships functions through a server that may log them, so it is not "
            "served. Use a session with a master."
        )
    require_distinct_names(frame.columns, where="the data frame")
    with one_line():
        arrow = _arrow_schema(frame)
        require_types(arrow)
        if schema is not None:
            require_columns(schema, arrow.names)
            _require_kinds(schema, frame, arrow)
        if computed:
            _require_order(frame)
        sizes = _sizes(frame, arrow)
    if not sum(sizes):
        raise InvalidTable("The table has no records.")
    return SparkOpened(
        arrow, sum(sizes), "frame", frame, partial(_to_driver, frame, arrow), sizes=sizes
    )


def select(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Some columns, whatever their names hold."""
    return frame.select(*map(_quoted, names))


def map_in_arrow(frame: DataFrame, task: Callable[..., Any], schema: Any) -> DataFrame:
    """``mapInArrow``, without the remarks on versions that Spark makes at every call."""

    def pramana(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)  # type: ignore[no-any-return]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return frame.mapInArrow(pramana, schema)


@contextmanager
def packed(frame: DataFrame, *stage: Any) -> Iterator[Task]:
    """A task that does a stage; its keys can be fetched while the block runs."""
    keystreams: list[Keystream] = []
    content = pickled_apart(stage, keystreams)
    if not keystreams:
        yield Task(content, None)
        return
    host, bind, port = _address(frame)
    with open_door(keystreams, host=host, bind=bind, port=port) as door:
        yield Task(content, door)


def collect_summaries(
    frame: DataFrame,
    begin: Begin,
    functions: Sequence[MapBatches],
    function: Callable[[Iterator[pa.RecordBatch]], Made],
    *,
    parts: int = 0,
) -> Iterator[Made]:
    """The summaries of all partitions, in their order.

    Of many ``parts`` the driver takes some at a time, so that it never holds all summaries.
    """
    known = begin.known if isinstance(begin, Partition) else {}
    noting = replace(begin, noting=True) if isinstance(begin, Partition) else begin
    context = frame.sparkSession.sparkContext
    wave = max(LEAST_AT_ONCE, 2 * context.defaultParallelism)
    with one_line(), packed(frame, noting, tuple(functions), Summary(function)) as task:
        made = map_in_arrow(frame, task, SUMMARIES)
        for first in range(0, max(parts, 1), wave):
            some = range(first, min(first + wave, parts))
            rows = made.collect() if parts <= wave else context.runJob(made.rdd, list, some)
            for row in sorted(rows, key=lambda row: int(row["part"])):
                summary, noted = pickle.loads(row["made"])  # noqa: S301 - our own workers made it
                known.setdefault(int(row["part"]), {}).update(noted)
                yield summary


def _address(frame: DataFrame) -> tuple[str, str, int]:
    """Where workers reach this driver: as they reach Spark's own."""
    conf = frame.sparkSession.sparkContext.getConf()
    port = int(conf.get("spark.pramana.port", "0") or 0)
    if str(conf.get("spark.master", "")).startswith("local"):
        return "127.0.0.1", "127.0.0.1", port
    host = str(conf.get("spark.driver.host"))
    return host, str(conf.get("spark.driver.bindAddress", host)), port


def _arrow_schema(frame: DataFrame) -> pa.Schema:
    """The types of the columns as the workers will see them."""
    from pyspark.sql.pandas.types import to_arrow_type

    fields, zone = [], str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
    for item in frame.schema.fields:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind = to_arrow_type(item.dataType, timezone=zone)
        except Exception:
            raise InvalidTable(
                f"Column '{item.name}' is of Spark's type {item.dataType.simpleString()}, which "
                "has no values to count. Make it text or a number.",
                column=item.name,
            ) from None
        fields.append(pa.field(item.name, kind))
    return pa.schema(fields)


def _require_kinds(schema: Schema, frame: DataFrame, arrow: pa.Schema) -> None:
    """Refuse types that can hold none of a domain's values, before any record is read."""
    for column in (*schema.randomised, *schema.binned, *schema.listed):
        if column.recoding:  # which may change the type
            continue
        kind = arrow.field(column.name).type
        spark_type = frame.schema[column.name].dataType.simpleString()
        bytes_ = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
        if isinstance(column.domain, Bins) and (pa.types.is_temporal(kind) or bytes_):
            raise InvalidTable(
                f"'{column.name}' must hold numbers to be cut into bins, and is "
                f"{spark_type} in Spark. "
                "Convert it, or declare categories.",
                column=column.name,
            )
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        labels = column.labels if isinstance(column.domain, Categories) else ()
        if numeric and labels and not any(map(_is_number, labels)):
            raise InvalidTable(
                f"'{column.name}' is {spark_type} in Spark, and none of the schema's {len(labels)} "
                "categories is a number. Convert it, or correct the categories.",
                column=column.name,
            )


def _is_number(label: Label) -> bool:
    try:
        float(label_text(label))
    except ValueError:
        return False
    return True


def _require_order(frame: DataFrame) -> None:
    """Refuse records whose order may differ when Spark computes them again."""
    session = frame.sparkSession
    adaptive = session.conf.get("spark.sql.adaptive.enabled")
    session.conf.set("spark.sql.adaptive.enabled", "false")  # asking would run its stages
    try:
        level = frame.select("*")._jdf.queryExecution().toRdd().outputDeterministicLevel()
    finally:
        session.conf.set("spark.sql.adaptive.enabled", adaptive)
    if level.toString() != "DETERMINATE":
        raise InvalidTable(
            "Records must come in the same order when a task is repeated, and those of a join, a "
            "sort or a repartition do not. Write the data frame to Parquet, or checkpoint() it, "
            "and protect that."
        )


def _sizes(frame: DataFrame, arrow: pa.Schema) -> tuple[int, ...]:
    """How many records each partition has; reads one column."""
    narrow = min(arrow, key=_width)
    return tuple(collect_summaries(select(frame, [narrow.name]), _unplaced, (), _count))


MOST_TASKS: Final = 1024
"""The most tasks of an action on items; each task takes as many of them as another."""


def each(
    session: SparkSession, function: Callable[[Item], Made], items: Sequence[Item]
) -> Iterator[Made]:
    """What a function makes of each item, in order, by the workers."""
    tasks = min(len(items), MOST_TASKS)
    places = session.range(0, tasks, 1, tasks)  # one in each partition
    of_slice = partial(_of_slice, function, items, tasks)
    for made in collect_summaries(places, _unplaced, (), of_slice, parts=tasks) if tasks else ():
        yield from made


def _of_slice(
    function: Callable[[Item], Made],
    items: Sequence[Item],
    tasks: int,
    batches: Iterator[pa.RecordBatch],
) -> list[Made]:
    """What one task makes of its items."""
    places = [place for batch in batches for place in batch.column(0).to_pylist()]
    slices = [(len(items) * at // tasks, len(items) * (at + 1) // tasks) for at in places]
    return [function(item) for begin, end in slices for item in items[begin:end]]


@dataclass(frozen=True)
class SpreadTable(OpenedTable):
    """Files that driver and workers see under one path; the workers make the summaries."""

    session: Any = field(default=None, repr=False, compare=False)
    coded: tuple[str, ...] = ()

    def fitted(self, *, text: Collection[str] = (), coded: Collection[str] = ()) -> SpreadTable:
        """The same files; workers read these columns of text as dictionaries."""
        del text  # a Parquet file knows its types
        return replace(self, coded=tuple(coded))

    def summaries(
        self,
        function: Callable[[Iterator[pa.RecordBatch]], Made],
        columns: Sequence[str] | None = None,
        *,
        by_part: bool = False,
    ) -> Iterator[Made]:
        """What a function makes of each file."""
        del by_part
        names = list(self.schema.names if columns is None else columns)
        of_file = partial(_of_file, function, names, self.coded)
        return each(self.session, of_file, [file.path for file in self.files])


def _of_file(
    function: Callable[[Iterator[pa.RecordBatch]], Made],
    names: Sequence[str],
    coded: Sequence[str],
    path: Path,
) -> Made:
    """What a function makes of the records of a file."""
    return function(open_table(path).fitted(coded=coded).batches(names))


SLICE = 2**22
"""Positions whose words one task counts, about."""

SLICES_MOST = 64


def range_sizes(
    frame: DataFrame, keystream: Keystream, stream: Address, *, bits: int, records: int
) -> tuple[int, ...]:
    """How many records each range of a shuffle has: counted by the workers, before it begins."""
    if not bits:
        return (records,)
    slices = min(SLICES_MOST, -(-records // SLICE))
    ends = [records * at // slices for at in range(slices + 1)]
    count = partial(count_words, keystream, stream, bits)
    counts = [*each(frame.sparkSession, count, [*pairwise(ends)])]
    return tuple(np.sum(counts, axis=0).tolist())


def _width(field: pa.Field) -> int:
    try:
        return int(field.type.bit_width)
    except ValueError:
        return 1024


def _count(batches: Iterator[pa.RecordBatch]) -> int:
    return sum(len(batch) for batch in batches)


def _unplaced(batches: Iterator[pa.RecordBatch], _: int) -> Iterator[tuple[Any, int]]:
    """Records whose positions are not known yet."""
    return ((batch, 0) for batch in batches)


def _to_driver(frame: DataFrame, arrow: pa.Schema, columns: Sequence[str]) -> Iterator[Part]:
    """The records in order, partition by partition, to the machine of the driver."""
    schema = pa.schema([arrow.field(name) for name in columns])

    def batches() -> Iterator[pa.RecordBatch]:
        with one_line(), packed(frame, _unplaced, (), _Streams(schema)) as task:
            for row in map_in_arrow(select(frame, columns), task, SUMMARIES).toLocalIterator():
                yield from from_stream(row["made"])

    return placed(batches())


@dataclass(frozen=True)
class _Streams:
    """Each batch as one value for the driver."""

    schema: pa.Schema

    def __call__(
        self, placed: Iterator[tuple[pa.RecordBatch, int]], partition: int
    ) -> Iterator[pa.RecordBatch]:
        for batch, _ in placed:
            content = as_stream(iter([batch.cast(self.schema)]))
            yield pa.record_batch(
                {
                    "part": pa.array([partition], pa.int32()),
                    "made": pa.array([content], pa.binary()),
                }
            )


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row per combination of values, with the sums that estimates need.

    The workers ask the embedded database about each partition, and the answers are added up.
    """
    named = [*asked.columns, *(c.column for c in asked.where), asked.value, asked.weight]
    needed = [name for name in dict.fromkeys(named) if name is not None] or opened.schema.names[:1]
    schema = pa.schema([opened.schema.field(name) for name in needed])
    parts = [*opened.summaries(partial(_sums_of_part, asked, schema), needed)]
    sums = [name for name in parts[0].column_names if name not in asked.columns]
    places = [f"c{at}" for at in range(len(asked.columns))]  # Arrow reads dots as paths
    table = pa.concat_tables(parts).rename_columns([*places, *sums])
    total = table.group_by(places).aggregate([(name, "sum") for name in sums])
    return total.select([*places, *(f"{name}_sum" for name in sums)]).rename_columns(
        [*asked.columns, *sums]
    )


def _sums_of_part(
    asked: SumsAsked, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> pa.Table:
    """The sums over one partition."""
    return local.grouped_sums(OpenedTable.of_arrow(pa.Table.from_batches(batches, schema)), asked)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
