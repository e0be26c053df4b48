"""How far two tables are apart, as shares of all records.

L1             sum of absolute differences: 0 for the same table, 2 for disjoint ones
intersection   1 - L1 / 2 for tables without negative entries: the share that agrees
Hellinger      sqrt(sum (sqrt p - sqrt q)**2 / 2): like L1, but rare cells count for more
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable
from pramana.types import FloatArray, Form

__all__ = ["TableDistance", "shares"]


@dataclass(frozen=True)
class TableDistance:
    """The distances between two tables.

    >>> TableDistance.between([50, 50], [60, 40])
    TableDistance(l1=0.2, intersection=0.9, hellinger=0.0712)
    """

    l1: float
    intersection: float
    hellinger: float

    @classmethod
    def between(cls, truth: ArrayLike, other: ArrayLike) -> TableDistance:
        """Of two tables with the same cells; negative estimates count as none for the shares."""
        p, q = shares(truth), shares(other)
        if p.shape != q.shape:
            raise InvalidTable(f"Tables must have the same cells, got {p.shape} and {q.shape}.")
        return cls(
            l1=float(np.abs(p - q).sum()),
            intersection=float(np.minimum(p, q).sum()),
            hellinger=float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)),
        )

    def __repr__(self) -> str:
        numbers = (f"{name}={value:.3g}" for name, value in self.to_json().items())
        return f"TableDistance({', '.join(numbers)})"

    def to_json(self) -> Form:
        """A plain form."""
        return {"l1": self.l1, "intersection": self.intersection, "hellinger": self.hellinger}


def shares(table: ArrayLike) -> FloatArray:
    """Shares of all records; negative numbers are none."""
    numbers = np.maximum(np.asarray(table, dtype=np.float64), 0)
    total = float(numbers.sum())
    if not total > 0:
        raise InvalidTable("A table must hold records to be compared, and is empty.")
    result: FloatArray = numbers / total
    return result
