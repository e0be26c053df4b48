"""Tests of tables from reports: unbiased, and intervals that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from pramana.analysis.attribute_sampling_sums import reported_totals
from pramana.analysis.question import Question
from pramana.errors import InvalidTable

GAMMA = 40.0
SETS = ((0, 1), (0, 1, 2), (1, 2), (0,))
SHARES = (0.4, 0.2, 0.3, 0.1)


def totals_of(counts, retention, base, people):
    """How many people are in each cell."""
    number, kept = counts.sum(axis=2, keepdims=True), np.reshape(retention, (-1, 1, 1))
    sums = {"first": counts, "second": counts, "total": number, "squares": number, "base": base}
    return reported_totals(number, kept, people, **sums)


def people(seed, records, sizes=(3, 4, 2)):
    rng = np.random.default_rng(seed)
    flat = rng.choice(np.prod(sizes), records, p=rng.dirichlet(np.full(np.prod(sizes), 0.4)))
    return np.stack(np.unravel_index(flat, sizes), axis=1), sizes


def released(codes, sizes, rng):
    """The table of columns 0 and 1, from the reports of each set that holds them."""
    chosen = rng.choice(len(SETS), len(codes), p=SHARES)
    tables, retention = [], []
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
        tables.append(table.reshape(sizes[0] * sizes[1], -1).sum(axis=1))
        retention.append(kept)
    base = np.full((1, 1, 12), 1 / 12)
    return totals_of(np.stack(tables)[:, None], retention, base, len(codes))


def test_unbiased_and_intervals_hold():
    """Over 1,000 releases of the same people |z| <= 4, and 95 % intervals hold in 93 to 97 %."""
    codes, sizes = people(1, 1_500)
    truth = np.zeros((1, 12))
    np.add.at(truth, (0, 4 * codes[:, 0] + codes[:, 1]), 1)
    rng, found, held = np.random.default_rng(2), [], []
    for _ in range(1_000):
        table = released(codes, sizes, rng)
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
    counts = np.array([[[30.0, 70.0]]])
    table = totals_of(counts, [1.0], np.full((1, 1, 2), 0.5), 100)
    np.testing.assert_allclose(table.totals, [[30, 70]])
    np.testing.assert_allclose(table.people, 0, atol=1e-9)


def test_a_table_that_nobody_was_asked_for_is_refused():
    """There is nothing to estimate from."""
    with pytest.raises(InvalidTable, match="No attribute set contains"):
        totals_of(np.zeros((1, 1, 2)), [0.5], np.full((1, 1, 2), 0.5), 100)


@pytest.mark.parametrize("number", [30, 60, 200])
def test_intervals_of_few_reports_hold_by_their_exact_law(number):
    """Of t people of a cell, each kept with 0.7 and else one of four, as many as both binomials say
    report it: every interval is gone through with its probability. They held in as little as 0.89,
    since estimates are 1 / 0.7 apart; docs/proofs/intervals.md says 0.93."""
    retention, base, reported = 0.7, 0.25, np.arange(number + 1)
    counts = np.stack([reported, number - reported], axis=1)  # the cell, and all others
    asked = Question()
    ends = []
    for row in counts:
        bases = np.array([[[base, 1 - base]]])
        table = totals_of(row[None, None, :].astype(float), [retention], bases, float(number))
        cell = replace(table, people=table.people[:, :1], step=table.step[:, :1])
        figures = table.totals[:, :1], np.sqrt(cell.people)
        low, high = cell.interval(figures, asked, most=np.full((1, 1), float(number)))
        ends.append((low.item(), high.item()))
    low, high = np.array(ends).T
    other = (1 - retention) * base
    for true in range(number + 1):
        own = binom.pmf(np.arange(true + 1), true, retention + other)
        law = np.convolve(own, binom.pmf(np.arange(number - true + 1), number - true, other))
        assert law[(low <= true) & (true <= high)].sum() > 0.93


def test_group_sizes_of_a_sample_are_random_too():
    """Everybody asked and nothing moved: a cell of a group errs like a binomial number.

    Of 100 people 40 are in the first group, and 10 of these in its first cell. Were sizes known,
    the variance would be 40 x 1/4 x 3/4; about a population it is 100 x 1/10 x 9/10.
    """
    counts = np.array([[[10.0, 30.0], [30.0, 30.0]]])
    number = counts.sum(axis=2, keepdims=True)
    sums = {"first": counts, "second": counts, "total": number, "squares": number}
    base, sizes = np.full((1, 1, 2), 0.5), np.array([[40.0], [60.0]])
    known = reported_totals(number, np.ones((1, 1, 1)), sizes, base=base, **sums)
    table = reported_totals(number, np.ones((1, 1, 1)), sizes, base=base, sample=100.0, **sums)

    about = Question(infer="population")
    assert known.se(about)[0, 0] ** 2 == pytest.approx(7.5)
    assert table.se(about)[0, 0] ** 2 == pytest.approx(9)
    np.testing.assert_allclose(table.se(Question()), 0, atol=1e-9)
