"""The tree by gain ratio: a split by hand, the optimum on a table, pruning, its limits."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from pramana.experiments.tree_grid import CONFIDENCE, GainRatioTree, expected_errors


def test_the_attribute_with_the_largest_gain_ratio_splits():
    """By hand: both attributes gain 0.311 and 0.549 bits, less log2(thresholds) / 8."""
    even = [0, 0, 0, 0, 1, 1, 1, 1]
    x = np.column_stack([even, [0, 0, 0, 1, 1, 1, 1, 1]])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])

    tree = GainRatioTree(least=1).fit(x, y)

    assert tree.root_.attribute == 1
    assert tree.root_.threshold == 0.5
    assert tree.predict(x).tolist() == y.tolist()


def test_it_finds_the_best_single_split_of_all():
    """Beside a search over every attribute and threshold from the definition."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = rng.integers(0, 6, (60, 3)).astype(float)
        y = (x[:, 1] + rng.normal(0, 2, 60) > 2.5).astype(int)
        root = GainRatioTree(least=25).fit(x, y).root_

        found = _best(x, y, least=25)
        if root.sides:
            assert (root.attribute, root.threshold) == found


def _best(x, y, *, least):
    ratios, gains = {}, {}
    for attribute in range(x.shape[1]):
        levels = np.unique(x[:, attribute])
        tried = []
        for low, high in pairwise(levels):
            below = x[:, attribute] <= low
            if min(below.sum(), (~below).sum()) >= least:
                inside = sum(side.mean() * _bits(y[side]) for side in (below, ~below))
                tried.append((_bits(y) - inside, (low + high) / 2, _bits(below)))
        if tried:
            gain, threshold, split = max(tried, key=lambda one: one[0])
            gain -= math.log2(len(tried)) / len(y)
            if gain > 0:
                gains[attribute], ratios[attribute] = gain, (gain / split, attribute, threshold)
    average = np.mean(list(gains.values()))
    chosen = max(ratios[one] for one in gains if gains[one] >= average - 1e-12)
    return chosen[1:]


def _bits(values):
    _, counts = np.unique(values, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def test_noise_is_pruned_away():
    """Classes that have nothing to do with the attributes leave a tree of few leaves."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 4)), (rng.random(400) < 0.1).astype(int)

    tree = GainRatioTree(least=5).fit(x, y)

    assert (tree.predict(x) == 0).mean() > 0.9


@pytest.mark.parametrize(("errors", "records"), [(0, 6), (1, 16), (5, 40)])
def test_the_limit_of_errors_is_the_binomial_one(errors, records):
    """At the upper limit so few errors have the probability of the level."""
    rate = expected_errors(errors, records) / records

    assert binom.cdf(errors, records, rate) == pytest.approx(CONFIDENCE)


def test_one_class_and_one_record_are_leaves():
    assert GainRatioTree().fit([[1.0], [2.0]], ["a", "a"]).predict([[9.0]]).tolist() == ["a"]
    assert GainRatioTree().fit([[1.0]], ["b"]).predict([[0.0]]).tolist() == ["b"]


def test_weights_count_as_repeated_records():
    x, y = [[1.0], [2.0], [3.0]], [0, 1, 1]

    weighted = GainRatioTree(least=1).fit(x, y, sample_weight=[9.0, 3.0, 3.0])
    repeated = GainRatioTree(least=1).fit(
        [[1.0]] * 9 + [[2.0]] * 3 + [[3.0]] * 3, [0] * 9 + [1] * 6
    )

    assert weighted.root_.threshold == repeated.root_.threshold
