"""Expected errors of means of numbers: against enumeration of the channel, and by releases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.evaluation.questions import answer_at_face_value
from pramana.io.opening import open_table
from pramana.methods.number_errors import best_grid, grid_words, mean_errors, means_left_out

SEX = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
TOWN = pm.Column("town", pm.Role.PUBLIC, pm.Categories(("n", "s")), missing="refuse")


def pay(points: tuple[int, ...] = (0, 10, 20, 40)) -> pm.Column:
    return pm.Column("pay", pm.Role.SENSITIVE, pm.NumberGrid(points), missing="refuse")


def people(n: int, seed: int = 1) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n, p=[0.3, 0.7])
    numbers = np.minimum(np.round(random.gamma(2, 6, n) * np.where(sex == "F", 0.8, 1.1)), 40)
    return {"sex": sex, "pay": numbers, "town": random.choice(["n", "s"], n)}


def by_enumeration(plan: pm.Plan, truth: dict[str, np.ndarray], group: str) -> float:
    """The variance of a mean: for each person every released cell with its probability."""
    sex, money = plan.mechanism.step_of("sex"), plan.mechanism.step_of("pay")
    grid = plan.schema.column("pay").domain
    points = [float(point) for point in grid.values]
    inside = truth["sex"] == group
    middle, total = truth["pay"][inside].mean(), 0.0
    undo = np.linalg.inv(money.matrix.values) @ (np.array(points) - middle)
    undo_sex = np.linalg.inv(sex.matrix.values)[:, ["F", "M"].index(group)]
    for own, number in zip(truth["sex"], truth["pay"], strict=True):
        row = np.zeros(len(points))
        for point, chance in grid.chances(int(number)):
            row += chance / 2**64 * money.matrix.values[points.index(point)]
        first = second = 0.0
        for (a, p), (b, q) in itertools.product(
            enumerate(sex.matrix.values[["F", "M"].index(own)]), enumerate(row)
        ):
            first += p * q * undo_sex[a] * undo[b]
            second += p * q * (undo_sex[a] * undo[b]) ** 2
        total += second - first**2
    return math.sqrt(total) / inside.sum()


@pytest.mark.parametrize("epsilon", [1, 4, 9])
def test_the_formula_is_that_of_the_channel_written_out(epsilon):
    """Every person, every released cell; the mean over the people of both groups."""
    truth = people(150)
    table = pa.table({name: truth[name] for name in ("sex", "pay")})
    schema = pm.Schema((SEX, pay()), tables=(("sex", "pay"),))
    plan = pm.design(
        schema, pm.DifferentialPrivacy(epsilon=epsilon), data=table, method="retention"
    )
    parts = {own: by_enumeration(plan, truth, own) for own in ("F", "M")}
    wanted = sum(part * (truth["sex"] == own).mean() for own, part in parts.items())

    (found,) = mean_errors(plan, open_table(table))

    assert (found.of, found.by) == ("pay", ("sex",))
    assert found.error == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("method", "epsilon"), [("attribute-sampling", 3), ("retention", 7)])
@pytest.mark.deep
def test_releases_are_off_by_what_was_expected(method, epsilon):
    """By a randomised and by a public group; a tenth of the error is allowed for chance."""
    truth = people(1_500)
    table = pa.table(truth)
    schema = pm.Schema((SEX, pay(), TOWN), tables=(("sex", "pay"), ("town", "pay")))
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=epsilon), data=table, method=method)
    expected = {one.by: one.error for one in mean_errors(plan, open_table(table))}
    runs = 80
    seen: dict[tuple[str, ...], list[np.ndarray]] = {by: [] for by in expected}
    for seed in range(runs):
        release = pm.protect(table, plan, seed=seed, accept_risk=["town"])
        for by, found in seen.items():
            found.append(np.asarray(release.mean("pay", by=list(by)).estimate))
    assert set(expected) == {("sex",), ("town",)}
    for by, found in seen.items():
        shares = [(truth[by[0]] == own).mean() for own in sorted(set(truth[by[0]]))]
        measured = np.std(np.stack(found), axis=0, ddof=1) @ shares

        assert measured == pytest.approx(expected[by], rel=0.17), by


def test_few_points_where_the_promise_is_strong_and_many_where_it_is_weak():
    """The best grid grows with epsilon, and is never worse than the one that is there."""
    schema = pm.Schema((SEX, pay((0, 8, 16, 24, 32, 40))))
    best = []
    for epsilon in (0.3, 2, 6, 12):
        asked = pm.DifferentialPrivacy(epsilon=epsilon)
        plan = pm.design(schema, asked, records=5_000, method="retention")
        points, error, now = best_grid(plan, "pay")

        assert error <= now
        best.append(points)
    assert best == sorted(best)
    assert best[0] <= 3
    assert best[-1] > 8


def test_a_design_says_what_means_are_off_by_and_which_grid_is_better():
    """In its sentences and its JSON; the grid by the schema alone."""
    schema = pm.Schema((SEX, pay(tuple(range(0, 41, 2)))))
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=1), records=5_000, method="retention")

    assert "mean of pay by sex" in str(plan)
    assert {tuple(own["by"]) for own in plan.to_json()["expected_standard_errors"]} == {
        (),
        ("sex",),
    }
    assert any("grid = " in words for words in grid_words(plan))


def test_no_number_no_word():
    """A plan of categories alone, and one whose matrices are of another kind."""
    plan = pm.design(pm.Schema((SEX,)), pm.DifferentialPrivacy(epsilon=1), records=500)

    assert mean_errors(plan) == ()
    assert "standard errors" not in str(plan)


def _three_columns(k: float) -> pm.Plan:
    """A plan whose table of three columns is too wide for one attribute set at a large k."""
    towns = pm.Column("town", pm.Role.KEY, pm.Categories(tuple("abcdefgh")), missing="refuse")
    schema = pm.Schema((SEX, towns, pay()), tables=(("sex", "town", "pay"),))
    return pm.design(schema, pm.PkAnonymity(k=k), records=20_000, method=pm.AttributeSampling())


def test_a_planned_mean_without_an_attribute_set_is_named():
    """No number stands for it; where a set holds its columns nothing is said."""
    wide, narrow = _three_columns(1.01), _three_columns(100)
    for plan in (wide, narrow):
        held = bool(plan.mechanism.containing(["sex", "town", "pay"]))
        assert bool(list(means_left_out(plan))) is not held
        assert not any("inf" in words.split() for words in grid_words(plan))
    assert not narrow.mechanism.containing(["sex", "town", "pay"])


def test_original_numbers_of_a_grid_are_counted_by_the_probability_of_rounding():
    """5 is halfway between 0 and 10; 30 is halfway between 20 and 40; ends are exact."""
    table = pa.table({"sex": ["F", "F", "M", "M"], "pay": [5, 40, 30, 12]})
    opened = open_table(table)
    released = open_table(table.set_column(1, "pay", pa.array([0, 40, 20, 10])))
    answer = answer_at_face_value([SEX, pay()], released, opened)
    assert np.allclose(answer.original, [[0.5, 0.5, 0, 1], [0, 0.8, 0.7, 0.5]])
    both = answer_at_face_value([pay(), SEX], released, opened).original
    assert np.allclose(both, answer.original.T)
