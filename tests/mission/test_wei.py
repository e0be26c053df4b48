"""k-anonymous data that keep the distribution of the quasi-identifiers [Wei]."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.base.randomness import Keystream
from pramana.microaggregation.anonymisation import draw_members
from pramana.microaggregation.groups import Key
from pramana.microaggregation.rosenblatt import Empirical

K = 5
RECORDS = 600


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Two numbers and a category that depend on each other, and a cost that depends on them."""
    random = np.random.default_rng(8)
    age = random.gamma(6, 7, RECORDS).clip(18, 90).round()
    weight = (60 + 0.3 * age + random.normal(0, 12, RECORDS)).round()
    sex = np.where(random.random(RECORDS) < 0.5, "F", "M")
    cost = (50 * age + 400 * (sex == "M") + random.normal(0, 300, RECORDS)).round()
    return pa.table({"age": age, "weight": weight, "sex": sex, "cost": cost})


@pytest.fixture(scope="module")
def schema() -> pm.Schema:
    return pm.Schema(
        (
            pm.Column("age", pm.Role.KEY),
            pm.Column("weight", pm.Role.KEY),
            pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M"))),
            pm.Column("cost", pm.Role.SENSITIVE),
        )
    )


@pytest.fixture(scope="module")
def releases(people: pa.Table, schema: pm.Schema) -> dict[str, pm.Release]:
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("resample", "permute", "gaussian", "centroid"):
            plan = pm.design(schema, pm.KAnonymity(k=K), data=people, method=method)
            found[method] = pm.protect(people, plan, seed=3)
    return found


def pairs(table: pa.Table) -> list[tuple[float, float, str]]:
    return sorted(zip(*(table[name].to_pylist() for name in ("age", "weight", "sex")), strict=True))


def ages(table: pa.Table) -> np.ndarray:
    return np.asarray(table["age"], dtype=float)


def test_k_member_clustering_has_groups_of_at_least_k() -> None:
    """Compact groups of at least k, below the sum of squares of MDAV [Sec. 3.1]."""
    points = np.random.default_rng(1).normal(size=(400, 3))

    def within(labels: np.ndarray) -> float:
        groups = (points[labels == group] for group in np.unique(labels))
        return sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)

    groups, mdav = pm.cluster(points, k=K), pm.cluster(points, k=K, method="mdav")
    assert np.bincount(groups).min() >= K
    assert groups.max() + 1 <= 400 // K
    assert within(groups) < within(mdav)


def test_the_certificate_guarantees_k(releases: dict[str, pm.Release]) -> None:
    for release in releases.values():
        (claim,) = release.certificate.claims
        assert claim.name == "k-anonymity"
        assert claim.attained.k >= K


def test_resampling_with_replacement_draws_keys_that_occur(
    releases: dict[str, pm.Release], people: pa.Table
) -> None:
    """Lemma 1: keys of a member of the group, so that the joint distribution stays on average."""
    released = pairs(releases["resample"].table)

    assert set(released) <= set(pairs(people))
    assert released != pairs(people)
    assert ages(releases["resample"].table).mean() == pytest.approx(ages(people).mean(), rel=0.02)


def test_resampling_without_replacement_keeps_the_joint_distribution(
    releases: dict[str, pm.Release], people: pa.Table
) -> None:
    """Each member's keys are used once: the table of the keys is the same table."""
    assert pairs(releases["permute"].table) == pairs(people)


def test_gaussian_dither_and_rosenblatt_keep_each_distribution(
    releases: dict[str, pm.Release], people: pa.Table
) -> None:
    """Theorem 1: values that occur, nearly as often, and as correlated [eq. 6, 10]."""
    table = releases["gaussian"].table
    released, truth = ages(table), ages(people)

    assert set(released) <= set(truth)
    assert released.mean() == pytest.approx(truth.mean(), rel=0.02)
    assert released.std() == pytest.approx(truth.std(), rel=0.05)
    correlations = [
        np.corrcoef(ages(own), np.asarray(own["weight"], dtype=float))[0, 1]
        for own in (table, people)
    ]
    assert correlations[0] == pytest.approx(correlations[1], abs=0.08)


CELLS = [(0, 0), (0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (1, 2), (2, 2), (0, 2), (2, 0)]
CLUSTERS = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
"""As in Figure 2: a cell with two records of one cluster, and one that two clusters share."""


def test_theorem_1_dither_on_cells_is_resampling() -> None:
    """Uniform on cell (i, j), transformed by Rosenblatt: the value of that very cell, always.

    So the law of the value is that of the cell, n_l(i, j) / n_l, which resampling has. The first
    half of the transformation is written out here by the definition, with unit cells.
    """
    keys = Empirical.of(np.array(CELLS))
    shares = {cell: CELLS.count(cell) / len(CELLS) for cell in CELLS}
    first = [sum(p for (i, _), p in shares.items() if i == at) for at in range(3)]
    grid = (np.arange(50) + 0.5) / 50
    for i, j in shares:
        inside = [shares.get((i, at), 0.0) / first[i] for at in range(3)]
        x, y = (own.ravel() for own in np.meshgrid(grid, grid))
        u = np.stack([sum(first[:i]) + x * first[i], sum(inside[:j]) + y * inside[j]], axis=1)
        found = np.array(CELLS)[keys.backward(u)]
        assert (found == [i, j]).all()

    many = np.tile(CLUSTERS, 2_000)
    drawn = np.tile(CELLS, (2_000, 1))[draw_members(many, Keystream.from_seed(4))]
    for cluster in range(3):
        members = [cell for cell, own in zip(CELLS, CLUSTERS, strict=True) if own == cluster]
        for cell in set(members):
            share = (drawn[many == cluster] == cell).all(axis=1).mean()
            expected = members.count(cell) / len(members)
            assert share == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(2_000 * len(members)))


def test_figure_1_clusters_then_new_keys_then_the_response(
    people: pa.Table, releases: dict[str, pm.Release]
) -> None:
    """Groups of at least k; every cost is rejoined, and most records have other keys."""
    for release in releases.values():
        assert len(release.table) == len(people)
        assert sorted(release.table["cost"].to_pylist()) == sorted(people["cost"].to_pylist())
        (claim,) = release.certificate.claims
        assert claim.attained.k >= K
        with_costs = [
            set(zip(*(own[name].to_pylist() for name in ("age", "weight", "cost")), strict=True))
            for own in (people, release.table)
        ]
        assert len(with_costs[0] & with_costs[1]) < 0.5 * RECORDS


def test_corollary_1_dither_on_merged_cells_of_one_column_is_resampling() -> None:
    """Uniform dither on runs of values that one group has, transformed: members by frequency.

    In one column F is linear on a run, so that a uniform point there is a uniform u in the run's
    share of [0, 1]; a fine grid of u gives every member of the group equally often.
    """
    values = np.array([1, 1, 1, 2, 3, 3, 7, 7, 8, 9, 9, 9], dtype=float)
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    keys = Empirical.of(np.unique(values, return_inverse=True)[1].reshape(-1, 1))
    for group, (low, high) in enumerate([(0.0, 0.5), (0.5, 1.0)]):
        u = low + (np.arange(6_000) + 0.5) / 6_000 * (high - low)
        drawn, times = np.unique(values[keys.backward(u[:, None])], return_counts=True)
        own, there = np.unique(values[labels == group], return_counts=True)
        assert drawn.tolist() == own.tolist()
        assert times.tolist() == (1_000 * there).tolist()
        many = np.tile(labels, 2_000)  # the same law by resampling, within 5 standard errors
        members = np.tile(values, 2_000)[draw_members(many, Keystream.from_seed(7))]
        shares = [(members[many == group] == value).mean() for value in own]
        assert shares == pytest.approx(there / 6, abs=5 * 0.5 / np.sqrt(12_000))


def test_the_loading_of_the_gaussian_dither_is_an_option(
    people: pa.Table, schema: pm.Schema, tmp_path
) -> None:
    """Less alpha keeps keys nearer to their group [Sec. 4.3]; the certificate states it."""
    key = Key("age", ages(people), "number")
    labels = pm.cluster(ages(people)[:, None], k=K)
    stream = Keystream.from_seed(1)
    gaps = []
    for loading in (0.001, 1 / 3, 3.0):
        (donors,) = pm.Gaussian(loading=loading).donors([key], labels, stream)
        gaps.append(np.abs(ages(people)[donors] - ages(people)).mean())
        assert ages(people)[donors].std() == pytest.approx(ages(people).std(), rel=0.1)
    assert 0 < gaps[0] < 0.5 * gaps[1] < 0.5 * gaps[2]

    for loading in (0.01, 1 / 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = pm.Gaussian(loading=loading)
            plan = pm.design(schema, pm.KAnonymity(k=K), data=people, method=method)
            release = pm.protect(people, plan, seed=3)
            release.save(tmp_path / str(loading))
            assert pm.verify(tmp_path / str(loading), original=people).valid
        assert release.certificate.options.get("loading", 1 / 3) == loading
    with pytest.raises(pm.PramanaError, match="loading"):
        pm.Gaussian(loading=0.0)


def test_centroids_lose_the_distribution(releases: dict[str, pm.Release], people: pa.Table) -> None:
    """The baseline: means stay, spread shrinks, and each combination stands for a whole group."""
    released = ages(releases["centroid"].table)

    assert released.mean() == pytest.approx(ages(people).mean(), rel=0.02)
    assert released.std() < ages(people).std()
    for method in ("resample", "gaussian"):
        spread = ages(releases[method].table).std()
        assert abs(spread - ages(people).std()) < abs(released.std() - ages(people).std())


def test_histograms_stay_alike_while_those_of_centroids_fall(
    people: pa.Table, schema: pm.Schema
) -> None:
    """At k = 100 the histogram intersection stays near 1 for resampling [Sec. 4.2]."""
    edges = np.arange(15, 96, 5)
    truth = np.histogram(ages(people), edges)[0] / RECORDS
    overlaps = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("resample", "centroid"):
            plan = pm.design(schema, pm.KAnonymity(k=100), data=people, method=method)
            released = ages(pm.protect(people, plan, seed=3).table)
            share = np.histogram(released, edges)[0] / RECORDS
            overlaps[method] = np.minimum(truth, share).sum()

    assert overlaps["resample"] > 0.9
    assert overlaps["centroid"] < 0.6


@pytest.mark.deep
def test_reidentification_stays_below_one_in_k(
    people: pa.Table, releases: dict[str, pm.Release]
) -> None:
    """Whoever takes the record nearest to a person's keys is right at most once in k [Sec. 4.3]."""
    for method in ("resample", "gaussian"):
        audit = pm.audit(releases[method], original=people).to_json()
        nearest = audit["attacks"][0]

        assert nearest["bound"] == pytest.approx(1 / K)
        assert nearest["low"] <= 1 / K
        assert not nearest["broken"]


def test_a_response_keeps_its_tie_to_the_keys(people: pa.Table, schema: pm.Schema) -> None:
    """Similar costs count in the clustering, so that what depends on keys still does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = pm.Resample(responses=("cost",))
        plan = pm.design(schema, pm.KAnonymity(k=K), data=people, method=method)
        table = pm.protect(people, plan, seed=3).table

    slopes = [
        np.polyfit(ages(own), np.asarray(own["cost"], dtype=float), 1)[0] for own in (table, people)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.1)


def test_sensitive_values_can_be_kept_diverse_and_close(schema: pm.Schema) -> None:
    """Beyond k: distinct sensitive values in every group, groups of bounded size."""
    random = np.random.default_rng(2)
    points = random.normal(size=(200, 2))
    ill = (random.random(200) < 0.4).astype(int)
    groups = pm.cluster(points, k=K, sensitive=ill, l=2)
    bounded = pm.cluster(points, k=K, max_size=2 * K - 1)

    assert all(len(set(ill[groups == group])) == 2 for group in np.unique(groups))
    assert np.bincount(bounded).max() <= 2 * K - 1


def test_covariate_shift_weights_carry_costs_to_another_market(
    releases: dict[str, pm.Release], people: pa.Table
) -> None:
    """Weights q(x) / p(x) bring the cost of an older market [Sec. 2, eq. 2, and Sec. 4.4]."""
    older = np.random.default_rng(4).random(RECORDS) < (ages(people) / 90) ** 2
    market = people.filter(pa.array(older))
    truth = np.asarray(market["cost"]).mean()
    before = np.asarray(people["cost"]).mean()
    for method in ("resample", "permute", "gaussian"):
        for ratio in ("classifier", "nonparametric"):
            weights = releases[method].shift_weights(
                market.drop(["cost"]), columns=["age", "sex"], method=ratio
            )
            cost = np.average(np.asarray(weights.table["cost"]), weights=weights.values)
            assert abs(cost - truth) < 0.35 * abs(before - truth)
            assert 50 < weights.effective < RECORDS


def test_transfer_weights_are_those_of_equation_3(releases: dict[str, pm.Release]) -> None:
    """The mixture of tasks, weighted by p(x, y | t) / p(x, y), is task t: men, and women."""
    release = releases["permute"]
    found = release.transfer_weights("sex", response="cost", columns=["age"])
    sex = np.asarray(release.table["sex"].to_pylist())
    cost = np.asarray(release.table["cost"], dtype=float)

    for task in ("F", "M"):
        weights = found[task].values
        assert np.average(cost, weights=weights) == pytest.approx(
            cost[sex == task].mean(), rel=0.03
        )
        assert weights[sex == task].mean() > 1  # its own records count most
        assert 0 < weights[sex != task].mean() < 1  # and others tell something
