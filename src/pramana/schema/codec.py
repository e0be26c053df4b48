"""Encode values as codes and decode codes as released values.

A code is the position of a value's label among the labels of its column. A value has the label of
equal text (see ``domains``): the number 1 is found under 1, 1.0 and "1", the text "01" only under
"01". Missing is Arrow's null, and nan among numbers. Errors give the column and the number of
records, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import records_that
from pramana.errors import InvalidSchema, InvalidTable, OutsideDomain
from pramana.schema.domains import Bins, Categories, Label, NumberGrid, label_text
from pramana.schema.lookup import (
    MISSING,
    NOT_A_NUMBER,
    OUTSIDE,
    Itself,
    find_bins,
    find_labels,
    find_points,
    flat,
)
from pramana.schema.schema import Column
from pramana.types import BoolArray, Codes, FloatArray, Positions, Values, Words

Finder: TypeAlias = Callable[[pa.Array], Positions]

NARROW = 2**16  # integers that span less are looked up in a table


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
        plain = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if pa.types.is_dictionary(plain.type):
            plain = plain.dictionary_decode()
        places = find_points(column.name, column.domain, flat(plain), words)
        codes, refused = _to_codes(column, places), _refused(column, places)
    else:
        codes, refused = _coded(column, array, _finder(column))
    refuse(column, refused)
    return codes


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


def encode_released(column: Column, array: pa.Array | pa.ChunkedArray) -> Codes:
    """The code of each released value, whether a label, the centre of a bin or a draw inside it."""
    codes, refused = _coded(column, array, _released_finder(column))
    refuse(column, refused)
    return codes


def count_refused(
    column: Column, array: pa.Array | pa.ChunkedArray, *, released: bool = False
) -> Refused:
    """How many values ``encode`` (or ``encode_released``) would refuse: for totals over batches."""
    find = (_released_finder if released else _finder)(column)
    if isinstance(array, pa.DictionaryArray):
        known = find(flat(array.dictionary))  # where all of these will do, so do the records
        if not _refused(column, known) and _inside(array):
            return Refused(missing=0 if None in column.labels else array.indices.null_count)
    return _coded(column, array, find)[1]


def _inside(array: pa.DictionaryArray) -> bool:
    """Whether every index points into the dictionary."""
    ends = pc.min_max(array.indices)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return low is None or (low >= 0 and high < len(array.dictionary))


def places_among(names: tuple[str, ...], array: pa.Array) -> Positions:
    """Where each text stands among these names; negative where it is none of them, or missing."""
    if not pa.types.is_dictionary(array.type):
        return find_labels(names, flat(array))
    places = np.append(find_labels(names, flat(array.dictionary)), np.int32(MISSING))
    return _taken(places, _indices(array))


def refuse(column: Column, refused: Refused) -> None:
    """Raise if any record was refused."""
    name = f"'{column.name}'"
    if refused.outside:
        raise OutsideDomain(
            f"{records_that(refused.outside, 'holds', 'hold', of=name)} values outside the schema. "
            "Add categories, widen the bins or map them to missing.",
            code="outside-domain",
            column=column.name,
            count=refused.outside,
        )
    if refused.missing:
        raise OutsideDomain(
            f"{records_that(refused.missing, 'is', 'are', of=name)} missing, and the schema does "
            'not allow for that. Set missing = "category" (one more value, randomised) or '
            'missing = "keep" (stays missing) in the schema.',
            code="missing-refused",
            column=column.name,
            count=refused.missing,
        )


def decode(column: Column, codes: Codes, words: Words | None = None) -> pa.Array:
    """The released values of ``codes``; ``words`` are one a code, for ``release = "draw"``.

    The type follows from the domain alone: if it followed the original data, one value could change
    the type of the whole column, and no epsilon would hold.
    """
    domain = _domain(column)
    gone = codes == len(domain.labels) if None in column.labels else None
    if isinstance(domain, Bins) and domain.release == "draw":
        if words is None or len(words) != len(codes):
            raise InvalidSchema(
                f"Drawing inside the bins of '{column.name}' needs a word a value.",
                column=column.name,
            )
        return pa.array(_apart(domain, codes, _draw(domain, codes, words)), mask=gone)
    values = _values(Itself(domain))
    indices = pa.array(codes, mask=gone)
    if pa.types.is_string(values.type):
        most = len(values) if gone is None else len(values) + 1
        inside = not len(codes) or int(codes.max()) < most
        return pa.DictionaryArray.from_arrays(indices, values, safe=not inside)
    return values.take(indices)


def partly_told(values: Values, told: BoolArray) -> pa.Array:
    """Numbers where they are told and nothing elsewhere: what stood there leaves a zero behind."""
    bits = pa.py_buffer(np.packbits(told, bitorder="little"))
    left = np.where(told, values, 0) if values.dtype.kind == "f" else values * told
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(left)])


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


def released_type(column: Column) -> pa.DataType:
    """The type of what ``decode`` gives."""
    codes = np.zeros(0, code_dtype(len(column.labels)))
    return decode(column, codes, np.zeros(0, np.uint64)).type


def _domain(column: Column) -> Categories | Bins:
    if column.domain is None:
        raise InvalidSchema(
            f"The domain of '{column.name}' is not declared. Give its categories or bins.",
            column=column.name,
        )
    return column.domain


def _finder(column: Column) -> Finder:
    """The function that places the values of an array.

    Among numbers NA and the like are missing. One number too long for its type makes a column of a
    file text, and must not change how others are read.
    """
    domain, find = _domain(column), _plain_finder(column)
    kinds = {type(value) for value in domain.values} if isinstance(domain, Categories) else set()
    return find if kinds & {str, bool} else partial(_find_missing, find)


def _find_missing(find: Finder, array: pa.Array) -> Positions:
    places = find(array)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        words = pa.array(NOT_A_NUMBER, array.type)
        gone = pc.is_in(pc.utf8_trim_whitespace(array), value_set=words)
        places[(places == OUTSIDE) & gone.to_numpy(zero_copy_only=False)] = MISSING
    return places


def _plain_finder(column: Column) -> Finder:
    domain = _domain(column)
    if isinstance(domain, NumberGrid):
        return partial(find_points, column.name, domain)
    if not isinstance(domain, Bins):
        return partial(find_labels, domain.labels)
    if domain.missing_values:
        return partial(_find_apart, column.name, domain)
    return partial(find_bins, column.name, domain)


def _find_apart(name: str, bins: Bins, array: pa.Array) -> Positions:
    """Values that stand for missing lie in no bin, whatever its edges."""
    apart = find_labels(bins.missing_values, array)
    return np.where(apart >= 0, apart + bins.size, find_bins(name, bins, array)).astype(np.int32)


def _released_finder(column: Column) -> Finder:
    if isinstance(column.domain, NumberGrid):
        return partial(find_labels, column.domain.labels)
    if isinstance(column.domain, Bins) and column.domain.release != "draw":
        bins = column.domain
        centres = bins.centres + bins.missing_values
        return partial(find_labels, bins.labels if bins.release == "label" else centres)
    return _finder(column)


def _coded(
    column: Column, array: pa.Array | pa.ChunkedArray, find: Finder
) -> tuple[Codes, Refused]:
    if isinstance(array, pa.ChunkedArray):
        parts = [_coded(column, chunk, find) for chunk in array.chunks]
        none = np.zeros(0, code_dtype(len(column.labels)))
        refused = sum((part for _, part in parts), start=Refused())
        return np.concatenate([none, *(codes for codes, _ in parts)]), refused
    if pa.types.is_integer(array.type):
        array = _as_dictionary(array)
    if not pa.types.is_dictionary(array.type):
        places = find(flat(array))
        return _to_codes(column, places), _refused(column, places)
    # Each distinct value is looked up once; a null takes an extra last entry.
    places = find(flat(array.dictionary))
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
    low, high = (pc.min_max(array)[end].as_py() for end in ("min", "max"))
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
    taken = pc.take(pa.array(values), indices, boundscheck=False)
    found: Values = taken.to_numpy()
    return found


def points_inside(indices: pa.Array, size: int) -> bool:
    """Whether all indices, read as unsigned, are below the size, also where they are missing."""
    data = np.frombuffer(indices.buffers()[1] or b"", f"u{indices.type.bit_width // 8}")
    told = data[indices.offset : indices.offset + len(indices)]
    return not len(told) or int(told.max()) < size


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


@lru_cache(256)
def _values(same: Itself[Categories | Bins]) -> pa.Array:
    """The labels, in position, as an array of the type to be released."""
    domain = same.own
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
        kinds = [pa.int64(), pa.uint64()]
        if any(isinstance(label, float) for label in labels):
            kinds = [pa.float64()]
        for kind in kinds:
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
        wide = _wide(first)
        if wide is not None and (count > 0).all():  # else a bin has only other numbers to draw
            whole: Values = first[at] + np.floor(share * count[at])
            # Beyond 2**53 the sum may round up to the first number of the next bin.
            whole = np.minimum(whole, np.nextafter(first[1:], -np.inf)[at])
            return whole.astype(wide)
    drawn = edges[at] + share * np.diff(edges)[at]
    # Rounding may reach the upper edge, which belongs to the next bin.
    inside: Values = np.minimum(drawn, np.nextafter(edges[1:], -np.inf)[at])
    return inside


def _apart(bins: Bins, codes: Codes, drawn: Values) -> Values:
    """Draws, and in place of values that stand for missing these themselves."""
    for place, value in enumerate(bins.missing_values, start=bins.size):
        drawn = np.where(codes == place, value, drawn)  # type: ignore[arg-type]
    return drawn


def _wide(numbers: FloatArray) -> type[np.int64 | np.uint64] | None:
    """The 64-bit integers that hold all numbers below the last, if any do."""
    low, high = float(numbers[0]), float(numbers[-1])
    if low >= -(2.0**63) and high <= 2.0**63:
        return np.int64
    return np.uint64 if low >= 0 and high <= 2.0**64 else None
