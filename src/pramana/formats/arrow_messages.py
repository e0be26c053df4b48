"""What the messages of an Arrow file say of themselves, before any of them is unpacked.

The library believes a message that says how long its buffers are once unpacked, and asks the
system for as much. So the lengths are read here first, by the layout of Arrow's Message.fbs, and
what no compression reaches is refused. The number of records is known then too, so that whoever
expects another one need not unpack anything.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from pramana.errors import InvalidTable

__all__ = ["packings_of", "records_of", "stream_part", "words_beside"]

MARK: Final = b"ARROW1"
BEGINNING: Final = 8
"""The mark and its padding; the messages follow as in a stream."""

MOST_TIMES: Final = {0: 260, 1: 50_000}
"""How much smaller than its content LZ4 and ZSTD can make a buffer, and a little more."""

PACKINGS: Final = {0: "LZ4", 1: "ZSTD"}
HEADERS: Final = {"record batch": 0, "dictionary": 1}


def stream_part(content: pa.Buffer) -> pa.Buffer:
    """The messages of an Arrow file, which is a stream between a mark and an index."""
    if bytes(content[: len(MARK)]) != MARK:
        return content
    if len(content) < BEGINNING + 10 or bytes(content[len(content) - len(MARK) :]) != MARK:
        raise InvalidTable("It does not end as an Arrow file does.")
    (index,) = struct.unpack("<i", bytes(content[len(content) - 10 : len(content) - 6]))
    end = len(content) - 10 - index
    if index <= 0 or end < BEGINNING:
        raise InvalidTable("The index of the Arrow file has no such length.")
    return content.slice(BEGINNING, end - BEGINNING)


def records_of(stream: pa.Buffer) -> tuple[int, int]:
    """The number of records that the messages state, and of their bytes once they are unpacked.

    Lengths that cannot be are refused.
    """
    total, size = 0, 0
    for message in _messages(stream):
        if message.type not in HEADERS:
            continue
        header = _header(bytes(message.metadata))
        batch = header if message.type == "record batch" else header.child(1)
        length = batch.number(0, "<q")
        if length < 0:
            raise InvalidTable("A batch states a negative length.")
        size += _unpacked(batch, message.body)
        total += length if message.type == "record batch" else 0
    return total, size


def packings_of(stream: pa.Buffer) -> set[str]:
    """How the buffers of the messages are packed, by the names that Parquet has for it."""
    found = set()
    for message in _messages(stream):
        if message.type in HEADERS:
            header = _header(bytes(message.metadata))
            batch = header if message.type == "record batch" else header.child(1)
            if batch.place(3) is not None:
                found.add(PACKINGS.get(batch.child(3).number(0, "<b"), "unknown"))
    return found


def _messages(stream: pa.Buffer) -> Iterator[pa.Message]:
    reader = pa.ipc.MessageReader.open_stream(stream)
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _unpacked(batch: _FlatTable, body: pa.Buffer | None) -> int:
    """How long all buffers are; those outside their message, or too long to be, are refused."""
    total, size = 0, 0 if body is None else body.size
    packed = batch.place(3)
    codec = None if packed is None else batch.child(3).number(0, "<b")
    for offset, length in batch.pairs(2):
        if offset < 0 or length < 0 or offset + length > size:
            raise InvalidTable("A buffer lies outside its message.")
        if codec is None or not length or body is None:
            total += length
            continue
        (whole,) = struct.unpack("<q", bytes(body.slice(offset, 8))) if length >= 8 else (-2,)
        if whole < -1 or whole > length * MOST_TIMES.get(codec, 0):
            raise InvalidTable("A buffer cannot be as long as it says.")
        total += length if whole == -1 else whole
    return total


def _header(content: bytes) -> _FlatTable:
    """The header of a message: a table in the third place of the root."""
    (root,) = struct.unpack_from("<I", content, 0)
    return _FlatTable(content, root).child(2)


class _FlatTable:
    """A table of a flat buffer; a place beyond the content is an error of ``struct``."""

    def __init__(self, content: bytes, at: int) -> None:
        self.content = content
        self.at = at
        self.fields = at - self._read("<i", at)

    def _read(self, form: str, at: int) -> int:
        if at < 0:
            raise InvalidTable("A message points out of itself.")
        (number,) = struct.unpack_from(form, self.content, at)
        return int(number)

    def place(self, field: int) -> int | None:
        """Where a field stands, if it does."""
        entry = 4 + 2 * field
        if entry >= self._read("<H", self.fields):
            return None
        offset = self._read("<H", self.fields + entry)
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """A number; zero where it is left out."""
        place = self.place(field)
        return 0 if place is None else self._read(form, place)

    def child(self, field: int) -> _FlatTable:
        """A table in a field."""
        place = self.place(field)
        if place is None:
            raise InvalidTable("A message lacks its header.")
        return _FlatTable(self.content, place + self._read("<I", place))

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """A list of pairs of long numbers."""
        place = self.place(field)
        if place is None:
            return
        start = place + self._read("<I", place)
        for at in range(self._read("<I", start)):
            yield struct.unpack_from("<qq", self.content, start + 4 + 16 * at)


def words_beside(schema: pa.Schema) -> Iterator[bytes]:
    """Under which names a schema says something beside its columns and their types."""
    yield from schema.metadata or ()
    for item in schema:
        yield from item.metadata or ()
