"""Functional dependencies, rank correlations and groupings between columns.

They are searched in the first records and confirmed on all of them. Columns of places are
recognised by three signs: their codes begin with those of a larger place; a measure is constant
within each of them; or their codes have one shape and are hardly associated with other columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.schema.joint_cells import cell_numbers, joint_groups
from pramana.schema.opened_table import OpenedTable
from pramana.schema.tally import Tally
from pramana.types import FloatArray, IntArray

FIRST = 20_000
"""Records in which relations are looked for."""

MOST_VALUES = 2_000
SEEN_OFTEN = 5
"""Each value of a column that others follow from must be held by so many records on average."""

FEWEST_GROUPS, SMALL_GROUPS = 50, 6
"""Households are many, and not larger, on average by far."""

FEWEST_PLACES = 3
NEARLY_ALL = 0.9
EXCEPTIONS = 0.005
"""Of the records without the commonest value, so many may break a dependency."""

CLOSELY = 0.98
"""Ranks that agree so well are of two columns that say the same, as age and year of birth do."""

FEWEST_PAIRS = 30
PARTS = 2_000
"""Records in which texts are looked for in others."""


@dataclass(frozen=True)
class Follows:
    """One column follows from another; ``both`` ways, or ``nested`` as places in larger ones."""

    column: str
    source: str
    both: bool
    nested: bool = False

    @property
    def words(self) -> str:
        """For the steward."""
        if self.both:
            return f"it is '{self.source}' in other words"
        if self.nested:
            return f"codes of '{self.source}' begin with its own, as places within larger ones do"
        return f"it follows from '{self.source}'"


def following(table: OpenedTable, tallies: Mapping[str, Tally]) -> dict[str, tuple[Follows, ...]]:
    """What each column follows from, by its name; the source with fewest values first."""
    names = [name for name, seen in tallies.items() if _may_relate(seen, table.rows)]
    if len(names) < 2:
        return {}
    codes = first_codes(table, names, FIRST)
    found: dict[str, list[Follows]] = {}
    order = sorted(names, key=lambda name: tallies[name].distinct)
    for place, column in enumerate(order):
        for source in order[place + 1 :]:
            if not _nearly_determines(codes[source], codes[column]):
                continue
            whole = first_codes(table, [source, column], None)
            if not _nearly_determines(whole[source], whole[column]):
                continue
            same = tallies[source].distinct == tallies[column].distinct
            # Of two that say the same codes stay rather than measures, or the first in the table.
            first, second = source, column
            if same:
                kinds = {name: tallies[name].kind == "number" for name in (source, column)}
                first, second = sorted(kinds, key=lambda name: (kinds[name], names.index(name)))
            nested = not same and _begin_alike(table, tallies, source, column)
            found.setdefault(second, []).append(Follows(second, first, same, nested))
    return {name: tuple(own) for name, own in found.items()}


def _begin_alike(
    table: OpenedTable, tallies: Mapping[str, Tally], source: str, column: str
) -> bool:
    """Whether codes of a source begin with those of a column; both codes, and no words."""
    kinds = {tallies[name].kind for name in (source, column)}
    if not kinds <= {"integer", "text"} or tallies[column].distinct < FEWEST_PLACES:
        return False
    some = pa.Table.from_batches([next(iter(table.batches([source, column])))])
    own, theirs = (_plain_text(some.column(name)) for name in (column, source))
    held = [(a, b) for a, b in zip(own, theirs, strict=True) if a is not None and b is not None]
    longer = all(len(b) > len(a) for a, b in held)
    return bool(held) and longer and all(b.startswith(a) and a[0].isdigit() for a, b in held)


def _plain_text(column: pa.ChunkedArray) -> list[str | None]:
    plain = pa.chunked_array([_plain(chunk) for chunk in column.chunks])
    texts: list[str | None] = plain.cast(pa.string()).to_pylist()
    return [text if text else None for text in texts]


def parts_of(table: OpenedTable, names: Sequence[str], whole: str) -> list[str]:
    """Columns of text whose values stand in those of another one, as names in full names do."""
    some = next(iter(table.batches([whole, *names])), None)
    if some is None:
        return []
    held = pa.Table.from_batches([some.slice(0, PARTS)])
    full = [None if text is None else text.lower() for text in _plain_text(held.column(0))]
    found = []
    for at, name in enumerate(names, start=1):
        own = _plain_text(held.column(at))
        pairs = [(a.lower(), b) for a, b in zip(own, full, strict=True) if a and b]
        if len(pairs) >= FEWEST_PAIRS and all(len(a) > 1 and a in b for a, b in pairs):
            found.append(name)
    return found


def nearly_the_same(table: OpenedTable, names: Sequence[str]) -> dict[str, tuple[str, float]]:
    """Columns of numbers that an earlier one all but tells, with that one and how closely."""
    ranks = _ranks(table, names)
    found: dict[str, tuple[str, float]] = {}
    for at, name in enumerate(names):
        for before in names[:at]:
            if before in found:
                continue
            closely = _correlation(ranks[before], ranks[name])
            if abs(closely) >= CLOSELY:
                found[name] = before, closely
                break
    return found


def unrelated(table: OpenedTable, name: str, others: Sequence[str], most: float) -> bool:
    """Whether no other column of numbers goes up and down with this one."""
    ranks = _ranks(table, [name, *others])
    return all(abs(_correlation(ranks[name], ranks[other])) <= most for other in others)


def _ranks(table: OpenedTable, names: Sequence[str]) -> dict[str, FloatArray]:
    """The ranks of numbers among the first records; those without a number are nan."""
    found = {}
    for name in names:
        held: list[pa.Array] = []
        for batch in table.batches([name]):
            held.append(_plain(batch.column(0)).cast(pa.float64(), safe=False))
            if sum(map(len, held)) >= FIRST:
                break
        values = pa.chunked_array(held).to_numpy()[:FIRST]
        found[name] = _ranked(values)
    return found


def _ranked(values: FloatArray) -> FloatArray:
    """The rank of each number, equal ones at the mean of theirs; nan where there is none.

    >>> _ranked(np.array([30.0, np.nan, 10.0, 30.0]))
    array([2.5, nan, 1. , 2.5])
    """
    there = ~np.isnan(values)
    _, places, counts = np.unique(values[there], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), np.nan)
    ranks[there] = (np.cumsum(counts) - (counts - 1) / 2)[places.ravel()]
    return ranks


def _correlation(one: FloatArray, other: FloatArray) -> float:
    both = np.isfinite(one) & np.isfinite(other)
    if int(both.sum()) < FEWEST_PAIRS:
        return 0.0
    a, b = one[both] - one[both].mean(), other[both] - other[both].mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def _may_relate(seen: Tally, records: int) -> bool:
    few = 2 < seen.distinct <= MOST_VALUES or (seen.distinct == 2 and records > FIRST // 10)
    return seen.complete and few and records >= SEEN_OFTEN * seen.distinct


def first_codes(table: OpenedTable, names: Sequence[str], most: int | None) -> dict[str, IntArray]:
    """A number for each value, missing among them."""
    held: list[pa.RecordBatch] = []
    records = 0
    for batch in table.batches(list(names)):
        held.append(batch if most is None else batch.slice(0, most - records))
        records += len(held[-1])
        if most is not None and records >= most:
            break
    return {
        name: np.asarray(
            pa.chunked_array([_plain(batch.column(at)) for batch in held])
            .combine_chunks()
            .dictionary_encode(null_encoding="encode")
            .indices,
            dtype=np.int64,
        )
        for at, name in enumerate(names)
    }


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _determines(source: IntArray, column: IntArray) -> bool:
    """Whether each value of ``source`` comes with one of ``column``."""
    together = joint_groups([source, column])
    return len(source) > 0 and int(together.max()) == len(np.unique(source)) - 1


def _nearly_determines(source: IntArray, column: IntArray) -> bool:
    """Whether each value of ``source`` comes with one of ``column``, with few exceptions.

    Exceptions are compared with the records without the commonest value: a column of nearly one
    value follows from no other by that alone.
    """
    if not len(source):
        return False
    pairs = joint_groups([source, column])
    numbers = np.bincount(pairs)
    sources = np.zeros(len(numbers), np.int64)
    sources[pairs] = source
    commonest = np.zeros(int(source.max()) + 1, np.int64)
    np.maximum.at(commonest, sources, numbers)
    exceptions = len(source) - int(commonest.sum())
    unexplained = len(column) - int(np.bincount(column).max())
    return exceptions == 0 or exceptions <= EXCEPTIONS * unexplained


def may_number_households(table: OpenedTable, seen: Tally) -> bool:
    """Whether a column has as many values as households would, a few records each."""
    some = max(FEWEST_GROUPS, table.rows / SMALL_GROUPS)
    return seen.complete and some < seen.distinct < 0.9 * table.rows


def shared_within(
    table: OpenedTable, name: str, tallies: Mapping[str, Tally], others: Sequence[str]
) -> list[str]:
    """Varied columns that are the same for all records with one value of ``name``."""
    varied = [own for own in others if own != name and _varies(tallies[own])]
    codes = first_codes(table, [name, *varied], FIRST)
    groups = codes[name]
    if int(np.bincount(groups).max()) < 2:
        return []
    return [own for own in varied if _determines(groups, codes[own])]


def _varies(seen: Tally) -> bool:
    total = int(seen.numbers.sum()) + seen.missing
    most = max(int(seen.numbers.max(initial=0)), seen.missing)
    return seen.complete and 1 < seen.distinct <= MOST_VALUES and most <= NEARLY_ALL * total


def standing_together(table: OpenedTable, name: str, seen: Tally) -> bool:
    """Whether records with one value stand one after the other, a few each, as households do."""
    if not may_number_households(table, seen):
        return False
    runs, last = 0, None
    for batch in table.batches([name]):
        values = _plain(batch.column(0)).drop_null().cast(pa.string())
        if not len(values):
            continue
        changes = pc.sum(pc.not_equal(values[1:], values[:-1]).cast(pa.int64())).as_py() or 0
        first = values[0].as_py()
        runs += changes + (first != last or not runs)
        last = values[-1].as_py()
    return runs == seen.distinct


FEWEST = 3
"""Values of a column that tells places; and columns that its codes are compared with."""

MOST, FEW = 2_000, 20
TELLING = 0.25
"""Cramer's V, above which codes tell something of the people who have them."""

AREA_CODE = re.compile(r"(?=.*\d)[0-9A-Z]+([-./ ][0-9A-Z]+)*")
SHORTEST = 4


def places_among(
    table: OpenedTable,
    tallies: Mapping[str, Tally],
    names: Sequence[str],
    follows: Mapping[str, tuple[Follows, ...]],
    weights: Sequence[str],
) -> dict[str, str]:
    """Those of these columns that tell places, each with the sign by which it is known."""
    found: dict[str, str] = {}
    for name in names:
        seen = tallies[name]
        if seen.kind in ("integer", "text") and FEWEST <= seen.distinct <= MOST:
            sign = _nested(name, follows) or _measured(name, tallies, follows, weights)
            if not sign and _area_codes(seen) and not _tells_of_people(table, name, tallies):
                sign = "its codes have one shape and say little of the people"
            if sign:
                found[name] = f"{sign}, as with places"
    return found


def _nested(name: str, follows: Mapping[str, tuple[Follows, ...]]) -> str:
    larger = [own.column for every in follows.values() for own in every
              if own.nested and own.source == name]  # fmt: skip
    return f"its codes begin with those of '{larger[0]}'" if larger else ""


def _measured(
    name: str,
    tallies: Mapping[str, Tally],
    follows: Mapping[str, tuple[Follows, ...]],
    weights: Sequence[str],
) -> str:
    """A number with decimals that is the same for all who share a value, and no weight."""
    for every in follows.values():
        for own in every:
            what = tallies[own.column]
            alone = own.source == name and own.column not in weights
            if alone and what.kind == "number" and what.distinct >= FEWEST and _decimals(what):
                return f"'{own.column}', a measure, is the same for all who share its value"
    return ""


def _decimals(seen: Tally) -> bool:
    values = seen.values.to_numpy(zero_copy_only=False).astype(float)
    return bool((np.isfinite(values) & (values != np.floor(values))).any())


def _area_codes(seen: Tally) -> bool:
    """Whether texts are codes of one shape: the same length, and marks at the same places."""
    if seen.kind != "text" or not seen.complete:
        return False
    texts = [str(value) for value in seen.labels()]
    shapes = {re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", text)) for text in texts}
    inside = any(text.startswith("0") for text in texts) or not texts[0].isdigit()
    fit = all(AREA_CODE.fullmatch(text) for text in texts)
    return len(shapes) == 1 and fit and inside and len(texts[0]) >= SHORTEST


def _tells_of_people(table: OpenedTable, name: str, tallies: Mapping[str, Tally]) -> bool:
    """Whether codes go with what people are, as with columns of few values; unknown counts so."""
    others = [
        other
        for other, seen in tallies.items()
        if other != name and seen.complete and 2 <= seen.distinct <= FEW
    ]
    if len(others) < FEWEST:
        return True
    codes = first_codes(table, [name, *others], FIRST)
    return any(_cramers_v(codes[name], codes[other]) > TELLING for other in others)


def _cramers_v(one: IntArray, other: IntArray) -> float:
    """How far two columns hang together, 0 to 1, less what chance alone gives.

    >>> same = np.arange(2_000) % 5
    >>> round(_cramers_v(same, same), 2), round(_cramers_v(same, np.arange(2_000) // 400), 2)
    (1.0, 0.0)
    """
    n, r, c = len(one), int(one.max()) + 1, int(other.max()) + 1
    seen = np.bincount(cell_numbers([one, other], [r, c]), minlength=r * c).reshape(r, c)
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    chi = float((seen**2 / np.maximum(expected, 1e-300)).sum()) / n - 1
    excess = max(chi - (r - 1) * (c - 1) / (n - 1), 0.0)
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return float(np.sqrt(excess / least)) if least > 0 else 0.0
