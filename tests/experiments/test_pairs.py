"""Tables of two attributes in the experiment on Pk-anonymous tables."""

from __future__ import annotations

import numpy as np

from pramana import PkAnonymity
from pramana.experiments.ikarashi import SIZES, WAYS, _pairs


def test_attribute_sampling_is_nearer_than_whole_records_at_the_same_k():
    """Four independent attributes: by the variances of both designs, less than half the error."""
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, size, 4000).astype(np.uint8) for size in list(SIZES.values())[:4]]
    errors = _pairs(codes, 4000, PkAnonymity(k=2), seed=5)
    whole, sampled = (np.mean(errors[way]) for way in WAYS)
    assert sampled < whole / 2
