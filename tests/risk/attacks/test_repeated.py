"""Repeated perturbation: never a gain, and the matrix power beside the run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber
from pramana.mechanisms.transition import Dense, UniformMixture
from pramana.risk.attacks.repeated_releases import repeated_attack


def attack(matrix, released, **how):
    return repeated_attack("x", matrix, released, keystream=Keystream.from_seed(1), **how)


def test_a_coin_by_hand():
    """Retention 1/2 of two values: kept with 3/4, after two rounds 5/8; entropies of those."""
    found = attack(UniformMixture.of(("a", "b"), retention=0.5), np.array([0, 1] * 50), times=2)

    assert [r.smallest_diagonal for r in found.rounds] == pytest.approx([0.75, 0.625])
    assert [r.guess for r in found.rounds] == pytest.approx([0.75, 0.625])
    assert found.rounds[0].entropy == pytest.approx(0.811278)
    assert found.rounds[0].unchanged == 1


@given(st.integers(2, 8), st.floats(0, 1), st.integers(2, 6))
def test_powers_follow_the_closed_form_and_never_gain(size, retention, times):
    """After t rounds the retention is rho**t [Dowd, Lemma 2], and guessing only gets worse."""
    matrix = UniformMixture.of(tuple(range(size)), retention=retention)
    found = attack(matrix, np.arange(size), times=times)

    for entry in found.rounds:
        kept = float(matrix.retention) ** entry.times
        assert entry.smallest_diagonal == pytest.approx(kept + (1 - kept) / size)
    assert not found.gains


@given(st.integers(0, 500))
def test_no_matrix_and_no_prior_gains(seed):
    """Putting a value through any matrix again cannot tell more about the truth."""
    random = np.random.default_rng(seed)
    matrix = Dense.of(tuple("abc"), random.dirichlet([1, 1, 1], 3))
    found = attack(matrix, np.zeros(20, int), times=4, prior=random.random(3))

    assert not found.gains
    assert found.rounds[-1].guess >= found.prior - 1e-12


def test_the_run_follows_the_power():
    """Of 40,000 values as many stay through three more rounds as the power says (4 sigma)."""
    matrix = UniformMixture.of(tuple("abcde"), retention=0.7)
    found = attack(matrix, np.random.default_rng(2).integers(0, 5, 40_000), times=4)

    for entry in found.rounds:
        sigma = np.sqrt(entry.unchanged_expected * (1 - entry.unchanged_expected) / 40_000)
        assert abs(entry.unchanged - entry.unchanged_expected) <= 4 * sigma


def test_many_rounds_end_at_guessing():
    """The limit is what one knows without the release, and the sentence says all three numbers."""
    found = attack(UniformMixture.of(("a", "b"), retention=0.5), np.zeros(10, int), times=60)

    assert found.rounds[-1].guess == pytest.approx(found.prior)
    assert "right with 75 % from the release, with 50 % after 60" in found.sentence()


def test_zero_rounds_are_refused():
    """The release itself is one."""
    with pytest.raises(InvalidNumber, match="times"):
        attack(UniformMixture.of(("a", "b"), retention=0.5), np.zeros(3, int), times=0)
