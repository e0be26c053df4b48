"""Means, totals, shares, quantiles and regressions of numbers on a grid."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.analysis.numbers import GapShape, beyond_scores, rounding_variance
from pramana.errors import InvalidNumber, NotCovered
from pramana.methods.attribute_sampling import AttributeSampling
from pramana.methods.retention import Retention

POINTS = (0, 10_000, 20_000, 40_000, 100_000)
PAY = pm.Column("pay", pm.Role.SENSITIVE, pm.NumberGrid(POINTS, step=100), missing="refuse")
SEX = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
AGE = pm.Column("age", pm.Role.KEY, pm.NumberGrid.even(0, 100, 6), missing="refuse")
TOWN = pm.Column("town", pm.Role.PUBLIC, pm.Categories(("n", "s")), missing="refuse")
COST = pm.Column("cost", pm.Role.SENSITIVE)


def people(n: int = 1_500, seed: int = 4) -> dict[str, np.ndarray]:
    """Pay is skewed and depends on sex; age rises with pay, and cost with both."""
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n)
    pay = np.round(random.lognormal(10, 0.5, n) * np.where(sex == "F", 0.8, 1.2), -2)
    pay = np.minimum(pay, 100_000)
    age = np.clip(np.round(20 + pay / 2_500 + random.normal(0, 9, n)), 0, 100)
    cost = 0.1 * pay + 20 * age + random.normal(0, 1_500, n)
    town = random.choice(["n", "s"], n)
    return {"sex": sex, "pay": pay, "age": age, "cost": cost, "town": town}


TRUTH = people()
TABLE = pa.table(TRUTH)


def planned(*columns: pm.Column, method: object) -> pm.Plan:
    asked = [] if isinstance(method, Retention) else [pm.DifferentialPrivacy(epsilon=7)]
    return pm.design(pm.Schema(columns), *asked, data=TABLE.select([c.name for c in columns]),
                     method=method)  # fmt: skip


def released(plan: pm.Plan, seed: int) -> pm.Release:
    names = [column.name for column in plan.schema.columns]
    risk = [column.name for column in plan.schema.released_as_is]
    return pm.protect(TABLE.select(names), plan, seed=seed, accept_risk=risk)


def off(estimates: list[float], truth: float) -> float:
    """How many of its own errors the mean of some estimates is off."""
    spread = np.std(estimates, ddof=1) / math.sqrt(len(estimates))
    return (float(np.mean(estimates)) - truth) / float(spread)


# -- by hand ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fall", [0.0, 0.03, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("points", [(0, 40, 80), (0, 30, 80), (0, 10, 20, 30, 60, 80)])
def test_the_variance_of_rounding_is_near_that_of_every_number(points, fall):
    """Even numbers, and numbers that fall by a factor: what all of them add, by enumeration."""
    grid = pm.NumberGrid(points)
    column = pm.Column("x", pm.Role.KEY, grid, missing="refuse")
    scores = np.array([float(point) for point in points])
    weights = np.exp(-fall * np.arange(points[-1] + 1))
    added, counts = 0.0, np.zeros(len(points))
    for steps, weight in enumerate(weights):
        chances = [(float(z), w / 2**64, points.index(z)) for z, w in grid.chances(steps)]
        added += weight * sum(w * (score - steps) ** 2 for score, w, _ in chances)
        for _, w, place in chances:
            counts[place] += weight * w
    found = rounding_variance(column, scores, GapShape.of(column, counts)) @ counts

    assert found == pytest.approx(added, rel=0.08)


def test_a_gap_of_one_step_rounds_nothing():
    """Every number is a point."""
    column = pm.Column("x", pm.Role.KEY, pm.NumberGrid((0, 1, 2, 3)), missing="refuse")
    shape = GapShape.of(column, np.array([5.0, 3.0, 1.0, 7.0]))

    assert not rounding_variance(column, np.arange(4.0), shape).any()


def test_a_mean_is_the_average_of_what_each_released_point_says():
    """(y - (1 - rho) mean(g)) / rho, and its variance with that of rounding, written down."""
    plan = planned(PAY, method=Retention(retention=0.5))
    release = released(plan, 1)
    y = release.opened.to_arrow().column("pay").to_numpy().astype(float)
    g, rho, n = np.array(POINTS, float), float(plan.mechanism.steps[0].matrix.retention), len(y)
    scores = (y - (1 - rho) * g.mean()) / rho
    squares = (y**2 - (1 - rho) * (g**2).mean()) / rho
    counts = (np.array([(y == point).sum() for point in POINTS]) - (1 - rho) * n / len(g)) / rho
    rounding = counts @ rounding_variance(PAY, g, GapShape.of(PAY, counts))

    found = release.mean("pay")

    assert found.estimate == pytest.approx(scores.mean())
    variance = ((scores**2 - squares).sum() + rounding) / n**2
    assert float(found.se) == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert release.total("pay").estimate == pytest.approx(scores.sum())


def test_shares_beyond_a_point_lie_between_two_ramps():
    """For every number of the range the lower ramp is at most the step, the upper one at least."""
    points = np.array(POINTS, float)
    x = np.arange(0, 100_001, 100.0)
    for limit in (0, 5_000, 10_000, 35_000, 40_000, 100_000):
        for comparison, step in ((">=", x >= limit), (">", x > limit), ("<", x < limit),
                                 ("<=", x <= limit)):  # fmt: skip
            least, most = beyond_scores(PAY, comparison, limit)
            assert (np.interp(x, points, least) <= step + 1e-12).all(), (comparison, limit)
            assert (np.interp(x, points, most) >= step - 1e-12).all(), (comparison, limit)


def _hats(points: tuple[int, ...]) -> np.ndarray:
    """The chance of every point (columns) for every whole number of the range (rows)."""
    numbers = np.arange(points[-1] + 1.0)
    return np.stack([np.interp(numbers, points, row) for row in np.eye(len(points))], axis=1)


@pytest.mark.parametrize("points", [(0, 10, 40), (0, 5, 6, 20, 50), (0, 60, 63)])
def test_the_fitted_distribution_has_the_counts_and_the_largest_entropy(points):
    """Against distributions with the same counts: moves in the null space of the chances."""
    random, hats = np.random.default_rng(8), _hats(points)
    column = pm.Column("x", pm.Role.KEY, pm.NumberGrid(points), missing="refuse")
    counts = random.dirichlet(np.full(len(hats), 0.3)) @ hats
    shares = GapShape.of(column, counts).shares
    entropy = -(shares @ np.log(shares))

    assert shares @ hats == pytest.approx(counts, abs=1e-6)
    for _ in range(50):
        move = random.normal(size=len(shares)) * shares
        move -= hats @ np.linalg.lstsq(hats.T @ hats, hats.T @ move, rcond=None)[0]
        other = np.maximum(shares + 0.1 * move * (shares / np.abs(move).clip(1e-300)).min(), 1e-300)
        assert -(other @ np.log(other)) <= entropy + 1e-9


@pytest.mark.parametrize("spread", [0.05, 0.3, 2.0])
def test_no_distribution_with_the_same_counts_adds_less_or_more_by_rounding(spread):
    points = (0, 30, 80)
    random, hats = np.random.default_rng(9), _hats(points)
    column = pm.Column("x", pm.Role.KEY, pm.NumberGrid(points), missing="refuse")
    scores, coarse = np.array(points, float), 0
    for _ in range(30):
        numbers = random.dirichlet(np.full(len(hats), spread))
        counts = numbers @ hats
        added = numbers @ (hats @ scores**2 - (hats @ scores) ** 2)
        extremes = GapShape.of(column, counts).extremes
        if not extremes:
            continue
        coarse += 1
        least, most = (rounding_variance(column, scores, own) @ counts for own in extremes)

        assert least == pytest.approx(0, abs=1e-9)
        assert added <= most * (1 + 1e-6)
    assert coarse > 10


def test_rounding_adds_little_on_a_fine_grid():
    column = pm.Column("x", pm.Role.KEY, pm.NumberGrid.even(0, 80, 9), missing="refuse")

    assert not GapShape.of(column, np.ones(9)).extremes


# -- by simulation ---------------------------------------------------------------------------------

RUNS = 60


@pytest.mark.parametrize(
    "method", [Retention(retention=0.7), AttributeSampling()], ids=["records", "attribute-sets"]
)
@pytest.mark.deep(every=2)
def test_means_totals_and_differences_are_unbiased_with_the_errors_stated(method):
    """By a randomised group and by a public one, over releases of the same people."""
    plan = planned(SEX, PAY, TOWN, method=method)
    found: dict[str, list[tuple[float, float]]] = {}
    women = TRUTH["sex"] == "F"
    wanted = {
        "F": TRUTH["pay"][women].mean(),
        "less": TRUTH["pay"][women].mean() - TRUTH["pay"][~women].mean(),
        "n": TRUTH["pay"][TRUTH["town"] == "n"].sum(),
    }
    for seed in range(RUNS):
        release = released(plan, seed)
        means = release.mean("pay", by=["sex"])
        less, total = means.difference("F", "M"), release.total("pay", by=["town"])["n"]
        found.setdefault("F", []).append((means["F"]["estimate"], means["F"]["se"]))
        found.setdefault("less", []).append((less.estimate, less.se))
        found.setdefault("n", []).append((total["estimate"], total["se"]))
    for name, pairs in found.items():
        estimates, errors = zip(*pairs, strict=True)

        assert abs(off(estimates, wanted[name])) < 4, name
        assert 0.72 < np.std(estimates) / np.mean(errors) < 1.3, name


@pytest.mark.parametrize("formula", ["pay ~ sex", "cost ~ age + sex", "cost ~ age*sex"])
@pytest.mark.deep
def test_regressions_come_out_as_those_of_the_numbers(formula):
    """A number as response, as covariate and within an interaction; errors of these records."""
    kept = Retention(retention=0.97 if "*" in formula else 0.9)
    plan = planned(SEX, PAY if "pay" in formula else AGE, COST, method=kept)
    men = (TRUTH["sex"] == "M") * 1.0
    ones, age = np.ones(len(men)), TRUTH["age"]
    design = {"pay ~ sex": [ones, men], "cost ~ age + sex": [ones, age, men]}.get(
        formula, [ones, age, men, age * men]
    )
    response = TRUTH["pay" if "pay" in formula else "cost"]
    order = {"pay ~ sex": [0, 1], "cost ~ age + sex": [0, 1, 2]}.get(formula, [0, 1, 2, 3])
    truth = np.linalg.lstsq(np.column_stack(design), response, rcond=None)[0]
    fits = [released(plan, seed).regress(formula, infer="records") for seed in range(RUNS)]
    names = fits[0].names
    place = {name: at for at, name in enumerate(names)}
    keys = ["Intercept", *(["age"] if "age" in formula else []), "sex[T.M]", "age:sex[T.M]"]
    for at, key in zip(order, [key for key in keys if key in place], strict=True):
        estimates = [float(fit.coefficients[place[key]]) for fit in fits]
        errors = [float(fit.se[place[key]]) for fit in fits]

        assert abs(off(estimates, truth[at])) < 4, key
        assert 0.7 < np.std(estimates) / np.mean(errors) < 1.35, key


def test_without_the_correction_a_slope_would_be_too_flat():
    """Rounding alone, next to no randomisation: the covariate is noisier than the number."""
    plan = planned(AGE, COST, method=Retention(retention=0.999))
    release = released(plan, 2)
    table = release.opened.to_arrow()
    slope = np.polyfit(TRUTH["age"], TRUTH["cost"], 1)[0]
    plain = np.polyfit(table.column("age").to_numpy().astype(float), table.column("cost"), 1)[0]
    found = release.regress("cost ~ age", infer="records")
    at = found.names.index("age")

    assert abs(found.coefficients[at] - slope) < 3 * found.se[at]
    assert plain < slope - 5 * found.se[at]


def test_intervals_of_a_slope_on_a_coarse_grid_hold_whatever_lies_between_points():
    """Half of the people are young and half old: no smooth distribution is like that."""
    random = np.random.default_rng(6)
    age = np.where(random.random(4_000) < 0.5, 25, 75)
    cost = 50.0 * age + random.normal(0, 200, len(age))
    table = pa.table({"age": age, "cost": cost})
    grid = pm.Column("age", pm.Role.KEY, pm.NumberGrid.even(0, 100, 3), missing="refuse")
    plan = pm.design(pm.Schema((grid, COST)), data=table, method=Retention(retention=0.95))
    slope = np.polyfit(age, cost, 1)[0]
    for seed in range(5):
        fit = pm.protect(table, plan, seed=seed, accept_risk=["cost"]).regress(
            "cost ~ age", infer="records"
        )
        at = fit.names.index("age")

        assert abs(fit.coefficients[at] - slope) > 5 * fit.se[at]
        assert fit.low[at] <= slope <= fit.high[at]
        assert "coarse" in fit.why


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_quantiles_and_shares_hold_the_numbers_wherever_they_lie_in_gaps(share):
    """Intervals reach over a gap; estimates lie near."""
    plan = planned(SEX, PAY, method=Retention(retention=0.8))
    release = released(plan, 3)
    truth = float(np.quantile(TRUTH["pay"], share))
    found, beyond = release.quantile("pay", share), release.proportion(f"pay>={truth:.0f}")

    assert found.low <= truth <= found.high
    assert beyond.low <= np.mean(TRUTH["pay"] >= truth) <= beyond.high
    assert abs(float(found.estimate) / truth - 1) < 0.3


def test_a_randomised_column_of_listed_numbers_has_a_mean_too():
    """Ages as categories: nothing was rounded, so that shares and quantiles are exact."""
    children = np.random.default_rng(1).integers(0, 5, 2_000)
    column = pm.Column("children", pm.Role.KEY, pm.Categories(tuple(range(5))), missing="refuse")
    plan = pm.design(pm.Schema((column,)), records=2_000, method=Retention(retention=0.6))
    release = pm.protect(pa.table({"children": children}), plan, seed=1)
    mean, share = release.mean("children"), release.proportion("children>=2")

    assert abs(float(mean.estimate) - children.mean()) < 4 * float(mean.se)
    assert abs(float(share.estimate) - (children >= 2).mean()) < 4 * float(share.se)
    assert share.high - share.low < 0.2
    assert release.median("children").estimate in (1, 2, 3)


def test_missing_numbers_are_in_no_mean():
    """A missing value and a code for it are randomised with the points, and count for nothing."""
    pay = np.where(np.arange(1_500) % 5 == 0, -1, TRUTH["pay"]).tolist()
    pay = [None if at % 7 == 0 else own for at, own in enumerate(pay)]
    column = pm.Column(
        "pay",
        pm.Role.KEY,
        pm.NumberGrid(POINTS, missing_values=(-1,), step=100),
        missing="category",
    )
    plan = pm.design(pm.Schema((column,)), records=1_500, method=Retention(retention=0.9))
    release = pm.protect(pa.table({"pay": pay}), plan, seed=1)
    truth = np.mean([own for own in pay if own is not None and own >= 0])
    found = release.mean("pay")

    assert abs(float(found.estimate) - truth) < 4 * float(found.se)


# -- what is refused -------------------------------------------------------------------------------

RELEASE = released(planned(SEX, PAY, AGE, COST, method=Retention(retention=0.9)), 1)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda r: r.mean("sex"), InvalidNumber, "holds no numbers"),
        (lambda r: r.mean("pay", by=["pay"]), NotCovered, "groups of itself"),
        (lambda r: r.mean("cost", where="pay>=20000"), NotCovered, "proportion"),
        (lambda r: r.mean("pay", method="shrunk"), NotCovered, "Leave the method out"),
        (lambda r: r.proportion("pay>2", method="clipped"), NotCovered, "Leave the method out"),
        (lambda r: r.proportion("pay=20000"), NotCovered, "whose original number"),
        (lambda r: r.regress("cost ~ sqrt(age)"), NotCovered, "straight lines"),
        (lambda r: r.regress("cost ~ C(age)"), NotCovered, "straight lines"),
        (lambda r: r.regress("sqrt(pay) ~ sex"), NotCovered, "straight lines"),
    ],
)
def test_what_rounding_by_chance_does_not_allow_is_refused(ask, error, words):
    """One line that says what to ask instead."""
    with pytest.raises(error, match=words):
        ask(RELEASE)


def test_rebuilt_numbers_lie_inside_the_gaps_as_the_originals_do():
    """In whole steps of the range, with the mean, spread and quantiles of the numbers."""
    plan = planned(SEX, PAY, method=Retention(retention=0.95))
    release = released(plan, 5)
    rebuilt = release.synthesize(seed=1).column("pay").to_numpy().astype(float)

    assert ((rebuilt >= 0) & (rebuilt <= 100_000) & (rebuilt % 100 == 0)).all()
    assert len(np.unique(rebuilt)) > 100
    assert rebuilt.mean() == pytest.approx(TRUTH["pay"].mean(), rel=0.06)
    assert rebuilt.std() == pytest.approx(TRUTH["pay"].std(), rel=0.15)
    for share in (0.25, 0.5, 0.75):
        assert np.quantile(rebuilt, share) == pytest.approx(
            np.quantile(TRUTH["pay"], share), rel=0.12
        )
