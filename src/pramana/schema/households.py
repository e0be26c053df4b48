"""Households: which records belong together, and which columns would link them again.

The household number is never released. Records of a household are randomised and shuffled
independently, so that nothing links them unless a column does that is released unchanged, such as
an exact household income. Columns of the household must be released unchanged: drawn once for all
members they would link them, drawn for each they would disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pramana.base.text import counted, quoted
from pramana.errors import Infeasible
from pramana.schema.joint_cells import joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Schema
from pramana.types import BoolArray, IntArray

BY_CHANCE = 1e-3
"""In a household column, all households agree by chance with at most this probability."""


SLIPS = 0.02
"""Members may differ in this share of households; by chance, ten times as many would."""


def households_of(table: OpenedTable, name: str) -> IntArray:
    """A number for the household of each record; a record without one is a separate household."""
    codes = value_codes(table.first([name]).column(0))
    alone = np.flatnonzero(codes < 0)
    codes[alone] = int(codes.max(initial=-1)) + 1 + np.arange(len(alone))
    return codes


def largest_household(table: OpenedTable, name: str) -> int:
    """How many people the largest household has."""
    return int(np.bincount(households_of(table, name)).max())


def people_in_identified_households(homes: IntArray, values: IntArray) -> int:
    """People who live with somebody whose values nobody else has, that person included.

    An attacker who knows the members of a household together needs to find only one of them.
    ``values`` has a code for the values of each person.

    >>> people_in_identified_households(np.array([0, 0, 1, 1, 2]), np.array([7, 8, 7, 7, 7]))
    2
    """
    alone = np.bincount(values)[values] == 1
    members = np.bincount(homes[alone], minlength=int(homes.max(initial=-1)) + 1)
    return int((members[homes] > 0).sum())


def require_unlinked(schema: Schema, table: OpenedTable) -> None:
    """Refuse household columns that are randomised, or that identify households.

    docs/proofs/households.md defines household columns. The unchanged ones together must not
    distinguish several members of a household from everybody else. Their roles must count as
    known: an attacker who knows who lives with whom knows that they agree.
    """
    if schema.household is None:
        return
    homes = households_of(table, schema.household)
    several = np.bincount(homes)[homes] > 1
    if not several.any():
        return
    columns = [
        _household_column(table, column, homes, several)
        for column in (*schema.randomised, *schema.released_as_is)
    ]
    drawn = [column.name for column in columns if column.drawn and column.shared]
    if drawn:
        raise Infeasible(
            "{drawn}: equal for all members of a household, so they cannot be randomised. "
            "Randomised separately, members would disagree; randomised once per household, their "
            "records would be linked. Release these columns unchanged (role public, which counts "
            "as known), drop them, or protect a table of the households with them.",
            without=tuple(drawn),
            drawn=quoted(drawn),
        )
    linking = {c.name: c for c in columns if not c.drawn and (c.whole or c.shared)}
    if not linking:
        return
    # People who differ in one column may agree in another: each partly shared one is tried alone.
    partly = [name for name, column in linking.items() if not column.whole]
    tried = [[n for n in linking if n not in partly or n == name] for name in partly]
    alone = np.zeros(len(homes), dtype=bool)
    for names in (list(linking), *tried):
        alone |= _identifies_household(homes, [linking[name].codes for name in names])
    if alone.any():
        households = counted(len(np.unique(homes[alone])), "household")
        raise Infeasible(
            "{linking}: equal for all or some members of a household, and they distinguish "
            "{households} from all others. Released unchanged, these columns link the records of "
            "a household. Round or bin them, with role public, or drop them.",
            without=tuple(linking),
            linking=quoted(list(linking)),
            households=households,
        )
    unknown = [n for n, column in linking.items() if column.shared and n not in schema.known]
    if unknown:
        raise Infeasible(
            "{unknown}: equal for all members of a household, and sensitive. An attacker who "
            "knows who lives with whom can link records that agree in them, more often than "
            "guaranteed. Give these columns role public, or drop them.",
            without=tuple(unknown),
            unknown=quoted(unknown),
        )


def columns_of_households(
    columns: Iterable[Column], table: OpenedTable, household: str, *, anonymity_set: int
) -> dict[str, bool]:
    """Which columns ``require_unlinked`` would refuse, and whether each may be released unchanged.

    Columns with the fewest values stay, as long as they identify no household and leave everybody
    among ``anonymity_set`` records.
    """
    homes = households_of(table, household)
    several = np.bincount(homes)[homes] > 1
    if not several.any():
        return {}
    looked_at = [_household_column(table, column, homes, several) for column in columns]
    shared = sorted((c for c in looked_at if c.shared), key=lambda c: int(c.codes.max()))
    by_chance = [c.codes for c in looked_at if c.whole and not c.shared and not c.drawn]
    kept: list[IntArray] = []
    stays: dict[str, bool] = {}
    for column in shared:
        together = [*kept, column.codes]
        linked = _identifies_household(homes, [*by_chance, *together]).any()
        smallest = int(np.bincount(joint_groups(together)).min())
        stays[column.name] = column.whole and not linked and smallest >= anonymity_set
        if stays[column.name]:
            kept = together
    return stays


class _HouseholdColumn(NamedTuple):
    """A column, and whether it is of the household."""

    name: str
    codes: IntArray
    whole: bool
    """Whether all of every household have one value, by chance or not."""
    shared: bool
    """Whether more do than by chance."""
    drawn: bool
    """Whether it is randomised or gets noise."""


def _household_column(
    table: OpenedTable, column: Column, homes: IntArray, several: BoolArray
) -> _HouseholdColumn:
    codes = value_codes(table.first([column.name]).column(0))
    drawn = column.randomised or column.noisy
    if len(np.unique(codes)) == 1:
        return _HouseholdColumn(column.name, codes, whole=False, shared=False, drawn=drawn)
    agree = _agreement(homes, codes)
    whole = bool(agree[several].all())
    shared = whole and _beyond_chance(homes[several], codes[several])
    if not shared and not column.randomised:
        shared = _slips(homes, codes, several, agree) or _partly(homes, codes)
    return _HouseholdColumn(column.name, codes, whole, shared, drawn)


def _identifies_household(homes: IntArray, columns: list[IntArray]) -> BoolArray:
    """For each record, whether others of its household, and nobody else, are equal in all these."""
    together = joint_groups(columns)
    pairs = np.unique(np.column_stack([together, homes]), axis=0)[:, 0]
    alone: BoolArray = (np.bincount(pairs) == 1) & (np.bincount(together) > 1)
    return alone[together]


def _partly(homes: IntArray, codes: IntArray) -> bool:
    """Whether those who have a value agree, or some of a household share what nobody else has."""
    known = codes >= 0
    homes, codes = homes[known], codes[known]
    if not len(codes):
        return False
    several = np.bincount(homes)[homes] > 1
    if not several.any():
        return False
    agree = _agreement(homes, codes)
    same = bool(agree[several].all()) or _slips(homes, codes, several, agree)
    if same and _beyond_chance(homes[several], codes[several]):
        return True
    # Whether more than a few households have a value of their own, and more than by chance
    from scipy.special import pdtrc

    alone = _identifies_household(homes, [codes])
    singled_out = len(np.unique(homes[alone]))
    if singled_out <= SLIPS * len(np.unique(homes[several])):
        return False
    people = np.bincount(homes).astype(np.float64)
    pair = float((people * (people - 1)).sum()) / (len(homes) * (len(homes) - 1))
    repeated = int(np.count_nonzero(np.unique(codes, return_counts=True)[1] > 1))
    return bool(pdtrc(singled_out - 1, repeated * pair) < BY_CHANCE)


def _beyond_chance(homes: IntArray, codes: IntArray) -> bool:
    """Whether people who go together by chance would hardly all agree within each household."""
    _, people = np.unique(homes, return_counts=True)
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    sizes, many = np.unique(people, return_counts=True)
    chance = [many * np.log((shares**size).sum()) for size, many in zip(sizes, many, strict=True)]
    return bool(sum(chance) < np.log(BY_CHANCE))


def _slips(homes: IntArray, codes: IntArray, several: BoolArray, agree: BoolArray) -> bool:
    """Whether few households disagree, ten times fewer than by chance: these are errors."""
    _, first, people = np.unique(homes[several], return_index=True, return_counts=True)
    off = 1 - agree[several][first].mean()
    shares = np.unique(codes[several], return_counts=True)[1] / np.count_nonzero(several)
    chance = [(shares**size).sum() for size in np.unique(people)]
    by_chance = 1 - np.average(chance, weights=np.unique(people, return_counts=True)[1])
    return bool(off <= SLIPS and 10 * off <= by_chance)


def _agreement(homes: IntArray, codes: IntArray) -> BoolArray:
    """For each record, whether all of its household have one value."""
    values = np.unique(np.column_stack([homes, codes]), axis=0)[:, 0]
    agree: BoolArray = np.bincount(values)[homes] == 1
    return agree
