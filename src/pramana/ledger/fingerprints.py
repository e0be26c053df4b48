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
- *sample*: the values with the smallest digests, all of them where they are not many. Two samples
  tell how much two columns have in common, also if people came or went.

A table has one of its rows: which there are, and how often. Where rows agree, nobody's values have
changed from one column's point of view to another's, which prints of single columns cannot tell.

What they cannot see is said in docs/howto/ledger.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.randomness import splitmix64
from pramana.schema.codec import comparable
from pramana.schema.opened_table import OpenedTable
from pramana.types import Entries, FloatArray, Form, IntArray, Words

SAMPLED = 1024
"""This many values are in a sample; of a column of fewer all are."""

SAMPLE_BYTES = 6
"""Of each digest in a sample: two of a thousand million values hardly ever agree in them."""

MOST_VALUES = 1_000_000
"""Of a column with more values, how often each occurs is not kept."""

FEW = 16
"""Fewer values may well occur as often in tables of other people, and be named as others are."""

DIGITS = 6
"""Broken numbers are the same up to here: single and double precision differ beyond."""

FOLD_AFTER = 16
"""This many batches are kept before they are added up."""

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$"


@dataclass(frozen=True)
class ColumnPrint:
    """The fingerprints of one column, keyed.

    Attributes:
        values: which values it has, and how often.
        shape: how often each value occurs; ``None`` where there are too many.
        telling: whether it has this many values that nothing but the same people has them as often.
        unique: whether most of its values occur once: what two tables share are then people.
        sample: the smallest digests of its values; of a column that was entered by an older
            version and had few values, none.
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
        """Whether one may tell what the other tells of the same people; in doubt it may.

        Where people came or went, columns of few values cannot be told apart. Where none did, codes
        of a few values say nothing by themselves (1 and 2 may be anything): how often they occur
        does.
        """
        if self.values == other.values or self.shape == other.shape:
            return True
        if len(self.sample) < FEW and len(other.sample) < FEW and self.sample and other.sample:
            return not same_records
        # One of very many values and one of a few, of which none can be compared, are two things;
        # unless both are a person's own: then one may be of a small part of the people.
        return self.overlaps(other, in_doubt=self.unique and other.unique)

    def overlaps(self, other: ColumnPrint, *, in_doubt: bool) -> bool:
        """Whether they have half of their values in common, as far as the samples tell."""
        if not self.sample or not other.sample:
            return True  # an older entry: nobody can tell
        full = [one.sample[-1] for one in (self, other) if len(one.sample) >= SAMPLED]
        last = min(full, default=2 ** (8 * SAMPLE_BYTES))  # beyond it, one sample says nothing
        own = {word for word in self.sample if word <= last}
        others = {word for word in other.sample if word <= last}
        fewer = min(len(own), len(others))
        return in_doubt if fewer == 0 else 2 * len(own & others) >= fewer

    def to_json(self) -> Form:
        """As JSON."""
        return {
            "values": self.values,
            "shape": self.shape,
            "telling": self.telling,
            "unique": self.unique,
            "sample": base64.b64encode(
                b"".join(word.to_bytes(SAMPLE_BYTES, "big") for word in self.sample)
            ).decode(),
        }

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
        columns: of each column, by name; lists and structures have none.
        rows: which rows there are, and how often, with the names of the columns.
        beside: the same of rows with one more column of which everybody has another value, by
            that column's name: where it agrees, nobody has exchanged a row with anybody.
        own: such columns. Numbers in equal steps are none, since any table can be numbered anew.
    """

    columns: Mapping[str, ColumnPrint]
    rows: str
    beside: Mapping[str, str]
    own: tuple[str, ...]


def table_prints(
    opened: OpenedTable,
    names: Sequence[str] | None = None,
    *,
    key: bytes,
    beside: Sequence[str] = (),
) -> TablePrints:
    """The fingerprints of a table, or of some columns of it.

    Args:
        opened: the table.
        names: the columns that make up a row; all where not given.
        key: without it nothing is told.
        beside: columns to look at beside such rows, one by one.
    """
    names = opened.schema.names if names is None else names
    flat = sorted(n for n in names if not pa.types.is_nested(opened.schema.field(n).type))
    whole = _TableDigests(key, flat, beside)
    wanted = list(dict.fromkeys([*flat, *beside]))
    for part in opened.summaries(partial(_read, key, tuple(flat), tuple(beside)), wanted):
        whole.merge(part)
    return whole.printed()


def _read(
    key: bytes, names: Sequence[str], beside: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> _TableDigests:
    found = _TableDigests(key, names, beside)
    for batch in batches:
        found.add(batch)
    return found


class _TableDigests:
    """The digests of columns and of rows, batch by batch."""

    def __init__(self, key: bytes, names: Sequence[str], beside: Sequence[str]) -> None:
        self._key = key
        self._columns = {name: _Column(key) for name in dict.fromkeys([*names, *beside])}
        self._names = tuple(names)
        self._rows = np.zeros(1, dtype=np.uint64)
        self._beside = {name: np.zeros(1, dtype=np.uint64) for name in beside}
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
        for name, total in self._beside.items():
            total += splitmix64(rows ^ words[name]).sum(dtype=np.uint64)

    def merge(self, other: _TableDigests) -> None:
        """All that another one has seen."""
        for name, one in self._columns.items():
            one.merge(other._columns[name])
        self._rows += other._rows
        self._records += other._records
        for name, total in self._beside.items():
            total += other._beside[name]

    def printed(self) -> TablePrints:
        """The fingerprints of all that was added."""
        columns = {name: one.printed(name) for name, one in self._columns.items()}
        own = tuple(name for name, one in self._columns.items() if one.own)
        told = {name: total for name, total in self._beside.items() if name in own}
        return TablePrints(
            columns,
            self._keyed("rows", self._rows),
            {name: self._keyed("beside", total) for name, total in told.items()},
            own,
        )

    def _keyed(self, what: str, total: Words) -> str:
        spelled = "\0".join([what, str(self._records), str(int(total[0])), *self._names])
        return hmac.new(self._key, spelled.encode(), hashlib.sha256).hexdigest()


class _Column:
    """Digests of the values of one column with how often they occur, batch by batch."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._parts: list[tuple[Words, Words]] = []
        self._many = False
        self._least: Words = np.zeros(0, dtype=np.uint64)
        self._sum = np.zeros(1, dtype=np.uint64)
        self._records = 0
        self._numbers = _Numbers()

    def add(self, values: pa.Array) -> Words:
        """The values of one batch; gives a digest of each that forgives no spelling.

        A column is known again however it is spelled. Whether two releases show the same is another
        question: what one of them tells apart must count as different.
        """
        coded = pc.dictionary_encode(comparable(values), null_encoding="encode")
        texts, numbers = _told_apart(coded.dictionary)
        words = _digests(_spelled(texts, numbers), self._key)
        places: IntArray = coded.indices.to_numpy()
        self._keep(words, np.bincount(places, minlength=len(words)).astype(np.uint64))
        self._numbers = self._numbers.with_values(texts, numbers)
        exact: Words = _digests(_exactly(coded.dictionary), self._key)[places]
        return exact

    def merge(self, other: _Column) -> None:
        """All that another one has seen."""
        self._sum += other._sum
        self._records += other._records
        self._numbers = self._numbers.beside(other._numbers)
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
            sample=tuple(int(word) >> (64 - 8 * SAMPLE_BYTES) for word in self._least),
        )

    @property
    def own(self) -> bool:
        """Whether everybody has another value, as far as it was counted, and no mere number."""
        if self._many or len(self._total()[0]) < self._records:
            return False
        return not self._numbers.count_up(self._records)

    def _distinct(self, counted: int) -> float:
        """How many values there are, estimated from the smallest digests where they are many."""
        if not self._many:
            return counted
        return (SAMPLED - 1) * 2.0**64 / float(self._least[-1])

    def _keyed(self, what: bytes, content: bytes) -> str:
        return hmac.new(self._key, what + b"\0" + content, hashlib.sha256).hexdigest()


def _spelled(texts: pa.Array, numbers: FloatArray) -> list[bytes]:
    """Each value in one spelling, whatever its type; missing is a value too."""
    spelled = [
        b"missing" if text is None else b"text " + text
        for text in texts.cast(pa.binary()).to_pylist()
    ]
    for place in np.flatnonzero(~np.isnan(numbers)):
        spelled[place] = b"number " + numbers[place].tobytes()
    return spelled


def _exactly(values: pa.Array) -> list[bytes]:
    """Each value as it is: letters of two sizes, blanks and all digits count; 1 and 1.0 are one."""
    return [
        b"missing" if value is None or value != value  # not a number
        else b"exact " + (value if isinstance(value, bytes) else _text_of(value).encode())
        for value in values.to_pylist()
    ]  # fmt: skip


def _text_of(value: object) -> str:
    """A value in letters; a whole number as its digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _digests(spelled: list[bytes], key: bytes) -> Words:
    """A keyed word for each value."""
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
        found = np.where(np.isnan(numbers), inside, numbers) * 1000
        whole = np.rint(found[np.abs(found) < 2.0**62]).astype(np.int64)
        if not len(whole):
            return self
        step = int(np.gcd.reduce(whole - whole[0]))
        return self.beside(_Numbers(int(whole.min()), int(whole.max()), step))

    def beside(self, other: _Numbers) -> _Numbers:
        """Those of both."""
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


def _rounded(numbers: FloatArray) -> FloatArray:
    """Whole numbers as they are, others to some digits, with one zero."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(numbers))))
        near = np.rint(numbers * size) / size
    broken = np.isfinite(near) & (numbers != np.rint(numbers))
    return np.where(broken, near, numbers) + 0.0
