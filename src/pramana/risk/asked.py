"""Which columns each released record was asked for: cells that were not asked are not values.

Records are compared in what they were asked together: those of one set in all that it holds, and
by a few columns alone those that were asked for all of these.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from pramana.matrices.mechanism import Mechanism
from pramana.matrices.reporting import Reporting
from pramana.release.told import stated_sets
from pramana.table.opened import OpenedTable
from pramana.types import BoolArray, IntArray

__all__ = ["AskedRecords"]


@dataclass(frozen=True, eq=False)
class AskedRecords:
    """The set of each record, and the columns of each set; other columns are told by all."""

    of_record: IntArray
    sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, mechanism: Mechanism | None, released: OpenedTable) -> AskedRecords | None:
        """Of a release; ``None`` where its records tell all columns."""
        if not isinstance(mechanism, Reporting):
            return None
        sets = tuple(frozenset(one.columns) for one in mechanism.sets)
        return cls(stated_sets(mechanism, released), sets)

    def told(self, names: Collection[str]) -> BoolArray:
        """Which records were asked for all of these columns."""
        wanted = frozenset(names) & frozenset[str]().union(*self.sets)
        told = np.array([wanted <= columns for columns in self.sets])[self.of_record]
        return np.asarray(told, dtype=np.bool_)

    def at(self, rows: IntArray) -> AskedRecords:
        """Some of the records."""
        return replace(self, of_record=self.of_record[rows])
