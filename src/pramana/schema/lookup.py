"""Find the position of each value of an array in a domain.

Positions are found for whole arrays: by a hash of the labels in the array's type, or by comparison
with the edges of bins. Before comparison, minus zero becomes zero and nan becomes missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable
from pramana.schema.domains import Bins, Label, NumberGrid, label_text
from pramana.types import FloatArray, Positions, Words


def alike(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Floating numbers with one zero and missing in place of nan; all else as it is."""
    kind = array.type
    if not pa.types.is_floating(kind):
        return array
    wide = array.cast(pa.float32()) if pa.types.is_float16(kind) else array
    gone = pc.is_nan(wide)
    if pc.any(gone).as_py():
        wide = pc.if_else(gone, pa.scalar(None, wide.type), wide)
    return pc.add(wide, pa.scalar(0.0, wide.type))


def comparable(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The same for whatever can be sorted and counted: without dictionaries, times as texts."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return comparable(array.cast(kind.value_type))
    if pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pc.replace_substring_regex(array.cast(pa.string()), r"\.0+$", "")
    if pa.types.is_time32(kind):
        return array.cast(pa.time64("us"))  # as times are released
    if pa.types.is_floating(kind):  # one value, whatever the width it was kept in
        return alike(array).cast(pa.float64())
    return array


Own = TypeVar("Own")

OUTSIDE, MISSING = -1, -2
EXACT = 2**53
FEW_EDGES = 32  # up to here comparing with every edge beats searching
FEW_LABELS = 2**10
DAY = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
NOT_A_NUMBER = ("", "NA", "NaN", "nan", "N/A")
"""What stands for missing among numbers."""
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


def as_text(array: pa.Array) -> pa.Array:
    """Dates and times as their ISO text, without zeros that say nothing."""
    text = array.cast(pa.string())
    text = pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")
    return pc.replace_substring_regex(text, r" 00:00:00Z?$", "")


def decoded(array: pa.Array) -> pa.Array:
    """Bytes and views of text as plain text; everything else as it is."""
    types, kind = pa.types, array.type
    if not (types.is_string_view(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        return array
    try:
        return array.cast(pa.large_string())
    except pa.ArrowInvalid:
        raise InvalidTable("A column of bytes must hold text in UTF-8, and one does not.") from None


def flat(array: pa.Array) -> pa.Array:
    """The array in one of a few types, with one zero and nan as null."""
    kind = array.type
    types = pa.types
    if types.is_floating(kind):
        return alike(array)
    if types.is_decimal(kind):
        return array.cast(pa.float64())
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind):
        return as_text(array)
    return array if types.is_string(kind) or types.is_large_string(kind) else decoded(array)


def find_labels(labels: Sequence[Label], array: pa.Array) -> Positions:
    """Positions by label."""
    known = (_OF_FEW if len(labels) <= FEW_LABELS else _OF_MANY)(Itself(labels), array.type)
    if known is None:
        result: Positions = np.full(len(array), OUTSIDE, np.int32)
    else:
        values, places = known
        plain = array.cast(pa.string()) if pa.types.is_boolean(array.type) else array
        found = pc.index_in(plain, value_set=values, skip_nulls=True)
        if found.null_count:
            found = pc.fill_null(found, len(values))
        result = np.take(places, found.to_numpy())
    if array.null_count:
        result[array.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return result


def present(values: pa.ChunkedArray, codes: Sequence[Label]) -> pa.ChunkedArray:
    """The values, missing where they are codes that say why there is none."""
    if not codes:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    own = values.combine_chunks()
    coded = pa.array(find_labels(codes, flat(own)) >= 0)
    return pa.chunked_array([pc.if_else(coded, pa.scalar(None, own.type), own)])


@dataclass(frozen=True, eq=False)
class Itself(Generic[Own]):
    """What is the same object: equal labels may be of other types, such as 1 and True."""

    own: Own

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.own is other.own

    def __hash__(self) -> int:
        return id(self.own)


def _spellings(
    same: Itself[Sequence[Label]], kind: pa.DataType
) -> tuple[pa.Array, Positions] | None:
    """What each label is called in an array of a type, and where it stands; one more is outside."""
    types, labels = pa.types, same.own
    pairs: list[tuple[Any, int]] = []  # other types hold none of the labels
    if types.is_boolean(kind):
        kind = pa.string()
        pairs = [(text.lower(), at) for text, at in _texts(labels)]
    elif types.is_integer(kind):
        pairs = [(n, at) for n, at in _numbers(labels) if isinstance(n, int) and _fits(n, kind)]
    elif types.is_floating(kind):
        pairs = [(float(n), at) for n, at in _numbers(labels)]
    elif types.is_string(kind) or types.is_large_string(kind):
        pairs = list(_texts(labels))
    if not pairs:
        return None
    values = pa.array([value for value, _ in pairs], kind)
    return values, np.array([at for _, at in pairs] + [OUTSIDE], np.int32)


_OF_FEW, _OF_MANY = lru_cache(512)(_spellings), lru_cache(8)(_spellings)
"""Batch after batch asks for the same labels: made out once, and few large ones are held."""


def _fits(number: int, kind: pa.DataType) -> bool:
    info = np.iinfo(kind.to_pandas_dtype())
    return bool(info.min <= number <= info.max)


def _texts(labels: Sequence[Label]) -> list[tuple[str, int]]:
    """Texts under which each label may stand in a file, with its position."""
    pairs = [(label_text(label), at) for at, label in enumerate(labels) if label is not None]
    taken = {text for text, _ in pairs}
    for at, label in enumerate(labels):
        if isinstance(label, bool):  # True and TRUE are common spellings
            others = {str(label), str(label).upper()} - taken
            pairs.extend((text, at) for text in sorted(others))
        if isinstance(label, str) and DAY.match(label):  # a time at midnight is its day
            pairs.extend((text, at) for text in {f"{label} 00:00:00"} - taken)
    return pairs


def _numbers(labels: Sequence[Label]) -> list[tuple[int | float, int]]:
    """Numbers that each label stands for, with its position."""
    pairs: list[tuple[int | float, int]] = []
    for at, label in enumerate(labels):
        text = label_text(label)
        if isinstance(label, bool) or not re.match(NUMBER, text):
            continue
        number = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        if label_text(number) == text:  # a code such as 01 is no number
            pairs.append((number, at))
    return pairs


def find_bins(name: str, bins: Bins, array: pa.Array) -> Positions:
    """Positions by bin."""
    missing = array.is_null().to_numpy(zero_copy_only=False)
    array = _numeric(name, array, "cut into bins")
    if _beyond_floats(array):
        values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
        at = _whole_below(bins, values) - 1
    else:  # Unparsable text is nan here, and so outside; what was missing is set last.
        values = _floats(array)
        at = _below(np.asarray(bins.edges, float), values) - 1
    at[values == bins.edges[-1]] = bins.size - 1
    at[(at < 0) | (at >= bins.size)] = OUTSIDE
    at[missing] = MISSING
    return at


def find_points(
    name: str, grid: NumberGrid, array: pa.Array, words: Words | None = None
) -> Positions:
    """Positions by point of a grid: the nearest one, or by chance where there is a word a value.

    A word below k * 2**64 // n takes a number k of n steps above a point to the next one.
    """
    missing = array.is_null().to_numpy(zero_copy_only=False)
    values = _floats(_numeric(name, array, "rounded to a grid"))
    low, high = float(str(grid.values[0])), float(str(grid.values[-1]))
    inside = (values >= low) & (values <= high)
    marks = np.asarray(grid.marks, dtype=np.int64)
    steps = np.rint((np.where(inside, values, low) - low) / grid.step).astype(np.int64)
    at = np.minimum(np.searchsorted(marks, steps, side="right"), len(marks) - 1) - 1
    above, width = (steps - marks[at]).astype(np.uint64), np.diff(marks)[at].astype(np.uint64)
    if words is None:
        up = above * np.uint64(2) >= width
    else:
        half = np.uint64(32)  # a quotient beyond 64 bits, in two halves; the end itself has none
        first, rest = np.divmod(above << half, width)
        up = (words < (first << half | (rest << half) // width)) | (above == width)
    found = np.where(inside, at + up, OUTSIDE).astype(np.int32)
    if grid.missing_values:
        apart = find_labels(grid.missing_values, array)
        found = np.where(apart >= 0, apart + grid.size, found).astype(np.int32)
    found[missing] = MISSING
    return found


def _numeric(name: str, array: pa.Array, what: str) -> pa.Array:
    """The array as numbers, or as texts of numbers; other texts are missing."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        numeric = pc.match_substring_regex(array, NUMBER)
        return pc.if_else(numeric, pc.utf8_trim_whitespace(array), None)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return array
    if not (pa.types.is_null(array.type) or pa.types.is_boolean(array.type)):
        raise InvalidTable(f"'{name}' must hold numbers to be {what}.", column=name)
    return array.cast(pa.int8())


def _floats(array: pa.Array) -> FloatArray:
    return np.asarray(pc.fill_null(array.cast(pa.float64(), safe=False), np.nan).to_numpy())


def _beyond_floats(array: pa.Array) -> bool:
    """Whether there are whole numbers that a floating one cannot tell from their neighbours."""
    if not pa.types.is_integer(array.type) or array.type.bit_width < 64:
        return False
    ends = pc.min_max(array)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return high is not None and max(-low, high) > EXACT


def _whole_below(bins: Bins, values: Positions) -> Positions:
    """How many edges are at or below each whole number, exactly."""
    limits = np.iinfo(values.dtype)
    numbers = np.zeros(len(values), np.int32)
    for edge in map(ceil, bins.edges):  # v >= e and v >= ceil(e) are one for whole v
        if edge <= limits.max:
            numbers += values >= values.dtype.type(max(edge, int(limits.min)))
    return numbers


def _below(edges: FloatArray, values: FloatArray) -> Positions:
    """How many edges are at or below each value; none for nan."""
    if len(edges) > FEW_EDGES:
        numbers = np.searchsorted(edges, values, side="right").astype(np.int32)
        numbers[np.isnan(values)] = 0
        return numbers
    few = np.zeros(len(values), np.int8)
    for edge in edges:
        few += values >= edge
    return few.astype(np.int32)
