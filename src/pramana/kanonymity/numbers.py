"""Arrays and data frames of numbers as keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from pramana.errors import InvalidTable, UnknownColumn
from pramana.formats.frames import open_frame
from pramana.kanonymity.distance import Key
from pramana.types import Columnar, FloatArray


def number_columns(
    points: ArrayLike | Columnar, response: ArrayLike | None = None
) -> tuple[list[Key], list[Key]]:
    """Keys and responses of an array, or of a data frame of any kind.

    ``response`` is an array beside the points, or names columns of the data frame.
    """
    names = _names_of(response)
    if isinstance(points, np.ndarray | list | tuple):
        if names:
            raise InvalidTable("A response by name needs points in a data frame.")
        keys, answers = _array_keys(points, "points"), []
    else:
        columns = _frame_columns(points)
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise UnknownColumn(f"Response {unknown[0]!r} is not a column of the table.")
        keys = [Key(name, values) for name, values in columns.items() if name not in names]
        answers = [Key(name, columns[name]) for name in names]
    if response is not None and not names:
        answers = _array_keys(response, "response")
        if keys and len(answers[0].values) != len(keys[0].values):
            raise InvalidTable(
                f"A response must have one value a record: {len(keys[0].values)} records, "
                f"{len(answers[0].values)} responses."
            )
    return keys, answers


def _frame_columns(frame: object) -> dict[str, FloatArray]:
    table = open_frame(frame).to_arrow()
    return {name: numbers_of(name, table.column(name)) for name in table.column_names}


def _names_of(response: object) -> list[str]:
    if isinstance(response, str):
        return [response]
    if isinstance(response, list | tuple) and all(isinstance(name, str) for name in response):
        return list(response)
    return []


def _array_keys(points: ArrayLike, what: str) -> list[Key]:
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTable(f"The {what} must be numbers, and some are not.") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InvalidTable(f"The {what} must be a table, got {array.ndim} dimensions.")
    return [Key(f"{what} {c}", array[:, c]) for c in range(array.shape[1])]


def numbers_of(name: str, column: pa.ChunkedArray) -> FloatArray:
    """A column of numbers, missing ones as nan; refused where it is not one."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidTable(
            f"Column {name!r} must hold numbers, found {kind}. Leave it out or code it as numbers."
        )
    result: FloatArray = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    return result
