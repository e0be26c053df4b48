"""Keys drawn one after the other inside a group, each given one that was drawn before it.

Given *all* keys before it, a chain of draws is a draw of whole members: the group's distribution,
and with it whole records. Here a key is drawn given one other key alone: the one in the table that
it goes together with most, so that these pairs form a tree. Inside every group each key, and each
pair of the tree, keeps its distribution; a whole record comes back only where the chain happens to
put it together again. What is drawn depends on the group alone, as k-anonymity asks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.kanonymity.distance import Key
from pramana.kanonymity.dither import draw_members
from pramana.kanonymity.groups import compact
from pramana.randomness import Keystream, Stream
from pramana.table.cells import cell_counts
from pramana.types import FloatArray, IntArray

__all__ = ["draw_keys", "tree_of"]

CLASSES = 16
"""A key with more values is cut into so many classes to see what it goes together with."""


def draw_keys(keys: Sequence[Key], labels: IntArray, keystream: Keystream) -> list[IntArray]:
    """For every key the members whose value each record is released with."""
    codes = [compact(key.values) for key in keys]
    found: dict[int, IntArray] = {}
    for own, parent in tree_of(codes):
        if parent is None:
            found[own] = draw_members(labels, keystream)
            continue
        size = int(codes[parent].max()) + 1
        cells = compact(labels * size + codes[parent])
        stream = Stream("k-anonymity", "sequential", keys[own].name)
        found[own] = _members(cells, cells[found[parent]], keystream, stream)
    return [found[place] for place in range(len(keys))]


def _members(cells: IntArray, wanted: IntArray, keystream: Keystream, stream: Stream) -> IntArray:
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
    ties = np.zeros((len(codes), len(codes)))
    for i in range(len(codes)):
        for j in range(i):
            ties[i, j] = ties[j, i] = _information(coarse[i], coarse[j])
    first = int(ties.sum(axis=0).argmax())
    order: list[tuple[int, int | None]] = [(first, None)]
    left = [place for place in range(len(codes)) if place != first]
    while left:
        done = [own for own, _ in order]
        part = ties[np.ix_(left, done)]
        own, parent = np.unravel_index(int(part.argmax()), part.shape)
        order.append((left[own], done[parent]))
        left.pop(own)
    return order


def _classes(code: IntArray) -> IntArray:
    """At most ``CLASSES`` classes of about the same number of records, in the order of values."""
    if int(code.max(initial=0)) < CLASSES:
        return code
    below = np.cumsum(np.bincount(code)) - 1
    return np.asarray(below[code] * CLASSES // code.size, dtype=np.int64)


def _information(one: IntArray, two: IntArray) -> float:
    """How much two keys tell about each other."""
    shape = int(one.max(initial=0)) + 1, int(two.max(initial=0)) + 1
    table: FloatArray = cell_counts([one, two], shape) / max(one.size, 1)
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    full = table > 0
    return float((table[full] * np.log(table[full] / apart[full])).sum())
