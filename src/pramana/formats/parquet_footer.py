"""Footers of Parquet files: several read, moved and made one.

Row groups that were encoded apart, each as a small file of its own, are put behind each other and
get one footer. A footer is a structure in Thrift's compact protocol: numbered fields, each with its
type, whole numbers in as few bytes as they need. It is read as a tree, and what says where in the
file something lies is moved; everything else stays as the library wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["MARK", "Chunk", "body_and_footer", "chunks_of", "joined"]

MARK: Final = b"PAR1"
"""With what a file begins and ends."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
"""Types of fields, as the protocol numbers them."""

Struct: TypeAlias = dict[int, tuple[int, Any]]
"""Fields by number: type and value; of a list the value is the type of its entries and these."""

ROWS, GROUPS = 3, 4  # of a file
COLUMNS, GROUP_OFFSET, ORDINAL = 1, 5, 7  # of a row group
CHUNK_OFFSET, CHUNK = 2, 3  # of a column of it
PAGE_OFFSETS = (9, 10, 11)  # data, index, dictionary
CODEC, VALUES, STATISTICS, NULLS = 4, 5, 12, 3  # of a column, and of the third of them


def body_and_footer(file: memoryview) -> tuple[memoryview, bytes]:
    """The pages of a file in memory, and its footer."""
    length = int.from_bytes(file[-8:-4], "little")
    end = len(file) - 8 - length
    return file[len(MARK) : end], bytes(file[end:-8])


class Chunk(NamedTuple):
    """What a row group says of one of its columns.

    Attributes:
        values: how many there are.
        missing: how many of them are, where that is stated.
        codec: how they are packed, as the format numbers it.
    """

    values: int
    missing: int | None
    codec: int


def chunks_of(path: Path) -> list[list[Chunk]]:
    """The columns of every row group of a file.

    Arrow says the same, and ends the process where the sizes of a column do not fit its type, or
    where it does not know how a column is packed.
    """
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, os.SEEK_END)
        footer = _Reader(file.read(length)).struct()
    return [
        [_chunk(column[CHUNK][1]) for column in group[COLUMNS][1][1]]
        for group in footer[GROUPS][1][1]
    ]


def _chunk(column: Struct) -> Chunk:
    stated = column[STATISTICS][1] if STATISTICS in column else {}
    missing = stated[NULLS][1] if NULLS in stated else None
    return Chunk(int(column[VALUES][1]), missing, int(column[CODEC][1]))


def joined(footers: Iterable[tuple[bytes, int]]) -> bytes:
    """One footer for the row groups of several, each with the place at which its pages begin."""
    whole: Struct = {}
    groups: list[Struct] = []
    rows = 0
    for footer, begin in footers:
        own = _Reader(footer).struct()
        for group in own[GROUPS][1][1]:
            groups.append(_moved(group, begin - len(MARK), len(groups)))
        rows += own[ROWS][1]
        whole = whole or own
    whole[ROWS], whole[GROUPS] = (I64, rows), (LIST, (STRUCT, groups))
    return _struct(whole)


def _moved(group: Struct, by: int, number: int) -> Struct:
    """A row group that begins so many bytes later, as the one of this number."""
    for column in group[COLUMNS][1][1]:
        _shift(column, (CHUNK_OFFSET,), by)
        _shift(column[CHUNK][1], PAGE_OFFSETS, by)
    _shift(group, (GROUP_OFFSET,), by)
    if ORDINAL in group:
        group[ORDINAL] = (I16, number)
    return group


def _shift(fields: Struct, numbers: Iterable[int], by: int) -> None:
    """Add to places in the file; 0 stands for none."""
    for number in numbers:
        if number in fields and fields[number][1]:
            kind, place = fields[number]
            fields[number] = kind, place + by


class _Reader:
    """Reads a structure; what is none is a ValueError, a LookupError or a RecursionError."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> Struct:
        """The fields up to the stop."""
        found: Struct = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._whole()
            found[number] = kind, self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind == STRUCT:
            return self.struct()
        if kind in (I16, I32, I64):
            return self._whole()
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            return head & 15, [self._entry(head & 15) for _ in range(size)]
        if kind in (TRUE, FALSE):
            return None  # the type says it
        return self._bytes({BYTE: 1, DOUBLE: 8}[kind])

    def _entry(self, kind: int) -> Any:
        return self._bytes(1) if kind in (TRUE, FALSE) else self._value(kind)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise ValueError("a footer that ends too early")
        return self._data[self._at - size : self._at]

    def _varint(self) -> int:
        value, shift = 0, 0
        while (part := self._byte()) & 128:
            value |= (part & 127) << shift
            shift += 7
        return value | part << shift

    def _whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _struct(fields: Struct) -> bytes:
    """The bytes of a structure."""
    parts, before = [], 0
    for number, (kind, value) in sorted(fields.items()):
        step = number - before
        parts.append(bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + _whole(number))
        parts.append(_bytes(kind, value))
        before = number
    return b"".join(parts) + b"\0"


def _bytes(kind: int, value: Any) -> bytes:
    if kind == STRUCT:
        return _struct(value)
    if kind in (I16, I32, I64):
        return _whole(value)
    if kind == BINARY:
        return _varint(len(value)) + bytes(value)
    if kind in (LIST, SET):
        inner, entries = value
        size = len(entries)
        head = bytes([size << 4 | inner]) if size < 15 else bytes([240 | inner]) + _varint(size)
        flat = inner in (TRUE, FALSE)
        return head + b"".join(one if flat else _bytes(inner, one) for one in entries)
    return b"" if value is None else bytes(value)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _whole(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
