"""Choose which columns leave unchanged, by what each adds to the risk of the whole file.

An attacker who knows all unchanged columns of a person finds the person if nobody else has the same
values. Columns are admitted one by one, as long as few people are found in this way. A number that
would find more is admitted in steps, and what still finds more is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.base.text import percent_up
from pramana.schema.joint_cells import joint_groups
from pramana.schema.opened_table import OpenedTable
from pramana.schema.proposals import distribution, quantiles, round_step
from pramana.schema.recoding import NOTHING, Recoding
from pramana.schema.tally import Tally
from pramana.types import FloatArray, IntArray

LEVELS: Final = (40, 20, 10, 5)
"""About as many different values a number in steps has."""

SHARE_OF_REST: Final = 0.5
"""In its exact forms a column may find this share of those who may be found; then all of them."""

ENDS: Final = (0.05, 0.5, 0.95)
"""Steps divide the range between the outer two of these quantiles."""

BEYOND: Final = 20
SHARE_BEYOND: Final = 400
"""So many people, and one in so many, have numbers beyond the outermost steps at least."""

MOST_SHIFT: Final = 0.1
"""The mean may change by this share of the mean distance from the median."""

CELLS: Final = 2**26
"""Values of all columns that are looked at: those of the first records."""


@dataclass(frozen=True)
class Contribution:
    """What an unchanged column adds to the risk of the whole file.

    Attributes:
        before: people who are unique on the unchanged columns admitted before it.
        found: people who are unique with it.
        people: people who were looked at.
        admitted: whether it leaves.
        form: the steps in which it leaves, if not exactly.
    """

    before: int
    found: int
    people: int
    admitted: bool = True
    form: Recoding = NOTHING

    @property
    def words(self) -> str:
        """The contribution in plain words."""
        if not self.admitted:
            return (
                f"dropped: with it {self.found:,} of {self.people:,} people are unique on the "
                f"unchanged columns ({percent_up(self.found / self.people)}), without it "
                f"{self.before:,}; name it as sensitive or key to keep it"
            )
        coarse = f"{self.form.sentence()}; " if self.form else ""
        return (
            f"{coarse}it makes {self.found - self.before:,} more of {self.people:,} people unique"
        )


def contributions(
    table: OpenedTable,
    settled: Mapping[str, Recoding],
    candidates: Sequence[str],
    tallies: Mapping[str, Tally],
    most: float,
) -> dict[str, Contribution]:
    """What each column adds, in this order: settled ones leave, candidates while few are found.

    Args:
        table: the original data.
        settled: columns that leave unchanged in any case, and in which steps.
        candidates: columns that may leave.
        tallies: the values of each column.
        most: the share of people who may be unique.
    """
    values = _values(table, [*settled, *candidates])
    groups, before, made = np.zeros(0, np.int64), 0, dict[str, Contribution]()
    for name, own in values.items():
        people = len(own.codes)
        groups = groups if len(groups) else np.zeros(people, np.int64)
        rest = max(most * people - before, 0)
        forms = [settled[name]] if name in settled else list(_forms(tallies[name]))
        uniques: list[int] = []
        for place, form in enumerate(forms, start=1):
            joined = joint_groups([groups, own.in_steps(form)])
            uniques.append(int((np.bincount(joined) == 1).sum()))
            room = before + rest * (1.0 if place == len(forms) else SHARE_OF_REST)
            if name in settled or uniques[-1] <= room:
                made[name] = Contribution(before, uniques[-1], people, form=form)
                groups, before = joined, uniques[-1]
                break
        else:
            made[name] = Contribution(before, min(uniques), people, admitted=False)
    return made


def _forms(seen: Tally) -> Iterator[Recoding]:
    """The forms in which a column may leave, the most exact first: as it is, then in steps.

    Steps are round, and cut where few people lie beyond. A cut that changes the mean much is none.
    """
    yield NOTHING
    number = seen.kind in ("integer", "number") and seen.complete and seen.distinct > LEVELS[-1]
    values, shares = distribution(seen) if number else (np.zeros(1), np.ones(1))
    people, (low, middle, high) = int(seen.numbers.sum()), quantiles(values, shares, ENDS)
    if not number or not low < high:
        return
    numbers = np.diff(shares, prepend=0.0)
    for levels in LEVELS:
        step = round_step((high - low) / levels)
        few = max(BEYOND, people / SHARE_BEYOND) / people
        ends = quantiles(values, shares, (few, 1 - few))
        bottom, top = np.floor(ends[0] / step) * step, np.ceil(ends[1] / step) * step
        form = Recoding(bottom=_tidy(bottom), top=_tidy(top), round=_tidy(step))
        shift = float(numbers @ (_in_steps(values, form) - values))
        if abs(shift) <= MOST_SHIFT * float(numbers @ np.abs(values - middle)):
            yield form


def _tidy(number: float) -> float:
    tidy = float(f"{number:.12g}")
    return int(tidy) if tidy.is_integer() else tidy


def _in_steps(numbers: FloatArray, form: Recoding) -> FloatArray:
    held = np.clip(
        numbers,
        -np.inf if form.bottom is None else form.bottom,
        np.inf if form.top is None else form.top,
    )
    return held if form.round is None else np.floor(held / form.round + 0.5) * form.round


@dataclass(frozen=True, eq=False)
class _Values:
    """A column as codes, and the number of each code where it is one of numbers."""

    codes: IntArray
    numbers: FloatArray | None

    def in_steps(self, form: Recoding) -> IntArray:
        if not form or self.numbers is None:
            return self.codes
        coarse = _in_steps(self.numbers, form)
        _, places = np.unique(coarse, return_inverse=True, equal_nan=True)
        return np.asarray(places.ravel()[self.codes], dtype=np.int64)


def _values(table: OpenedTable, names: Sequence[str]) -> dict[str, _Values]:
    """The columns of the first records."""
    if not names or not table.rows:
        return {}
    most, held, records = max(CELLS // len(names), 1), list[pa.RecordBatch](), 0
    for batch in table.batches(list(names)):
        held.append(batch.slice(0, most - records))
        records += len(held[-1])
        if records >= most:
            break
    some = pa.Table.from_batches(held)
    return {name: _coded(some.column(name)) for name in names}


def _coded(column: pa.ChunkedArray) -> _Values:
    whole = column.combine_chunks()
    whole = whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
    coded = whole.dictionary_encode(null_encoding="encode")
    kind = coded.dictionary.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    numbers = coded.dictionary.cast(pa.float64(), safe=False) if number else None
    return _Values(
        np.asarray(coded.indices, dtype=np.int64),
        None if numbers is None else numbers.to_numpy(zero_copy_only=False),
    )
