"""Optimal post-randomisation under condition C1 [Cator]."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.methods.optimal.search import optimal_design

DOMAINS = {"age": 3, "job": 2, "region": 2, "sex": 2, "status": 2}
"""48 cells; the values of any three variables make 104 combinations."""

ALPHA = 0.1


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """2,500 records, skewed, so that a few combinations are rare."""
    random = np.random.default_rng(12)
    return pa.table(
        {name: (size * random.random(2_500) ** 3).astype(int) for name, size in DOMAINS.items()}
    )


@pytest.fixture(scope="module")
def plan(people: pa.Table) -> pm.Plan:
    schema = pm.Schema(
        tuple(
            pm.Column(name, pm.Role.KEY, pm.Categories(tuple(range(size))))
            for name, size in DOMAINS.items()
        )
    )
    method = pm.Optimal(publish="always")
    return pm.design(schema, pm.SpontaneousRecognition(alpha=ALPHA), data=people, method=method)


def cells() -> list[tuple[int, ...]]:
    return list(product(*(range(size) for size in DOMAINS.values())))


def joint(plan: pm.Plan) -> np.ndarray:
    """The matrix over all 48 cells, in the order of ``cells``."""
    (step,) = plan.mechanism.steps
    places = [cells().index(tuple(cell)) for cell in step.matrix.labels]
    matrix = np.eye(len(cells()))
    matrix[np.ix_(places, places)] = step.matrix.values
    return matrix


def counts(people: pa.Table) -> np.ndarray:
    found = list(zip(*(people[name].to_pylist() for name in DOMAINS), strict=True))
    return np.array([found.count(cell) for cell in cells()], dtype=float)


def combinations_of_three() -> list[np.ndarray]:
    """Which cells have each of the values of each three variables."""
    table = np.array(cells())
    return [
        (table[:, columns] == values).all(axis=1)
        for columns in map(list, combinations(range(5), 3))
        for values in product(*(range(list(DOMAINS.values())[column]) for column in columns))
    ]


def test_there_are_48_cells_and_104_combinations() -> None:
    assert len(cells()) == 48
    assert len(combinations_of_three()) == 104


def test_condition_c1_holds_for_every_combination(plan: pm.Plan, people: pa.Table) -> None:
    """Whoever sees three values of a record is at most alpha sure whose it is [eq. 1].

    The chance that a record with these values is that of the one person who has them is
    P[a member stays] / E[records released with the combination].
    """
    matrix, frequency = joint(plan), counts(people)
    for members in combinations_of_three():
        stays = matrix[:, members].sum(axis=1)
        expected = frequency @ stays
        for cell in np.flatnonzero(members & (frequency > 0)):
            assert stays[cell] / expected <= ALPHA * (1 + 1e-9)
    attained = {own.name: own for own in plan.attained}["spontaneous-recognition"]
    assert attained.alpha <= ALPHA


def test_few_records_change(plan: pm.Plan, people: pa.Table) -> None:
    """Near the identity the loss is 2 E[changed records] / n^2 [Sec. 4]."""
    matrix, frequency = joint(plan), counts(people)
    changed = frequency @ (1 - np.diag(matrix))

    assert 0 < changed < 0.02 * frequency.sum()
    assert np.linalg.matrix_rank(matrix) == 48
    assert loss(matrix, frequency) == pytest.approx(2 * changed / frequency.sum() ** 2, rel=0.05)


def test_the_loss_is_below_that_of_equal_retention(plan: pm.Plan, people: pa.Table) -> None:
    """The least E|x - X|^2 that meets C1 lies far below that of one retention for all cells."""
    frequency = counts(people)
    rare = [members for members in combinations_of_three() if 0 < frequency @ members < 1 / ALPHA]

    def meets(rho: float) -> bool:
        matrix = rho * np.eye(48) + (1 - rho) / 48
        return all(
            matrix[cell, members].sum() / (frequency @ matrix[:, members].sum(axis=1)) <= ALPHA
            for members in rare
            for cell in np.flatnonzero(members & (frequency > 0))
        )

    rho = next(rho for rho in np.arange(0.999, 0, -0.001) if meets(rho))
    equal = rho * np.eye(48) + (1 - rho) / 48
    assert loss(joint(plan), frequency) < 0.2 * loss(equal, frequency)


def loss(matrix: np.ndarray, frequency: np.ndarray) -> float:
    """Expected squared distance of estimated from original shares [the closed form of l2]."""
    covariance = np.diag(frequency @ matrix) - matrix.T @ (frequency[:, None] * matrix)
    inverse = np.linalg.inv(matrix)
    return float(np.trace(inverse.T @ covariance @ inverse) / frequency.sum() ** 2)


def test_the_maximum_likelihood_estimate_undoes_the_matrix(plan: pm.Plan, people: pa.Table) -> None:
    """Section 3: counts of the original cells from released ones, with standard errors."""
    release = pm.protect(people, plan, seed=4)
    table = release.crosstab(*DOMAINS, method="unbiased")
    truth = counts(people).reshape(table.estimate.shape)

    assert np.abs(table.estimate - truth).max() < 10
    assert ((table.low <= truth) & (truth <= table.high)).mean() > 0.9


def test_larger_tables_are_solved_too() -> None:
    """Section 3's reductions: hundreds of cells, six variables."""
    random = np.random.default_rng(6)
    sizes = {"a": 4, "b": 4, "c": 3, "d": 3, "e": 2}
    people = pa.table(
        {name: (size * random.random(4_000) ** 2).astype(int) for name, size in sizes.items()}
    )
    schema = pm.Schema(
        tuple(
            pm.Column(name, pm.Role.KEY, pm.Categories(tuple(range(size))))
            for name, size in sizes.items()
        )
    )
    plan = pm.design(schema, pm.SpontaneousRecognition(alpha=0.2), data=people, method="optimal")

    attained = {own.name: own for own in plan.attained}["spontaneous-recognition"]
    assert attained.alpha <= 0.2


def test_what_the_acquaintance_knows_can_be_stated() -> None:
    """Choices of variables other than all triples."""
    random = np.random.default_rng(7)
    people = pa.table(
        {name: (4 * random.random(500) ** 2.5).astype(int) for name in ("a", "b", "c")}
    )
    schema = pm.Schema(
        tuple(
            pm.Column(name, pm.Role.KEY, pm.Categories(tuple(range(4)))) for name in ("a", "b", "c")
        ),
        choices=(("a", "b"),),
    )
    target = pm.SpontaneousRecognition(alpha=0.2, choices=(("a", "b"),))
    plan = pm.design(schema, target, data=people, method="optimal")

    attained = {own.name: own for own in plan.attained}["spontaneous-recognition"]
    assert attained.alpha <= 0.2


PAPER = (
    0, 1, 0, 3, 2, 1, 4, 3, 0, 9, 13, 13, 1, 3, 1, 4, 8, 15, 13, 9, 17, 66, 54, 107,
    2, 2, 3, 13, 16, 18, 8, 11, 15, 58, 70, 88, 12, 13, 18, 63, 69, 77, 58, 65, 86, 430, 434, 524,
)  # fmt: skip
"""2,500 records with what the paper says of its table: 5 rare combinations and 17 rare cells."""

SIZES = (2, 2, 2, 2, 3)


def designed(**options: str) -> tuple[pm.Plan, np.ndarray, np.ndarray]:
    """A plan by these options, its matrix in the order of ``PAPER``, and the counts."""
    order = list(product(*map(range, SIZES)))
    records = np.repeat(order, PAPER, axis=0)
    names = [f"v{place}" for place in range(5)]
    schema = pm.Schema(
        tuple(
            pm.Column(name, pm.Role.KEY, pm.Categories(tuple(range(size))))
            for name, size in zip(names, SIZES, strict=True)
        )
    )
    data = pa.table(dict(zip(names, records.T, strict=True)))
    method = pm.Optimal(publish="always", **options)
    plan = pm.design(schema, pm.SpontaneousRecognition(alpha=ALPHA), data=data, method=method)
    (step,) = plan.mechanism.steps
    places = [order.index(tuple(cell)) for cell in step.matrix.labels]
    matrix = np.eye(48)
    matrix[np.ix_(places, places)] = step.matrix.values
    return plan, matrix, np.array(PAPER, dtype=float)


def relative_variances(matrix: np.ndarray, frequency: np.ndarray) -> float:
    """l_KL to second order: sum_k Var(mu_hat_k) / (2 mu_k) over the cells that occur."""
    covariance = np.diag(frequency @ matrix) - matrix.T @ (frequency[:, None] * matrix)
    inverse = np.linalg.inv(matrix)
    variances = np.diag(inverse.T @ covariance @ inverse)
    there = frequency > 0
    return float((variances[there] / frequency[there]).sum() / (2 * frequency.sum()))


def test_the_kullback_leibler_loss_can_be_minimised() -> None:
    """Section 3 names it: on the published grid it has far less divergence than least l2."""
    plan, matrix, frequency = designed(loss="kl")
    _, squared, _ = designed()

    assert relative_variances(matrix, frequency) < 0.05 * relative_variances(squared, frequency)
    assert loss(squared, frequency) < loss(matrix, frequency)
    assert plan.method.disclosed() == {"loss": "kl"}
    stays = [matrix[:, members].sum(axis=1) for members in of_paper()]
    for chance in stays:
        assert (chance[frequency > 0] <= ALPHA * (1 + 1e-9) * (frequency @ chance)).all()


def of_paper() -> list[np.ndarray]:
    table = np.array(list(product(*map(range, SIZES))))
    return [
        (table[:, columns] == values).all(axis=1)
        for columns in map(list, combinations(range(5), 3))
        for values in product(*(range(SIZES[column]) for column in columns))
    ]


def test_frequent_donors_give_the_figures_of_section_4() -> None:
    """4 changes, smallest diagonal 0.9971, 88 % from three cells, all of them to three cells."""
    design = optimal_design(np.array(PAPER).reshape(SIZES), alpha=ALPHA, donors="frequent")
    matrix, frequency = design.matrix.values, np.array(PAPER, dtype=float)
    leaving = frequency * (1 - np.diag(matrix))
    arriving = frequency @ matrix - frequency * np.diag(matrix)
    often = leaving[np.argsort(-frequency)[:3]].sum() / leaving.sum()

    assert sum(0 < frequency @ members < 1 / ALPHA for members in of_paper()) == 5
    assert ((frequency > 0) & (frequency < 1 / ALPHA)).sum() == 17
    assert leaving.sum() == pytest.approx(4, abs=0.1)
    assert np.diag(matrix).min() == pytest.approx(0.9971, abs=1e-4)
    assert often == pytest.approx(0.88, abs=0.05)
    assert np.sort(arriving)[-3:].sum() / arriving.sum() > 0.99999
    assert loss(matrix, frequency) == pytest.approx(2 * 6.4e-7, rel=0.01)

    _, published, _ = designed(donors="frequent")
    assert loss(published, frequency) < 1.01 * design.loss
    assert (np.diag(published)[frequency < 1 / ALPHA] == 1).all()


def of_condition_1(matrix: np.ndarray, frequency: np.ndarray) -> list[tuple]:
    """Left side of C1 with U(k0), for every cell that occurs and every combination."""
    return [
        (members, members @ frequency, matrix[:, members].sum(axis=1), cell)
        for members in of_paper()
        for cell in np.flatnonzero(frequency > 0)
    ]


def test_inequality_2_frequent_cells_meet_c1_whatever_the_matrix() -> None:
    """The left side is at most 1 / U0(m): random matrices, near the identity and far from it."""
    random, frequency = np.random.default_rng(3), np.array(PAPER, dtype=float)
    for stay in (0.0, 0.5, 0.99):
        matrix = stay * np.eye(48) + (1 - stay) * random.dirichlet(np.full(48, 0.1), 48)
        for _, _, stays, cell in of_condition_1(matrix, frequency):
            assert stays[cell] <= (1 + 1e-9) * (frequency @ stays) / frequency[cell]


@pytest.mark.parametrize("donors", ["any", "frequent"])
def test_closing_inequalities_leave_few_conditions_to_check(donors: str) -> None:
    """Diagonals above gamma: 1 / (gamma U) for all, (1 - gamma) / (gamma U) for others [eq. 5].

    So rare cells, combinations with U < 1 / (gamma alpha) and cells that have them decide C1.
    """
    _, matrix, frequency = designed(donors=donors)
    gamma = np.diag(matrix).min() * (1 - 1e-9)
    worst, reduced, checked = 0.0, 0.0, 0
    for members, total, stays, cell in of_condition_1(matrix, frequency):
        expected = frequency @ stays
        left = stays[cell] / expected if expected else 0.0
        worst = max(worst, left)
        if not total:
            continue
        assert left <= (1 + 1e-9) / (gamma * total)
        if not members[cell]:
            assert left <= (1 + 1e-9) * (1 - gamma) / (gamma * total)
        if frequency[cell] < 1 / ALPHA and total < 1 / (gamma * ALPHA) and members[cell]:
            checked, reduced = checked + 1, max(reduced, left)

    assert (1 - gamma) / gamma < ALPHA
    assert 0 < checked < 50  # of 104 combinations times 46 cells
    assert (reduced <= ALPHA) == (worst <= ALPHA * (1 + 1e-9))
    assert reduced == pytest.approx(ALPHA, rel=0.05)


def test_the_grid_of_published_matrices_costs_little() -> None:
    """At most 1 % more loss than the search over all matrices, which no grid holds."""
    _, matrix, frequency = designed()
    dense = optimal_design(np.array(PAPER).reshape(SIZES), alpha=ALPHA)
    moves = matrix[~np.eye(48, dtype=bool)]
    steps = {float(f"{step}e-{power}") for step in (1, 2, 5) for power in range(1, 13)}

    assert set(np.round(moves[moves > 0], 15)) <= steps
    assert 1 <= loss(matrix, frequency) / dense.loss * (1 + 2e-3) < 1.01


@pytest.mark.deep
def test_the_experiment_is_reproduced(tmp_path) -> None:
    from pramana.experiments import run_experiment

    found = run_experiment("cator", to=tmp_path / "out", size="quick")

    assert all(finding.settled for finding in found.findings)
