"""The owner's test of reports against the truth: its chances are what they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.base.rounding import TOTAL
from pramana.mechanisms.mechanism import AttributeSet
from pramana.mechanisms.transition import UniformMixture
from pramana.verification.fit_tests import _chance

TRUTH = np.repeat(np.arange(6), [700, 420, 200, 120, 50, 10])
RECORDS = len(TRUTH)


def drawn(rng, asked: int, kept: float) -> np.ndarray:
    """Reports of some of the people, counted."""
    own = rng.permutation(TRUTH)[:asked]
    told = np.where(rng.random(asked) < kept, own, rng.integers(0, 6, asked))
    return np.bincount(told, minlength=6).astype(float)


@pytest.mark.parametrize("asked", [RECORDS, 1_200, 60])
@pytest.mark.parametrize("kept", [0.9, 0.3])
def test_chances_are_even_also_where_nearly_all_are_asked(asked, kept):
    """Over 400 sound releases; taken for draws with replacement their mean is up to 0.87."""
    one = AttributeSet(("a",), TOTAL, UniformMixture.of(tuple("uvwxyz"), retention=kept))
    rng, before = np.random.default_rng(7), np.bincount(TRUTH).astype(float)
    chances = np.array([_chance(one, before, drawn(rng, asked, kept)) for _ in range(400)])

    assert np.mean(chances) == pytest.approx(0.5, abs=0.06)  # 4 standard errors
    assert np.mean(chances < 0.05) <= 0.095
    others = _chance(one, before, drawn(rng, asked, kept)[::-1])
    assert asked < RECORDS / 2 or others < 1e-6
    assert _chance(one, before, np.zeros(6)) == 1
