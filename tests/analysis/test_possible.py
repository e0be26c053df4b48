"""The mean of possible tables: right on average over truths as they are drawn, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.analysis import association as possible
from pramana.analysis import association as strength
from pramana.analysis.association import mean_table, usual_below
from pramana.analysis.channels import Channels
from pramana.analysis.regularised_em import ReleasedPair, first_guess, fitted_original
from pramana.evaluation.utility import cramers_v
from tests.analysis.worlds import layout_of, mixtures, released

SHAPE = (3, 3)
ROWS, COLUMNS = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])


def _asked(truth, retention, seed=0, noise=1.0):
    layout = layout_of(truth.shape, mixtures(truth.shape, retention))
    table = released(truth, layout, np.random.default_rng(seed))[0].astype(float)
    margins = (truth.sum(axis=1).astype(float), truth.sum(axis=0).astype(float))
    return mean_table(table, Channels(layout), margins, noise)


def test_no_estimate_of_usual_truths_has_a_smaller_squared_error(monkeypatch):
    """Second road: truths of the usual law, strong ones among them; other parts are worse.

    Seeded; what is kept is compared with 0.5, 0.8, 1.25 and 1.6 times as much.
    """
    monkeypatch.setattr(strength, "USUAL_STRENGTH", 0.5)
    rng, errors = np.random.default_rng(1), []
    drawn, strengths = possible._drawn(ROWS, COLUMNS)
    usual = possible._spread_over(strengths, usual_below(possible.CLASSES))
    for pick in rng.choice(len(strengths), 80, p=usual / usual.sum()):
        shares = drawn[:, :, pick] + np.outer(ROWS, COLUMNS)
        truth = np.rint(5000 * np.maximum(shares, 0)).astype(int)
        found, counting, _ = _asked(truth, 0.25, seed=pick)
        right = truth - np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
        errors.append(
            [((times * found - right) ** 2).sum() for times in (0.5, 0.8, 1.0, 1.25, 1.6)]
        )
        assert counting >= 1

    assert np.argmin(np.mean(errors, axis=0)) == 2


def test_tables_that_cannot_be_are_not_thought_of():
    """Whatever was released, the mean is a table (up to where fitting to margins ends)."""
    layout = layout_of(SHAPE, mixtures(SHAPE, 0.2))
    table = np.array([[900.0, 100, 500], [0, 900, 400], [600, 600, 1000]])
    margins = (5000 * ROWS, 5000 * COLUMNS)

    found, counting, _ = mean_table(table, Channels(layout), margins, 1.0)

    undone = Channels(layout).solve(table)
    undone -= np.outer(undone.sum(axis=1), undone.sum(axis=0)) / 5000
    assert (found + np.outer(*margins) / 5000).min() > -100
    assert (undone + np.outer(*margins) / 5000).min() < -2000
    assert found.sum(axis=0) == pytest.approx(0, abs=5)
    assert found.sum(axis=1) == pytest.approx(0, abs=5)
    assert counting < possible.DRAWS / 20


def test_where_data_tell_nothing_nothing_is_said_and_where_they_tell_all_few_count():
    """Limits: pure noise gives what is usual, on average none; no noise leaves hardly a table."""
    truth = np.array([[1000, 0, 0], [0, 1500, 0], [0, 0, 2500]])
    nothing, many, neither = _asked(truth, 0.001)
    _, few, certain = _asked(truth, 0.95)

    assert np.abs(nothing).sum() < 0.02 * truth.sum()
    assert many > 100
    assert few < 5
    assert abs(neither) < 0.01
    assert certain > 100


def test_each_strength_counts_as_usual_however_many_tables_have_it():
    """The weights of drawn tables sum, up to any V, to what is usual below it."""
    _, strengths = possible._drawn(ROWS, COLUMNS)
    weights = possible._spread_over(strengths, usual_below(possible.CLASSES))

    for edge in possible.CLASSES[5:-3:4]:
        assert weights[strengths < edge].sum() == pytest.approx(float(usual_below(edge)), abs=0.02)


@pytest.mark.deep
def test_evidence_is_one_on_average_where_columns_are_independent():
    """Law: a ratio of likelihoods has the mean 1 under what stands below, so it seldom is large.

    Seeded; 2,000 released tables, and four errors of their mean (one in 30,000) are allowed for.
    """
    layout, rng = layout_of(SHAPE, mixtures(SHAPE, 0.25)), np.random.default_rng(5)
    channels, truth = Channels(layout), 5000 * np.outer(ROWS, COLUMNS)
    noise = 1 - float(channels.squared(truth).sum()) / 5000
    shares = channels.forward(truth).ravel() / 5000
    ratios = np.exp(
        [
            mean_table(table.astype(float), channels, (5000 * ROWS, 5000 * COLUMNS), noise)[2]
            for table in rng.multinomial(5000, shares, 2_000).reshape(-1, *SHAPE)
        ]
    )

    assert ratios.mean() == pytest.approx(1, abs=4 * ratios.std() / np.sqrt(len(ratios)))
    assert (ratios > 100).mean() <= 0.01


@pytest.mark.parametrize("times", [0.8, 1.15, 1.6])
def test_strong_dependence_is_told_where_it_is_beyond_doubt(times):
    """A released table off independence in one direction: at most 0.35, until data are sure."""
    layout = layout_of((3, 4), mixtures((3, 4), 0.21))
    ahead = np.outer([1, -1, 0], [1, -1, 1, -1]) * 31.0 * times
    table = np.full((3, 4), 5000 / 12) + ahead
    channels, margins = Channels(layout), (np.full(3, 5000 / 3), np.full(4, 1250.0))
    evidence = mean_table(table, channels, margins, 0.9)[2]

    found = cramers_v(fitted_original(table, channels))

    assert (evidence > strength.SURE) == (times == 1.6)
    assert (found > 0.36) == (times == 1.6)


def test_large_tables_and_those_without_noise_are_asked_in_another_way():
    """Up to thirty cells, and where chance has a part."""
    small, large = (3, 10), (4, 8)
    pairs = {}
    for shape in (small, large):
        layout = layout_of(shape, mixtures(shape, 0.3))
        table = np.full(shape, 20.0)
        margins = (table.sum(axis=1), table.sum(axis=0))
        pairs[shape] = ReleasedPair.of(table, Channels(layout), (0, 1), margins)
        assert cramers_v(first_guess(table, Channels(layout)).table) < 0.005
    assert (pairs[small].small, pairs[large].small) == (True, False)
