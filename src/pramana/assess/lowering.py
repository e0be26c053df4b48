"""How far each recoding would lower the number of people who stand out."""

from __future__ import annotations

from dataclasses import dataclass

from pramana.assess.ways import changed_columns, with_column
from pramana.errors import PramanaError
from pramana.risk.standing import Standing
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.types import Form

__all__ = ["Lowering", "lowerings"]


@dataclass(frozen=True)
class Lowering:
    """One change of a column, and how many people would still be unique.

    Attributes:
        what: The change in words.
        column: Of which column.
        entry: What to write into the schema under it.
        unique: People who would still stand out.
        schema: The schema with the change.
    """

    what: str
    column: str
    entry: str
    unique: int
    schema: Schema

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "what": self.what,
            "column": self.column,
            "entry": self.entry,
            "unique": self.unique,
            "schema": self.schema.to_toml(),
        }


def lowerings(standing: Standing, schema: Schema, opened: OpenedTable) -> list[Lowering]:
    """Each key dropped, in half as many bins, or with its rarer values as one; the best first."""
    found = []
    for key in schema.keys:
        if key.domain is None:
            continue
        for what, entry, column in changed_columns(key, opened):
            try:
                changed = with_column(schema, column)
                unique = standing.of(changed).unique
            except PramanaError:
                continue
            found.append(Lowering(what, key.name, entry, unique, changed))
    return sorted(found, key=lambda one: one.unique)
