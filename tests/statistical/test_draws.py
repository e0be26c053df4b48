"""Frequencies of 10**8 draws against the integer probabilities; of 10**7 in the quick run.

Each test is a chi-square test at level 1e-6 with a fixed seed: a right sampler passes with
probability 1 - 1e-6 over the choice of the seed. The same test must reject a sampler whose
probability of 0.3 is off by 0.1 % of itself, or by 0.4 % in the quick run.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.depth import DEEP

from pramana.base.randomness import Keystream
from pramana.mechanisms.sampler import randomise
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Dense, UniformMixture

LEVEL = 1e-6
DRAWS, OFF = (100_000_000, 0.001) if DEEP else (10_000_000, 0.004)
BATCH = 10_000_000


def test_a_mixture_draws_its_integers_and_a_shifted_one_is_rejected():
    """P = 0.3 for either other value passes; a little more against the same claim does not."""
    claimed = UniformMixture.of(("a", "b", "c"), gamma=0.4 / 0.3)
    assert claimed.values[0, 1] == pytest.approx(0.3)
    shifted = UniformMixture(claimed.labels, int(claimed.other * (1 + OFF)))

    assert _p_value(claimed, _frequencies(claimed, truth=0, seed=1)) > LEVEL
    assert _p_value(claimed, _frequencies(shifted, truth=0, seed=1)) < LEVEL


def test_a_dense_row_draws_its_integers_and_a_shifted_one_is_rejected():
    """The alias table of a 5 x 5 matrix, with a probability of 0.3 and one of 0.0001."""
    row = np.array([0.3, 0.0001, 0.1999, 0.0, 0.5])
    off = row + np.array([0.3 * OFF, 0, 0, 0, -0.3 * OFF])
    claimed, shifted = (Dense.of(tuple("abcde"), np.tile(values, (5, 1))) for values in (row, off))

    assert _p_value(claimed, _frequencies(claimed, truth=3, seed=2)) > LEVEL
    assert _p_value(claimed, _frequencies(shifted, truth=3, seed=2)) < LEVEL


def test_a_sparse_row_draws_its_integers_and_a_shifted_one_is_rejected():
    """The ragged table of an identity plus three transitions."""

    def matrix(chance):
        return SparseRows.of(
            tuple("abcde"), rows=[1, 1, 1], columns=[0, 2, 4], probabilities=[chance, 0.25, 0.01]
        )

    claimed = matrix(0.3)
    assert _p_value(claimed, _frequencies(claimed, truth=1, seed=3), truth=1) > LEVEL
    assert (
        _p_value(claimed, _frequencies(matrix(0.3 * (1 + OFF)), truth=1, seed=3), truth=1) < LEVEL
    )


def test_two_columns_of_a_record_draw_independently():
    """A 3 x 3 table of draws from two streams: independence at level 1e-6, rejected if shared."""
    matrix = UniformMixture.of(("a", "b", "c"), retention=0.2)
    codes = np.zeros(BATCH, np.uint8)
    keystream = Keystream.from_seed(4)
    left, right = (randomise(matrix, codes, keystream=keystream, stream=s) for s in ("l", "r"))

    def p_value(a, b):
        table = np.bincount(a * np.uint8(3) + b, minlength=9).reshape(3, 3)
        return stats.chi2_contingency(table).pvalue

    assert p_value(left, right) > LEVEL
    late = randomise(matrix, codes[1:], keystream=keystream, stream="l", start=1)
    assert p_value(left[:-1], late) > LEVEL  # neighbours in one stream
    assert p_value(left[1:], late) < LEVEL  # the same words


def _frequencies(matrix, *, truth, seed):
    keystream = Keystream.from_seed(seed)
    codes = np.full(BATCH, truth, np.uint8)
    counts = np.zeros(matrix.size, np.int64)
    for start in range(0, DRAWS, BATCH):
        drawn = randomise(matrix, codes, keystream=keystream, stream="draws", start=start)
        counts += np.bincount(drawn, minlength=matrix.size)
    return counts


def _p_value(matrix, counts, *, truth=0):
    expected = matrix.values[truth] * DRAWS
    assert not counts[expected == 0].any()
    possible = expected > 0
    return stats.chisquare(counts[possible], expected[possible]).pvalue
