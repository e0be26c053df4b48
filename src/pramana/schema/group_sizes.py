"""Groups of records that share their values in some columns, and t-closeness of groups [Li07].

Closeness is the earth mover's distance. Between categories each move costs 1: half the sum of
absolute differences. Between ordered values a move costs the ranks passed, as a share of all ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from pramana.base.processes import memory_bound
from pramana.base.text import listed
from pramana.errors import TooLarge
from pramana.schema.codec import alike, encode, encode_released
from pramana.schema.domains import label_key
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import RESERVED, Column
from pramana.types import FloatArray, IntArray

MOST_ATTACHED = 100_000
"""With more combinations of attached columns than this, a person is taken to be alone."""

MOST_CELLS = 2**20
"""And with more values in them than this: a memory of wide combinations must end somewhere."""

MOST_APART = 2**25  # where so many values tell people apart, somebody is taken to be alone
VALUE_BYTES = 64
"""What a value of a combination takes while combinations are added up, copies included."""

COUNT = f"{RESERVED}records"
"""The column of how many records there are: no other one can be called so."""

FOLD_AFTER = 64  # so many partial results are kept before they are added up


class GroupSizes:
    """How many records share each combination of values, batch by batch.

    With ``most``, counting ends as soon as there are more combinations than that: the smallest
    group is then taken to be of one. So it is with ``apart``, beyond a number of values that does
    not depend on the machine. Else what does not fit in memory is refused.

    >>> sizes = GroupSizes(["region"])
    >>> sizes.add(pa.record_batch({"region": ["n", "s", "n"]}))
    >>> sizes.smallest()
    1
    """

    def __init__(
        self, columns: Sequence[str], *, most: int | None = None, apart: bool = False
    ) -> None:
        self.columns = list(columns)
        self._places = [f"c{at}" for at in range(len(columns))]  # Arrow reads dots as paths
        self._refuses = most is None and not apart
        cells = MOST_APART if most is None else MOST_CELLS
        if self._refuses:
            cells = memory_bound() // VALUE_BYTES
        fit = max(1, cells // max(len(columns), 1))
        self.most = fit if most is None else min(most, fit)
        self.too_many = False
        self._parts: list[pa.Table] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the records of a batch."""
        if self.too_many:
            return
        table = _decoded(pa.Table.from_batches([batch.select(self.columns)]))
        table = table.rename_columns(self._places)
        made = table.group_by(self._places, use_threads=False).aggregate([([], "count_all")])
        self._keep(made.rename_columns([*self._places, COUNT]))

    def merge(self, other: GroupSizes) -> None:
        """Count all that another one has counted."""
        if other.too_many:
            self.too_many, self._parts = True, []
        elif other._parts and not self.too_many:
            self._keep(other._folded())

    def _keep(self, part: pa.Table) -> None:
        """Add a part; give up or refuse where there are too many combinations."""
        self._parts.append(part)
        full = sum(part.num_rows for part in self._parts) > self.most
        if part.num_rows <= self.most and (full or len(self._parts) > FOLD_AFTER):
            self._parts = [self._folded()]
        if not any(part.num_rows > self.most for part in self._parts):
            return
        if self._refuses:
            raise TooLarge(
                "There are more than {most:,} combinations of {columns}, too many to be counted "
                "in the memory allowed. Take fewer columns, or allow for more (PRAMANA_MEMORY=8G).",
                most=self.most,
                columns=listed(self.columns),
            )
        self.too_many, self._parts = True, []

    def total(self) -> pa.Table:
        """Each combination that occurs, with its number of records as ``COUNT``."""
        return self._folded().rename_columns([*self.columns, COUNT])

    def _folded(self) -> pa.Table:
        if len(self._parts) == 1:  # each was added up when it came
            return self._parts[0]
        table = pa.concat_tables(self._parts, promote_options="default")
        total = table.group_by(self._places, use_threads=False).aggregate([(COUNT, "sum")])
        return total.rename_columns([*self._places, COUNT])

    def smallest(self) -> int:
        """The size of the smallest group that occurs; 0 where there are no records."""
        if self.too_many:
            return 1
        return min(self.total().column(COUNT).to_pylist(), default=0) if self._parts else 0

    def keys(self) -> set[tuple[str | None, ...]]:
        """The combinations that occur, each value as its text, or ``None`` where it is missing."""
        if not self._parts:
            return set()
        columns = [self.total().column(name).to_pylist() for name in self.columns]
        return {tuple(map(label_key, values)) for values in zip(*columns, strict=True)}


def group_sizes(
    opened: OpenedTable,
    columns: Sequence[str],
    *,
    most: int | None = None,
    apart: bool = False,
    binned: Sequence[Column] = (),
) -> GroupSizes:
    """How many records of a table share each combination of values in ``columns``.

    Values of ``binned`` columns are counted by bin; see :class:`GroupSizes` for the other options.
    """

    def sized(batches: Iterable[pa.RecordBatch]) -> GroupSizes:
        sizes = GroupSizes(columns, most=most, apart=apart)
        for batch in batches:
            sizes.add(in_bins(batch, binned))
            if sizes.too_many:
                break
        return sizes

    sizes = GroupSizes(columns, most=most, apart=apart)
    for part in opened.summaries(sized, columns):
        sizes.merge(part)
    return sizes


def in_bins(
    batch: pa.RecordBatch, columns: Sequence[Column], *, released: bool = False
) -> pa.RecordBatch:
    """The batch with the number of the bin in place of each value of these columns."""
    for column in columns:
        codes = (encode_released if released else encode)(column, batch.column(column.name))
        at = batch.schema.get_field_index(column.name)
        batch = batch.set_column(at, column.name, pa.array(codes))
    return batch


def _decoded(table: pa.Table) -> pa.Table:
    """Without dictionaries, which differ from batch to batch, and with one zero among numbers."""
    for at, field in enumerate(table.schema):
        coded = pa.types.is_dictionary(field.type)
        if coded or pa.types.is_floating(field.type):
            values = table.column(at)
            values = values.cast(field.type.value_type) if coded else values
            table = table.set_column(at, field.name, alike(values))
    return table


def codes_of(values: ArrayLike) -> tuple[IntArray, int, bool]:
    """Codes in the order of values, the code of missing ones, and whether values are numbers.

    >>> codes_of(["b", None, "a", "b"])
    (array([1, 2, 0, 1]), 2, False)
    """
    array = np.asarray(values)
    number = bool(np.issubdtype(array.dtype, np.number))
    gone = np.asarray(array != array, dtype=bool) if number else np.array(
        [value is None or value != value for value in array.tolist()], dtype=bool
    )  # fmt: skip
    present = array[~gone] if number else np.array([str(v) for v in array[~gone].tolist()])
    labels, places = np.unique(present, return_inverse=True)
    codes = np.full(len(array), len(labels), np.int64)
    codes[~gone] = places.ravel()
    return codes, len(labels), number


def closeness(labels: IntArray, codes: IntArray, whole: FloatArray, *, ordered: bool) -> FloatArray:
    """Distance of every group's distribution to that of the whole table, in [0, 1]."""
    pairs, counts = np.unique(labels * whole.size + codes, return_counts=True)
    group, value = pairs // whole.size, pairs % whole.size
    share = counts / np.bincount(labels)[group]
    return distance_of_groups(group, value, share, whole, ordered=ordered)


def distance_of_groups(
    group: IntArray, value: IntArray, share: FloatArray, overall: FloatArray, *, ordered: bool
) -> FloatArray:
    """The same from the share of each value that occurs in a group."""
    if not ordered:
        # Half the sum of |p - q| is the sum of p - q where positive: only values that occur.
        excess = np.maximum(share - overall[value], 0)
        return np.asarray(np.bincount(group, weights=excess), dtype=np.float64)
    size = len(overall)
    if size == 1:
        return np.zeros(1)
    # The mean over ranks of |F_group - F|: pieces on which F_group is constant, summed in O(1)
    order = np.lexsort((value, group))
    group, value, share = group[order], value[order], share[order]
    starts = np.concatenate(([True], group[1:] != group[:-1]))
    ends = np.concatenate((starts[1:], [True]))
    level = np.cumsum(share) - (np.cumsum(share) - share)[starts][np.cumsum(starts) - 1]
    below = np.cumsum(overall)
    sums = np.concatenate(([0.0], np.cumsum(below)))
    until = np.where(ends, size, np.append(value[1:], size))
    # |c - F| over the ranks from value to until: F rises and passes c at one place.
    turn = np.clip(np.searchsorted(below, level, side="left"), value, until)
    areas = level * (turn - value) - (sums[turn] - sums[value])
    areas += (sums[until] - sums[turn]) - level * (until - turn)
    areas += np.where(starts, sums[value], 0.0)  # before the first value F_group is 0
    return np.asarray(np.bincount(group, weights=areas) / (size - 1), dtype=np.float64)
