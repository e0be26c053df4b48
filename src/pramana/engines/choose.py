"""Which engine serves a table, and what is asked of it before anything is designed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from pramana.table.counts import Counts
from pramana.table.files import open_table
from pramana.table.frames import is_spark
from pramana.table.groups import smallest_group
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema

if TYPE_CHECKING:
    from pramana.engines.local import LocalTable
    from pramana.engines.spark import SparkTable

__all__ = ["counts_of", "engine_of", "in_memory", "open_source", "smallest_crowd"]


def open_source(table: Any, *, schema: Schema | None = None) -> OpenedTable:
    """A file or a data frame, opened; one of Spark by Spark."""
    if not is_spark(table):
        return open_table(table, schema=schema)
    from pramana.engines.spark_frames import open_spark

    return open_spark(table, schema=schema)


def engine_of(opened: OpenedTable, *, coded: Collection[str]) -> LocalTable | SparkTable:
    """The engine for an opened table: Spark for its own data frames, else the embedded one."""
    if is_spark(opened.source):
        from pramana.engines.spark import SparkTable

        return SparkTable.of(opened)
    from pramana.engines.local import LocalTable

    return LocalTable.of(opened, coded=coded)


def counts_of(schema: Schema, opened: OpenedTable) -> Counts:
    """How many records have which combination of values in the randomised columns and strata."""
    strata = [schema.column(name) for name in schema.strata]
    return engine_of(opened, coded=schema.names).count([*schema.randomised, *strata])


def in_memory(made: LocalTable | SparkTable) -> OpenedTable:
    """The records of a release that is not written: where their engine keeps records."""
    kept = getattr(made, "to_opened", None)
    return open_table(made.to_arrow()) if kept is None else kept()


def smallest_crowd(schema: Schema, opened: OpenedTable) -> int:
    """The fewest records that share the values of the columns that an adversary may know."""
    return smallest_group(opened, schema.known) if schema.known else opened.rows
