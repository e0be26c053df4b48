"""Tests of replicate weights and of the weighted test of independence."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, t

import pramana as pm
from pramana import api
from pramana.analysis.association import chi_square_tail, weighted_statistic
from pramana.analysis.channels import Channels
from pramana.errors import InvalidNumber, InvalidSchema, NotCovered, PramanaError, UnknownColumn
from pramana.mechanisms.mechanism import Mechanism
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.given import GivenMatrices
from tests.analysis.worlds import kronecker, layout_of, mixtures, moments_of_records

N = 400
REPLICATES = 8


@pytest.fixture(scope="module")
def release():
    """Key and income of people with weights and jackknife replicates by eight clusters."""
    rng = np.random.default_rng(4)
    cluster, sex = np.arange(N) % REPLICATES, rng.choice(["f", "m"], N)
    weight = rng.choice([1.0, 2.0, 4.0], N)
    columns = {"sex": sex, "income": rng.gamma(2, 100, N) + 30 * cluster, "w": weight}
    for r in range(REPLICATES):
        columns[f"r{r + 1}"] = np.where(cluster == r, 0.0, weight * REPLICATES / (REPLICATES - 1))
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m"))),
            pm.Column("income", pm.Role.SENSITIVE),
            pm.Column("w", pm.Role.WEIGHT),
            *(pm.Column(f"r{r + 1}", pm.Role.SENSITIVE) for r in range(REPLICATES)),
        )
    )
    table = pa.table(columns)
    mixture = UniformMixture.of(("f", "m"), retention=0.7)
    plan = api.design(schema, data=table, method=GivenMatrices({"sex": mixture}))
    return api.protect(table, plan, seed=1)


JACKKNIFE = pm.Replicates("r*", kind="jackknife")


def test_the_variance_is_that_of_the_replicates(release):
    """Each made by itself from the released records, matrices undone by hand."""
    table = release.opened.to_arrow()
    seen, income = np.array(table["sex"].to_pylist()), table["income"].to_numpy()
    inverse = np.linalg.inv(UniformMixture.of(("f", "m"), retention=0.7).values)
    counts = np.where(seen == "f", inverse[0, 0], inverse[1, 0])  # towards women
    weights = [table[name].to_numpy() for name in ("w", *(f"r{r + 1}" for r in range(REPLICATES)))]
    by_hand = {
        "count": [w @ counts for w in weights],
        "mean": [(w * income) @ counts / (w @ counts) for w in weights],
    }
    asked = {"infer": "population", "replicates": JACKKNIFE}
    found = {
        "count": release.crosstab("sex", method="unbiased", **asked).cell("f"),
        "mean": release.mean("income", by=["sex"], method="unbiased", **asked).cell("f"),
    }
    for what, (whole, *others) in by_hand.items():
        variance = 7 / 8 * np.square(np.array(others) - whole).sum()
        assert found[what]["estimate"] == pytest.approx(whole)
        assert found[what]["se"] == pytest.approx(np.sqrt(variance))
        assert found[what]["high"] - whole == pytest.approx(2.3646 * np.sqrt(variance), rel=1e-4)


def test_differences_and_regressions_use_the_replicates(release):
    """The slope on a column of two values is the difference of two means."""
    asked = {"infer": "population", "replicates": JACKKNIFE}
    gap = release.mean("income", by=["sex"], **asked).difference("m", "f")
    slope = release.regress("income ~ sex", **asked)

    assert slope["sex[T.m]"]["coefficient"] == pytest.approx(gap.estimate)
    assert slope["sex[T.m]"]["se"] == pytest.approx(gap.se)
    # eight replicates have seven degrees of freedom: by Student, as the tables are
    for own in (gap, release.crosstab("sex", **asked).difference("m", "f")):
        assert (own.high - own.low) / own.se == pytest.approx(2 * 2.3646, rel=1e-3)
    assert (slope.high - slope.low) / slope.se == pytest.approx(2 * 2.3646, rel=1e-3)
    statistic = abs(slope["sex[T.m]"]["z"])
    assert slope["sex[T.m]"]["p_value"] == pytest.approx(2 * t.sf(statistic, 7))
    assert slope.test("sex[T.m]").p_value == pytest.approx(2 * t.sf(statistic, 7))
    assert "8 replicate weights (jackknife)" in slope.why
    assert release.crosstab("sex", share=True, **asked).weight == "w"
    assert release.proportion("income>=200", by=["sex"], **asked).se.all()
    bootstrap = pm.Replicates("r*", kind="bootstrap")
    assert release.quantile("income", by=["sex"], infer="population", replicates=bootstrap).se.all()


def test_no_error_is_smaller_than_that_of_the_randomisation(release):
    """Limit: replicates that are all alike say nothing about the sample; what moved is known."""
    alike = pm.Replicates(("r1", "r2"), kind="bootstrap", scale=1e-12)
    asked = {"infer": "population", "replicates": alike}
    for ask in (
        lambda **how: release.crosstab("sex", method="unbiased", **how),
        lambda **how: release.mean("income", by=["sex"], **how),
        lambda **how: release.regress("income ~ sex", **how),
    ):
        known = ask(infer="records").se
        assert (known > 0).all()
        assert ask(**asked).se == pytest.approx(known, rel=1e-3)
    gap = release.mean("income", by=["sex"], **asked).difference("m", "f")
    assert gap.se == pytest.approx(np.hypot(*release.mean("income", by=["sex"]).se), rel=1e-3)


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_what_a_replicate_does_not_have_has_no_error_by_them(method):
    """All of one region lie in one cluster: left out, there is no mean of them. The interval was
    the estimate itself, and reports divided by 0."""
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(4), 100)
    region = np.where(cluster == 0, "north", "south")
    columns = {"sex": rng.choice(["f", "m"], 400), "region": region, "pay": rng.normal(9, 1, 400)}
    columns |= {"w": np.ones(400)}
    columns |= {f"r{r + 1}": np.where(cluster == r, 0.0, 4 / 3) for r in range(4)}
    table, names = pa.table(columns), [f"r{r + 1}" for r in range(4)]
    schema = pm.describe(table, keys=["sex"], sensitive=["region", "pay", *names], weight="w")
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=4), data=table, method=method)
    release = pm.protect(table, plan, seed=1)
    asked = {"infer": "population", "replicates": JACKKNIFE, "where": {"region": ["north"]}}

    for found in (
        release.mean("pay", by=["sex"], **asked),
        release.proportion("pay>=9", by=["sex"], **asked),
    ):
        assert np.isfinite(found.estimate).all()
        assert np.isnan(found.se).all()
        assert (found.low <= 0).all()
        assert (found.high >= 1).all()
    assert np.isfinite(release.crosstab("sex", **asked).se).all()


def test_records_without_a_weight_count_nothing():
    """In quantiles as in counts, and where nobody else is in a cell: it gave no number at all."""
    rng = np.random.default_rng(3)
    columns = {"sex": rng.choice(["f", "m"], 300), "pay": rng.normal(9, 1, 300)}
    some = rng.random(300) < 0.2
    lacking = pa.table(columns | {"w": pa.array(np.ones(300), mask=some)})
    nothing = pa.table(columns | {"w": np.where(some, 0.0, 1.0)})
    schema = pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m"))),
            pm.Column("pay", pm.Role.SENSITIVE),
            pm.Column("w", pm.Role.WEIGHT),
        )
    )
    own = {"sex": UniformMixture.of(("f", "m"), retention=0.7)}
    first, second = (
        api.protect(t, api.design(schema, data=t, method=GivenMatrices(own)), seed=1)
        for t in (lacking, nothing)
    )

    for ask in (lambda r: r.quantile("pay", by=["sex"]), lambda r: r.crosstab("sex", "pay")):
        assert ask(first).estimate == pytest.approx(ask(second).estimate)
        assert np.isfinite(ask(first).estimate).all()


def test_scales_of_the_kinds():
    """As their books have them; a scale of one's own goes first."""
    names = [f"r{at}" for at in range(1, 81)]
    for kind, fay, right in (
        ("brr", None, 1 / 80),
        ("bootstrap", None, 1 / 80),
        ("jackknife", None, 79 / 80),
        ("sdr", None, 4 / 80),
        ("fay", 0.5, 4 / 80),
    ):
        own = pm.Replicates("r*", kind=kind, fay=fay)
        assert own.factor(len(own.columns_in(names))) == pytest.approx(right)
    assert pm.Replicates(("r1", "r2"), scale=0.3).factor(2) == 0.3


def test_what_is_refused(release):
    """Other inference, no weights, columns that are not there, a jackknife of a quantile."""
    with pytest.raises(InvalidNumber, match="population"):
        release.crosstab("sex", replicates=JACKKNIFE)
    with pytest.raises(InvalidNumber, match="weight"):
        release.crosstab("sex", infer="population", replicates=JACKKNIFE, weighted=False)
    with pytest.raises(UnknownColumn, match="two or more"):
        release.crosstab("sex", infer="population", replicates=pm.Replicates("x*"))
    with pytest.raises(NotCovered, match="jackknife"):
        release.quantile("income", infer="population", replicates=JACKKNIFE)
    for wrong in ({"kind": "magic"}, {"kind": "fay"}, {"fay": 0.5}, {"scale": 0}):
        with pytest.raises(InvalidNumber):
            pm.Replicates("r*", **wrong)


@pytest.mark.parametrize("retention", [1.0, 0.6])
def test_the_weighted_test_keeps_its_level_and_finds_dependence(retention):
    """Of 400 independent tables at most the 0.9999 quantile of a binomial of 0.05 is rejected,
    and not far fewer; without the correction many more are. Of 50 dependent ones more are rejected
    than a test without power would reject with probability 1 - 1e-9."""
    rng = np.random.default_rng(9)
    shape, n, rejected, uncorrected, found = (2, 3), 600, 0, 0, 0
    layout = layout_of(shape, mixtures(shape, retention) if retention < 1 else Mechanism(()))
    edges = kronecker(layout).cumsum(axis=1)
    channels = Channels(layout)
    for round_ in range(450):
        a, b = rng.choice(2, n, p=[0.4, 0.6]), rng.choice(3, n, p=[0.5, 0.3, 0.2])
        if round_ >= 400:
            b = np.where(rng.random(n) < 0.5, a, b)
        seen = (rng.random(n)[:, None] > edges[3 * a + b]).sum(axis=1)
        cells = np.column_stack(np.unravel_index(seen, shape))
        weights = rng.choice([1.0, 6.0], n, p=[0.7, 0.3])
        moments = moments_of_records(layout, cells, weights=weights)
        statistic, degrees = weighted_statistic(moments, channels)
        p_value = chi_square_tail(statistic, degrees)
        if round_ >= 400:
            found += p_value < 0.05
            continue
        rejected += p_value < 0.05
        table = channels.solve(moments.w) * n / weights.sum()
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
        uncorrected += chi_square_tail(float(((table - expected) ** 2 / expected).sum()), 2) < 0.05

    assert binom.ppf(1e-4, 400, 0.05) <= rejected <= binom.ppf(1 - 1e-4, 400, 0.05)
    assert uncorrected > binom.ppf(1 - 1e-4, 400, 0.05)
    assert found > binom.ppf(1 - 1e-9, 50, 0.05)


STATED = """
replicate_weights = {columns = "r*", method = "jackknife"}
weight = "w"
sensitive = ["income", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"]

[columns.sex]
role = "key"
categories = ["f", "m"]
"""


@pytest.fixture(scope="module")
def people():
    """The same people, as a table."""
    rng = np.random.default_rng(4)
    cluster, weight = np.arange(N) % REPLICATES, rng.choice([1.0, 2.0], N)
    columns = {"sex": rng.choice(["f", "m"], N), "income": rng.gamma(2, 100, N) + 30 * cluster}
    replicates = {f"r{r + 1}": np.where(cluster == r, 0.0, weight * 8 / 7) for r in range(8)}
    return pa.table({**columns, "w": weight, **replicates})


def test_replicates_of_the_schema_are_in_the_release_and_give_its_errors(people, tmp_path):
    """As if they had been named; about the records alone they say nothing."""
    schema = pm.Schema.from_toml(STATED)
    assert pm.Schema.from_toml(schema.to_toml()) == schema
    mixture = UniformMixture.of(("f", "m"), retention=0.7)
    plan = api.design(schema, data=people, method=GivenMatrices({"sex": mixture}))
    api.protect(people, plan, to=tmp_path / "r", seed=1)
    release = api.load(tmp_path / "r")

    verdict = api.verify(tmp_path / "r", original=people)
    assert verdict.valid
    assert {c.state for c in verdict.checks if c.name == "replicate weights"} == {"asserted"}
    assert release.certificate.schema.replicates == JACKKNIFE.named(people.column_names)
    for ask in (
        lambda **how: release.mean("income", by=["sex"], infer="population", **how),
        lambda **how: release.crosstab("sex", infer="population", **how),
        lambda **how: release.regress("income ~ sex", **how),
    ):
        found, named = ask(), ask(replicates=JACKKNIFE)
        assert np.array_equal(found.se, named.se)
        assert "8 replicate weights (jackknife)" in found.why
        assert "replicate" not in ask(weighted=False).why
    assert "replicate" not in release.mean("income", by=["sex"]).why
    with pytest.raises(NotCovered, match="jackknife gives no valid error of a quantile"):
        release.quantile("income", by=["sex"], infer="population")


def test_replicates_are_known_unless_they_are_called_sensitive(people):
    """Clusters of fifty with two weights each: no anonymity set of forty shares them."""
    names = [f"r{r + 1}" for r in range(8)]
    text = STATED.replace('"r*"', str(names)).replace("sensitive", "# sensitive")
    known = pm.Schema.from_toml(f'{text}[columns.income]\nrole = "sensitive"\n')
    assert set(names) < set(known.known)
    with pytest.raises(PramanaError, match="anonymity set|alike|share"):
        api.design(known, pm.PkAnonymity(k=40), data=people)
    api.design(pm.Schema.from_toml(STATED), pm.PkAnonymity(k=40), data=people)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"jackknife"', '"guess"'), "must be one of brr"),
        (('"r*"', '"s*"'), "two or more columns of the table"),
        (('"r*"', '["r1", "r1"]'), "each named once; 1 are named"),
        (('weight = "w"', ""), "go with a column of role weight"),
        (('method = "jackknife"', "scale = true"), "columns of replicate weights, and"),
        (('method = "jackknife"', 'how = "jackknife"'), "columns of replicate weights, and"),
        (("sensitive =", "identifiers ="), "must be released unchanged"),
    ],
)
def test_replicates_that_mean_nothing_are_refused(change, message):
    """In one line that says what must hold."""
    with pytest.raises(InvalidSchema, match=message):
        pm.Schema.from_toml(STATED.replace(*change))


def test_describe_recognises_a_block_of_replicates():
    """As the American Community Survey calls them; the weight itself stays one."""
    rng = np.random.default_rng(1)
    weight = rng.integers(20, 300, 300)
    block = {f"PWGTP{r}": np.maximum(1, weight // rng.integers(1, 4, 300)) for r in range(1, 81)}
    found = api.describe(pa.table({"SEX": rng.integers(1, 3, 300), **block, "PWGTP": weight}))

    assert found.column("PWGTP").role is pm.Role.WEIGHT
    roles = {found.column(name).role for name in block}
    assert roles == {pm.Role.DROPPED}
    assert "one of 80 replicate weights" in found.to_toml()
