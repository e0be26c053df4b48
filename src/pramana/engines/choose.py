"""Which engine serves a table, and what is asked of it before anything is designed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from pramana.engines.base import Engine, Table
from pramana.errors import Notice, unheard
from pramana.formats.output import OutputEncoder
from pramana.registry import Registry
from pramana.table.counts import Counts
from pramana.table.groups import MOST_ATTACHED, smallest_group
from pramana.table.kept import counts_with_kept
from pramana.table.marks import steady
from pramana.table.opened import OpenedTable, TableFormat
from pramana.table.recoded import recoded
from pramana.table.schema import Schema
from pramana.types import TableLike

__all__ = [
    "ENGINES",
    "USUAL",
    "as_kind",
    "counts_of",
    "empty_like",
    "engine_for",
    "engine_of",
    "leaving",
    "open_source",
    "open_truth",
    "smallest_attached",
    "smallest_crowd",
    "write_opened",
]

ENGINES: Final[Registry[Engine]] = Registry(
    "pramana.engines",
    {
        "local": "pramana.engines.local.engine:LOCAL",
        "duckdb": "pramana.engines.duckdb.engine:DUCKDB",
        "spark": "pramana.engines.spark.engine:SPARK",
    },
)
"""The engines by name."""

USUAL: Final = "local"
"""The one that serves whatever no other does."""


def engine_for(source: object) -> Engine:
    """The engine that serves a file, a data frame or an opened table."""
    if isinstance(source, OpenedTable):
        source = source.source
    others = (ENGINES[name] for name in ENGINES if name != USUAL)
    return next((engine for engine in others if engine.serves(source)), ENGINES[USUAL])


def open_source(table: TableLike, *, schema: Schema | None = None) -> OpenedTable:
    """A file or a data frame, opened by its engine; what is open already is handed on.

    This is the door of true tables: what the schema says about recoding is done here.
    """
    engine = engine_for(table)
    opened = engine.open(table, schema=schema)
    ours = type(engine).__module__.startswith("pramana.")
    if not ours and not isinstance(table, OpenedTable):
        opened = steady(opened)  # whether it reads the same each time is not for us to know
    return opened if schema is None else recoded(opened, schema)


def open_truth(table: TableLike, released: Schema) -> OpenedTable:
    """The true table of a release, opened and recoded as it was when it was released.

    Values that a survey file calls missing are missing where no domain lists them.
    """
    opened = recoded(open_source(table), released)
    if not opened.labels.missing:
        return opened
    with unheard(Notice):  # it was said when the table was released
        return opened.fitted(coded=released.apart)


def engine_of(opened: OpenedTable, *, coded: Collection[str] = ()) -> Table:
    """An opened table in the hands of its engine."""
    return engine_for(opened).table(opened, coded=coded)


def counts_of(schema: Schema, opened: OpenedTable) -> Counts:
    """How many records have which combination of values that can be looked at.

    Those of the randomised columns, of the strata, and of all others that are released as they are
    and that an adversary may know.
    """
    coded = [*schema.randomised, *(schema.column(name) for name in schema.strata)]
    kept = [name for name in schema.known if name not in schema.strata]
    if kept:
        return counts_with_kept(opened, coded, kept)
    return engine_of(opened, coded=schema.names).count(coded)


def smallest_crowd(schema: Schema, opened: OpenedTable) -> int:
    """The fewest records that share the values of the columns that an adversary may know."""
    return smallest_group(opened, schema.known, apart=True) if schema.known else opened.rows


def smallest_attached(schema: Schema, opened: OpenedTable) -> int | None:
    """The fewest records that share all columns which are released as they are.

    ``None`` where all of these may be known: it is the crowd then.
    """
    names = schema.attached
    if not names:
        return None
    if schema.noisy:  # a number with noise is like no other, and tells a little about the truth
        return 1
    return smallest_group(opened, names, most=MOST_ATTACHED, binned=schema.binned)


def empty_like(source: TableLike) -> TableLike | None:
    """An object of the same kind without records: what ``as_kind`` needs.

    A release remembers the kind of table that went in, and must not hold on to its records.
    """
    source = source.source if isinstance(source, OpenedTable) else source
    return engine_for(source).empty_like(source)


def as_kind(opened: OpenedTable, like: TableLike | None) -> TableLike:
    """All records as the same kind of object as ``like``; PyArrow where there is none."""
    return engine_for(like).as_kind(opened, like)


def leaving(table: Table, schema: Schema, sets: tuple[str, ...] = ()) -> Table:
    """Released records in the types in which they leave, by the output encoder.

    ``sets`` are those that records may say they were asked for.
    """
    encoder = OutputEncoder.of(schema, table.schema(), sets)
    return table.map_batches(encoder, schema=encoder.schema)


def write_opened(
    opened: OpenedTable,
    path: Path,
    *,
    schema: Schema,
    file_format: TableFormat,
    sets: tuple[str, ...] = (),
) -> int:
    """Write released records, by their engine, to a file that appears whole or not at all."""
    table = leaving(engine_of(opened), schema, sets)
    labels = opened.labels.beside_missing(schema)
    return table.write(path, file_format=file_format, labels=labels)
