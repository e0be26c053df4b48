"""Keys drawn one after the other inside a group: the tree, what is kept, what is not copied."""

from __future__ import annotations

import numpy as np
from scipy import stats

from pramana.base.randomness import Keystream
from pramana.microaggregation.anonymisation import draw_keys, draw_members, tree_of
from pramana.microaggregation.groups import Key

LEVEL = 1e-4
"""How often a sound draw would fail one of these tests, had its seed not been fixed."""


def people(records=4000, seed=1):
    """A chain a - b - c, and d by itself; groups of ten that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, records)
    b = np.where(rng.random(records) < 0.7, a, rng.integers(0, 3, records))
    c = np.where(rng.random(records) < 0.7, b, rng.integers(0, 3, records))
    d = rng.integers(0, 4, records)
    keys = [Key(name, v.astype(float)) for name, v in zip("abcd", (a, b, c, d), strict=True)]
    return keys, np.arange(records) // 10


def test_the_tree_follows_what_goes_together():
    """The middle of the chain comes first; its neighbours are drawn from it."""
    keys, _ = people()
    tree = tree_of([key.values.astype(np.int64) for key in keys])

    assert tree[0] == (1, None)
    assert dict(tree)[0] == dict(tree)[2] == 1
    assert sorted(own for own, _ in tree) == [0, 1, 2, 3]


def test_values_come_from_the_own_group_and_pairs_of_the_tree_from_one_member():
    """What k-anonymity rests on, and what keeps the pairs."""
    keys, labels = people()
    sources = draw_keys(keys, labels, Keystream.from_seed(2))
    a, b = keys[0].values, keys[1].values
    pairs = {(g, x, y) for g, x, y in zip(labels, a, b, strict=True)}

    for source in sources:
        assert (labels[source] == labels).all()
    assert {
        (g, x, y) for g, x, y in zip(labels, a[sources[0]], b[sources[1]], strict=True)
    } <= pairs


def test_every_member_of_a_group_gets_a_key_equally_often():
    """Chi-square over 2,000 draws of one group of six, for each key; level 1e-4."""
    keys = [Key("a", np.array([0, 0, 1, 1, 2, 2.0])), Key("b", np.array([0, 1, 0, 1, 0, 1.0]))]
    labels = np.zeros(6, np.int64)
    counts = np.zeros((2, 6))
    for seed in range(2000):
        for place, source in enumerate(draw_keys(keys, labels, Keystream.from_seed(seed))):
            counts[place] += np.bincount(source, minlength=6)

    for row in counts:
        assert stats.chisquare(row).pvalue > LEVEL


def test_fewer_whole_records_are_copied_and_the_pairs_are_kept():
    """Beside drawing whole members: the same pairs, a good part fewer of the unique records."""
    rng = np.random.default_rng(3)
    keys = [Key(name, rng.integers(0, 8, 3000).astype(float)) for name in "abcde"]
    labels = np.arange(3000) // 20
    table = np.column_stack([key.values for key in keys])
    stream = Keystream.from_seed(4)
    truth, counts = np.unique(table, axis=0, return_counts=True)
    alone = {tuple(row) for row in truth[counts == 1]}

    def copied(new):
        return len(alone & {tuple(row) for row in new}) / len(alone)

    whole = copied(table[draw_members(labels, stream)])
    drawn = draw_keys(keys, labels, stream)
    chain = copied(np.column_stack([k.values[s] for k, s in zip(keys, drawn, strict=True)]))

    assert whole > 0.55
    assert chain < 0.25
