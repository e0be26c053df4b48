"""Measures of what is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidTable
from pramana.evaluation.utility import (
    correlation,
    cramers_v,
    interval_overlap,
    l1_distance,
    propensity,
    share_intervals,
)

tables = st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(lambda t: sum(t) > 0)


def test_distances_by_hand():
    """(3/4, 1/4) against (1/4, 3/4): L1 is 1; of any two tables it is twice what does not agree."""
    assert l1_distance([3, 1], [2, 6]) == pytest.approx(1)


@given(tables, tables)
def test_the_distance_is_twice_the_share_that_does_not_agree(one, two):
    """L1 / 2 = 1 - sum min(p, q), from 0 for the same table to 1."""
    p, q = np.array(one) / sum(one), np.array(two) / sum(two)

    assert l1_distance(one, two) / 2 == pytest.approx(1 - np.minimum(p, q).sum(), abs=1e-12)
    assert l1_distance(one, one) == 0


def test_negative_estimates_count_as_none():
    """An unbiased estimate may be below zero; a share may not."""
    assert l1_distance([1, 1], [2, -1]) == pytest.approx(1)


def test_tables_that_cannot_be_compared_are_refused():
    """Other cells, or no records."""
    with pytest.raises(InvalidTable, match="same cells"):
        l1_distance([1, 2], [1, 2, 3])
    with pytest.raises(InvalidTable, match="empty"):
        l1_distance([1, 2], [0, 0])


@given(st.integers(2, 5), st.integers(2, 5))
def test_association_at_its_ends(rows, columns):
    """0 for a product of margins, 1 for a column that tells the other."""
    random = np.random.default_rng(rows * 10 + columns)
    product = np.outer(random.random(rows) + 0.1, random.random(columns) + 0.1)

    assert cramers_v(product) == pytest.approx(0, abs=1e-7)
    assert correlation(product) == pytest.approx(0, abs=1e-12)
    assert cramers_v(np.diag(random.random(rows) + 0.1)) == pytest.approx(1)
    assert correlation(np.eye(2)[::-1]) == pytest.approx(-1)


def test_correlation_equals_that_of_the_records():
    """A table of counts against numpy on the records themselves."""
    random = np.random.default_rng(2)
    x = random.integers(0, 4, 300)
    y = np.clip(x + random.integers(-1, 2, 300), 0, 4)
    table = np.zeros((4, 5))
    np.add.at(table, (x, y), 1)

    assert correlation(table) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_association_needs_two_columns():
    """A one-way table has none; one value has none either."""
    with pytest.raises(InvalidTable, match="two columns"):
        cramers_v([1, 2])
    assert cramers_v([[3, 4]]) == 0
    assert correlation([[3, 4]]) == 0


def test_propensity_near_one_for_two_samples_of_one_population():
    """The mean ratio over 40 pairs of samples is 1 within four standard errors."""
    random = np.random.default_rng(4)
    ratios = []
    for _ in range(40):
        parts = [[random.integers(0, 3, 800), random.integers(0, 4, 800)] for _ in range(2)]
        ratios.append(propensity(*parts, [3, 4]).ratio)

    assert abs(np.mean(ratios) - 1) <= 4 * np.std(ratios) / np.sqrt(40)


def test_propensity_sees_a_shift():
    """Other frequencies of one column: far beyond chance; disjoint tables reach a quarter."""
    random = np.random.default_rng(5)
    one, two = random.integers(0, 3, 800), random.choice(3, 800, p=[0.6, 0.2, 0.2])

    assert propensity([one], [two], [3]).ratio > 10
    assert propensity([np.zeros(99, int)], [np.ones(99, int)], [2]).pmse == pytest.approx(
        0.25, abs=0.01
    )


def test_propensity_equals_a_direct_calculation_for_one_column():
    """With one column the fitted probabilities are the shares in each cell."""
    one, two = np.repeat([0, 1], [30, 70]), np.repeat([0, 1], [50, 50])
    direct = (80 * (50 / 80 - 0.5) ** 2 + 120 * (50 / 120 - 0.5) ** 2) / 200
    found = propensity([one], [two], [2])

    assert found.pmse == pytest.approx(direct, rel=1e-4)
    assert found.expected == pytest.approx(0.25 / 200)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_overlap_lies_between_zero_and_one(a, b, c, d):
    """1 with itself, symmetric, 0 where intervals do not meet."""
    one, two = (min(a, b), max(a, b)), (min(c, d), max(c, d))
    found = interval_overlap(([one[0]], [one[1]]), ([two[0]], [two[1]]))[0]

    assert 0 <= found <= 1
    assert found == interval_overlap(([two[0]], [two[1]]), ([one[0]], [one[1]]))[0]
    assert interval_overlap(([one[0]], [one[1]]), ([one[0]], [one[1]]))[0] == 1
    if one[1] < two[0]:
        assert found == 0


def test_share_intervals_by_hand():
    """25 of 100: 0.25 +- 1.96 * sqrt(0.25 * 0.75 / 100)."""
    low, high = share_intervals([25, 75])

    assert (low[0], high[0]) == pytest.approx((0.1651, 0.3349), abs=1e-4)


def test_the_model_sees_one_column_for_each_value_but_the_first():
    """Written out: ones, then values of each column; scores, sums and products are those of it."""
    from pramana.evaluation.utility import _indicators, _products

    cells = np.array([[0, 0, 0], [1, 2, 0], [0, 1, 0]])
    design = _indicators(list(cells.T), [2, 3, 1])
    written = np.array([[1, 0, 0, 0], [1, 1, 0, 1], [1, 0, 1, 0]])
    weights = np.array([2.0, 0.5, 3.0])
    assert design.toarray().tolist() == written.tolist()
    assert _products(design, weights) == pytest.approx((written.T * weights) @ written)
