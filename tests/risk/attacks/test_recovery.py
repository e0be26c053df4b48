"""Spectral filtering and principal components, against noise and against replacement."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from pramana.risk.attacks.attacker_records import Records
from pramana.risk.attacks.recovery import (
    kept_components,
    recover,
    recovery_attack,
    recovery_of_release,
)
from pramana.schema.domains import Bins
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema


def correlated(records: int, columns: int, factors: int, *, seed: int = 1):
    """Columns that vary in a few directions only."""
    random = np.random.default_rng(seed)
    loadings = random.normal(size=(factors, columns))
    return random.normal(size=(records, factors)) @ loadings * 3


@pytest.mark.parametrize("factors", [1, 3])
def test_additive_noise_is_filtered_as_published(factors):
    """What is left of the noise is its share in the data's own directions: sqrt(p / m)."""
    truth = correlated(5000, 20, factors)
    noisy = truth + np.random.default_rng(2).normal(size=truth.shape)

    for found in recovery_attack(truth, noisy, variance=1.0):
        assert found.left == pytest.approx(np.sqrt(factors / 20), rel=0.05)
        assert found.components == factors


def test_uncorrelated_data_cannot_be_told_from_noise_by_pca():
    """Data that vary alike in all directions keep all of them: nothing is filtered."""
    random = np.random.default_rng(3)
    truth = random.normal(size=(5000, 6)) * 5
    noisy = truth + random.normal(size=truth.shape)
    spectral = recovery_attack(truth, noisy, variance=1.0)[0]

    assert spectral.left == pytest.approx(1, abs=1e-9)


def test_recovery_keeps_the_mean_and_works_column_by_column_units():
    """Noise of other sizes and data of other means: scaled there and back."""
    truth = correlated(4000, 8, 1) * np.arange(1, 9) + 100
    sizes = np.linspace(0.5, 4, 8)
    noisy = truth + np.random.default_rng(4).normal(size=truth.shape) * sizes
    cleaned, _ = recover(noisy, variance=sizes**2)

    assert cleaned.mean(axis=0) == pytest.approx(noisy.mean(axis=0))
    assert ((cleaned - truth) / sizes).std() < 0.5


def test_components_by_hand():
    """Spectral: above (1 + sqrt(m/n))**2 = 1.497; pca: 8 to 4 is a fall by 2, 4 to 0.497 by 8."""
    values = np.array([9.0, 5.0, 1.3, 1.0, 0.7])

    assert kept_components(values, records=100, method="spectral") == 2
    assert kept_components(values, records=100, method="pca") == 2


def release(retention: float, records: int = 4000):
    edges = tuple(range(0, 110, 10))
    schema = Schema(tuple(Column(f"x{i}", Role.KEY, Bins(edges)) for i in range(6)))
    base = np.clip(correlated(records, 6, 1) * 4 + 50, 0, 99.9)
    truth = Records(
        tuple((base[:, i] // 10).astype(int) for i in range(6)), np.zeros(records, int), (None,) * 6
    )
    steps = tuple(
        Step((f"x{i}",), UniformMixture.of(Bins(edges).labels, retention=retention))
        for i in range(6)
    )
    return recovery_of_release(schema, Mechanism(steps), truth, keystream=Keystream.from_seed(1))


def test_replacement_gets_a_number():
    """Replacement is not immune: the attack that knows the matrix removes some of the noise."""
    found = release(0.5)
    posterior = found.replacement[-1]

    assert posterior.method == "posterior"
    assert posterior.left < 0.75
    assert min(part.left for part in found.noise) < 0.75
    assert found.released_exact == pytest.approx(0.55, abs=0.02)
    assert found.exact >= found.released_exact - 0.02
    assert "is left after the best attack" in found.sentences()[0]


def test_pure_noise_leaves_only_guessing():
    """With retention 0 the most likely value is the most frequent one."""
    found = release(0.0)

    assert found.exact == pytest.approx(found.guess, abs=0.02)


def test_bad_input_is_refused():
    """Noise without variance, one record, an unknown method, records that do not pair up."""
    with pytest.raises(InvalidNumber, match="above 0"):
        recover(np.ones((5, 2)), variance=0)
    with pytest.raises(InvalidNumber, match="at least two records"):
        recover(np.ones((1, 2)), variance=1)
    with pytest.raises(InvalidNumber, match="spectral, pca"):
        recover(np.ones((5, 2)), variance=1, method="magic")
    with pytest.raises(InvalidNumber, match="the same ones"):
        recovery_attack(np.ones((5, 2)), np.ones((4, 2)), variance=1)
