"""What is summed up over the released records, cell by cell, before anything is undone.

Means and totals need the same sums as counts, of other things: with weights w (1 where there are
none) and a value y, the sums of w, w^2, wy, w^2 y and w^2 y^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pramana.analysis.layout import Layout
from pramana.errors import InvalidTable
from pramana.types import FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums by released cell, each shaped like the layout.

    Attributes:
        records: The number of records.
        w: Sums of weights.
        ww: Sums of squared weights.
        wy: Sums of weight times value.
        wwy: Sums of squared weight times value.
        wwyy: Sums of squared weight times squared value.
    """

    records: FloatArray
    w: FloatArray
    ww: FloatArray
    wy: FloatArray | None = None
    wwy: FloatArray | None = None
    wwyy: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("records", "w", "ww", "wy", "wwy", "wwyy"):
            value = getattr(self, name)
            if value is None:
                continue
            array = np.asarray(value, dtype=np.float64)
            if array.shape != np.shape(self.records) or not np.isfinite(array).all():
                raise InvalidTable("Sums by released cell must be finite and of the same shape.")
            object.__setattr__(self, name, array)

    @classmethod
    def of_counts(cls, table: ArrayLike) -> Moments:
        """Counts alone: every weight is 1."""
        counts = np.asarray(table, dtype=np.float64)
        return cls(counts, counts, counts)

    @classmethod
    def of_records(
        cls,
        layout: Layout,
        cells: ArrayLike,
        *,
        values: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Moments:
        """From records: codes (one row a record, in the order of ``layout.columns``), values."""
        rows = np.asarray(cells)
        one = np.ones(len(rows))
        w = one if weights is None else np.asarray(weights, dtype=np.float64)
        sums = [layout.table(rows, term) for term in (one, w, w * w)]
        if values is not None:
            y = np.asarray(values, dtype=np.float64)
            sums += [layout.table(rows, term) for term in (w * y, w * w * y, w * w * y * y)]
        return cls(*sums)

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not (np.array_equal(self.w, self.records) and np.array_equal(self.ww, self.w))

    @property
    def count(self) -> float:
        """The number of records."""
        return float(self.records.sum())

    @property
    def effective(self) -> float:
        """The number of equally weighted records that tell as much [Kish]."""
        squares = float(self.ww.sum())
        return float(self.w.sum()) ** 2 / squares if squares > 0 else 0.0
