"""What ties the keys to the other columns, and how much of it a release has lost.

Tables of keys alone say little about a method that hands keys round: it keeps them all and cuts the
tie to everything else. So each key is also asked for together with each column that is released as
it is: a table where that has few values, the mean by key where it is a number with many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
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
from pramana.types import BoolArray, Codes, FloatArray, Form

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


def lost_ties(
    release: Release,
    truth: OpenedTable,
    codes: Mapping[str, tuple[Codes, Codes]] | None = None,
) -> tuple[TieLoss, ...]:
    """Every key that has a domain with every other column that is no weight.

    Whoever has the codes of the keys already, before and after, hands them on.
    """
    schema = release.certificate.schema
    keys = [column for column in schema.randomised if column.domain is not None]
    kept = release.certificate.as_they_are
    others = [column for column in kept if column.role is not Role.WEIGHT]
    pairs = [(key, other) for other in others for key in keys][:MOST_TIES]
    columns = {column.name: _Kept.of(release, truth, column) for _, column in pairs}
    codes = codes or {key.name: _codes(release, truth, key) for key, _ in pairs}
    ties = (_Tie(key, columns[other.name], codes[key.name]) for key, other in pairs)
    return tuple(tie.lost(release) for tie in ties if tie.kept.asked_for)


def _codes(release: Release, truth: OpenedTable, key: Column) -> tuple[Codes, Codes]:
    """The codes of a key, before and after."""
    before = encode(key, truth.to_arrow([key.name]).column(0))
    return before, told_codes(release.certificate.mechanism, key, release.opened)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Values of a column that is released as it is, before and after: the same for every key."""

    name: str
    before: pa.ChunkedArray
    after: pa.ChunkedArray

    @classmethod
    def of(cls, release: Release, truth: OpenedTable, column: Column) -> _Kept:
        own, theirs = (t.to_arrow([column.name]).column(0) for t in (truth, release.opened))
        return cls(column.name, *_alike(own, theirs, column))

    @property
    def asked_for(self) -> bool:
        """Whether there are means of it, or a table of few values."""
        return is_number(self.before.type) or self.few

    @cached_property
    def few(self) -> bool:
        return code_column(self.before)[1] <= FEW_VALUES

    @cached_property
    def both(self) -> pa.ChunkedArray:
        return pa.chunked_array([*self.before.chunks, *self.after.chunks])

    @cached_property
    def coded(self) -> tuple[Codes, int]:
        """The codes of both, and how many values they have."""
        codes, size, _ = code_column(self.both)
        return codes, size

    @cached_property
    def texts(self) -> list[str]:
        """The text of each code."""
        values, size = self.coded
        first = np.zeros(size, np.int64)
        first[values[::-1]] = np.arange(len(values) - 1, -1, -1)
        return [label_text(value.as_py()) for value in self.both.take(pa.array(first))]

    @cached_property
    def numbers(self) -> FloatArray:
        return _numbers(self.before)

    @cached_property
    def spread(self) -> float:
        """The mean distance from the mean."""
        return float(np.nanmean(np.abs(self.numbers - np.nanmean(self.numbers)))) or 1.0


@dataclass(frozen=True, eq=False)
class _Tie:
    """Codes of a key, before and after, and a column that is released as it is."""

    key: Column
    kept: _Kept
    codes: tuple[Codes, Codes]

    @property
    def told(self) -> BoolArray:
        """The released records that tell the key: at face value, only those of reports count."""
        return np.asarray(self.codes[1] != SILENT)

    def lost(self, release: Release) -> TieLoss:
        return self._lost_table(release) if self.kept.few else self._lost_means(release)

    def _lost_table(self, release: Release) -> TieLoss:
        values, size = self.kept.coded
        rows = len(self.codes[0])
        truth = self._shares(self.codes[0], values[:rows], size)
        estimated = True
        try:
            by = (self.key.name, self.kept.name)
            asked = Asked(by, weighted=False)
            table = release.reading.counts(asked, method="auto", share=True)
            # of a group that nobody was asked of nothing is told: it lacks all of its records
            found = self._aligned(table.labels[1], np.nan_to_num(table.estimate))
        except PramanaError:
            told = self.told
            estimated = False
            found = self._shares(self.codes[1][told], values[rows:][told], size)
        loss = float(np.abs(truth - found).sum()) / 2
        return TieLoss(self.key.name, self.kept.name, "table", min(loss, 1.0), estimated)

    def _shares(self, codes: Codes, values: Codes, size: int) -> FloatArray:
        cells = codes.astype(np.int64) * size + values
        counts = np.bincount(cells, minlength=len(self.key.labels) * size)
        return np.asarray(counts.reshape(-1, size) / max(len(codes), 1), dtype=np.float64)

    def _aligned(self, labels: tuple[Any, ...], estimate: FloatArray) -> FloatArray:
        """The estimate in the order of our codes."""
        place = {label_text(label): at for at, label in enumerate(labels)}
        found = np.zeros((len(self.key.labels), len(self.kept.texts)))
        for at, text in enumerate(self.kept.texts):
            if text in place:
                found[:, at] = estimate[:, place[text]]
        return found

    def _lost_means(self, release: Release) -> TieLoss:
        size = len(self.key.labels)
        truth, weight = _means(self.codes[0], self.kept.numbers, size)
        estimated = True
        try:
            asked = release.mean(self.kept.name, by=[self.key.name], weighted=False)
            found = np.asarray(asked.estimate, dtype=np.float64).ravel()
            if found.shape != truth.shape:
                raise PramanaError("other groups")
        except PramanaError:
            told, theirs = self.told, _numbers(self.kept.after)
            estimated, found = False, _means(self.codes[1][told], theirs[told], size)[0]
        off = np.minimum(np.nan_to_num(np.abs(found - truth) / self.kept.spread, nan=1.0), 1.0)
        loss = float((weight * off).sum())
        return TieLoss(self.key.name, self.kept.name, "mean", loss, estimated)


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
