"""Random replacement, reconstructed data sets and decision trees [Dowd]."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.counts import clip
from pramana.base.randomness import Keystream
from pramana.experiments import dowd, guide_of, try_grid
from pramana.experiments.harness import Setting
from pramana.experiments.tree_grid import Trial
from pramana.mechanisms.sampler import sample


def replacement(gamma: float, values: int) -> pm.UniformMixture:
    return pm.UniformMixture.of(tuple(range(values)), gamma=gamma)


@pytest.fixture(scope="module")
def applicants() -> pa.Table:
    """Two classes by a rule about age and pay; both attributes are numbers."""
    random = np.random.default_rng(5)
    age, pay = random.uniform(20, 80, 4_000), random.uniform(0, 100, 4_000)
    good = (age < 40) & (pay > 50) | (age >= 60) & (pay < 50)
    return pa.table({"age": age, "pay": pay, "class": np.where(good, "A", "B")})


@pytest.fixture(scope="module")
def release(applicants: pa.Table) -> pm.Release:
    """Attributes in six bins each, by the gamma-diagonal matrix; the class unchanged."""
    schema = pm.Schema(
        (
            pm.Column("age", pm.Role.KEY, pm.Bins(tuple(np.linspace(20, 80, 7)))),
            pm.Column("pay", pm.Role.KEY, pm.Bins(tuple(np.linspace(0, 100, 7)))),
            pm.Column("class", pm.Role.SENSITIVE, pm.Categories(("A", "B"))),
        )
    )
    retention = float(replacement(12, 6).retention)
    plan = pm.design(schema, data=applicants, method=pm.Retention(retention=retention))
    return pm.protect(applicants, plan, seed=2)


def test_the_gamma_diagonal_matrix() -> None:
    """gamma x on the diagonal and x elsewhere, x = 1 / (gamma + N - 1) [Sec. 5.1]."""
    matrix = replacement(5, 10).values

    assert np.diag(matrix) == pytest.approx(5 / 14)
    assert matrix[0, 1:] == pytest.approx(1 / 14)


def test_algorithm_1_replaces_each_value_by_its_row_of_the_matrix() -> None:
    """Value h for value k with probability m_hk: within 5 standard errors in every cell."""
    matrix, many = replacement(5, 4), 40_000
    codes = np.repeat(np.arange(4, dtype=np.uint8), many)
    words = Keystream.from_seed(3).words("records", 0, codes.size)
    released = sample(matrix, codes, words)
    counts = np.histogram2d(codes, released, bins=4)[0] / many

    expected = np.full((4, 4), 1 / 8) + np.eye(4) * 4 / 8
    assert np.abs(counts - expected).max() < 5 * 0.5 / np.sqrt(many)
    assert np.abs(counts - np.full((4, 4), 1 / 4)).max() > 0.1  # which replacing all would give


def test_theorem_1_the_noise_depends_on_the_original_value() -> None:
    """Seen as noise r = released - original, no two values of 0 to 9 have the same law of r."""
    matrix = replacement(5, 10).values
    noise = np.zeros((10, 19))
    for value in range(10):
        noise[value, np.arange(10) - value + 9] = matrix[value]
    for one in range(10):
        for other in range(one):
            assert (noise[one] != noise[other]).any()
    assert noise.sum(axis=1) == pytest.approx(1)


def test_figure_3_entropy_rises_with_n_and_falls_with_gamma() -> None:
    """All 240 combinations: 2 <= gamma <= 21, N from 5 to 100; below log2 N, the most possible."""
    bins, gammas = (5, 10, 15, *range(20, 101, 10)), range(2, 22)
    entropy = np.array([[replacement(g, n).entropy for g in gammas] for n in bins])

    assert entropy.size == 240
    assert (np.diff(entropy, axis=0) > 0).all()
    assert (np.diff(entropy, axis=1) < 0).all()
    assert (entropy < np.log2(bins)[:, None]).all()


def test_entropy_of_a_matrix() -> None:
    """gamma = 5 over 10 values has 2.9781 bits [Sec. 5.2]."""
    assert replacement(5, 10).entropy == pytest.approx(2.9781, abs=5e-5)


def test_breach_from_rho1_to_rho2() -> None:
    """gamma at most rho2 (1 - rho1) / (rho1 (1 - rho2)) permits no breach [Sec. 5.1]."""
    schema = pm.Schema((pm.Column("a", pm.Role.KEY, pm.Categories(tuple(range(10)))),))
    plan = pm.design(schema, pm.PrivacyBreach(rho1=0.1, rho2=0.5), records=1_000)

    (step,) = plan.mechanism.steps
    assert float(step.matrix.gamma) == pytest.approx(9)
    assert pm.PrivacyBreach.of(step.matrix, rho1=0.1).rho2 <= 0.5


def test_theorem_2_repeated_perturbation_only_loses() -> None:
    """The diagonal of M^t falls, all other entries rise, and both tend to 1/N [Appendix]."""
    matrix = replacement(5, 10)
    powers = [matrix.power(times).values for times in range(1, 12)]

    assert powers[3] == pytest.approx(np.linalg.matrix_power(matrix.values, 4))
    assert (np.diff([power[0, 0] for power in powers]) < 0).all()
    assert (np.diff([power[0, 1] for power in powers]) > 0).all()
    assert matrix.power(60).values == pytest.approx(0.1)


@pytest.mark.parametrize("times", [2, 3, 7])
def test_lemma_2_closed_form_of_powers(times: int) -> None:
    """G^t = l^(t-1) G + (l + N)^(t-1) sum_i (l / (l + N))^i O, with l = gamma - 1."""
    gamma, values = 5, 10
    lam = gamma - 1
    G = lam * np.eye(values) + np.ones((values, values))
    rest = (lam + values) ** (times - 1) * sum(
        (lam / (lam + values)) ** i for i in range(times - 1)
    )
    power = (lam ** (times - 1) * G + rest) / (lam + values) ** times

    assert replacement(gamma, values).power(times).values == pytest.approx(power)


def estimates(records: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts of 20 values, and M^-1 y of 200 releases."""
    random = np.random.default_rng(11)
    truth = random.multinomial(records, random.dirichlet(np.full(20, 0.3)))
    matrix = replacement(5, 20)
    released = sum(random.multinomial(n, matrix.values[k], 200) for k, n in enumerate(truth))
    return truth, np.array([matrix.solve(counts) for counts in released])


def test_lemma_1_estimates_have_a_norm_of_n_or_more() -> None:
    """They sum to n, so that their 1-norm is n where none is negative, and larger otherwise."""
    truth, found = estimates(2_000)
    norms, negative = np.abs(found).sum(axis=1), (found < 0).any(axis=1)

    assert found.sum(axis=1) == pytest.approx(2_000)
    assert negative.any()
    assert (norms[negative] > 2_000).all()
    assert norms[~negative] == pytest.approx(2_000)
    matrix = replacement(5, 20)
    assert np.abs(matrix.solve(truth @ matrix.values)).sum() == pytest.approx(2_000)


def test_proposition_1_setting_negative_counts_to_zero_lowers_the_error() -> None:
    """Strictly, in each such cell; the estimate in use rescales too, and is no worse on average."""
    truth, found = estimates(2_000)
    negative = found < 0
    before, after = np.abs(found - truth), np.abs(np.maximum(found, 0) - truth)

    assert (after[negative] < before[negative]).all()
    assert (after[~negative] == before[~negative]).all()
    rescaled = np.array([clip(estimate) for estimate in found])
    assert rescaled.sum(axis=1) == pytest.approx(2_000)
    assert np.abs(rescaled - truth).sum(axis=1).mean() < after.sum(axis=1).mean()


def test_distributions_are_estimated_and_negative_counts_cost_nothing(
    release: pm.Release, applicants: pa.Table
) -> None:
    """X = M^-1 Y, and setting negative counts to zero does not add error [Sec. 4.2, 4.3]."""
    truth = np.histogram(np.asarray(applicants["age"]), bins=np.linspace(20, 80, 7))[0]
    undone = release.crosstab("age", method="unbiased").estimate
    clipped = release.crosstab("age", method="clipped").estimate

    assert undone.sum() == pytest.approx(4_000)
    assert (clipped >= 0).all()
    assert np.abs(undone - truth).sum() < 0.2 * 4_000
    assert np.abs(clipped - truth).sum() <= np.abs(undone - truth).sum() + 1e-9


def test_a_data_set_is_reconstructed_for_any_learner(release: pm.Release) -> None:
    """Algorithm 2: values are changed until the counts are the estimated ones."""
    synthesized = release.synthesize(method="rank", seed=1)
    estimated = release.crosstab("age", method="clipped")

    counted = synthesized["age"].to_pylist()
    counts = [counted.count(label) for label in estimated.labels[0]]
    assert len(synthesized) == 4_000
    assert counts == pytest.approx(estimated.estimate, abs=1)


@pytest.mark.parametrize("synthesize", ["posterior", "rank"])
def test_trees_are_learned_from_reconstructed_records(
    release: pm.Release, applicants: pa.Table, synthesize: str
) -> None:
    """Far better than the most frequent class on clean records [Sec. 6.2]."""
    tree = pm.learn_tree(release, target="class", test=applicants, synthesis=synthesize, seed=1)

    assert tree.accuracy.value > tree.accuracy.baseline + 0.05


def test_any_scikit_learn_model_predicts_raw_records(
    release: pm.Release, applicants: pa.Table
) -> None:
    model = pm.learn(release, "class", seed=1)
    raw = applicants.to_pandas()

    assert model.score(raw, raw["class"]) > 0.75


def test_an_attack_that_perturbs_again_gains_nothing(
    release: pm.Release, applicants: pa.Table
) -> None:
    """Section 5.2."""
    result = pm.attack("repeated", release, knowledge=applicants, times=4)

    form = result.to_json()
    assert form["holds"]
    assert not any(column["gains"] for column in form["columns"])


def test_an_attack_that_filters_noise_recovers_little(
    release: pm.Release, applicants: pa.Table
) -> None:
    """Spectral filtering and PCA, with additive noise of the same size beside it [Sec. 3.3]."""
    form = pm.attack("recovery", release, knowledge=applicants).to_json()

    assert {attack["method"] for attack in form["replacement"]} >= {"spectral", "pca"}
    assert {attack["method"] for attack in form["additive_noise"]} >= {"spectral", "pca"}
    assert all(attack["left"] > 0.3 for attack in form["replacement"])


def test_the_guide_finds_bins_for_gamma_and_accuracy() -> None:
    """Least N that reaches the accuracy, then least gamma [Sec. 7]."""
    from pramana.experiments.tree_grid import applicants

    sets = [applicants(1, records=1_500, tests=500, seed=1)]
    trials = try_grid(sets, gammas=(5, 12), bins=(5, 10), seed=1)
    choice = guide_of(trials).choose(gammas=(5, 12), accuracy=0.6)

    assert choice.bins in (5, 10)
    assert choice.gamma in (5, 12)
    assert choice.entropy == pytest.approx(replacement(choice.gamma, choice.bins).entropy)


def test_the_full_run_has_the_grid_of_table_1_and_figure_4(monkeypatch) -> None:
    """``--full``: seven data sets at 240 combinations, five releases each."""
    asked = {}

    def noted(sets, **options):
        asked.update(options, sets=len(sets))
        raise StopIteration

    monkeypatch.setattr(dowd, "error_surfaces", lambda _: {})
    monkeypatch.setattr(dowd, "_sets", lambda _: (["one data set"] * 7, ""))
    monkeypatch.setattr(dowd, "try_grid", noted)
    with pytest.raises(StopIteration):
        dowd.run(Setting(data=None, size="full"))

    assert asked["sets"] == 7
    assert list(asked["gammas"]) == list(range(2, 22))
    assert list(asked["bins"]) == [5, 10, 15, *range(20, 101, 10)]
    assert asked["releases"] == 5
    assert {"posterior", "rank", "none", "rank, gain ratio"} <= set(asked["ways"])


def test_figures_5_and_6_have_every_way_and_every_series() -> None:
    """Three rebuilding methods against entropy; gamma, N and accuracy against the same entropy."""
    ways = {"posterior": 0.9, "rank": 0.8, "none": 0.7}
    points = [(2.0, 5), (21.0, 5), (2.0, 100), (21.0, 100)]
    trials = [Trial("set", gamma, bins, ways, 0.1) for gamma, bins in points]
    pictures = dowd._pictures({}, trials)
    entropies = [pm.UniformMixture.of(tuple(range(n)), gamma=g).entropy for g, n in points]

    for way, accuracy in ways.items():
        entropy, shown = pictures[f"figure_5_{way}"].series["set"]
        assert (entropy, shown) == (pytest.approx(entropies), [accuracy] * 4)
    series = pictures["figure_6"].series
    assert set(series) == {"gamma", "N", "accuracy, posterior", "accuracy, rank"}
    assert sorted(zip(*series["gamma"], strict=True)) == [
        (pytest.approx(entropy), gamma)
        for entropy, (gamma, _) in sorted(zip(entropies, points, strict=True))
    ]
    assert set(series["N"][1]) == {5, 100}
    assert series["accuracy, posterior"][1] == pytest.approx([90] * 4)
