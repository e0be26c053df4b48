"""EM, its first guess, and the regularised fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.analysis.channels import Channels, expected_original
from pramana.analysis.counts import clip, estimate_counts
from pramana.analysis.layout import Moments
from pramana.analysis.regularised_em import (
    climb,
    first_guess,
    fit,
    fitted_original,
    onto_simplex,
    shrink_singular_values,
)
from pramana.mechanisms.mechanism import Mechanism, Step, with_fixed
from pramana.mechanisms.transition import Dense, UniformMixture
from tests.analysis.worlds import (
    FOUR_WAY,
    columns,
    dependent_truth,
    joint_step,
    layout_of,
    mixtures,
    moments_of_counts,
    released,
    released_by_axis,
)


def error(estimate, truth):
    """The sum of absolute errors as a share of the records."""
    return np.abs(estimate - truth).sum() / truth.sum()


def test_one_step_by_hand():
    """Retention 0.5, even guess: a released a0 was a0 with probability 3/4."""
    channels = Channels(layout_of((2,), mixtures((2,), 0.5)))

    truth = expected_original(np.array([60.0, 40.0]), np.array([1.0, 1.0]), channels)

    assert np.allclose(truth, [60 * 0.75 + 40 * 0.25, 60 * 0.25 + 40 * 0.75])


def log_likelihood(released, guess, channels):
    """How well a guess explains released counts, up to a constant."""
    return released.ravel() @ np.log(channels.forward(guess) / guess.sum()).ravel()


@given(st.integers(0, 2**32 - 1))
def test_each_round_climbs(seed):
    """Law: without pseudo-records the likelihood never falls, and the total is kept."""
    rng = np.random.default_rng(seed)
    channels = Channels(layout_of((3, 4), mixtures((3, 4), 0.4)))
    table, guess = rng.integers(0, 50, (3, 4)) + 1.0, rng.uniform(1, 2, (3, 4))

    better = expected_original(table, guess, channels)

    assert np.isclose(better.sum(), table.sum())
    before, after = (log_likelihood(table, p, channels) for p in (guess, better))
    assert after >= before - 1e-9 * abs(before)


def test_without_pseudo_records_em_meets_the_solution_where_that_is_positive():
    """Second road: the non-negative maximum likelihood is the inverse if no count is negative."""
    channels = Channels(layout_of((3, 2), mixtures((3, 2), 0.6)))
    table = np.array([[300.0, 250], [250, 200], [200, 220]])
    solved = channels.solve(table)
    assert (solved > 0).all()
    even = np.ones((3, 2))

    found = climb(table, even, even, channels, None, pull=0.0, tolerance=1e-12, most=5000)

    assert np.allclose(found, solved, rtol=1e-5)


def test_a_pairwise_model_has_no_three_way_term():
    """The odds ratios of a fitted pairwise model do not depend on the third column."""
    channels = Channels(layout_of((2, 2, 2), mixtures((2, 2, 2), 0.7)))
    table = np.random.default_rng(1).integers(50, 400, (2, 2, 2)).astype(float)
    even, margins = np.ones((2, 2, 2)), [(0, 1), (0, 2), (1, 2)]

    found = climb(table, even, even, channels, margins, pull=0.0, tolerance=1e-12, most=3000)

    odds = found[0, 0] * found[1, 1] / (found[0, 1] * found[1, 0])
    assert np.isclose(odds[0], odds[1], rtol=1e-6)


def test_the_simplex_projection_is_the_nearest_point():
    """Second road: no random non-negative table with the same total is nearer."""
    rng = np.random.default_rng(2)
    estimate = rng.normal(1, 3, size=6)

    found = onto_simplex(estimate, 10.0)

    assert np.isclose(found.sum(), 10)
    others = rng.dirichlet(np.ones(6), size=5000) * 10
    distances = ((others - estimate) ** 2).sum(axis=1)
    assert ((found - estimate) ** 2).sum() <= distances.min() + 1e-9


def test_singular_values_of_noise_are_removed_and_strong_ones_kept():
    """Noise stays below 1 + sqrt(beta) in units of sqrt(rows); a strong value loses little."""
    rng = np.random.default_rng(3)
    noise = np.linalg.svd(rng.normal(size=(200, 100)), compute_uv=False)

    assert (shrink_singular_values(noise * 0.98, 200, 100) < 0.25 * noise).all()
    assert shrink_singular_values(np.array([1e4]), 200, 100)[0] == pytest.approx(1e4, rel=1e-3)


def test_the_first_guess_of_an_unchanged_table_is_nearly_that_table():
    """Limit case: retention 1 makes no noise, so the pairs are kept as they are."""
    truth = dependent_truth(1, (4, 5), 5000).astype(float)
    channels = Channels(layout_of((4, 5), mixtures((4, 5), 1.0)))

    guess = first_guess(truth, channels).table

    independent = np.outer(truth.sum(1), truth.sum(0)) / truth.sum()
    assert np.allclose(guess, 0.9 * truth + 0.1 * independent, atol=0.02 * truth.max())


def test_impossible_cells_stay_out_of_the_fit():
    """A joint axis has no place for them; the estimate is laid out as exactly 0."""
    mechanism = Mechanism((joint_step(), *mixtures((3, 2, 4), 0.4).steps[2:]))
    layout = layout_of((3, 2, 4), mechanism)
    table = np.random.default_rng(4).integers(0, 40, layout.shape)

    result = estimate_counts(moments_of_counts(table), layout, method="shrunk")

    assert (result.estimate[2, 1] == 0).all()
    assert (result.estimate >= 0).all()
    assert np.isclose(result.estimate.sum(), table.sum())


def test_em_agrees_with_inverse_where_data_are_plenty():
    """Two-way table, a million records: the two differ by less than one standard error."""
    rng = np.random.default_rng(5)
    layout = layout_of((3, 4), mixtures((3, 4), 0.5))
    truth = dependent_truth(2, (3, 4), 1_000_000)
    table = moments_of_counts(released(truth, layout, rng)[0])

    inverse = estimate_counts(table, layout, method="unbiased")
    em = estimate_counts(table, layout, method="shrunk")

    assert (np.abs(inverse.estimate - em.estimate) < inverse.se).all()


def test_the_fit_is_a_function_of_the_release():
    """Held-out parts come from a fixed keystream: the same table gives the same numbers."""
    layout = layout_of((4, 5), mixtures((4, 5), 0.4))
    table = np.random.default_rng(6).integers(0, 40, (4, 5)).astype(float)

    assert np.array_equal(fit(table, Channels(layout)), fit(table, Channels(layout)))


def test_em_beats_clipping_and_solving_on_two_way_tables():
    """Mean error over 10 releases: below two thirds of clipping, below half of solving."""
    rng = np.random.default_rng(7)
    layout = layout_of((10, 8), mixtures((10, 8), 0.3))
    channels, truth = Channels(layout), dependent_truth(4, (10, 8), 20_000)

    errors = []
    for table in released(truth, layout, rng, times=10).astype(float):
        solved = channels.solve(table)
        fitted = fitted_original(table, channels)
        errors.append([error(part, truth) for part in (solved, clip(solved), fitted)])

    solved, clipped, fitted = np.mean(errors, axis=0)
    assert fitted < clipped * 2 / 3
    assert fitted < solved / 2


@pytest.mark.deep
def test_the_four_way_table_is_within_a_twelfth_of_the_error_of_solving():
    """n = 100,000, columns of 2, 18, 12, 3 values, dependence of every order, retention 0.3255."""
    rng = np.random.default_rng(8)
    layout = layout_of(FOUR_WAY, mixtures(FOUR_WAY, 0.3255))
    channels, truth = Channels(layout), dependent_truth(5)

    errors = []
    for _ in range(5):
        table = released_by_axis(truth, layout, rng)
        fitted = fitted_original(table, channels)
        errors.append([error(channels.solve(table), truth), error(fitted, truth)])

    solved, fitted = np.mean(errors, axis=0)
    assert solved > 4
    assert fitted < solved / 12
    assert fitted < 0.33


mechanisms = st.sampled_from(["mixture", "dense", "fixed", "joint", "strata", "as it is"])


def world_of(kind):
    """A layout of two or three columns under one kind of step."""
    labels = columns((3, 2, 4))
    steps = list(mixtures((3, 2, 4), 0.4).steps)
    if kind == "dense":
        steps[0] = Step(
            ("a",), Dense.of(labels["a"], [[0.8, 0.1, 0.1], [0, 0.7, 0.3], [0.2, 0, 0.8]])
        )
    elif kind == "fixed":
        steps[2] = Step(("c",), with_fixed(labels["c"], {"c3"}, retention=0.3))
    elif kind == "joint":
        steps = [joint_step(), steps[2]]
    elif kind == "strata":
        kept = {("b0",): 0.2, ("b1",): 0.9}
        matrices = {key: UniformMixture.of(labels["a"], retention=r) for key, r in kept.items()}
        steps = [Step(("a",), strata=("b",), by_stratum=matrices), steps[2]]
    elif kind == "as it is":
        steps = steps[:1]
    return layout_of((3, 2, 4), Mechanism(tuple(steps)))


@settings(max_examples=25)
@given(mechanisms, st.integers(0, 2**32 - 1), st.floats(0.02, 30))
def test_em_gives_a_table_of_people_whatever_was_released(kind, seed, density):
    """Law: finite, non-negative, of the right total, with an interval around every estimate."""
    layout = world_of(kind)
    table = np.random.default_rng(seed).poisson(density, size=layout.shape)
    table.flat[seed % table.size] += 1

    result = estimate_counts(moments_of_counts(table), layout, method="shrunk")

    assert np.isfinite(result.estimate).all()
    assert (result.estimate >= 0).all()
    assert np.isclose(result.estimate.sum(), table.sum())
    assert np.isfinite(result.se).all()
    assert ((result.low <= result.estimate) & (result.estimate <= result.high)).all()


def test_weighted_tables_are_fitted_as_so_many_equal_records():
    """The same weight for all changes the scale and nothing else."""
    layout = layout_of((4, 5), mixtures((4, 5), 0.4))
    table = np.random.default_rng(9).integers(5, 40, (4, 5)).astype(float)

    plain = estimate_counts(moments_of_counts(table), layout, method="shrunk")
    heavy = estimate_counts(Moments(table, 3 * table, 9 * table), layout, method="shrunk")

    assert np.allclose(heavy.estimate, 3 * plain.estimate)
    assert np.allclose(heavy.se, 3 * plain.se)
