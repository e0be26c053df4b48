"""Tests of an analyst's verbs on a release: from records to estimates."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pramana import api
from pramana.engine.base import Condition, SumsAsked
from pramana.errors import InputError, InvalidNumber, InvalidTable, NotCovered, UnknownColumn
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.given import GivenMatrices
from pramana.methods.retention import Retention
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema
from tests.release.people import people, plan

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"rooms"}

N = 40_000
TRUTH = people(N)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release of 40,000 people in a folder."""
    folder = tmp_path_factory.mktemp("published") / "release"
    return api.protect(TRUTH, plan(records=N), to=folder, seed=3)


def close(cell, truth, widths=4.5):
    """Within so many standard errors (two-sided level below 1e-5 a comparison)."""
    return abs(cell["estimate"] - truth) <= widths * max(cell["se"], 1e-9)


def test_one_way_counts_are_near_the_truth(release):
    """Also of missing values, which are one more value of their column."""
    estimate = release.crosstab("sex", method="unbiased")

    for value in ("F", "M"):
        assert close(estimate.cell(value), pc.sum(pc.equal(TRUTH["sex"], value)).as_py())
    assert close(estimate.cell(None), TRUTH["sex"].null_count)
    assert sum(cell["estimate"] for cell in estimate.cells) == pytest.approx(N)


def test_impossible_cells_are_exactly_zero(release):
    """The joint step has no such cell."""
    cell = release.crosstab("age", "marital").cell("[0, 16)", "married")

    assert (cell["estimate"], cell["se"]) == (0, 0)


def test_columns_released_as_they_are_can_be_crossed_and_filtered(release):
    """By value, by comparison with a number, and in both spellings."""
    north = TRUTH.filter(pc.equal(TRUTH["region"], "north"))
    women = pc.sum(pc.equal(north["sex"], "F")).as_py()
    rich = TRUTH.filter(pc.greater_equal(TRUTH["income"], 50_000))

    assert close(release.crosstab("region", "sex", method="unbiased").cell("north", "F"), women)
    assert close(
        release.crosstab("sex", where={"region": "north"}, method="unbiased").cell("F"), women
    )
    assert close(
        release.crosstab("sex", where=["region!=south"], method="unbiased").cell("F"), women
    )
    found = release.crosstab("sex", where=["income>=50000"], method="unbiased")
    assert close(found.cell("F"), pc.sum(pc.equal(rich["sex"], "F")).as_py())


def test_filters_on_randomised_columns_speak_of_the_truth(release):
    """Not of what was released: the filter is undone like everything else."""
    women = TRUTH.filter(pc.equal(TRUTH["sex"], "F"))
    young = pc.sum(pc.less(women["age"], 16)).as_py()
    found = release.crosstab("age", where={"sex": "F"}, method="unbiased").cell("[0, 16)")
    several = release.crosstab("age", where=["sex=F|M"], method="unbiased").cell("[0, 16)")

    assert close(found, young)
    assert several["estimate"] > found["estimate"]


def test_means_and_totals_of_columns_released_as_they_are(release):
    """By groups of the true table, with errors; and over all, exactly."""
    truth = TRUTH.group_by("sex").aggregate([("income", "mean"), ("income", "sum")])
    means = dict(zip(truth["sex"].to_pylist(), truth["income_mean"].to_pylist(), strict=True))
    totals = dict(zip(truth["sex"].to_pylist(), truth["income_sum"].to_pylist(), strict=True))

    for value in ("F", "M"):
        assert close(release.mean("income", by=["sex"]).cell(value), means[value])
        assert close(release.total("income", by=["sex"]).cell(value), totals[value])
    (whole,) = release.total("income").cells
    assert whole["estimate"] == pytest.approx(pc.sum(TRUTH["income"]).as_py())


def test_weights_weigh_everything():
    """With a column of weights the counts are those of the weighted table."""
    random = np.random.default_rng(4)
    truth = pa.table(
        {"x": random.choice(["a", "b"], 20_000), "w": random.choice([1.0, 3.0], 20_000)}
    )
    schema = Schema((Column("x", Role.KEY, Categories(("a", "b"))), Column("w", Role.WEIGHT)))
    release = api.protect(
        truth, api.design(schema, data=truth, method=Retention(retention=0.5)), seed=1
    )
    weighted = pc.sum(truth.filter(pc.equal(truth["x"], "a"))["w"]).as_py()

    assert close(release.crosstab("x", method="unbiased").cell("a"), weighted)


def test_an_in_memory_release_gives_what_its_folder_gives(release, tmp_path):
    """Whatever the format of the folder."""
    expected = release.crosstab("sex", "region").to_json()
    for file_format in ("csv", "feather"):
        release.save(tmp_path / file_format, file_format=file_format)
        assert api.load(tmp_path / file_format).crosstab("sex", "region").to_json() == expected
    assert (
        api.protect(TRUTH, plan(records=N), seed=3).crosstab("sex", "region").to_json() == expected
    )


def test_labels_are_the_same_whatever_the_format(tmp_path):
    """Whole numbers in a column of decimals: 1 from CSV and from Parquet."""
    table = pa.table({"sex": ["F", "M"] * 50, "rooms": [1.0, 2.0, None, 2.0] * 25})
    schema = Schema(
        (Column("sex", Role.KEY, Categories(("F", "M"))), Column("rooms", Role.SENSITIVE))
    )
    release = api.protect(
        table, api.design(schema, data=table, method=Retention(retention=0.5)), seed=1
    )

    texts = []
    for kind in ("csv", "parquet"):
        saved = release.save(tmp_path / kind, file_format=kind)
        found = saved.crosstab("rooms").to_arrow().column("rooms")
        texts.append([str(value) for value in found])

    assert texts == [["1", "2", "None"]] * 2


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        (lambda r: r.crosstab("name"), UnknownColumn, "dropped or never there"),
        (lambda r: r.mean("region"), InvalidNumber, "column of numbers"),
        (lambda r: r.mean("age"), InvalidNumber, "is randomised and holds no numbers"),
        (lambda r: r.crosstab("sex", where={"region": "west"}), InvalidTable, "meets the filter"),
        (
            lambda r: r.crosstab("sex", where=["age<30"]),
            NotCovered,
            "with one of 0, 16, 40, 60, 80",
        ),
        (lambda r: r.crosstab("sex", where=["age=old"]), InvalidNumber, "none of its labels"),
        (lambda r: r.crosstab("sex", where=["nonsense"]), InvalidNumber, "must read like"),
        (lambda r: r.crosstab("sex", where=["region<3"]), InvalidNumber, "not a number"),
        (lambda r: r.crosstab("sex", where=["income=much"]), InvalidNumber, "holds numbers"),
        (lambda r: r.crosstab("sex", level=2), InputError, "level"),
    ],
)
def test_questions_without_an_answer_are_refused(release, question, error, message):
    """One line each, of the right kind."""
    with pytest.raises(error, match=message):
        question(release)


def test_only_a_saved_release_can_be_verified(release):
    """The folder is what is checked."""
    assert release.verify().valid
    with pytest.raises(InvalidTable, match="save it"):
        api.protect(TRUTH, plan(records=N), seed=3).verify()


def test_sums_of_records_in_memory_are_made_once(tmp_path):
    """And no question is taken for another that merely compares equal."""
    codes = ["1", "true", "true"] * 100
    schema = Schema((Column("code", Role.PUBLIC), Column("sex", Role.KEY, Categories(("F", "M")))))
    table = pa.table({"code": codes, "sex": ["F", "M"] * 150})
    made = api.design(schema, data=table, method=Retention(retention=0.9))
    held = api.protect(table, made, seed=1)
    asked = [SumsAsked(("sex",), where=(Condition("code", "=", (one,)),)) for one in (1, True)]
    found = [held.reading.records.summed(own) for own in asked]

    assert asked[0] == asked[1]
    assert [sum(own.column(1).to_pylist()) for own in found] == [100, 200]
    assert held.crosstab("sex", where={"code": "1"}).records == 100
    again = [held.reading.records.summed(own) for own in asked]
    assert all(one is other for one, other in zip(found, again, strict=True))
    stored = api.load(held.save(tmp_path / "release").folder).reading.records
    assert stored.summed(asked[0]) is not stored.summed(asked[0])


def test_every_share_is_possible_of_a_group_that_may_be_empty():
    """Nobody has 'rare' by the estimate, but some may: no share can be told and each is possible,
    where the row had no interval. Of a kept value that nobody has there is no share at all."""
    keys = [Column("a", Role.KEY, Categories(("rare", "usual")), missing="refuse"),
            Column("b", Role.KEY, Categories(("no", "yes")), missing="refuse")]  # fmt: skip
    matrices = {column.name: UniformMixture.of(column.labels, retention=0.5) for column in keys}
    table = pa.table({"a": ["usual"] * 90 + ["rare"] * 10, "b": ["no", "yes"] * 50})
    made = api.design(Schema(tuple(keys)), data=table, method=GivenMatrices(matrices))
    found = [
        api.protect(table, made, seed=seed).crosstab("a", "b", share="row", method="unbiased")
        for seed in range(40)
    ]
    empty = [one for one in found if np.isnan(one.estimate[0]).all()]

    assert empty, "of 40 releases some have an estimate of 0 or below"
    for one in empty:
        assert one.low[0].tolist() == [0, 0]
        assert one.high[0].tolist() == [1, 1]
        assert np.isfinite(one.estimate[1]).all()


def test_a_release_is_verified_by_its_folder(release):
    """As it was loaded, as if the folder had been named; one in memory has none."""
    assert api.verify(release) == api.verify(release.folder)
    with pytest.raises(InputError, match="in memory"):
        api.verify(api.protect(TRUTH, plan(records=N), seed=3))
