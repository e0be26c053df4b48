"""Clustering with at least k members."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.base.randomness import Keystream
from pramana.errors import Infeasible, InvalidNumber, InvalidTable, UnknownColumn
from pramana.microaggregation.clustering import Sensitive, cluster, form_groups
from pramana.microaggregation.groups import Key, within

METHODS = ("default", "greedy", "mdav", "cells")


def standardised(points):
    spread = points.std(axis=0)
    return (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1)


def random_table(number):
    """A table with ties, duplicates and constant columns, and a k that it can serve."""
    rng = np.random.default_rng(number)
    k = int(np.exp(rng.uniform(np.log(2), np.log(1001))))
    n = k + int(rng.integers(0, min(4 * k, 500) + 1))
    columns = [
        rng.normal(size=n),
        rng.integers(0, 4, size=n),
        np.full(n, 7.0),
        rng.exponential(size=n).round(1),
    ]
    chosen = rng.permutation(4)[: rng.integers(1, 5)]
    points = np.column_stack([columns[c] for c in chosen]).astype(float)
    if rng.random() < 0.5:
        points = points[rng.integers(0, max(1, n // 3), size=n)]
    return points, k


def best_by_hand(points, k):
    """The least sum of squares over all partitions into groups of k or more: brute force."""
    n = len(points)
    best = np.inf
    for labels in itertools.product(range(n // k), repeat=n):
        labels = np.array(labels)
        labels = np.unique(labels, return_inverse=True)[1]
        if np.bincount(labels).min() >= k:
            best = min(best, within(points, labels))
    return best


@pytest.mark.parametrize("block", range(10))
def test_every_group_has_at_least_k_members(block):
    """100 tables with ties, duplicates and constants, k from 2 to 1000."""
    for number in range(10 * block, 10 * block + 10):
        points, k = random_table(number)
        method = METHODS[number % 4] if number % 2 else "default"
        labels = cluster(points, k=k, method=method)

        sizes = np.bincount(labels)
        assert labels.shape == (len(points),)
        assert sizes.min() >= k, (number, k, method)


@pytest.mark.parametrize("method", METHODS)
def test_four_records_by_hand(method):
    """Two and two: the pairs are plain to see."""
    labels = cluster(np.array([[0.0], [10.0], [0.2], [10.1]]), k=2, method=method)

    assert labels[0] == labels[2] != labels[1] == labels[3]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=7))
def test_the_default_finds_the_best_groups_of_small_tables(rows):
    """Within 5 % of the least sum of squares over all partitions, found by trying them all."""
    points = standardised(np.array(rows, dtype=float))
    best = best_by_hand(points, 2)

    assert within(points, cluster(points, k=2)) <= 1.05 * best + 1e-9


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("kind", ["smooth", "clumped", "discrete", "long tails"])
@pytest.mark.deep(every=6)
def test_the_default_beats_greedy_and_mdav(kind, k):
    """At most 0.90 of the sum of squares of mdav and 0.97 of that of greedy.

    With long tails a few outliers make up most of it, and no method can group them better.
    """
    rng = np.random.default_rng(5)
    tables = {
        "smooth": rng.normal(size=(900, 3)),
        "clumped": rng.normal(size=(30, 4))[rng.integers(0, 30, 900)]
        + 0.05 * rng.normal(size=(900, 4)),
        "discrete": rng.poisson(2.0, size=(900, 3)).astype(float),
        "long tails": np.exp(rng.normal(size=(900, 3))),
    }
    points = standardised(tables[kind])
    ours, greedy, mdav = (
        within(points, cluster(points, k=k, method=m)) for m in ("default", "greedy", "mdav")
    )

    assert ours <= (0.98 if kind == "long tails" else 0.90) * mdav
    assert ours <= (0.99 if kind == "long tails" else 0.97) * greedy


def test_equal_records_stay_together_at_no_cost():
    """Cells of k or more cost nothing, and all records equal is one group."""
    cells = np.repeat(np.arange(6.0), 50)[:, None]

    labels = cluster(cells, k=5)
    assert within(cells, labels) == 0
    assert set(cluster(np.ones((40, 3)), k=5).tolist()) == {0}


def test_a_rare_cell_takes_only_what_it_lacks():
    """Three rare records borrow two neighbours, and the other 97 keep their value."""
    points = np.array([0.0] * 100 + [1.0] * 3)[:, None]

    sizes = np.sort(np.bincount(cluster(points, k=5)))
    assert sizes.tolist() == [5, 98]


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_fixes_the_groups(method):
    """Same seed, same labels."""
    points = np.random.default_rng(1).normal(size=(400, 3))

    first, second = (cluster(points, k=4, method=method, seed=9) for _ in range(2))
    assert (first == second).all()


def test_mdav_by_hand():
    """Furthest from the average 0 is 9; its three nearest; then three around -8; the rest."""
    points = np.array([9, 8, 7, -8, -7, -6, -1, -1, -1, 0], dtype=float)[:, None]

    labels = cluster(points, k=3, method="mdav")
    groups = {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist())}
    assert groups == {frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7, 8, 9})}


def test_greedy_makes_as_many_groups_as_can_have_k_members():
    """floor(n / k) groups, the leftovers joined to them."""
    labels = cluster(np.random.default_rng(2).normal(size=(53, 2)), k=5, method="greedy")

    assert labels.max() + 1 == 10
    assert np.bincount(labels).sum() == 53


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(0, 60), st.integers(0, 10**6))
def test_a_limit_on_the_size_is_kept(k, more, number):
    """No group above max_size, none below k."""
    rng = np.random.default_rng(number)
    points = rng.integers(0, 3, size=(2 * k + more, 2)).astype(float)

    for method in METHODS:
        sizes = np.bincount(cluster(points, k=k, method=method, max_size=2 * k - 1))
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


def test_a_response_pulls_groups_its_way():
    """With a heavy response, records are grouped by it, with weight 0 by the keys alone."""
    rng = np.random.default_rng(3)
    keys, response = rng.normal(size=(300, 2)), rng.normal(size=300)

    def spread(weight):
        labels = cluster(keys, k=5, response=response, response_weight=weight)
        return within(response[:, None], labels), within(standardised(keys), labels)

    none, heavy = spread(0.0), spread(100.0)
    assert heavy[0] < 0.1 * none[0]
    assert none[1] < 0.5 * heavy[1]
    assert (cluster(keys, k=5) == cluster(keys, k=5, response=response, response_weight=0)).all()


def test_data_frames_of_all_kinds_give_the_same_labels():
    """pandas (with an index of its own), Polars, PyArrow and an array."""
    points = np.random.default_rng(4).normal(size=(60, 2))
    columns = {"a": points[:, 0], "b": points[:, 1]}
    frames = [pd.DataFrame(columns, index=range(7, 67)), pl.DataFrame(columns), pa.table(columns)]

    for frame in frames:
        assert (cluster(frame, k=3) == cluster(points, k=3)).all()
    with_response = cluster(frames[0].assign(y=points[:, 0]), k=3, response="y")
    assert (with_response == cluster(points, k=3, response=points[:, 0])).all()


def test_groups_do_not_cross_strata():
    """Each group lies in one stratum."""
    rng = np.random.default_rng(6)
    strata = np.repeat(["north", "south", "west"], [40, 7, 53])
    labels = cluster(rng.normal(size=(100, 2)), k=5, strata=strata)

    homes = {(label, home) for label, home in zip(labels.tolist(), strata.tolist(), strict=True)}
    assert len(homes) == labels.max() + 1


def test_sensitive_columns_get_distinct_values():
    """Every group holds three diseases; without asking, some do not."""
    rng = np.random.default_rng(7)
    points = rng.normal(size=(300, 2))
    disease = rng.choice(["flu", "cold", "gout", "none"], p=[0.1, 0.1, 0.1, 0.7], size=300)

    def fewest(labels):
        return min(len(set(disease[labels == g])) for g in range(labels.max() + 1))

    assert fewest(cluster(points, k=5)) < 3
    assert fewest(cluster(points, k=5, sensitive=disease, l=3)) >= 3


def test_sensitive_columns_get_close_distributions():
    """Total variation between every group and the table stays within t."""
    rng = np.random.default_rng(8)
    points = rng.normal(size=(300, 2))
    sick = rng.choice(["yes", "no"], p=[0.3, 0.7], size=300)
    labels = cluster(points, k=5, sensitive=sick, t=0.2)

    share = np.mean(sick == "yes")
    shares = [np.mean(sick[labels == g] == "yes") for g in range(labels.max() + 1)]
    assert len(shares) > 1
    assert np.abs(np.array(shares) - share).max() <= 0.2 + 1e-12


def test_closeness_is_to_the_whole_table_also_within_strata():
    """A stratum that differs from the table cannot have groups like the table: refused."""
    rng = np.random.default_rng(8)
    points, strata = rng.normal(size=(400, 2)), np.repeat([0, 1], 200)
    alike = rng.random(400) < 0.3
    labels = cluster(points, k=5, sensitive=alike, t=0.2, strata=strata)
    shares = [np.mean(alike[labels == g]) for g in range(labels.max() + 1)]

    assert len(shares) > 2
    assert np.abs(np.array(shares) - alike.mean()).max() <= 0.2 + 1e-12
    with pytest.raises(Infeasible, match="merge strata"):
        cluster(points, k=5, sensitive=rng.random(400) < 0.02 + 0.96 * strata, t=0.2, strata=strata)


def test_a_limit_that_sensitive_columns_break_is_refused():
    """One value in thirty cannot be in every group of six."""
    points = np.random.default_rng(9).normal(size=(300, 2))
    rare = np.arange(300) % 30 == 0

    with pytest.raises(Infeasible, match="more than max_size = 6"):
        cluster(points, k=3, max_size=6, sensitive=rare, l=2)
    assert np.bincount(cluster(points, k=3, max_size=300, sensitive=rare, l=2)).min() >= 3


@pytest.mark.parametrize("max_size", [None, 9])
@pytest.mark.deep(every=2)
def test_few_records_are_annealed(monkeypatch, max_size):
    """Which gets below what regrouping alone reaches, with k and the limit kept."""
    points = np.random.default_rng(3).normal(size=(600, 5))
    keys = [Key(str(c), points[:, c]) for c in range(5)]
    made = form_groups(keys, k=5, max_size=max_size, keystream=Keystream.from_seed(1))
    monkeypatch.setattr("pramana.microaggregation.clustering.FEW", 0)
    plain = form_groups(keys, k=5, max_size=max_size, keystream=Keystream.from_seed(1))

    assert made.within < 0.999 * plain.within
    assert 5 <= made.sizes.min() <= made.sizes.max() <= (max_size or 600)


def test_quality_is_reported():
    """The sum of squares within, and its share of the total."""
    keys = [Key("x", np.array([0.0, 0.0, 3.0, 3.0]))]
    groups = form_groups(keys, k=2, keystream=Keystream.from_seed(0))

    assert (groups.within, groups.total, groups.share) == (0.0, 4.0, 0.0)
    assert groups.sizes.tolist() == [2, 2]


def test_one_is_allowed_and_said_to_protect_nothing():
    """k = 1 leaves every record alone, with a warning."""
    with pytest.warns(UserWarning, match="protects nothing"):
        assert sorted(cluster(np.zeros((4, 1)), k=1).tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("points", "options", "error", "says"),
    [
        (np.zeros((4, 1)), {"k": 5}, Infeasible, "there are 4"),
        (np.zeros((4, 1)), {"k": 0}, InvalidNumber, "integer >= 1"),
        (np.zeros((4, 1)), {"k": 2.5}, InvalidNumber, "integer >= 1"),
        (np.zeros((0, 1)), {"k": 2}, InvalidTable, "at least one record"),
        (np.array([[1.0], [np.inf], [2.0], [3.0]]), {"k": 2}, InvalidTable, "1 record holds"),
        (np.zeros((4, 1)), {"k": 2, "method": "magic"}, InvalidNumber, "one of"),
        (np.zeros((4, 1)), {"k": 2, "max_size": 2}, InvalidNumber, "2k - 1 = 3"),
        (np.zeros((4, 1)), {"k": 2, "response": ["a"] * 4}, InvalidTable, "by name"),
        (np.zeros((4, 1)), {"k": 2, "response": [1.0, 2.0]}, InvalidTable, "4 records"),
        (np.zeros((4, 1)), {"k": 2, "response": np.array(["a"] * 4)}, InvalidTable, "numbers"),
        (np.zeros((4, 1)), {"k": 2, "response_weight": -1.0}, InvalidNumber, "weight"),
        (np.zeros((4, 1)), {"k": 2, "strata": ["a", "a", "a", "b"]}, Infeasible, "1 of 2"),
        (np.zeros((4, 1)), {"k": 2, "sensitive": ["a"] * 4, "l": 2}, Infeasible, "has 1"),
        (np.zeros((4, 1)), {"k": 2, "sensitive": ["a"], "l": 1}, InvalidTable, "one value"),
        (pa.table({"x": ["a", "b"]}), {"k": 2}, InvalidTable, "'x' must hold numbers"),
        (pa.table({"x": [1, 2]}), {"k": 2, "response": "y"}, UnknownColumn, "'y'"),
    ],
)
def test_bad_input_is_refused_in_one_line(points, options, error, says):
    """What must hold, what was found, and never a value of a record."""
    with pytest.raises(error, match=says) as caught:
        cluster(points, **options)
    assert "\n" not in str(caught.value)


def test_sensitive_targets_have_their_ranges():
    """l below 1 and t outside [0, 1] are refused."""
    with pytest.raises(InvalidNumber, match="l must"):
        Sensitive("x", np.zeros(3, np.int64), l=0)
    with pytest.raises(InvalidNumber, match="t must"):
        Sensitive("x", np.zeros(3, np.int64), t=1.5)


@pytest.mark.parametrize("gone", [None, float("nan")])
def test_a_missing_value_is_no_value_of_a_group(gone):
    """Every group holds two diseases that somebody has; nor is the word None a missing one."""
    rng = np.random.default_rng(7)
    points = rng.normal(size=(150, 2))
    words = ["flu", "None"] if gone is None else [1.0, 2.0]
    disease = np.array(words, dtype=object)[rng.integers(0, 2, 150)]
    disease[::3] = gone
    kind = object if gone is None else float
    labels = cluster(points, k=3, sensitive=disease.astype(kind), l=2)

    for group in range(labels.max() + 1):
        held = [value for value in disease[labels == group] if value in words]
        assert len(set(held)) == 2
