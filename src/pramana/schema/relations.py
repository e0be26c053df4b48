"""Functional dependencies, rank correlations and groupings between columns.

They are searched in the first records and confirmed on all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.schema.joint_cells import joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.tally import Tally
from pramana.types import FloatArray, IntArray

FIRST: Final = 20_000  # records in which relations are searched
MOST_VALUES: Final = 2_000
RECORDS_A_VALUE: Final = 5
"""Records that each value of a column has on average, if others follow from it."""

FEWEST_HOUSEHOLDS, HOUSEHOLD_SIZE = 50, 6  # households are many, and on average not larger
FEWEST_PLACES: Final = 3
NEARLY_ALL: Final = 0.9
EXCEPTIONS: Final = 0.005
"""Of the records without the commonest value, the share that may break a dependency."""

SAME_RANKS: Final = 0.98
"""Rank correlation of two columns that say the same, as age and year of birth do."""

FEWEST_PAIRS: Final = 30
PARTS: Final = 2_000  # records in which texts are searched in others


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

    def may_relate(seen: Tally) -> bool:
        few = 2 < seen.distinct <= MOST_VALUES or (seen.distinct == 2 and table.rows > FIRST // 10)
        return seen.complete and few and table.rows >= RECORDS_A_VALUE * seen.distinct

    names = [name for name, seen in tallies.items() if may_relate(seen)]
    if len(names) < 2:
        return {}
    codes = first_codes(table, names, FIRST)
    relations: dict[str, list[Follows]] = {}
    order = sorted(names, key=lambda name: tallies[name].distinct)
    for place, column in enumerate(order):
        for source in order[place + 1 :]:
            if not _nearly_determines(codes[source], codes[column]):
                continue
            whole = first_codes(table, [source, column])
            if not _nearly_determines(whole[source], whole[column]):
                continue
            same = tallies[source].distinct == tallies[column].distinct
            nested = not same and _begin_alike(table, tallies, source, column)
            first, second = source, column
            if same:  # codes stay rather than measures, or the first in the table
                first, second = sorted(
                    (source, column),
                    key=lambda name: (tallies[name].kind == "number", names.index(name)),
                )
            relations.setdefault(second, []).append(Follows(second, first, same, nested))
    return {name: tuple(sources) for name, sources in relations.items()}


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


def _begin_alike(
    table: OpenedTable, tallies: Mapping[str, Tally], source: str, column: str
) -> bool:
    """Whether codes of a source begin with those of a column; both codes, and no words."""
    kinds = {tallies[name].kind for name in (source, column)}
    if not kinds <= {"integer", "text"} or tallies[column].distinct < FEWEST_PLACES:
        return False
    codes, longer = _first_texts(table, [column, source], FIRST)
    held = [(a, b) for a, b in zip(codes, longer, strict=True) if a and b]
    nested = all(len(b) > len(a) and b.startswith(a) and a[0].isdigit() for a, b in held)
    return bool(held) and nested


def parts_of(table: OpenedTable, names: Sequence[str], whole: str) -> list[str]:
    """Columns of text whose values are contained in those of another, as in full names."""
    full, *others = _first_texts(table, [whole, *names], PARTS)
    contained = []
    for name, texts in zip(names, others, strict=True):
        pairs = [(a.lower(), b.lower()) for a, b in zip(texts, full, strict=True) if a and b]
        if len(pairs) >= FEWEST_PAIRS and all(len(a) > 1 and a in b for a, b in pairs):
            contained.append(name)
    return contained


def nearly_the_same(table: OpenedTable, names: Sequence[str]) -> dict[str, tuple[str, float]]:
    """Columns of numbers with nearly the ranks of an earlier one, that one and the correlation."""
    ranks = _ranks(table, names)
    twins: dict[str, tuple[str, float]] = {}
    for at, name in enumerate(names):
        for before in (other for other in names[:at] if other not in twins):
            closely = _correlation(ranks[before], ranks[name])
            if abs(closely) >= SAME_RANKS:
                twins[name] = before, closely
                break
    return twins


def unrelated(table: OpenedTable, name: str, others: Sequence[str], most: float) -> bool:
    """Whether no other column of numbers goes up and down with this one."""
    ranks = _ranks(table, [name, *others])
    return all(abs(_correlation(ranks[name], ranks[other])) <= most for other in others)


def _ranks(table: OpenedTable, names: Sequence[str]) -> dict[str, FloatArray]:
    """The ranks of numbers among the first records; nan where there is no number."""
    from scipy.stats import rankdata

    some = table.first(names, FIRST)
    return {
        name: rankdata(
            some.column(name).cast(pa.float64(), safe=False).to_numpy(), nan_policy="omit"
        )
        for name in names
    }


def _correlation(first: FloatArray, second: FloatArray) -> float:
    both = np.isfinite(first) & np.isfinite(second)
    if int(both.sum()) < FEWEST_PAIRS:
        return 0.0
    a, b = first[both] - first[both].mean(), second[both] - second[both].mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0


def first_codes(
    table: OpenedTable, names: Sequence[str], most: int | None = None
) -> dict[str, IntArray]:
    """A number for each value of the first records, missing among them."""
    some = table.first(names, most)
    return {name: joint_groups([value_codes(some.column(name))]) for name in names}


def _first_texts(table: OpenedTable, names: Sequence[str], most: int) -> list[list[str | None]]:
    some = table.first(names, most)
    return [some.column(name).cast(pa.string()).to_pylist() for name in names]


# -- households ------------------------------------------------------------------------------------


def may_number_households(table: OpenedTable, seen: Tally) -> bool:
    """Whether a column has as many values as households would, a few records each."""
    some = max(FEWEST_HOUSEHOLDS, table.rows / HOUSEHOLD_SIZE)
    return seen.complete and some < seen.distinct < NEARLY_ALL * table.rows


def shared_within(
    table: OpenedTable, name: str, tallies: Mapping[str, Tally], others: Sequence[str]
) -> list[str]:
    """Varied columns that are the same for all records with one value of ``name``."""

    def varies(seen: Tally) -> bool:
        total = int(seen.numbers.sum()) + seen.missing
        most = max(int(seen.numbers.max(initial=0)), seen.missing)
        return seen.complete and 1 < seen.distinct <= MOST_VALUES and most <= NEARLY_ALL * total

    varied = [other for other in others if other != name and varies(tallies[other])]
    codes = first_codes(table, [name, *varied], FIRST)
    groups = codes[name]
    if int(np.bincount(groups).max()) < 2:
        return []
    return [other for other in varied if joint_groups([groups, codes[other]]).max() == groups.max()]


def standing_together(table: OpenedTable, name: str, seen: Tally) -> bool:
    """Whether records with one value follow each other, a few each, as households do."""
    if not may_number_households(table, seen):
        return False
    codes = value_codes(table.first([name]).column(0))
    return int(np.count_nonzero(np.diff(codes[codes >= 0]))) + 1 == seen.distinct
