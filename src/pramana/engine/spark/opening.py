"""Spark data frames, opened: their types, the size of each partition, summaries by the workers.

A record's position is the number of records in the partitions before plus its place in its own.
That is an address only if a partition that is read again has the same records in the same order.
Files and data held by the driver are like that; the outcome of a join or a sort is not, since
Spark brings its records as they come. Spark itself knows which is which, and the others are
refused.

Sums over groups of released records, by Spark: the same question as DuckDB answers.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Address, Keystream
from pramana.engine.base import (
    Condition,
    MapBatches,
    SumsAsked,
    number_in,
    require_number,
    spelled,
    sum_name,
)
from pramana.engine.spark.session import one_line
from pramana.engine.spark.tasks import (
    Begin,
    Luggage,
    Packer,
    Partition,
    Summary,
    Task,
    Typed,
    WordCounts,
    as_stream,
    from_stream,
    open_door,
)
from pramana.errors import InputError, InvalidTable
from pramana.io.base import require_distinct_names
from pramana.io.opening import checked, require_columns, require_types
from pramana.schema.domains import Bins, Categories, Label, label_text
from pramana.schema.opened_table import ColumnFunction, OpenedTable, Part, mapped, placed
from pramana.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Made = TypeVar("Made")

SUMMARIES = "part int, made binary"


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
        yield from collect_summaries(frame, begin, (), function)

    def with_columns(
        self, functions: Mapping[str, ColumnFunction], schema: pa.Schema
    ) -> SparkOpened:
        """The same records with functions of some columns in their place, by the workers."""
        from pyspark.sql.pandas.types import from_arrow_schema

        plain = pa.schema([item.with_nullable(True) for item in schema])
        begin, frame = self.beginning()
        with (
            one_line(),
            packed(
                frame, (begin, (MapBatches(_Mapped(functions, schema), schema),), Typed(plain))
            ) as (task,),
        ):
            made = map_in_arrow(frame, task, from_arrow_schema(plain))
        arrow = _arrow_schema(made)
        parts = partial(_to_driver, made, arrow)
        return replace(self, schema=arrow, source=made, opener=parts, known={})

    def beginning(self, columns: Sequence[str] | None = None) -> tuple[Begin, DataFrame]:
        """How a stage on some of the columns begins, and the data frame of those."""
        names = list(self.schema.names if columns is None else columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        return Partition(schema, self.sizes, self.known), select(self.source, names)


@dataclass(frozen=True)
class _Mapped:
    """Functions of columns as one of batches."""

    functions: Mapping[str, ColumnFunction]
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """The batch with the functions in place of their columns."""
        del position
        return mapped(self.functions, self.schema, batch)


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
def packed(frame: DataFrame, *contents: tuple[Any, ...]) -> Iterator[list[Task]]:
    """Tasks that carry these contents; their keys can be fetched while the block runs."""
    packer = Packer()
    content = [packer.pack(*objects) for objects in contents]
    if not packer.keystreams:
        yield [Task(Luggage(each, None)) for each in content]
        return
    host, bind, port = _address(frame)
    with open_door(packer.keystreams, host=host, bind=bind, port=port) as door:
        yield [Task(Luggage(each, door)) for each in content]


def collect_summaries(
    frame: DataFrame,
    begin: Begin,
    functions: Sequence[MapBatches],
    function: Callable[[Iterator[pa.RecordBatch]], Made],
) -> Iterator[Made]:
    """The summaries of all partitions, in their order."""
    known = begin.known if isinstance(begin, Partition) else {}
    noting = replace(begin, noting=True) if isinstance(begin, Partition) else begin
    with one_line(), packed(frame, (noting, tuple(functions), Summary(function))) as (task,):
        rows = map_in_arrow(frame, task, SUMMARIES).collect()
    for row in sorted(rows, key=lambda row: int(row["part"])):
        made, noted = pickle.loads(row["made"])  # noqa: S301 - our own workers made it
        known.setdefault(int(row["part"]), {}).update(noted)
        yield made


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

    fields = []
    for item in frame.schema.fields:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind = to_arrow_type(item.dataType, timezone=_timezone(frame))
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
        told = frame.schema[column.name].dataType.simpleString()
        bytes_ = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
        if isinstance(column.domain, Bins) and (pa.types.is_temporal(kind) or bytes_):
            raise InvalidTable(
                f"'{column.name}' must hold numbers to be cut into bins, and is {told} in Spark. "
                "Convert it, or declare categories.",
                column=column.name,
            )
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        labels = column.labels if isinstance(column.domain, Categories) else ()
        if numeric and labels and not any(map(_is_number, labels)):
            raise InvalidTable(
                f"'{column.name}' is {told} in Spark, and none of the schema's {len(labels)} "
                "categories is a number. Convert it, or correct the categories.",
                column=column.name,
            )


def _is_number(label: Label) -> bool:
    try:
        float(label_text(label))
    except ValueError:
        return False
    return True


def _timezone(frame: DataFrame) -> str:
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))


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
    kind = pa.schema([narrow])
    counted: dict[int, int] = {}
    with packed(frame, (_Unplaced(kind), (), Summary(_count))) as (task,):
        for row in map_in_arrow(select(frame, [narrow.name]), task, SUMMARIES).collect():
            counted[int(row["part"])], _ = pickle.loads(row["made"])  # noqa: S301 - our workers
    return tuple(counted.get(part, 0) for part in range(max(counted, default=-1) + 1))


SLICE = 2**22
"""Positions whose words one task counts, about."""

SLICES_MOST = 256


def range_sizes(
    frame: DataFrame, keystream: Keystream, stream: Address, *, bits: int, records: int
) -> tuple[int, ...]:
    """How many records each range of a shuffle has: counted by the workers, before it begins."""
    if not bits:
        return (records,)
    slices = min(SLICES_MOST, -(-records // SLICE))
    numbers = frame.sparkSession.range(0, slices, 1, slices)
    end = WordCounts(keystream, stream, bits, records, slices)
    counts = np.zeros(2**bits, dtype=np.int64)
    with packed(frame, (_Unplaced(pa.schema([("id", pa.int64())])), (), end)) as (task,):
        for row in map_in_arrow(numbers, task, SUMMARIES).toLocalIterator():
            counts += pickle.loads(row["made"])[0]  # noqa: S301 - our own workers made it
    return tuple(counts.tolist())


def _width(field: pa.Field) -> int:
    try:
        return int(field.type.bit_width)
    except ValueError:
        return 1024


def _count(batches: Iterator[pa.RecordBatch]) -> int:
    return sum(len(batch) for batch in batches)


@dataclass(frozen=True)
class _Unplaced:
    """Records whose positions are not known yet."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], _: int) -> Iterator[tuple[Any, int]]:
        return ((batch, 0) for batch in batches)


def _to_driver(frame: DataFrame, arrow: pa.Schema, columns: Sequence[str]) -> Iterator[Part]:
    """The records in order, partition by partition, to the machine of the driver."""
    schema = pa.schema([arrow.field(name) for name in columns])

    def batches() -> Iterator[pa.RecordBatch]:
        with one_line(), packed(frame, (_Unplaced(schema), (), _Streams(schema))) as (task,):
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
    """One row a combination of values, with the sums that estimates need."""
    from pyspark.sql import functions as sql

    frame = opened.source
    for condition in asked.where:
        frame = frame.filter(_condition(sql, condition, opened.schema))
    w = _number(sql, asked.weight) if asked.weight else sql.lit(1.0)
    terms = {"n": sql.lit(1.0), "w": w, "ww": w * w}
    if asked.value is not None:
        y = _number(sql, asked.value)
        frame = frame.filter(y.isNotNull() & ~sql.isnan(y))
        if asked.beyond is not None:
            y = _condition(sql, asked.beyond, opened.schema).cast("double")
        terms |= {"wy": w * y, "wwy": w * w * y, "wwyy": w * w * y * y}
    sums = [
        sql.coalesce(sql.sum(term), sql.lit(0.0)).alias(sum_name(name))
        for name, term in terms.items()
    ]
    groups = [sql.col(_quoted(name)).alias(name) for name in asked.columns]
    with one_line():
        table = frame.groupBy(*groups).agg(*sums).toArrow()
    fields = [opened.schema.field(name) for name in asked.columns]
    fields += [pa.field(sum_name(name), pa.float64()) for name in terms]
    return table.cast(pa.schema(fields))


def _condition(sql: Any, condition: Condition, schema: pa.Schema) -> Any:
    """A filter as an expression; the same texts and numbers as everywhere."""
    name = condition.column
    number = require_number(schema.field(name).type, condition)
    texts, missing = spelled(condition, number=number)
    if condition.comparison in ("=", "!="):
        if number:
            found = _number(sql, name).isin([number_in(text, name) for text in texts])
        else:
            found = sql.col(_quoted(name)).cast("string").isin(texts)
        found = sql.coalesce(found, sql.lit(False))
        if missing:
            found = found | sql.col(_quoted(name)).isNull()
        return found if condition.comparison == "=" else ~found
    limit = sql.lit(number_in(texts[0], name))
    own = _number(sql, name)
    return {"<": own < limit, "<=": own <= limit, ">": own > limit, ">=": own >= limit}[
        condition.comparison
    ]


def _number(sql: Any, name: str) -> Any:
    return sql.col(_quoted(name)).cast("double")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
