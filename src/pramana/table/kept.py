"""Counts that see the columns which are released as they are.

Randomised columns are counted by their codes. A column that is released as it is need not have a
domain: its values are counted as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.table.codec import encode
from pramana.table.counts import Counter, Counts
from pramana.table.domains import Label
from pramana.table.groups import COUNT, group_sizes
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column
from pramana.types import Codes

__all__ = ["counts_with_kept"]


def counts_with_kept(
    opened: OpenedTable, coded: Sequence[Column], kept: Sequence[str] = ()
) -> Counts:
    """How many records have which combination of coded values and of values as they stand."""
    names = [*(column.name for column in coded), *kept]
    cells = group_sizes(opened, names).total()
    codes: list[Codes] = [encode(column, cells.column(column.name)) for column in coded]
    labels: list[tuple[Label, ...]] = [column.labels for column in coded]
    for name in kept:
        own, values = _as_they_stand(name, cells.column(name))
        codes.append(own)
        labels.append(values)
    counter = Counter(names, labels)
    counter.add(codes, np.asarray(cells.column(COUNT), dtype=np.int64))
    return counter.result()


def _as_they_stand(name: str, column: pa.ChunkedArray) -> tuple[Codes, tuple[Label, ...]]:
    """Codes in the order of appearance, and the values; missing is one of them."""
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    try:
        return np.asarray(coded.indices), tuple(coded.dictionary.to_pylist())
    except (OverflowError, ValueError):  # which quote a value
        raise InvalidTable(
            f"'{name}' must hold dates and times up to the year 9999 to be counted, and holds "
            "others. Correct them, or drop the column.",
            column=name,
        ) from None
