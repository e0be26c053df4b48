"""Columns as small integers, equivalence classes, and the attribute sets of records.

A declared domain is not needed: two records have the same combination if their values are equal.
Missing values are one more value, and its code is known. With attribute sampling a cell that was
not asked is no value: whole records are compared inside their set, and a few columns among the
records that were asked for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.base.processes import give_back
from pramana.engine.base import SumsAsked, grouped_sums, sums_in
from pramana.errors import InvalidNumber, InvalidTable, UnknownColumn
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, stated_sets
from pramana.schema.codec import code_dtype, encode, encode_released
from pramana.schema.domains import Bins
from pramana.schema.joint_cells import joint_groups
from pramana.schema.opened_table import OpenedTable, without_dictionary
from pramana.schema.schema import REPORTED, Schema
from pramana.types import BoolArray, Codes, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ReportedSets:
    """The set of each record, and the columns of each set; all records have the other columns."""

    of_record: IntArray
    sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, mechanism: Mechanism | None, released: OpenedTable) -> ReportedSets | None:
        """Of a release; ``None`` where its records have all columns."""
        if not isinstance(mechanism, AttributeSampler):
            return None
        sets = tuple(frozenset(one.columns) for one in mechanism.sets)
        return cls(stated_sets(mechanism, released), sets)

    def reporting(self, names: Collection[str]) -> BoolArray:
        """Which records were asked for all of these columns."""
        wanted = frozenset(names) & frozenset[str]().union(*self.sets)
        has_all = np.array([wanted <= columns for columns in self.sets])
        return np.asarray(has_all[self.of_record], dtype=np.bool_)

    def at(self, rows: IntArray) -> ReportedSets:
        """Some of the records."""
        return replace(self, of_record=self.of_record[rows])


ARRAY_LIMIT = 2**12
"""Up to this many possible combinations an array numbers them, however few records there are."""


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Columns of codes; ``missing`` has the code of missing values, -1 where there are none."""

    names: tuple[str, ...]
    codes: tuple[Codes, ...]
    sizes: tuple[int, ...]
    missing: tuple[int, ...]

    @classmethod
    def of(
        cls,
        table: OpenedTable,
        names: Sequence[str],
        *,
        schema: Schema | None = None,
        released: bool = False,
        asked: ReportedSets | None = None,
    ) -> CodedTable:
        """Read and code some columns of a table; those that a schema cuts into bins, in bins.

        The code of a cell that was not asked means nothing: see ``by_set``.
        """
        require_present(table, names)
        if not names:
            raise InvalidNumber("Name at least one key: a column by which a person is recognised.")
        coded = [
            _narrowed(
                *_coded(
                    table.to_arrow([name]).column(0), name, schema, released=released,
                    asked=None if asked is None else asked.reporting([name]),
                )
            )
            for name in names
        ]  # fmt: skip
        codes, sizes, missing = zip(*coded, strict=True)
        give_back()  # reading takes more memory than the codes
        return cls(tuple(names), codes, sizes, missing)

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.codes[0])

    def by_set(self, asked: ReportedSets) -> CodedTable:
        """With the set of each record as one more column: only records of one set can be equal."""
        return CodedTable(
            (*self.names, REPORTED),
            (*self.codes, asked.of_record.astype(np.int32)),
            (*self.sizes, len(asked.sets)),
            (*self.missing, -1),
        )

    def subset(self, places: Sequence[int]) -> CodedTable:
        """Some of the columns."""
        return CodedTable(
            tuple(self.names[p] for p in places),
            tuple(self.codes[p] for p in places),
            tuple(self.sizes[p] for p in places),
            tuple(self.missing[p] for p in places),
        )

    def at(self, rows: IntArray) -> CodedTable:
        """Some of the records."""
        codes = tuple(column[rows] for column in self.codes)
        return CodedTable(self.names, codes, self.sizes, self.missing)


def _coded(
    values: pa.ChunkedArray,
    name: str,
    schema: Schema | None,
    *,
    released: bool,
    asked: BoolArray | None = None,
) -> tuple[NDArray[np.int32], int, int]:
    """As ``code_column``; in bins where they are declared, and only the cells that were asked."""
    if asked is not None and not asked.all():
        part = values.filter(pa.array(asked))
        some, size, missing = _coded(part, name, schema, released=released)
        codes = np.zeros(len(values), np.int32)
        codes[asked] = some
        return codes, max(size, 1), missing
    column = schema.column(name) if schema is not None and name in schema.names else None
    if column is None or not isinstance(column.domain, Bins) or not column.coded:
        return code_column(values)
    codes = (encode_released if released else encode)(column, values).astype(np.int32)
    labels = column.labels
    return codes, len(labels), labels.index(None) if None in labels else -1


def _narrowed(codes: NDArray[np.int32], size: int, missing: int) -> tuple[Codes, int, int]:
    """The codes in the smallest type that holds them: a table of many records is held whole."""
    return codes.astype(code_dtype(size)), size, missing


def require_present(table: OpenedTable, names: Sequence[str]) -> None:
    """Refuse names that the table lacks, or that are given twice."""
    for name in names:
        if name not in table.schema.names:
            raise UnknownColumn(
                "The table has no column '{column}'. It has: {names}.",
                column=name,
                names=", ".join(table.schema.names[:20]),
            )
    if len(set(names)) < len(names):
        raise InvalidNumber("Each column must be named once.")


def distinct_records(
    table: OpenedTable, names: Sequence[str], weight: str | None
) -> tuple[OpenedTable, IntArray, FloatArray | None]:
    """The combinations of values that occur, with their numbers of records and sums of weights.

    The engine of the table counts them, and only combinations come to this machine.
    """
    require_present(table, names)
    answer = grouped_sums(table, SumsAsked(tuple(names), value=weight))
    sums = sums_in(answer)
    if weight is not None:
        wrong = table.rows - int(sums["n"].sum())  # missing or no number
        if wrong or not np.isfinite(sums["wy"]).all():
            raise InvalidTable(
                "The weight '{column}' must be a number in every record; {value}.",
                column=weight,
                value=f"{wrong:,} are not" if wrong else "some are infinite",
            )
    numbers = sums["n"].astype(np.int64)
    return OpenedTable.of_arrow(answer.select(list(names))), numbers, sums.get("wy")


def code_column(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], int, int]:
    """Codes in order of appearance, the number of values, and the code of missing ones or -1."""
    column = without_dictionary(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    coded = column.dictionary_encode()  # all chunks get one dictionary
    size = len(coded.chunk(0).dictionary) if coded.num_chunks else 0
    nothing = coded.null_count > 0
    indices = [chunk.indices.fill_null(size).to_numpy() for chunk in coded.chunks]
    codes = np.concatenate([np.zeros(0, np.int32), *indices])
    return codes, size + nothing, size if nothing else -1


def number_column(table: OpenedTable, name: str, *, what: str) -> FloatArray:
    """A column of numbers without gaps, such as sampling weights."""
    require_present(table, [name])
    column = without_dictionary(table.to_arrow([name]).column(0))
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InvalidTable("{what} '{column}' must be a column of numbers.", column=name, what=what)
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    wrong = int(np.count_nonzero(~np.isfinite(values)))
    if wrong:
        raise InvalidTable(
            "{what} '{column}' must be a number in every record; {wrong:,} are not.",
            column=name,
            what=what,
            wrong=wrong,
        )
    return values


def _position_type(records: int) -> np.dtype[Any]:
    """The type of positions of records and groups, which are held for every record."""
    return np.dtype(np.int32 if records < 2**31 else np.int64)


PART: Final = 2**17
"""Records that are numbered at once, in the cache: wide integers of all would take more memory."""


def _parts(records: int, size: int = PART) -> list[slice]:
    """Consecutive records, a number of them in each part."""
    return [slice(begin, begin + size) for begin in range(0, max(records, 1), size)]


def _sums(cells: Codes, size: int, values: Codes | None = None) -> NDArray[Any]:
    """The number of records of each cell, or the sum of their values.

    At least as many records are counted at once as there are sums to add them to.
    """
    first, *others = _parts(len(cells), max(PART, size))
    sums = np.bincount(cells[first], None if values is None else values[first], size)
    for rows in others:
        sums += np.bincount(cells[rows], None if values is None else values[rows], size)
    return sums


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """Which records have equal values: the group of each record, and the size of each group."""

    of_record: Codes
    numbers: IntArray

    @cached_property
    def first(self) -> IntArray:
        """The first record of each group."""
        records = len(self.of_record)
        first = np.empty(len(self.numbers), _position_type(records))
        first[self.of_record[::-1]] = np.arange(records - 1, -1, -1, dtype=first.dtype)
        return first

    @classmethod
    def by(cls, columns: Sequence[Codes]) -> EquivalenceClasses:
        """Group records by columns of numbers of any size."""
        of_record = joint_groups(columns)
        return cls(of_record, np.bincount(of_record))

    @classmethod
    def of(cls, codes: Sequence[Codes], sizes: Sequence[int]) -> EquivalenceClasses:
        """Group records by their codes in all columns."""
        records, kind = len(codes[0]), _position_type(len(codes[0]))
        cells = math.prod(sizes)
        if cells <= max(ARRAY_LIMIT, 4 * records):
            cell = np.empty(records, _position_type(cells))
            for rows in _parts(records):
                numbers = codes[0][rows].astype(np.int64)
                for column, size in zip(codes[1:], sizes[1:], strict=True):
                    numbers *= size
                    numbers += column[rows]
                cell[rows] = numbers
            counts = _sums(cell, cells)
            occurs = counts > 0
            counts = counts[occurs]
            place = np.cumsum(occurs, dtype=kind)
            place -= 1
            for rows in _parts(records):
                cell[rows] = place[cell[rows]]
            return cls(cell, counts)
        keys, size = codes[0].astype(np.int64), sizes[0]
        for column, values in zip(codes[1:], sizes[1:], strict=True):
            if size * values >= 2**62:  # number what occurs anew, so that the key stays small
                keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
                size = int(keys.max(initial=-1)) + 1
            keys *= values
            keys += column
            size *= values
        _, of_record, numbers = np.unique(keys, return_inverse=True, return_counts=True)
        return cls(of_record.astype(kind), numbers)

    def total(self, values: Codes) -> FloatArray:
        """The sum of a figure over each group."""
        return np.asarray(_sums(self.of_record, len(self.numbers), values), dtype=np.float64)
