"""Columns released as they are, as company for the randomised ones when records are rebuilt.

An income that was published as it is tells much about a degree that was not. So such columns join
the model: text and truth values by their values, numbers by ten bins with about as many records
each. They are never changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.matrices import Label
from pramana.types import IntArray

__all__ = ["Companion", "companion_of", "company_of"]

MOST_VALUES = 40
"""A column of more values is too thinly spread to say much, as a name or a postcode is."""

BINS = 10


@dataclass(frozen=True, eq=False)
class Companion:
    """A column as codes: labels, and the place of each record among them."""

    labels: tuple[Label, ...]
    codes: IntArray


def companion_of(column: pa.ChunkedArray) -> Companion | None:
    """The column as codes, or ``None`` where it has too many values to be of help.

    >>> found = companion_of(pa.chunked_array([["a", None, "b", "a"]]))
    >>> found.labels, found.codes.tolist()
    (('a', 'b', None), [0, 2, 1, 0])
    """
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(
            np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        )
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif not (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)
    ):
        return None
    values = pc.unique(column).drop_null()
    if not 0 < len(values) <= MOST_VALUES:
        return None
    values = values.take(pc.sort_indices(values))
    places = pc.index_in(column, value_set=values).fill_null(len(values))
    missing = (None,) if column.null_count else ()
    return Companion(
        (*values.to_pylist(), *missing), places.to_numpy(zero_copy_only=False).astype(np.int64)
    )


def _of_numbers(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Companion | None:
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return None
    edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
    codes = np.searchsorted(edges, numbers, side="right").astype(np.int64)
    codes[np.isnan(numbers)] = len(edges) + 1
    used, codes = np.unique(codes, return_inverse=True)
    return Companion(tuple(int(code) for code in used), codes.astype(np.int64))


def company_of(table: pa.Table, names: Sequence[str]) -> dict[str, Companion]:
    """Columns released as they are that can tell something about the randomised ones."""
    found = {name: companion_of(table.column(name)) for name in names}
    return {name: companion for name, companion in found.items() if companion is not None}
