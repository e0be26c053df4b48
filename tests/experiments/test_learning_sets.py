"""Bins for learning sets: distinct values, equal width, equal mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.experiments.tree_grid import (
    applicants,
    bin_schema,
    domain_of,
    guide_of,
    original_accuracy,
    release_at,
    try_grid,
)
from pramana.schema.domains import Bins, Categories

numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=200).map(np.array)


def test_few_distinct_values_are_not_binned():
    """d at most N: every value is a category of its own [Dowd, Sec. 7.1]."""
    assert domain_of(np.array([3.0, 1, 2, 2]), 5) == Categories((1, 2, 3), ordered=True)
    assert isinstance(domain_of(np.arange(6.0), 5), Bins)


def test_a_constant_column_gets_a_second_value():
    """A column with one value has nothing to be replaced by."""
    assert domain_of(np.array([7.0, 7.0]), 5).size == 2


def test_bins_of_equal_width_span_the_known_range():
    """Known ends are used and the data are not looked at."""
    domain = domain_of(np.arange(10.0), 4, ends=(0, 20))

    assert domain.edges == (0, 5, 10, 15, 20)


def test_a_heavy_value_has_a_bin_of_its_own():
    """Half of the values are 0: the first bin holds just these."""
    values = np.concatenate([np.zeros(50), np.arange(1.0, 51)])
    domain = domain_of(values, 5, cut="mass")
    counts = np.histogram(values, bins=domain.edges)[0]

    assert domain.edges[:2] == (0, 1)
    assert counts[0] == 50
    assert counts[1:].max() - counts[1:].min() <= 2


@given(numbers, st.integers(2, 12), st.sampled_from(["width", "mass"]))
def test_every_value_lies_in_a_domain_of_at_most_n_values(values, bins, cut):
    """For any numbers, either way of cutting."""
    if np.unique(values).size > max(bins, 2) and np.ptp(values) < 1e-6 * bins:
        return  # nearly equal numbers: edges would coincide in floating point
    domain = domain_of(values, bins, cut=cut)

    assert 2 <= domain.size <= max(bins, 2) or np.unique(values).size == 1
    if isinstance(domain, Bins):
        assert domain.edges[0] <= values.min()
        assert values.max() <= domain.edges[-1]


def test_a_grid_goes_the_whole_way_and_feeds_the_guide():
    """Two points on a small set; the same seed gives the same numbers."""
    data = applicants(1, records=1_500, tests=500, seed=3)
    once, twice = (try_grid([data], gammas=(5, 12), bins=(5,), seed=1) for _ in range(2))

    assert once == twice
    guide = guide_of(once)
    assert [p.gamma for p in guide.points] == [5, 12]
    assert guide.choose().bins == 5
    assert original_accuracy(data) > 0.95


def test_released_attributes_have_the_gamma_that_was_asked():
    """Every attribute through its own gamma-diagonal matrix, the class as it is."""
    data = applicants(2, records=300, tests=10, seed=4)
    schema = bin_schema(data, 5)
    release = release_at(data, schema, gamma=7, seed=1)

    gammas = [float(step.matrix.gamma) for step in release.certificate.mechanism.steps]
    assert gammas == pytest.approx([7] * 9)
    assert not release.certificate.schema.column("class").randomised
