"""Local suppression: few key cells set to missing, so that every combination occurs k times.

A missing cell counts as a value of its own: every released combination of keys, missing cells
included, is shared by k records or more. (sdcMicro lets a missing cell match every value, which
needs fewer cells; but someone who knows the keys of a person sees that another value is no match,
and can be left with one record.)

The least number of cells is NP-hard to find [Meyerson04]. Here rare records are served by the
number of cells they lose: at each number the set of keys whose suppression serves the most records
comes first. Every rare record without missing cells loses a cell at least, and a combination with a
missing cell needs k records, so that ``least`` bounds what any answer needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pramana.errors import Infeasible
from pramana.schema.joint_cells import joint_groups
from pramana.types import BoolArray, IntArray, Values

MOST_SETS = 4_096
"""With more sets of keys of one size, all keys of the records that are left are suppressed."""


@dataclass(frozen=True, eq=False)
class Suppression:
    """The cells to set to missing (records by keys), and the least number that any answer needs."""

    cells: BoolArray
    least: int


def suppress(
    keys: Sequence[IntArray], missing: Sequence[int], *, k: int, strata: Values | None = None
) -> Suppression:
    """Cells to set to missing, so that every combination of keys occurs k times in its stratum.

    ``keys`` holds the codes of each key, ``missing`` the code of its missing values.
    """
    codes = np.column_stack(keys)
    cells = np.zeros(codes.shape, dtype=bool)
    within = np.zeros(len(codes), np.int64) if strata is None else joint_groups([strata])
    if np.bincount(within).min() < k:
        raise Infeasible(f"Every combination of known columns must have at least k = {k} records.")
    least = 0
    for stratum in range(int(within.max()) + 1):
        rows = np.flatnonzero(within == stratum)
        part = codes[rows]
        rare = _sizes(part) < k
        if rare.any():
            # A rare record with a missing cell can be joined by others and lose nothing
            gaps = (part == missing).any(axis=1)
            least += max(int((rare & ~gaps).sum()), 1 if gaps.any() else k)
            cells[rows] = _suppressed(part, np.asarray(missing), k)
    return Suppression(cells & (codes != missing), least)


def _sizes(codes: IntArray) -> IntArray:
    """The number of records that share the combination of each record."""
    groups = joint_groups(list(codes.T))
    return np.bincount(groups)[groups]


def _suppressed(codes: IntArray, missing: IntArray, k: int) -> BoolArray:
    """The cells of one stratum."""
    keys = codes.shape[1]
    released = codes.copy()
    for number in range(1, keys):
        sets = [np.array(chosen) for chosen in combinations(range(keys), number)]
        while len(sets) <= MOST_SETS:
            rare = _sizes(released) < k
            served = [_served(released, rare, chosen, missing, k) for chosen in sets]
            best = int(np.argmax([rows.size for rows in served]))
            if not served[best].size:
                break
            released[np.ix_(served[best], sets[best])] = missing[sets[best]]
    # The records that are left lose all keys, with others where they are fewer than k
    left = _sizes(released) < k
    while left.any():
        released[left] = missing
        short = k - int((released == missing).all(axis=1).sum())
        if short <= 0:
            break
        sizes, spared = _sizes(released), (released == missing).sum(axis=1)
        whole = (released == missing).all(axis=1)
        order = np.lexsort((sizes, -spared, whole))  # those with the most missing cells first
        first = int(order[0])
        group = np.flatnonzero((released == released[first]).all(axis=1))
        surplus = len(group) - k
        left = np.zeros(len(codes), dtype=bool)
        left[group[: min(short, surplus)] if surplus > 0 else group] = True
    return np.asarray(released != codes)


def _served(
    codes: IntArray, rare: BoolArray, chosen: IntArray, missing: IntArray, k: int
) -> IntArray:
    """The rare records whose combination is shared by k records once these keys are missing."""
    projected = codes.copy()
    projected[np.ix_(np.flatnonzero(rare), chosen)] = missing[chosen]
    return np.flatnonzero(rare & (_sizes(projected) >= k))
