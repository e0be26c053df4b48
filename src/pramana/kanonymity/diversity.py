"""Groups that also hide a sensitive column: l distinct values, or a distribution near that of all.

Both are reached by merging: a group that falls short joins the group where that raises the
sum of squares least. Merging never lowers the number of distinct values, and the distance of
a merged group to the whole is at most the larger of the two, so this ends with all groups in
order, at worst with one [Li07], [Machanavajjhala06]. Where groups stay within strata, even all of a
stratum can be too far from the whole table, which is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import Infeasible, InvalidNumber, InvalidTable
from pramana.kanonymity.cells import merge_short
from pramana.table.closeness import closeness, codes_of
from pramana.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column with what every group must have of it.

    Args:
        name: of the column, for messages.
        codes: one number a value: 0, 1, 2, ...; in the order of the values where ordered.
        l: at least so many distinct values in every group; a missing one is none.
        t: at most so far from the distribution in the whole table.
        ordered: distances between values count steps [Li07, ordered distance]; otherwise two
            different values are at distance 1, and the distance is the total variation.
        whole: the share of every value in the whole table, where these records are a part of it.
        missing: the code of missing values, which lies above all others, where there are some.
    """

    name: str
    codes: IntArray
    l: int = 1  # noqa: E741 - the letter of the notion
    t: float = 1.0
    ordered: bool = False
    whole: FloatArray | None = None
    missing: int | None = None

    def __post_init__(self) -> None:
        if self.l < 1:
            raise InvalidNumber(f"l must be an integer >= 1, got {self.l!r}.")
        if not 0 <= self.t <= 1:
            raise InvalidNumber(f"t must be a number in [0, 1], got {self.t!r}.")
        values = int(np.unique(self.codes[self._present]).size)
        if values < self.l:
            raise Infeasible(
                f"No grouping gives l = {self.l} distinct values of {self.name!r}: the table has "
                f"{values}. Lower l."
            )

    @classmethod
    def of(cls, name: str, values: ArrayLike, **asked: Any) -> Sensitive:
        """From the column itself: numbers count as ordered, everything else as unordered."""
        array = np.asarray(values)
        if array.ndim != 1:
            raise InvalidTable(f"Sensitive column {name!r} must be one column.")
        codes, missing, number = codes_of(array)
        return cls(name, codes, ordered=number, missing=missing, **asked)

    @property
    def _present(self) -> BoolArray:
        """Which records have a value."""
        return np.asarray(self.codes != self.missing, dtype=bool)

    def part(self, rows: IntArray | slice) -> Sensitive:
        """The same column on some rows, to be held against the whole table still."""
        whole = shares(self.codes) if self.whole is None else self.whole
        return replace(self, codes=self.codes[rows], whole=whole)

    def short(self, labels: IntArray, sizes: IntArray) -> BoolArray:
        """Which groups do not have what is asked."""
        wanting = np.zeros(sizes.size, bool)
        if self.l > 1:
            own = self._present
            wanting |= distinct_values(labels[own], self.codes[own], sizes.size) < self.l
        if self.t < 1:
            # a whole table is at distance 0 but for rounding
            whole = shares(self.codes) if self.whole is None else self.whole
            far = closeness(labels, self.codes, whole, ordered=self.ordered)
            wanting |= far > self.t + 1e-12
        return wanting


def distinct_values(labels: IntArray, codes: IntArray, groups: int) -> IntArray:
    """How many different values every group holds."""
    width = int(codes.max(initial=0)) + 1
    pairs = np.unique(labels * width + codes)
    return np.bincount(pairs // width, minlength=groups)


def shares(codes: IntArray) -> FloatArray:
    """How often every value occurs, as a share of all."""
    return np.bincount(codes) / codes.size


def diversify(points: FloatArray, labels: IntArray, columns: tuple[Sensitive, ...]) -> IntArray:
    """Merge groups until every one has what is asked of every sensitive column."""
    if not columns:
        return labels

    def short(groups: IntArray, sizes: IntArray) -> BoolArray:
        wanting = np.zeros(sizes.size, bool)
        for column in columns:
            wanting |= column.short(groups, sizes)
        return wanting

    merged = merge_short(points, labels, short)
    if short(merged, np.bincount(merged)).any():
        raise Infeasible(
            "In some stratum even all records together do not have what is asked of the sensitive "
            "columns. Ask for less (closeness, distinct), or merge strata."
        )
    return merged
