"""Tests of tables from reports: unbiased, and intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.errors import InvalidTable
from pramana.estimation.reported import SetSums, totals_of_reports

GAMMA = 40.0
SETS = ((0, 1), (0, 1, 2), (1, 2), (0,))
SHARES = (0.4, 0.2, 0.3, 0.1)


def people(seed, records, sizes=(3, 4, 2)):
    rng = np.random.default_rng(seed)
    flat = rng.choice(np.prod(sizes), records, p=rng.dirichlet(np.full(np.prod(sizes), 0.4)))
    return np.stack(np.unravel_index(flat, sizes), axis=1), sizes


def released(codes, sizes, rng):
    """For each set that holds columns 0 and 1 its reports, counted by them."""
    chosen = rng.choice(len(SETS), len(codes), p=SHARES)
    parts = []
    for place, columns in enumerate(SETS):
        if not {0, 1} <= set(columns):
            continue
        shape = [sizes[column] for column in columns]
        cells = int(np.prod(shape))
        kept = (GAMMA - 1) / (GAMMA + cells - 1)
        own = codes[chosen == place]
        flat = np.ravel_multi_index(tuple(own[:, column] for column in columns), shape)
        noise = rng.integers(0, cells, len(flat))
        flat = np.where(rng.random(len(flat)) < kept, flat, noise)
        table = np.bincount(flat, minlength=cells).reshape(shape).astype(float)
        table = table.reshape(sizes[0], sizes[1], -1).sum(axis=2)
        parts.append(SetSums.of_counts(table, kept, np.full((3, 4), 1 / 12)))
    return parts


def test_unbiased_and_intervals_hold():
    """Over 1,000 releases of the same people |z| <= 4, and 95 % intervals hold in 93 to 97 %."""
    codes, sizes = people(1, 1_500)
    truth = np.zeros((3, 4))
    np.add.at(truth, (codes[:, 0], codes[:, 1]), 1)
    rng, found, held = np.random.default_rng(2), [], []
    for _ in range(1_000):
        table = totals_of_reports(released(codes, sizes, rng), records=len(codes))
        found.append(table.totals)
        held.append(np.abs(table.totals - truth) <= 1.96 * np.sqrt(table.people))
    found = np.array(found)
    z = (found.mean(0) - truth) / (found.std(0, ddof=1) / np.sqrt(len(found)))
    assert np.abs(z).max() <= 4
    assert 0.93 <= np.mean(held) <= 0.97
    # Without the correction for a finite population intervals would be too wide.
    assert (table.population >= table.people).all()


def test_kept_as_they_are_reports_give_the_sample():
    """Retention 1 and everybody asked: the truth itself, without error."""
    counts = np.array([30.0, 70.0])
    table = totals_of_reports([SetSums.of_counts(counts, 1.0, np.full(2, 0.5))], records=100)
    np.testing.assert_allclose(table.totals, [30, 70])
    np.testing.assert_allclose(table.people, 0, atol=1e-9)


def test_a_table_that_nobody_was_asked_for_is_refused():
    """There is nothing to estimate from."""
    with pytest.raises(InvalidTable, match="No report holds"):
        totals_of_reports([], records=100)
