"""What a schema leaves open, read off the table: domains, and what is done with missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from pramana.table.domains import Domain, Label
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column, Schema
from pramana.table.tally import Tally, tally

__all__ = ["complete", "labelled_values", "read_off", "settle_missing"]


def complete(schema: Schema, table: OpenedTable) -> Schema:
    """The schema with undeclared domains and unstated policies for missing values filled in.

    Domains are read off the data for randomised columns and strata that have none; they count as
    not declared. A policy that is not stated becomes ``category`` where the data have missing
    values, or the schema speaks of them, and ``refuse`` elsewhere.
    """
    open_ended = [
        column
        for column in schema.columns
        if (column.randomised or column.name in schema.strata)
        and (column.domain is None or column.missing is None)
    ]
    return _with_completed(schema, table, open_ended)


def settle_missing(schema: Schema, table: OpenedTable) -> Schema:
    """The schema with unstated policies for missing values filled in; open domains stay open."""
    open_ended = [
        column for column in schema.randomised if column.domain is not None and not column.missing
    ]
    return _with_completed(schema, table, open_ended)


def _with_completed(schema: Schema, table: OpenedTable, open_ended: Sequence[Column]) -> Schema:
    if not open_ended:
        return schema
    seen = [column.name for column in open_ended if not _stated_whole(column, table)]
    tallies = tally(table, seen)
    spoken = {name for rule in schema.impossible for name in rule.columns if None in rule[name]}
    return schema.replace_columns(
        _completed(
            column,
            tallies.get(column.name, Tally("none")),
            table,
            stratum=column.name in schema.strata,
            spoken=column.name in spoken,
        )
        for column in open_ended
    )


def _stated_whole(column: Column, table: OpenedTable) -> bool:
    """Whether a column with a domain is known to have no missing values without being read."""
    if column.domain is None or table.never_missing is None or column.name in table.recoded:
        return False
    kind = table.schema.field(column.name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not pa.types.is_floating(kind) and table.never_missing(column.name)


def _completed(
    column: Column, seen: Tally, table: OpenedTable, *, stratum: bool, spoken: bool
) -> Column:
    domain, declared = column.domain, column.declared
    if domain is None:
        domain, declared = read_off(column.name, seen, table, categories=stratum), False
    missing = column.missing
    if missing is None:
        some = seen.missing or spoken or None in column.exempt
        missing = "category" if some else "refuse"
    return replace(column, domain=domain, missing=missing, declared=declared)


def read_off(name: str, seen: Tally, table: OpenedTable, *, categories: bool = False) -> Domain:
    """The values that occur; those that the file calls missing apart, each a value of its own."""
    codes = tuple(table.labels.missing.get(name, ()))
    there = seen.without(codes)
    if not there.distinct:  # nothing but reasons for missing: they are all there is
        codes, there = (), seen
    labelled = [value for value in labelled_values(name, seen, table) if value not in codes]
    from pramana.table.proposals import propose_domain  # most domains are declared

    domain = propose_domain(name, there, known=tuple(labelled), categories=categories)
    return replace(domain, missing_values=codes)


def labelled_values(name: str, seen: Tally, table: OpenedTable) -> tuple[Label, ...]:
    """Values that the file gives labels to, if they are of the same kind and cover what is seen."""
    labelled = table.labels.values.get(name, {})
    values = [int(v) if isinstance(v, float) and v.is_integer() else v for v in labelled]
    of_kind = [v for v in values if isinstance(v, str) == (seen.kind == "text")]
    covered = set(seen.labels()) <= set(of_kind) if seen.distinct <= len(of_kind) else False
    return tuple(of_kind) if covered else ()
