"""Counts by inverse, clipped and em: unbiased, covered, refused where there is no answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from pramana.analysis.channels import Channels
from pramana.analysis.counts import clip, estimate_counts
from pramana.analysis.question import Question
from pramana.errors import InvalidNumber, InvalidTable
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense, UniformMixture
from tests.analysis.worlds import (
    columns,
    dependent_truth,
    joint_step,
    layout_of,
    mixtures,
    moments_of_counts,
    moments_of_records,
    released,
)


def of(table, layout, **rest):
    return estimate_counts(moments_of_counts(table), layout, **rest)


def test_two_values_by_hand():
    """Retention 0.5, 100 records, 60 released as a0: (60 - 25) / 0.5 = 70 and 30."""
    layout = layout_of((2,), mixtures((2,), 0.5))

    result = of([60, 40], layout, method="unbiased")

    assert np.allclose(result.estimate, [70, 30])
    # Each record is released unchanged with probability 3/4: the release of 100 records has
    # variance 100 * 3/16, and undoing doubles the deviation.
    assert np.allclose(result.se, np.sqrt(100 * 3 / 16 * 4))
    assert np.allclose(result.high - result.estimate, 1.959964 * result.se)


def test_retention_one_gives_the_truth_without_error():
    """Limit case: nothing was changed, so nothing is uncertain, by every method."""
    layout = layout_of((2, 3), mixtures((2, 3), 1.0))
    truth = np.array([[5, 0, 3], [1, 7, 2]])

    for method in ("unbiased", "clipped", "shrunk", "auto"):
        result = of(truth, layout, method=method)
        assert np.allclose(result.estimate, truth)
    assert np.allclose(of(truth, layout).se, 0)


def test_inverse_is_unbiased_in_every_cell_and_its_variance_too():
    """Joint step with an impossible cell, crossed with a mixture: 4,000 releases.

    Means are judged by z-scores with a bound of 4 over 20 cells, variances by 4 of their own
    Monte Carlo errors: a right estimator fails with probability below 1 in 300.
    """
    rng = np.random.default_rng(11)
    mechanism = Mechanism((joint_step(), *mixtures((3, 2, 4), 0.4).steps[2:]))
    layout = layout_of((3, 2, 4), mechanism)
    truth = rng.integers(0, 60, size=layout.shape)
    channels = Channels(layout)

    tables = released(truth, layout, rng, times=4000).astype(float)
    estimates = np.array([channels.solve(table) for table in tables])
    variances = np.array([channels.spread(table) - channels.solve(table) for table in tables])

    errors = estimates.std(axis=0, ddof=1) / np.sqrt(len(tables))
    assert np.abs((estimates.mean(axis=0) - truth) / errors).max() < 4
    ratio = variances.mean(axis=0) / estimates.var(axis=0, ddof=1)
    assert np.abs(ratio - 1).max() < 4 * np.sqrt(2 / len(tables))
    assert layout.lay_out(estimates[0])[2, 1].tolist() == [0, 0, 0, 0]


def test_the_unbiasedness_test_can_fail():
    """The same bound rejects clipped counts, whose bias is known."""
    rng = np.random.default_rng(12)
    layout = layout_of((8,), mixtures((8,), 0.2))
    truth = np.array([1, 2, 3, 400, 1, 2, 3, 400])
    channels = Channels(layout)

    tables = released(truth, layout, rng, times=2000).astype(float)
    estimates = np.array([clip(channels.solve(table)) for table in tables])

    errors = estimates.std(axis=0, ddof=1) / np.sqrt(len(tables))
    assert np.abs((estimates.mean(axis=0) - truth) / errors).max() > 4


@pytest.mark.parametrize(("infer", "low", "high"), [("records", 0.93, 0.97)])
def test_intervals_cover_by_cell_size(infer, low, high):
    """Two-way table, 1,000 releases, 95 % intervals: 93 to 97 % in every class of cell size.

    A class pools at least 4,000 intervals; with intervals that hold at exactly 95 % the chance to
    leave the band is below 1 in a million.
    """
    rng = np.random.default_rng(5)
    layout = layout_of((6, 5), mixtures((6, 5), 0.35))
    truth = rng.choice([0, 8, 80, 800], size=layout.shape)

    held = np.zeros(truth.shape)
    for table in released(truth, layout, rng, times=1000):
        result = of(table, layout, method="unbiased", question=Question(infer=infer))
        held += (result.low <= truth) & (truth <= result.high)

    for size in (0, 8, 80, 800):
        assert low < held[truth == size].mean() / 1000 < high


@pytest.mark.parametrize("expected", [0.1, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("rare", [0, 200])
def test_intervals_hold_where_hardly_any_record_moves(rare, expected):
    """Second road: the exact probability over all releases, of 2,000 people and two values.

    By the standard error alone they would hold in as few as 0.89.
    """
    layout = layout_of((2,), mixtures((2,), 1 - expected / 1000))
    ins, outs = (binom.pmf(range(60), n, expected / 2000) for n in (2000 - rare, rare))
    held = 0.0
    for came, left in zip(*np.nonzero(np.outer(ins, outs) > 1e-5), strict=True):
        now = rare + int(came) - int(left)
        found = of([2000 - now, now], layout, method="unbiased")
        held += ins[came] * outs[left] * (found.low[1] <= rare <= found.high[1])

    assert held > 0.93


@pytest.mark.deep
def test_intervals_about_the_population_cover_its_shares():
    """Each release starts from a new sample; intervals about records would be too short here."""
    rng = np.random.default_rng(6)
    layout = layout_of((4, 3), mixtures((4, 3), 0.7))
    shares = rng.dirichlet(np.ones(12)).reshape(4, 3)
    whole = np.kron(*(axis.step.matrix.values for axis in layout.axes))
    expected = (shares.ravel() @ whole).reshape(4, 3)
    tables = rng.multinomial(2000, (expected / expected.sum()).ravel(), size=1500)

    held = {"records": 0.0, "population": 0.0}
    for table in tables.reshape(-1, 4, 3):
        for infer in held:
            result = of(
                table, layout, method="unbiased", share=True, question=Question(infer=infer)
            )
            held[infer] += ((result.low <= shares) & (shares <= result.high)).mean()

    assert 0.94 < held["population"] / len(tables) < 0.96
    assert held["records"] / len(tables) < 0.93


def test_default_intervals_cover_where_em_is_chosen():
    """The shrunken estimate sits in an interval that still holds at about the stated level.

    25 releases of 48 cells; the standard error of the pooled coverage is about 0.007.
    """
    rng = np.random.default_rng(8)
    layout = layout_of((8, 6), mixtures((8, 6), 0.3))
    truth = dependent_truth(3, (8, 6), 5000)

    held = []
    for table in released(truth, layout, rng, times=25):
        result = of(table, layout)
        assert result.method == "shrunk"
        assert ((result.low <= result.estimate) & (result.estimate <= result.high)).all()
        held.append(((result.low <= truth) & (truth <= result.high)).mean())

    assert 0.93 <= np.mean(held) <= 0.975


@pytest.mark.deep
def test_a_filter_on_a_randomised_column_is_unbiased_and_covered():
    """Counts and shares among records whose true b is b0 or b2; 1,500 releases."""
    rng = np.random.default_rng(9)
    layout = layout_of((3, 4), mixtures((3, 4), 0.5), by="a", where={"b": ["b0", "b2"]})
    truth = rng.integers(50, 300, size=(3, 4))
    counts = truth[:, [0, 2]].sum(axis=1)
    shares = counts / counts.sum()

    tables = released(truth, layout, rng, times=1500)
    results = [of(table, layout, method="unbiased") for table in tables]
    ratios = [of(table, layout, method="unbiased", share=True) for table in tables]

    means = np.array([result.estimate for result in results])
    assert (np.abs(means.mean(0) - counts) < 4 * means.std(0) / np.sqrt(len(tables))).all()
    held = np.mean([(r.low <= counts) & (counts <= r.high) for r in results])
    held_shares = np.mean([(r.low <= shares) & (shares <= r.high) for r in ratios])
    assert 0.935 < held < 0.965
    assert 0.935 < held_shares < 0.965


def test_simultaneous_intervals_hold_together():
    """All 12 intervals at once in at least 93.5 % of 1,000 releases; single ones far less."""
    rng = np.random.default_rng(10)
    layout = layout_of((4, 3), mixtures((4, 3), 0.5))
    truth = rng.integers(20, 200, size=(4, 3))

    together = {True: 0, False: 0}
    for table in released(truth, layout, rng, times=1000):
        for simultaneous in together:
            question = Question(simultaneous=simultaneous)
            result = of(table, layout, method="unbiased", question=question)
            together[simultaneous] += bool(((result.low <= truth) & (truth <= result.high)).all())

    assert together[True] > 935
    assert together[False] < 850


def test_weights_enter_like_records():
    """A record of weight 2 counts like two; its square makes the variance larger."""
    layout = layout_of((2,), mixtures((2,), 0.5))
    codes = np.repeat([[0], [1]], [60, 40], axis=0)
    weights = np.full(100, 2.0)

    weighted = estimate_counts(
        moments_of_records(layout, codes, weights=weights), layout, method="unbiased"
    )
    plain = of([60, 40], layout, method="unbiased")

    assert np.allclose(weighted.estimate, 2 * plain.estimate)
    assert np.allclose(weighted.se, 2 * plain.se)


@pytest.mark.deep
def test_weighted_counts_are_unbiased_with_the_right_variance():
    """2,000 releases of records with very different weights, rows simulated one by one."""
    rng = np.random.default_rng(13)
    layout = layout_of((3,), mixtures((3,), 0.4))
    codes, weights = rng.integers(0, 3, 300), rng.exponential(size=300) * 5
    truth = np.bincount(codes, weights=weights)
    values = layout.axes[0].step.matrix.values

    estimates, variances = [], []
    for _ in range(2000):
        drawn = (rng.random(300)[:, None] > values[codes].cumsum(axis=1)).sum(axis=1)
        moments = moments_of_records(layout, drawn[:, None], weights=weights)
        result = estimate_counts(moments, layout, method="unbiased")
        estimates.append(result.estimate)
        variances.append(result.se**2)

    means, spread = np.mean(estimates, axis=0), np.var(estimates, axis=0)
    assert (np.abs(means - truth) < 4 * np.sqrt(spread / 2000)).all()
    assert np.abs(np.mean(variances, axis=0) / spread - 1).max() < 4 * np.sqrt(2 / 2000)


@given(st.lists(st.integers(-50, 200), min_size=1, max_size=10))
def test_clipping_keeps_the_total_and_no_negative_count(values):
    """Law: non-negative, and the total is kept where it is positive."""
    estimate = np.array(values, dtype=float)

    clipped = clip(estimate)

    assert (clipped >= 0).all()
    if estimate.sum() > 0:
        assert np.isclose(clipped.sum(), estimate.sum())


def test_the_default_says_which_method_it_took_and_why():
    """Inverse where its error is small, em where it is not."""
    layout = layout_of((2,), mixtures((2,), 0.5))
    wide = layout_of((8, 6), mixtures((8, 6), 0.3))

    small = of([60_000, 40_000], layout)
    large = of(np.full((8, 6), 20), wide)

    assert small.method == "unbiased"
    assert "shrunk" not in small.why
    assert large.method == "shrunk"
    assert "unbiased" in large.why


def test_columns_released_as_they_are_are_counted_as_they_are():
    """No matrix, no error about these records; sampling error about the population."""
    matrix = UniformMixture.of(("a0", "a1"), retention=0.5)
    layout = layout_of((2, 3), Mechanism((Step(("a",), matrix),)), by="b")

    records = of([10, 20, 30], layout)
    population = of([10, 20, 30], layout, question=Question(infer="population"))

    assert records.estimate.tolist() == [10, 20, 30]
    assert records.se.tolist() == [0, 0, 0]
    assert np.allclose(
        population.se**2, 60 * np.array([10, 20, 30]) / 60 * (1 - np.array([10, 20, 30]) / 60)
    )


def test_missing_and_bins_are_labels_like_any_other():
    """A matrix that keeps missing values as they are leaves their count without error."""
    labels = ("[0, 10)", "[10, 20]", None)
    matrix = Dense.of(labels, [[0.75, 0.25, 0], [0.25, 0.75, 0], [0, 0, 1]])
    mechanism = Mechanism((Step(("age",), matrix),))
    from pramana.analysis.layout import Layout

    layout = Layout.of(["age"], labels={"age": labels}, mechanism=mechanism)

    result = of([60, 40, 7], layout, method="unbiased")

    assert np.allclose(result.estimate, [70, 30, 7])
    assert result.se[2] == 0
    assert result.cell(None)["estimate"] == 7


def test_nothing_to_estimate_from_is_refused():
    """No records, an unknown method, a level outside (0, 1), an unknown kind of inference."""
    layout = layout_of((2,), mixtures((2,), 0.5))

    with pytest.raises(InvalidTable, match="no released records"):
        of([0, 0], layout)
    with pytest.raises(InvalidNumber, match="method"):
        of([1, 1], layout, method="magic")
    with pytest.raises(InvalidNumber, match="level"):
        Question(level=1.0)
    with pytest.raises(InvalidNumber, match="infer"):
        Question(infer="everything")


def test_the_share_of_all_who_pass_the_filter_is_no_estimate():
    """Of those with one value all have it, however few they are: 1, and nothing around it."""
    rng = np.random.default_rng(5)
    truth = np.array([700, 200, 100])
    layout = layout_of((3,), mixtures((3,), 0.5), where={"a": ("a2",)})
    table = moments_of_counts(released(truth, layout, rng)[0].astype(float))
    found = estimate_counts(table, layout, method="unbiased", share=True)

    assert found.cell("a2")["estimate"] == pytest.approx(1)
    assert (found.cell("a2")["low"], found.cell("a2")["high"]) == (1, 1)


@pytest.mark.parametrize("method", ["unbiased", "clipped", "auto"])
@pytest.mark.deep(every=3)
def test_intervals_of_a_handful_of_records_are_possible_and_in_order(method):
    """Few records through strong noise, with and without a filter: counts lie between 0 and the
    number of records, shares between 0 and 1, low is not above high, and what is said of a
    population is no surer than what is said of the records: it was told without an error, with an
    upper end below 0, where the estimate had more than all of the records in one cell."""
    rng = np.random.default_rng(8)
    rows = [[0.6, 0.4, 0.0], [0.1, 0.4, 0.5], [0.35, 0.05, 0.6]]
    labels = columns((3, 2))
    steps = (Step(("a",), Dense.of(labels["a"], rows)), mixtures((3, 2), 0.3).steps[1])
    for by, where in (("a", {}), ("ab", {}), ("a", {"b": ["b0"]})):
        layout = layout_of((3, 2), Mechanism(steps), by, where=where)
        for _ in range(40):
            table = rng.multinomial(rng.integers(2, 9), np.full(6, 1 / 6)).reshape(3, 2)
            moments = moments_of_counts(table if len(layout.shape) == 2 else table.sum(axis=1))
            about = {
                infer: estimate_counts(
                    moments, layout, method=method, question=Question(infer=infer)
                )
                for infer in ("records", "population")
            }
            for found in about.values():
                assert (found.low >= np.minimum(found.estimate, 0)).all()
                assert (found.low <= found.high).all()
                assert (found.high <= np.maximum(found.estimate, moments.count + 1e-9)).all()
            assert (about["population"].se >= about["records"].se - 1e-9).all()
