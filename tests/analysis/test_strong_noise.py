"""Where noise is stronger than the table, no estimate is a confident single cell, and says so."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis import regularised_em
from pramana.analysis.counts import DROWNED
from pramana.analysis.latent_classes import LEAN
from pramana.analysis.regularised_em import leaning, onto_simplex, usual_pair

RECORDS, SIZE = 400, 8
VALUES = tuple(f"v{code}" for code in range(SIZE))
NAMES = ("a", "b", "c")


def even_people() -> pa.Table:
    codes = [np.arange(RECORDS) // SIZE**at % SIZE for at in range(len(NAMES))]
    return pa.table({n: [VALUES[code] for code in c] for n, c in zip(NAMES, codes, strict=True)})


def releases(method: str, epsilon: float, number: int = 6):
    schema = pm.Schema(tuple(pm.Column(name, pm.Role.KEY, pm.Categories(VALUES)) for name in NAMES))
    promise = pm.DifferentialPrivacy(epsilon=epsilon)
    plan = pm.design(schema, promise, records=RECORDS, method=method)
    return [pm.protect(even_people(), plan, seed=seed) for seed in range(number)]


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
@pytest.mark.parametrize("epsilon", [0.02, 0.2])
def test_even_truth_does_not_come_back_as_one_cell(method, epsilon):
    """Every cell holds an eighth, or a sixty-fourth: chance must not make one nearly all."""
    for release in releases(method, epsilon):
        one, two = release.crosstab("a"), release.crosstab("a", "b")
        assert one.estimate.max() < 0.6 * RECORDS
        assert two.estimate.max() < 0.4 * RECORDS
        assert np.isclose(two.estimate.sum(), RECORDS)
        for found in (one, two):
            assert found.why.endswith(DROWNED)
            assert (found.low <= found.estimate).all()
            assert (found.estimate <= found.high).all()


@pytest.mark.parametrize("method", ["attribute-sampling", "retention"])
def test_rebuilt_records_are_not_all_the_same(method):
    """On average over columns and releases: one column of a release may be off by much."""
    tops = []
    for release in releases(method, 0.5, 4):
        made = release.synthesize(seed=1)
        tops += [max(Counter(made[name].to_pylist()).values()) / RECORDS for name in NAMES]
    assert np.mean(tops) < 0.42


def test_little_noise_is_not_called_unreliable():
    (release,) = releases("attribute-sampling", 6.0, 1)
    found = release.crosstab("a", "b")
    assert DROWNED not in found.why


@pytest.mark.parametrize("cells", [3, 10, 60])
@pytest.mark.parametrize("noise", [0.05, 1.0, 20.0])
def test_leaning_is_no_further_off_than_the_nearest_table(cells, noise):
    """Over many truths, even and uneven: it pays where there is noise and costs nothing else."""
    chance = np.random.default_rng(5)
    ours, theirs = [], []
    for shape, _ in itertools.product((0.3, 1.0, 3.0), range(60)):
        truth = chance.dirichlet(np.full(cells, shape))
        se = np.full(cells, noise / cells)
        error = chance.normal(size=cells) * se
        seen = truth + error - error.mean()
        ours.append(np.abs(leaning(seen, se, 1.0) - truth).sum())
        theirs.append(np.abs(onto_simplex(seen, 1.0) - truth).sum())
    assert np.mean(ours) < 1.02 * np.mean(theirs)


@pytest.mark.parametrize("seed", range(30))
def test_leaning_is_what_halving_finds(seed):
    """Each count x moves so that x (x - seen + middle) is LEAN times its variance.

    The middle by which all move is found here by halving what it can lie between, two hundred
    times: a road that is slow, and cannot step too far.
    """
    chance = np.random.default_rng(seed)
    size, total = int(chance.integers(1, 40)), 10 ** chance.uniform(-1, 4)
    seen = chance.normal(size=size) * 10 ** chance.uniform(-2, 4)
    se = chance.random(size) * (chance.random(size) < 0.8) * 10 ** chance.uniform(-2, 4)

    def moved(middle):
        gap = np.asarray(seen - middle, dtype=np.longdouble)
        return (gap + np.sqrt(gap**2 + 4 * LEAN * np.asarray(se, np.longdouble) ** 2)) / 2

    low = seen.min() - total
    high = seen.max() + total + 4 * LEAN * (se**2).sum() / total
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if moved(middle).sum() > total else (low, middle)
    expected = np.asarray(moved(high), dtype=np.float64)

    assert leaning(seen, se, total) == pytest.approx(expected, abs=1e-8 * total)


def test_leaning_keeps_total_and_sign_whatever_it_gets():
    chance = np.random.default_rng(6)
    for scale in (1e-9, 1.0, 1e9):
        for _ in range(20):
            seen, se = chance.normal(size=7) * scale, chance.random(7) * scale
            found = leaning(seen, se, 10.0)
            assert (found >= 0).all()
            assert np.isclose(found.sum(), 10.0)
    assert leaning(np.array([4.0, 6.0]), np.zeros(2), 10.0) == pytest.approx([4.0, 6.0])
    assert leaning(np.array([-1.0, 0.5]), np.ones(2), 0.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("cells", [1, 5, 40])
def test_many_tables_lean_at_once_as_each_by_itself(cells):
    """To the last bit, whatever stands beside: answers do not hang on how many were asked for."""
    chance = np.random.default_rng(8)
    seen, se = (chance.normal(size=(30, cells)) * chance.choice([1e-3, 1, 1e3], 30)[:, None]
                for _ in range(2))  # fmt: skip
    totals = np.maximum(seen.sum(axis=1), 0)
    alone = [leaning(*one) for one in zip(seen, np.abs(se), totals, strict=True)]

    assert 0 < (totals == 0).sum() < 30
    assert leaning(seen, np.abs(se), totals).tolist() == np.array(alone).tolist()


@pytest.mark.parametrize("seed", [14, 133])  # of 300, those in which the value was lost
def test_a_rare_value_is_not_lost_from_a_table_of_two_columns(seed):
    """The nearest table may leave it no cell: the others then summed to fewer records."""
    noise = np.random.default_rng(seed).normal(0, 3, (5, 5))
    unbiased = np.diag([40.0, 30.0, 20.0, 10.0, 0.0]) + noise
    margin = np.array([39.7, 29.8, 19.8, 9.9, 0.8])
    table = usual_pair(unbiased * (100 / unbiased.sum()), np.full((5, 5), 3.0), (margin, margin))

    assert table.sum() == pytest.approx(100.0)
    assert table.sum(axis=0) == pytest.approx(margin, abs=0.01)
    assert table.sum(axis=1) == pytest.approx(margin, abs=0.01)


def test_leaning_takes_few_steps(monkeypatch):
    """What eighty halvings find, to twelve digits of each cell, after a handful of steps."""
    random = np.random.default_rng(6)
    seen, se = random.normal(10, 30, 40), random.uniform(1, 20, 40)
    asked = []
    root = regularised_em._root
    monkeypatch.setattr(regularised_em, "_root", lambda *own: asked.append(own[0]) or root(*own))

    found = leaning(seen, se, 100.0)

    assert len(asked) < 12
    apart = 4 * regularised_em.LEAN * se**2
    low, high = seen.min() - 100, seen.max() + apart.sum() / 100
    for _ in range(80):
        middle = (low + high) / 2
        every = root(seen - middle, apart)[0]
        low, high = (middle, high) if every.sum() > 100 else (low, middle)
    assert found == pytest.approx(every * (100 / every.sum()), rel=1e-12, abs=0)
