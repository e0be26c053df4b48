"""Counts and sums over groups of records that are held in memory, by the codes of their values.

Advice and comparisons ask small tables by the hundred, and a question to the database costs
more than the counting does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.engines.sums import Condition, SumsAsked, number_in, spelled, sum_name
from pramana.table.domains import Label, label_text
from pramana.table.opened import OpenedTable
from pramana.types import BoolArray, FloatArray, IntArray

__all__ = ["counted"]

MOST_RECORDS = 200_000
"""Above, the database counts by several threads."""

Coded: TypeAlias = tuple[IntArray, list[Label]]
"""A number for each record, and the value of each number; of the first one, none."""

COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def counted(opened: OpenedTable, asked: SumsAsked) -> pa.Table | None:
    """What the database answers; ``None`` where records or question are of another kind."""
    if opened.files or opened.format != "frame" or opened.rows > MOST_RECORDS:
        return None
    if not _answered_here(opened.schema, asked):
        return None
    inside = list(dict.fromkeys([*asked.columns, *(one.column for one in asked.where)]))
    summed = [name for name in (asked.value, asked.weight) if name is not None]
    table = opened.to_arrow(list(dict.fromkeys([*inside, *summed])))
    numbers = {name: _numbers(table.column(name)) for name in summed}
    if asked.weight is not None and table.column(asked.weight).null_count:
        return None
    coded = {name: _coded(table.column(name)) for name in inside}
    kept = np.ones(table.num_rows, dtype=bool)
    for one in asked.where:
        number = not _holds_texts(table.schema.field(one.column).type)
        kept &= _meant(one, coded[one.column], number=number)
    if asked.value is not None:
        kept &= ~np.isnan(numbers[asked.value])
    return _summed(table.schema, asked, coded, numbers, kept)


def _answered_here(schema: pa.Schema, asked: SumsAsked) -> bool:
    """Groups and filters of texts, and of whole numbers; sums of numbers."""
    kinds = {name: schema.field(name).type for name in schema.names}
    summed = [kinds[name] for name in (asked.value, asked.weight) if name is not None]
    alike = [*asked.columns, *(c.column for c in asked.where if c.comparison in ("=", "!="))]
    beyond = [c.column for c in asked.where if c.comparison not in ("=", "!=")]
    return (
        all(_holds_texts(kinds[name]) or pa.types.is_integer(kinds[name]) for name in alike)
        and all(pa.types.is_integer(kinds[name]) for name in beyond)
        and all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in summed)
    )


def _meant(condition: Condition, coded: Coded, *, number: bool) -> BoolArray:
    """For each record whether a filter means it."""
    codes, values = coded
    if condition.comparison not in ("=", "!="):
        limit, beyond = _limit(condition), COMPARED[condition.comparison]
        meant = [value is not None and beyond(value, limit) for value in values]
        return np.array(meant)[codes]
    texts, missing = spelled(condition, number=number)
    named = {number_in(text, condition.column) if number else text for text in texts}
    listed = [missing if value is None else value in named for value in values]
    found: BoolArray = np.array(listed)[codes] == (condition.comparison == "=")
    return found


def _limit(condition: Condition) -> float:
    return number_in(label_text(condition.values[0]), condition.column)


def _summed(
    schema: pa.Schema,
    asked: SumsAsked,
    coded: Mapping[str, Coded],
    numbers: Mapping[str, FloatArray],
    kept: BoolArray,
) -> pa.Table | None:
    """One row for each combination of values that is there."""
    sizes = [len(coded[name][1]) for name in asked.columns]
    if prod(sizes) >= 2**62 or not (asked.columns or kept.any()):
        return None
    cells = np.zeros(int(kept.sum()), dtype=np.int64)
    for name, size in zip(asked.columns, sizes, strict=True):
        cells = cells * size + coded[name][0][kept]
    found, place = np.unique(cells, return_inverse=True)
    answer = {}
    for name, size in reversed([*zip(asked.columns, sizes, strict=True)]):
        found, own = np.divmod(found, size)
        kind = schema.field(name).type
        values = pa.array(coded[name][1], kind if pa.types.is_integer(kind) else pa.string())
        answer[name] = values.take(pa.array(own))
    answer = dict(reversed(answer.items()))
    terms = _terms(asked, {name: own[kept] for name, own in numbers.items()})
    sums = {name: np.bincount(place, term, len(found)) for name, term in terms.items()}
    return pa.table(
        answer | {sum_name(name): pa.array(own, pa.float64()) for name, own in sums.items()}
    )


def _terms(asked: SumsAsked, numbers: Mapping[str, FloatArray]) -> dict[str, FloatArray | None]:
    """What is summed, in the order of the database's answers; ``None`` where everybody is one."""
    y = None if asked.value is None else numbers[asked.value]
    if y is not None and asked.beyond is not None:
        y = COMPARED[asked.beyond.comparison](y, _limit(asked.beyond)).astype(np.float64)
    if asked.weight is None:
        alone: dict[str, FloatArray | None] = {} if y is None else {"wy": y, "wwyy": y * y}
        return {"n": None} | alone | {"w": None, "ww": None} | ({} if y is None else {"wwy": y})
    w = numbers[asked.weight]
    beside = {} if y is None else {"wy": w * y, "wwy": w * w * y, "wwyy": w * w * y * y}
    return {"n": None, "w": w, "ww": w * w} | beside


def _numbers(values: pa.ChunkedArray) -> FloatArray:
    """As floating-point numbers; what is missing is not a number."""
    found: FloatArray = pc.cast(values, pa.float64(), safe=False).to_numpy()
    return found


def _holds_texts(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _coded(values: pa.ChunkedArray) -> Coded:
    number: dict[Label, int] = {None: 0}
    parts = [np.zeros(0, dtype=np.int64)]
    for chunk in values.chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        listed = [*coded.dictionary.to_pylist(), None]  # a list may hold a text twice, or none
        own = np.array([number.setdefault(text, len(number)) for text in listed], dtype=np.int64)
        indices = coded.indices.cast(pa.int64()).fill_null(len(listed) - 1)
        parts.append(own[indices.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts), list(number)
