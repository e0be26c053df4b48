"""Encode values as codes and decode codes as released values.

A code is the position of a value's label among the labels of its column. A value has the label of
equal text (see ``domains``): the number 1 is found under 1, 1.0 and "1", the text "01" only under
"01". Missing is Arrow's null, and nan among numbers; minus zero is zero. Errors give the column and
the number of records, never a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.base.text import records_that
from pramana.errors import InvalidSchema, InvalidTable, OutsideDomain
from pramana.schema.domains import Bins, Categories, Label, NumberGrid, label_text
from pramana.schema.opened_table import one_array
from pramana.schema.schema import Column
from pramana.types import BoolArray, Codes, FloatArray, Positions, Values, Words

OUTSIDE, MISSING = -1, -2  # positions of values without a label
EXACT: Final = 2**53
NARROW: Final = 2**16  # integers that span less are looked up in a table
FEW_EDGES: Final = 32  # up to here comparing with every edge is faster than searching
FEW_LABELS: Final = 2**10
DAY: Final = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
NUMBER: Final = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
NOT_A_NUMBER: Final = ("", "NA", "NaN", "nan", "N/A")  # texts that mean missing among numbers

Wrapped = TypeVar("Wrapped")


# -- values in few types ---------------------------------------------------------------------------


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
    return alike(array).cast(pa.float64()) if pa.types.is_floating(kind) else array


def flat(array: pa.Array) -> pa.Array:
    """The array as numbers, truth values or text: dates as ISO text, bytes and views as text."""
    types, kind = pa.types, array.type
    if types.is_floating(kind):
        return alike(array)
    if types.is_decimal(kind):
        return array.cast(pa.float64())
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind):
        text = pc.replace_substring_regex(array.cast(pa.string()), r"\.0+(Z?)$", r"\1")
        return pc.replace_substring_regex(text, r" 00:00:00Z?$", "")
    if not (types.is_string_view(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        return array
    try:
        return array.cast(pa.large_string())
    except pa.ArrowInvalid:
        raise InvalidTable("A column of bytes must contain UTF-8 text, and one does not.") from None


def present(values: pa.ChunkedArray, codes: Sequence[Label]) -> pa.ChunkedArray:
    """The values, missing where they are codes that say why there is none."""
    if not codes:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    whole = values.combine_chunks()
    coded = pa.array(find_labels(codes, flat(whole)) >= 0)
    return pa.chunked_array([pc.if_else(coded, pa.scalar(None, whole.type), whole)])


def canonical_type(kind: pa.DataType) -> pa.DataType:
    """The one type in which values of a kind are released, whatever they were kept in.

    Dictionaries become their values, whole numbers 64 bits wide, text text.

    >>> canonical_type(pa.dictionary(pa.int8(), pa.large_string())), canonical_type(pa.int16())
    (DataType(string), DataType(int64))
    """
    types = pa.types
    if types.is_dictionary(kind):
        return canonical_type(kind.value_type)
    if types.is_integer(kind):
        return kind if types.is_uint64(kind) else pa.int64()
    if types.is_floating(kind):
        return pa.float64()
    if types.is_decimal(kind) and kind.precision <= 38:
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_date(kind):
        return pa.date32()
    if types.is_timestamp(kind):
        return pa.timestamp("ns" if kind.unit == "ns" else "us", kind.tz)
    if types.is_time(kind):
        return pa.time64("ns" if kind.unit == "ns" else "us")
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    return kind


# -- positions of values ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Itself(Generic[Wrapped]):
    """An object compared by identity: equal labels may be of other types, such as 1 and True."""

    original: Wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self.original is other.original

    def __hash__(self) -> int:
        return id(self.original)


def find_labels(labels: Sequence[Label], array: pa.Array) -> Positions:
    """The position of each value among labels, by a hash of the labels in the array's type."""
    known = (_of_few if len(labels) <= FEW_LABELS else _of_many)(Itself(labels), array.type)
    if known is None:
        result: Positions = np.full(len(array), OUTSIDE, np.int32)
    else:
        values, places = known
        flat_array = array.cast(pa.string()) if pa.types.is_boolean(array.type) else array
        indices = pc.index_in(flat_array, value_set=values, skip_nulls=True)
        if indices.null_count:
            indices = pc.fill_null(indices, len(values))
        result = np.take(places, indices.to_numpy())
    if array.null_count:
        result[array.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return result


def _spellings(
    same: Itself[Sequence[Label]], kind: pa.DataType
) -> tuple[pa.Array, Positions] | None:
    """The value of each label in an array of a type, and its position; one more is outside."""
    types, labels = pa.types, same.original
    pairs: list[tuple[Any, int]] = []  # other types hold none of the labels
    if types.is_boolean(kind):
        kind = pa.string()
        pairs = [(text.lower(), at) for text, at in _texts(labels)]
    elif types.is_integer(kind):
        ends = np.iinfo(kind.to_pandas_dtype())
        pairs = [
            (number, at)
            for number, at in _numbers(labels)
            if isinstance(number, int) and ends.min <= number <= ends.max
        ]
    elif types.is_floating(kind):
        pairs = [(float(number), at) for number, at in _numbers(labels)]
    elif types.is_string(kind) or types.is_large_string(kind):
        pairs = _texts(labels)
    if not pairs:
        return None
    values = pa.array([value for value, _ in pairs], kind)
    return values, np.array([at for _, at in pairs] + [OUTSIDE], np.int32)


# Batch after batch asks for the same labels; few large lists are kept.
_of_few, _of_many = lru_cache(512)(_spellings), lru_cache(8)(_spellings)


def _texts(labels: Sequence[Label]) -> list[tuple[str, int]]:
    """Texts by which a file may write each label, with its position."""
    pairs = [(label_text(label), at) for at, label in enumerate(labels) if label is not None]
    taken = {text for text, _ in pairs}
    for at, label in enumerate(labels):
        others = set()
        if isinstance(label, bool):  # True and TRUE are common spellings
            others = {str(label), str(label).upper()}
        elif isinstance(label, str) and DAY.match(label):  # a time at midnight is its day
            others = {f"{label} 00:00:00"}
        pairs += [(text, at) for text in sorted(others - taken)]
    return pairs


def _numbers(labels: Sequence[Label]) -> list[tuple[int | float, int]]:
    """Labels that are numbers, with their positions; a code such as 01 is no number."""
    pairs: list[tuple[int | float, int]] = []
    for at, label in enumerate(labels):
        text = label_text(label)
        if not isinstance(label, bool) and re.match(NUMBER, text):
            number = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
            if label_text(number) == text:
                pairs.append((number, at))
    return pairs


def _find_bins(name: str, bins: Bins, array: pa.Array) -> Positions:
    values: NDArray[np.number[Any]]
    if pa.types.is_integer(array.type):  # exactly, also beyond 2**53
        kind = np.uint64 if array.type == pa.uint64() else np.int64
        values = np.asarray(pc.fill_null(array, 0).to_numpy(zero_copy_only=False), kind)
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        whole = (math.ceil(max(min(edge, most), least)) for edge in bins.edges)
        edges = np.array([min(edge, most) for edge in whole], kind)
    else:
        values = _as_floats(name, array, "cut into bins")
        edges = np.asarray(bins.edges, float)
    if len(edges) > FEW_EDGES:
        at = np.searchsorted(edges, values, side="right").astype(np.int32) - 1
    else:
        below = np.zeros(len(values), np.int8)
        for edge in edges:
            below += values >= edge
        at = below.astype(np.int32) - 1
    at[values == bins.edges[-1]] = bins.size - 1
    at[(at < 0) | (at >= bins.size)] = OUTSIDE
    return at


def _find_points(
    name: str, grid: NumberGrid, array: pa.Array, words: Words | None = None
) -> Positions:
    """Points of a grid: the nearest one, or by chance where there is a word a value.

    A word below k * 2**64 // n takes a number k of n steps above a point to the next one.
    """
    values = _as_floats(name, array, "rounded to a grid")
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
    return np.where(inside, at + up, OUTSIDE).astype(np.int32)


def _as_floats(name: str, array: pa.Array, what: str) -> FloatArray:
    """Numbers, or texts of numbers, as floating numbers; missing ones and other texts as nan."""
    types, kind = pa.types, array.type
    if types.is_string(kind) or types.is_large_string(kind):
        numeric = pc.match_substring_regex(array, NUMBER)
        array = pc.if_else(numeric, pc.utf8_trim_whitespace(array), None)
    elif types.is_null(kind) or types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif not (types.is_integer(kind) or types.is_floating(kind)):
        raise InvalidTable("'{column}' must hold numbers to be {what}.", column=name, what=what)
    return np.asarray(pc.fill_null(array.cast(pa.float64(), safe=False), np.nan).to_numpy())


def positions(
    column: Column, array: pa.Array, *, released: bool = False, words: Words | None = None
) -> Positions:
    """The position of each value of a flat array: a point, a bin, or an equal label.

    Among numbers NA and the like are missing. One number too long for its type makes a column of a
    file text, and must not change how others are read.
    """
    domain = column.declared_domain
    if isinstance(domain, Bins):
        listed = released and domain.release != "draw"
        labels = (
            domain.labels if domain.release == "label" else domain.centres + domain.missing_values
        )
        numbers = True
    else:
        listed = released or not isinstance(domain, NumberGrid)
        labels = domain.labels
        numbers = not any(isinstance(value, str | bool) for value in domain.values)
    if listed:
        places = find_labels(labels, array)
    else:
        if isinstance(domain, Bins):
            places = _find_bins(column.name, domain, array)
        else:
            assert isinstance(domain, NumberGrid)  # noqa: S101 - other categories are listed
            places = _find_points(column.name, domain, array, words)
        if domain.missing_values:  # they lie in no bin, whatever its edges
            codes = find_labels(domain.missing_values, array)
            places = np.where(codes >= 0, codes + domain.size, places).astype(np.int32)
        places[array.is_null().to_numpy(zero_copy_only=False)] = MISSING
    text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    if text and numbers and not released:
        gone = pc.is_in(
            pc.utf8_trim_whitespace(array), value_set=pa.array(NOT_A_NUMBER, array.type)
        )
        places[(places == OUTSIDE) & gone.to_numpy(zero_copy_only=False)] = MISSING
    return places


# -- encoding --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refused:
    """How many records of a column cannot be coded."""

    outside: int = 0
    missing: int = 0

    def __add__(self, other: Refused) -> Refused:
        return Refused(self.outside + other.outside, self.missing + other.missing)

    def __bool__(self) -> bool:
        return bool(self.outside or self.missing)


def code_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned integers that hold ``size`` codes.

    >>> code_dtype(256), code_dtype(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


def encode(column: Column, array: pa.Array | pa.ChunkedArray, words: Words | None = None) -> Codes:
    """The code of each value; refuses values outside the domain and missing ones if it must.

    Numbers of a grid are rounded by ``words``, one a value; without words, to the nearest point.
    """
    if isinstance(column.domain, NumberGrid) and words is not None:
        places = positions(column, flat(one_array(array)), words=words)
        codes, refused = _to_codes(column, places), _refused(column, places)
    else:
        codes, refused = _coded(column, array)
    refuse(column, refused)
    return codes


def encode_released(column: Column, array: pa.Array | pa.ChunkedArray) -> Codes:
    """The code of each released value, whether a label, the centre of a bin or a draw inside it."""
    codes, refused = _coded(column, array, released=True)
    refuse(column, refused)
    return codes


def count_refused(
    column: Column, array: pa.Array | pa.ChunkedArray, *, released: bool = False
) -> Refused:
    """How many values ``encode`` (or ``encode_released``) would refuse: for totals over batches."""
    integers = isinstance(array, pa.Array) and pa.types.is_integer(array.type)
    if integers:
        array = _as_dictionary(array)
    if isinstance(array, pa.DictionaryArray):  # mostly all entries have a label, so all records do
        places = positions(column, flat(array.dictionary), released=released)
        inside = integers or points_inside(array.indices, len(places))
        if inside and not _refused(column, places):
            return Refused(missing=0 if None in column.labels else array.indices.null_count)
    return _coded(column, array, released=released)[1]


def refuse(column: Column, refused: Refused) -> None:
    """Raise if any record was refused."""
    name = f"'{column.name}'"
    if refused.outside:
        raise OutsideDomain(
            "{records} values outside the schema. Add categories, widen the bins or map them to "
            "missing.",
            code="outside-domain",
            column=column.name,
            count=refused.outside,
            records=records_that(refused.outside, "holds", "hold", of=name),
        )
    if refused.missing:
        raise OutsideDomain(
            "{records} missing, and the schema does "
            'not allow for that. Set missing = "category" (one more value, randomised) or '
            'missing = "keep" (stays missing) in the schema.',
            code="missing-refused",
            column=column.name,
            count=refused.missing,
            records=records_that(refused.missing, "is", "are", of=name),
        )


def between(column: Column, array: pa.Array | pa.ChunkedArray) -> tuple[Codes, Codes, FloatArray]:
    """The points below and above each number of a grid, and the chance of the one above."""
    ends = [np.full(len(array), word, dtype=np.uint64) for word in (2**64 - 1, 0)]
    below, above = (encode(column, array, words) for words in ends)
    grid = column.domain
    assert isinstance(grid, NumberGrid)  # noqa: S101 - the caller has looked
    marks = np.append(np.asarray(grid.marks, float), np.zeros(len(column.labels) - grid.size))
    values = pc.fill_null(array.cast(pa.float64(), safe=False), 0.0).to_numpy(zero_copy_only=False)
    steps = np.rint((values - float(str(grid.values[0]))) / grid.step)
    wide = np.where(above > below, marks[above] - marks[below], np.inf)
    return below, above, (steps - marks[below]) / wide


def places_among(names: tuple[str, ...], array: pa.Array) -> Positions:
    """The position of each text among these names; negative where it is none, or missing."""
    if not pa.types.is_dictionary(array.type):
        return find_labels(names, flat(array))
    places = np.append(find_labels(names, flat(array.dictionary)), np.int32(MISSING))
    return _taken(places, _indices(array))


def _coded(
    column: Column, array: pa.Array | pa.ChunkedArray, *, released: bool = False
) -> tuple[Codes, Refused]:
    if isinstance(array, pa.ChunkedArray):
        parts = [_coded(column, chunk, released=released) for chunk in array.chunks]
        none = np.zeros(0, code_dtype(len(column.labels)))
        refused = sum((part for _, part in parts), start=Refused())
        return np.concatenate([none, *(codes for codes, _ in parts)]), refused
    if pa.types.is_integer(array.type):
        array = _as_dictionary(array)
    if not pa.types.is_dictionary(array.type):
        places = positions(column, flat(array), released=released)
        return _to_codes(column, places), _refused(column, places)
    # Each distinct value is looked up once; a null takes an extra last entry.
    places = positions(column, flat(array.dictionary), released=released)
    if array.indices.null_count:
        places = np.append(places, np.int32(MISSING))
    indices = _indices(array)
    codes = _taken(_to_codes(column, places), indices)
    if not _refused(column, places):
        return codes, Refused()
    return codes, _refused(column, _taken(places, indices))


def _as_dictionary(array: pa.Array) -> pa.Array:
    """Integers of a narrow range as a dictionary array of that range, others as they are."""
    if len(array) == array.null_count:
        return array
    ends = pc.min_max(array).as_py()
    low, high = ends["min"], ends["max"]
    if high - low >= min(NARROW, len(array)):
        return array
    # Differences modulo the width of the type are exact once they count as unsigned.
    steps = np.arange(high - low + 1, dtype=np.uint64) + np.uint64(low % 2**64)
    values = pa.array(steps.astype(array.type.to_pandas_dtype()))
    width = array.type.bit_width
    unsigned = pa.int64() if width == 64 else pa.from_numpy_dtype(f"uint{width}")
    indices = pc.subtract(array, pa.scalar(low, array.type)).view(unsigned)
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


def _indices(array: pa.DictionaryArray) -> pa.Array:
    """The indices of a dictionary array, with null as the one after the last."""
    indices = array.indices
    if not indices.null_count:
        return indices
    wide = indices.cast(pa.int32()) if indices.type.bit_width < 32 else indices
    return pc.fill_null(wide, len(array.dictionary))


def _taken(values: Values, indices: pa.Array) -> Values:
    """The value at each index; one that points outside is refused."""
    if not points_inside(indices, len(values)):
        raise InvalidTable("An index points outside its dictionary: the table is broken.")
    taken: Values = pc.take(pa.array(values), indices, boundscheck=False).to_numpy()
    return taken


def points_inside(indices: pa.Array, size: int) -> bool:
    """Whether all indices, read as unsigned, are below the size, also where they are missing."""
    data = np.frombuffer(indices.buffers()[1] or b"", f"u{indices.type.bit_width // 8}")
    used = data[indices.offset : indices.offset + len(indices)]
    return not len(used) or int(used.max()) < size


def _refused(column: Column, places: Positions) -> Refused:
    if not len(places) or places.min() >= 0:
        return Refused()
    missing = 0 if None in column.labels else int(np.count_nonzero(places == MISSING))
    return Refused(int(np.count_nonzero(places == OUTSIDE)), missing)


def _to_codes(column: Column, places: Positions) -> Codes:
    size = len(column.labels)
    if None in column.labels:  # missing is the last label
        places = np.where(places == MISSING, size - 1, places)
    return places.astype(code_dtype(size))


# -- decoding --------------------------------------------------------------------------------------


def decode(column: Column, codes: Codes, words: Words | None = None) -> pa.Array:
    """The released values of ``codes``; ``words`` are one a code, for ``release = "draw"``.

    The type follows from the domain alone: if it followed the original data, one value could change
    the type of the whole column, and no epsilon would hold.
    """
    domain = column.declared_domain
    gone = codes == len(domain.labels) if None in column.labels else None
    if isinstance(domain, Bins) and domain.release == "draw":
        if words is None or len(words) != len(codes):
            raise InvalidSchema(
                "Drawing inside the bins of '{column}' needs one random word for each value.",
                column=column.name,
            )
        drawn = _draw(domain, codes, words)
        for place, value in enumerate(domain.missing_values, start=domain.size):
            drawn = np.where(codes == place, value, drawn)  # type: ignore[arg-type]
        return pa.array(drawn, mask=gone)
    values = _released_values(Itself(domain))
    indices = pa.array(codes, mask=gone)
    if pa.types.is_string(values.type):
        most = len(values) if gone is None else len(values) + 1
        inside = not len(codes) or int(codes.max()) < most
        return pa.DictionaryArray.from_arrays(indices, values, safe=not inside)
    return values.take(indices)


def released_type(column: Column) -> pa.DataType:
    """The type of what ``decode`` gives."""
    codes = np.zeros(0, code_dtype(len(column.labels)))
    return decode(column, codes, np.zeros(0, np.uint64)).type


@lru_cache(256)
def _released_values(same: Itself[Categories | Bins]) -> pa.Array:
    """The labels, in position, as an array of the type to be released."""
    domain = same.original
    if isinstance(domain, Bins) and domain.release == "label":
        return pa.array(domain.labels, pa.string())
    if isinstance(domain, Bins):
        return label_array((*domain.centres, *domain.missing_values))
    return label_array(domain.labels)


def label_array(labels: Sequence[Label]) -> pa.Array:
    """Labels in the type in which they are released: numbers, truth values, or else text.

    Whole numbers have 64 bits; one fraction among them makes all of them floating. Labels of
    several kinds, and numbers that two of these types would merge, are released as their texts.

    >>> label_array((1, 2)).type, label_array((1, 2.5)).type, label_array(("1", "2")).type
    (DataType(int64), DataType(double), DataType(string))
    >>> label_array((1, "N")).to_pylist(), label_array((True, 1.5)).to_pylist()
    (['1', 'N'], ['true', '1.5'])
    """
    if all(isinstance(label, bool) for label in labels):
        return pa.array(labels, pa.bool_())
    if not any(isinstance(label, bool | str) for label in labels):
        fraction = any(isinstance(label, float) for label in labels)
        for kind in [pa.float64()] if fraction else [pa.int64(), pa.uint64()]:
            with suppress(pa.ArrowInvalid, OverflowError):
                values = pa.array(labels, kind)
                if len(values.unique()) == len(labels):
                    return values
    return pa.array([label_text(label) for label in labels], pa.string())


def _draw(bins: Bins, codes: Codes, words: Words) -> Values:
    """A uniform number inside each bin; a whole one where the bins hold integers."""
    share = (words >> np.uint64(11)).astype(float) / 2**53  # in [0, 1), 53 bits
    at = np.minimum(codes, bins.size - 1)  # missing values are masked by the caller
    edges = np.asarray(bins.edges, float)
    if bins.integers:
        first = np.ceil(edges)
        first[-1] = np.floor(edges[-1]) + 1  # the last bin is closed
        count = np.diff(first)
        wide = _integers_that_hold(float(first[0]), float(first[-1]))
        if wide is not None and (count > 0).all():  # else a bin has only other numbers to draw
            whole: Values = first[at] + np.floor(share * count[at])
            # Beyond 2**53 the sum may round up to the first number of the next bin.
            whole = np.minimum(whole, np.nextafter(first[1:], -np.inf)[at])
            return whole.astype(wide)
    drawn = edges[at] + share * np.diff(edges)[at]
    # Rounding may reach the upper edge, which belongs to the next bin.
    inside: Values = np.minimum(drawn, np.nextafter(edges[1:], -np.inf)[at])
    return inside


def _integers_that_hold(low: float, high: float) -> type[np.int64 | np.uint64] | None:
    """The 64-bit integers that hold all numbers from ``low`` to below ``high``, if any do."""
    if low >= -(2.0**63) and high <= 2.0**63:
        return np.int64
    return np.uint64 if low >= 0 and high <= 2.0**64 else None


def partly_reported(values: Values, reported: BoolArray) -> pa.Array:
    """Numbers where they are reported and missing elsewhere: a zero lies below what is missing."""
    bits = pa.py_buffer(np.packbits(reported, bitorder="little"))
    left = np.where(reported, values, 0) if values.dtype.kind == "f" else values * reported
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(left)])
