"""People who live together: which records are of one household, and what would link them again.

The number of a household never leaves. Its records are then randomised and shuffled apart, so
that nothing says who lives with whom, unless a column says it that leaves as it is: an income of
the household, to the cent, stands on each of its records. Columns of the household stay equal
within it, as they are; drawn once for all of its people they would link them, drawn for each they
would no longer agree, so that neither is done.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pramana.errors import Infeasible
from pramana.table.alike import alike
from pramana.table.cells import joint_groups
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.types import BoolArray, IntArray

__all__ = ["households_of", "largest_household", "require_unlinked"]

BY_CHANCE = 1e-3
"""A column is of the household if people agree by chance in all of them less often than that."""


SLIPS = 0.02
"""A column is of the household, too, if no more of them differ, and ten times as many by chance."""


def households_of(table: OpenedTable, name: str) -> IntArray:
    """A number for the household of each record; a record without one is a household of its own."""
    codes = _codes(table, name)
    alone = np.flatnonzero(codes < 0)
    codes[alone] = int(codes.max(initial=-1)) + 1 + np.arange(len(alone))
    return codes


def largest_household(table: OpenedTable, name: str) -> int:
    """How many people the largest household has."""
    return int(np.bincount(households_of(table, name)).max())


def require_unlinked(schema: Schema, table: OpenedTable) -> None:
    """Refuse columns of the household that are drawn anew, or that tell which records are of one.

    They are those that are the same for all of every household, or of all but a few: a slip in one
    record must not hide that incomes number the rest. Those that leave as they are must not
    together tell a household of several people from every other one.
    """
    if schema.household is None:
        return
    homes = households_of(table, schema.household)
    several = np.bincount(homes)[homes] > 1
    if not several.any():
        return
    drawn, told, own = [], [], []
    linked = several
    for column in (*schema.randomised, *schema.released_as_is):
        codes = _codes(table, column.name)
        agree = _agreeing(homes, codes)
        whole = bool(agree[several].all())
        if len(np.unique(codes)) == 1 or not (whole or _slips(homes, codes, several, agree)):
            continue
        if column.randomised or column.noisy:
            rarely = whole and _rarely_alike(homes[several], codes[several])
            drawn += [column.name] if rarely else []
        else:
            told.append(column.name)
            own.append(codes)
            linked = linked & agree
    if drawn:
        raise Infeasible(_disagreeing(drawn))
    if not told:
        return
    together = joint_groups(own)
    pairs = np.unique(np.column_stack([together, homes]), axis=0)[:, 0]
    alone = linked & (np.bincount(pairs)[together] == 1)
    if alone.any():
        raise Infeasible(_linked(told, len(np.unique(homes[alone]))))


def _linked(told: list[str], households: int) -> str:
    """What is wrong with columns that tell households apart, and the ways out."""
    names = " and ".join(f"'{name}'" for name in told)
    are, they, them = ("is", "it", "it") if len(told) == 1 else ("are", "they", "them")
    many = "1 household" if households == 1 else f"{households:,} households"
    return (
        f"{names} {are} the same for all of a household, and {they} would tell {many} from all "
        f"others: left as {they} {are}, their records would stay linked. Round or bin {them}, "
        f"or drop {them}."
    )


def _disagreeing(drawn: list[str]) -> str:
    """Why columns of the household are not randomised, and the ways out."""
    names = " and ".join(f"'{name}'" for name in drawn)
    are, them = ("is", "it") if len(drawn) == 1 else ("are", "them")
    so = "it is" if len(drawn) == 1 else "they are"
    return (
        f"{names} {are} the same for all of a household: randomised on each record apart its "
        "people would no longer agree, and drawn once for all of them their records would be "
        f"linked. Leave {them} as {so} (role plain, which counts as known), drop {them}, or "
        f"protect a table of the households with {them}, one record each."
    )


def _rarely_alike(homes: IntArray, codes: IntArray) -> bool:
    """Whether people who go together by chance would hardly all agree within each household."""
    _, people = np.unique(homes, return_counts=True)
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    sizes, many = np.unique(people, return_counts=True)
    chance = [many * np.log((shares**size).sum()) for size, many in zip(sizes, many, strict=True)]
    return bool(sum(chance) < np.log(BY_CHANCE))


def _slips(homes: IntArray, codes: IntArray, several: BoolArray, agree: BoolArray) -> bool:
    """Whether so few households disagree, and so many fewer than by chance, that these are slips.

    What is rare, as a disease, is the same in most households without being of the household.
    """
    _, first, people = np.unique(homes[several], return_index=True, return_counts=True)
    off = 1 - agree[several][first].mean()
    shares = np.unique(codes[several], return_counts=True)[1] / np.count_nonzero(several)
    chance = [(shares**size).sum() for size in np.unique(people)]
    by_chance = 1 - np.average(chance, weights=np.unique(people, return_counts=True)[1])
    return bool(off <= SLIPS and 10 * off <= by_chance)


def _agreeing(homes: IntArray, codes: IntArray) -> BoolArray:
    """For each record, whether all of its household have one value."""
    values = np.unique(np.column_stack([homes, codes]), axis=0)[:, 0]
    agree: BoolArray = np.bincount(values)[homes] == 1
    return agree


def _codes(table: OpenedTable, name: str) -> IntArray:
    """A number for each value, -1 where it is missing."""
    parts = [batch.column(0) for batch in table.batches([name])]
    plain = [p.dictionary_decode() if pa.types.is_dictionary(p.type) else p for p in parts]
    indices = alike(pa.chunked_array(plain).combine_chunks()).dictionary_encode().indices
    return np.asarray(indices.fill_null(-1), dtype=np.int64)
