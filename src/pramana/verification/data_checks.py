"""What records with the same released keys hold of sensitive columns.

Where a group is released with one set of keys, anyone can see it, or a union of several. A union
has at least as many distinct values as each of its parts, and lies at most as far from the whole
table as the farthest of them. So a stated number of values, or a stated closeness, that a union
falls short of was not kept by the groups [Li07], [Machanavajjhala06].

Whether the sets that records were asked for depend on the columns released as they are.

Sets are drawn whatever the record is (docs/proofs/reports.md). A stranger cannot see the reported
columns of the truth, but the columns beside are the truth: if sets go with them, sets were not
drawn by chance. One chi-square test of independence a column, numbers in ten bins.

Copies of the released records in further formats: as stated, and of the same records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import chi_square_tail
from pramana.base.text import text_up
from pramana.errors import PramanaError
from pramana.io.base import require_same
from pramana.io.output import in_groups
from pramana.release.certificate import Certificate, DataFile
from pramana.release.folder import file_path, fingerprint, open_data
from pramana.schema.groups import COUNT, GroupSizes, codes_of, distance_of_groups
from pramana.schema.joint_cells import cell_counts, joint_groups
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.schema import REPORTED, Role
from pramana.types import FloatArray, IntArray
from pramana.verification.checks import Check

ROUNDING = 1e-9


class WithinKeys:
    """Values of sensitive columns by released keys, counted batch by batch."""

    def __init__(self, certificate: Certificate, keys: Sequence[str]) -> None:
        options = certificate.options if certificate.nature.grouped else {}
        self.distinct = _number(options.get("distinct"), 1)
        self.closeness = _number(options.get("closeness"), 1.0)
        self.keys = len(keys)
        asked = keys and (self.distinct > 1 or self.closeness < 1)
        self.sizes = {
            name: GroupSizes([*keys, name]) for name in (_as_grouped(certificate) if asked else ())
        }

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the records of a batch."""
        for sizes in self.sizes.values():
            sizes.add(batch)

    def checks(self) -> Iterator[Check]:
        """One a column."""
        for name, sizes in self.sizes.items():
            fewest, farthest = _within(sizes.total(), self.keys)
            good = fewest >= self.distinct and farthest <= self.closeness + ROUNDING
            yield Check.decided(
                f"{name} by released keys",
                good,
                f"at least {fewest:,} values share each combination, {self.distinct:,} are stated; "
                f"at most {text_up(farthest, 3)} from the whole, {text_up(self.closeness, 3)} is",
            )


def _number(stated: object, default: float) -> float:
    known = isinstance(stated, int | float) and not isinstance(stated, bool)
    return stated if known else default  # type: ignore[return-value]


def _as_grouped(certificate: Certificate) -> list[str]:
    """Sensitive columns that are released as they were when groups were formed."""
    schema = certificate.true_schema
    changed = {column.name for column in schema.noisy}
    changed |= {column.name for column in schema.columns if column.drawn}
    return [c.name for c in schema.columns if c.role is Role.SENSITIVE and c.name not in changed]


def _within(total: pa.Table, keys: int) -> tuple[int, float]:
    """The fewest values of a combination of keys, and the largest distance of one to all."""
    if not len(total):
        return 0, 0.0
    codes = [codes_of(total.column(at))[0] for at in range(keys)]
    group = joint_groups(codes) if codes else np.zeros(len(total), np.int64)
    value, missing, ordered = codes_of(total.column(keys))
    counts = np.asarray(total.column(COUNT), dtype=np.float64)
    present = np.bincount(group, weights=value != missing)  # each value of a group has one row
    share = counts / np.bincount(group, weights=counts)[group]
    overall = np.bincount(value, weights=counts) / counts.sum()
    far: FloatArray = distance_of_groups(group, value, share, overall, ordered=ordered)
    return int(present.min()), float(far.max(initial=0.0))


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
            some = batch.select([REPORTED, *self.columns]).slice(0, left)
            self._batches.append(some)
            self._records += some.num_rows

    def checks(self) -> Iterator[Check]:
        """One a column beside."""
        if not self._records:
            return
        table = pa.Table.from_batches(self._batches).unify_dictionaries()
        sets = _codes(table.column(REPORTED))
        for name in self.columns:
            counts = _crossed(sets, _codes(table.column(name)))
            statistic, degrees = _chi_square(counts)
            good = chi_square_tail(statistic, degrees) > LEVEL / len(self.columns)
            words = "do not depend on it" if good else "depend on it: they were not drawn by chance"
            yield Check.decided(f"sets beside {name}", good, f"the sets asked for {words}")


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


def copies_checked(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """One check a copy: every byte, and then every value beside that of the data file."""
    for copy in certificate.copies:
        name = f"copy {copy.name}"
        try:
            same = fingerprint(file_path(folder, copy), copy.format) == copy
            detail = "" if same else "does not have the SHA-256 that the certificate states"
            if same and not _same_records(folder, certificate, copy):
                same, detail = False, "holds other records than the data file"
        except PramanaError as error:
            same, detail = False, str(error)
        yield Check.decided(name, same, detail or "the same records in the same order")


def _same_records(folder: Path, certificate: Certificate, copy: DataFile) -> bool:
    pairs = zip_longest(
        _groups(open_data(folder, certificate)), _groups(open_data(folder, certificate, copy))
    )
    for data, other in pairs:
        if data is None or other is None or data.column_names != other.column_names:
            return False
        try:
            require_same(data, other, copy.format)
        except PramanaError:
            return False
    return True


def _groups(opened: OpenedTable) -> Iterator[pa.Table]:
    return in_groups(opened.batches(), opened.schema)
