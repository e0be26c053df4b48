"""Replace the keys of a table inside groups: by the keys of a donor, or by the centre of the group.

A donor is a member of the group drawn with replacement, another member in a random order of the
group, or one member for each key; ``rosenblatt.py`` has Gaussian donors. The new keys of a record
depend on its group alone, which k-anonymity rests on.

Sequential draws: a key is drawn given one other key, the one with which it has the largest mutual
information in the table; these pairs form a tree [Chow-Liu]. Given all keys before it, a chain of
draws would release whole records. In every group each key, and each pair of the tree, keeps its
distribution.

Local suppression: few key cells set to missing, so that every combination occurs k times.

A missing cell counts as a separate value: every released combination of keys, missing cells
included, is shared by k records or more. (sdcMicro lets a missing cell match every value, which
needs fewer cells; but someone who knows the keys of a person sees that another value is no match,
and can be left with one record.)

The least number of cells is NP-hard to find [Meyerson04]. Here rare records are served by the
number of cells they lose: at each number the set of keys whose suppression serves the most records
comes first. Every rare record without missing cells loses a cell at least, and a combination with a
missing cell needs k records, so that ``least`` bounds what any answer needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.randomness import Address, Keystream, Stream
from pramana.errors import Infeasible, InvalidTable, UnknownColumn
from pramana.microaggregation.clustering import GroupOptions, Groups, form_groups
from pramana.microaggregation.groups import Key, compact, numbers_of
from pramana.schema.codec import alike, decode, encode
from pramana.schema.domains import Categories
from pramana.schema.joint_cells import cell_counts, joint_groups
from pramana.schema.opened_table import without_dictionary
from pramana.schema.schema import Column
from pramana.types import BoolArray, FloatArray, IntArray, Values

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
        raise Infeasible(
            "Every combination of known columns must have at least k = {k} records.", k=k
        )
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


@dataclass(frozen=True, eq=False)
class Anonymised:
    """A table with new keys, and what may be said about the groups behind them.

    Attributes:
        table: the records in their old order; shuffle before publication.
        sizes: the number of records of every group, in rising order: of no group in particular.
        share: the sum of squares within groups over the total.
        permuted_copy: the original records with the keys of each group permuted once more. To an
            adversary who knows keys, groups and release it is as likely as the original data.
    """

    table: pa.Table
    sizes: tuple[int, ...]
    share: float
    permuted_copy: pa.Table


def key_of(column: Column, values: pa.ChunkedArray) -> Key:
    """One key as numbers: the number itself, or the place of the category in the domain."""
    domain = column.domain
    if domain is None:
        return Key(column.name, numbers_of(column.name, values))
    codes = encode(column, values).astype(np.float64)
    missing = codes >= domain.size
    labels = domain.labels[: domain.size]
    if domain.ordered:
        return Key(column.name, np.where(missing, np.nan, codes), "ordered")
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        numbers = np.array([float(label) for label in labels if label is not None] + [np.nan])
        places = np.minimum(codes, domain.size).astype(np.int64)  # whatever stands for missing
        return Key(column.name, numbers[places])
    return Key(column.name, np.where(missing, np.nan, codes), "unordered")


def anonymise(
    table: pa.Table,
    keys: Sequence[Column],
    *,
    k: int,
    donors: Donors,
    keystream: Keystream,
    clustering: str = "default",
    responses: Sequence[str] = (),
    **options: Unpack[GroupOptions],
) -> Anonymised:
    """Group the records by their keys and replace the keys inside the groups.

    ``keys`` describes each key, ``donors`` gives the records whose keys are released, and
    ``responses`` names numbers that similar records should share [Wei, eq. 4].
    """
    for name in (*(column.name for column in keys), *responses):
        if name not in table.column_names:
            raise UnknownColumn("The table has no column {column!r}.", column=name)
    key_values = [key_of(column, table.column(column.name)) for column in keys]
    response_keys = [Key(name, numbers_of(name, table.column(name))) for name in responses]
    groups = form_groups(
        key_values, k=k, keystream=keystream, method=clustering, responses=response_keys, **options
    )
    new = replace_keys(table, keys, key_values, groups, donors, keystream)
    sizes = tuple(sorted(groups.sizes.tolist()))
    permuted = permute_columns(table, [column.name for column in keys], groups.labels, keystream)
    return Anonymised(new, sizes, groups.share, permuted)


def replace_keys(
    table: pa.Table,
    columns: Sequence[Column],
    keys: Sequence[Key],
    groups: Groups,
    donors: Donors,
    keystream: Keystream,
) -> pa.Table:
    """The table with the keys of the donors, or of the centres of groups."""
    if len(columns) != len(keys) or table.num_rows != groups.labels.size:
        raise InvalidTable("Keys, groups and table must describe the same records.")
    sources: Sequence[IntArray | None] | None = donors(keys, groups.labels, keystream)
    if sources is None:  # every key gets the centre of its group
        sources = [None] * len(keys)
    for column, key, source in zip(columns, keys, sources, strict=True):
        old = table.column(column.name)
        if source is None:
            key = _to_centre(column, key, old)
            released = _written(column, centroid(key, groups.labels), key)
        elif column.domain is None:
            released = old.combine_chunks().take(pa.array(source))
        else:
            stream = Stream("k-anonymity", "bins", column.name)
            words = keystream.words(stream, 0, len(old)) if column.drawn else None
            released = decode(column, encode(column, old)[source], words)
        table = table.set_column(table.column_names.index(column.name), column.name, released)
    return table


def _to_centre(column: Column, key: Key, values: pa.ChunkedArray) -> Key:
    """The key of which a centre is taken: categories without order have no mean."""
    domain = column.domain
    named = isinstance(domain, Categories) and not domain.ordered and key.kind == "number"
    if domain is None or not (named or domain.missing_values):
        return key
    codes = encode(column, values).astype(np.float64)
    return Key(column.name, np.where(codes >= len(domain.labels), np.nan, codes), "unordered")


def _written(column: Column, values: FloatArray, key: Key) -> pa.Array:
    """Centroids as a column: categories by their label, numbers as numbers."""
    if column.domain is None or key.kind == "number":
        return pa.array(values, mask=np.isnan(values))
    codes = np.where(np.isnan(values), len(column.domain.labels), values).astype(np.uint32)
    # A draw inside a bin would tell records of one group apart.
    bin_centres = np.full(codes.size, 2**63, np.uint64)
    return decode(column, codes, bin_centres)


CLASSES = 16
"""A key with more values is cut into this many classes to measure its associations."""

Donors = Callable[[Sequence[Key], IntArray, Keystream], Sequence[IntArray] | None]
"""From keys and groups to the records whose values are released, key by key; none for a centre."""


def draw_members(labels: IntArray, keystream: Keystream) -> IntArray:
    """For every record a member of its group, each as likely: with replacement.

    This is dither that is uniform on the cells of a group, transformed [Wei, Thm 2 of the
    appendix], and in one column on runs of values that one group has to itself [Wei, Cor. 1].
    """
    return _members(labels, labels, keystream, "k-anonymity/member")


def new_keys(
    keys: Sequence[Key], labels: IntArray, donors: Donors, keystream: Keystream
) -> list[Key]:
    """The keys to release, in the order of the records; ``labels`` says who is in which group."""
    donor_records = donors(keys, labels, keystream)
    if donor_records is None:
        return [Key(key.name, centroid(key, labels), key.kind) for key in keys]
    return [
        Key(key.name, key.values[records], key.kind)
        for key, records in zip(keys, donor_records, strict=True)
    ]


def permute_members(
    labels: IntArray, keystream: Keystream, stream: Address = "k-anonymity/permute"
) -> IntArray:
    """A uniformly random order of every group: without replacement."""
    shuffled = keystream.permutation(labels.size, stream)
    arranged = shuffled[np.argsort(labels[shuffled], kind="stable")]
    source = np.empty(labels.size, np.int64)
    source[np.argsort(labels, kind="stable")] = arranged
    return source


def centroid(key: Key, labels: IntArray) -> FloatArray:
    """The middle of every group: mean, nearest rank to the mean, or commonest category (the first).

    Missing where more than half of the group is; otherwise over what is known.
    """
    groups = int(labels.max()) + 1
    if key.kind == "unordered":
        return _commonest(key.values, labels, groups)[labels]
    known = ~np.isnan(key.values)
    count = np.bincount(labels, known, groups)
    sums = exact_sums(np.where(known, key.values, 0.0), labels, groups)
    means = np.where(2 * count >= np.bincount(labels), sums / np.maximum(count, 1), np.nan)
    if key.kind == "ordered":
        means = np.rint(means)
    return means[labels]


def exact_sums(values: FloatArray, labels: IntArray, groups: int) -> FloatArray:
    """The sum of every group, rounded once: the order of the records leaves no trace in digits."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=groups)).tolist()
    ordered = values[order].tolist()
    starts = [0, *ends[:-1]]
    return np.array([math.fsum(ordered[a:b]) for a, b in zip(starts, ends, strict=True)])


def _commonest(values: FloatArray, labels: IntArray, groups: int) -> FloatArray:
    """The commonest value of every group; of equally common ones the least."""
    levels, codes = np.unique(values, return_inverse=True)
    cells, counts = np.unique(labels * levels.size + codes.ravel(), return_counts=True)
    group = cells // levels.size
    order = np.lexsort((-cells, counts, group))
    last = np.searchsorted(group[order], np.arange(groups), side="right") - 1
    result: FloatArray = levels[cells[order[last]] % levels.size]
    return result


def draw_keys(keys: Sequence[Key], labels: IntArray, keystream: Keystream) -> list[IntArray]:
    """For every key the members whose value each record is released with."""
    codes = [compact(key.values) for key in keys]
    donors: dict[int, IntArray] = {}
    for child, parent in tree_of(codes):
        if parent is None:
            donors[child] = draw_members(labels, keystream)
            continue
        size = int(codes[parent].max()) + 1
        cells = compact(labels * size + codes[parent])
        stream = Stream("k-anonymity", "sequential", keys[child].name)
        donors[child] = _members(cells, cells[donors[parent]], keystream, stream)
    return [donors[place] for place in range(len(keys))]


def _members(cells: IntArray, wanted: IntArray, keystream: Keystream, stream: Address) -> IntArray:
    """For each wanted cell one of its records, each as likely."""
    sizes = np.bincount(cells)
    order = np.argsort(cells, kind="stable")
    starts = np.cumsum(sizes) - sizes
    picks = keystream.integers(stream, 0, sizes[wanted]).astype(np.int64)
    members: IntArray = order[starts[wanted] + picks]
    return members


def tree_of(codes: Sequence[IntArray]) -> list[tuple[int, int | None]]:
    """Every key with the one it is drawn from, in the order of drawing; the first has none."""
    coarse = [_classes(code) for code in codes]
    information = np.zeros((len(codes), len(codes)))
    for i in range(len(codes)):
        for j in range(i):
            information[i, j] = information[j, i] = _information(coarse[i], coarse[j])
    first = int(information.sum(axis=0).argmax())
    order: list[tuple[int, int | None]] = [(first, None)]
    remaining = [place for place in range(len(codes)) if place != first]
    while remaining:
        placed = [child for child, _ in order]
        candidates = information[np.ix_(remaining, placed)]
        child, parent = np.unravel_index(int(candidates.argmax()), candidates.shape)
        order.append((remaining[child], placed[parent]))
        remaining.pop(child)
    return order


def _classes(code: IntArray) -> IntArray:
    """At most ``CLASSES`` classes of about the same number of records, in the order of values."""
    if int(code.max(initial=0)) < CLASSES:
        return code
    below = np.cumsum(np.bincount(code)) - 1
    return np.asarray(below[code] * CLASSES // code.size, dtype=np.int64)


def _information(first: IntArray, second: IntArray) -> float:
    """The mutual information of two keys."""
    shape = int(first.max(initial=0)) + 1, int(second.max(initial=0)) + 1
    table: FloatArray = cell_counts([first, second], shape) / max(first.size, 1)
    independent = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    occupied = table > 0
    return float((table[occupied] * np.log(table[occupied] / independent[occupied])).sum())


def permute_columns(
    table: pa.Table, columns: Sequence[str], groups: IntArray, keystream: Keystream
) -> pa.Table:
    """The table with these columns, all of a record together, in a random order of every group."""
    source = pa.array(permute_members(groups, keystream, Stream("stand-ins")))
    for name in columns:
        moved = table.column(name).combine_chunks().take(source)
        table = table.set_column(table.column_names.index(name), name, moved)
    return table


def known_groups(table: pa.Table, known: Sequence[str]) -> IntArray | None:
    """One number for each record, the same for records that agree in all known columns."""
    return joint_groups([_codes(table, name)[0] for name in known]) if known else None


def _codes(table: pa.Table, name: str) -> tuple[IntArray, int]:
    """The codes of a released column, and the code of missing values."""
    coded = alike(without_dictionary(table.column(name).combine_chunks())).dictionary_encode()
    missing = len(coded.dictionary)
    return coded.indices.fill_null(missing).to_numpy().astype(np.int64), missing


def suppress_keys(
    table: pa.Table, keys: Sequence[str], *, known: Sequence[str], k: int
) -> tuple[pa.Table, int, int]:
    """The table with few key cells missing, how many, and the least that any answer needs.

    The cells depend on the new keys and the known columns alone, so that all members of a group
    stay equally likely to have a record [docs/proofs/k_anonymity.md].
    """
    coded = [_codes(table, name) for name in keys]
    result = suppress(
        [codes for codes, _ in coded],
        [missing for _, missing in coded],
        k=k,
        strata=known_groups(table, known),
    )
    for place, name in enumerate(keys):
        old = table.column(name).combine_chunks()
        new = pc.if_else(pa.array(result.cells[:, place]), pa.scalar(None, old.type), old)
        table = table.set_column(table.column_names.index(name), name, new)
    return table, int(result.cells.sum()), result.least
