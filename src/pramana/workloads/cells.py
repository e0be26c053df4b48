"""Cells: which records agree in all of some columns, across several tables.

Weights and regressions work on cells. Two tables share cells when their values have the same text
(1, 1.0 and "1" are one level), so that a release, a file and an array can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from pramana.errors import InvalidNumber, InvalidTable, TooLarge, UnknownColumn
from pramana.estimation.results import Estimate
from pramana.formats.opening import open_table
from pramana.table.domains import Label, label_text
from pramana.types import FloatArray, IntArray

__all__ = ["Coding", "Mass", "as_columns", "as_weights", "coding_of", "located"]


MOST_CELLS = 2**62
"""Cells are numbered by 64-bit integers."""


def as_columns(records: Any) -> pa.Table:
    """Records as columns: a data frame or a file, a mapping, or an array with one row a record.

    >>> as_columns([[1, 5], [2, 6]]).column_names
    ['x0', 'x1']
    """
    if isinstance(records, pa.Table):
        return records
    if isinstance(records, dict):
        return pa.table({name: _plain(values) for name, values in records.items()})
    if isinstance(records, np.ndarray | list | tuple):
        array = np.asarray(records)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2:
            raise InvalidTable(f"Records must be an array of two dimensions, got {array.ndim}.")
        return pa.table({f"x{j}": _plain(array[:, j]) for j in range(array.shape[1])})
    return open_table(records).to_arrow()


def _plain(values: Any) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    return pa.array(np.asarray(values), from_pandas=True)


def as_weights(weights: ArrayLike | None, records: int) -> FloatArray:
    """One weight a record, not negative, not all zero; ones where none are given."""
    if weights is None:
        return np.ones(records)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (records,):
        raise InvalidNumber(f"Weights must be one number a record: {records}, got {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise InvalidNumber("Weights must be finite, at or above 0, and not all 0.")
    return values


@dataclass(frozen=True)
class Coding:
    """The levels of some columns, and so the number of every cell.

    >>> coding = Coding.of([[1, 5], [2, 6]], [[2, 7]])
    >>> coding.levels
    ((1, 2), (5, 6, 7))
    >>> coding.cells([[2, 7], [1, 5]]).tolist()
    [5, 0]
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Label, ...], ...]

    @classmethod
    def of(cls, *tables: Any) -> Coding:
        """The levels that occur in any of the tables, which must have the same columns."""
        parts = [as_columns(table) for table in tables]
        columns = tuple(parts[0].column_names)
        for part in parts[1:]:
            _require_columns(columns, part)
        levels = [_levels([part.column(name) for part in parts]) for name in columns]
        return cls._checked(columns, levels)

    @classmethod
    def of_estimate(cls, estimate: Estimate) -> Coding:
        """The cells of an estimated table."""
        return cls._checked(estimate.by, estimate.labels)

    @classmethod
    def _checked(cls, columns: Sequence[str], levels: Sequence[tuple[Label, ...]]) -> Coding:
        cells = float(np.prod([float(len(own)) for own in levels]))
        if cells > MOST_CELLS:
            raise TooLarge(f"{cells:.1e} cells are more than can be numbered. Leave columns out.")
        return cls(tuple(columns), tuple(levels))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(len(own) for own in self.levels)

    @property
    def size(self) -> int:
        """The number of cells, occupied or not."""
        return int(np.prod(self.shape, dtype=np.int64))

    def places(self, records: Any) -> IntArray:
        """The position of every value among its column's levels; -1 where it is none of them."""
        table = as_columns(records)
        _require_columns(self.columns, table)
        places = np.empty((table.num_rows, len(self.columns)), dtype=np.int64)
        for j, (name, own) in enumerate(zip(self.columns, self.levels, strict=True)):
            places[:, j] = _places(table.column(name), own)
        return places

    def cells(self, records: Any) -> IntArray:
        """The cell of every record; -1 where a value is unknown."""
        places = self.places(records)
        unknown = (places < 0).any(axis=1)
        places[unknown] = 0
        cells: IntArray = np.ravel_multi_index(tuple(places.T), self.shape).astype(np.int64)
        cells[unknown] = -1
        return cells

    def unravel(self, cells: ArrayLike) -> IntArray:
        """The positions of the levels of each cell, one row a cell."""
        return np.stack(np.unravel_index(np.asarray(cells), self.shape), axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Mass:
    """How much of a table lies in each occupied cell; shares that sum to one."""

    coding: Coding
    cells: IntArray
    shares: FloatArray

    @classmethod
    def of(cls, table: Any, coding: Coding, *, weight: ArrayLike | None = None) -> Mass:
        """From records, or from an estimated table."""
        cells, own = located(table, coding, weight=weight)
        return cls.of_cells(cells, coding, weight=own)

    @classmethod
    def of_cells(cls, cells: ArrayLike, coding: Coding, *, weight: ArrayLike | None = None) -> Mass:
        """From the cells of records."""
        numbers = np.asarray(cells, dtype=np.int64)
        occupied, where = np.unique(numbers, return_inverse=True)
        sums = np.bincount(where.ravel(), as_weights(weight, numbers.size), occupied.size)
        kept = sums > 0
        return cls(coding, occupied[kept], sums[kept] / sums[kept].sum())

    def at(self, cells: ArrayLike) -> FloatArray:
        """The shares of the given cells, 0 where nothing lies."""
        numbers = np.asarray(cells, dtype=np.int64)
        place = np.searchsorted(self.cells, numbers).clip(max=self.cells.size - 1)
        found: FloatArray = np.where(self.cells[place] == numbers, self.shares[place], 0.0)
        return found


def coding_of(*tables: Any) -> Coding:
    """One coding for records and estimated tables together."""
    return Coding.of(*(_cells_of(t) if isinstance(t, Estimate) else t for t in tables))


def located(
    table: Any, coding: Coding, *, weight: ArrayLike | None = None
) -> tuple[IntArray, FloatArray]:
    """The cell and the weight of each record; of an estimated table, of each of its cells.

    Negative estimates count as nothing.
    """
    if not isinstance(table, Estimate):
        cells = coding.cells(table)
        return cells, as_weights(weight, cells.size)
    shares = np.clip(np.nan_to_num(table.estimate.ravel()), 0, None)
    if not shares.sum() > 0:
        raise InvalidTable("The estimated table is empty: no cell is above 0.")
    return coding.cells(_cells_of(table)), shares


def _cells_of(estimate: Estimate) -> pa.Table:
    """One row for each cell of an estimated table."""
    return estimate.to_arrow().select(list(estimate.names)).rename_columns(list(estimate.by))


def _require_columns(columns: Sequence[str], table: pa.Table) -> None:
    lacking = [name for name in columns if name not in table.column_names]
    if lacking:
        raise UnknownColumn(
            f"Both tables must have the same columns; {len(lacking)} are lacking in one of them: "
            f"{', '.join(lacking[:5])}."
        )


def _encoded(column: pa.ChunkedArray) -> tuple[IntArray, list[Label]]:
    """Codes into a list of the values that occur; missing is a value like others."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = values.fill_null(float("nan"))
        numbers = values.to_numpy(zero_copy_only=False)
        values = pa.array(numbers, from_pandas=True)  # a number that is none is missing
    coded = values.dictionary_encode(null_encoding="encode")
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist()


def _levels(columns: Sequence[pa.ChunkedArray]) -> tuple[Label, ...]:
    """Numbers by size, the rest by text, missing last."""
    found: dict[str | None, Label] = {}
    for column in columns:
        for value in _encoded(column)[1]:
            found.setdefault(None if value is None else label_text(value), value)
    missing = found.pop(None, 0) is None
    values = list(found.values())
    if all(isinstance(value, int | float) for value in values):
        values.sort()
    else:
        values.sort(key=label_text)
    return (*values, None) if missing else tuple(values)


def _places(column: pa.ChunkedArray, levels: tuple[Label, ...]) -> IntArray:
    codes, found = _encoded(column)
    known = {None if own is None else label_text(own): place for place, own in enumerate(levels)}
    places = [known.get(None if value is None else label_text(value), -1) for value in found]
    return np.array(places, dtype=np.int64)[codes]
