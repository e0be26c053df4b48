"""Re-identification by the nearest record."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks._classes import reidentification
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import InvalidTable
from pramana.risk.attacks.microaggregated import link_chances


def by_hand(truth, released):
    """All distances, one person at a time."""
    chances = []
    for i, x in enumerate(truth):
        gaps = np.linalg.norm(released - x, axis=1)
        near = np.flatnonzero(gaps <= gaps.min() * (1 + 1e-9) + 1e-300)
        chances.append(1 / near.size if i in near else 0.0)
    return np.array(chances)


def test_four_people_by_hand():
    """Own keys: certain. Two share: a half. Keys moved away: never."""
    truth = np.array([[0.0], [5.0], [5.0], [9.0]])
    released = np.array([[0.0], [5.0], [5.0], [20.0]])

    assert link_chances(truth, released).tolist() == [1.0, 0.5, 0.5, 0.0]


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(0, 10**6))
def test_the_search_agrees_with_all_distances(n, seed):
    """On random tables with ties between different keys too."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, size=(n, 2)).astype(float)
    released = truth[rng.permutation(n)] + rng.integers(-1, 2, size=(n, 2))

    assert link_chances(truth, released) == pytest.approx(by_hand(truth, released))


def test_frequencies_by_class_with_intervals():
    """Two classes over 200 releases: one always found, the other one time in two."""
    truth = np.array([[0.0], [7.0], [7.0]])
    risk = reidentification(truth, [truth] * 200)

    assert risk.sizes.tolist() == [1, 2]
    assert risk.frequency.tolist() == [1.0, 0.5]
    assert risk.low[1] < 0.5 < risk.high[1]
    assert risk.average == pytest.approx(2 / 3)
    assert risk.above(0.2) == 2
    assert risk.above(0.6) == 1


@pytest.mark.parametrize("method", ["centroid", "resample", "permute", "gaussian"])
def test_k_anonymous_releases_stay_below_one_in_k(method):
    """No class of generated people is found more often than 1/k beyond sampling error."""
    from pramana.base.randomness import Keystream
    from pramana.methods.base import METHODS
    from pramana.microaggregation.anonymisation import new_keys
    from pramana.microaggregation.clustering import form_groups
    from pramana.microaggregation.groups import Key

    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 2, 600), rng.binomial(7, 0.4, 600), rng.binomial(5, 0.6, 600)]
    keys = [Key(str(i), values.astype(float)) for i, values in enumerate(columns)]
    groups = form_groups(keys, k=5, keystream=Keystream.from_seed(1))
    truth = np.column_stack(columns).astype(float)

    def release(seed):
        stream = Keystream.from_seed(seed)
        new = new_keys(keys, groups.labels, METHODS[method]().donors, stream)
        return np.column_stack([key.values for key in new])

    risk = reidentification(truth, (release(seed) for seed in range(60)), level=0.9999)
    assert risk.above(1 / 5) == 0
    assert risk.average <= 1 / 5


def test_tables_of_other_people_are_refused():
    """Shapes must agree, and there must be a release."""
    with pytest.raises(InvalidTable, match="3 x 1 and 2 x 1"):
        link_chances(np.zeros((3, 1)), np.zeros((2, 1)))
    with pytest.raises(InvalidTable, match="at least one"):
        reidentification(np.zeros((3, 1)), [])
