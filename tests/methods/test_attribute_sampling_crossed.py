"""Reports beside all that a schema can say: impossible cells, strata, missing values, bins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.schema.schema_file import read_schema

N = 6_000
SCHEMA = """strata = ["region"]
impossible = [{age = ["child"], married = ["yes"]}]

[columns.age]
role = "key"
categories = ["child", "adult", "old"]

[columns.married]
role = "key"
categories = ["no", "yes"]

[columns.school]
role = "key"
categories = [1, 2, 3]
missing = "category"

[columns.weight]
role = "key"
bins = [0, 10, 20, 40]
release = "label"

[columns.region]
role = "public"
categories = ["n", "s"]

[columns.cost]
role = "sensitive"
"""


@pytest.fixture(scope="module")
def people():
    """Children are never married; a fifth did not say which school; costs rise with age."""
    rng = np.random.default_rng(5)
    age = rng.integers(0, 3, N)
    school = [None if rng.random() < 0.2 else int(value) for value in rng.integers(1, 4, N)]
    return pa.table({
        "age": np.array(["child", "adult", "old"])[age],
        "married": np.where((age > 0) & (rng.random(N) < 0.5), "yes", "no"),
        "school": school, "weight": rng.uniform(0, 40, N),
        "region": np.where(rng.random(N) < 0.6, "n", "s"),
        "cost": np.round(100.0 * age + rng.normal(0, 30, N), 2),
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    """A release with tables that name tied columns, missing values and one that stands beside."""
    place = tmp_path_factory.mktemp("crossed") / "release"
    tables = (("age", "married"), ("school", "weight"), ("age", "cost"))
    method = pm.AttributeSampling(tables=tables)
    plan = pm.design(read_schema(SCHEMA), pm.PkAnonymity(k=20), data=people, method=method)
    pm.protect(people, plan, to=place, seed=3)
    return place


def test_everything_that_can_be_checked_holds(folder):
    """Domains, anonymity set, strata, impossible cells, sets; the owner's checks are elsewhere."""
    assert pm.verify(folder).valid


def test_tables_are_near_the_truth(folder, people):
    """Counts of tied columns and of missing values, within five standard errors; an impossible
    cell is never reported."""
    release = pm.load(folder)
    for names in (("age", "married"), ("school", "weight")):
        found = release.crosstab(*names)
        frame = people.to_pandas()
        if "weight" in names:
            labels = release.certificate.schema.column("weight").labels
            frame["weight"] = [labels[at] for at in np.digitize(frame["weight"], [10, 20])]
        for place in np.ndindex(found.estimate.shape):
            inside = np.ones(N, dtype=bool)
            for name, at in zip(names, place, strict=True):
                label = found.labels[names.index(name)][at]
                own = frame[name]
                inside &= (own.isna() if label is None else own == label).to_numpy()
            assert abs(found.estimate[place] - inside.sum()) <= 5 * found.se[place] + 1e-9
    told = release.table.to_pandas()
    assert not ((told["age"] == "child") & (told["married"] == "yes")).any()


def test_rebuilt_records_keep_all_of_it(folder, people):
    """No impossible cell, missing schools as many as there were, strata and costs where they were,
    and costs that rise with age."""
    release = pm.load(folder)
    made = release.synthesize(seed=1).to_pandas()

    assert not ((made["age"] == "child") & (made["married"] == "yes")).any()
    assert abs(made["school"].isna().mean() - 0.2) < 0.08
    assert (made[["region", "cost"]].to_numpy() == release.table.to_pandas()[
        ["region", "cost"]].to_numpy()).all()  # fmt: skip
    costs = made.groupby("age").cost.mean()
    assert costs["child"] + 50 < costs["adult"] < costs["old"] - 50


def test_means_by_strata_and_reported_columns(folder, people):
    """The stratum stands beside every report, so that a mean by both is asked of the age alone."""
    found = pm.load(folder).mean("cost", by=["region", "age"])
    truth = people.to_pandas().groupby(["region", "age"]).cost.mean()
    for place in np.ndindex(found.estimate.shape):
        region, age = (labels[at] for labels, at in zip(found.labels, place, strict=True))
        assert abs(found.estimate[place] - truth[region, age]) <= 5 * found.se[place]
