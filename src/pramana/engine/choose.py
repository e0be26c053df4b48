"""Which engine serves a table, and what is asked of it before anything is designed.

Sums over groups of released records, by the engine that holds the records.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.base.registry import Registry
from pramana.engine.base import Engine, Table
from pramana.errors import InvalidNumber, Notice, unheard
from pramana.io.output import OutputEncoder
from pramana.schema.domains import Label, label_key
from pramana.schema.groups import MOST_ATTACHED, smallest_group
from pramana.schema.joint_cells import Counts, counts_with_kept
from pramana.schema.opened_table import OpenedTable, TableFormat, is_number, steady
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import RESERVED, Schema
from pramana.types import FloatArray, TableLike

__all__ = [
    "ENGINES",
    "NOTHING",
    "SUMS",
    "USUAL",
    "Condition",
    "Operator",
    "SumsAsked",
    "as_kind",
    "counts_of",
    "empty_like",
    "engine_for",
    "engine_of",
    "grouped_sums",
    "leaving",
    "number_in",
    "open_source",
    "open_truth",
    "require_number",
    "smallest_anonymity_set",
    "smallest_attached",
    "spelled",
    "sum_name",
    "sums_in",
    "write_opened",
]

ENGINES: Final[Registry[Engine]] = Registry(
    "pramana.engines",
    {
        "local": "pramana.engine.local:LOCAL",
        "duckdb": "pramana.engine.duckdb:DUCKDB",
        "spark": "pramana.engine.spark.table:SPARK",
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


def smallest_anonymity_set(schema: Schema, opened: OpenedTable) -> int:
    """The fewest records that share the values of the columns that an adversary may know."""
    return smallest_group(opened, schema.known, apart=True) if schema.known else opened.rows


def smallest_attached(schema: Schema, opened: OpenedTable) -> int | None:
    """The fewest records that share all columns which are released as they are.

    ``None`` where all of these may be known: it is the anonymity set then.
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


SUMS = ("n", "w", "ww", "wy", "wwy", "wwyy")
"""Records, weights and their squares, and both times the value and its square."""

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


NOTHING: Final = frozenset({"", "missing"})
"""What may be typed for a missing value: nothing, or the word that tables have for it."""


@dataclass(frozen=True)
class Condition:
    """What a column must be like: one of some values, none of them, or beyond a number."""

    column: str
    comparison: Operator
    values: tuple[Label, ...]


@dataclass(frozen=True)
class SumsAsked:
    """What is to be summed up.

    Attributes:
        columns: there is one row for each combination of their values.
        value: the column that is summed; records without a value are then left out.
        weight: the column of weights; each record counts once without.
        where: which records.
        beyond: sums whether the value lies beyond a number (1 or 0) instead of the value itself.
    """

    columns: tuple[str, ...]
    value: str | None = None
    weight: str | None = None
    where: tuple[Condition, ...] = ()
    beyond: Condition | None = None


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row a combination, with the sums that estimates need.

    The columns of the answer are those asked for and ``n``, ``w``, ``ww`` and, with a value,
    ``wy``, ``wwy``, ``wwyy``, each under a name that no column can have: see :func:`sums_in`.
    """
    return engine_for(opened).sums(opened, asked)


def sum_name(name: str) -> str:
    """The name of a sum in an answer."""
    return f"{RESERVED}{name}"


def sums_in(answer: pa.Table) -> dict[str, FloatArray]:
    """The sums of an answer by their short names, those that there are.

    A record without a weight counts nothing, and so does a cell that has no others.
    """
    there = set(answer.column_names)
    named = {name: sum_name(name) for name in SUMS}
    columns = {name: answer.column(own) for name, own in named.items() if own in there}
    return {
        name: (own.fill_null(0) if own.null_count else own).to_numpy().astype(np.float64)
        for name, own in columns.items()
    }


def require_number(kind: pa.DataType, condition: Condition) -> bool:
    """Whether the column holds numbers; refused if it does not and is compared like one."""
    number = is_number(kind)
    if not number and condition.comparison not in ("=", "!="):
        raise InvalidNumber(
            f"'{condition.column}' is not a number, so it cannot be compared by "
            f"{condition.comparison}. Use = or !=.",
            column=condition.column,
        )
    return number


def spelled(condition: Condition, *, number: bool) -> tuple[list[str], bool]:
    """The texts that a filter names, and whether it names missing, which is no text at all.

    Words for missing beside it are texts too, of a column that holds texts.
    """
    keys = [label_key(value) for value in condition.values]
    missing = None in keys
    words = NOTHING if number and missing else frozenset()
    return [key for key in keys if key is not None and key not in words], missing


def number_in(text: str, column: str) -> float:
    """The number that a filter on a column of numbers names."""
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(
            f"'{column}' holds numbers; it cannot be compared with text.", column=column
        ) from None
