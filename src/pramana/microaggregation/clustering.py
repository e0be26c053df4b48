"""Groups of at least k similar records [Wei, sec. 3.1].

``cluster`` is the public face: an array or data frame of numbers in, one label per record out.
``form_groups`` is the same for keys of all kinds, with the quality of the result.

The default merges whole cells of equal records in Ward's way and then regroups the members of
neighbouring groups while that pays; a table of few records is annealed on top. It costs time
n log n, and its within-group sum of squares is well below those of ``greedy`` (the paper's) and
``mdav`` (the field's): benchmarks/clustering.py.

A cell is a set of equal records. Each cell starts as a group. A group that falls short merges with
the group where that raises the within-group sum of squares least,

    rise(A, B) = mA mB / (mA + mB) |cA - cB|^2,

so that equal records stay together and a cell of k or more costs nothing. Candidates are the few
nearest centres of a k-d tree, and all groups that fall short merge at once in rounds.

Diversity (l distinct sensitive values) and closeness (a distribution near that of the table) are
reached in the same way. Merging never lowers the number of distinct values, and the distance of a
merged group to the table is at most the larger of the two, so that merging ends, at worst with one
group [Li07], [Machanavajjhala06]. Within strata even all records of a stratum can be too far from
the table, which is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.base.randomness import Address, Keystream, Stream
from pramana.base.rounding import require_choice
from pramana.errors import Infeasible, InvalidNumber, InvalidTable
from pramana.microaggregation.groups import (
    Clustering,
    Key,
    bounds,
    cells_of,
    centres,
    chop,
    compact,
    embed,
    group_sums,
    made_once,
    number_columns,
    order_of_values,
    put_back,
    search_space,
    sharing,
    within,
)
from pramana.microaggregation.kernels import announce_compilation, greedy, mdav, offers
from pramana.microaggregation.refinement import (
    CHUNK,
    FEW,
    LARGE,
    anneal,
    improve,
    improve_large,
    tries_for,
)
from pramana.schema.group_sizes import closeness, codes_of
from pramana.types import BoolArray, Columnar, FloatArray, IntArray, Values

METHODS: tuple[str, ...] = get_args(Clustering)

NO_LIMIT = 2**60
MDAV_PAYS = 200_000_000  # comparisons of two records that mdav may cost as a start
NOTHING_PROTECTED = "k = 1 protects nothing: every record may be released unchanged."

NEAR = 6  # centres that are looked at for a partner
MANY = 5000  # cells from which on threads save more than they take to start
PORTION = 2**17  # cells whose neighbours are looked up at a time

Short = Callable[[IntArray, IntArray], BoolArray]


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column with what every group must have of it.

    Args:
        name: of the column, for messages.
        codes: one number a value: 0, 1, 2, ...; in the order of the values where ordered.
        l: at least this many distinct values in every group; a missing one is none.
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


@dataclass(frozen=True, eq=False)
class Groups:
    """Which record is in which group, and how tight the groups are."""

    labels: IntArray
    within: float
    total: float

    @property
    def sizes(self) -> IntArray:
        """Number of records of every group."""
        return np.bincount(self.labels).astype(np.int64)

    @property
    def share(self) -> float:
        """The sum of squares within groups over the total one: 0 best, 1 worst."""
        return self.within / self.total if self.total > 0 else 0.0


class GroupOptions(TypedDict, total=False):
    """What groups must be like besides having k records; see :func:`cluster`."""

    response_weight: float
    max_size: int | None
    sensitive: tuple[Sensitive, ...]
    strata: Values | None


def cluster(
    points: ArrayLike | Columnar,
    k: int = 5,
    method: str = "default",
    *,
    response: ArrayLike | None = None,
    response_weight: float = 1.0,
    max_size: int | None = None,
    sensitive: ArrayLike | None = None,
    l: int = 1,  # noqa: E741 - the letter of the notion
    t: float = 1.0,
    strata: ArrayLike | None = None,
    seed: int = 0,
) -> IntArray:
    """One label per record, such that every group has at least k records.

    Args:
        points: an array or data frame of numbers, one row per record. Columns are standardised;
            a missing value (nan) is one unit away from all others along a separate axis.
        k: the least number of records in a group.
        method: ``default``, ``greedy``, ``mdav`` or ``cells`` (whole cells of equal records).
        response: further numbers that similar records should share: an array, or names of columns
            of the data frame.
        response_weight: the weight w of each response relative to a key [Wei, eq. 4].
        max_size: the largest size of a group, at least 2k - 1; without it there is no limit.
        sensitive: a column of which every group must hold at least ``l`` distinct values, and whose
            distribution in every group must be within ``t`` of that in the table.
        l: see ``sensitive``.
        t: see ``sensitive``.
        strata: groups never cross the strata that this column names.
        seed: the same seed gives the same groups.

    >>> cluster([[1.0], [9.0], [1.1], [9.2]], k=2).tolist()
    [0, 1, 0, 1]
    """
    keys, responses = number_columns(points, response)
    if k == 1:
        warnings.warn(NOTHING_PROTECTED, UserWarning, stacklevel=2)
    columns = () if sensitive is None else (Sensitive.of("sensitive", sensitive, l=l, t=t),)
    groups = form_groups(
        keys,
        k=k,
        method=method,
        responses=responses,
        response_weight=response_weight,
        max_size=max_size,
        sensitive=columns,
        strata=None if strata is None else np.asarray(strata),
        keystream=Keystream.from_seed(seed),
    )
    return groups.labels


def form_groups(
    keys: Sequence[Key],
    *,
    k: int,
    keystream: Keystream,
    method: str = "default",
    responses: Sequence[Key] = (),
    response_weight: float = 1.0,
    max_size: int | None = None,
    sensitive: tuple[Sensitive, ...] = (),
    strata: Values | None = None,
) -> Groups:
    """Groups of at least k records by keys of any kind; see :func:`cluster` for the options."""
    if not keys or len(keys[0].values) == 0:
        raise InvalidTable("Clustering needs at least one record and one key.")
    n = len(keys[0].values)
    _check(n, k, method, max_size, response_weight)
    lengths = [column.codes.size for column in sensitive]
    lengths += [] if strata is None else [np.asarray(strata).size]
    if any(length != n for length in lengths):
        raise InvalidTable(f"Sensitive columns and strata must have one value a record: {n}.")
    announce_compilation()
    k, limit = int(k), NO_LIMIT if max_size is None else int(max_size)  # NumPy integers too

    def cluster_in_order(order: IntArray | slice) -> Groups:
        points = embed(
            [key.at(order) for key in keys],
            responses=[response.at(order) for response in responses],
            weight=response_weight,
        )
        if points.shape[1] == 0:  # nothing tells the records apart
            points = np.zeros((n, 1))
        ordered_strata = None if strata is None else np.asarray(strata)[order]
        return _cluster_strata(points, k, method, limit, keystream, sensitive, ordered_strata)

    if sensitive or not sharing():
        return cluster_in_order(slice(None))
    columns: list[Values] = [key.values for key in (*keys, *responses)]
    if strata is not None:
        columns.append(np.unique(np.asarray(strata), return_inverse=True)[1].ravel())
    order = order_of_values(columns)
    options = (k, method, limit, response_weight, [key.kind for key in keys], len(responses))
    groups = made_once(
        options, [column[order] for column in columns], lambda: cluster_in_order(order)
    )
    return replace(groups, labels=put_back(groups.labels, order))


def _cluster_strata(
    points: FloatArray,
    k: int,
    method: str,
    limit: int,
    keystream: Keystream,
    sensitive: tuple[Sensitive, ...],
    strata: Values | None,
) -> Groups:
    """Cluster every stratum, and merge groups that lack sensitive values."""
    n = len(points)
    labels = np.zeros(n, np.int64)
    for number, rows in enumerate(_strata(k, strata)):
        stream = Stream("clustering", number)
        sensitive_part = tuple(column.part(rows) for column in sensitive)
        part = _cluster_part(points[rows], k, method, limit, keystream, stream)
        if method == "default" and n <= FEW and k <= LARGE:
            part = _annealed(points[rows], part, k, limit, keystream, stream)
        labels[rows] = labels.max() + 1 + diversify(points[rows], part, sensitive_part)
    labels = compact(labels)
    # Refuse groups above the limit: merging for sensitive columns knows none
    size = int(np.bincount(labels).max())
    if size > limit:
        raise Infeasible(
            f"Groups that meet the requirements on sensitive columns have up to {size} records, "
            f"more than max_size = {limit}. Raise max_size or lower the requirements."
        )
    return Groups(labels, within(points, labels), within(points, np.zeros(n, np.int64)))


def _cluster_part(
    points: FloatArray, k: int, method: str, limit: int, keystream: Keystream, stream: Address
) -> IntArray:
    points = np.ascontiguousarray(points)
    n = len(points)
    if k == 1:
        return np.arange(n)
    if method == "greedy":
        first = int(keystream.integers(Stream(stream, "first"), 0, n, count=1)[0])
        labels = greedy(points, k=k, first=first)
    elif method == "mdav":
        labels = mdav(points, k=k)
    else:
        labels = merge_cells(points, k)
    if limit < NO_LIMIT:
        labels = chop(points, labels, limit)
    if method == "default" and n >= 2 * k:
        if k <= LARGE:
            words = _epoch_words(labels, k, keystream, stream)
            labels = improve(points, labels, k=k, limit=limit, words=words)
        else:
            starts = [labels]
            if len(points) ** 2 // k <= MDAV_PAYS:
                starts.append(mdav(points, k=k))
            candidates = [improve_large(points, start, k=k, limit=limit) for start in starts]
            labels = min(candidates, key=lambda groups: within(points, groups))
        if limit < NO_LIMIT:
            labels = chop(points, labels, limit)
    return labels


def _annealed(
    points: FloatArray, labels: IntArray, k: int, limit: int, keystream: Keystream, stream: Address
) -> IntArray:
    """Better groups of a table of few records, and once more what annealing leaves at hand."""
    if k == 1 or labels.max() == 0:
        return labels
    low, high = bounds(points, labels)
    if (low == high).all():  # every group is one cell: nothing is left to gain
        return labels
    points = np.ascontiguousarray(points)
    trial_words = (
        keystream.words(Stream(stream, "anneal"), at * CHUNK, count).view(np.int64)
        for at, count in enumerate(tries_for(len(points)))
    )
    annealed = anneal(points, labels, k=k, limit=limit, words=trial_words)
    if np.array_equal(annealed, labels):
        return labels
    words = _epoch_words(annealed, k, keystream, Stream(stream, "polish"))
    labels = improve(points, annealed, k=k, limit=limit, words=words)
    return chop(points, labels, limit) if limit < NO_LIMIT else labels


def _epoch_words(
    labels: IntArray, k: int, keystream: Keystream, stream: Address
) -> Iterator[IntArray]:
    """Random words for every epoch: more epochs where there are few groups, as they cost less."""
    groups, count = int(labels.max()) + 1, labels.size // k
    epochs = min(24, max(4, 80_000 // (groups * k)))
    epochs_at_once = max(1, CHUNK // count)  # every call begins a cipher
    for begin in range(0, epochs, epochs_at_once):
        epochs_now = min(epochs_at_once, epochs - begin)
        words = keystream.words(stream, begin * count, epochs_now * count).view(np.int64)
        yield from words.reshape(epochs_now, count)


def _strata(k: int, strata: Values | None) -> Sequence[IntArray | slice]:
    """The rows of every stratum."""
    if strata is None:
        return [slice(None)]
    codes = np.unique(np.asarray(strata), return_inverse=True)[1].ravel()
    sizes = np.bincount(codes)
    few = sizes < k
    if few.any():
        raise Infeasible(
            f"Every stratum must have at least k = {k} records; {int(few.sum())} of {sizes.size} "
            f"have fewer, the smallest {int(sizes.min())}. Lower k or merge strata."
        )
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])


def _check(n: int, k: int, method: str, max_size: int | None, weight: float) -> None:
    require_choice("method", method, METHODS)
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise InvalidNumber(f"k must be an integer >= 1, got {k!r}.")
    if k > n:
        raise Infeasible(f"No group can have k = {k} records: there are {n}. Lower k.")
    if max_size is not None and max_size < 2 * k - 1:
        raise InvalidNumber(
            f"max_size must be at least 2k - 1 = {2 * k - 1}, got {max_size!r}: otherwise some "
            "numbers of records cannot be divided."
        )
    if not 0 <= weight < np.inf:
        raise InvalidNumber(f"The weight of a response must be a number >= 0, got {weight!r}.")


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
            "In some stratum even all records together do not meet the requirements on sensitive "
            "columns. Lower them (closeness, distinct), or merge strata."
        )
    return merged
