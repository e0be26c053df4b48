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
from pramana.schema.joint_cells import joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.recoding import NOTHING, Recoding
from pramana.schema.tally import Tally, quantiles, round_step, tidy
from pramana.types import FloatArray, IntArray

LEVELS: Final = (40, 20, 10, 5)  # about as many different values a number in steps has
SHARE_OF_REST: Final = 0.5
"""In its exact forms a column may find this share of those who may be found; then all of them."""

ENDS: Final = (0.05, 0.5, 0.95)  # steps divide the range between the outer two of these quantiles
BEYOND: Final = 20
SHARE_BEYOND: Final = 400
"""The fewest people, and one in how many, with numbers beyond the outermost steps."""

MOST_SHIFT: Final = 0.1  # the mean may change by this share of the mean distance from the median
CELLS: Final = 2**26  # values of all columns that are looked at: those of the first records


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
    names = [*settled, *candidates]
    if not names or not table.rows:
        return {}
    some = table.first(names, max(CELLS // len(names), 1))
    people = some.num_rows
    groups, before, made = np.zeros(people, np.int64), 0, dict[str, Contribution]()
    for name in names:
        column = some.column(name)
        rest = max(most * people - before, 0)
        forms = [settled[name]] if name in settled else list(_forms(tallies[name]))
        uniques: list[int] = []
        for place, form in enumerate(forms, start=1):
            joined = joint_groups([groups, _codes_in_steps(column, form)])
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
    values, shares = seen.distribution if number else (np.zeros(1), np.ones(1))
    people, (low, middle, high) = int(seen.numbers.sum()), quantiles(values, shares, ENDS)
    if not number or not low < high:
        return
    numbers = np.diff(shares, prepend=0.0)
    for levels in LEVELS:
        step = round_step((high - low) / levels)
        few = max(BEYOND, people / SHARE_BEYOND) / people
        ends = quantiles(values, shares, (few, 1 - few))
        bottom, top = np.floor(ends[0] / step) * step, np.ceil(ends[1] / step) * step
        form = Recoding(bottom=tidy(bottom), top=tidy(top), round=tidy(step))
        shift = float(numbers @ (_in_steps(values, form) - values))
        if abs(shift) <= MOST_SHIFT * float(numbers @ np.abs(values - middle)):
            yield form


def _in_steps(numbers: FloatArray, form: Recoding) -> FloatArray:
    low = -np.inf if form.bottom is None else form.bottom
    high = np.inf if form.top is None else form.top
    held = np.clip(numbers, low, high)
    return held if form.round is None else np.floor(held / form.round + 0.5) * form.round


def _codes_in_steps(column: pa.ChunkedArray, form: Recoding) -> IntArray:
    """A code for each record; numbers that one step holds have one."""
    if not form or not is_number(column.type):
        return value_codes(column)
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    numbers = coded.dictionary.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    _, places = np.unique(_in_steps(numbers, form), return_inverse=True, equal_nan=True)
    return np.asarray(places.ravel()[np.asarray(coded.indices, dtype=np.int64)], dtype=np.int64)
