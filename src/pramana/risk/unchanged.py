"""Unchanged columns that undo a release, and records that are released unchanged.

A column that is released unchanged and nearly unique names people, whatever happens to the others.
A column that determines a randomised one makes its randomisation useless. ``protect`` refuses both,
unless the owner accepts the risk of the column. This looks at the original data: nothing of it is
published but the names of the columns that the owner accepted.

How well an unchanged column predicts a randomised one is measured by leaving out one record at a
time: a record is predicted if its value is the most frequent one among the other records with the
same unchanged value. The strength is the share of the errors without the unchanged column that this
avoids (Goodman and Kruskal's lambda). Single values that disclose a key are refused as well.

A guarantee about linking bounds the chance of a correct match. It does not say that records are
changed: a method that hands keys round inside groups may release every record unchanged. So the
share of unchanged records is measured, over all released columns and in the values that are
released (a number in a bin counts as its bin), for all records and for the unique ones. Each record
becomes one number of 64 bits, and the numbers are sorted. Two different records share a number with
a chance of about one in 10^19. In tables beyond ``MOST_RECORDS`` only records with small numbers
are compared, the same ones on both sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.randomness import GOLDEN_GAMMA
from pramana.base.rounding import share_bound, six_sigma
from pramana.base.text import as_table, json_fields, percent_up, quoted
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import NotCovered, OutsideDomain, UnknownColumn
from pramana.schema.codec import comparable, encode, encode_released, flat
from pramana.schema.group_sizes import in_bins
from pramana.schema.joint_cells import joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable, words_of
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.schema.telling_values import HiddenKey, Telling, telling_values, worst_of
from pramana.types import Form, IntArray, Words
from pramana.verification.whole_file import SUSPECT, identifiers, share_alone, spread_words

PARTS: Final = 8
"""Evenly spaced parts of the table that are sampled."""

SAMPLED: Final = 2**13
"""Records of each part."""

FEWEST: Final = 200
"""With fewer records, columns may agree together by chance."""

PAIRED: Final = 12
"""Unchanged columns of which all pairs are tried."""

WIDEST, WIDENED = 4, 3
"""Columns that are taken together, and the number of sets that are widened in each step."""

DETERMINES: Final = 0.9
"""An unchanged column that avoids this share of the errors determines the randomised one."""

MOST_RECORDS = 20_000_000


# -- unchanged columns -----------------------------------------------------------------------------


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
                "The risk of '{column}' cannot be accepted: no column of this name is released "
                "unchanged. Unchanged are: {unchanged}.",
                column=name,
                unchanged=", ".join(unchanged) or "none",
            )
    doubtful = [
        column for column in unchanged.values() if not column.noisy and column.name not in accepted
    ]
    if not doubtful or not table.rows:
        return
    randomised = [column for column in schema.randomised if column.domain is not None]
    sample = _sample(table, [column.name for column in (*doubtful, *randomised)])
    suspects = (c.name for c in doubtful if not c.binned)
    equal = identifiers(table, [n for n in suspects if share_alone(_words(sample, n)) >= SUSPECT])
    if equal:
        first, *others = [column.columns[0] for column in equal]
        more = gettext(" The same holds for {others}.", others=", ".join(others)) if others else ""
        raise _refused(
            [first, *others],
            gettext(
                "{sentence} A guarantee for the other columns does not protect them.{more}",
                sentence=equal[0].sentence(),
                more=more,
            ),
            code="identifies",
        )
    for columns, key in _determining(sample, doubtful, randomised):
        raise _refused(columns, _gives_away(columns, key), code="gives-away", given_away=key)
    for telling in _telling(sample, doubtful, randomised):
        raise _refused(
            [telling.column], telling.sentence(), code="gives-away", given_away=telling.key
        )


def _telling(
    sample: pa.Table, unchanged: Sequence[Column], randomised: Sequence[Column]
) -> list[Telling]:
    """Unchanged columns with values that disclose a randomised one."""
    keys = {
        key.name: HiddenKey.of(key, encode(key, sample.column(key.name)))
        for key in randomised
        if not key.gridded
    }
    batches = [in_bins(batch, [c for c in unchanged if c.drawn]) for batch in sample.to_batches()]
    values = pa.Table.from_batches(batches, sample.schema if not batches else None)
    return worst_of(
        telling
        for column in unchanged
        for telling in telling_values(column.name, value_codes(values.column(column.name)), keys)
    )


def columns_given_away(schema: Schema, table: OpenedTable) -> list[str]:
    """A sentence for each unchanged column that determines a randomised one; for the owner."""
    unchanged = [column for column in schema.released_as_is if not column.noisy]
    randomised = [column for column in schema.randomised if column.domain is not None]
    if not unchanged or not randomised or not table.rows:
        return []
    sample = _sample(table, [column.name for column in (*unchanged, *randomised)])
    away = [_gives_away(*equal) for equal in _determining(sample, unchanged, randomised)]
    return away + [one.sentence() for one in _telling(sample, unchanged, randomised)]


def _determining(
    sample: pa.Table, unchanged: Sequence[Column], randomised: Sequence[Column]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Unchanged columns with the key that they determine: single ones first, then sets of them."""
    hidden = {key.name: encode(key, sample.column(key.name)).astype(np.int64) for key in randomised}
    rest = []
    for column in unchanged:
        values = _value_codes(sample, column.name)
        keys = (key for key in hidden if avoided_errors(values, hidden[key]) >= DETERMINES)
        if (key := next(keys, None)) is None:
            rest.append(column)
        else:
            yield (column.name,), key
    yield from given_away_together(sample, rest, randomised)


def _gives_away(names: Sequence[str], key: str) -> str:
    known = quoted(names)
    words = noop(
        "Column {known} gives the randomised column '{key}' away: '{key}' follows from it for "
        "nearly everybody."
    )
    if len(names) > 1:
        words = noop(
            "Columns {known} together give the randomised column '{key}' away: '{key}' follows "
            "from them for nearly everybody."
        )
    return gettext(words, known=known, key=key)


def _refused(names: Sequence[str], reason: str, *, code: str, **fields: str) -> NotCovered:
    first = names[0]
    return NotCovered(
        "{reason} '{column}' would be released unchanged: give it the role identifier (it is "
        "dropped) or key (it is randomised), or accept the risk with --accept-risk {column}.",
        code=code,
        column=first,
        columns=list(names),
        **fields,
        reason=reason,
    )


def _sample(table: OpenedTable, names: Sequence[str]) -> pa.Table:
    """Records from evenly spaced parts of a table."""
    records = min(table.rows, PARTS * SAMPLED)
    places = [table.rows * part // PARTS for part in range(PARTS)]
    batches, end = list[pa.RecordBatch](), 0
    for part in table.parts(names):
        begin, end = end, end + part.records
        if table.rows > records and not any(begin <= place < end for place in places):
            continue
        batch = part.load()
        batches.append(batch if table.rows == records else batch.slice(0, SAMPLED))
    return pa.Table.from_batches(batches)


def given_away_together(
    sample: pa.Table, columns: Sequence[Column], randomised: Sequence[Column]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Unchanged columns that determine a randomised one together, though none does alone.

    All pairs of the columns with most values in common are tried, and the best are widened.
    """
    if sample.num_rows < FEWEST:
        return
    step = max(1, sample.num_rows // SAMPLED)
    some = sample.take(pa.array(range(0, sample.num_rows, step)))
    coded = {column.name: _value_codes(some, column.name) for column in columns}
    shared = [name for name, codes in coded.items() if 0 < codes.max(initial=0) < len(codes) / 2]
    for key in randomised if len(shared) > 1 else ():
        hidden = encode(key, some.column(key.name)).astype(np.int64)
        alone = {name: avoided_errors(coded[name], hidden) for name in shared}
        first = sorted(shared, key=lambda name: -alone[name])[:PAIRED]
        beam: list[tuple[float, tuple[str, ...], IntArray]] = [
            (avoided, pair, groups)
            for pair in itertools.combinations(first, 2)
            for groups in (joint_groups([coded[name] for name in pair]),)
            if (avoided := avoided_errors(groups, hidden)) > 0
        ]
        for _ in range(WIDEST - 1):
            beam = sorted(beam, key=lambda entry: -entry[0])[:WIDENED]
            if beam and beam[0][0] >= DETERMINES:
                yield tuple(sorted(beam[0][1], key=list(coded).index)), key.name
                break
            beam = [
                (avoided_errors(wider, hidden), (*names, name), wider)
                for _, names, groups in beam
                for name in first
                if name not in names
                for wider in (joint_groups([groups, coded[name]]),)
            ]


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


def _value_codes(sample: pa.Table, name: str) -> IntArray:
    return np.unique(_words(sample, name), return_inverse=True)[1].astype(np.int64)


# -- unchanged records -----------------------------------------------------------------------------


@dataclass(frozen=True)
class UnchangedRecords:
    """How many original records have an equal released record.

    >>> seen = UnchangedRecords(records=1000, matched=400, uniques=200, uniques_matched=150)
    >>> seen.unique_share, seen.coarse
    (0.75, (0.6, 1.0))
    >>> seen.above(1 / 5)
    True

    Attributes:
        records: the original records that were compared.
        matched: how many of them can be paired with an equal released record.
        uniques: the original records that are equal to no other.
        uniques_matched: how many of those are in the release.
        sampled: whether the table has more records than were compared.
    """

    records: int
    matched: int
    uniques: int
    uniques_matched: int
    sampled: bool = False

    @property
    def share(self) -> float:
        """Of all records."""
        return self.matched / self.records if self.records else 0.0

    @property
    def unique_share(self) -> float:
        """Of the records that are unique in the original data."""
        return self.uniques_matched / self.uniques if self.uniques else 0.0

    @property
    def coarse(self) -> tuple[float, float]:
        """Upper bounds on both shares, on average, by one count, rounded up to the grid."""
        return (
            share_bound(self.share, self.records),
            share_bound(self.unique_share, self.uniques),
        )

    def within(self, most: tuple[float, float]) -> bool:
        """Whether both shares are plausible by chance where these are the averages."""
        return (
            self.share - six_sigma(self.share, self.records) <= most[0]
            and self.unique_share - six_sigma(self.unique_share, self.uniques) <= most[1]
        )

    def above(self, bound: float | None) -> bool:
        """Whether more unique records are unchanged than the guarantee suggests."""
        return bound is not None and self.unique_share > bound

    def sentence(self) -> str:
        """The exact figures, for the owner."""
        of = (
            gettext("original records in a random sample")
            if self.sampled
            else gettext("original records")
        )
        return gettext(
            "{matched:,} of {records:,} {of} ({share}) can be paired with an equal released "
            "record. This does not show that they were released unchanged. Of the {uniques:,} "
            "unique ones {uniques_matched:,} ({unique_share}) have an equal released record.",
            matched=self.matched,
            records=self.records,
            of=of,
            share=numeral(percent_up(self.share)),
            uniques=self.uniques,
            uniques_matched=self.uniques_matched,
            unique_share=numeral(percent_up(self.unique_share)),
        )

    def warning(self, bound: float | None) -> str | None:
        """What the owner must know before publishing; ``None`` where there is nothing to say."""
        if bound is None or not self.above(bound):
            return None
        return gettext(
            "{unique_share} of the unique records have an equal released record. The guarantee "
            "bounds the probability of a correct match by {bound}. It does not limit this share.",
            unique_share=numeral(percent_up(self.unique_share)),
            bound=numeral(percent_up(bound)),
        )

    def to_json(self) -> Form:
        """The exact figures as JSON: for the owner only."""
        return json_fields(
            self, "records sampled matched share uniques uniques_matched unique_share"
        )

    def public(self) -> dict[str, float]:
        """What a certificate may hold, if it was counted on a permuted copy of the data."""
        share, unique = self.coarse
        return {"records_at_most": share, "unique_records_at_most": unique}


def measure_unchanged(
    schema: Schema,
    opened: OpenedTable,
    released: OpenedTable,
    *,
    most: int = MOST_RECORDS,
) -> UnchangedRecords:
    """Compare the released columns of two tables, record by record and in any order.

    Args:
        schema: the columns.
        opened: the original data.
        released: the released records.
        most: a larger table is sampled, by a hash of the values of each record.
    """
    columns = schema.released
    names = [column.name for column in columns]
    limit = 2**64 - 1 if opened.rows <= most else int(2**64 * (most / opened.rows))
    original = _record_numbers(columns, opened, names, limit, released=False)
    if REPORTED in released.schema.names and REPORTED not in names:
        names.append(REPORTED)
    equal = _record_numbers(columns, released, names, limit, released=True)
    return replace(unchanged_of(original, equal), sampled=opened.rows > most)


def unchanged_of(original: Words, released: Words) -> UnchangedRecords:
    """From one number per record: equal records have equal numbers."""
    values, counts = np.unique(original, return_counts=True)
    ordered = np.sort(released)
    first = np.searchsorted(ordered, values, side="left")
    seen = np.searchsorted(ordered, values, side="right") - first
    alone = counts == 1
    return UnchangedRecords(
        records=len(original),
        matched=int(np.minimum(counts, seen).sum()),
        uniques=int(alone.sum()),
        uniques_matched=int((seen[alone] > 0).sum()),
    )


def whole_set(columns: Sequence[Column]) -> str:
    """The name of the attribute set of all randomised columns."""
    return as_table(column.name for column in columns if column.randomised)


def _record_numbers(
    columns: Sequence[Column], table: OpenedTable, names: list[str], limit: int, *, released: bool
) -> Words:
    """One number per record; those above the limit are left out."""

    def numbers(batches: Iterable[pa.RecordBatch]) -> Words:
        parts = [np.zeros(0, np.uint64)]
        for batch in batches:
            if batch.num_columns > len(columns):  # only a set of all columns makes a whole record
                is_whole = pc.equal(batch.column(REPORTED).cast(pa.string()), whole_set(columns))
                batch = batch.filter(is_whole)
            total = numbers_of(columns, batch, released=released)
            parts.append(total[total <= np.uint64(limit)])
        return np.concatenate(parts)

    parts = table.summaries(numbers, names, by_part=True)
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def numbers_of(columns: Sequence[Column], batch: pa.RecordBatch, *, released: bool) -> Words:
    """One number per record: equal for records with equal values in all of these columns.

    It is the sum of pseudorandom numbers, one for each value of each column.
    """
    total = np.zeros(batch.num_rows, np.uint64)
    for place, column in enumerate(columns, start=1):
        total += _column_numbers(column, batch.column(column.name), place, released=released)
    return total


def _column_numbers(column: Column, array: pa.Array, place: int, *, released: bool) -> Words:
    """A pseudorandom number per record, of its code if the column has a domain, or of its value."""
    if column.coded:
        try:
            codes = (encode_released if released else encode)(column, array)
        except OutsideDomain:
            if not released:
                raise
            # A mean of several values is none of them: it stands for itself.
        else:
            return spread_words(np.arange(len(column.labels), dtype=np.uint64), place)[codes]
    array = flat(comparable(array))
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return spread_words(_of_numbers(array), place)
    return spread_words(words_of(array.dictionary_encode()), place)


def _of_numbers(array: pa.Array) -> Words:
    """Equal numbers alike, whether they are written as integers or not; missing apart."""
    gaps = np.asarray(array.is_null())
    if pa.types.is_integer(array.type):
        whole = np.asarray(pc.fill_null(array, 0)).astype(np.int64)
        bits = whole.astype(np.uint64)
    else:
        floats = np.asarray(pc.fill_null(array.cast(pa.float64()), 0.0)) + 0.0  # no minus zero
        inside = np.abs(floats) < 2.0**62
        whole = np.where(inside, floats, 0).astype(np.int64)
        bits = np.where(inside & (whole == floats), whole.view(np.uint64), floats.view(np.uint64))
    return np.asarray(np.where(gaps, GOLDEN_GAMMA, bits), dtype=np.uint64)
