"""Keyed fingerprints by which a table and its columns are recognised.

With a digest without a key, a reader of the ledger could test guesses: write down a table
with one value left open, and see which value gives the digest. Keyed (HMAC-SHA256) it says nothing
without the key, which is in a separate file: the ledger may be shown to an auditor, the key may
not.

No fingerprint depends on the name of the column, the order of the records, or the form of a value:
``01``, ``1`` and ``1.0`` are one value, and so are ``True`` and 1, a date as text and as a date. A
column has three:

- *values*: which values it has, and how often;
- *shape*: how often each value occurs, whichever it is, so that labels may be changed one by one;
- *sample*: the values with the smallest digests, all of them if they are few. Two samples tell how
  much two columns have in common, also if people came or went.

A table has one of its rows: which there are, and how often. If rows agree, nobody's values have
changed in one column relative to another, which fingerprints of single columns cannot tell.

Their limits are in docs/howto/ledger.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.randomness import splitmix64
from pramana.base.text import json_fields
from pramana.schema.codec import comparable
from pramana.schema.opened_table import OpenedTable
from pramana.types import Entries, FloatArray, Form, IntArray, Words

SAMPLED = 1024
"""The most values in a sample."""

SAMPLE_BYTES = 6
"""Bytes of each digest in a sample: two of a thousand million values hardly ever agree in them."""

MOST_VALUES = 1_000_000
"""The frequencies of columns with more values are not stored."""

FEW = 16
"""Fewer values may well have the same frequencies and names in tables of other people."""

DIGITS = 6
"""Digits in which fractions are compared: single and double precision differ beyond."""

FOLD_AFTER = 16
"""Batches that are kept before they are added up."""

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$"


@dataclass(frozen=True)
class ColumnPrint:
    """The fingerprints of one column, keyed.

    Attributes:
        values: which values it has, and how often.
        shape: how often each value occurs; ``None`` if there are too many.
        telling: whether its values are so numerous that only the same people have them equally
            often.
        unique: whether most of its values occur once: what two tables share are then people.
        sample: the smallest digests of its values.
    """

    values: str
    shape: str | None
    telling: bool
    unique: bool
    sample: tuple[int, ...]

    def same_people(self, other: ColumnPrint) -> bool:
        """Whether only the same people can have both, or nearly so."""
        if self.telling and self.values == other.values:
            return True
        return self.unique and other.unique and self.overlaps(other, in_doubt=False)

    def like(self, other: ColumnPrint, *, same_records: bool) -> bool:
        """Whether both may hold the same of the same people; in doubt they do.

        If people came or went, columns of few values cannot be distinguished. If none did, codes
        of a few values say nothing by themselves (1 and 2 may be anything): their frequencies do.
        """
        if self.values == other.values or self.shape == other.shape:
            return True
        if len(self.sample) < FEW and len(other.sample) < FEW:
            return not same_records
        # One of very many values and one of a few, of which none can be compared, are different;
        # unless both are a person's own: then one may be of a small part of the people.
        return self.overlaps(other, in_doubt=self.unique and other.unique)

    def overlaps(self, other: ColumnPrint, *, in_doubt: bool) -> bool:
        """Whether they have half of their values in common, as far as the samples tell."""
        full = [one.sample[-1] for one in (self, other) if len(one.sample) >= SAMPLED]
        last = min(full, default=2 ** (8 * SAMPLE_BYTES))  # beyond it, one sample says nothing
        samples = [{word for word in one.sample if word <= last} for one in (self, other)]
        fewer = min(map(len, samples))
        return in_doubt if fewer == 0 else 2 * len(samples[0] & samples[1]) >= fewer

    def to_json(self) -> Form:
        """As JSON."""
        sample = b"".join(word.to_bytes(SAMPLE_BYTES, "big") for word in self.sample)
        return json_fields(self) | {"sample": base64.b64encode(sample).decode()}

    @classmethod
    def from_json(cls, form: Entries) -> ColumnPrint:
        """The reverse of :meth:`to_json`."""
        parts = {name: form[name] for name in cls.__dataclass_fields__ if name != "sample"}
        content = base64.b64decode(form["sample"], validate=True)
        starts = range(0, len(content), SAMPLE_BYTES)
        sample = (int.from_bytes(content[at : at + SAMPLE_BYTES], "big") for at in starts)
        return cls(**parts, sample=tuple(sample))


@dataclass(frozen=True)
class TablePrints:
    """The fingerprints of a table, keyed.

    Attributes:
        columns: the fingerprints of each column, by name; lists and structures have none.
        rows: which rows there are, and how often, with the names of the columns.
        with_distinct: the same of rows with one more column of which everybody has another
            value, by that column's name: if it agrees, nobody has exchanged a row with anybody.
        distinct: such columns, without numbers in equal steps: any table can be numbered anew.
    """

    columns: Mapping[str, ColumnPrint]
    rows: str
    with_distinct: Mapping[str, str]
    distinct: tuple[str, ...]


def table_prints(
    opened: OpenedTable,
    names: Sequence[str] | None = None,
    *,
    key: bytes,
    extra: Sequence[str] = (),
) -> TablePrints:
    """The fingerprints of a table, or of some columns of it.

    Args:
        opened: the table.
        names: the columns that make up a row; all if not given.
        key: of the ledger.
        extra: columns to combine with such rows, one by one.
    """
    names = opened.schema.names if names is None else names
    flat = sorted(n for n in names if not pa.types.is_nested(opened.schema.field(n).type))

    def read(batches: Iterable[pa.RecordBatch]) -> _TableDigests:
        part = _TableDigests(key, flat, extra)
        for batch in batches:
            part.add(batch)
        return part

    whole = _TableDigests(key, flat, extra)
    for part in opened.summaries(read, list(dict.fromkeys([*flat, *extra]))):
        whole.merge(part)
    return whole.printed()


class _TableDigests:
    """The digests of columns and of rows, batch by batch."""

    def __init__(self, key: bytes, names: Sequence[str], extra: Sequence[str]) -> None:
        self._key = key
        self._columns = {name: _Column(key) for name in dict.fromkeys([*names, *extra])}
        self._names = tuple(names)
        self._rows = np.zeros(1, dtype=np.uint64)
        self._rows_with = {name: np.zeros(1, dtype=np.uint64) for name in extra}
        self._records = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """The rows of one batch."""
        words = {
            name: one.add(batch.column(batch.schema.get_field_index(name)))
            for name, one in self._columns.items()
        }
        rows = np.zeros(batch.num_rows, dtype=np.uint64)
        for name in self._names:
            rows = splitmix64(rows ^ words[name])
        self._records += batch.num_rows
        self._rows += rows.sum(dtype=np.uint64)
        for name, total in self._rows_with.items():
            total += splitmix64(rows ^ words[name]).sum(dtype=np.uint64)

    def merge(self, other: _TableDigests) -> None:
        """All that another one has seen."""
        for name, one in self._columns.items():
            one.merge(other._columns[name])
        self._rows += other._rows
        self._records += other._records
        for name, total in self._rows_with.items():
            total += other._rows_with[name]

    def printed(self) -> TablePrints:
        """The fingerprints of all that was added."""
        columns = {name: one.printed(name) for name, one in self._columns.items()}
        distinct = tuple(name for name, one in self._columns.items() if one.distinct)
        totals = {name: total for name, total in self._rows_with.items() if name in distinct}
        return TablePrints(
            columns,
            self._keyed("rows", self._rows),
            {name: self._keyed("beside", total) for name, total in totals.items()},
            distinct,
        )

    def _keyed(self, what: str, total: Words) -> str:
        spelled = "\0".join([what, str(self._records), str(int(total[0])), *self._names])
        return hmac.new(self._key, spelled.encode(), hashlib.sha256).hexdigest()


class _Column:
    """Digests of the values of one column with how often they occur, batch by batch."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        nothing: Words = np.zeros(0, dtype=np.uint64)
        self._parts = [(nothing, nothing)]
        self._many = False
        self._least = nothing
        self._sum = np.zeros(1, dtype=np.uint64)
        self._records = 0
        self._numbers = _Numbers()

    def add(self, values: pa.Array) -> Words:
        """Add a batch; a digest of each value that depends on its exact form.

        A column is recognised in any form. Whether two releases show the same is another
        question: what one of them distinguishes must count as different.
        """
        coded = pc.dictionary_encode(comparable(values), null_encoding="encode")
        texts, numbers = _normalised(coded.dictionary)
        forms = [
            b"missing" if text is None else b"text " + text
            for text in texts.cast(pa.binary()).to_pylist()
        ]
        for place in np.flatnonzero(~np.isnan(numbers)):
            forms[place] = b"number " + numbers[place].tobytes()
        words = _digests(forms, self._key)
        places: IntArray = coded.indices.to_numpy()
        counts = np.bincount(places, minlength=len(words)).astype(np.uint64)
        self._sum += (words * counts).sum(dtype=np.uint64)
        self._records += len(places)
        self._numbers = self._numbers.with_values(texts, numbers)
        self._keep([(words, counts)], words)
        exact: Words = _digests(_exactly(coded.dictionary), self._key)[places]
        return exact

    def merge(self, other: _Column) -> None:
        """All that another one has seen."""
        self._sum += other._sum
        self._records += other._records
        self._numbers = self._numbers.merged(other._numbers)
        self._many |= other._many
        self._keep(other._parts, other._least)

    def _keep(self, parts: Sequence[tuple[Words, Words]], words: Words) -> None:
        """Keep parts of the counts, and the smallest digests."""
        self._least = np.unique(np.concatenate([self._least, words]))[:SAMPLED]
        self._parts += parts
        if len(self._parts) > FOLD_AFTER:
            self._total()

    def _total(self) -> tuple[Words, Words]:
        """The digests that occur and how often, where they are not too many."""
        words, counts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        distinct, places = np.unique(words, return_inverse=True)
        total = np.zeros(len(distinct), dtype=np.uint64)
        np.add.at(total, places, counts)
        self._many |= len(distinct) > MOST_VALUES
        self._parts = [(distinct[:0], total[:0]) if self._many else (distinct, total)]
        return self._parts[0]

    def printed(self, name: str) -> ColumnPrint:
        """The fingerprints of all that was added."""
        counts = np.sort(self._total()[1])
        distinct = float(len(counts))
        if self._many:  # estimated from the smallest digests
            distinct = (SAMPLED - 1) * 2.0**64 / float(self._least[-1])
        # A column of one value distinguishes nobody: it is like no other one.
        alone = name.encode() if distinct == 1 else b""
        records = self._records.to_bytes(8, "little")
        return ColumnPrint(
            values=self._keyed(b"values", alone + records + self._sum.tobytes()),
            shape=None if self._many else self._keyed(b"shape", alone + counts.tobytes()),
            telling=distinct >= FEW,
            unique=2 * distinct > self._records,
            sample=tuple(int(word) >> (64 - 8 * SAMPLE_BYTES) for word in self._least),
        )

    @property
    def distinct(self) -> bool:
        """Whether everybody has another value, as far as it was counted, and no mere number."""
        if self._many or len(self._total()[0]) < self._records:
            return False
        return not self._numbers.count_up(self._records)

    def _keyed(self, what: bytes, content: bytes) -> str:
        return hmac.new(self._key, what + b"\0" + content, hashlib.sha256).hexdigest()


def _exactly(values: pa.Array) -> list[bytes]:
    """Each value as it is: case, blanks and all digits count; 1 and 1.0 are one."""
    forms = []
    for value in values.to_pylist():
        if value is None or value != value:  # not a number
            forms.append(b"missing")
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        forms.append(b"exact " + (value if isinstance(value, bytes) else str(value).encode()))
    return forms


def _digests(forms: list[bytes], key: bytes) -> Words:
    """A keyed word for each value."""
    keyed = hashlib.blake2b(digest_size=8, key=key)
    words = []
    for content in forms:
        digest = keyed.copy()
        digest.update(content)
        words.append(digest.digest())
    return np.frombuffer(b"".join(words), dtype=np.uint64)


def _normalised(values: pa.Array) -> tuple[pa.Array, FloatArray]:
    """The values as text in one form, and those that are numbers as numbers, ``nan`` otherwise.

    Lower case, without blanks around; a time without its zeros; an empty text is missing.
    """
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        texts, numbers = pa.nulls(len(values), pa.string()), values
    else:
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            values = pa.array([value and value.hex() for value in values.to_pylist()], pa.string())
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(values.cast(pa.string())))
        for pattern, instead in SPELLINGS:
            texts = pc.replace_substring_regex(texts, pattern, instead)
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        numbers = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, None)
    exact = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):  # whole numbers as they are, others to some digits
        size = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(exact))))
        near = np.rint(exact * size) / size
    fraction = np.isfinite(near) & (exact != np.rint(exact))
    return texts, np.where(fraction, near, exact) + 0.0  # with one zero


SPELLINGS = (
    (r"^true$", "1"),
    (r"^false$", "0"),
    (r"^nan$", ""),
    (r"^(\d{4}-\d{2}-\d{2})t", r"\1 "),
    (r"^(\d{4}-\d{2}-\d{2}.*\d{2}:\d{2}:\d{2})\.0+", r"\1"),
    (r"^(\d{4}-\d{2}-\d{2}) 00:00:00z?$", r"\1"),
)
"""Truth values as numbers, times with as little as they need."""


@dataclass(frozen=True)
class _Numbers:
    """First and last of the numbers in a column, in thousandths, and what divides all distances."""

    first: int | None = None
    last: int = 0
    step: int = 0

    def with_values(self, texts: pa.Array, numbers: FloatArray) -> _Numbers:
        """With more values; of a text its digits count, whatever letters stand around them."""
        digits = pc.replace_substring_regex(texts, r"\D", "")
        short = pc.if_else(pc.equal(digits, ""), None, pc.utf8_slice_codeunits(digits, 0, 15))
        inside = short.cast(pa.float64()).to_numpy(zero_copy_only=False)
        scaled = np.where(np.isnan(numbers), inside, numbers) * 1000
        whole = np.rint(scaled[np.abs(scaled) < 2.0**62]).astype(np.int64)
        if not len(whole):
            return self
        step = int(np.gcd.reduce(whole - whole[0]))
        return self.merged(_Numbers(int(whole.min()), int(whole.max()), step))

    def merged(self, other: _Numbers) -> _Numbers:
        """The numbers of both."""
        if self.first is None or other.first is None:
            return other if self.first is None else self
        step = math.gcd(self.step, other.step, self.first - other.first)
        return _Numbers(min(self.first, other.first), max(self.last, other.last), step)

    def count_up(self, records: int) -> bool:
        """Whether this many records may just have been numbered, in steps of any size.

        Half of the numbers may have been left out since.
        """
        if self.first is None:
            return False
        return self.last - self.first < 2 * records * max(self.step, 1)
