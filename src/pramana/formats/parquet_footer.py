"""Footers of Parquet files: read, and made of row groups that were encoded apart.

Row groups are put behind each other and get one footer. What says where in the file something lies
is moved; everything else stays as it was written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pramana.formats.thrift import I64, LIST, STRUCT, Struct, from_bytes, to_bytes

__all__ = [
    "MARK",
    "Chunk",
    "body_and_footer",
    "chunks_of",
    "columns_of",
    "footer_of",
    "moved",
    "row_group",
]

MARK: Final = b"PAR1"
"""With what a file begins and ends."""

ROWS, GROUPS = 3, 4  # of a file
COLUMNS, SIZE, GROUP_ROWS, GROUP_OFFSET, PACKED = 1, 2, 3, 5, 6  # of a row group
CHUNK_OFFSET, CHUNK = 2, 3  # of a column of it
PAGE_OFFSETS = (9, 10, 11)  # data, index, dictionary
CODEC, VALUES, CHUNK_SIZE, CHUNK_PACKED, STATISTICS = 4, 5, 6, 7, 12  # of a column
NULLS = 3  # of its statistics


def body_and_footer(file: memoryview) -> tuple[memoryview, Struct]:
    """The pages of a file in memory, and its footer."""
    end = len(file) - 8 - int.from_bytes(file[-8:-4], "little")
    return file[len(MARK) : end], from_bytes(bytes(file[end:-8]))


def columns_of(footer: Struct) -> list[Struct]:
    """What a footer says of the columns of the only row group."""
    (group,) = footer[GROUPS][1][1]
    columns: list[Struct] = group[COLUMNS][1][1]
    return columns


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
        return _chunks(file.read(length))


@lru_cache(4)  # of few: who opens a release asks twice, and footers of many columns are long
def _chunks(footer: bytes) -> list[list[Chunk]]:
    return [
        [_chunk(column[CHUNK][1]) for column in group[COLUMNS][1][1]]
        for group in from_bytes(footer)[GROUPS][1][1]
    ]


def _chunk(column: Struct) -> Chunk:
    stated = column[STATISTICS][1] if STATISTICS in column else {}
    missing = stated[NULLS][1] if NULLS in stated else None
    return Chunk(int(column[VALUES][1]), missing, int(column[CODEC][1]))


def footer_of(empty: memoryview, groups: Sequence[Struct]) -> bytes:
    """The footer of a file of these row groups, as one without any has it."""
    _, whole = body_and_footer(empty)
    whole[ROWS] = I64, sum(group[GROUP_ROWS][1] for group in groups)
    whole[GROUPS] = LIST, (STRUCT, list(groups))
    return to_bytes(whole)


def row_group(columns: Sequence[Struct], *, rows: int, begin: int) -> Struct:
    """What a footer says of a row group whose pages begin at this place."""
    about = [column[CHUNK][1] for column in columns]
    return {
        COLUMNS: (LIST, (STRUCT, [moved(column, begin - len(MARK)) for column in columns])),
        SIZE: (I64, sum(own[CHUNK_SIZE][1] for own in about)),
        GROUP_ROWS: (I64, rows),
        GROUP_OFFSET: (I64, begin),
        PACKED: (I64, sum(own[CHUNK_PACKED][1] for own in about)),
    }


def moved(column: Struct, by: int) -> Struct:
    """What is said of a column whose pages lie so many bytes further on."""
    about = _shifted(column[CHUNK][1], PAGE_OFFSETS, by)
    return _shifted(column, (CHUNK_OFFSET,), by) | {CHUNK: (STRUCT, about)}


def _shifted(fields: Struct, numbers: Iterable[int], by: int) -> Struct:
    """With so much added to places in the file; 0 stands for none."""
    places = {number: fields[number] for number in numbers if number in fields}
    return fields | {at: (kind, place + by) for at, (kind, place) in places.items() if place}
