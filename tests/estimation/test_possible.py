"""The mean of possible tables: right on average over truths as they are drawn, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.estimation.worlds import layout_of, mixtures, released

from pramana.estimation import possible, strength
from pramana.estimation.channels import Channels
from pramana.estimation.possible import mean_table
from pramana.estimation.spectral import ReleasedPair, first_guess
from pramana.estimation.strength import usual_below
from pramana.utility.association import cramers_v

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
    usual = possible._usual(strengths)
    for pick in rng.choice(len(strengths), 80, p=usual / usual.sum()):
        shares = drawn[:, :, pick] + np.outer(ROWS, COLUMNS)
        truth = np.rint(5000 * np.maximum(shares, 0)).astype(int)
        found, counting = _asked(truth, 0.25, seed=pick)
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

    found, counting = mean_table(table, Channels(layout), margins, 1.0)

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
    nothing, many = _asked(truth, 0.001)
    _, few = _asked(truth, 0.95)

    assert np.abs(nothing).sum() < 0.02 * truth.sum()
    assert many > 100
    assert few < 5


def test_each_strength_counts_as_usual_however_many_tables_have_it():
    """The weights of drawn tables sum, up to any V, to what is usual below it."""
    _, strengths = possible._drawn(ROWS, COLUMNS)
    weights = possible._usual(strengths)

    for edge in possible.CLASSES[5:-3:4]:
        assert weights[strengths < edge].sum() == pytest.approx(float(usual_below(edge)), abs=0.02)


def test_large_tables_and_those_without_noise_are_asked_in_another_way():
    """Up to thirty cells, and where chance has a part."""
    small, large = (3, 10), (4, 8)
    pairs = {}
    for shape in (small, large):
        layout = layout_of(shape, mixtures(shape, 0.3))
        table = np.full(shape, 20.0)
        margins = (table.sum(axis=1), table.sum(axis=0))
        pairs[shape] = ReleasedPair.of(lambda _: table, Channels(layout), (0, 1), margins)  # noqa: B023
        assert cramers_v(first_guess(table, Channels(layout))) < 0.005
    assert (pairs[small].small, pairs[large].small) == (True, False)
