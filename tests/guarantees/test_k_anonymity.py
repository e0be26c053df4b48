"""k-anonymity."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber, NotCovered
from pramana.guarantees.base import Guarantee
from pramana.guarantees.k_anonymity import KAnonymity


@given(st.lists(st.integers(1, 1000), min_size=1))
def test_it_is_the_size_of_the_smallest_group(sizes):
    """The largest k that all groups have."""
    attained = KAnonymity.of(sizes)

    assert all(size >= attained.k for size in sizes)
    assert attained.k in sizes


@given(st.integers(1, 99), st.integers(1, 99))
def test_larger_is_stronger(a, b):
    """One implies the other exactly where its k is at least as large."""
    assert KAnonymity(a).implies(KAnonymity(b)) == (a >= b)


def releases(keys, groups, method):
    """Every release of keys with its probability, by enumeration: keys of each record in turn."""
    choices = []
    for group in groups:
        members = [keys[i] for i in group]
        draw = itertools.permutations if method == "permute" else None
        ways = (
            list(draw(members)) if draw else list(itertools.product(members, repeat=len(members)))
        )
        choices.append([(group, way, Fraction(1, len(ways))) for way in ways])
    for combination in itertools.product(*choices):
        released = [None] * len(keys)
        chance = Fraction(1)
        for group, way, share in combination:
            chance *= share
            for record, key in zip(group, way, strict=True):
                released[record] = key
        yield tuple(released), chance


@pytest.mark.parametrize("method", ["resample", "permute"])
@pytest.mark.parametrize("keys", [(0, 0, 1, 1), (0, 1, 1, 2), (0, 1, 2, 3)])
def test_no_link_is_right_with_more_than_one_in_k(keys, method):
    """Enumeration of every release and every order: the best guess of who is in a row.

    The adversary knows all true keys and the groups {0, 1} and {2, 3}, and sees the released
    rows in a random order. For each sighting, exact posterior of every person in every row.
    """
    joint: dict[tuple[int, ...], dict[tuple[int, int], Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )
    for released, chance in releases(keys, [(0, 1), (2, 3)], method):
        for order in itertools.permutations(range(4)):
            sighting = tuple(released[i] for i in order)
            for row, person in enumerate(order):
                joint[sighting][row, person] += chance / 24
    worst = Fraction(0)
    for table in joint.values():
        seen = sum(table[0, person] for person in range(4))
        worst = max(worst, *(share / seen for share in table.values()))

    assert worst <= Fraction(1, KAnonymity.of([2, 2]).k)


def test_a_release_of_own_keys_breaks_it():
    """Teeth: without exchanging keys, unique keys are linked with certainty."""
    joint: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for order in itertools.permutations(range(3)):
        joint[tuple(order)].add(order[0])

    assert all(len(people) == 1 for people in joint.values())


def test_sentences_say_what_holds():
    """In plain words, also that k = 1 protects nothing."""
    assert "1/5" in KAnonymity(5).sentence()
    assert "protects nothing" in KAnonymity(1).sentence()
    assert KAnonymity(5).to_json() == {"k": 5}
    assert isinstance(KAnonymity(5), Guarantee)


def test_what_is_not_covered_is_refused():
    """No groups, and numbers that are no number of records."""
    with pytest.raises(NotCovered, match="none"):
        KAnonymity.of([])
    for wrong in (0, -1, 2.5, float("nan"), "5"):
        with pytest.raises(InvalidNumber):
            KAnonymity(wrong)
    assert KAnonymity(np.int64(3)) == KAnonymity(3)
