"""New keys for every record from its group: those of some record, or the centre of the group.

A record gets the keys of a member of its group drawn with replacement, of another member in a
random order of the group, or of whichever record Rosenblatt's transformation of a Gaussian dither
leads to. Its new keys depend on its group alone; that is what k-anonymity rests on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pramana.kanonymity.distance import Key, standardise
from pramana.kanonymity.dither import GaussianDither
from pramana.kanonymity.groups import order_of_groups
from pramana.kanonymity.rosenblatt import Empirical, transform
from pramana.kanonymity.shared import made_once, order_of_values, put_back, sharing
from pramana.randomness import Address, Keystream
from pramana.types import FloatArray, IntArray, Values

Donors = Callable[[Sequence[Key], IntArray, Keystream], Sequence[IntArray] | None]
"""From keys and groups to the records whose values are released, key by key; none for a centre."""


def new_keys(
    keys: Sequence[Key], labels: IntArray, donors: Donors, keystream: Keystream
) -> list[Key]:
    """The keys to release, in the order of the records; ``labels`` says who is in which group."""
    found = donors(keys, labels, keystream)
    if found is None:
        return [Key(key.name, centroid(key, labels), key.kind) for key in keys]
    return [Key(k.name, k.values[own], k.kind) for k, own in zip(keys, found, strict=True)]


def permute_members(
    labels: IntArray, keystream: Keystream, stream: Address = "k-anonymity/permute"
) -> IntArray:
    """A uniformly random order of every group: without replacement."""
    shuffled = keystream.permutation(labels.size, stream)
    arranged = shuffled[order_of_groups(labels[shuffled])]
    source = np.empty(labels.size, np.int64)
    source[order_of_groups(labels)] = arranged
    return source


def gaussian_donors(keys: Sequence[Key], labels: IntArray, keystream: Keystream) -> IntArray:
    """Gaussian dither, then Rosenblatt's transformation to the distribution of the keys.

    Keys with few values go first: a value that no other record has settles all keys after it.
    Unordered categories lie in the order of their codes; any order keeps the distribution.
    """
    ordered = transformation_order(keys)
    points = np.column_stack([scores(key) for key in ordered])
    dither = GaussianDither(points, labels)

    def drawn() -> IntArray:
        return transform(dither, empirical(ordered), keystream)

    if not sharing():
        return drawn()
    columns: list[Values] = [*(key.values for key in ordered), labels]
    order = order_of_values(columns)
    place = np.argsort(order)
    held = [column[order] for column in columns]
    shared = made_once("gaussian", held, lambda: place[drawn()[order]])
    return put_back(order[shared], order)


def transformation_order(keys: Sequence[Key]) -> list[Key]:
    """The keys, those with the fewest values first."""
    return sorted(keys, key=lambda key: np.unique(key.values).size)


def empirical(keys: Sequence[Key]) -> Empirical:
    """The joint distribution of the keys; missing is a value that comes last."""
    codes = [np.unique(key.values, return_inverse=True)[1].ravel() for key in keys]
    return Empirical.of(np.column_stack(codes).astype(np.int64))


def scores(key: Key) -> FloatArray:
    """The standardised key, missing values one unit above the greatest."""
    values = standardise(key.values)
    missing = np.isnan(values)
    if not missing.any():
        return values
    return np.where(missing, np.max(values, where=~missing, initial=-1.0) + 1.0, values)


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
    middle = np.where(2 * count >= np.bincount(labels), sums / np.maximum(count, 1), np.nan)
    if key.kind == "ordered":
        middle = np.rint(middle)
    return middle[labels]


def exact_sums(values: FloatArray, labels: IntArray, groups: int) -> FloatArray:
    """The sum of every group, rounded once: the order of the records leaves no trace in digits."""
    order = order_of_groups(labels)
    ends = np.cumsum(np.bincount(labels, minlength=groups)).tolist()
    ordered = values[order].tolist()
    starts = [0, *ends[:-1]]
    return np.array([math.fsum(ordered[a:b]) for a, b in zip(starts, ends, strict=True)])


def _commonest(values: FloatArray, labels: IntArray, groups: int) -> FloatArray:
    levels, codes = np.unique(values, return_inverse=True)
    cells, counts = np.unique(labels * levels.size + codes.ravel(), return_counts=True)
    group = cells // levels.size
    order = np.lexsort((-cells, counts, group))
    last = np.searchsorted(group[order], np.arange(groups), side="right") - 1
    result: FloatArray = levels[cells[order[last]] % levels.size]
    return result
