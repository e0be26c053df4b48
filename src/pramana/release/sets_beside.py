"""Whether the sets that records were asked for depend on the columns released as they are.

Sets are drawn whatever the record is (docs/proofs/reports.md). A stranger cannot see the reported
columns of the truth, but the columns beside are the truth: if sets go with them, sets were not
drawn by chance. One chi-square test of independence a column, numbers in ten bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.numeric import chi_square_tail
from pramana.release.checks import Check
from pramana.table.cells import cell_counts
from pramana.table.opened import is_number
from pramana.table.schema import ASKED
from pramana.types import FloatArray, IntArray

__all__ = ["SetsBeside"]

LOOKED_AT = 200_000
"""So many records are enough: sets drawn by the data for a reason would show in fewer."""

LEVEL = 1e-6
MOST_VALUES = 20
BINS = 10
FEWEST_EXPECTED = 5.0


class SetsBeside:
    """The sets of the first records, and what stands beside them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._batches: list[pa.RecordBatch] = []
        self._records = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """One more batch, while there are few."""
        left = LOOKED_AT - self._records
        if self.columns and left > 0:
            some = batch.select([ASKED, *self.columns]).slice(0, left)
            self._batches.append(some)
            self._records += some.num_rows

    def checks(self) -> Iterator[Check]:
        """One a column beside."""
        if not self._records:
            return
        table = pa.Table.from_batches(self._batches).unify_dictionaries()
        sets = _codes(table.column(ASKED))
        for name in self.columns:
            counts = _crossed(sets, _codes(table.column(name)))
            statistic, degrees = _chi_square(counts)
            good = chi_square_tail(statistic, degrees) > LEVEL / len(self.columns)
            words = "do not depend on it" if good else "depend on it: they were not drawn by chance"
            yield Check.of(f"sets beside {name}", good, f"the sets asked for {words}")


def _codes(column: pa.ChunkedArray) -> IntArray:
    """Values as codes: the most frequent and the rest, numbers of many values in bins."""
    kind = column.type
    if is_number(kind):
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        known = numbers[~np.isnan(numbers)]
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS)) if len(known) else known
        found = np.searchsorted(edges, numbers, side="right")
        return np.where(np.isnan(numbers), len(edges) + 1, found).astype(np.int64)
    if not pa.types.is_dictionary(kind):
        column = column.dictionary_encode(null_encoding="encode")
    combined = column.combine_chunks()
    codes = pc.fill_null(combined.indices.cast(pa.int64()), len(combined.dictionary)).to_numpy()
    order = np.argsort(-np.bincount(codes), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.minimum(np.arange(len(order)), MOST_VALUES)
    coded: IntArray = place[codes]
    return coded


def _crossed(first: IntArray, second: IntArray) -> FloatArray:
    return cell_counts([first, second], [int(first.max()) + 1, int(second.max()) + 1])


def _chi_square(counts: FloatArray) -> tuple[float, int]:
    """The statistic of independence, rare sets and values each put together."""
    for _ in range(2):
        counts = counts[:, counts.sum(axis=0) > 0].T
        total = counts.sum()
        rare = counts.sum(axis=1) * counts.sum(axis=0).min() / total < FEWEST_EXPECTED
        if rare.any():
            counts = np.vstack([counts[~rare], counts[rare].sum(axis=0)])
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(((counts - expected) ** 2 / expected).sum()), degrees
