"""Tests of regressions from reports, judged by other roads to the same numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import regression as bench
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pramana import api
from pramana.analysis.attribute_sampling_regression import Needs, ReportedSet, rows_of_sets
from pramana.analysis.regression import CorrectedScores
from pramana.analysis.release import Release
from pramana.base.rounding import TOTAL
from pramana.errors import NotCovered
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet, Mechanism, Step
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.attribute_sampling import AttributeSampling
from pramana.release.certificate import Certificate
from pramana.schema.roles import Role
from pramana.schema.schema import REPORTED, Column, Schema

TRUTH = bench.people(6_000, np.random.default_rng(3))
PAIRS = AttributeSampling(
    tables=(("sex", "age"), ("sex", "region"), ("age", "region"), ("age", "work"))
)


def reported(epsilon: float = 2.0, table: pa.Table = TRUTH, schema: Schema = bench.REPORTED):
    """A release by reports of pairs."""
    plan = api.design(schema, DifferentialPrivacy(epsilon=epsilon), data=table, method=PAIRS)
    assert max(len(one.columns) for one in plan.mechanism.sets) == 2 or epsilon > 2
    return api.protect(table, plan, seed=1)


# -- what a report says about a sum over everyone -------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 4), min_size=3, max_size=3),
    kept=st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4),
    seed=st.integers(0, 10_000),
)
def test_on_average_reports_say_what_is_true(sizes, kept, seed):
    """Every truth, every function without three-way terms, sets of which some cells cannot exist:
    the mean over sets and answers, written out, is the function. With a three-way term it is not:
    then the pairs are not enough, and the model says so before."""
    random = np.random.default_rng(seed)
    places = ((0, 1), (0, 2), (1, 2), (1,))
    needs = Needs(tuple(sizes), tuple(frozenset(own) for own in places[:3]))
    shares = [random.dirichlet(np.ones(size)) for size in sizes]
    sets = [
        ReportedSet(own, reports, p, random.dirichlet(np.ones(np.prod([sizes[j] for j in own]))))
        for own, p, reports in zip(places, kept, (30.0, 5.0, 60.0, 9.0), strict=True)
    ]
    rows = rows_of_sets(needs, sets, shares)
    pair = [random.normal(size=[sizes[j] for j in own]) for own in places[:3]]
    three = random.normal(size=sizes)

    def means(odd: float) -> tuple[list[float], list[float]]:
        def f(t):
            return sum(pair[k][t[i], t[j]] for k, (i, j) in enumerate(places[:3])) + odd * three[t]

        at = np.array([f(tuple(point)) for point in needs.points.tolist()])
        found, right = [], []
        for truth in itertools.product(*map(range, sizes)):
            total = 0.0
            for one, own in zip(sets, rows, strict=True):
                shape = [sizes[j] for j in one.columns]
                chance = (1 - one.retention) * one.base.reshape(shape)
                chance[tuple(truth[j] for j in one.columns)] += one.retention
                total += one.reports / 104.0 * float(chance.ravel() @ own @ at)
            found.append(total)
            right.append(f(truth))
        return found, right

    found, right = means(0.0)
    assert found == pytest.approx(right, abs=1e-8)
    found, right = means(1.0)
    assert found != pytest.approx(right, abs=1e-3)


@pytest.mark.parametrize(
    ("formula", "family"),
    [("income ~ age + sex", "linear"), ("work ~ age + sex", "logistic"),
     ("children ~ age * sex", "poisson"), ("region ~ age + sex", "multinomial"),
     ("C(region, levels=['west', 'north', 'south']) ~ age", "ordered")],
)  # fmt: skip
@pytest.mark.parametrize("infer", ["population", "records"])
def test_one_set_of_all_columns_is_a_step_on_all_of_them(formula, family, infer):
    """The same records, once as reports of one set and once as whole records."""
    names = ("sex", "age", "work", "region")
    cells = tuple(itertools.product(*(bench.REPORTED.column(name).labels for name in names)))
    matrix = UniformMixture.of(cells, retention=0.6)
    whole = Certificate(
        bench.REPORTED, "published", Mechanism((Step(names, matrix),)), "matrix", 6_000, 6_000, ()
    )
    seen = _drawn(names, cells, kept=0.6)
    mark = pa.array(["*".join(names)] * 6_000)
    schema = Schema((*bench.REPORTED.columns, Column(REPORTED, Role.SENSITIVE, missing="refuse")))
    sets = AttributeSampler(sets=(AttributeSet(names, TOTAL, matrix),))
    certificate = Certificate(
        schema, "attribute-sampling", sets, "attribute-sampling", 6_000, 6_000, ()
    )
    by_reports = Release(certificate, api.open_source(seen.append_column(REPORTED, mark)))
    by_steps = Release(whole, api.open_source(seen))
    one, other = (own.regress(formula, family=family, infer=infer)
                  for own in (by_reports, by_steps))  # fmt: skip

    assert one.coefficients == pytest.approx(other.coefficients, rel=1e-6)
    assert one.covariance == pytest.approx(other.covariance, rel=2e-3)


def _drawn(names, cells, kept: float) -> pa.Table:
    """The people, their cell of some columns drawn anew with probability 1 - kept."""
    random = np.random.default_rng(2)
    ages = bench.REPORTED.column("age").labels
    binned = [ages[age // 10 - 2] for age in TRUTH["age"].to_pylist()]
    true = TRUTH.set_column(1, "age", pa.array(binned))
    rows = list(zip(*(true[name].to_pylist() for name in names), strict=True))
    new = random.integers(0, len(cells), len(rows))
    stays = random.random(len(rows)) < kept
    drawn = [own if stay else cells[at] for own, stay, at in zip(rows, stays, new, strict=True)]
    for place, name in enumerate(names):
        values = pa.array([cell[place] for cell in drawn])
        true = true.set_column(true.column_names.index(name), name, values)
    return true


def test_least_squares_from_pairs_alone():
    """Each record answers one pair of three columns: the fit of all true records is within the
    errors, which are small."""
    random = np.random.default_rng(5)
    x = random.integers(0, 2, (30_000, 3)).astype(float)
    x[:, 1] = np.where(random.random(30_000) < 0.6, x[:, 0], x[:, 1])
    y = 1 + x @ [2.0, -1.0, 0.5] + random.normal(0, 1, 30_000)
    names = ("a", "b", "c")
    schema = Schema((*(Column(name, Role.KEY, bench.Categories((0, 1))) for name in names),
                     Column("y", Role.SENSITIVE)))  # fmt: skip
    table = pa.table({**{name: x[:, j].astype(int) for j, name in enumerate(names)}, "y": y})
    plan = api.design(
        schema, DifferentialPrivacy(epsilon=1.3), data=table, method="attribute-sampling"
    )
    assert {len(one.columns) for one in plan.mechanism.sets} == {2}
    found = api.protect(table, plan, seed=4).regress("y ~ a + b + c")
    right = np.linalg.lstsq(np.column_stack([np.ones(30_000), x]), y, rcond=None)[0]

    assert (np.abs(found.coefficients - right) < 4.5 * found.se).all()
    assert (found.se < 0.2).all()


def test_scores_of_records_drawn_apart_spread_around_the_mean_of_their_draw():
    """By hand: the sum of two samples has the sum of their variances, each about its own mean; a
    draw of a single record has no mean of its own, and counts as it is."""
    random = np.random.default_rng(8)
    draw = np.repeat([0, 1, 2], [5, 7, 1])
    y, says = random.normal(10, 2, 13), np.array([1.0, 3.0, 2.0])
    ones = np.ones(13)
    scores = CorrectedScores(
        family="linear", design=np.ones((1, 1, 1, 1)), response=None, kept=np.zeros(13, dtype=int),
        undone=((says[:, None], draw),), n=ones, w=ones, ww=ones, wy=y, wwy=y, wwyy=y**2,
        apart=draw,
    )  # fmt: skip
    own = says[draw] * (y - 4.0)
    right = sum(size * own[draw == at].var(ddof=1) for at, size in ((0, 5), (1, 7))) + own[-1] ** 2

    assert scores.spread(np.array([4.0]), infer="population") == pytest.approx(right)


# -- over many releases ---------------------------------------------------------------------


@pytest.mark.parametrize("model", ["linear, covariates", "logistic, both"])
@pytest.mark.deep
def test_intervals_hold(model):
    """In each coefficient at least as often as a binomial of 0.95 does but for 1e-4, and the stated
    standard error is within a third of the true one. More releases: benchmarks."""
    draws = 20
    held, bias, width, refused, _ = bench.coverage(
        model,
        3.0,
        draws=draws,
        records=5_000,
        infer="population",
        release="attribute-sampling",
        seed=9,
    )

    assert refused == 0
    assert held.min() >= binom.ppf(1e-4, draws, 0.95) / draws
    assert np.abs(bias).max() < 4.5 / np.sqrt(draws)
    assert 0.67 < width.min() <= width.max() < 1.5


# -- filters, weights, words and refusals ---------------------------------------------------


def test_a_filter_on_a_reported_column_is_undone_with_the_others():
    """Women alone: the model of the true women is within its errors, and a factor's means are those
    that ``mean`` gives."""
    release = reported(3.0)
    found = release.regress("income ~ C(region) - 1", where={"sex": "F"})
    means = release.mean("income", by=["region"], where={"sex": "F"}, infer="population")

    assert found.coefficients == pytest.approx(means.estimate, rel=0.02)
    assert found.se == pytest.approx(means.se, rel=0.25)


def test_weights_count_and_are_named():
    """Weights of one kind change nothing; others are in the coefficients and in the words."""
    schema = Schema((*bench.REPORTED.columns, Column("w", Role.WEIGHT)))
    plain = reported(2.0).regress("income ~ age + sex")
    even = TRUTH.append_column("w", pa.array(np.full(6_000, 3.0)))
    found = reported(2.0, even, schema).regress("income ~ age + sex")

    assert found.weight == "w"
    assert found.coefficients == pytest.approx(plain.coefficients)
    assert found.se == pytest.approx(plain.se)


def test_errors_about_the_records_are_those_about_the_population_where_pairs_do_not_tell():
    """The answer says which it gives."""
    found = reported(2.0).regress("income ~ age + sex + C(region)", infer="records")

    assert found.question.infer == "population"
    assert "about the population" in found.why
    assert "that report" in repr(found)


def test_what_no_report_tells_is_refused():
    """Three covariates of a logistic model at once; a pair that was never asked for; and three
    columns of which one may be missing."""
    release = reported(2.0)
    with pytest.raises(NotCovered, match="needs age and region and sex together"):
        release.regress("work ~ age + sex + region", family="logistic")
    with pytest.raises(NotCovered, match="needs sex and work together"):
        release.regress("income ~ work + sex")
    columns = [
        Column(own.name, own.role, own.domain, missing="category") if own.name == "region" else own
        for own in bench.REPORTED.columns
    ]
    gaps = TRUTH.set_column(3, "region", pa.array([None, *TRUTH["region"].to_pylist()[1:]]))
    release = reported(2.0, gaps, Schema(tuple(columns)))
    with pytest.raises(NotCovered, match="Records without region"):
        release.regress("income ~ age + sex + region")
    assert release.regress("income ~ sex + region").names[0] == "Intercept"
    with pytest.raises(NotCovered, match="were drawn at random"):
        release.regress("income ~ sex + reported")
