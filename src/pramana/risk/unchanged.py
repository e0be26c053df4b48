"""Unchanged columns that undo a release: identifiers in disguise, and columns that give keys away.

A column that is released unchanged and nearly unique names people, whatever happens to the others.
A column from which a randomised one follows makes its randomisation useless. ``protect`` refuses
both, unless the owner accepts the risk of the column. This looks at the original data: nothing of
it is published but the names of the columns that the owner accepted.

How well an unchanged column predicts a randomised one is measured by leaving out one record at a
time: a record is predicted if its value is the most frequent one among the other records that share
its unchanged value. The strength is the share of the errors without the unchanged column that this
avoids (Goodman and Kruskal's lambda).

What a stranger sees: how many records of the original data stand in a release unchanged.

A promise about linking says how sure anyone can be whose record it is. It does not say that records
are changed: a method that hands keys round inside groups may release every record as it was. So the
share is measured, over all released columns and in the values that are released (a number in a bin
counts as its bin), for all records and for those that nobody else in the original data are equal
to.

Each record becomes one number of 64 bits, and the numbers are sorted: seconds for millions of
records. Two different records share a number with a chance of about one in 10^19; of tables beyond
``MOST_RECORDS`` those whose number is small are looked at, the same ones on both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.base.randomness import GOLDEN_GAMMA, splitmix64
from pramana.base.rounding import share_up
from pramana.base.text import as_table, percent_up, plain, quoted
from pramana.errors import NotCovered, OutsideDomain, UnknownColumn
from pramana.schema.codec import comparable, encode, encode_released, flat
from pramana.schema.joint_cells import joint_groups
from pramana.schema.opened_table import OpenedTable, words_of
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.types import Form, IntArray, Words
from pramana.verification.whole_file import SUSPECT, SubsetUniqueness, identifiers, share_alone

PARTS: Final = 8
"""Parts of the table, evenly spaced, that are looked at."""

LOOKED_AT: Final = 2**13
"""Records of each of these parts."""

FEWEST: Final = 200
"""Records below which columns that agree together may do so by chance."""

PAIRED: Final = 12
"""Unchanged columns of which all pairs are tried."""

WIDEST: Final = 4
"""Columns that are taken together."""

WIDENED: Final = 3
"""Pairs, and wider sets, that are widened."""

GIVES_AWAY: Final = 0.9
"""An unchanged column that avoids this share of the errors gives the randomised one away."""


def require_covered(schema: Schema, table: OpenedTable, accepted: Sequence[str] = ()) -> None:
    """Refuse unchanged columns that identify people or give a randomised column away.

    Args:
        schema: the columns and what happens to them.
        table: the original data.
        accepted: unchanged columns whose risk the owner accepts.
    """
    unchanged = {column.name: column for column in schema.released_as_is}
    for name in accepted:
        if name not in unchanged:
            raise UnknownColumn(
                f"The risk of '{name}' cannot be accepted: no column of this name is released "
                f"unchanged. Unchanged are: {', '.join(unchanged) or 'none'}.",
                column=name,
            )
    doubtful = [
        column for column in unchanged.values() if not column.noisy and column.name not in accepted
    ]
    if not doubtful or not table.rows:
        return
    randomised = [column for column in schema.randomised if column.domain is not None]
    sample = _sample(table, [column.name for column in (*doubtful, *randomised)])
    found = identifying(table, sample, [column for column in doubtful if not column.binned])
    if found:
        raise _refused(
            [column.columns[0] for column in found],
            f"{found[0].sentence()} A guarantee for the other columns does not help them.",
            code="identifies",
        )
    for column in doubtful:
        key = given_away(sample, column, randomised)
        if key is not None:
            raise _refused(
                [column.name],
                _gives_away([column.name], key),
                code="gives-away",
                given_away=key,
            )
    for columns, key in given_away_together(sample, doubtful, randomised):
        raise _refused(columns, _gives_away(columns, key), code="gives-away", given_away=key)


def columns_given_away(schema: Schema, table: OpenedTable) -> list[str]:
    """A sentence for each unchanged column that gives a randomised one away; for the owner."""
    unchanged = [column for column in schema.released_as_is if not column.noisy]
    randomised = [column for column in schema.randomised if column.domain is not None]
    if not unchanged or not randomised or not table.rows:
        return []
    sample = _sample(table, [column.name for column in (*unchanged, *randomised)])
    keys = {column.name: given_away(sample, column, randomised) for column in unchanged}
    single = [_gives_away([name], key) for name, key in keys.items() if key is not None]
    rest = [column for column in unchanged if keys[column.name] is None]
    together = given_away_together(sample, rest, randomised)
    return [*single, *(_gives_away(columns, key) for columns, key in together)]


def _gives_away(names: Sequence[str], key: str) -> str:
    known = quoted(names)
    what = f"Column {known} gives" if len(names) == 1 else f"Columns {known} together give"
    return (
        f"{what} the randomised column '{key}' away: '{key}' follows from "
        f"{'it' if len(names) == 1 else 'them'} for nearly everybody."
    )


def _refused(names: Sequence[str], reason: str, *, code: str, **fields: str) -> NotCovered:
    first, *others = names
    more = f" The same holds for {', '.join(others)}." if others and code == "identifies" else ""
    return NotCovered(
        f"{reason}{more} '{first}' would be released unchanged: give it the role identifier (it is "
        f"dropped) or key (it is randomised), or accept the risk with --accept-risk {first}.",
        code=code,
        column=first,
        columns=list(names),
        **fields,
    )


def _sample(table: OpenedTable, names: Sequence[str]) -> pa.Table:
    """Records from evenly spaced parts of a table."""
    records = min(table.rows, PARTS * LOOKED_AT)
    places = [table.rows * part // PARTS for part in range(PARTS)]
    batches, end = list[pa.RecordBatch](), 0
    for part in table.parts(names):
        begin, end = end, end + part.records
        if table.rows > records and not any(begin <= place < end for place in places):
            continue
        batch = part.load()
        batches.append(batch if table.rows == records else batch.slice(0, LOOKED_AT))
    return pa.Table.from_batches(batches)


def identifying(
    table: OpenedTable, sample: pa.Table, columns: Sequence[Column]
) -> tuple[SubsetUniqueness, ...]:
    """The columns that are nearly unique and no amounts."""
    suspects = [c.name for c in columns if share_alone(_words(sample, c.name)) >= SUSPECT]
    return identifiers(table, suspects)


def given_away(sample: pa.Table, column: Column, randomised: Sequence[Column]) -> str | None:
    """The first randomised column that follows from an unchanged one."""
    words = np.unique(_words(sample, column.name), return_inverse=True)[1].astype(np.int64)
    for key in randomised:
        codes = encode(key, sample.column(key.name)).astype(np.int64)
        if avoided_errors(words, codes) >= GIVES_AWAY:
            return key.name
    return None


def given_away_together(
    sample: pa.Table, columns: Sequence[Column], randomised: Sequence[Column]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Unchanged columns from which a randomised one follows together, though from none alone.

    All pairs of the columns with most values in common are tried, and the best are widened.
    """
    if sample.num_rows < FEWEST:
        return
    step = max(1, sample.num_rows // LOOKED_AT)
    some = sample.take(pa.array(range(0, sample.num_rows, step)))
    coded = {
        column.name: np.unique(_words(some, column.name), return_inverse=True)[1].astype(np.int64)
        for column in columns
    }
    shared = [name for name, codes in coded.items() if 0 < codes.max(initial=0) < len(codes) / 2]
    for key in randomised if len(shared) > 1 else ():
        hidden = encode(key, some.column(key.name)).astype(np.int64)
        alone = {name: avoided_errors(coded[name], hidden) for name in shared}
        first = sorted(shared, key=lambda name: -alone[name])[:PAIRED]
        beam: list[tuple[float, tuple[str, ...], IntArray]] = [
            (avoided, pair, groups)
            for pair in itertools.combinations(first, 2)
            if (avoided := avoided_errors(groups := _joined(coded, pair), hidden)) > 0
        ]
        for _ in range(WIDEST - 1):
            beam = sorted(beam, key=lambda own: -own[0])[:WIDENED]
            if beam and beam[0][0] >= GIVES_AWAY:
                yield tuple(sorted(beam[0][1], key=list(coded).index)), key.name
                break
            beam = [
                (avoided_errors(wider, hidden), (*names, name), wider)
                for _, names, groups in beam
                for name in first
                if name not in names
                for wider in (joint_groups([groups, coded[name]]),)
            ]


def _joined(coded: dict[str, IntArray], names: Sequence[str]) -> IntArray:
    return joint_groups([coded[name] for name in names])


def avoided_errors(known: IntArray, hidden: IntArray) -> float:
    """The share of errors in guessing a hidden value that a known one avoids.

    >>> avoided_errors(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1]))
    1.0
    >>> avoided_errors(np.arange(6), np.array([0, 0, 1, 1, 1, 1]))  # nobody shares a value
    -2.0
    """
    size = int(hidden.max(initial=0)) + 1
    cells, counts = np.unique(known * size + hidden, return_counts=True)
    groups = cells // size
    order = np.lexsort((-counts, groups))
    groups, counts = groups[order], counts[order]
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    second = np.append(counts, 0)[np.minimum(first + 1, len(counts))]
    second = np.where(np.diff(np.append(first, len(counts))) > 1, second, 0)
    predicted = int(counts[first][counts[first] - 1 > second].sum())
    guessed = int(np.bincount(hidden).max(initial=0))
    wrong = len(hidden) - guessed
    return (predicted - guessed) / wrong if wrong else 0.0


def _words(sample: pa.Table, name: str) -> Words:
    return np.concatenate([words_of(chunk) for chunk in sample.column(name).chunks])


MOST_RECORDS = 20_000_000

BYTES = 2**19
"""Texts of about this many bytes are looked at together."""

GLANCE, SELDOM_NEW = 2**11, 8
"""Where of this many texts at most one in eight is new, most of the rest were there before."""

TABLE = 2**12
BLOCK = 2**15
"""This many numbers make a table, and this many records are looked up in it at a time: both stay in
the cache, and a place in the table takes two bytes."""

_Place: TypeAlias = tuple[int, IntArray]
"""How many values a column has, and which of them each record holds."""

_FIRST_BYTES = np.array([2 ** (8 * many) - 1 for many in range(9)], np.uint64)


@dataclass(frozen=True)
class UnchangedRecords:
    """How many records of the truth an equal released record can be found for.

    >>> seen = UnchangedRecords(records=1000, found=400, uniques=200, uniques_found=150)
    >>> seen.unique_share, seen.coarse
    (0.75, (0.6, 1.0))
    >>> seen.above(1 / 5)
    True

    Attributes:
        records: the records of the truth that were looked at.
        found: how many of them can be paired with an equal released record.
        uniques: the records that are equal to no other in the truth.
        uniques_found: how many of those stand in the release.
        sampled: whether the table has more records than were looked at.
    """

    records: int
    found: int
    uniques: int
    uniques_found: int
    sampled: bool = False

    @property
    def share(self) -> float:
        """Of all records."""
        return self.found / self.records if self.records else 0.0

    @property
    def unique_share(self) -> float:
        """Of the records that are unique in the original data."""
        return self.uniques_found / self.uniques if self.uniques else 0.0

    @property
    def coarse(self) -> tuple[float, float]:
        """What both shares are at most on average, by one count, rounded up to the grid."""
        return (
            share_up(min(1.0, self.share + _chance(self.share, self.records))),
            share_up(min(1.0, self.unique_share + _chance(self.unique_share, self.uniques))),
        )

    def within(self, most: tuple[float, float]) -> bool:
        """Whether both shares can have come about by chance where these are the averages."""
        return (
            self.share - _chance(self.share, self.records) <= most[0]
            and self.unique_share - _chance(self.unique_share, self.uniques) <= most[1]
        )

    def above(self, bound: float | None) -> bool:
        """Whether more of the unique records are there than a reader of the promise expects."""
        return bound is not None and self.unique_share > bound

    def sentence(self) -> str:
        """The exact figures, for the owner."""
        of = "records in a random sample" if self.sampled else "records"
        return (
            f"{self.found:,} of {self.records:,} {of} ({percent_up(self.share)}) stand in the "
            f"release word for word, over all released columns; of the {self.uniques:,} that are "
            f"unique in the truth {self.uniques_found:,} ({percent_up(self.unique_share)})."
        )

    def warning(self, bound: float | None) -> str | None:
        """What the owner must know before publishing; ``None`` where there is nothing to say."""
        if bound is None or not self.above(bound):
            return None
        return (
            f"{percent_up(self.unique_share)} of the records that are unique in the truth are "
            f"released word for word, and the promise lets a reader expect at most "
            f"{percent_up(bound)}. It holds all the same: it says how sure anyone can be whose "
            "record it is, not that records are changed."
        )

    def to_json(self) -> Form:
        """The exact figures as a plain form: for the owner only."""
        return plain(self, "records sampled found share uniques uniques_found unique_share")

    def public(self) -> dict[str, float]:
        """What a certificate may hold, if it was counted on a permuted copy of the data."""
        share, unique = self.coarse
        return {"records_at_most": share, "unique_records_at_most": unique}


def _chance(share: float, looked_at: int) -> float:
    """How far a share of this many records may be from its average: six standard deviations.

    Records that exchange their keys are copied together or not at all, so that a count may vary
    as much as one of rare events does.
    """
    return 6 * math.sqrt(share / looked_at) + 36 / looked_at if looked_at else 1.0


def measure_unchanged(
    schema: Schema, truth: OpenedTable, released: OpenedTable, *, most: int = MOST_RECORDS
) -> UnchangedRecords:
    """Compare the released columns of two tables, record by record and in any order."""
    columns = schema.released
    names = [column.name for column in columns]
    marks = [REPORTED] if REPORTED in released.schema.names and REPORTED not in names else []
    limit = 2**64 - 1 if truth.rows <= most else int(2**64 * (most / truth.rows))
    own, theirs = (
        np.concatenate([
            np.zeros(0, np.uint64),
            *table.summaries(partial(_numbers, columns, side, limit), wanted),
        ])
        for table, side, wanted in ((truth, False, names), (released, True, [*names, *marks]))
    )  # fmt: skip
    return replace(unchanged_of(own, theirs), sampled=truth.rows > most)


def unchanged_of(truth: Words, released: Words) -> UnchangedRecords:
    """From one number a record: equal records have equal numbers."""
    own, theirs = np.sort(truth), np.sort(released)
    starts = np.ones(len(own), np.bool_)
    starts[1:] = own[1:] != own[:-1]
    begins: IntArray = np.flatnonzero(starts).astype(np.int64)
    values = own[begins]
    counts: IntArray = np.append(begins[1:], len(own)).astype(np.int64)[: len(begins)] - begins
    first = np.searchsorted(theirs, values, side="left")
    seen = _times(theirs, values, first, counts)
    alone = counts == 1
    return UnchangedRecords(
        records=len(truth),
        found=int(np.minimum(counts, seen).sum()),
        uniques=int(alone.sum()),
        uniques_found=int((seen[alone] > 0).sum()),
    )


def _times(ordered: Words, values: Words, first: IntArray, most: IntArray) -> IntArray:
    """How often each value occurs from ``first`` on; once is enough where ``most`` is one."""
    there = first < len(ordered)
    there[there] = ordered[first[there]] == values[there]
    seen = there.astype(np.int64)
    several = np.flatnonzero(there & (most > 1))
    last = np.searchsorted(ordered, values[several], side="right")
    seen[several] = last - first[several]
    return seen


def _numbers(
    columns: Sequence[Column], released: bool, limit: int, batches: Iterable[pa.RecordBatch]
) -> Words:
    """One number a record; those above the limit are left out."""
    parts = [np.zeros(0, np.uint64)]
    whole = as_table(column.name for column in columns if column.randomised)
    for batch in batches:
        if batch.num_columns > len(columns):  # only a report of all columns is a whole record
            batch = batch.filter(pc.equal(batch.column(REPORTED).cast(pa.string()), whole))
        total = numbers_of(columns, batch, released=released)
        parts.append(total[total <= np.uint64(limit)])
    return np.concatenate(parts)


def numbers_of(columns: Sequence[Column], batch: pa.RecordBatch, *, released: bool) -> Words:
    """One number a record: the same for records that agree in all of these columns.

    The sum of a number a value: as if drawn at random, and others for each column. Columns with few
    values are looked up several at a time, by a table of the sums of their numbers.
    """
    total = np.zeros(batch.num_rows, np.uint64)
    few: list[tuple[Words, IntArray]] = []
    for place, column in enumerate(columns, start=1):
        array = batch.column(column.name)
        entries = _numbers_of_dictionary(column, array, place, released=released)
        if entries is None:
            total += _column_numbers(column, array, place, released=released)
        else:
            few.append((entries, array.indices.to_numpy()))
    for sums, places in _tables(few):
        for begin in range(0, len(total), BLOCK):
            part = slice(begin, begin + BLOCK)
            total[part] += sums.take(_joint(places, part), mode="clip")
    return total


def _tables(few: Iterable[tuple[Words, IntArray]]) -> Iterator[tuple[Words, list[_Place]]]:
    """Columns that share a table: the sums of their numbers, and where each record stands."""
    sums, places = np.zeros(1, np.uint64), list[_Place]()
    for own, indices in few:
        if len(sums) * len(own) > TABLE:
            yield sums, places
            sums, places = np.zeros(1, np.uint64), []
        sums = np.add.outer(sums, own).ravel()
        places.append((len(own), indices))
    if places:
        yield sums, places


def _joint(places: Sequence[_Place], part: slice) -> IntArray:
    """Where some records stand in a table of several columns."""
    (_, first), *others = places
    joint = first[part].astype(np.uint16)
    for size, indices in others:
        joint *= np.uint16(size)
        joint += indices[part].astype(np.uint16)
    return joint.astype(np.int64)


def _numbers_of_dictionary(
    column: Column, array: pa.Array, place: int, *, released: bool
) -> Words | None:
    """A number for each entry of a dictionary, where every record has one and each has a label."""
    if not (column.coded and pa.types.is_dictionary(array.type)) or array.indices.null_count:
        return None
    entries = array.dictionary
    if not 0 < len(entries) <= TABLE or entries.null_count:
        return None
    return _by_label(column, entries, place, released=released)


def _mixed(numbers: Words, place: int) -> Words:
    """Numbers spread over all 64 bits, one to one; the same value elsewhere is another."""
    return splitmix64(numbers + np.uint64(place * int(GOLDEN_GAMMA) % 2**64))


def _column_numbers(column: Column, array: pa.Array, place: int, *, released: bool) -> Words:
    """By codes where there is a domain, else by numbers themselves and by a digest of texts."""
    if column.coded:
        labelled = _by_label(column, array, place, released=released)
        if labelled is not None:
            return labelled
        if not released:
            encode(column, array)  # refuses
        # A centre of several values is none of them: it stands for itself.
    array = flat(comparable(array))
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return _mixed(_of_numbers(array), place)
    return _mixed(_of_texts(array), place)


def _by_label(column: Column, array: pa.Array, place: int, *, released: bool) -> Words | None:
    """By the label of each value, where each has one."""
    try:
        codes = (encode_released if released else encode)(column, array)
    except OutsideDomain:
        return None
    each = _mixed(np.arange(len(column.labels), dtype=np.uint64), place)
    taken: Words = pa.array(each).take(pa.array(codes)).to_numpy()
    return taken


def _of_numbers(array: pa.Array) -> Words:
    """Equal numbers alike, whether they are written as integers or not; missing apart."""
    gaps = np.asarray(array.is_null())
    if pa.types.is_integer(array.type):
        whole = np.asarray(pc.fill_null(array, 0)).astype(np.int64)
        bits = whole.astype(np.uint64)
    else:
        plain = np.asarray(pc.fill_null(array.cast(pa.float64()), 0.0)) + 0.0  # no minus zero
        inside = np.abs(plain) < 2.0**62
        whole = np.where(inside, plain, 0).astype(np.int64)
        bits = np.where(inside & (whole == plain), whole.view(np.uint64), plain.view(np.uint64))
    return np.asarray(np.where(gaps, GOLDEN_GAMMA, bits), dtype=np.uint64)


def _of_texts(array: pa.Array) -> Words:
    """A digest of each text, missing apart; where the first of them repeat, of each once."""
    first = array.slice(0, GLANCE)
    if len(array) > GLANCE and SELDOM_NEW * len(first.unique()) <= len(first):
        each = array.dictionary_encode()
        digests = np.append(_of_all(each.dictionary), GOLDEN_GAMMA)
        codes = pc.fill_null(each.indices, len(each.dictionary))
        return np.asarray(digests.take(np.asarray(codes)), dtype=np.uint64)
    return _of_all(array)


def _of_all(array: pa.Array) -> Words:
    """A digest of each text; a block of them at a time, which stays in the cache."""
    block = max(1, BYTES * len(array) // max(array.nbytes, 1))
    parts = [_digests(array.slice(begin, block)) for begin in range(0, len(array), block)]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def _digests(array: pa.Array) -> Words:
    """For each text the sum of a number for each eight bytes at their place, and of its length."""
    texts = pc.fill_null(array.cast(pa.large_binary()), b"")
    ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset :][: len(texts) + 1]
    lengths = np.diff(ends)
    width = -(-int(lengths.max(initial=0)) // 8) * 8
    alike_long = width * len(texts) <= 2 * (int(lengths.sum()) + 8 * len(texts))
    sums = _sums_side_by_side(texts, lengths, width) if alike_long else _sums(texts, ends)
    digests = sums + lengths.astype(np.uint64)
    if array.null_count:
        digests = np.where(np.asarray(array.is_null()), GOLDEN_GAMMA, digests)
    return digests


def _sums_side_by_side(texts: pa.Array, lengths: IntArray, width: int) -> Words:
    """Texts of about one length, filled up with zeros: the first parts of all, then the second."""
    total = np.zeros(len(texts), np.uint64)
    if not width:
        return total
    filled = pc.ascii_rpad(texts.view(pa.large_string()), width, "\0")
    table = np.frombuffer(filled.buffers()[2], "<u8").reshape(len(texts), width // 8)
    shortest = int(lengths.min())
    for part in range(width // 8):
        numbers = _mixed(table[:, part], part)
        total += numbers if shortest > 8 * part else numbers * (lengths > 8 * part)
    return total


def _sums(texts: pa.Array, ends: IntArray) -> Words:
    """All parts of all texts behind each other."""
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[int(ends[0]) : int(ends[-1])]
    begins, lengths = ends[:-1] - ends[0], np.diff(ends)
    parts = (lengths + 7) // 8
    firsts = np.cumsum(parts) - parts
    within = np.arange(int(parts.sum()), dtype=np.int64) - np.repeat(firsts, parts)
    left = np.repeat(lengths, parts) - 8 * within  # bytes of the text from here on
    numbers = _eight_bytes(data, np.repeat(begins, parts) + 8 * within)
    numbers &= _FIRST_BYTES[np.minimum(left, 8)]
    numbers += within.astype(np.uint64) * GOLDEN_GAMMA
    sums = np.zeros(len(numbers) + 1, np.uint64)  # differences of sums modulo 2**64 are exact
    np.cumsum(_mixed(numbers, 0), out=sums[1:])
    total: Words = sums[firsts + parts] - sums[firsts]
    return total


def _eight_bytes(data: NDArray[np.uint8], places: IntArray) -> Words:
    """The eight bytes from each place on as a number, zeros after the end."""
    padded = np.zeros(len(data) + 8, np.uint8)
    padded[: len(data)] = data
    each: Words = np.ndarray((len(data) + 1,), "<u8", padded, strides=(1,)).take(places)
    return each.astype(np.uint64, copy=False)
