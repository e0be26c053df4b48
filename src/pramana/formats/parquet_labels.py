"""Columns of labels as Parquet keeps them: a page of the labels, and one of bits that number them.

A released column mostly is a few labels and a byte a record that says which. The library turns each
byte into a number of 32 bits, looks for runs of equal ones, of which records in random order have
none, and packs the rest number by number. Here eight bytes at a time are pushed together into as
many bits as the labels need; the pages are such as every reader of Parquet knows.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import InvalidTable
from pramana.formats.parquet_footer import MARK
from pramana.formats.thrift import BINARY, I32, I64, LIST, STRUCT, Struct, to_bytes, varint

__all__ = ["CODEC", "column_of_labels", "is_of_labels", "may_be_of_labels"]

DATA, DICTIONARY = 0, 2  # kinds of pages
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8  # encodings
BYTE_ARRAY, SNAPPY = 6, 1

CODEC: Final = "snappy"


def may_be_of_labels(field: pa.Field) -> bool:
    """Whether a column is of texts that a byte numbers."""
    kind = field.type
    if not pa.types.is_dictionary(kind) or sys.byteorder != "little":
        return False
    return bool(pa.types.is_uint8(kind.index_type) and pa.types.is_string(kind.value_type))


def is_of_labels(field: pa.Field, column: pa.Array) -> bool:
    """Whether a column is of texts that a byte numbers, each of them one of its dictionary."""
    if not may_be_of_labels(field):
        return False
    if column.dictionary.null_count or (column.null_count and not field.nullable):
        return False
    return bool(len(column) > column.null_count)


def column_of_labels(field: pa.Field, column: pa.Array) -> tuple[bytes, Struct]:
    """The two pages of a column, and what a footer says of them where they begin a file."""
    labels, entries = _page_of_labels(tuple(column.dictionary.to_pylist()))
    levels = _levels(column) if field.nullable else b""
    width = max(1, (len(column.dictionary) - 1).bit_length())
    codes = _told(column)
    if int(codes.max()) >= len(column.dictionary):
        raise InvalidTable(
            f"Every code of '{field.name}' must be that of a label, and some are not."
        )
    run = varint(-(-len(codes) // 8) << 1 | 1)
    content = b"".join((levels, bytes([width]), run, _packed(codes, width)))
    about = {
        1: (I32, len(column)), 2: (I32, RLE_DICTIONARY), 3: (I32, RLE), 4: (I32, RLE),
    }  # fmt: skip
    data, size = _page(DATA, 5, about, content)
    stated = [(DICTIONARY, PLAIN), (DATA, RLE_DICTIONARY)]
    return labels + data, {
        2: (I64, 0),
        3: (STRUCT, {
            1: (I32, BYTE_ARRAY),
            2: (LIST, (I32, [PLAIN, RLE, RLE_DICTIONARY])),
            3: (LIST, (BINARY, [field.name.encode()])),
            4: (I32, SNAPPY),
            5: (I64, len(column)),
            6: (I64, entries + size),
            7: (I64, len(labels) + len(data)),
            9: (I64, len(MARK) + len(labels)),
            11: (I64, len(MARK)),
            13: (LIST, (STRUCT, [
                {1: (I32, page), 2: (I32, encoding), 3: (I32, 1)} for page, encoding in stated
            ])),
        }),
    }  # fmt: skip


@cache
def _page_of_labels(labels: tuple[str, ...]) -> tuple[bytes, int]:
    """The labels, each with its length before it."""
    texts = [label.encode() for label in labels]
    content = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    return _page(DICTIONARY, 7, {1: (I32, len(texts)), 2: (I32, PLAIN)}, content)


def _page(kind: int, number: int, about: Struct, content: bytes) -> tuple[bytes, int]:
    """A page with its header, and its size before it was compressed."""
    packed = pa.Codec(CODEC).compress(content, asbytes=True)
    head = to_bytes(
        {
            1: (I32, kind),
            2: (I32, len(content)),
            3: (I32, len(packed)),
            number: (STRUCT, about),
        }
    )
    return head + packed, len(head) + len(content)


def _told(column: pa.Array) -> NDArray[np.uint8]:
    """The codes of all values that are there."""
    indices = column.indices
    codes: NDArray[np.uint8] = indices.drop_null().to_numpy()
    return codes


def _levels(column: pa.Array) -> bytes:
    """Which values are there: one bit each, or one run where all are."""
    run = varint(len(column) << 1) + b"\1"
    if column.null_count:
        there = np.packbits(column.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
        run = varint(len(there) << 1 | 1) + there.tobytes()
    return len(run).to_bytes(4, "little") + run


def _packed(codes: NDArray[np.uint8], width: int) -> bytes:
    """Codes below 2**width in as many bits each, the first one lowest; filled up to whole bytes.

    Neighbours are pushed together, then pairs of them, then fours: of eight bytes the lowest
    ``width`` are left.
    """
    padded = np.zeros(-(-len(codes) // 8) * 8, np.uint8)
    padded[: len(codes)] = codes
    words = padded.view(np.uint64)
    for lane, each in ((8, width), (16, 2 * width), (32, 4 * width)):
        low = sum((2**each - 1) << at for at in range(0, 64, 2 * lane))
        upper = words >> np.uint64(lane - each)
        upper &= np.uint64(low << each)
        words = words & np.uint64(low)
        words |= upper
    eight = words.view(np.uint8).reshape(-1, 8)
    kept = np.empty((len(eight), width), np.uint8)
    for place in range(width):  # byte by byte: three times as fast as a few bytes at a time
        kept[:, place] = eight[:, place]
    return kept.tobytes()
