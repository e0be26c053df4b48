"""Sums over groups of released records, by the engine that holds the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

from pramana.engines.choose import engine_for
from pramana.errors import InvalidNumber
from pramana.table.domains import Label
from pramana.table.opened import OpenedTable, is_number

__all__ = ["Condition", "Operator", "grouped_sums", "number_in", "require_number"]

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Condition:
    """What a column must be like: one of some values, none of them, or beyond a number."""

    column: str
    comparison: Operator
    values: tuple[Label, ...]


def grouped_sums(
    opened: OpenedTable,
    columns: Sequence[str],
    *,
    value: str | None = None,
    weight: str | None = None,
    where: Sequence[Condition] = (),
) -> pa.Table:
    """One row a combination of values of ``columns``, with the sums that estimates need.

    The columns of the answer are those asked for and ``n``, ``w``, ``ww`` and, with a value,
    ``wy``, ``wwy``, ``wwyy``; records without a value are then left out.
    """
    return engine_for(opened).sums(opened, columns, value=value, weight=weight, where=where)


def require_number(kind: pa.DataType, condition: Condition) -> bool:
    """Whether the column holds numbers; refused if it does not and is compared like one."""
    number = is_number(kind)
    if not number and condition.comparison not in ("=", "!="):
        raise InvalidNumber(
            f"'{condition.column}' is not a number, so it cannot be compared by "
            f"{condition.comparison}. Use = or !=."
        )
    return number


def number_in(text: str, column: str) -> float:
    """The number that a filter on a column of numbers names."""
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(f"'{column}' holds numbers; it cannot be compared with text.") from None
