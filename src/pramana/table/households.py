"""People who live together: which records are of one household, and what would link them again.

The number of a household never leaves. Its records are then randomised and shuffled apart, so
that nothing says who lives with whom, unless a column says it that leaves as it is: an income of
the household, to the cent, stands on each of its records.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pramana.errors import Infeasible
from pramana.table.cells import joint_groups
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.types import IntArray

__all__ = ["households_of", "largest_household", "require_unlinked"]


def households_of(table: OpenedTable, name: str) -> IntArray:
    """A number for the household of each record; a record without one is a household of its own."""
    codes = _codes(table, name)
    alone = np.flatnonzero(codes < 0)
    codes[alone] = int(codes.max(initial=-1)) + 1 + np.arange(len(alone))
    return codes


def largest_household(table: OpenedTable, name: str) -> int:
    """How many people the largest household has."""
    return int(np.bincount(households_of(table, name)).max())


def require_unlinked(schema: Schema, table: OpenedTable) -> None:
    """Refuse columns that leave as they are and tell which records are of one household.

    They are those that are the same for all of every household; together they must not tell a
    household of several people from every other one.
    """
    if schema.household is None:
        return
    homes = households_of(table, schema.household)
    several = np.bincount(homes)[homes] > 1
    if not several.any():
        return
    told, own = [], []
    for column in schema.released_as_is:
        codes = _codes(table, column.name)
        if len(np.unique(codes)) > 1 and _constant(homes[several], codes[several]):
            told.append(column.name)
            own.append(codes)
    if not told:
        return
    together = joint_groups(own)
    pairs = np.unique(np.column_stack([together, homes]), axis=0)[:, 0]
    alone = several & (np.bincount(pairs)[together] == 1)
    if alone.any():
        raise Infeasible(_linked(told, len(np.unique(homes[alone]))))


def _linked(told: list[str], households: int) -> str:
    """What is wrong with columns that tell households apart, and the ways out."""
    names = " and ".join(f"'{name}'" for name in told)
    are, they, them = ("is", "it", "it") if len(told) == 1 else ("are", "they", "them")
    key = "a key" if len(told) == 1 else "keys"
    many = "1 household" if households == 1 else f"{households:,} households"
    return (
        f"{names} {are} the same for all of a household, and {they} would tell {many} from all "
        f"others: left as {they} {are}, their records would stay linked. Make {them} {key}, round "
        f"or bin {them}, or drop {them}."
    )


def _constant(homes: IntArray, codes: IntArray) -> bool:
    """Whether each household has one value."""
    return int(joint_groups([homes, codes]).max()) + 1 == len(np.unique(homes))


def _codes(table: OpenedTable, name: str) -> IntArray:
    """A number for each value, -1 where it is missing."""
    parts = [batch.column(0) for batch in table.batches([name])]
    plain = [p.dictionary_decode() if pa.types.is_dictionary(p.type) else p for p in parts]
    indices = pa.chunked_array(plain).combine_chunks().dictionary_encode().indices
    return np.asarray(indices.fill_null(-1), dtype=np.int64)
