"""Records as points, partitions of them into groups, and groups kept for trial releases.

All keys become coordinates, so that one squared Euclidean distance, centres and sums of squares
serve them all:

- numbers and ordered categories (by their rank) are standardised: mean 0, variance 1;
- unordered categories become indicator columns divided by sqrt(2): two different values are at
  squared distance 1, whichever they are;
- a missing number is at the mean, one unit away from all values along a separate axis: at
  squared distance 1 + z^2 from a value z, at 0 from another missing one. A missing unordered
  category is one more category;
- a response is standardised and multiplied by sqrt(w) [Wei, eq. 4].

A partition is one label per record. Every release and every attack shuffles its records before it
groups them. For trials, groups are therefore computed for the records sorted by their values, and
each caller puts them back into its order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pramana.base.text import records_that
from pramana.errors import InvalidTable, TooLarge, UnknownColumn
from pramana.io.opening import open_frame
from pramana.schema.joint_cells import joint_groups
from pramana.types import Columnar, FloatArray, IntArray, Values

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
                "Column {column!r} must hold finite numbers; {records} infinite values. Bound "
                "them or declare them missing.",
                column=self.name,
                records=records_that(infinite, "holds", "hold"),
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
                "Column {column!r} has {count} unordered categories; clustering serves up to "
                "{most_coordinates}. Merge categories or declare an order.",
                column=key.name,
                count=count,
                most_coordinates=MOST_COORDINATES,
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
            "The keys of {records} records need {width} coordinates, more than fit into "
            "{most_bytes} MiB. Merge categories of unordered keys or declare an order.",
            records=n,
            width=width,
            most_bytes=MOST_BYTES >> 20,
        )
    return np.ascontiguousarray(np.column_stack(parts)) if parts else np.zeros((n, 0))


def number_columns(
    points: ArrayLike | Columnar, response: ArrayLike | None = None
) -> tuple[list[Key], list[Key]]:
    """Keys and responses of an array or data frame; ``response``: an array, or names."""
    names = _names_of(response)
    if isinstance(points, np.ndarray | list | tuple):
        if names:
            raise InvalidTable("A response by name needs points in a data frame.")
        keys, responses = _array_keys(points, "points"), []
    else:
        table = open_frame(points).to_arrow()
        columns = {name: numbers_of(name, table.column(name)) for name in table.column_names}
        unknown = [name for name in names if name not in columns]
        if unknown:
            raise UnknownColumn(
                "Response {unknown!r} is not a column of the table.", unknown=unknown[0]
            )
        keys = [Key(name, values) for name, values in columns.items() if name not in names]
        responses = [Key(name, columns[name]) for name in names]
    if response is not None and not names:
        responses = _array_keys(response, "response")
        if keys and len(responses[0].values) != len(keys[0].values):
            raise InvalidTable(
                "A response must have one value a record: {count} records, {responses} responses.",
                count=len(keys[0].values),
                responses=len(responses[0].values),
            )
    return keys, responses


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
        raise InvalidTable("The {what} must be numbers, and some are not.", what=what) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InvalidTable(
            "The {what} must be a table, got {ndim} dimensions.", what=what, ndim=array.ndim
        )
    return [Key(f"{what} {c}", array[:, c]) for c in range(array.shape[1])]


def numbers_of(name: str, column: pa.ChunkedArray) -> FloatArray:
    """A column of numbers, missing ones as nan; refused where it is not one."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidTable(
            "Column {column!r} must hold numbers, found {kind}. Leave it out or code it as "
            "numbers.",
            column=name,
            kind=kind,
        )
    result: FloatArray = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    return result


Clustering = Literal["default", "greedy", "mdav", "cells"]
"""How groups are found."""

MOST_AXES = 10  # a k-d tree in more dimensions looks at nearly everything
FEW_POINTS = 5000  # points for which that does not matter


def compact(labels: NDArray[np.generic]) -> IntArray:
    """The same groups, numbered 0, 1, 2, ... without gaps."""
    return joint_groups([labels])


def group_sums(points: FloatArray, labels: IntArray, weights: IntArray | int = 1) -> FloatArray:
    """Sum of the members of every group, column by column, each as often as its weight says."""
    groups = int(labels.max()) + 1
    columns = [np.bincount(labels, points[:, c] * weights, groups) for c in range(points.shape[1])]
    return np.column_stack(columns) if columns else np.zeros((groups, 0))


def centres(points: FloatArray, labels: IntArray) -> FloatArray:
    """Mean of the members of every group."""
    means: FloatArray = group_sums(points, labels) / np.bincount(labels)[:, None]
    return means


def within(points: FloatArray, labels: IntArray) -> float:
    """Sum over the records of the squared distance to the centre of their group."""
    middle, total = centres(points, labels), 0.0
    for c in range(points.shape[1]):
        gap = points[:, c] - middle[labels, c]
        total += float(np.square(gap).sum())
    return total


def bounds(points: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value of every group, column by column."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
    low, high = np.empty((starts.size, points.shape[1])), np.empty((starts.size, points.shape[1]))
    for c in range(points.shape[1]):
        column = points[order, c]
        low[:, c] = np.minimum.reduceat(column, starts)
        high[:, c] = np.maximum.reduceat(column, starts)
    return low, high


def rank_within(labels: IntArray, values: FloatArray | None = None) -> IntArray:
    """Place of every record in its group, by value, equal ones by position: 0, 1, 2, ..."""
    order = np.argsort(labels, kind="stable") if values is None else np.lexsort((values, labels))
    sizes = np.bincount(labels)
    rank = np.empty(labels.size, np.int64)
    rank[order] = np.arange(labels.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank


def search_space(points: FloatArray) -> FloatArray:
    """The points on their main principal axes, if there are many, to search for neighbours."""
    if points.shape[1] <= MOST_AXES or len(points) <= FEW_POINTS:
        return np.ascontiguousarray(points)
    axes = np.linalg.eigh(np.cov(points, rowvar=False))[1][:, -MOST_AXES:]
    return np.ascontiguousarray(points @ axes)


def cells_of(points: FloatArray) -> IntArray:
    """One label per record: equal records, and only those, share it."""
    if points.shape[1] == 0:
        return np.zeros(len(points), np.int64)
    return joint_groups(list(points.T))


def chop(points: FloatArray, labels: IntArray, limit: int) -> IntArray:
    """Cut groups of more than ``limit`` (at least 2k - 1) records into equal parts."""
    low, high = bounds(points, labels)
    sizes = np.bincount(labels)
    widest = (high - low).argmax(axis=1)
    along = points[np.arange(labels.size), widest[labels]]
    rank = rank_within(labels, along)
    parts = -(-sizes // limit)
    part = rank * parts[labels] // sizes[labels]
    return compact(labels * (int(parts.max()) + 1) + part)


Made = TypeVar("Made")


_SHARED: ContextVar[dict[bytes, tuple[threading.Lock, list[Any]]] | None] = ContextVar(
    "shared groups", default=None
)
"""Results by a digest of their options and columns, in lists of none or one."""


@contextmanager
def shared_groups() -> Iterator[None]:
    """Inside, groups and Gaussian draws for the same records are made once, for trials."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def sharing() -> bool:
    """Whether groups and draws are shared here."""
    return _SHARED.get() is not None


def made_once(options: object, columns: Sequence[Values], make: Callable[[], Made]) -> Made:
    """The result of ``make`` for these options and columns, made once inside shared_groups."""
    shared = _SHARED.get()
    if shared is None:
        return make()
    digest = blake2b(repr(options).encode())
    for column in columns:
        digest.update(column.tobytes())
    lock, results = shared.setdefault(digest.digest(), (threading.Lock(), []))
    with lock:  # other threads wait for the result
        if not results:
            results.append(make())
    result: Made = results[0]
    return result


def order_of_values(columns: Sequence[Values]) -> IntArray:
    """An order of the records by their values, whatever their first order."""
    return np.lexsort(columns[::-1])


def put_back(values: IntArray, order: IntArray) -> IntArray:
    """Values of records in an order, put back into the first order of the records."""
    back = np.empty_like(values)
    back[order] = values
    return back
