"""Every verb that reads a release, for numbers on a grid; an attacker who knows exact numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.errors import NotCovered

RECORDS = 1_500


def people() -> pa.Table:
    """Incomes in tens, larger for men; nearly everybody has another one."""
    random = np.random.default_rng(3)
    sex = random.choice(["F", "M"], RECORDS)
    income = random.lognormal(10, 0.6, RECORDS) * np.where(sex == "F", 0.8, 1.3)
    return pa.table({
        "sex": sex,
        "town": random.choice(["n", "s", "w"], RECORDS),
        "income": np.minimum(np.round(income, -1), 100_000),
    })  # fmt: skip


TABLE = people()
COLUMNS = (
    pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse"),
    pm.Column("town", pm.Role.KEY, pm.Categories(("n", "s", "w")), missing="refuse"),
    pm.Column("income", pm.Role.SENSITIVE, pm.NumberGrid.even(0, 100_000, 5, step=10),
              missing="refuse"),
)  # fmt: skip
SCHEMA = pm.Schema(COLUMNS)
METHODS = ("retention", "attribute-sampling")


@pytest.fixture(scope="module", params=METHODS)
def folder(request, tmp_path_factory) -> Path:
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=5), records=RECORDS, method=request.param)
    place = tmp_path_factory.mktemp(request.param) / "release"
    pm.protect(TABLE, plan).save(place)
    return place


def test_a_release_is_verified_and_its_codebook_names_the_points(folder):
    assert pm.verify(folder).valid
    with (folder / "codebook.csv").open() as file:
        points = [row["value"] for row in csv.DictReader(file) if row["column"] == "income"]
    assert [point for point in points if point] == ["0", "25000", "50000", "75000", "100000"]


def test_exact_numbers_find_nobody(folder):
    """Released numbers are points; linkers who know all numbers stay below 1 in k."""
    released = set(pm.load(folder).opened.to_arrow().column("income").drop_null().to_pylist())
    assert released <= {0, 25_000, 50_000, 75_000, 100_000}
    for attack in ("linkage", "recovery", "repeated"):
        assert pm.attack(attack, folder, knowledge=TABLE).holds
    assert pm.audit(folder, original=TABLE).holds


def test_reports_and_audits_are_made(folder):
    assert "income" in str(pm.audit(folder))
    assert "income" in pm.report(folder, original=TABLE).html


@pytest.mark.parametrize("target", ["sex", "income"])
def test_a_model_is_learned_with_the_number_as_feature_and_as_target(folder, target):
    fitted = pm.learn(folder, target, seed=1)
    assert len(fitted.predict(TABLE)) == RECORDS


def test_given_matrices_and_joint_cells_take_numbers():
    """The mean is that of the original data, within five standard errors."""
    truth = float(np.mean(TABLE.column("income").to_numpy()))
    given = {c.name: pm.UniformMixture.of(c.labels, retention=0.7) for c in COLUMNS}
    joint = pm.Retention(retention=0.7, joint=(("sex", "income"),))
    for method in (pm.GivenMatrices(matrices=given), joint):
        plan = pm.design(SCHEMA, data=TABLE, method=method)
        mean = pm.protect(TABLE, plan, seed=2).mean("income")
        assert abs(mean.estimate - truth) < 5 * mean.se


def test_describe_proposes_a_grid_where_a_range_is_declared():
    schema = pm.describe(TABLE, ranges={"income": (0, 100_000)})
    assert [column.name for column in schema.columns if column.gridded] == ["income"]


def test_counts_of_tables_have_no_record_to_audit():
    plan = pm.design(SCHEMA, pm.ShuffledPrivacy(epsilon=1, delta=1e-6), records=RECORDS,
                     method="shuffled-marginals")  # fmt: skip
    with pytest.raises(NotCovered, match="no record"):
        pm.audit(pm.protect(TABLE, plan))
