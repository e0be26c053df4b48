"""Lines of text files: records spelled as they stand in the file, some at a time.

Text goes in quotes and missing values go without, so that an empty text and a missing one stay
apart. Lines of a few short labels are put together of texts that were spelled beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.table.alike import comparable
from pramana.types import Codes, IntArray

__all__ = ["as_lines", "lines_of", "made", "may_be_of_labels", "plain_kind"]

LINES = 2**14
JOINED = 2**12  # texts of some columns together that are spelled beforehand
LONGEST = 2**8
ROOM = 2**30  # bytes of lines that are made of labels at once; Arrow counts them up to 2**31
QUOTE = '"'


def made(lines: Callable[[], pa.Buffer]) -> pa.Buffer:
    """Lines that were yet to be made."""
    return lines()


def as_lines(plain: pa.Schema, group: pa.Table) -> Iterator[Callable[[], pa.Buffer]]:
    """The lines of a group, some at a time, yet to be made."""
    if len(group) and all(map(_is_of_labels, group.columns)):
        texts, places = _texts_of_lines([column.chunk(0) for column in group.columns])
        widest = group.num_columns * len(f'"{2 * LONGEST * QUOTE}",')
        some = min(LINES, max(1, ROOM // widest))
        parts = range(0, len(group), some)
        return (partial(_joined, texts, places[at : at + some]) for at in parts)
    parts = range(0, len(group), LINES)
    return (partial(lines_of, plain, group.slice(at, LINES)) for at in parts)


def may_be_of_labels(kind: pa.DataType) -> bool:
    """Whether a column is of texts that are numbered."""
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def _is_of_labels(column: pa.ChunkedArray) -> bool:
    """Whether a column is of few and short texts."""
    if not may_be_of_labels(column.type):
        return False
    labels = column.chunk(0).dictionary
    longest = pc.max(pc.binary_length(labels)).as_py() or 0
    return len(labels) < JOINED and not labels.null_count and longest <= LONGEST


def _texts_of_lines(columns: Sequence[pa.DictionaryArray]) -> tuple[pa.Array, IntArray]:
    """All texts that lines are made of, and which of them make the line of each record.

    Neighbouring columns are spelled together, as far as all that they can be are few: a record is
    then put together of few texts, and no value of it is looked at.
    """
    runs: list[tuple[list[str], Codes]] = []
    for place, column in enumerate(columns, start=1):
        end = "," if place < len(columns) else "\n"
        labels = [
            f'"{label.replace(QUOTE, 2 * QUOTE)}"{end}' for label in column.dictionary.to_pylist()
        ]
        codes = pc.fill_null(column.indices.cast(pa.uint16()), len(labels)).to_numpy()
        labels.append(end)  # a missing value goes without quotes
        if runs and len(runs[-1][0]) * len(labels) <= JOINED:
            before, places = runs.pop()
            codes = places * np.uint16(len(labels)) + codes
            labels = [one + other for one in before for other in labels]
        runs.append((labels, codes))
    texts: list[str] = []
    each = np.empty((len(columns[0]), len(runs)), np.int64)
    for at, (labels, codes) in enumerate(runs):
        np.add(codes, len(texts), out=each[:, at], dtype=np.int64)
        texts += labels
    return pa.array(texts), each


def _joined(texts: pa.Array, places: IntArray) -> pa.Buffer:
    """Some lines: texts that are taken in turn stand behind each other, as they do in the file."""
    taken = texts.take(pa.array(places.ravel()))
    size = np.frombuffer(taken.buffers()[1], np.int32)[len(taken)]
    return taken.buffers()[2].slice(0, int(size))


def lines_of(plain: pa.Schema, group: pa.Table, *, names: bool = False) -> pa.Buffer:
    """Lines of records; the names of the columns are a line too."""
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(_texts(group).cast(plain), sink, csv.WriteOptions(include_header=names))
    return sink.getvalue()


def plain_kind(kind: pa.DataType) -> pa.DataType:
    """The type that is written for a type."""
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.string()
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _texts(table: pa.Table) -> pa.Table:
    """Times as their labels are spelled: without a fraction where there is none."""
    for at, item in enumerate(table.schema):
        if pa.types.is_timestamp(item.type) and item.type.tz is None:
            table = table.set_column(at, item.name, comparable(table.column(at)))
    return table
