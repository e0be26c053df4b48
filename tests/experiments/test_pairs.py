"""Tables of two attributes in the experiment on Pk-anonymous tables."""

from __future__ import annotations

import numpy as np

from pramana.experiments.ikarashi import SIZES, WAYS, _pairs


def test_reports_are_nearer_than_whole_records_at_the_same_k():
    """Four independent attributes: by the variances of both designs, less than half the error."""
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, size, 4000).astype(np.uint8) for size in list(SIZES.values())[:4]]
    found = _pairs(codes, 4000, 2.0, seed=5)
    whole, reported = (found[way] for way in WAYS)
    assert found["attributes"] == 4
    assert reported < whole / 2
