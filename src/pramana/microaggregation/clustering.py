"""Groups of at least k similar records [Wei, sec. 3.1].

``cluster`` is the public face: an array or data frame of numbers in, one label a record out.
``form_groups`` is the same for keys of all kinds, with the quality of the result.

The default merges whole cells of equal records in Ward's way and then regroups the members of
neighbouring groups while that pays; a table of few records is annealed on top. It costs time
n log n, and its within-group sum of squares is well below those of ``greedy`` (the paper's) and
``mdav`` (the field's): benchmarks/clustering.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.randomness import Address, Keystream, Stream
from pramana.base.rounding import require_choice
from pramana.errors import Infeasible, InvalidNumber, InvalidTable
from pramana.microaggregation.groups import (
    Clustering,
    Key,
    bounds,
    chop,
    compact,
    embed,
    made_once,
    number_columns,
    order_of_values,
    put_back,
    sharing,
    within,
)
from pramana.microaggregation.kernels import announce_compilation, greedy, mdav
from pramana.microaggregation.merging import Sensitive, diversify, merge_cells
from pramana.microaggregation.refinement import (
    CHUNK,
    FEW,
    LARGE,
    anneal,
    improve,
    improve_large,
    tries_for,
)
from pramana.types import Columnar, FloatArray, IntArray, Values

METHODS: tuple[str, ...] = get_args(Clustering)

NO_LIMIT = 2**60
MDAV_PAYS = 200_000_000  # comparisons of two records that mdav may cost as a start
NOTHING_PROTECTED = "k = 1 protects nothing: every record may stay as it is."


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
    """One label a record, such that every group has at least k records.

    Args:
        points: an array or data frame of numbers, one row a record. Columns are standardised;
            a missing value (nan) is one unit away from all others along an axis of its own.
        k: the least number of records in a group.
        method: ``default``, ``greedy``, ``mdav`` or ``cells`` (whole cells of equal records).
        response: further numbers that similar records should share: an array, or names of columns
            of the data frame.
        response_weight: the weight w of each response beside a key [Wei, eq. 4].
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
