"""Count the values of columns batch by batch in bounded memory, and chart their distributions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import as_whole
from pramana.base.translation import gettext, numeral
from pramana.schema.codec import EXACT, comparable, flat, positions
from pramana.schema.domains import Bins, Label, label_text
from pramana.schema.opened_table import OpenedTable, value_type
from pramana.schema.recoded_table import recoded
from pramana.schema.schema import Column, Schema
from pramana.types import FloatArray, IntArray

ValueKind: TypeAlias = Literal["integer", "number", "text", "truth", "date", "none"]

MOST_VALUES = 2_000_000  # distinct values up to which a column is counted exactly
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

    @property
    def distribution(self) -> tuple[FloatArray, FloatArray]:
        """Sorted finite numbers, and the share of records at or below each."""
        values = self.values.to_numpy(zero_copy_only=False).astype(float)
        order = np.argsort(values)
        order = order[np.isfinite(values[order])]
        if not len(order):
            return np.zeros(1), np.ones(1)
        sums = np.cumsum(self.numbers[order])
        return values[order], sums / int(sums[-1])

    @property
    def entropy(self) -> float:
        """The entropy of the values in bits."""
        shares = self.numbers / max(int(self.numbers.sum()), 1)
        return float(-(shares * np.log2(np.maximum(shares, 1e-300))).sum())

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
        made = pa.chunked_array(self._values).combine_chunks()
        whole = pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made
        coded = whole.dictionary_encode()
        sums = np.zeros(len(coded.dictionary), dtype=np.int64)
        np.add.at(sums, coded.indices.to_numpy(), np.concatenate(self._numbers))
        self._values, self._numbers = [coded.dictionary], [pa.array(sums)]
        self._loose = 0


def _counted(array: pa.Array) -> tuple[pa.Array, pa.Array, int]:
    """Distinct values, their numbers, and the number of missing ones."""
    if not pa.types.is_dictionary(array.type):
        present = _simplified(array).drop_null()
        counts = pc.value_counts(present)
        missing = len(array) - len(present)
        return counts.field("values"), counts.field("counts").cast(pa.int64()), missing
    indices = array.indices.drop_null().to_numpy(zero_copy_only=False)
    numbers = np.bincount(indices, minlength=len(array.dictionary)).astype(np.int64)
    values = _simplified(array.dictionary)
    used = pc.and_(pa.array(numbers > 0), values.is_valid())
    numbers_used = pa.array(numbers).filter(used)
    return values.filter(used), numbers_used, len(array) - (pc.sum(numbers_used).as_py() or 0)


def _simplified(array: pa.Array) -> pa.Array:
    """The values in the one type of their kind, with one zero and nan as null."""
    kind = kind_of(array.type)
    if kind == "integer":
        big = pa.types.is_uint64(array.type)
        return array if big else array.cast(pa.int64())
    if kind == "number":
        return comparable(array.cast(pa.float64()))
    flat_array = flat(array)
    return flat_array if kind in ("truth", "date") else flat_array.cast(pa.string())


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
    kinds = {name: table.schema.field(name).type for name in names}

    def tallied(batches: Iterable[pa.RecordBatch]) -> dict[str, Tally]:
        tallies = {name: Tally(kind_of(kind)) for name, kind in kinds.items()}
        for name, kind in kinds.items():
            tallies[name].add(pa.array([], value_type(kind)))
        for batch in batches:
            for counted, column in zip(tallies.values(), batch.columns, strict=True):
                counted.add(column)
        return tallies

    total = tallied(())
    for part in table.summaries(tallied, names) if names else ():
        for name, counted in part.items():
            total[name].merge(counted)
    return total


# -- round numbers ---------------------------------------------------------------------------------


def quantiles(values: FloatArray, shares: FloatArray, at: Sequence[float]) -> list[float]:
    """Quantiles of a distribution: sorted values, and the share of records at or below each."""
    places = np.minimum(np.searchsorted(shares, at), len(values) - 1)
    return [float(value) for value in values[places]]


def round_step(width: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that does not exceed ``width``."""
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    return max(m * power for m in (1, 2, 5) if m * power <= max(width, power))


def tidy(number: float) -> float:
    """The number without the last digits of floating-point arithmetic; whole ones as integers."""
    tidied: float = as_whole(float(f"{number:.12g}"))
    return tidied


# -- charts ----------------------------------------------------------------------------------------

MOST_BARS = 24
HISTOGRAM = 20
TAIL, MOST_TAIL = 0.01, 2.0
"""The share of records at either end, and how much wider than the rest these may make a chart."""

FAR, NEAR, DIGITS = 1e300, 1e-9, 7


@dataclass(frozen=True)
class Shape:
    """The bars of a column's chart with their values, and the other records."""

    name: str
    bars: tuple[tuple[str, int], ...]
    values: tuple[Label, ...] = ()
    other: int = 0
    missing: int = 0
    numbers: bool = False


def shapes_of(table: OpenedTable, schema: Schema, names: Sequence[str] = ()) -> list[Shape]:
    """The shapes of some columns, or of all, as the schema recodes and cuts them."""
    table = recoded(table, schema)
    chosen = [name for name in (names or schema.names) if name in table.schema.names]
    tallies = tally(table, chosen)
    return [
        _shape(schema.column(name), tallies[name], table.labels.values.get(name, {}))
        for name in chosen
    ]


def _shape(column: Column, seen: Tally, labels: Mapping[Label, str]) -> Shape:
    number = seen.kind in ("integer", "number")
    if not column.role.traits.released and not number and seen.distinct > MOST_BARS:
        return Shape(column.name, (), other=int(seen.numbers.sum()), missing=seen.missing)
    if column.domain is None and number and seen.distinct > MOST_BARS:
        return _histogram(column.name, seen)
    bins = isinstance(column.domain, Bins)
    if column.domain is None:
        pairs = list(zip(seen.values.to_pylist(), seen.numbers.tolist(), strict=True))
        pairs.sort(key=lambda pair: _in_natural_order(label_text(pair[0])))
    else:
        places = positions(column, flat(seen.values))
        inside = places >= 0
        counts = np.bincount(
            places[inside], weights=seen.numbers[inside], minlength=len(column.domain.labels)
        )
        pairs = list(zip(column.domain.labels, counts.astype(int).tolist(), strict=True))
    if len(pairs) > MOST_BARS and not bins:
        pairs = sorted(pairs, key=lambda pair: -pair[1])[:MOST_BARS]
    texts = {label_text(value): text for value, text in labels.items()}
    named = [(label_text(value), number) for value, number in pairs]
    bars = tuple((f"{code} {texts[code]}" if code in texts else code, n) for code, n in named)
    other = int(seen.numbers.sum()) - sum(number for _, number in bars)
    values = () if bins else tuple(value for value, _ in pairs)
    return Shape(column.name, bars, values, other, seen.missing, numbers=bins)


def _in_natural_order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def _histogram(name: str, seen: Tally) -> Shape:
    """About twenty bars with round edges; the outer ones are open where few values lie far away."""
    values, shares = seen.distribution
    flat_array = seen.values.to_numpy(zero_copy_only=False).astype(np.float64)
    order = np.argsort(flat_array)
    numbers = seen.numbers[order[np.isfinite(flat_array[order])]]
    values = np.clip(values, -FAR, FAR)
    low, high = quantiles(values, shares, (TAIL, 1 - TAIL))
    if not 0 < values[-1] - values[0] <= MOST_TAIL * (high - low) and low < high:
        ends = np.array([low, high])
    else:
        ends = values[[0, -1]]
    apart = float(np.spacing(np.abs(ends).max()))  # long numbers may be one when they are floating
    least = max(float(ends[1] - ends[0]) / HISTOGRAM, apart, 1 / FAR)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= least)
    with np.errstate(over="ignore"):  # a value on an edge begins a bar, whatever its last bits
        at, (first, last) = np.floor(values / step + NEAR), np.floor(ends / step + NEAR)
    places = (np.clip(at, first, last) - first).astype(np.int64)
    bars = int(last - first) + 1
    counts = np.bincount(places, weights=numbers, minlength=bars).astype(int)
    digits = max(-math.floor(math.log10(step)), 0)
    form = f",.{digits}f" if digits < DIGITS and step < 10**DIGITS else ".4g"
    edges = [numeral(f"{(first + edge) * step:{form}}") for edge in range(bars + 1)]
    texts = [gettext("{low} to {high}", low=low, high=high) for low, high in pairwise(edges)]
    if at[0] < first:
        texts[0] = gettext("below {value}", value=edges[1])
    if at[-1] > last:
        texts[-1] = gettext("{low} or more", low=edges[-2])
    counted = tuple(zip(texts, counts.tolist(), strict=True))
    return Shape(name, counted, missing=seen.missing, numbers=True)
