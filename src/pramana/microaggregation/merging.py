"""Merging of groups by Ward's criterion, until each has enough records and sensitive values.

A cell is a set of equal records. Each cell starts as a group. A group that falls short merges with
the group where that raises the within-group sum of squares least,

    rise(A, B) = mA mB / (mA + mB) |cA - cB|^2,

so that equal records stay together and a cell of k or more costs nothing. Candidates are the few
nearest centres of a k-d tree, and all groups that fall short merge at once in rounds: a million
records take seconds.

Diversity (l distinct sensitive values) and closeness (a distribution near that of the table) are
reached in the same way. Merging never lowers the number of distinct values, and the distance of a
merged group to the table is at most the larger of the two, so that merging ends, at worst with one
group [Li07], [Machanavajjhala06]. Within strata even all records of a stratum can be too far from
the table, which is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.errors import Infeasible, InvalidNumber, InvalidTable
from pramana.microaggregation.groups import cells_of, centres, compact, group_sums, search_space
from pramana.microaggregation.kernels import offers
from pramana.schema.groups import closeness, codes_of
from pramana.types import BoolArray, FloatArray, IntArray

NEAR = 6  # centres that are looked at for a partner
MANY = 5000  # cells from which on threads save more than they take to start
PORTION = 2**17  # cells whose neighbours are looked up at a time

Short = Callable[[IntArray, IntArray], BoolArray]


def merge_cells(points: FloatArray, k: int) -> IntArray:
    """Labels of groups of at least k records made of whole cells."""
    cells = cells_of(points)
    groups = merge_along(centres(points, cells), np.bincount(cells).astype(np.int64), k)
    return merge_short(points, groups[cells], lambda _, sizes: sizes < k)


def merge_along(values: FloatArray, weights: IntArray, k: int) -> IntArray:
    """Merge cells of fewer than k records with near cells; a group is near if a member is."""
    from scipy.spatial import cKDTree

    space = search_space(values)
    order = cKDTree(space).indices  # near cells side by side make the search several times faster
    same = space is values
    values, weights = values[order], weights[order]
    graph = _neighbours(values if same else space[order])
    del space  # as large as the values, and of no more use
    labels, means, sizes = np.arange(len(values)), values, weights
    del values, weights
    while (short := sizes < k).any():
        rise, partner = np.full(sizes.size, np.inf), np.zeros(sizes.size, np.int64)
        offers(means, sizes, short, labels, graph, rise, partner)
        joining = np.flatnonzero(rise < np.inf)
        if joining.size == 0:
            break
        renamed = compact(accept(joining, partner[joining], rise[joining], short))
        labels = renamed[labels]
        sums = group_sums(means, renamed, sizes)
        sizes = np.bincount(renamed, sizes).astype(np.int64)
        means = sums / sizes[:, None]
    result = np.empty_like(labels)
    result[order] = labels
    return result


def _neighbours(space: FloatArray) -> NDArray[np.int32]:
    """The nearest points of every point, itself among them; searched a portion at a time."""
    from scipy.spatial import cKDTree

    tree, near = cKDTree(space), min(NEAR + 1, len(space))
    workers = -1 if len(space) > MANY else 1
    graph = np.empty((len(space), near), np.int32)
    for begin in range(0, len(space), PORTION):
        portion = slice(begin, begin + PORTION)
        graph[portion] = tree.query(space[portion], near, workers=workers)[1].reshape(-1, near)
    return graph


def merge_short(points: FloatArray, labels: IntArray, short: Short) -> IntArray:
    """Merge groups until ``short(labels, sizes)`` is true of none, or one group is left."""
    from scipy.spatial import cKDTree

    while True:
        sizes = np.bincount(labels).astype(np.int64)
        wanting = short(labels, sizes)
        if sizes.size == 1 or not wanting.any():
            return labels
        means, joining = centres(points, labels), np.flatnonzero(wanting)
        space = search_space(means)
        distance, partners = cKDTree(space).query(space[joining], min(NEAR + 1, sizes.size))
        joining_sizes, partner_sizes = sizes[joining, None], sizes[partners]
        rise = np.where(
            partners == joining[:, None],
            np.inf,
            distance**2 * (joining_sizes * partner_sizes / (joining_sizes + partner_sizes)),
        )
        rows, best = np.arange(joining.size), rise.argmin(axis=1)
        labels = compact(accept(joining, partners[rows, best], rise[rows, best], wanting)[labels])


def accept(joining: IntArray, partner: IntArray, rise: FloatArray, short: BoolArray) -> IntArray:
    """For every group the group that it joins, itself where it stays.

    ``joining`` would join ``partner`` at the cost ``rise``, and does unless one of the two has a
    better offer; a group that does not fall short accepts all. The least rise of all is always
    accepted, so that every round makes progress.
    """
    # Equal offers are told apart by their order, so that two never take each other's partner.
    offer = np.empty(joining.size, np.int64)
    offer[np.argsort(rise, kind="stable")] = np.arange(joining.size)
    least = np.full(short.size, joining.size, np.int64)
    least[joining] = offer
    partner_is_short = short[partner]
    np.minimum.at(least, partner[partner_is_short], offer[partner_is_short])
    taken = (offer == least[joining]) & (~partner_is_short | (offer == least[partner]))
    target = np.arange(short.size, dtype=np.int64)
    target[joining[taken]] = partner[taken]
    return target


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column with what every group must have of it.

    Args:
        name: of the column, for messages.
        codes: one number a value: 0, 1, 2, ...; in the order of the values where ordered.
        l: at least so many distinct values in every group; a missing one is none.
        t: at most so far from the distribution in the whole table.
        ordered: distances between values count steps [Li07, ordered distance]; otherwise two
            different values are at distance 1, and the distance is the total variation.
        whole: the share of every value in the whole table, where these records are a part of it.
        missing: the code of missing values, which lies above all others, where there are some.
    """

    name: str
    codes: IntArray
    l: int = 1  # noqa: E741 - the letter of the notion
    t: float = 1.0
    ordered: bool = False
    whole: FloatArray | None = None
    missing: int | None = None

    def __post_init__(self) -> None:
        if self.l < 1:
            raise InvalidNumber(f"l must be an integer >= 1, got {self.l!r}.")
        if not 0 <= self.t <= 1:
            raise InvalidNumber(f"t must be a number in [0, 1], got {self.t!r}.")
        values = int(np.unique(self.codes[self._present]).size)
        if values < self.l:
            raise Infeasible(
                f"No grouping gives l = {self.l} distinct values of {self.name!r}: the table has "
                f"{values}. Lower l.",
                column=self.name,
            )

    @classmethod
    def of(cls, name: str, values: ArrayLike, **requirements: Any) -> Sensitive:
        """From the column itself: numbers count as ordered, everything else as unordered."""
        array = np.asarray(values)
        if array.ndim != 1:
            raise InvalidTable(f"Sensitive column {name!r} must be one column.", column=name)
        codes, missing, number = codes_of(array)
        return cls(name, codes, ordered=number, missing=missing, **requirements)

    @property
    def _present(self) -> BoolArray:
        """Which records have a value."""
        return np.asarray(self.codes != self.missing, dtype=bool)

    def part(self, rows: IntArray | slice) -> Sensitive:
        """The same column on some rows, to be held against the whole table still."""
        whole = shares(self.codes) if self.whole is None else self.whole
        return replace(self, codes=self.codes[rows], whole=whole)

    def short(self, labels: IntArray, sizes: IntArray) -> BoolArray:
        """Which groups do not have what is asked."""
        wanting = np.zeros(sizes.size, bool)
        if self.l > 1:
            present = self._present
            width = int(self.codes[present].max(initial=0)) + 1
            pairs = np.unique(labels[present] * width + self.codes[present])
            wanting |= np.bincount(pairs // width, minlength=sizes.size) < self.l
        if self.t < 1:
            # a whole table is at distance 0 but for rounding
            whole = shares(self.codes) if self.whole is None else self.whole
            far = closeness(labels, self.codes, whole, ordered=self.ordered)
            wanting |= far > self.t + 1e-12
        return wanting


def shares(codes: IntArray) -> FloatArray:
    """How often every value occurs, as a share of all."""
    return np.bincount(codes) / codes.size


def diversify(points: FloatArray, labels: IntArray, columns: tuple[Sensitive, ...]) -> IntArray:
    """Merge groups until every one has what is asked of every sensitive column."""
    if not columns:
        return labels

    def short(groups: IntArray, sizes: IntArray) -> BoolArray:
        wanting = np.zeros(sizes.size, bool)
        for column in columns:
            wanting |= column.short(groups, sizes)
        return wanting

    merged = merge_short(points, labels, short)
    if short(merged, np.bincount(merged)).any():
        raise Infeasible(
            "In some stratum even all records together do not have what is asked of the sensitive "
            "columns. Ask for less (closeness, distinct), or merge strata."
        )
    return merged
