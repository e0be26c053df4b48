"""Contingency tables, and the coding of several columns as one.

Counts keep only combinations that occur. Guarantees, designs and estimates read counts, never
records. A combination of codes has a number, the last column fastest; a schema's rules say which
combinations are possible and which stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.errors import InvalidTable, TooLarge, UnknownColumn
from pramana.schema.codec import alike, code_dtype, encode
from pramana.schema.domains import Label, label_key
from pramana.schema.group_sizes import COUNT, group_sizes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, Codes, FloatArray, IntArray, Values

LARGEST: Final = 2**63 - 1  # the most combinations that can be numbered
SPARSE: Final = 4
FEW: Final = 2**10
"""Whole numbers that span up to this many times their number, and a few, are counted one by one."""

LOOKED_UP: Final = 10_000_000  # the most combinations that are looked up in a table


def cell_codes(labels: Sequence[Sequence[Label]], cells: Sequence[tuple[Label, ...]]) -> IntArray:
    """The codes of cells in each column, one row per column; ``KeyError`` where a label is not its.

    >>> cell_codes([("F", "M"), (1, 2, 3)], [("M", 1), ("F", 3)]).tolist()
    [[1, 0], [0, 2]]
    """
    known = [{label: at for at, label in enumerate(values)} for values in labels]
    columns = [[values[cell[at]] for cell in cells] for at, values in enumerate(known)]
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
            "Columns with {cells:.0e} combinations of values cannot be taken together. Take fewer "
            "of them, or coarsen one.",
            cells=cells,
        )
    numbers: IntArray = np.ravel_multi_index(tuple(np.asarray(c, np.int64) for c in codes), sizes)
    return numbers


def cell_counts(codes: Sequence[Codes], sizes: Sequence[int]) -> FloatArray:
    """How many records have each combination, as an array with one axis per column."""
    counted = np.bincount(cell_numbers(codes, sizes), minlength=prod(sizes))
    return counted.reshape(tuple(sizes)).astype(np.float64)


def joint_groups(columns: Sequence[Codes]) -> IntArray:
    """One number per record, the same for records that are equal in all columns, without gaps.

    >>> joint_groups([np.array([3.5, 1.0, 3.5]), np.array([0, 0, 0])]).tolist()
    [1, 0, 1]
    """
    groups, _ = _numbered(columns[0])
    for column in columns[1:]:
        codes, many = _numbered(column)
        # n * n < 2**63 for every table that fits in memory
        groups, _ = _numbered(groups * many + codes)
    return groups


def value_codes(column: pa.ChunkedArray) -> IntArray:
    """A number for each value, in the order of appearance; -1 where it is missing.

    >>> value_codes(pa.chunked_array([["b", None, "a", "b"]])).tolist()
    [0, -1, 1, 0]
    """
    indices = alike(column).combine_chunks().dictionary_encode().indices
    return np.asarray(indices.fill_null(-1), dtype=np.int64)


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
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.ravel(), len(distinct)


@dataclass(frozen=True, eq=False)
class JointCells:
    """Some combinations of labels of several columns, each with its position as a code."""

    labels: tuple[tuple[Label, ...], ...]
    cells: tuple[tuple[Label, ...], ...]

    def codes(self, parts: Sequence[Codes]) -> IntArray:
        """The code of each record from the codes of its columns; -1 where none is its own."""
        numbers = cell_numbers(parts, self._sizes)
        if prod(self._sizes) <= LOOKED_UP:
            return self._lookup[numbers]
        order = np.argsort(self._numbers)
        place = np.searchsorted(self._numbers, numbers, sorter=order)
        places = order[np.minimum(place, len(order) - 1)]
        return np.where(self._numbers[places] == numbers, places, -1)

    @cached_property
    def parts(self) -> list[Codes]:
        """The codes of each column in every cell."""
        codes = cell_codes(self.labels, self.cells)
        return [column.astype(code_dtype(n)) for column, n in zip(codes, self._sizes, strict=True)]

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
    """For each column which values stay; and which values of several columns exclude each other."""

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
        """The rules of a schema for these columns alone, by the codes of their labels."""
        listed = [schema.column(n).labels for n in columns] if labels is None else labels
        place = {name: at for at, name in enumerate(columns)}
        fixed = [
            _marked(values, schema.column(n).fixed)
            for n, values in zip(columns, listed, strict=True)
        ]
        rules = [
            tuple((place[name], _marked(listed[place[name]], named)) for name, named in rule.cells)
            for rule in schema.impossible
            if set(rule.columns) <= set(columns)
        ]
        return cls(tuple(map(tuple, listed)), tuple(fixed), tuple(rules))

    def stay(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell, given by one array of codes a column, holds a value that stays."""
        fixed = np.zeros(len(codes[0]), dtype=bool)
        for column, marked in zip(codes, self.fixed, strict=False):
            fixed |= marked[column]
        return fixed

    def possible(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell breaks no rule."""
        allowed = np.ones(len(codes[0]), dtype=bool)
        for rule in self.impossible:
            allowed &= ~np.logical_and.reduce([marked[codes[place]] for place, marked in rule])
        return allowed

    def free(self, codes: Sequence[Codes] | Codes) -> BoolArray:
        """Whether each cell can exist and may be left and reached."""
        return self.possible(codes) & ~self.stay(codes)

    def table(self) -> BoolArray:
        """Which of all cells can exist, one axis per column."""
        allowed = np.ones([len(values) for values in self.labels], dtype=bool)
        for rule in self.impossible:
            named = dict(rule)
            allowed[np.ix_(*(named.get(at, range(n)) for at, n in enumerate(allowed.shape)))] = (
                False
            )
        return allowed

    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """All cells that can exist, the last column fastest."""
        places = np.argwhere(self.table()).tolist()
        return tuple(
            tuple(values[at] for values, at in zip(self.labels, row, strict=True)) for row in places
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
    ordered = (
        tuple(name for name in names if name in group[name_of_group]) for name_of_group in names
    )
    return tuple(dict.fromkeys(ordered))


def _marked(labels: Sequence[Label], named: Sequence[Label]) -> BoolArray:
    """Which labels are named; to Python 1 and true are the same, to a schema they are not."""
    keys = set(map(label_key, named))
    return np.array([label_key(label) in keys for label in labels], dtype=bool)


DENSE_LIMIT: Final = 10_000_000
"""The most possible combinations that are counted in an array, or written out."""


@dataclass(frozen=True, eq=False)
class Counts:
    """A labelled table of counts.

    >>> sex, age = np.array([0, 1, 1], np.uint8), np.array([2, 0, 0], np.uint8)
    >>> counts = Counts.of_codes(("sex", "age"), (("F", "M"), (20, 30, 40)), [sex, age])
    >>> counts.dense()
    array([[0, 0, 1],
           [2, 0, 0]])
    >>> counts.margin("age").dense()
    array([2, 0, 1])

    Attributes:
        columns: The columns that are crossed.
        labels: The labels of each column.
        cells: One row per combination that occurs, one code per column; sorted, without repetition.
        numbers: How many records have each of them.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    cells: Values
    numbers: IntArray

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.labels) or self.cells.shape != (
            len(self.numbers),
            len(self.columns),
        ):
            raise InvalidTable(
                "Counts of {count} columns need as many lists of labels and one number a cell, "
                "got {coded} lists, {shape} cells and {numbers} numbers.",
                count=len(self.columns),
                coded=len(self.labels),
                shape=self.cells.shape,
                numbers=len(self.numbers),
            )
        self.cells.flags.writeable = False
        self.numbers.flags.writeable = False

    @classmethod
    def of_codes(
        cls,
        columns: Sequence[str],
        labels: Sequence[tuple[Label, ...]],
        codes: Sequence[Codes],
    ) -> Counts:
        """Count records that are given as one array of codes a column."""
        counter = Counter(columns, labels)
        counter.add(codes)
        return counter.result()

    @classmethod
    def from_dense(
        cls, columns: Sequence[str], labels: Sequence[tuple[Label, ...]], table: Values
    ) -> Counts:
        """From an array with one axis per column."""
        cells = np.argwhere(table)
        dtype = code_dtype(max((len(values) for values in labels), default=1))
        numbers = table[table != 0].astype(np.int64)
        return cls(tuple(columns), tuple(labels), cells.astype(dtype), numbers)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of labels of each column."""
        return tuple(len(values) for values in self.labels)

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.numbers.sum())

    def margin(self, *columns: str) -> Counts:
        """The counts of some of the columns, in the order asked; the others are summed out."""
        unknown = [name for name in columns if name not in self.columns]
        if unknown:
            raise UnknownColumn(
                "Counts hold {columns}, not {unknown}.",
                columns=", ".join(self.columns) or "no columns",
                unknown=", ".join(unknown),
            )
        places = [self.columns.index(name) for name in columns]
        counter = Counter(columns, [self.labels[place] for place in places])
        counter.add([self.cells[:, place] for place in places], self.numbers)
        return counter.result()

    def dense(self) -> IntArray:
        """An array with one axis per column, zeros included."""
        if prod(self.sizes) > DENSE_LIMIT:
            raise TooLarge(
                "A table of {cells:,} cells is not written out, only up to {dense_limit:,}. Cross "
                "fewer columns.",
                cells=prod(self.sizes),
                dense_limit=DENSE_LIMIT,
            )
        table = np.zeros(self.sizes, dtype=np.int64)
        table[tuple(self.cells.T)] = self.numbers
        return table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            (self.columns, self.labels) == (other.columns, other.labels)
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.numbers, other.numbers)
        )

    def __hash__(self) -> int:
        return hash((self.columns, self.labels, self.total))


class Counter:
    """Counts records that come in batches.

    Up to ``dense`` possible combinations are counted in an array; otherwise those of each batch are
    merged.
    """

    def __init__(
        self,
        columns: Sequence[str],
        labels: Sequence[tuple[Label, ...]],
        *,
        dense: int = DENSE_LIMIT,
    ) -> None:
        self._columns, self._labels = tuple(columns), tuple(tuple(values) for values in labels)
        self._sizes = [len(values) for values in self._labels]
        cells = prod(self._sizes)
        self._dense = np.zeros(cells, dtype=np.int64) if cells <= dense else None
        self._parts: list[tuple[Values, IntArray]] = []
        self._waiting = 0

    def add(self, codes: Sequence[Codes], numbers: IntArray | None = None) -> None:
        """Count records given as one array of codes a column; ``numbers`` of each, if not one."""
        if len(codes) != len(self._columns):
            raise InvalidTable(
                "{count} columns are counted, got {coded}.",
                count=len(self._columns),
                coded=len(codes),
            )
        if not codes:  # crossing no columns: one cell that holds everybody
            raise InvalidTable("Counting needs at least one column, got none.")
        keys = _keys_of(codes, self._sizes)
        if self._dense is not None:
            if numbers is None:
                self._dense += np.bincount(keys, minlength=len(self._dense))
            else:
                np.add.at(self._dense, keys, numbers)
            return
        self._parts.append(_merge([(keys, numbers)]))
        self._waiting += len(self._parts[-1][0])
        if self._waiting > 2 * len(self._parts[0][0]) + DENSE_LIMIT:
            self._parts = [_merge(self._parts)]
            self._waiting = len(self._parts[0][0])

    def merge(self, other: Counter) -> None:
        """Count all that another one of the same columns has counted."""
        counts = other.result()
        self.add(list(counts.cells.T), counts.numbers)

    def result(self) -> Counts:
        """The table of all that was added."""
        if self._dense is not None:
            keys: Values = np.flatnonzero(self._dense)
            numbers = self._dense[keys]
        else:
            none = _keys_of([np.zeros(0, np.uint8)] * len(self._sizes), self._sizes)
            keys, numbers = _merge([(none, None), *self._parts])
        return Counts(self._columns, self._labels, _cells_of(keys, self._sizes), numbers)


def _merge(
    parts: Sequence[tuple[Values, IntArray | None]],
) -> tuple[Values, IntArray]:
    """Distinct keys in order, with the sums of their numbers; without numbers each is one."""
    keys = np.concatenate([key for key, _ in parts])
    if all(numbers is None for _, numbers in parts):
        distinct, counts = np.unique(keys, return_counts=True)
        return distinct, counts.astype(np.int64)
    numbers = np.concatenate(
        [np.ones(len(key), np.int64) if number is None else number for key, number in parts]
    )
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
    return keys[first], np.add.reduceat(numbers, first) if len(first) else numbers


def _keys_of(codes: Sequence[Codes], sizes: Sequence[int]) -> Values:
    """A key for each combination that sorts as its codes: an integer, or bytes beyond 2**63."""
    if prod(sizes) < 2**63:
        keys = codes[0].astype(np.int64)
        for size, column in zip(sizes[1:], codes[1:], strict=True):
            keys *= size
            keys += column
        return keys
    rows = np.column_stack(codes).astype(code_dtype(max(sizes)).newbyteorder(">"))
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * len(codes)))).ravel()


def _cells_of(keys: Values, sizes: Sequence[int]) -> Values:
    """The codes of each key, one row per combination."""
    dtype = code_dtype(max(sizes))
    if keys.dtype.kind == "V":
        return keys.view(dtype.newbyteorder(">")).reshape(len(keys), len(sizes)).astype(dtype)
    cells = np.empty((len(keys), len(sizes)), dtype=dtype)
    left = keys.copy()
    for place in range(len(sizes) - 1, -1, -1):
        left, cells[:, place] = np.divmod(left, sizes[place])
    return cells


def counts_with_kept(
    opened: OpenedTable, coded: Sequence[Column], kept: Sequence[str] = ()
) -> Counts:
    """How many records have which combination of coded values and of unchanged values."""
    names = [*(column.name for column in coded), *kept]
    cells = group_sizes(opened, names).total()
    codes: list[Codes] = [encode(column, cells.column(column.name)) for column in coded]
    labels: list[tuple[Label, ...]] = [column.labels for column in coded]
    for name in kept:
        codes_of_column, values = _as_they_stand(name, cells.column(name))
        codes.append(codes_of_column)
        labels.append(values)
    counter = Counter(names, labels)
    counter.add(codes, np.asarray(cells.column(COUNT), dtype=np.int64))
    return counter.result()


def _as_they_stand(name: str, column: pa.ChunkedArray) -> tuple[Codes, tuple[Label, ...]]:
    """Codes in the order of appearance, and the values; missing is one of them."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    try:
        return np.asarray(coded.indices), tuple(coded.dictionary.to_pylist())
    except (OverflowError, ValueError):  # which quote a value
        raise InvalidTable(
            "'{column}' must hold dates and times up to the year 9999 to be counted, and holds "
            "others. Correct them, or drop the column.",
            column=name,
        ) from None
