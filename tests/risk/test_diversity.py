"""l-diversity and t-closeness of groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.risk.coded_table import EquivalenceClasses
from pramana.risk.table_audit import diversity_of


def of(groups, codes, *, ordered, missing=-1):
    groups, codes = np.array(groups), np.array(codes)
    made = EquivalenceClasses.of([groups], [int(groups.max()) + 1])
    size = int(codes.max()) + 1
    return diversity_of("s", made, codes, size, ordered=ordered, missing=missing)


def test_by_hand():
    """Groups (x, x) and (x, y): one has a single value; entropy 0; shares 3/4 and 1/4 overall."""
    found = of([0, 0, 1, 1], [0, 0, 0, 1], ordered=False)

    assert (found.distinct, found.entropy, found.exposed) == (1, 1.0, 2)
    assert found.t == pytest.approx(0.25)


def test_a_missing_value_is_none():
    """Groups (x, missing), (missing, missing) and (x, y): one value, none and two."""
    found = of([0, 0, 1, 1, 2, 2], [0, 2, 2, 2, 0, 1], ordered=False, missing=2)

    assert (found.distinct, found.exposed) == (0, 4)


def test_the_published_example_of_t_closeness():
    """Salaries 3k..11k, a group of the three lowest: distance 0.375 in [Li07, Sec. 5]."""
    groups = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    salaries = [0, 1, 2, 3, 5, 8, 4, 6, 7]

    assert of(groups, salaries, ordered=True).t == pytest.approx(0.375)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=2, max_size=40))
def test_both_distances_equal_a_dense_calculation(pairs):
    """Total variation, and the area between distribution functions, written out."""
    groups, codes = (np.array(part) for part in zip(*pairs, strict=True))
    codes = np.unique(codes, return_inverse=True)[1]
    groups = np.unique(groups, return_inverse=True)[1]
    size = int(codes.max()) + 1
    overall = np.bincount(codes, minlength=size) / len(codes)
    equal, ordered, entropies = [], [], []
    for group in range(int(groups.max()) + 1):
        own = np.bincount(codes[groups == group], minlength=size) / (groups == group).sum()
        equal.append(np.abs(own - overall).sum() / 2)
        ordered.append(np.abs(np.cumsum(own - overall)).sum() / max(size - 1, 1))
        entropies.append(-sum(p * np.log(p) for p in own if p > 0))

    plain, ranked = of(groups, codes, ordered=False), of(groups, codes, ordered=True)

    assert plain.t == pytest.approx(max(equal), abs=1e-12)
    assert ranked.t == pytest.approx(max(ordered), abs=1e-12)
    assert plain.entropy == pytest.approx(np.exp(min(entropies)))
    assert plain.distinct <= plain.entropy * size + 1e-9
