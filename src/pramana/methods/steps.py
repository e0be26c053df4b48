"""Which columns go through a matrix together.

A combination that cannot exist ties its columns into one joint step whose domain is the set of
possible cells: a record can then only move to a record that could exist. Columns may also be tied
because their table is wanted: it is then told by one matrix at the budget of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pramana.errors import InvalidSchema, TooLarge
from pramana.matrices.mechanism import Step
from pramana.matrices.transition import Label
from pramana.table.rules import CellRules, tied_columns
from pramana.table.schema import CATEGORY_LIMIT, Schema

__all__ = ["Set", "StepDomain", "joint_of", "step_domains", "told_of"]

Set: TypeAlias = tuple[str, ...]


def told_of(schema: Schema, table: Iterable[str]) -> Set:
    """The columns of a table that are randomised, in the order of the schema."""
    wanted = set(table)
    return tuple(column.name for column in schema.randomised if column.name in wanted)


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


def step_domains(schema: Schema, joint: Iterable[Sequence[str]] = ()) -> tuple[StepDomain, ...]:
    """One step a randomised column, or a group of columns tied by impossible combinations.

    ``joint`` ties further columns.
    """
    names = [column.name for column in schema.randomised]
    ties = [*(rule.columns for rule in schema.impossible), *joint]
    for name in (name for columns in ties for name in columns):
        if name not in names:
            raise InvalidSchema(
                f"Only columns that are randomised can be tied, and '{name}' is none of "
                f"{', '.join(names)}.",
                column=name,
            )
    return tuple(_domain(schema, group) for group in tied_columns(names, ties))


def _domain(schema: Schema, columns: tuple[str, ...]) -> StepDomain:
    parts = [schema.column(name) for name in columns]
    if len(parts) == 1:
        return StepDomain(columns, parts[0].labels, parts[0].fixed)
    cells = math.prod(len(part.labels) for part in parts)
    if cells > CATEGORY_LIMIT:
        raise TooLarge(
            f"{' and '.join(columns)} are tied together, which makes {cells:,} cells; at most "
            f"{CATEGORY_LIMIT:,} can be served. Coarsen one of them."
        )
    rules = CellRules.of(schema, columns)
    possible = rules.cells()
    if len(possible) < 2:
        raise InvalidSchema(
            f"The impossible combinations leave {len(possible)} possible cell of "
            f"{' and '.join(columns)}; at least two are needed."
        )
    stays = rules.stay(np.nonzero(rules.table()))
    fixed = tuple(cell for cell, own in zip(possible, stays, strict=True) if own)
    return StepDomain(columns, possible, fixed)


def joint_of(mechanism: Iterable[Step]) -> tuple[Set, ...]:
    """The columns that a mechanism ties."""
    return tuple(step.columns for step in mechanism if len(step.columns) > 1)
