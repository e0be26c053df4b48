"""Contingency tables: how many records have which combination of values.

Only combinations that occur are kept. Guarantees, designs and estimates see counts, never rows.

Counts that see the columns which are released as they are.

Randomised columns are counted by their codes. A column that is released as it is need not have a
domain: its values are counted as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.errors import InvalidTable, TooLarge, UnknownColumn
from pramana.schema.codec import code_dtype, encode
from pramana.schema.domains import Label
from pramana.schema.groups import COUNT, group_sizes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import Codes, IntArray, Values

__all__ = ["Counter", "Counts", "counts_with_kept"]

DENSE_LIMIT: Final = 10_000_000
"""Up to so many possible combinations are counted, or written out, one by one."""


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
        cells: One row a combination that occurs, one code a column; sorted, without repetition.
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
                f"Counts of {len(self.columns)} columns need as many lists of labels and one "
                f"number a cell, got {len(self.labels)} lists, {self.cells.shape} cells and "
                f"{len(self.numbers)} numbers."
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
        """From an array with one axis a column."""
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
                f"Counts hold {', '.join(self.columns) or 'no columns'}, not {', '.join(unknown)}."
            )
        places = [self.columns.index(name) for name in columns]
        counter = Counter(columns, [self.labels[place] for place in places])
        counter.add([self.cells[:, place] for place in places], self.numbers)
        return counter.result()

    def dense(self) -> IntArray:
        """An array with one axis a column, zeros included."""
        if prod(self.sizes) > DENSE_LIMIT:
            raise TooLarge(
                f"A table of {prod(self.sizes):,} cells is not written out, only up to "
                f"{DENSE_LIMIT:,}. Cross fewer columns."
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

    A table of few possible combinations is counted into an array with a place for each. Otherwise
    the combinations of each batch are sorted and merged, so that memory follows those that occur.
    """

    def __init__(self, columns: Sequence[str], labels: Sequence[tuple[Label, ...]]) -> None:
        self._columns, self._labels = tuple(columns), tuple(tuple(values) for values in labels)
        self._sizes = [len(values) for values in self._labels]
        cells = prod(self._sizes)
        self._keys: _Keys = _MixedRadix(self._sizes) if cells < 2**63 else _Bytes(self._sizes)
        self._dense = np.zeros(cells, dtype=np.int64) if cells <= DENSE_LIMIT else None
        self._parts: list[tuple[Values, IntArray]] = []
        self._waiting = 0

    def add(self, codes: Sequence[Codes], numbers: IntArray | None = None) -> None:
        """Count records given as one array of codes a column; ``numbers`` of each, if not one."""
        if len(codes) != len(self._columns):
            raise InvalidTable(f"{len(self._columns)} columns are counted, got {len(codes)}.")
        if not codes:  # crossing no columns: one cell that holds everybody
            raise InvalidTable("Counting needs at least one column, got none.")
        keys = self._keys.of(codes)
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

    def result(self) -> Counts:
        """The table of all that was added."""
        if self._dense is not None:
            keys: Values = np.flatnonzero(self._dense)
            numbers = self._dense[keys]
        else:
            none = self._keys.of([np.zeros(0, np.uint8)] * len(self._sizes))
            keys, numbers = _merge([(none, None), *self._parts])
        return Counts(self._columns, self._labels, self._keys.cells(keys), numbers)


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


class _MixedRadix:
    """A combination as one integer, the first column most significant."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes

    def of(self, codes: Sequence[Codes]) -> Values:
        keys = codes[0].astype(np.int64)
        for size, column in zip(self._sizes[1:], codes[1:], strict=True):
            keys *= size
            keys += column
        return keys

    def cells(self, keys: Values) -> Values:
        cells = np.empty((len(keys), len(self._sizes)), dtype=code_dtype(max(self._sizes)))
        left = keys.copy()
        for place in range(len(self._sizes) - 1, -1, -1):
            left, cells[:, place] = np.divmod(left, self._sizes[place])
        return cells


class _Bytes:
    """A combination as a string of bytes that sorts alike, for more than 2**63 possible ones."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._dtype = code_dtype(max(sizes)).newbyteorder(">")

    def of(self, codes: Sequence[Codes]) -> Values:
        rows = np.empty((len(codes[0]), len(codes)), dtype=self._dtype)
        for place, column in enumerate(codes):
            rows[:, place] = column
        return rows.view(np.dtype((np.void, rows.dtype.itemsize * len(codes)))).ravel()

    def cells(self, keys: Values) -> Values:
        rows = keys.view(self._dtype).reshape(len(keys), len(self._sizes))
        return rows.astype(self._dtype.newbyteorder("="))


_Keys = _MixedRadix | _Bytes


def counts_with_kept(
    opened: OpenedTable, coded: Sequence[Column], kept: Sequence[str] = ()
) -> Counts:
    """How many records have which combination of coded values and of values as they stand."""
    names = [*(column.name for column in coded), *kept]
    cells = group_sizes(opened, names).total()
    codes: list[Codes] = [encode(column, cells.column(column.name)) for column in coded]
    labels: list[tuple[Label, ...]] = [column.labels for column in coded]
    for name in kept:
        own, values = _as_they_stand(name, cells.column(name))
        codes.append(own)
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
            f"'{name}' must hold dates and times up to the year 9999 to be counted, and holds "
            "others. Correct them, or drop the column.",
            column=name,
        ) from None
