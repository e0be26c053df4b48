"""Conditional distribution functions of Gaussian mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from pramana.kanonymity.mixture import NormalMixture


def some_mixture(components, d, seed=0):
    rng = np.random.default_rng(seed)
    lean = rng.normal(size=(components, d, d)) / 2
    spread = lean @ lean.transpose(0, 2, 1) + np.eye(d) / 3
    return NormalMixture(
        rng.dirichlet(np.ones(components)), rng.normal(size=(components, d)), spread
    )


def density(mixture, x):
    """Of the first len(x) keys."""
    j = len(x)
    return sum(
        w * stats.multivariate_normal.pdf(x, m[:j], c[:j, :j])
        for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    )


@pytest.mark.parametrize("seed", range(3))
def test_forward_is_the_integral_of_the_density(seed):
    """Each conditional distribution function against direct numerical integration."""
    mixture = some_mixture(3, 2 + seed % 2, seed)
    points = np.random.default_rng(seed + 10).normal(size=(2, 2 + seed % 2))
    uniforms = mixture.forward(points)

    for x, u in zip(points, uniforms, strict=True):
        for j in range(len(x)):
            below, whole = (
                integrate.quad(lambda t, j=j, x=x: density(mixture, [*x[:j], t]), -15, end)[0]
                for end in (x[j], 15)
            )
            assert u[j] == pytest.approx(below / whole, abs=2e-5)


def test_one_component_by_hand():
    """With correlation 0.6, the mean of the second key given the first is +0.6 times it."""
    mixture = NormalMixture(np.ones(1), np.zeros((1, 2)), np.array([[[1.0, 0.6], [0.6, 1.0]]]))
    uniforms = mixture.forward(np.array([[1.0, 0.6], [1.0, 1.4]]))

    assert uniforms[0] == pytest.approx([stats.norm.cdf(1), 0.5], abs=1e-5)
    assert uniforms[1, 1] == pytest.approx(stats.norm.cdf(1), abs=1e-5)


def test_joining_keeps_weights_means_and_covariances():
    """The first two moments of the whole mixture do not change."""
    mixture = some_mixture(300, 3)
    small = mixture.joined(20)

    def moments(m):
        mean = m.weights @ m.means
        gaps = m.means - mean
        inner = np.einsum("c,cij->ij", m.weights, m.covariances)
        return mean, inner + np.einsum("c,ci,cj->ij", m.weights, gaps, gaps)

    assert small.weights.size == 20
    assert small.weights.sum() == pytest.approx(1)
    for ours, theirs in zip(moments(small), moments(mixture), strict=True):
        assert ours == pytest.approx(theirs)


def test_joining_costs_little_and_less_with_more_parts():
    """Measured on points of the mixture: below 0.02 with 128 of 400 parts."""
    mixture = some_mixture(400, 2)
    points = mixture.means[:200]
    whole = mixture.forward(points, most=400)
    few, many = (np.abs(whole - mixture.forward(points, most=most)).max() for most in (16, 128))

    assert many < 0.02
    assert many < few


def test_equal_components_are_joined_as_one():
    """Nothing to cut: one part, with the weight of all."""
    mixture = NormalMixture(np.full(5, 0.2), np.zeros((5, 2)), np.tile(np.eye(2), (5, 1, 1)))

    assert mixture.joined(3).weights == pytest.approx([1.0])


def test_far_points_still_get_a_number():
    """Forty deviations out, the numbers are 0 and 1 and not undefined."""
    uniforms = some_mixture(5, 2).forward(np.array([[-40.0, 40.0], [40.0, -40.0]]))

    assert np.isfinite(uniforms).all()
    assert uniforms[:, 0] == pytest.approx([0, 1], abs=1e-6)
