"""Marks of columns: does a table that is read again hold the same values in the same places?

A mark is a sum of one 64-bit word a record, made of its value and its place, so that it does not
depend on how records are cut into batches or in which order these are looked at. It finds tables
that answer otherwise each time; it is no digest against somebody who wants two tables to have one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.randomness import GOLDEN_GAMMA, splitmix64
from pramana.errors import InvalidTable
from pramana.schema.opened_table import OpenedTable, Part, is_number
from pramana.types import Words

__all__ = ["ANOTHER", "mark_of", "marks_of", "steady"]

PER_BYTE: Final = np.uint64(0xBF58476D1CE4E5B9)
MISSING: Final = np.uint64(0xD6E8FEB86659FD93)
LENGTHS: Final = 1024
ANOTHER: Final = (
    "The table must hold the same values each time it is read, and '{name}' held others. Write it "
    "to a file and protect that."
)
OTHER_NUMBER: Final = (
    "The table must hold the same records each time it is read, and held another number of them. "
    "Write it to a file and protect that."
)

Marked: TypeAlias = tuple[str, bool]
"""A column, and whether it is read as numbers: a view may read it as text."""


def marks_of(batch: pa.RecordBatch, position: int, names: Iterable[str]) -> dict[str, int]:
    """The marks of some columns of a batch whose first record stands at a position."""
    return {name: mark_of(batch.column(name), position) for name in names}


def mark_of(values: pa.Array, position: int) -> int:
    """The mark of the values of a column, from a position on."""
    if not len(values):
        return 0
    places = np.arange(position + 1, position + 1 + len(values), dtype=np.uint64)
    with np.errstate(over="ignore"):
        return int(splitmix64(_words(values) + places * GOLDEN_GAMMA).sum(dtype=np.uint64))


def _words(values: pa.Array) -> Words:
    """A word for each value; the same for missing ones, whatever lies below them."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        own = np.append(_words(values.dictionary), MISSING)
        places = np.asarray(pc.fill_null(values.indices.cast(pa.int64()), len(own) - 1))
        return np.asarray(own[places], dtype=np.uint64)
    words = _present(values)
    if values.null_count:
        words = np.where(np.asarray(values.is_null()), MISSING, words)
    return np.asarray(words, dtype=np.uint64)


def _present(values: pa.Array) -> Words:
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), dtype=np.uint64)
    if pa.types.is_floating(kind):
        numbers = np.asarray(pc.fill_null(values.cast(pa.float64()), 0.0), dtype=np.float64)
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        whole = values.cast(pa.uint64() if pa.types.is_unsigned_integer(kind) else pa.int64())
        return np.asarray(pc.fill_null(whole, 0)).view(np.uint64)
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return _present(values.view(width) if kind.bit_width in (32, 64) else values.cast(width))
    if not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
        values = values.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string())
    return _of_texts(values)


def _of_texts(values: pa.Array) -> Words:
    """A sum over the bytes of each text, weighed by their places in it."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    content = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    ends = ends - ends[0]
    lengths = np.diff(ends)
    inside = np.arange(len(content)) - np.repeat(ends[:-1], lengths)
    weights = splitmix64(np.arange(1, LENGTHS + 1, dtype=np.uint64) * GOLDEN_GAMMA)
    parts = (content.astype(np.uint64) + np.uint64(1)) * weights[inside % LENGTHS]
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts, dtype=np.uint64)])
    words: Words = total[ends[1:]] - total[ends[:-1]] + lengths.astype(np.uint64) * PER_BYTE
    return words


# -- a table of another package ---------------------------------------------------------------


@dataclass
class _Pass:
    """What one pass over some columns has seen, part by part, in whatever order."""

    rows: int
    known: dict[Marked, int]
    parts: dict[int, tuple[int, dict[str, int]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def load(self, part: Part, names: Sequence[Marked]) -> pa.RecordBatch:
        """The part; the last of a pass settles whether all was as before."""
        batch = part.load()
        if len(batch) != part.records:
            raise InvalidTable(OTHER_NUMBER)
        marks = marks_of(batch, part.position, [name for name, _ in names])
        with self.lock:
            self.parts[part.position] = len(batch), marks
            if sum(records for records, _ in self.parts.values()) == self.rows:
                self._settle(names)
        return batch

    def _settle(self, names: Sequence[Marked]) -> None:
        for name, view in names:
            total = sum(marks[name] for _, marks in self.parts.values()) % 2**64
            if self.known.setdefault((name, view), total) != total:
                raise InvalidTable(ANOTHER.format(name=name))


def steady(opened: OpenedTable, known: dict[Marked, int] | None = None) -> OpenedTable:
    """The same table, refused once a column holds other values than when it was read first.

    So are its views with other types, and a table that has another number of records than it says.
    """
    seen_before = {} if known is None else known

    def parts(columns: Sequence[str]) -> Iterator[Part]:
        names = [(name, is_number(opened.schema.field(name).type)) for name in columns]
        seen, place = _Pass(opened.rows, seen_before), 0
        for part in opened.parts(columns):
            if part.position != place:
                raise InvalidTable(OTHER_NUMBER)
            place += part.records
            yield replace(part, load=partial(seen.load, part, names))
        if place != opened.rows:
            raise InvalidTable(OTHER_NUMBER)

    def fit(*, text: Collection[str], coded: Collection[str]) -> OpenedTable:
        return steady(opened.fitted(text=text, coded=coded), seen_before)

    return replace(opened, opener=parts, fit=None if opened.fit is None else fit)
