"""Counts over groups of records that are held in memory, by the codes of their texts.

Advice and comparisons ask small tables by the hundred, and a question to the database costs
more than the counting does.
"""

from __future__ import annotations

from math import prod

import numpy as np
import pyarrow as pa

from pramana.engines.sums import SumsAsked, spelled, sum_name
from pramana.table.opened import OpenedTable
from pramana.types import IntArray

__all__ = ["counted"]

MOST_RECORDS = 200_000
"""Above, the database counts by several threads."""


def counted(opened: OpenedTable, asked: SumsAsked) -> pa.Table | None:
    """What the database answers; ``None`` where records or question are of another kind."""
    named = list(dict.fromkeys([*asked.columns, *(one.column for one in asked.where)]))
    if not asked.columns or asked.value is not None or asked.weight is not None:
        return None
    if opened.files or opened.format != "frame" or opened.rows > MOST_RECORDS:
        return None
    if not all(_holds_texts(opened.schema.field(name).type) for name in named):
        return None
    if any(one.comparison not in ("=", "!=") for one in asked.where):
        return None
    table = opened.to_arrow(named)
    coded = {name: _coded(table.column(name)) for name in named}
    sizes = [len(coded[name][1]) for name in asked.columns]
    if prod(sizes) >= 2**62:
        return None
    kept = np.ones(table.num_rows, dtype=bool)
    for one in asked.where:
        codes, texts = coded[one.column]
        values, missing = spelled(one, number=False)
        meant = np.array([missing if text is None else text in values for text in texts])
        kept &= meant[codes] == (one.comparison == "=")
    cells = np.zeros(table.num_rows, dtype=np.int64)
    for name, size in zip(asked.columns, sizes, strict=True):
        cells = cells * size + coded[name][0]
    found, numbers = np.unique(cells[kept], return_counts=True)
    places = np.unravel_index(found, sizes)
    groups = [
        pa.array(coded[name][1], pa.string()).take(pa.array(place))
        for name, place in zip(asked.columns, places, strict=True)
    ]
    counts = pa.array(numbers.astype(np.float64))
    sums = [sum_name(name) for name in ("n", "w", "ww")]  # everybody weighs one
    return pa.table([*groups, counts, counts, counts], names=[*asked.columns, *sums])


def _holds_texts(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _coded(values: pa.ChunkedArray) -> tuple[IntArray, list[str | None]]:
    """A number for each record, and the text of each number; of the first one, none."""
    number: dict[str | None, int] = {None: 0}
    parts = [np.zeros(0, dtype=np.int64)]
    for chunk in values.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        listed = [*coded.dictionary.to_pylist(), None]  # a list may hold a text twice, or none
        own = np.array([number.setdefault(text, len(number)) for text in listed], dtype=np.int64)
        indices = coded.indices.cast(pa.int64()).fill_null(len(listed) - 1)
        parts.append(own[indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts), list(number)
