"""New keys for every record from its group: the keys of a donor, or the centre of the group.

A donor is a member of the group drawn with replacement, another member in a random order of the
group, or one member for each key. The new keys of a record depend on its group alone; k-anonymity
rests on that. Donors by Rosenblatt's transformation are in ``rosenblatt.py``.

Sequential draws: given *all* keys before it, a chain of draws is a draw of whole members, and
releases whole records. Here a key is drawn given one other key alone, the one with which it has the
largest mutual information in the table; these pairs form a tree [Chow-Liu]. Inside every group each
key, and each pair of the tree, keeps its distribution. A whole record comes back only where the
chain happens to put it together again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Address, Keystream, Stream
from pramana.io.output import plain
from pramana.microaggregation.groups import Key, compact, order_of_groups
from pramana.schema.joint_cells import cell_counts, joint_groups
from pramana.schema.lookup import alike
from pramana.types import FloatArray, IntArray

CLASSES = 16
"""A key with more values is cut into so many classes to see what it goes together with."""

Donors = Callable[[Sequence[Key], IntArray, Keystream], Sequence[IntArray] | None]
"""From keys and groups to the records whose values are released, key by key; none for a centre."""


def draw_members(labels: IntArray, keystream: Keystream) -> IntArray:
    """For every record a member of its group, each as likely: with replacement."""
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
    arranged = shuffled[order_of_groups(labels[shuffled])]
    source = np.empty(labels.size, np.int64)
    source[order_of_groups(labels)] = arranged
    return source


def centroid(key: Key, labels: IntArray) -> FloatArray:
    """The middle of every group: mean of numbers, nearest rank to the mean, or commonest category.

    Missing where more than half of the group is; otherwise over what is known. Of equally common
    categories the first.
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
    order = order_of_groups(labels)
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
    order = order_of_groups(cells)
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
    """One number a record, the same for records that agree in all known columns."""
    if not known:
        return None
    values = (alike(plain(table.column(name).combine_chunks())) for name in known)
    coded = [column.dictionary_encode() for column in values]
    return joint_groups([c.indices.fill_null(len(c.dictionary)).to_numpy() for c in coded])
