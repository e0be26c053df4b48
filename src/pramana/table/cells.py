"""Several columns as one code: the coding of joint cells, for every room that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

import numpy as np

from pramana.errors import TooLarge
from pramana.table.codec import code_dtype
from pramana.table.domains import Label
from pramana.types import Codes, FloatArray, IntArray

__all__ = ["JointCells", "cell_codes", "cell_counts", "cell_numbers", "distinct_rows",
           "joint_groups"]  # fmt: skip

LARGEST: Final = 2**63 - 1
"""So many combinations have a number each."""

SPARSE: Final = 4
FEW: Final = 2**10
"""Whole numbers that span up to so many times their number, and a few, are counted one by one."""

LOOKED_UP: Final = 10_000_000
"""Up to so many possible combinations have a place each in a table."""


def cell_codes(labels: Sequence[Sequence[Label]], cells: Sequence[tuple[Label, ...]]) -> IntArray:
    """The codes of cells in each column, one row a column; ``KeyError`` where a label is not its.

    >>> cell_codes([("F", "M"), (1, 2, 3)], [("M", 1), ("F", 3)]).tolist()
    [[1, 0], [0, 2]]
    """
    known = [{label: at for at, label in enumerate(own)} for own in labels]
    columns = [[own[cell[at]] for cell in cells] for at, own in enumerate(known)]
    return np.array(columns, dtype=np.int64).reshape(len(labels), len(cells))


def cell_numbers(
    codes: Sequence[Codes], sizes: Sequence[int], *, records: int | None = None
) -> IntArray:
    """The number of each record's combination among all of them, the last column fastest.

    Without columns there is one combination, of as many ``records`` as are said.

    >>> cell_numbers([np.array([0, 1]), np.array([2, 0])], [2, 3]).tolist()
    [2, 3]
    >>> cell_numbers([], [], records=2).tolist()
    [0, 0]
    """
    if not codes and records is not None:
        return np.zeros(records, dtype=np.int64)
    cells = prod(map(int, sizes))
    if cells > LARGEST:
        raise TooLarge(
            f"Columns with {cells:.0e} combinations of values cannot be taken together. Take "
            "fewer of them, or coarsen one."
        )
    numbers: IntArray = np.ravel_multi_index(tuple(np.asarray(c, np.int64) for c in codes), sizes)
    return numbers


def cell_counts(codes: Sequence[Codes], sizes: Sequence[int]) -> FloatArray:
    """How many records have each combination, as an array with one axis a column."""
    counted = np.bincount(cell_numbers(codes, sizes), minlength=prod(sizes))
    return counted.reshape(tuple(sizes)).astype(np.float64)


def joint_groups(columns: Sequence[Codes]) -> IntArray:
    """One number a record, the same for records that are equal in all columns, without gaps.

    >>> joint_groups([np.array([3.5, 1.0, 3.5]), np.array([0, 0, 0])]).tolist()
    [1, 0, 1]
    """
    groups, _ = _numbered(columns[0])
    for column in columns[1:]:
        codes, many = _numbered(column)
        # n * n < 2**63 for every table that fits in memory
        groups, _ = _numbered(groups * many + codes)
    return groups


def distinct_rows(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """The rows that differ, and for each row its place among them.

    >>> rows, places = distinct_rows(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]))
    >>> rows[places].tolist(), len(rows)
    ([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]], 2)
    """
    places = joint_groups(list(points.T)) if points.shape[1] else np.zeros(len(points), np.int64)
    first = np.zeros(int(places.max(initial=-1)) + 1, dtype=np.int64)
    first[places[::-1]] = np.arange(len(places))[::-1]
    return points[first], places


def _numbered(values: Codes) -> tuple[IntArray, int]:
    """The place of each value among those that occur, in their order, and how many there are."""
    if len(values) and np.issubdtype(values.dtype, np.integer):
        low, high = int(values.min()), int(values.max())
        span = high - low + 1
        if span <= SPARSE * len(values) + FEW and high < 2**63:  # counting is faster than sorting
            steps = values.astype(np.int64) - low
            there = np.zeros(span, np.bool_)
            there[steps] = True
            places: IntArray = np.cumsum(there) - 1
            return places[steps], int(places[-1]) + 1
    elif len(values) and np.issubdtype(values.dtype, np.floating):
        low, high = values.min(), values.max()
        top = values == high
        if (top | (values == low)).all():  # marks of a category: no sorting either
            return top.astype(np.int64) * int(high > low), 1 + int(high > low)
    found, codes = np.unique(values, return_inverse=True)
    return codes.ravel(), len(found)


@dataclass(frozen=True, eq=False)
class JointCells:
    """Some combinations of labels, each with its position among them as a code.

    Attributes:
        labels: Of each column.
        cells: The combinations that can be, one label a column.
    """

    labels: tuple[tuple[Label, ...], ...]
    cells: tuple[tuple[Label, ...], ...]

    def codes(self, parts: Sequence[Codes]) -> IntArray:
        """The code of each record from the codes of its columns; -1 where none is its own."""
        numbers = cell_numbers(parts, self._sizes)
        if prod(self._sizes) <= LOOKED_UP:
            return self._lookup[numbers]
        order = np.argsort(self._numbers)
        place = np.searchsorted(self._numbers, numbers, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self._numbers[found] == numbers, found, -1)

    @cached_property
    def parts(self) -> list[Codes]:
        """The codes of each column in every cell."""
        codes = cell_codes(self.labels, self.cells)
        return [own.astype(code_dtype(n)) for own, n in zip(codes, self._sizes, strict=True)]

    @property
    def orderly(self) -> bool:
        """Whether all combinations are there, the last column fastest."""
        return np.array_equal(self._numbers, np.arange(prod(self._sizes)))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.labels))

    @cached_property
    def _numbers(self) -> IntArray:
        return cell_numbers(self.parts, self._sizes)

    @cached_property
    def _lookup(self) -> IntArray:
        lookup = np.full(prod(self._sizes), -1, np.int64)
        lookup[self._numbers] = np.arange(len(self.cells))
        return lookup
