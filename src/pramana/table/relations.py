"""How columns hang together: one follows from another, or groups records that stand together.

Looked for in the first records, and confirmed on all of them before anything is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.table.cells import joint_groups
from pramana.table.opened import OpenedTable
from pramana.table.tally import Tally
from pramana.types import IntArray

__all__ = ["Follows", "following", "standing_together"]

FIRST = 20_000
"""Records in which relations are looked for."""

MOST_VALUES = 2_000
SEEN_OFTEN = 5
"""Each value of a column that others follow from must be held by so many records on average."""

FEWEST_GROUPS, SMALL_GROUPS = 50, 6
"""Households are many, and not larger, on average by far."""


@dataclass(frozen=True)
class Follows:
    """One column follows from another: whoever knows that one knows it.

    Attributes:
        column: what follows.
        source: from which.
        both: whether each follows from the other, so that they are one column twice.
    """

    column: str
    source: str
    both: bool

    @property
    def words(self) -> str:
        """For the steward."""
        if self.both:
            return f"it is '{self.source}' in other words"
        return f"it follows from '{self.source}'"


def following(table: OpenedTable, tallies: Mapping[str, Tally]) -> dict[str, Follows]:
    """Columns that follow from another one, each from the one with fewest values, by name."""
    names = [name for name, seen in tallies.items() if _may_relate(seen, table.rows)]
    if len(names) < 2:
        return {}
    codes = _codes(table, names, FIRST)
    found: dict[str, Follows] = {}
    order = sorted(names, key=lambda name: tallies[name].distinct)
    for place, column in enumerate(order):
        for source in order[place + 1 :]:
            if not _determines(codes[source], codes[column]):
                continue
            whole = _codes(table, [source, column], None)
            if _determines(whole[source], whole[column]):
                same = tallies[source].distinct == tallies[column].distinct
                # Of two that say the same the first in the table stays.
                first, second = source, column
                if same and names.index(column) < names.index(source):
                    first, second = column, source
                found.setdefault(second, Follows(second, first, same))
                break
    return found


def _may_relate(seen: Tally, records: int) -> bool:
    few = 2 < seen.distinct <= MOST_VALUES or (seen.distinct == 2 and records > FIRST // 10)
    return seen.complete and few and records >= SEEN_OFTEN * seen.distinct


def _codes(table: OpenedTable, names: Sequence[str], most: int | None) -> dict[str, IntArray]:
    """A number for each value, missing among them."""
    held: list[pa.RecordBatch] = []
    records = 0
    for batch in table.batches(list(names)):
        held.append(batch if most is None else batch.slice(0, most - records))
        records += len(held[-1])
        if most is not None and records >= most:
            break
    return {
        name: np.asarray(
            pa.chunked_array([_plain(batch.column(at)) for batch in held])
            .combine_chunks()
            .dictionary_encode(null_encoding="encode")
            .indices,
            dtype=np.int64,
        )
        for at, name in enumerate(names)
    }


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _determines(source: IntArray, column: IntArray) -> bool:
    """Whether each value of ``source`` comes with one of ``column``."""
    together = joint_groups([source, column])
    return len(source) > 0 and int(together.max()) == len(np.unique(source)) - 1


def standing_together(table: OpenedTable, name: str, seen: Tally) -> bool:
    """Whether records with one value stand one after the other, a few each, as households do."""
    some = max(FEWEST_GROUPS, table.rows / SMALL_GROUPS)
    if not seen.complete or not some < seen.distinct < 0.9 * table.rows:
        return False
    runs, last = 0, None
    for batch in table.batches([name]):
        values = _plain(batch.column(0)).cast(pa.string())
        if not len(values):
            continue
        changes = pc.sum(pc.not_equal(values[1:], values[:-1]).cast(pa.int64())).as_py() or 0
        first = values[0].as_py()
        runs += changes + (first != last or not runs)
        last = values[-1].as_py()
    return runs == seen.distinct
