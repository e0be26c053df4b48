"""Sums over groups of released records, by the engine that holds the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.engines.choose import engine_for
from pramana.errors import InvalidNumber
from pramana.table.domains import Label, label_key
from pramana.table.opened import OpenedTable, is_number
from pramana.table.schema import RESERVED
from pramana.types import FloatArray

__all__ = [
    "NOTHING",
    "SUMS",
    "Condition",
    "Operator",
    "SumsAsked",
    "grouped_sums",
    "number_in",
    "require_number",
    "spelled",
    "sum_name",
    "sums_in",
]

SUMS = ("n", "w", "ww", "wy", "wwy", "wwyy")
"""Records, weights and their squares, and both times the value and its square."""

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


NOTHING: Final = frozenset({"", "missing"})
"""What may be typed for a missing value: nothing, or the word that tables have for it."""


@dataclass(frozen=True)
class Condition:
    """What a column must be like: one of some values, none of them, or beyond a number."""

    column: str
    comparison: Operator
    values: tuple[Label, ...]


@dataclass(frozen=True)
class SumsAsked:
    """What is to be summed up.

    Attributes:
        columns: there is one row for each combination of their values.
        value: the column that is summed; records without a value are then left out.
        weight: the column of weights; each record counts once without.
        where: which records.
        beyond: sums whether the value lies beyond a number (1 or 0) instead of the value itself.
    """

    columns: tuple[str, ...]
    value: str | None = None
    weight: str | None = None
    where: tuple[Condition, ...] = ()
    beyond: Condition | None = None


def grouped_sums(opened: OpenedTable, asked: SumsAsked) -> pa.Table:
    """One row a combination, with the sums that estimates need.

    The columns of the answer are those asked for and ``n``, ``w``, ``ww`` and, with a value,
    ``wy``, ``wwy``, ``wwyy``, each under a name that no column can have: see :func:`sums_in`.
    """
    return engine_for(opened).sums(opened, asked)


def sum_name(name: str) -> str:
    """The name of a sum in an answer."""
    return f"{RESERVED}{name}"


def sums_in(answer: pa.Table) -> dict[str, FloatArray]:
    """The sums of an answer by their short names, those that there are.

    A record without a weight counts nothing, and so does a cell that has no others.
    """
    there = set(answer.column_names)
    named = {name: sum_name(name) for name in SUMS}
    columns = {name: answer.column(own) for name, own in named.items() if own in there}
    return {
        name: (own.fill_null(0) if own.null_count else own).to_numpy().astype(np.float64)
        for name, own in columns.items()
    }


def require_number(kind: pa.DataType, condition: Condition) -> bool:
    """Whether the column holds numbers; refused if it does not and is compared like one."""
    number = is_number(kind)
    if not number and condition.comparison not in ("=", "!="):
        raise InvalidNumber(
            f"'{condition.column}' is not a number, so it cannot be compared by "
            f"{condition.comparison}. Use = or !=.",
            column=condition.column,
        )
    return number


def spelled(condition: Condition, *, number: bool) -> tuple[list[str], bool]:
    """The texts that a filter names, and whether it names missing, which is no text at all.

    Words for missing beside it are texts too, of a column that holds texts.
    """
    keys = [label_key(value) for value in condition.values]
    missing = None in keys
    words = NOTHING if number and missing else frozenset()
    return [key for key in keys if key is not None and key not in words], missing


def number_in(text: str, column: str) -> float:
    """The number that a filter on a column of numbers names."""
    try:
        return float(text)
    except ValueError:
        raise InvalidNumber(
            f"'{column}' holds numbers; it cannot be compared with text.", column=column
        ) from None
