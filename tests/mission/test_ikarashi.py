"""Pk-anonymity of randomised tables [Ikarashi]."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm

RECORDS = 100_000
SIZES = (2, 5, 10)


def keys(*sizes: int) -> pm.Schema:
    return pm.Schema(
        tuple(
            pm.Column(f"a{place}", pm.Role.KEY, pm.Categories(tuple(range(size))))
            for place, size in enumerate(sizes)
        )
    )


def equal_retention(*targets: pm.Guarantee) -> pm.Plan:
    """The paper's design: one retention for all attributes."""
    method = pm.Retention(spread="equal")
    return pm.design(keys(*SIZES), *targets, records=RECORDS, method=method)


def retentions(plan: pm.Plan) -> list[float]:
    return [float(step.matrix.retention) for step in plan.mechanism.steps]


def test_algorithm_1_finds_the_retention_for_k() -> None:
    """n = 100,000, k = 100, domains of 2, 5 and 10 values: rho = 0.3032 [Sec. 4]."""
    plan = equal_retention(pm.PkAnonymity(k=100))

    assert retentions(plan) == pytest.approx([0.3032] * 3, abs=5e-5)
    assert 100 <= pm.PkAnonymity.of(plan.mechanism, anonymity_set=RECORDS).k < 100.001


def test_algorithm_2_finds_the_retention_for_epsilon() -> None:
    plan = equal_retention(pm.DifferentialPrivacy(epsilon=3))
    (rho,) = {round(retention, 12) for retention in retentions(plan)}

    epsilon = sum(math.log((1 + (size - 1) * rho) / (1 - rho)) for size in SIZES)
    assert epsilon == pytest.approx(3, abs=1e-9)
    assert pm.DifferentialPrivacy.of(plan.mechanism).epsilon <= 3


def test_algorithm_3_meets_k_and_epsilon_at_once() -> None:
    k, epsilon = pm.PkAnonymity(k=100), pm.DifferentialPrivacy(epsilon=3)
    both = retentions(equal_retention(k, epsilon))

    assert both == pytest.approx(
        np.minimum(retentions(equal_retention(k)), retentions(equal_retention(epsilon)))
    )


def test_corollary_1_epsilons_of_attributes_add() -> None:
    """epsilon is the sum over attributes of the logarithm of gamma [Thm 1, Cor. 1 and 2]."""
    matrices = [pm.UniformMixture.of(tuple(range(size)), retention=0.4) for size in SIZES]
    steps = tuple(pm.Step((f"a{place}",), matrix) for place, matrix in enumerate(matrices))

    epsilon = pm.DifferentialPrivacy.of(pm.Mechanism(steps)).epsilon
    assert epsilon == pytest.approx(sum(math.log(matrix.gamma) for matrix in matrices))


def test_theorem_3_k_of_any_matrix_bounds_every_link() -> None:
    """1/k is at least the largest posterior of a link, over all tables of three records [Def. 6].

    The adversary knows the table, sees the shuffled release, and weighs every assignment.
    """
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]])
    matrix = pm.Dense.of(("x", "y", "z"), rows)
    k = pm.PkAnonymity.of(matrix, anonymity_set=3).k

    values = matrix.values
    largest = 0.0
    for truth, released in product(product(range(3), repeat=3), repeat=2):
        weights = {
            order: math.prod(values[truth[person], released[order[person]]] for person in range(3))
            for order in permutations(range(3))
        }
        linked = sum(weight for order, weight in weights.items() if order[0] == 0)
        largest = max(largest, linked / sum(weights.values()))
    assert 1 < k < 3
    assert largest <= 1 / k + 1e-12


ROWS = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]])


def chances(truth: tuple[int, ...], released: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The chance of each assignment of released records to people, and of what is released."""
    return {
        order: math.prod(ROWS[truth[person], released[order[person]]] for person in range(3))
        for order in permutations(range(3))
    }


def test_definition_5_neighbouring_tables_differ_by_at_most_epsilon() -> None:
    """All pairs of tables of three records that differ in one, and all releases [Thm 1]."""
    epsilon = pm.DifferentialPrivacy.of(pm.Dense.of(("x", "y", "z"), ROWS)).epsilon
    tables = list(product(range(3), repeat=3))
    worst = 0.0
    for truth, other in product(tables, repeat=2):
        if sum(a != b for a, b in zip(truth, other, strict=True)) == 1:
            for released in tables:
                ratio = sum(chances(truth, released).values()) / sum(
                    chances(other, released).values()
                )
                worst = max(worst, math.log(ratio))
    assert 0.9 * epsilon < worst <= epsilon + 1e-12


def test_proposition_1_no_algorithm_links_better_than_one_in_k() -> None:
    """The best guess from the table and the release, on average over releases, for every table."""
    k = pm.PkAnonymity.of(pm.Dense.of(("x", "y", "z"), ROWS), anonymity_set=3).k
    right = []
    for truth in product(range(3), repeat=3):
        by_release = [chances(truth, released) for released in product(range(3), repeat=3)]
        best = sum(
            max(sum(p for order, p in found.items() if order[0] == record) for record in range(3))
            for found in by_release
        )
        right.append(best / 6)  # every assignment is as likely at first
        assert sum(map(sum, (found.values() for found in by_release))) == pytest.approx(6)
    assert 1 / 3 < max(right) <= 1 / k


def test_lemma_3_no_prior_is_worse_than_knowing_the_table() -> None:
    """A ratio of sums is at most the largest ratio: a prior over tables finds no more than one."""
    random = np.random.default_rng(5)
    tables = list(product(range(3), repeat=3))
    released = (0, 1, 2)
    linked, total = np.array(
        [
            (sum(p for order, p in found.items() if order[0] == 0), sum(found.values()))
            for found in (chances(truth, released) for truth in tables)
        ]
    ).T
    largest = (linked / total).max()
    for concentration in (0.01, 0.1, 1.0):
        priors = random.dirichlet(np.full(len(tables), concentration), 500)
        found = priors @ linked / (priors @ total)
        assert (found <= largest + 1e-12).all()
    assert (found < largest - 1e-3).all()  # spread priors find less


@pytest.mark.parametrize("n", [2, 3, 4])
def test_lemma_4_one_table_is_the_worst_for_all_assignments_at_once(n: int) -> None:
    """So the bound is reached: everybody has x but one, and one y is released [Thm 3]."""
    gamma = 3.0
    matrix = pm.Dense.of(("x", "y"), np.array([[3, 1], [1, 3]]) / 4)
    k = pm.PkAnonymity.of(matrix, anonymity_set=n).k
    truth, released = (1, *[0] * (n - 1)), (1, *[0] * (n - 1))
    ratios, by_order = set(), {}
    for order in permutations(range(n)):
        entry = [matrix.values[truth[person], released[order[person]]] for person in range(n)]
        by_order[order] = math.prod(entry)
        if order[0] == 0:  # h / g of the assignments with the link: person 0 and t change places
            swapped = sum(
                matrix.values[truth[t], released[0]]
                * matrix.values[truth[0], released[order[t]]]
                / entry[t]
                for t in range(1, n)
            )
            ratios.add(round(swapped / entry[0], 9))
    linked = sum(p for order, p in by_order.items() if order[0] == 0)

    assert ratios == {round((n - 1) / gamma**2, 9)}  # one value, whatever the assignment
    assert linked / sum(by_order.values()) == pytest.approx(1 / k)


def test_corollary_4_and_5_k_of_several_attributes() -> None:
    """k = 1 + (n - 1) prod gamma^-2 for retention-replacement."""
    matrices = [pm.UniformMixture.of(tuple(range(size)), retention=0.3032) for size in SIZES]
    steps = tuple(pm.Step((f"a{place}",), matrix) for place, matrix in enumerate(matrices))
    gammas = math.prod(float(matrix.gamma) for matrix in matrices)

    k = pm.PkAnonymity.of(pm.Mechanism(steps), anonymity_set=RECORDS).k
    assert k == pytest.approx(1 + (RECORDS - 1) / gammas**2)
    assert k == pytest.approx(100, abs=0.1)


def test_the_guarantee_counts_the_smallest_group_of_known_columns() -> None:
    """Columns that are known and released unchanged leave a smaller anonymity set."""
    target, method = pm.PkAnonymity(k=20), "retention"
    whole = pm.design(keys(3), target, records=1_000, method=method)
    split = pm.design(keys(3), target, records=1_000, smallest_group=100, method=method)

    assert retentions(split)[0] < retentions(whole)[0]


def test_a_curator_releases_shuffled_records_and_cross_tables_come_back() -> None:
    """Figure 1a and Section 5: cross tables reconstructed from released data."""
    random = np.random.default_rng(3)
    sex = random.integers(0, 2, 20_000)
    work = (random.random(20_000) < np.where(sex == 1, 0.7, 0.3)).astype(int)
    people = pa.table({"a0": sex, "a1": work})
    plan = pm.design(keys(2, 2), pm.PkAnonymity(k=2), data=people, method="retention")
    release = pm.protect(people, plan, seed=1)
    table = release.crosstab("a0", "a1", level=0.999)

    truth = np.histogram2d(sex, work, bins=2)[0]
    raw = np.histogram2d(*(np.asarray(release.table[name]) for name in ("a0", "a1")), bins=2)[0]
    assert np.abs(table.estimate - truth).sum() < 0.5 * np.abs(raw - truth).sum()
    assert ((table.low <= truth) & (truth <= table.high)).all()


def test_people_randomise_their_own_answers(tmp_path) -> None:
    """Figure 1b: each person randomises, and nobody holds the original data."""
    from pramana import collect

    source = tmp_path / "survey.toml"
    source.write_text(
        'title = "t"\nexpected = 50\nk = 2\n[[questions]]\nname = "q"\ntext = "q?"\n'
        'answers = ["yes", "no"]\n'
    )
    collect.new_survey(source, tmp_path / "survey")
    definition = collect.load(tmp_path / "survey")
    with collect.answers(tmp_path / "survey") as store:
        for person in range(50):
            record = collect.respond(definition, {"q": "yes" if person % 3 else "no"})
            text = record.spelled(widths=definition.channel.widths)
            store.accept([collect.Sent(text, f"{person:064x}")])
        release = collect.close_survey(definition, store, tmp_path / "release")

    assert release.verify().valid
    assert len(release.table) == 50
    stated = {claim.name: claim.attained for claim in release.certificate.claims}
    assert stated["pk-anonymity"].k >= 2


def test_k_and_epsilon_are_one_number_for_this_family() -> None:
    """k = 1 + (n - 1) exp(-2 epsilon) wherever every attribute is retained or replaced."""
    plan = equal_retention(pm.PkAnonymity(k=50))
    epsilon = pm.DifferentialPrivacy.of(plan.mechanism).epsilon

    k = pm.PkAnonymity.of(plan.mechanism, anonymity_set=RECORDS).k
    assert k == pytest.approx(1 + (RECORDS - 1) * math.exp(-2 * epsilon))


@pytest.mark.deep
def test_figures_2_and_3_are_reproduced(tmp_path) -> None:
    """Errors fall with records and grow with attributes and k [Sec. 5]."""
    from pramana.experiments import run_experiment

    found = run_experiment("ikarashi", to=tmp_path / "out", size="quick")

    assert found.findings
    assert all(finding.settled for finding in found.findings)


@pytest.mark.parametrize("classes", [(0, 0, 1, 1), (0, 0, 0, 1), (0, 1, 2, 2)])
def test_theorem_2_a_deterministic_release_is_pk_anonymous_for_its_k(
    classes: tuple[int, ...],
) -> None:
    """By enumeration: the largest posterior of a link is 1 over the smallest released class.

    Values are merged into classes and records are shuffled. Whoever knows the whole table finds
    person i in record j with probability 0, or 1 over the number of records of that class.
    """
    for released in {tuple(sorted(classes[p] for p in people)) for people in VALUES_OF_FOUR}:
        sizes = [released.count(merged) for merged in set(released)]

        assert largest_posterior(released) == Fraction(1, pm.KAnonymity.of(sizes).k)


@pytest.mark.parametrize("classes", [(0, 0, 1, 1), (0, 0, 0, 1), (0, 0, 0, 0)])
def test_corollary_3_deterministic_k_anonymisation_is_pk_anonymisation(
    classes: tuple[int, ...],
) -> None:
    """Over all tables at once: the worst link is 1 over the smallest class of any release."""
    tables = {tuple(sorted(classes[p] for p in people)) for people in VALUES_OF_FOUR}
    smallest = min(min(map(table.count, table)) for table in tables)

    assert max(map(largest_posterior, tables)) == Fraction(1, smallest)
    sizes = [min(map(table.count, table)) for table in tables]
    assert min(pm.KAnonymity.of([size]).k for size in sizes) == smallest


VALUES_OF_FOUR = tuple(product(range(4), repeat=4))
"""All tables of four people and a column of four values."""


def largest_posterior(released: tuple[int, ...]) -> Fraction:
    """Over all released orders, people and records: the share of permutations with the link."""
    n, largest = len(released), Fraction(0)
    orders = list(permutations(range(n)))
    for shown in {tuple(released[person] for person in order) for order in orders}:
        fitting = [
            order for order in orders if tuple(released[person] for person in order) == shown
        ]
        for person, record in product(range(n), repeat=2):
            links = sum(order[record] == person for order in fitting)
            largest = max(largest, Fraction(links, len(fitting)))
    return largest
