"""What ties the keys to the other columns, and how much of it a release has lost.

Tables of keys alone say little about a method that hands keys round: it keeps them all and cuts the
tie to everything else. So each key is also asked for together with each column that is released as
it is: a table where that has few values, the mean by key where it is a number with many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pramana.errors import PramanaError
from pramana.readings.base import Asked
from pramana.readings.release import Release
from pramana.release.told import SILENT, told_codes
from pramana.risk.coded_table import code_column
from pramana.table.codec import encode
from pramana.table.domains import Bins, label_text
from pramana.table.opened import OpenedTable, is_number
from pramana.table.schema import Column, Role
from pramana.types import Codes, FloatArray, Form

__all__ = ["TieLoss", "lost_ties"]

FEW_VALUES = 20
MOST_TIES = 24
"""So many pairs of a key and another column are looked at, the first in the order of the schema."""


@dataclass(frozen=True)
class TieLoss:
    """One key with one column that is released as it is.

    Attributes:
        key: the key.
        column: the other column.
        kind: ``table``, or ``mean`` of the column by the key.
        loss: of a table the share of records in the wrong cell; of means how far they are off,
            averaged over the records, as a share of the column's mean distance from its mean.
        estimated: whether the release could be asked for it; else it was taken at face value.
    """

    key: str
    column: str
    kind: Literal["table", "mean"]
    loss: float
    estimated: bool

    def to_json(self) -> Form:
        """A plain form."""
        return vars(self)


def lost_ties(release: Release, truth: OpenedTable) -> tuple[TieLoss, ...]:
    """Every key that has a domain with every other column that is no weight."""
    schema = release.certificate.schema
    keys = [column for column in schema.randomised if column.domain is not None]
    kept = release.certificate.as_they_are
    others = [column for column in kept if column.role is not Role.WEIGHT]
    pairs = [(key, other) for other in others for key in keys][:MOST_TIES]
    found = []
    for key, other in pairs:
        tie = _Tie.of(release, truth, key, other)
        if tie is not None:
            found.append(tie.lost(release))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Tie:
    """Codes of a key and values of a column, before and after."""

    key: Column
    column: str
    codes: tuple[Codes, Codes]
    values: tuple[pa.ChunkedArray, pa.ChunkedArray]

    @classmethod
    def of(cls, release: Release, truth: OpenedTable, key: Column, other: Column) -> _Tie | None:
        before, after = (t.to_arrow([key.name, other.name]) for t in (truth, release.opened))
        own, theirs = _alike(before.column(other.name), after.column(other.name), other)
        told = told_codes(release.certificate.mechanism, key, release.opened)
        if not release.certificate.nature.whole:  # at face value, those who tell the key
            theirs, told = theirs.filter(pa.array(told != SILENT)), told[told != SILENT]
        codes = encode(key, before.column(key.name)), told
        tie = cls(key, other.name, codes, (own, theirs))
        return tie if is_number(own.type) or tie.size <= FEW_VALUES else None

    @property
    def size(self) -> int:
        return code_column(self.values[0])[1]

    def lost(self, release: Release) -> TieLoss:
        if self.size <= FEW_VALUES:
            return self._lost_table(release)
        return self._lost_means(release)

    def _lost_table(self, release: Release) -> TieLoss:
        both = pa.chunked_array([*self.values[0].chunks, *self.values[1].chunks])
        values, size, _ = code_column(both)
        rows = len(self.codes[0])
        truth = self._shares(self.codes[0], values[:rows], size)
        estimated = True
        try:
            by = (self.key.name, self.column)
            asked = Asked(by, weighted=False)
            table = release.reading.counts(asked, method="auto", share=True)
            found = self._aligned(table.labels[1], np.asarray(table.estimate), both, values, size)
        except PramanaError:
            estimated, found = False, self._shares(self.codes[1], values[rows:], size)
        loss = float(np.abs(truth - found).sum()) / 2
        return TieLoss(self.key.name, self.column, "table", min(loss, 1.0), estimated)

    def _shares(self, codes: Codes, values: Codes, size: int) -> FloatArray:
        cells = codes.astype(np.int64) * size + values
        counts = np.bincount(cells, minlength=len(self.key.labels) * size)
        return np.asarray(counts.reshape(-1, size) / max(len(codes), 1), dtype=np.float64)

    def _aligned(
        self,
        labels: tuple[Any, ...],
        estimate: FloatArray,
        both: pa.ChunkedArray,
        values: Codes,
        size: int,
    ) -> FloatArray:
        """The estimate in the order of our codes."""
        first = np.zeros(size, np.int64)
        first[values[::-1]] = np.arange(len(values) - 1, -1, -1)
        ours = [label_text(value.as_py()) for value in both.take(pa.array(first))]
        place = {label_text(label): at for at, label in enumerate(labels)}
        found = np.zeros((len(self.key.labels), size))
        for at, text in enumerate(ours):
            if text in place:
                found[:, at] = estimate[:, place[text]]
        return found

    def _lost_means(self, release: Release) -> TieLoss:
        own, theirs = (_numbers(values) for values in self.values)
        size = len(self.key.labels)
        truth, weight = _means(self.codes[0], own, size)
        estimated = True
        try:
            asked = release.mean(self.column, by=[self.key.name], weighted=False)
            found = np.asarray(asked.estimate, dtype=np.float64).ravel()
            if found.shape != truth.shape:
                raise PramanaError("other groups")
        except PramanaError:
            estimated, found = False, _means(self.codes[1], theirs, size)[0]
        spread = float(np.nanmean(np.abs(own - np.nanmean(own)))) or 1.0
        off = np.minimum(np.nan_to_num(np.abs(found - truth) / spread, nan=1.0), 1.0)
        loss = float((weight * off).sum())
        return TieLoss(self.key.name, self.column, "mean", loss, estimated)


def _alike(
    own: pa.ChunkedArray, theirs: pa.ChunkedArray, column: Column
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """The truth as it would have been released: in bins where these leave by their labels."""
    domain = column.domain
    if own.type == theirs.type:
        return own, theirs
    if isinstance(domain, Bins) and domain.release == "label":
        own = pa.chunked_array([pa.array(column.labels).take(pa.array(encode(column, own)))])
    if is_number(own.type) and is_number(theirs.type):
        return own.cast(pa.float64(), safe=False), theirs.cast(pa.float64(), safe=False)
    return own.cast(pa.string()), theirs.cast(pa.string())


def _numbers(values: pa.ChunkedArray) -> FloatArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)


def _means(codes: Codes, values: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """The mean of each level, and the share of the records that it has."""
    known = ~np.isnan(values)
    count = np.bincount(codes[known], minlength=size).astype(np.float64)
    total = np.bincount(codes[known], values[known], minlength=size)
    means = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
    return means, count / max(count.sum(), 1.0)
