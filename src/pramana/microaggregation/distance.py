"""The distance between records with keys of several kinds.

All keys become coordinates, so that one squared Euclidean distance, centres and sums of squares
serve them all:

- numbers and ordered categories (by their rank) are standardised: mean 0, variance 1;
- unordered categories become indicator columns divided by sqrt(2): two different values
  are at squared distance 1, whichever they are;
- a missing number stands at the mean, one unit away from all values along an axis of its own:
  at squared distance 1 + z^2 from a value z, at 0 from another missing one. A missing
  unordered category is one more category;
- a response is standardised and multiplied by sqrt(w) [Wei, eq. 4].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from pramana.base.text import records_that
from pramana.errors import InvalidTable, TooLarge, UnknownColumn
from pramana.io.frames import open_frame
from pramana.types import Columnar, FloatArray, IntArray

MOST_COORDINATES = 512
MOST_BYTES = 2**30

KeyKind = Literal["number", "ordered", "unordered"]


@dataclass(frozen=True, eq=False)
class Key:
    """One key of every record as numbers: values, or the rank of a category; nan is missing."""

    name: str
    values: FloatArray
    kind: KeyKind = "number"

    def __post_init__(self) -> None:
        infinite = int(np.isinf(self.values).sum())
        if infinite:
            raise InvalidTable(
                f"Column {self.name!r} must hold finite numbers; "
                f"{records_that(infinite, 'holds', 'hold')} infinite values. "
                "Bound them or declare them missing.",
                column=self.name,
            )

    def at(self, records: IntArray | slice) -> Key:
        """The same key of some records, or of all in another order."""
        return Key(self.name, self.values[records], self.kind)


def standardise(values: FloatArray) -> FloatArray:
    """Mean 0 and variance 1 over what is not missing; a constant becomes 0."""
    known = values[~np.isnan(values)]
    if known.size == 0 or known.min() == known.max():
        return np.where(np.isnan(values), np.nan, 0.0)
    # Scaled first: squares of very large numbers would overflow.
    scale = float(np.abs(known).max())
    known = known / scale
    result: FloatArray = (values / scale - known.mean()) / known.std()
    return result


def coordinates(key: Key, weight: float = 1.0) -> FloatArray:
    """One key as columns whose squared distances add up to its own."""
    missing = np.isnan(key.values)
    if key.kind == "unordered":
        codes = np.unique(key.values, return_inverse=True)[1].ravel()
        count = int(codes.max()) + 1
        if count > MOST_COORDINATES:
            raise TooLarge(
                f"Column {key.name!r} has {count} unordered categories; clustering serves up to "
                f"{MOST_COORDINATES}. Merge categories or declare an order.",
                column=key.name,
            )
        columns: FloatArray = np.eye(count)[codes] * np.sqrt(0.5 * weight)
        return columns if count > 1 else columns[:, :0]
    values: FloatArray = np.where(missing, 0.0, standardise(key.values)) * np.sqrt(weight)
    if not missing.any() or missing.all():
        return values[:, None]
    return np.column_stack([values, missing * np.sqrt(weight)])


def embed(keys: Sequence[Key], *, responses: Sequence[Key] = (), weight: float = 1.0) -> FloatArray:
    """All keys, and the responses with their weight, as the points that are clustered."""
    parts = [coordinates(key) for key in keys]
    parts += [coordinates(response, weight) for response in responses if weight > 0]
    width = sum(part.shape[1] for part in parts)
    n = len(keys[0].values)
    if width > MOST_COORDINATES or 8 * n * width > MOST_BYTES:
        raise TooLarge(
            f"The keys of {n} records need {width} coordinates, more than fit into "
            f"{MOST_BYTES >> 20} MiB. Merge categories of unordered keys or declare an order."
        )
    return np.ascontiguousarray(np.column_stack(parts)) if parts else np.zeros((n, 0))


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
        keys, responses = _array_keys(points, "points"), []
    else:
        columns = _frame_columns(points)
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise UnknownColumn(f"Response {unknown[0]!r} is not a column of the table.")
        keys = [Key(name, values) for name, values in columns.items() if name not in names]
        responses = [Key(name, columns[name]) for name in names]
    if response is not None and not names:
        responses = _array_keys(response, "response")
        if keys and len(responses[0].values) != len(keys[0].values):
            raise InvalidTable(
                f"A response must have one value a record: {len(keys[0].values)} records, "
                f"{len(responses[0].values)} responses."
            )
    return keys, responses


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
            f"Column {name!r} must hold numbers, found {kind}. Leave it out or code it as numbers.",
            column=name,
        )
    result: FloatArray = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    return result
