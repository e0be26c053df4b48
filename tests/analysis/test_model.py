"""Tests of the model of the whole table: its likelihood, its choice, its draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana.analysis.latent_class_choice import (
    HeldOut,
    _in_the_race,
    _not_behind,
    _simplest,
    fit_model,
)
from pramana.analysis.latent_classes import (
    Blend,
    CellGrid,
    ClassClimb,
    FitSetting,
    LatentClasses,
    margins_of,
    tables_of,
)
from pramana.analysis.observed import Answers, Feature, Observed, WholeRecords
from pramana.analysis.synthesis_draws import draw_records
from pramana.base.randomness import Keystream
from pramana.errors import InvalidTable

SIZES = (3, 4, 2, 5)


def world(seed, classes):
    """A true model of latent classes."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(classes, 5.0))
    return LatentClasses(
        weights, tuple(rng.dirichlet(np.full(size, 0.5), classes).T for size in SIZES)
    )


def reports(model, records, gamma, seed):
    """Reports of pairs at an amplification of gamma, drawn from the model."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(len(SIZES)), 2))
    parts = []
    for pair in pairs:
        truth = model.table(pair)
        kept = (gamma - 1) / (gamma + truth.size - 1)
        chance = kept * truth + (1 - kept) / truth.size
        counts = rng.multinomial(records // len(pairs), (chance / chance.sum()).ravel())
        table = counts.reshape(truth.shape).astype(float)
        parts.append(Answers.of_table(pair, table, base=1.0, gain=gamma - 1))
    features = tuple(Feature(axis, size) for axis, size in enumerate(SIZES))
    return Observed(SIZES, features, tuple(parts))


def likelihood(climb, observed):
    return float(climb.held_counts(observed) @ climb.held_out(observed))


def test_every_step_climbs_the_likelihood():
    """Without a prior, expectation and maximisation never go down."""
    observed = reports(world(1, 3), 3_000, 30.0, 2)
    key = Keystream.from_seed(1)
    margins = margins_of(observed, key)
    climb = ClassClimb(observed, margins, FitSetting(3, 0.0, 0), key)
    path = [likelihood(climb.run(1), observed) for _ in range(30)]
    # The pseudo-record of each class is the only thing besides the likelihood.
    assert all(after > before - 1e-2 for before, after in itertools.pairwise(path))
    assert path[-1] > path[0]


@pytest.mark.parametrize("pull", [0.5, 20.0])
def test_with_a_prior_every_step_climbs_what_is_most_likely_after_it(pull):
    """Pseudo-records by the margins in each class, and one of each class.

    The logarithm of their density stands beside the likelihood, and no step lowers the sum [the law
    of expectation and maximisation with a prior]. Without the pull to the margins it goes down.
    """
    observed = reports(world(1, 3), 600, 30.0, 2)
    key = Keystream.from_seed(1)
    margins = margins_of(observed, key)
    climb = ClassClimb(observed, margins, FitSetting(3, pull, 0), key)

    def believed():
        values = np.log(climb.profiles).T @ margins
        return likelihood(climb, observed) + pull * values.sum() + np.log(climb.weights).sum()

    path = [climb.run(1) and believed() for _ in range(40)]
    assert min(after - before for before, after in itertools.pairwise(path)) > -1e-8
    assert path[-1] > path[0] + 1


def test_many_reports_bring_back_the_truth():
    """With a hundred thousand reports all pairs come back within a few thousandths."""
    model = world(3, 2)
    found = fit_model(reports(model, 200_000, 40.0, 4), Keystream.from_seed(1))
    for pair in itertools.combinations(range(4), 2):
        assert np.abs(found.table(pair) - model.table(pair)).sum() < 0.04
    assert "latent classes" in found.why


@pytest.mark.deep
def test_without_dependence_it_is_independence():
    """One class in the truth: no second one is made up (error level: far below 1 %)."""
    for seed in range(5):
        found = fit_model(reports(world(5, 1), 5_000, 30.0, seed), Keystream.from_seed(seed))
        assert len(found.models[0].weights) == 1, found.why


def test_whole_records_through_channels():
    """Independent steps on whole records: the likelihood knows the matrices."""
    model, rng = world(7, 2), np.random.default_rng(8)
    blend = Blend((model,), "true")
    codes = draw_records(blend, 40_000, Keystream.from_seed(2))
    features, released = [], []
    for axis, (size, truth) in enumerate(zip(SIZES, codes, strict=True)):
        matrix = 0.5 * np.eye(size) + 0.5 / size
        features.append(Feature.of_channel(axis, matrix))
        noise = rng.integers(0, size, len(truth))
        released.append(np.where(rng.random(len(truth)) < 0.5, truth, noise))
    group = np.zeros(len(released[0]), dtype=np.int64)
    records = WholeRecords(SIZES, (tuple(features),), group, tuple(released))
    found = fit_model(records, Keystream.from_seed(1))
    for pair in itertools.combinations(range(4), 2):
        assert np.abs(found.table(pair) - model.table(pair)).sum() < 0.06


def test_columns_of_one_axis_are_seen_apart():
    """An axis of two tied columns, one cell impossible: reports of each column fit the axis."""
    cells = np.array([0.5, 0.3, 0.2])  # (0, 0), (0, 1), (1, 1); (1, 0) cannot exist
    first, second = np.array([0, 0, 1]), np.array([0, 1, 1])
    features = (Feature.of_groups(0, first), Feature.of_groups(0, second))
    tables = [np.bincount(groups, weights=cells * 9_000) for groups in (first, second)]
    parts = tuple(
        Answers.of_table((place,), table, base=0.0, gain=1.0) for place, table in enumerate(tables)
    )
    key = Keystream.from_seed(1)
    found = margins_of(Observed((3,), features, parts), key, steps=2_000)
    np.testing.assert_allclose(found, cells, atol=2e-3)


def test_drawn_records_follow_the_model():
    """Each record has the model's distribution; together they are closer than independent draws."""
    model = world(9, 3)
    records = 5_000
    independent = np.sqrt(2 / np.pi * model.table((0, 1)).size / records)
    gaps = []
    for seed in range(10):
        codes = draw_records(Blend((model,), "true"), records, Keystream.from_seed(seed))
        for pair in itertools.combinations(range(4), 2):
            truth = model.table(pair)
            flat = codes[pair[0]] * SIZES[pair[1]] + codes[pair[1]]
            drawn = np.bincount(flat, minlength=truth.size).reshape(truth.shape) / records
            gaps.append(np.abs(drawn - truth).sum())
    assert np.mean(gaps) < 0.6 * independent


@pytest.mark.deep
def test_first_record_has_the_distribution_of_the_model():
    """Over many keys one record takes every value as often as it should (|z| < 4.5)."""
    model, runs = world(11, 2), 1_500
    blend = Blend((model,), "true")
    first = np.array(
        [
            [column[0] for column in draw_records(blend, 3, Keystream.from_seed(s))]
            for s in range(runs)
        ]
    )
    for axis, size in enumerate(SIZES):
        share = model.table((axis,))
        seen = np.bincount(first[:, axis], minlength=size) / runs
        z = (seen - share) / np.sqrt(share * (1 - share) / runs + 1e-12)
        assert np.abs(z).max() < 4.5


def test_no_records_are_refused():
    """A model of nothing."""
    with pytest.raises(InvalidTable, match="at least one released record"):
        Observed((2,), (Feature(0, 2),), ())


def test_priors_that_are_clearly_behind_leave_the_race():
    """By hand: a gain of 100 on each of 4 cells, one a bit less, one less by far."""
    counts = np.full(4, 25.0)
    gains = {1.0: [4.0, 4.1, 3.9, 4.0], 4.0: [4.1, 3.9, 4.0, 3.9], 16.0: [3.0, 3.1, 2.9, 3.0]}
    found = [
        HeldOut(FitSetting(classes=2, pull=pull, steps=10), np.array(own), counts)
        for pull, own in gains.items()
    ]
    early = HeldOut(FitSetting(classes=2, pull=16.0, steps=5), np.ones(4), counts)

    assert _in_the_race([*found, early]) == (1.0, 4.0)
    assert _in_the_race([early]) == (16.0,)


def test_what_is_not_clearly_behind_is_averaged():
    """By hand: of each number of classes the best, within three errors; else the fewest in one."""
    counts = np.full(4, 25.0)

    def score(classes, gains, steps=10):
        return HeldOut(FitSetting(classes, 1.0, steps), np.array(gains), counts)

    best = score(4, [4.2, 4.0, 4.1, 3.9])
    early = score(4, [4.1, 3.9, 4.0, 3.8], steps=5)
    two = score(2, [4.15, 4.1, 4.0, 3.9])  # 1.25 behind, 1.69 errors
    six = score(6, [4.3, 4.0, 3.9, 3.9])  # 2.5 behind, 2.29 errors
    far = score(8, [3.0, 3.1, 2.9, 3.0])
    scores = [early, far, six, two, best]

    assert best.error(two) == pytest.approx(np.sqrt(25 * 0.021875))
    assert _not_behind(scores, best) == [best, two, six]
    assert _simplest(scores, best) is best
    alike = score(2, [4.3, 3.9, 4.1, 3.9])
    assert _simplest([*scores, alike], best) is alike


def beside_reports(answers, base, gain, *, filled=1.0):
    """Counts of cells of some features beside one, at so many of their places."""
    rng = np.random.default_rng(5)
    sizes = (4, *SIZES)
    parts = []
    for features, own, more in zip(answers, base, gain, strict=True):
        shape = [sizes[feature] for feature in features]
        table = (1 + rng.poisson(3, shape)) * (rng.random(shape) < filled)
        beside = int(features[0] == 0)
        parts.append(Answers.of_table(features, table, base=own, gain=more, unchanged=beside))
    features = tuple(Feature(axis, size) for axis, size in enumerate(sizes))
    return Observed(sizes, features, tuple(parts))


@pytest.mark.parametrize("first", [(0,), ()])
@pytest.mark.parametrize("filled", [1.0, 0.6])
@pytest.mark.parametrize("ends", [((0.5, 2), (40, 3)), ((0, 0), (1, 1))])
def test_a_grid_hands_out_what_its_cells_do_one_by_one(first, filled, ends):
    """The mass of every value and class by hand, cell by cell, with laws that differ by answer, and
    of whole records, of which nothing comes from a base."""
    answers = [(*first, *pair) for pair in itertools.combinations(range(1, 5), 2)]
    base, gain = (np.linspace(*own, len(answers)) for own in ends)
    observed = beside_reports(answers, base, gain, filled=filled)
    (table,) = tables_of(observed)
    rng = np.random.default_rng(6)
    weights = rng.dirichlet(np.ones(3), 2)
    seen = [rng.dirichlet(np.ones(size), 6).T for size in observed.sizes]
    masses, classes = [np.zeros_like(part) for part in seen], np.zeros_like(weights)
    for answer, (fit, q) in itertools.product(observed.answers, enumerate(weights)):
        for cell, count in zip(answer.cells, answer.counts, strict=True):
            own = slice(3 * fit, 3 * fit + 3)
            parts = [seen[at][code, own] for at, code in zip(answer.features, cell, strict=True)]
            truth, told = q * np.prod(parts, axis=0), answer.gain
            alone = q * parts[0] * answer.base if first else np.zeros(3)
            whole = told * truth.sum() + (alone.sum() if first else answer.base)
            for place, (at, code) in enumerate(zip(answer.features, cell, strict=True)):
                stands = alone if first and place == 0 else 0
                masses[at][code, own] += count * (told * truth + stands) / whole
            classes[fit] += count * (told * truth + alone) / whole
    assert isinstance(table.grid, CellGrid)
    for road, way in itertools.product((table.handed, table.handed_by_cell), range(2)):
        found = road(np.concatenate(seen), weights)[way]
        np.testing.assert_allclose(found, (np.concatenate(masses), classes)[way], rtol=1e-12)


def test_mostly_empty_grids_and_cells_told_twice_go_one_by_one():
    """There a grid would take longer, or could not tell two cells apart."""
    pairs = list(itertools.combinations(range(1, 5), 2))
    assert tables_of(beside_reports(pairs, [1] * 6, [9] * 6, filled=0.1))[0].grid is None
    assert tables_of(beside_reports([(1, 2)] * 2, [1, 2], [9, 9]))[0].grid is None
    assert tables_of(beside_reports([(1, 2)], [1], [9]))[0].grid is not None
    assert tables_of(beside_reports([(1,), (2,)], [1, 1], [9, 9]))[0].grid is None
