"""Structures in Thrift's compact protocol, in which Parquet files speak of themselves.

Numbered fields, each with its type, whole numbers in as few bytes as they need: read as a tree, and
written from one.
"""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = [
    "BINARY",
    "I32",
    "I64",
    "LIST",
    "STRUCT",
    "Struct",
    "from_bytes",
    "to_bytes",
    "varint",
]

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
"""Types of fields, as the protocol numbers them."""

Struct: TypeAlias = dict[int, tuple[int, Any]]
"""Fields by number: type and value; of a list the value is the type of its entries and these."""


def from_bytes(data: bytes) -> Struct:
    """The structure that some bytes begin with.

    What is none is a ValueError, a LookupError or a RecursionError.
    """
    return _Reader(data).struct()


class _Reader:
    """Reads a structure, field by field."""

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


def to_bytes(fields: Struct) -> bytes:
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
        return to_bytes(value)
    if kind in (I16, I32, I64):
        return _whole(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind in (LIST, SET):
        inner, entries = value
        size = len(entries)
        head = bytes([size << 4 | inner]) if size < 15 else bytes([240 | inner]) + varint(size)
        flat = inner in (TRUE, FALSE)
        return head + b"".join(one if flat else _bytes(inner, one) for one in entries)
    return b"" if value is None else bytes(value)


def varint(value: int) -> bytes:
    """A number in as few bytes as it needs, seven bits each."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _whole(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)
