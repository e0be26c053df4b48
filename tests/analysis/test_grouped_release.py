"""Tests of k-anonymous releases: from a table to a folder, and back to counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pramana import api
from pramana.errors import Infeasible, InvalidSchema, NotCovered, OutsideDomain
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.methods.microaggregated import Resample
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.release.people import SCHEMA, people

PEOPLE = people(3000)
FREE = Schema(SCHEMA.columns)


@pytest.mark.parametrize("method", ["centroid", "resample", "permute", "gaussian"])
def test_every_method_gives_a_valid_release(tmp_path, method):
    """Certified, verified, with keys in the types of the schema and the rest as it was."""
    plan = api.design(FREE, KAnonymity(k=5), data=PEOPLE, method=method)
    release = api.protect(PEOPLE, plan, to=tmp_path / "release", seed=1)
    verdict = api.verify(tmp_path / "release", original=PEOPLE)

    assert verdict.valid, verdict.to_json()
    (claim,) = release.certificate.claims
    assert claim.attained.k >= 5
    (said,) = (check.detail for check in verdict.checks if check.name == "k-anonymity")
    assert "the groups are not kept" in said
    assert sorted(release.table["income"].to_pylist()) == sorted(PEOPLE["income"].to_pylist())
    text = (tmp_path / "release" / "certificate.json").read_text()
    assert "replaced within groups" in text
    assert plan.method.meaning(5) in text


def test_handing_round_changes_no_table_of_the_keys():
    """``permute`` keeps every count, within each known region."""
    release = api.protect(PEOPLE, api.design(FREE, KAnonymity(k=4), data=PEOPLE, method="permute"))
    truth = PEOPLE.group_by("marital").aggregate([([], "count_all")])
    counts = dict(zip(truth["marital"].to_pylist(), truth["count_all"].to_pylist(), strict=True))

    for cell in release.crosstab("marital").cells:
        assert cell["estimate"] == counts[cell["marital"]]
        assert cell["se"] == 0


def test_groups_never_cross_known_columns():
    """The married of the north stay as many: keys move inside a region only."""
    release = api.protect(PEOPLE, api.design(FREE, KAnonymity(k=4), data=PEOPLE, method="permute"))
    both = ["region", "marital"]
    before, after = (
        table.group_by(both)
        .aggregate([([], "count_all")])
        .sort_by([(n, "ascending") for n in both])
        for table in (PEOPLE, release.table)
    )

    assert after["count_all"].to_pylist() == before["count_all"].to_pylist()


def test_numbers_without_bins_stay_numbers():
    """A key that is a number is grouped and released as one."""
    random = np.random.default_rng(3)
    table = pa.table({"height": random.normal(170, 10, 500), "sex": random.choice(["F", "M"], 500)})
    schema = Schema((Column("height", Role.KEY), Column("sex", Role.KEY, Categories(("F", "M")))))
    chosen = Resample(allow_unchanged=True)
    plan = api.design(schema, KAnonymity(k=5), data=table, method=chosen)
    release = api.protect(table, plan, seed=1)

    assert pa.types.is_floating(release.table["height"].type)
    assert set(release.table["height"].to_pylist()) <= set(table["height"].to_pylist())


def test_impossible_records_are_never_made():
    """Keys are those of real records; centres are not, and are refused."""
    plan = api.design(SCHEMA, KAnonymity(k=5), data=PEOPLE, method="gaussian")
    table = api.protect(PEOPLE, plan, seed=2).table
    children = table.filter(pc.equal(table["age"].cast(pa.string()), "[0, 16)"))

    assert set(children["marital"].to_pylist()) == {"single"}
    with pytest.raises(InvalidSchema, match="impossible"):
        api.design(SCHEMA, KAnonymity(k=5), data=PEOPLE, method="centroid")


@pytest.mark.parametrize("method", ["resample", "permute", "gaussian"])
@pytest.mark.parametrize("seen", [{"records": 3000, "smallest_group": 1000}, {"looked_at": True}])
def test_impossible_records_of_the_truth_are_refused_where_they_are_released(method, seen):
    """Keys are copied: a plan that did not look at them releases none that cannot exist."""
    single = PEOPLE["marital"].to_pylist()
    young = np.flatnonzero(np.asarray(PEOPLE["age"]) < 16)[:3]
    wrong = ["widowed" if at in young else own for at, own in enumerate(single)]
    table = PEOPLE.set_column(3, "marital", pa.array(wrong))
    data = {"data": table} if "looked_at" in seen else {}
    plan = api.design(SCHEMA, KAnonymity(k=5), method=method, **data, **seen)

    with pytest.raises(OutsideDomain, match="3 records hold a combination of 'age' and 'marital'"):
        api.protect(table, plan, seed=2)


@pytest.mark.parametrize("method", ["resample", "permute", "gaussian", "centroid"])
@pytest.mark.parametrize(
    "stays",
    [{"missing": "keep"}, {"missing": "category", "exempt": ("F",)}],
    ids=["keep", "exempt"],
)
def test_values_that_must_stay_are_refused_with_the_reason(method, stays):
    """New keys come from other records: nothing of the old ones would stay."""
    sex = Column("sex", Role.KEY, Categories(("F", "M")), **stays)
    schema = FREE.replace_columns([sex])

    with pytest.raises(InvalidSchema, match="Values of sex are exempt or kept missing"):
        api.design(schema, KAnonymity(k=5), records=3000, smallest_group=1000, method=method)


@pytest.mark.parametrize("method", ["resample", "permute", "gaussian", "centroid"])
def test_a_key_that_stays_a_number_refuses_missing_values_too(method):
    """Null or nan, when designed with data and when released by a plan that saw none."""
    numbers = [*map(float, range(56)), None, None, float("nan"), float("nan")]
    table = pa.table({"x": pa.array(numbers, from_pandas=False), "v": np.arange(60) % 9})
    schema = Schema((Column("x", Role.KEY, missing="refuse"), Column("v", Role.SENSITIVE)))
    plan = api.design(schema, KAnonymity(k=3), records=60, method=method)

    with pytest.raises(OutsideDomain, match="4 records of 'x' are missing"):
        api.design(schema, KAnonymity(k=3), data=table, method=method)
    with pytest.raises(OutsideDomain, match="4 records of 'x' are missing"):
        api.protect(table, plan, seed=1)
    assert api.protect(table.slice(0, 56), plan, seed=1).records == 56


@pytest.mark.parametrize("same", [(0.0, -0.0), (None, float("nan"))], ids=["zero", "missing"])
def test_groups_know_one_zero_and_one_missing(same):
    """What is released alike parts no anonymity set: a plan that was made is released."""
    known = pa.array([*[1.0] * 20, *[same[0]] * 19, same[1]], from_pandas=False)
    table = pa.table({"x": np.arange(40.0), "known": known, "v": np.arange(40) % 9})
    columns = Column("x", Role.KEY), Column("known", Role.PUBLIC), Column("v", Role.SENSITIVE)
    plan = api.design(Schema(columns), KAnonymity(k=3), data=table, method="resample")

    assert plan.anonymity_set == 20
    assert api.protect(table, plan, seed=1).certificate.anonymity_set == 20


def test_sensitive_values_can_be_made_diverse():
    """At least two distinct diagnoses in every group."""
    random = np.random.default_rng(5)
    table = pa.table(
        {
            "age": random.integers(20, 70, 400),
            "ill": random.choice(["a", "b", "c"], 400, p=[0.8, 0.15, 0.05]),
        }
    )
    schema = Schema((Column("age", Role.KEY), Column("ill", Role.SENSITIVE)))
    plan = api.design(schema, KAnonymity(k=3), data=table, method=Resample(distinct=2))

    assert api.protect(table, plan, seed=1).certificate.options["distinct"] == 2


def test_what_cannot_be_promised_or_said_is_refused():
    """More than the smallest region, another guarantee beside, tables of centres."""
    with pytest.raises(Infeasible, match="cannot be met"):
        api.design(FREE, KAnonymity(k=2500), data=PEOPLE)
    with pytest.raises(Infeasible, match="k-anonymity alone"):
        api.design(FREE, KAnonymity(k=5), PkAnonymity(k=5), data=PEOPLE, method="resample")
    centres = api.protect(
        PEOPLE, api.design(FREE, KAnonymity(k=5), data=PEOPLE, method="centroid"), seed=1
    )
    with pytest.raises(NotCovered, match="keeps no distribution"):
        centres.crosstab("age")


def test_keys_drawn_one_after_the_other_have_no_error_together():
    """Each key keeps its distribution; how two go together is kept for some pairs only."""
    plan = api.design(FREE, KAnonymity(k=5), data=PEOPLE, method=Resample(draw="sequential"))
    release = api.protect(PEOPLE, plan, seed=1)

    assert all(np.isfinite(cell["se"]) for cell in release.crosstab("marital").cells)
    assert not any(np.isfinite(cell["se"]) for cell in release.crosstab("marital", "sex").cells)
    with pytest.raises(NotCovered, match="one after the other"):
        release.independence("marital", "sex")


@pytest.mark.deep
def test_cells_of_few_people_hold_and_claim_no_certainty():
    """200 releases of 60 people. What one of them has is drawn by nobody in a third of them: such
    cells were told to be empty, with standard error 0, and held in 0.65. By docs/proofs/intervals
    all cells hold in 0.93, less what 200 releases can be off, however few people they have."""
    random = np.random.default_rng(8)
    b, c = random.choice(6, 60, p=[0.4, 0.3, 0.15, 0.1, 0.03, 0.02]), random.integers(0, 4, 60)
    table = pa.table({"b": b, "c": c, "v": np.arange(60)})
    schema = Schema(
        (
            Column("b", Role.KEY, Categories(tuple(range(6)))),
            Column("c", Role.KEY, Categories(tuple(range(4)))),
            Column("v", Role.SENSITIVE),
        )
    )
    plan = api.design(schema, KAnonymity(k=5), data=table, method="resample")
    truth = np.zeros((6, 4))
    np.add.at(truth, (b, c), 1)
    one = (truth > 0) & (truth < 3)
    held, held_shares = np.zeros(truth.shape), np.zeros(truth.shape)
    for seed in range(200):
        release = api.protect(table, plan, seed=seed, accept_risk=["v"])
        counts, shares = release.crosstab("b", "c"), release.crosstab("b", "c", share="row")
        held += (counts.low <= truth) & (truth <= counts.high)
        within = truth / truth.sum(axis=1, keepdims=True)
        held_shares += (shares.low <= within) & (within <= shares.high)
        assert (counts.se > 0).all()

    assert one.any()
    assert held.min() / 200 > 0.93 - 3 * np.sqrt(0.05 * 0.95 / 200)
    assert held_shares.min() / 200 > 0.93 - 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_mean_of_few_released_records_is_not_certain():
    """One released record tells no mean of its group, and none at all no total."""
    table = pa.table({"x": [1] * 27 + [2, 3, 2], "v": np.arange(30), "g": [0] * 28 + [1] * 2})
    schema = Schema(
        (
            Column("x", Role.KEY),
            Column("g", Role.KEY, Categories((0, 1, 2))),
            Column("v", Role.SENSITIVE),
        )
    )
    plan = api.design(schema, KAnonymity(k=3), data=table, method="resample")
    release = api.protect(table, plan, seed=1)

    mean, total = release.mean("x", by=["g"]), release.total("x", by=["g"])
    few = np.array([cell["estimate"] < 9 for cell in release.crosstab("g").cells])
    assert few[1:].all()
    assert not np.isfinite(mean.high[few]).any()
    assert np.isnan(mean.se[few]).all()
    seen = np.array([cell["estimate"] > 0 for cell in release.crosstab("g").cells])
    tied = release.mean("v", by=["g"])  # biased by an unknown amount, and the number stands
    assert np.isfinite(mean.estimate[seen]).all()
    assert np.isfinite(tied.estimate[seen]).all()
    assert np.isnan(tied.high).all()
    assert np.isnan(total.se[2])
    assert not np.isfinite(total.high[2])
