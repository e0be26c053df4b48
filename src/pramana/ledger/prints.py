"""By what a table and its columns are known again: keyed fingerprints of each column.

A plain digest of a column would let whoever reads the ledger try out guesses: write down a table
with one value left open, and see which value gives the digest. Keyed (HMAC-SHA256) it says nothing
without the key, which lies in a file of its own: the ledger may be shown to an auditor, the key
may not.

No fingerprint knows the name of its column, the order of the records, or how a value is spelled:
``01``, ``1`` and ``1.0`` are one value, and so are ``True`` and 1, a date as text and as a date. A
column has three:

- *values*: which values it has, and how often;
- *shape*: how often each value occurs, whichever it is, so that labels may be changed one by one;
- *sample*: some of the values, where there are many: those with the smallest digests. Two samples
  tell how much two columns have in common, also if people came or went.

What they cannot see is said in docs/howto/ledger.md.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.table.alike import comparable
from pramana.table.opened import OpenedTable
from pramana.types import FloatArray, Words

__all__ = ["ColumnPrint", "column_prints"]

SAMPLED = 128
"""So many values are in a sample; a column of fewer has none."""

MOST_VALUES = 1_000_000
"""Of a column with more values, how often each occurs is not kept."""

FEW = 16
"""Columns of fewer values may well occur as often in tables of other people."""

DIGITS = 6
"""Broken numbers are the same up to here: single and double precision differ beyond."""

FOLD_AFTER = 16
"""So many batches are kept before they are added up."""

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$"


@dataclass(frozen=True)
class ColumnPrint:
    """The fingerprints of one column, keyed.

    Attributes:
        values: which values it has, and how often.
        shape: how often each value occurs; ``None`` where there are too many.
        telling: whether it has so many values that nothing but the same people has them as often.
        unique: whether most of its values occur once: what two tables share are then people.
        sample: of its values; empty where there are few.
    """

    values: str
    shape: str | None
    telling: bool
    unique: bool
    sample: tuple[str, ...]

    def same_people(self, other: ColumnPrint) -> bool:
        """Whether only the same people can have both, or nearly so."""
        if self.telling and self.values == other.values:
            return True
        return self.unique and other.unique and self.overlaps(other)

    def like(self, other: ColumnPrint, *, same_records: bool) -> bool:
        """Whether one may tell what the other tells of the same people; in doubt it may.

        Where people came or went, columns of few values cannot be told apart.
        """
        if self.values == other.values or self.shape == other.shape:
            return True
        if not self.sample and not other.sample:
            return not same_records
        return self.overlaps(other)

    def overlaps(self, other: ColumnPrint) -> bool:
        """Whether they have half of their values in common, as far as the samples tell."""
        if not self.sample or not other.sample:
            return False
        last = min(self.sample[-1], other.sample[-1])  # beyond it, one sample says nothing
        own = {word for word in self.sample if word <= last}
        others = {word for word in other.sample if word <= last}
        return 2 * len(own & others) >= max(1, min(len(own), len(others)))

    def to_json(self) -> dict[str, Any]:
        """A plain form."""
        return {
            "values": self.values,
            "shape": self.shape,
            "telling": self.telling,
            "unique": self.unique,
            "sample": list(self.sample),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> ColumnPrint:
        """The reverse of :meth:`to_json`."""
        parts = {name: form[name] for name in cls.__dataclass_fields__ if name != "sample"}
        return cls(**parts, sample=tuple(form["sample"]))


def column_prints(opened: OpenedTable, *, key: bytes) -> dict[str, ColumnPrint]:
    """The fingerprints of all columns of a table, by name; lists and structures have none."""
    names = [item.name for item in opened.schema if not pa.types.is_nested(item.type)]
    whole = {name: _Column(key) for name in names}
    for part in opened.summaries(partial(_read, key, tuple(names)), names):
        for name, one in part.items():
            whole[name].merge(one)
    return {name: one.printed(name) for name, one in whole.items()}


def _read(
    key: bytes, names: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> dict[str, _Column]:
    found = {name: _Column(key) for name in names}
    for batch in batches:
        for name, one in found.items():
            one.add(batch.column(batch.schema.get_field_index(name)))
    return found


class _Column:
    """Digests of the values of one column with how often they occur, batch by batch."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._parts: list[tuple[Words, Words]] = []
        self._many = False
        self._least: Words = np.zeros(0, dtype=np.uint64)
        self._sum = np.zeros(1, dtype=np.uint64)
        self._records = 0

    def add(self, values: pa.Array) -> None:
        """The values of one batch."""
        counted = pc.value_counts(comparable(values))
        words = _digests(counted.field(0), self._key)
        self._keep(words, counted.field(1).to_numpy().astype(np.uint64))

    def merge(self, other: _Column) -> None:
        """All that another one has seen."""
        self._sum += other._sum
        self._records += other._records
        self._sampled(other._least)
        self._many |= other._many
        self._parts += other._parts
        self._fold()

    def _keep(self, words: Words, counts: Words) -> None:
        self._sum += (words * counts).sum(dtype=np.uint64)
        self._records += int(counts.sum())
        self._sampled(words)
        self._parts.append((words, counts))
        if len(self._parts) > FOLD_AFTER:
            self._fold()

    def _sampled(self, words: Words) -> None:
        self._least = np.unique(np.concatenate([self._least, words]))[:SAMPLED]

    def _fold(self) -> None:
        words, counts = self._total()
        self._many |= len(words) > MOST_VALUES
        self._parts = [] if self._many else [(words, counts)]

    def _total(self) -> tuple[Words, Words]:
        if not self._parts:
            return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64)
        words = np.concatenate([part[0] for part in self._parts])
        counts = np.concatenate([part[1] for part in self._parts])
        found, places = np.unique(words, return_inverse=True)
        total = np.zeros(len(found), dtype=np.uint64)
        np.add.at(total, places, counts)
        return found, total

    def printed(self, name: str) -> ColumnPrint:
        """The fingerprints of all that was added."""
        self._fold()
        counts = np.sort(self._total()[1])
        distinct = self._distinct(len(counts))
        # A column of one value tells nobody apart: it is like no other one.
        alone = name.encode() if distinct == 1 else b""
        shape = None if self._many else self._keyed(b"shape", alone + counts.tobytes())
        records = self._records.to_bytes(8, "little")
        return ColumnPrint(
            values=self._keyed(b"values", alone + records + self._sum.tobytes()),
            shape=shape,
            telling=distinct >= FEW,
            unique=2 * distinct > self._records,
            sample=tuple(f"{word:016x}" for word in self._least) if distinct > SAMPLED else (),
        )

    def _distinct(self, counted: int) -> float:
        """How many values there are, estimated from the smallest digests where they are many."""
        if not self._many:
            return counted
        return (SAMPLED - 1) * 2.0**64 / float(self._least[-1])

    def _keyed(self, what: bytes, content: bytes) -> str:
        return hmac.new(self._key, what + b"\0" + content, hashlib.sha256).hexdigest()


def _digests(values: pa.Array, key: bytes) -> Words:
    """A keyed word for each value, whatever its type and spelling; missing is a value too."""
    texts, numbers = _told_apart(values)
    spelled = [
        b"missing" if text is None else b"text " + text
        for text in texts.cast(pa.binary()).to_pylist()
    ]
    for place in np.flatnonzero(~np.isnan(numbers)):
        spelled[place] = b"number " + numbers[place].tobytes()
    keyed = hashlib.blake2b(digest_size=8, key=key)
    words = []
    for content in spelled:
        one = keyed.copy()
        one.update(content)
        words.append(one.digest())
    return np.frombuffer(b"".join(words), dtype=np.uint64)


def _told_apart(values: pa.Array) -> tuple[pa.Array, FloatArray]:
    """The values as text in one spelling, and those that are numbers as numbers, ``nan`` else."""
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        texts, numbers = pa.nulls(len(values), pa.string()), values
    else:
        texts = _text(values)
        number = pc.match_substring_regex(texts, NUMBER)
        numbers = pc.if_else(number, texts, None)
    exact = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return texts, _rounded(exact)


def _text(values: pa.Array) -> pa.Array:
    """Letters of one size, without blanks around; a time without its zeros; nothing is missing."""
    kind = values.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        values = pa.array([value and value.hex() for value in values.to_pylist()], pa.string())
    text = pc.utf8_lower(pc.utf8_trim_whitespace(values.cast(pa.string())))
    for pattern, instead in SPELLINGS:
        text = pc.replace_substring_regex(text, pattern, instead)
    return pc.if_else(pc.equal(text, ""), None, text)


SPELLINGS = (
    (r"^true$", "1"),
    (r"^false$", "0"),
    (r"^nan$", ""),
    (r"^(\d{4}-\d{2}-\d{2})t", r"\1 "),
    (r"^(\d{4}-\d{2}-\d{2}.*\d{2}:\d{2}:\d{2})\.0+", r"\1"),
    (r"^(\d{4}-\d{2}-\d{2}) 00:00:00z?$", r"\1"),
)
"""Truth values as numbers, times with as little as they need."""


def _rounded(numbers: FloatArray) -> FloatArray:
    """Whole numbers as they are, others to some digits, with one zero."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(numbers))))
        near = np.rint(numbers * size) / size
    broken = np.isfinite(near) & (numbers != np.rint(numbers))
    return np.where(broken, near, numbers) + 0.0
