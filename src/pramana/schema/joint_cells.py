"""Several columns as one code: the coding of joint cells, for every room that needs it.

Which joint cells can exist and which must stay, asked of cells by their codes.

A schema ties columns by combinations that no record can have. What it says is asked of any cells
here, so that joint cells need not be written out one by one; where they can be, they are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

import numpy as np

from pramana.errors import TooLarge
from pramana.schema.codec import code_dtype
from pramana.schema.domains import Label, label_key
from pramana.schema.schema import Schema
from pramana.types import BoolArray, Codes, FloatArray, IntArray

__all__ = [
    "CellRules",
    "JointCells",
    "cell_codes",
    "cell_counts",
    "cell_numbers",
    "distinct_rows",
    "joint_groups",
    "tied_columns",
]

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


@dataclass(frozen=True)
class CellRules:
    """For each column the values that stay, and combinations of values that cannot exist.

    Attributes:
        labels: of each column.
        fixed: of each column, which of its values stay as they are.
        impossible: one entry a rule: the places of its columns, and which values of each it names.
    """

    labels: tuple[tuple[Label, ...], ...] = ()
    fixed: tuple[BoolArray, ...] = ()
    impossible: tuple[tuple[tuple[int, BoolArray], ...], ...] = ()

    @classmethod
    def of(
        cls,
        schema: Schema,
        columns: Sequence[str],
        labels: Sequence[tuple[Label, ...]] | None = None,
    ) -> CellRules:
        """Those of a schema that speak of these columns alone, by the codes of their labels."""
        listed = [schema.column(n).labels for n in columns] if labels is None else labels
        place = {name: at for at, name in enumerate(columns)}
        fixed = [
            _marked(own, schema.column(n).fixed) for n, own in zip(columns, listed, strict=True)
        ]
        rules = [
            tuple((place[name], _marked(listed[place[name]], named)) for name, named in rule.cells)
            for rule in schema.impossible
            if set(rule.columns) <= set(columns)
        ]
        return cls(tuple(map(tuple, listed)), tuple(fixed), tuple(rules))

    def stay(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell, given by one array of codes a column, holds a value that stays."""
        found = np.zeros(len(codes[0]), dtype=bool)
        for own, marked in zip(codes, self.fixed, strict=False):
            found |= marked[own]
        return found

    def possible(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell breaks no rule."""
        found = np.ones(len(codes[0]), dtype=bool)
        for rule in self.impossible:
            found &= ~np.logical_and.reduce([marked[codes[place]] for place, marked in rule])
        return found

    def free(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell can exist and may be left and reached."""
        return self.possible(codes) & ~self.stay(codes)

    def table(self) -> BoolArray:
        """Which of all cells can exist, one axis a column."""
        found = np.ones([len(own) for own in self.labels], dtype=bool)
        for rule in self.impossible:
            named = dict(rule)
            found[np.ix_(*(named.get(at, range(n)) for at, n in enumerate(found.shape)))] = False
        return found

    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """All cells that can exist, the last column fastest."""
        places = np.argwhere(self.table()).tolist()
        return tuple(
            tuple(own[at] for own, at in zip(self.labels, row, strict=True)) for row in places
        )


def tied_columns(
    names: Sequence[str], ties: Iterable[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """Names grouped so that each tie lies inside one group, in their order.

    >>> tied_columns("abcd", [("a", "c"), ("c", "d")])
    (('a', 'c', 'd'), ('b',))
    """
    group = {name: {name} for name in names}
    for columns in ties:
        merged = set().union(*(group[name] for name in columns))
        group |= dict.fromkeys(merged, merged)
    ordered = (tuple(name for name in names if name in group[own]) for own in names)
    return tuple(dict.fromkeys(ordered))


def _marked(labels: Sequence[Label], named: Sequence[Label]) -> BoolArray:
    """Which labels are named; to Python 1 and true are the same, to a schema they are not."""
    keys = set(map(label_key, named))
    return np.array([label_key(label) in keys for label in labels], dtype=bool)
