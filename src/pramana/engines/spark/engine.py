"""The engine for data frames of Spark, which stay where they lie."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from pramana.engines.sums import SumsAsked
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema

if TYPE_CHECKING:
    from pramana.engines.spark.table import SparkTable

__all__ = ["SPARK", "SparkEngine"]


class SparkEngine:
    """Data frames of a Spark session, worked on by its workers."""

    name: ClassVar[str] = "spark"
    on_one_machine: ClassVar[bool] = False
    reads_files: ClassVar[bool] = True

    def read(self, path: str, *, master: str | None = None) -> Any:
        """Parquet or CSV files, wherever Spark reads; starts Spark if need be."""
        from pramana.engines.spark.session import read_path

        # A path object has made one slash of the two in s3a://bucket.
        return read_path(re.sub(r"^(\w{2,}):/(?!/)", r"\1://", path), master=master)

    def serves(self, source: object) -> bool:
        """Whether it is a data frame of Spark."""
        kind = type(source)
        return kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"

    def open(self, source: Any, *, schema: Schema | None = None) -> OpenedTable:
        """The types of its columns, that it can be read again, and the sizes of its partitions."""
        from pramana.engines.spark.opening import open_spark

        return open_spark(source, schema=schema)

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> SparkTable:
        """Its partitions, in the hands of the workers."""
        from pramana.engines.spark.table import SparkTable

        del coded
        return SparkTable.of(opened)

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """By Spark's own aggregation."""
        from pramana.engines.spark.sums import grouped_sums

        return grouped_sums(opened, asked)

    def empty_like(self, source: Any) -> Any:
        """The data frame itself: a plan of work, no records are held."""
        return source

    def as_kind(self, opened: OpenedTable, like: Any) -> Any:
        """A data frame of the same session; the very one where the records lie in Spark."""
        if self.serves(opened.source):
            return opened.source
        table = opened.to_arrow()
        plain = [
            (f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
            for f in table.schema
        ]
        return like.sparkSession.createDataFrame(table.cast(pa.schema(plain)))


SPARK: Final = SparkEngine()
