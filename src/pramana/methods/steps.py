"""Which columns go through a matrix together.

A combination that cannot exist ties its columns into one joint step whose domain is the set of
possible cells: a record can then only move to a record that could exist.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from pramana.errors import InvalidSchema, TooLarge
from pramana.matrices.transition import Label
from pramana.table.schema import CATEGORY_LIMIT, Impossible, Schema

__all__ = ["StepDomain", "step_domains"]


@dataclass(frozen=True)
class StepDomain:
    """The columns of a step, its values (cells where columns are several), the fixed ones."""

    columns: tuple[str, ...]
    labels: tuple[Label, ...]
    fixed: tuple[Label, ...] = ()

    @property
    def size(self) -> int:
        """The number of values or possible cells."""
        return len(self.labels)

    @property
    def name(self) -> str:
        """The columns in words."""
        return " x ".join(self.columns)

    def parts(self, columns: tuple[str, ...]) -> tuple[Label, ...]:
        """Each value of the step, seen through some of its columns only."""
        if len(self.columns) == 1:
            return self.labels
        where = [self.columns.index(name) for name in columns]
        return tuple(tuple(cell[i] for i in where) for cell in self.labels)


def step_domains(schema: Schema) -> tuple[StepDomain, ...]:
    """One step a randomised column, or a group of columns tied by impossible combinations."""
    return tuple(_domain(schema, group) for group in _tied_columns(schema))


def _tied_columns(schema: Schema) -> list[tuple[str, ...]]:
    """Randomised columns grouped so that each impossible combination lies inside one group."""
    group_of = {column.name: {column.name} for column in schema.randomised}
    for rule in schema.impossible:
        merged = set().union(*(group_of[name] for name in rule.columns))
        for name in merged:
            group_of[name] = merged
    groups: dict[str, tuple[str, ...]] = {}
    for column in schema.randomised:
        ordered = tuple(c.name for c in schema.randomised if c.name in group_of[column.name])
        groups.setdefault(ordered[0], ordered)
    return list(groups.values())


def _domain(schema: Schema, columns: tuple[str, ...]) -> StepDomain:
    parts = [schema.column(name) for name in columns]
    if len(parts) == 1:
        return StepDomain(columns, parts[0].labels, parts[0].fixed)
    cells = math.prod(len(part.labels) for part in parts)
    if cells > CATEGORY_LIMIT:
        raise TooLarge(
            f"Impossible combinations tie {' and '.join(columns)} together, which makes {cells:,} "
            f"cells; at most {CATEGORY_LIMIT:,} can be served. Coarsen one of them."
        )
    rules = [rule for rule in schema.impossible if set(rule.columns) <= set(columns)]
    possible = tuple(
        cell
        for cell in itertools.product(*(part.labels for part in parts))
        if not any(_breaks(rule, dict(zip(columns, cell, strict=True))) for rule in rules)
    )
    if len(possible) < 2:
        raise InvalidSchema(
            f"The impossible combinations leave {len(possible)} possible cell of "
            f"{' and '.join(columns)}; at least two are needed."
        )
    fixed = tuple(
        cell
        for cell in possible
        if any(value in part.fixed for value, part in zip(cell, parts, strict=True))
    )
    return StepDomain(columns, possible, fixed)


def _breaks(rule: Impossible, record: dict[str, Label]) -> bool:
    return all(record[name] in labels for name, labels in rule.cells)
