"""How often each value of a column occurs, counted batch by batch in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.schema.domains import Label
from pramana.schema.lookup import EXACT, as_text, comparable, decoded
from pramana.schema.opened_table import OpenedTable
from pramana.types import IntArray

ValueKind: TypeAlias = Literal["integer", "number", "text", "truth", "date", "none"]

MOST_VALUES = 2_000_000
"""Distinct values up to which a column is counted exactly."""

COMPACT = 200_000
CODE = r"^-?[0-9]{1,18}$"  # texts of digits sort as the numbers that they spell


@dataclass
class Tally:
    """The distinct values of a column with their numbers.

    Attributes:
        kind: What the values are.
        seen: Records looked at before the count of values was given up, or all of them.
        missing: Records without a value.
        complete: Whether every value was counted; if not, ``distinct`` is a lower bound.
        lowest, highest: The range of a column of numbers, over all records.
        order: The categories in order, where the type itself says that they have one.
    """

    kind: ValueKind
    seen: int = 0
    missing: int = 0
    complete: bool = True
    lowest: float | None = None
    highest: float | None = None
    order: tuple[Label, ...] = ()
    _values: list[pa.Array] = field(default_factory=list, repr=False)
    _numbers: list[pa.Array] = field(default_factory=list, repr=False)
    _loose: int = field(default=0, repr=False)

    @property
    def values(self) -> pa.Array:
        """The distinct values."""
        self._compact()
        return self._values[0]

    @property
    def numbers(self) -> IntArray:
        """How often each of them occurs."""
        self._compact()
        numbers: IntArray = self._numbers[0].to_numpy()
        return numbers

    @property
    def distinct(self) -> int:
        """How many values there are, missing not counted."""
        return len(self.values)

    @property
    def whole(self) -> bool:
        """Whether all are whole numbers, of whatever type: a gap makes a column of them floats."""
        if self.kind != "number":
            return self.kind == "integer"
        values = self.values.to_numpy(zero_copy_only=False)
        return len(values) > 0 and bool((np.isfinite(values) & (values == np.floor(values))).all())

    def labels(self) -> tuple[Label, ...]:
        """The distinct values as labels, sorted, or all categories where the type orders them."""
        if self.order:
            return self.order
        if self.kind == "text" and pc.all(pc.match_substring_regex(self.values, CODE)).as_py():
            return tuple(sorted(self.values.to_pylist(), key=lambda text: (int(text), text)))
        values = self.values.take(pc.sort_indices(self.values))
        labels = tuple(values.to_pylist())
        if self.kind == "number" and self.whole and max(map(abs, labels)) <= EXACT:
            return tuple(map(int, labels))  # a gap made floating-point numbers of them
        return labels

    def without(self, labels: Sequence[Label]) -> Tally:
        """The same without some values, as if they had not been there."""
        if not labels:
            return self
        values, numbers = self.values, pa.array(self.numbers)
        kept = pa.array([value not in labels for value in values.to_pylist()], pa.bool_())
        other = Tally(self.kind, self.seen, self.missing, self.complete, order=self.order)
        other._values, other._numbers = [values.filter(kept)], [numbers.filter(kept)]
        if self.kind in ("integer", "number") and other.distinct:
            ends = pc.min_max(other.values)
            other.lowest, other.highest = ends["min"].as_py(), ends["max"].as_py()
        return other

    def add(self, array: pa.Array) -> None:
        """Count one more batch."""
        if pa.types.is_dictionary(array.type) and array.type.ordered and not self.order:
            self.order = tuple(_simplified(array.dictionary).drop_null().to_pylist())
        values, numbers, missing = _counted(array)
        self.missing += missing
        if self.kind in ("integer", "number") and len(values):
            ends = pc.min_max(values)
            low, high = ends["min"].as_py(), ends["max"].as_py()
            self.lowest = low if self.lowest is None else min(low, self.lowest)
            self.highest = high if self.highest is None else max(high, self.highest)
        if not self.complete:
            return
        self.seen += len(array)
        self._values.append(values)
        self._numbers.append(numbers)
        self._loose += len(values)
        if self._loose > max(COMPACT, 2 * len(self._values[0])):
            self._compact()
            self.complete = len(self._values[0]) <= MOST_VALUES

    def merge(self, other: Tally) -> None:
        """Count all that another tally has seen."""
        self.order = self.order or other.order
        self.missing += other.missing
        lows = [low for low in (self.lowest, other.lowest) if low is not None]
        highs = [high for high in (self.highest, other.highest) if high is not None]
        self.lowest, self.highest = min(lows, default=None), max(highs, default=None)
        if not self.complete:
            return
        self.seen += other.seen
        self._values += other._values
        self._numbers += other._numbers
        self._compact()
        self.complete = other.complete and len(self._values[0]) <= MOST_VALUES

    def _compact(self) -> None:
        if len(self._values) == 1:
            return
        # Grouping by amounts of money takes Arrow a hundred times as long as coding them.
        coded = _whole(pa.chunked_array(self._values)).dictionary_encode()
        sums = np.zeros(len(coded.dictionary), dtype=np.int64)
        np.add.at(sums, coded.indices.to_numpy(), np.concatenate(self._numbers))
        self._values, self._numbers = [coded.dictionary], [pa.array(sums)]
        self._loose = 0


def _whole(column: pa.ChunkedArray) -> pa.Array:
    made = column.combine_chunks()
    return pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made


def _counted(array: pa.Array) -> tuple[pa.Array, pa.Array, int]:
    """Distinct values, their numbers, and the number of missing ones."""
    if pa.types.is_dictionary(array.type):
        return _counted_dictionary(array)
    present = _simplified(array).drop_null()
    counts = pc.value_counts(present)
    missing = len(array) - len(present)
    return counts.field("values"), counts.field("counts").cast(pa.int64()), missing


def _counted_dictionary(array: pa.DictionaryArray) -> tuple[pa.Array, pa.Array, int]:
    indices = array.indices.drop_null().to_numpy(zero_copy_only=False)
    numbers = np.bincount(indices, minlength=len(array.dictionary)).astype(np.int64)
    values = _simplified(array.dictionary)
    used = pc.and_(pa.array(numbers > 0), values.is_valid())
    numbers_used = pa.array(numbers).filter(used)
    present = pc.sum(numbers_used).as_py() or 0
    return values.filter(used), numbers_used, len(array) - present


def _simplified(array: pa.Array) -> pa.Array:
    """The values in the one type of their kind, with one zero and nan as null."""
    kind = kind_of(array.type)
    if kind == "integer":
        big = pa.types.is_uint64(array.type)
        return array if big else array.cast(pa.int64())
    if kind == "number":
        return comparable(array.cast(pa.float64()))
    if kind == "date":
        return as_text(array)
    return array if kind == "truth" else decoded(array).cast(pa.string())


def kind_of(arrow: pa.DataType) -> ValueKind:
    """What values of an Arrow type are."""
    types = pa.types
    if types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if types.is_integer(arrow):
        return "integer"
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return "number"
    if types.is_boolean(arrow):
        return "truth"
    if types.is_temporal(arrow):
        return "date"
    return "none" if types.is_null(arrow) else "text"


def tally(table: OpenedTable, columns: Sequence[str] | None = None) -> dict[str, Tally]:
    """Count the values of the named columns, all by default, in one pass."""
    names = list(table.schema.names if columns is None else columns)
    tallies = {name: _empty(table.schema.field(name).type) for name in names}
    if not names:
        return tallies
    for seen in table.summaries(partial(_tallied, tallies), names):
        for name, part in seen.items():
            tallies[name].merge(part)
    return tallies


def _tallied(empty: Mapping[str, Tally], batches: Iterable[pa.RecordBatch]) -> dict[str, Tally]:
    """The values of some batches."""
    tallies = {name: deepcopy(tally) for name, tally in empty.items()}
    for batch in batches:
        for tally, column in zip(tallies.values(), batch.columns, strict=True):
            tally.add(column)
    return tallies


def _empty(arrow: pa.DataType) -> Tally:
    made = Tally(kind_of(arrow))
    made.add(pa.array([], arrow.value_type if pa.types.is_dictionary(arrow) else arrow))
    return made
