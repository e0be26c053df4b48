"""Inverse-frequency post-randomisation: invariant, with a bound on correct matches [Ghatak]."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.experiments import run_experiment

FREQUENCIES = {1: 2, 2: 205, 3: 431, 4: 106, 5: 230, 6: 221, 7: 611, 8: 194}
"""The paper's Table 2."""

XI = 0.1
THETA = 1.656854


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory):
    return run_experiment("ghatak", to=tmp_path_factory.mktemp("ghatak") / "out", size="quick")


@pytest.fixture(scope="module")
def people() -> pa.Table:
    values = [value for value, count in FREQUENCIES.items() for _ in range(count)]
    return pa.table({"category": values})


@pytest.fixture(scope="module")
def schema() -> pm.Schema:
    domain = pm.Categories(tuple(FREQUENCIES))
    return pm.Schema((pm.Column("category", pm.Role.KEY, domain),))


@pytest.fixture(scope="module")
def plan(people: pa.Table, schema: pm.Schema) -> pm.Plan:
    return pm.design(schema, pm.CorrectMatch(xi=XI), data=people, method="inverse-frequency")


def matrix_of(plan: pm.Plan) -> np.ndarray:
    """The matrix, in the order of ``FREQUENCIES``."""
    (step,) = plan.mechanism.steps
    order = [step.matrix.labels.index(label) for label in FREQUENCIES]
    return np.asarray(step.matrix.values)[np.ix_(order, order)]


PRINTED = """
0.172 0.166 0 0.166 0.166 0.166 0 0.166
0.002 0.992 0 0.002 0.002 0.002 0 0.002
0     0     1 0     0     0     0 0
0.003 0.003 0 0.984 0.003 0.003 0 0.003
0.001 0.001 0 0.001 0.993 0.001 0 0.001
0.001 0.001 0 0.001 0.001 0.993 0 0.001
0     0     0 0     0     0     1 0
0.002 0.002 0 0.002 0.002 0.002 0 0.991
"""
"""The matrix of Section 4: 64 entries to three decimals."""


def paper_matrix() -> np.ndarray:
    """Its entries in full: theta flows out of each of the six rarest, in equal parts."""
    block = sorted(FREQUENCIES, key=FREQUENCIES.__getitem__)[:6]
    matrix = np.eye(8)
    for value in block:
        moved = THETA / FREQUENCIES[value]
        for other in block:
            share = 1 - moved if other == value else moved / (len(block) - 1)
            matrix[value - 1, other - 1] = share
    return matrix


def test_table_2_has_two_units_of_the_rarest_category(experiment, people: pa.Table) -> None:
    """2,000 units in eight categories; from the original data a match is right in one of two."""
    counted = people["category"].to_pylist()

    assert len(counted) == 2_000
    assert [counted.count(value) for value in range(1, 9)] == [2, 205, 431, 106, 230, 221, 611, 194]
    identity = pm.Dense.of(tuple(FREQUENCIES), np.eye(8))
    assert pm.CorrectMatch.of(identity, FREQUENCIES).xi == pytest.approx(0.5)
    assert list(experiment.tables["simulation"]["frequency"]) == list(FREQUENCIES.values())


def test_table_1_least_block_sizes(experiment) -> None:
    """max(2, ceil(T / (T - theta))) for T = 1 to 10 and seven xi: all 70 printed sizes."""
    printed = {
        0.1: [11, 6, 5, 4, 3, 3, 2, 2, 2, 2],
        0.125: [9, 5, 4, 3, 3, 2, 2, 2, 2, 2],
        0.15: [8, 5, 3, 3, 2, 2, 2, 2, 2, 2],
        0.175: [7, 4, 3, 2, 2, 2, 2, 2, 2, 2],
        0.2: [6, 4, 3, 2, 2, 2, 2, 2, 2, 2],
        0.25: [5, 3, 2, 2, 2, 2, 2, 2, 2, 2],
        0.3: [5, 3, 2, 2, 2, 2, 2, 2, 2, 2],
    }
    table = experiment.tables["table_1"]

    assert {xi: table[f"xi_{xi}"] for xi in printed} == printed


def test_theta_and_the_printed_matrix(experiment) -> None:
    """T = 2, xi = 0.1: theta = 1.656854, a block of six, and the 8 x 8 matrix entry by entry."""
    table = experiment.tables["matrix"]
    matrix = np.array([table[f"to_{value}"] for value in FREQUENCIES]).T

    assert 2 * (1 - matrix[0, 0]) == pytest.approx(THETA, abs=5e-7)
    assert np.count_nonzero(matrix[0]) == 6
    assert matrix == pytest.approx(paper_matrix(), abs=1e-6)
    printed = np.array(PRINTED.split(), dtype=float).reshape(8, 8)
    differences = np.abs(matrix - printed)
    assert differences.size == 64
    assert differences.max() <= 0.0005 + 1e-9  # half a unit of the last decimal


def test_expected_frequencies_stay(plan: pm.Plan) -> None:
    """t P = t [eq. 3]: counts of the released records are unbiased unchanged."""
    frequencies = np.array(list(FREQUENCIES.values()), dtype=float)

    assert frequencies @ matrix_of(plan) == pytest.approx(frequencies, abs=1e-9)


def test_every_category_meets_the_bound(plan: pm.Plan) -> None:
    """P[correct match] <= xi for the rare category and for all that its block touches."""
    attained = {own.name: own for own in plan.attained}["correct-match"]
    exact = pm.CorrectMatch.of(plan.mechanism.steps[0].matrix, FREQUENCIES)

    assert attained.xi <= XI
    assert exact.xi <= XI


def test_a_rare_block_mate_is_protected_too() -> None:
    """The paper's block leaves a second rare category above xi; the design here does not."""
    frequencies = {"a": 2, "b": 3, "c": 40, "d": 55, "e": 70, "f": 90, "g": 240}
    people = pa.table({"v": [value for value, n in frequencies.items() for _ in range(n)]})
    schema = pm.Schema((pm.Column("v", pm.Role.KEY, pm.Categories(tuple(frequencies))),))
    plan = pm.design(schema, pm.CorrectMatch(xi=XI), data=people, method="inverse-frequency")

    assert pm.CorrectMatch.of(plan.mechanism.steps[0].matrix, frequencies).xi <= XI


@pytest.mark.parametrize("xi", [0.05, 0.2, 0.4])
def test_any_xi_can_be_asked(people: pa.Table, schema: pm.Schema, xi: float) -> None:
    """Lemma 3.2."""
    plan = pm.design(schema, pm.CorrectMatch(xi=xi), data=people, method="inverse-frequency")

    assert {own.name: own for own in plan.attained}["correct-match"].xi <= xi


def test_released_counts_are_unbiased_as_they_stand(plan: pm.Plan, people: pa.Table) -> None:
    """Section 4, by simulation: 40 releases, the mean of each count within four standard errors."""
    released = [pm.protect(people, plan, seed=seed).table["category"] for seed in range(40)]
    counts = np.array(
        [[column.to_pylist().count(value) for value in FREQUENCIES] for column in released]
    )
    spread = counts.std(axis=0, ddof=1) / np.sqrt(40)

    truth = np.array(list(FREQUENCIES.values()))
    assert (np.abs(counts.mean(axis=0) - truth) <= 4 * spread + 1e-9).all()


def test_the_average_chance_of_a_correct_match(experiment) -> None:
    """0.0764 in the paper's simulation, 0.0785 exactly: every finding of Section 4 is settled."""
    frequencies = np.array(list(FREQUENCIES.values()), dtype=float)
    exact = _exact_match(paper_matrix()[:, 0], frequencies)

    assert exact == pytest.approx(0.0785, abs=5e-5)
    assert all(finding.settled for finding in experiment.findings)


def _exact_match(to_first: np.ndarray, frequencies: np.ndarray) -> float:
    """E[X / (X + Y)]: X of the two records stay, Y of all others arrive."""
    law = np.ones(1)
    for probability, count in zip(to_first[1:], frequencies[1:].astype(int), strict=True):
        for _ in range(count if probability > 0 else 0):
            law = np.convolve(law, [1 - probability, probability])
    arrivals = np.arange(len(law))
    stay = to_first[0]
    # A target is right if its own record stayed and is the one that is picked.
    return float(
        stay * ((1 - stay) * (law / (1 + arrivals)).sum() + stay * (law / (2 + arrivals)).sum())
    )


def test_invariant_matrices_from_any_matrix(people: pa.Table, schema: pm.Schema) -> None:
    """Two-stage post-randomisation keeps expected frequencies, whatever one starts from."""
    plan = pm.design(schema, data=people, method=pm.Invariant(stay=0.6))
    frequencies = np.array(list(FREQUENCIES.values()), dtype=float)

    assert frequencies @ matrix_of(plan) == pytest.approx(frequencies, abs=1e-9)
    assert np.diag(matrix_of(plan)).min() >= 0.6 - 1e-9


def test_where_xi_is_not_attainable_the_least_attainable_can_be_taken(tmp_path) -> None:
    """Full mixing of n records gives 1/n, and nothing less: the claim says that it was relaxed."""
    few = pa.table({"category": [1, 1, *[2] * 20, *[3] * 43]})
    schema = pm.Schema((pm.Column("category", pm.Role.KEY, pm.Categories((1, 2, 3))),))
    target = pm.CorrectMatch(xi=0.001)
    with pytest.raises(pm.PramanaError, match=r"nearest attainable is xi = 1/65 .*--relax"):
        pm.design(schema, target, data=few, method="inverse-frequency")
    plan = pm.design(schema, target, data=few, method=pm.InverseFrequency(relax=True))
    matrix = plan.mechanism.steps[0].matrix
    exact = pm.CorrectMatch.of(matrix, {1: 2, 2: 20, 3: 43}).xi
    (asked,) = plan.asked

    assert 1 / 65 <= exact <= asked.xi < 1.001 / 65
    release = pm.protect(few, plan, seed=1)
    release.save(tmp_path / "release")
    assert release.certificate.statistics["relaxed_from"] == 0.001
    assert "The target xi = 0.001 cannot be attained" in " ".join(release.certificate.sentences())
    assert pm.verify(tmp_path / "release").valid
    owner = pm.verify(tmp_path / "release", original=few)
    assert owner.valid

    met = pm.design(
        schema, pm.CorrectMatch(xi=0.1), data=few, method=pm.InverseFrequency(relax=True)
    )
    assert met.asked == (pm.CorrectMatch(xi=0.1),)
    assert "relaxed_from" not in met.public


def test_a_relaxed_target_tells_no_count_of_a_group() -> None:
    """Of a value that stays, 1 over its records would be a count: the least is on a coarse grid."""
    domain = pm.Categories(("a", "b", "stays"))
    for count in (6, 7, 9):
        people = pa.table({"v": ["a"] * 2 + ["b"] * 60 + ["stays"] * count})
        schema = pm.Schema((pm.Column("v", pm.Role.KEY, domain, exempt=("stays",)),))
        plan = pm.design(
            schema, pm.CorrectMatch(xi=0.01), data=people, method=pm.InverseFrequency(relax=True)
        )
        assert plan.asked == (pm.CorrectMatch(xi=0.2),)
