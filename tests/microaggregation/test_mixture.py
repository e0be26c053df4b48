"""Conditional distribution functions of Gaussian mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from pramana.microaggregation.rosenblatt import NormalMixture


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
            assert u[j] == pytest.approx(below / whole, abs=1e-6)


def conditional(mixture, points, j):
    """F(x_j | x_<j), component by component, by regression on the keys before [Wei, eq. 12]."""
    before, own = points[:, :j], points[:, j]
    above = below = 0.0
    for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True):
        slope = np.linalg.solve(c[:j, :j], c[:j, j])
        centre = m[j] + (before - m[:j]) @ slope
        share = w * (stats.multivariate_normal.pdf(before, m[:j], c[:j, :j]) if j else 1.0)
        above += share
        below += share * stats.norm.cdf(own, centre, np.sqrt(c[j, j] - slope @ c[:j, j]))
    return below / above


def alike_mixture(seed):
    """Components of which many are the same up to some key, and some in all of them."""
    rng = np.random.default_rng(seed)
    means = rng.integers(0, 2, size=(40, 4)) * 0.9
    lean = np.zeros((40, 4, 4))
    lean[::3, 2:, :] = rng.normal(size=(14, 2, 4)) / 2
    spread = lean @ lean.transpose(0, 2, 1) + np.eye(4) / 3
    return NormalMixture(rng.dirichlet(np.ones(40)), means, spread)


@pytest.mark.parametrize("mixture", [some_mixture(30, 4), alike_mixture(1), alike_mixture(2)])
def test_forward_is_the_formula_term_by_term(mixture):
    """Whatever components share, all of them count with their weight."""
    points = np.random.default_rng(5).normal(size=(40, 4)) * 1.5
    expected = np.column_stack([conditional(mixture, points, j) for j in range(4)])

    assert mixture.forward(points) == pytest.approx(expected, abs=1e-6)


def test_components_that_share_keys_are_counted_once_there():
    """Of two times two times two cells there are two, four and eight, and not eight of each."""
    means = np.array(list(np.ndindex(2, 2, 2)) * 2, dtype=float)
    mixture = NormalMixture(np.full(16, 1 / 16), means, np.tile(np.eye(3), (16, 1, 1)))
    rows, starts = mixture.rows()

    assert np.bincount(3 - starts).tolist() == [0, 4, 2, 2]
    assert rows[starts == 0][:, :, 2].tolist() == [[1 / 2, 1 / 4, 1 / 8]] * 2


def test_a_number_does_not_hang_on_the_points_beside_it():
    """However many points there are, and wherever one stands among them, to the last bit."""
    mixture = some_mixture(7, 3)
    points = np.random.default_rng(6).normal(size=(5000, 3))
    whole = mixture.forward(points)

    for some in (slice(4999, None), slice(100, 300), slice(None, None, -1)):
        assert (mixture.forward(points[some]) == whole[some]).all()


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
