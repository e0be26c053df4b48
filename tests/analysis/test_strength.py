"""What noise explains is not estimated: independent columns stay so, dependent ones do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.analysis.association import (
    USUAL_STRENGTH,
    strength_of,
    surprises_of,
    usual_part,
)
from pramana.analysis.channels import Channels
from pramana.analysis.counts import clip, estimate_counts
from pramana.analysis.regularised_em import first_guess, fitted_original
from pramana.evaluation.utility import cramers_v
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from tests.analysis.worlds import (
    columns,
    dependent_truth,
    layout_of,
    mixtures,
    moments_of_counts,
    released,
)


def independent_truth(rng, shape, records=5000):
    """Two columns that have nothing to do with each other."""
    own = [rng.choice(size, records, p=rng.dirichlet(np.full(size, 3.0))) for size in shape]
    flat = np.ravel_multi_index(tuple(own), shape)
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)


def test_strength_is_cramers_v():
    """Second road: the measure of the utility room, on tables without rare values."""
    table = dependent_truth(1, (4, 5), 5000).astype(float)
    independent = np.outer(table.sum(1), table.sum(0)) / table.sum()

    assert strength_of(table - independent, independent) == pytest.approx(cramers_v(table))
    assert surprises_of(independent[None])[0] == pytest.approx(0, abs=1e-9)
    assert surprises_of(table.sum(axis=1)[None])[0] == 0
    known = 2 * np.log1p(strength_of(table - independent, independent) / USUAL_STRENGTH)
    assert surprises_of(np.stack([table, independent]))[0] == pytest.approx(known)
    three = dependent_truth(2, (3, 2, 4), 900).astype(float)
    pairs = sum(surprises_of(three.sum(axis=axis)[None])[0] for axis in range(3))
    assert surprises_of(np.stack([three, three + 1]))[0] == pytest.approx(pairs)


@given(st.floats(0.01, 1), st.floats(0.1, 2000), st.integers(1, 300), st.floats(1.01, 3))
def test_the_surer_the_more_is_kept(strength, square, free, times):
    """Law: between nothing and all, and more where the same strength is known better."""
    less, more = (usual_part(strength, own, free)[0] for own in (square, square * times))

    assert 0 <= less <= more + 1e-9 <= 1 + 1e-9
    assert usual_part(strength, np.inf, free) == (1, np.inf)


@pytest.mark.parametrize(("free", "error"), [(1, 0.3), (2, 0.33), (4, 0.23), (12, 0.1)])
def test_what_is_kept_is_the_mean_of_truths_that_could_have_been(free, error):
    """Second road: draw truths as usual and noise, and average the truths behind like lengths."""
    rng = np.random.default_rng(free)
    below = rng.random(1_000_000) / (1 + USUAL_STRENGTH)  # quantiles of V, cut at 1
    length = USUAL_STRENGTH * below / (1 - below) / error
    along = length + rng.normal(size=length.size)
    square = along**2 + (rng.chisquare(free - 1, length.size) if free > 1 else 0)
    for low, high in ((0.8, 1.0), (2.0, 2.2), (3.4, 3.7)):
        seen = (
            (low**2 < square / free) & (square / free < high**2)
            if free < 3
            else ((free + low * 2 < square) & (square < free + high * 2))
        )
        drawn = float((length * along)[seen].sum() / square[seen].sum())
        middle = float(np.sqrt(square[seen].mean()))
        spread = float((length * along / square)[seen].std() / np.sqrt(seen.sum()))
        kept, _ = usual_part(error * middle, middle**2, free)
        assert kept == pytest.approx(drawn, abs=0.02 + 4 * spread)


def test_independent_columns_stay_nearly_independent():
    """5,000 people, retentions of k = 5 with five keys, 30 releases: V at most 0.15 and 0.35.

    Undone and clipped tables of the same releases show what noise makes of them: 0.3 and more.
    """
    rng = np.random.default_rng(1)
    found, clipped, more = [], [], []
    for shape in ((2, 5), (4, 6), (3, 5)) * 10:
        layout = layout_of(shape, mixtures(shape, 0.21))
        channels, truth = Channels(layout), independent_truth(rng, shape)
        table = released(truth, layout, rng)[0].astype(float)
        estimate = fitted_original(table, channels)
        found.append(cramers_v(estimate))
        clipped.append(cramers_v(clip(channels.solve(table))))
        margins = np.outer(estimate.sum(axis=1), estimate.sum(axis=0)) / truth.sum()
        more.append(np.abs(estimate - truth).sum() - np.abs(margins - truth).sum())

    assert np.mean(found) < 0.05
    assert max(found) < 0.35
    assert np.mean(clipped) > 0.3
    assert np.mean(more) / 5000 < 0.02


def test_strong_dependence_is_followed():
    """V 0.7 along a diagonal, 20,000 people, strong noise: most of it comes back."""
    rng = np.random.default_rng(2)
    shape = (4, 6)
    layout = layout_of(shape, mixtures(shape, 0.3))
    rows, own = np.linspace(0, 1, 4)[:, None], np.linspace(0, 1, 6)
    shares = np.exp(-20 * (rows - own) ** 2)
    truth = rng.multinomial(20_000, (shares / shares.sum()).ravel()).reshape(shape)

    errors, strengths = [], []
    for table in released(truth, layout, rng, times=5).astype(float):
        estimate = fitted_original(table, Channels(layout))
        clipped = clip(Channels(layout).solve(table))
        margins = np.outer(estimate.sum(axis=1), estimate.sum(axis=0)) / truth.sum()
        errors.append([np.abs(part - truth).sum() for part in (margins, clipped, estimate)])
        strengths.append(cramers_v(estimate))

    margins, clipped, found = np.mean(errors, axis=0)
    assert found < 1.1 * clipped
    assert found < margins / 3
    assert np.mean(strengths) > 0.8 * cramers_v(truth)


def test_strong_dependence_of_few_values_is_not_shrunk_away():
    """V 0.8 in 3 x 3 cells of 5,000 people, about four errors from none: most of it is won back.

    Strong dependence is rare, but not as rare as an exponential law of V has it; and what it could
    be are few tables, since none has negative cells.
    """
    shape, places = (3, 3), np.linspace(0, 1, 3)
    layout = layout_of(shape, mixtures(shape, 0.21))
    channels, more = Channels(layout), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shares = np.outer(*(rng.dirichlet(np.full(3, 2.0)) for _ in shape))
        shares = shares * np.exp(-10 * (places[:, None] - places) ** 2)
        truth = rng.multinomial(5000, (shares / shares.sum()).ravel()).reshape(shape)
        table = released(truth, layout, np.random.default_rng(seed + 1000))[0].astype(float)
        estimate = fitted_original(table, channels)
        margins = np.outer(estimate.sum(axis=1), estimate.sum(axis=0)) / truth.sum()
        more.append((np.abs(estimate - truth).sum() - np.abs(margins - truth).sum()) / 5000)

    assert np.mean(more) < -0.4


def test_noise_is_taken_out_where_matrices_depend_on_a_stratum():
    """Independent columns, one of them with a matrix for each value of a third."""
    rng = np.random.default_rng(3)
    labels = columns((3, 2, 4))
    kept = {("b0",): 0.15, ("b1",): 0.25}
    matrices = {key: UniformMixture.of(labels["a"], retention=r) for key, r in kept.items()}
    steps = (Step(("a",), strata=("b",), by_stratum=matrices), mixtures((3, 2, 4), 0.2).steps[2])
    layout = layout_of((3, 2, 4), Mechanism(steps))
    truth = rng.multinomial(5000, np.full(24, 1 / 24)).reshape(3, 2, 4).astype(float)
    channels = Channels(layout)

    strengths = []
    for _ in range(20):
        table = rng.poisson(channels.forward(truth)).astype(float)
        strengths.append(cramers_v(first_guess(table, channels).table.sum(axis=1)))
        undone = cramers_v(clip(channels.solve(table).sum(axis=1)))
        assert strengths[-1] < undone

    assert np.mean(strengths) < 0.1


def test_a_shrunk_estimate_shows_the_unbiased_one_beside_it():
    """Standard error and interval belong to the unbiased estimate, on the object and in print."""
    layout = layout_of((8, 6), mixtures((8, 6), 0.3))
    table = moments_of_counts(np.random.default_rng(4).poisson(20, (8, 6)))

    shrunk = estimate_counts(table, layout)
    plain = estimate_counts(table, layout, method="unbiased")

    assert shrunk.method == "shrunk"
    assert np.array_equal(shrunk.unbiased, plain.estimate)
    assert np.array_equal(shrunk.se, plain.se)
    assert "unbiased" in repr(shrunk).splitlines()[0]
    assert "unbiased" not in repr(plain).splitlines()[0]
    assert "unbiased" in shrunk.note
    assert shrunk.cell("a0", "b0")["unbiased"] == plain.cell("a0", "b0")["estimate"]
    assert shrunk.to_json()["cells"][0]["unbiased"] == plain.estimate[0, 0]
    assert "unbiased" in shrunk.to_arrow().column_names
    assert "unbiased" not in plain.to_arrow().column_names


def test_what_is_no_number_has_no_surprise_that_is_one():
    """Nor has a table without records any."""
    table = np.ones((3, 3))
    assert surprises_of((0 * table)[None])[0] == 0
    table[0, 0] = np.nan
    assert np.isnan(surprises_of(table[None])[0])
