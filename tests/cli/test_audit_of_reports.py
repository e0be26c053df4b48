"""Audits of reports: a cell that was not asked is no value, and the column of sets no attribute."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import pramana as pm
from pramana.risk.coded_table import ReportedSets
from pramana.risk.table_audit import audit_table
from pramana.schema.opened_table import OpenedTable

RECORDS = 400
TOLD = pa.table(
    {
        "sex": ["f", "f", None, None, None, "m", "f"],
        "age": [10, 10, 10, 30, 30, None, None],
        "ill": ["y", "n", None, None, None, "y", "y"],
        "asked": ["sex*age*ill"] * 2 + ["age"] * 3 + ["sex*ill"] * 2,
    }
)
SETS = (frozenset({"sex", "age", "ill"}), frozenset({"age"}), frozenset({"sex", "ill"}))


def audited(**more: object) -> object:
    """The audit of seven reports of three sets."""
    asked = ReportedSets(np.array([0, 0, 1, 1, 1, 2, 2]), SETS)
    keys = ["sex", "age"]
    return audit_table(OpenedTable.of_arrow(TOLD), keys=keys, k=3, asked=asked, **more)


def test_records_are_alike_within_their_set_by_hand():
    """Two whole ones, 10 alone among ages, 30 twice, and one each of m and f."""
    found = audited()
    assert (found.uniques, found.combinations, found.by_set) == (3, 5, True)
    assert found.violations == 7
    assert "their reported columns of sex, age, among the records" in found.sentences()[0]


def test_few_keys_count_in_the_records_asked_for_all_of_them():
    """Sex is told by four records, age by five, both by two."""
    found = {subset.keys: subset for subset in audited().subsets}
    assert (found["sex",].uniques, found["sex",].smallest) == (1, 1)
    assert (found["age",].uniques, found["age",].smallest) == (0, 2)
    assert (found["sex", "age"].uniques, found["sex", "age"].smallest) == (0, 2)


def test_a_missing_answer_is_a_value_or_any_but_not_asked_is_neither():
    """Under wildcard a missing age of the set of all is alike to 10; other sets stay apart."""
    table = TOLD.set_column(1, "age", pa.array([None, 10, 10, 30, 30, None, None], pa.int64()))
    asked = ReportedSets(np.array([0, 0, 1, 1, 1, 2, 2]), SETS)
    uniques = [
        audit_table(
            OpenedTable.of_arrow(table), keys=["sex", "age"], asked=asked, missing=missing
        ).uniques
        for missing in ("category", "wildcard")
    ]
    assert uniques == [5, 3]


def test_what_groups_tell_is_counted_in_those_who_were_asked_for_it():
    """Of 'ill' the whole ones have two values, m and f one each; who was not asked has none."""
    (own,) = audited(sensitive=["ill"]).diversity
    assert (own.distinct, own.exposed) == (1, 2)


def people() -> pa.Table:
    """People of a few keys, one of them a number."""
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], RECORDS),
            "area": rng.choice(["n", "s", "e"], RECORDS),
            "pay": rng.integers(0, 100, RECORDS),
            "ill": rng.choice(["no", "yes"], RECORDS),
            "weight": rng.choice([1.0, 2.0], RECORDS),
        }
    )


def schema(*, binned: bool) -> pm.Schema:
    """Keys in bins, or categories alone."""
    pay = pm.Column("pay", pm.Role.KEY, pm.Bins((0, 30, 60, 100)), missing="refuse")
    return pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m")), missing="refuse"),
            pm.Column("area", pm.Role.KEY, pm.Categories(("n", "s", "e")), missing="refuse"),
            pay if binned else pm.Column("pay", pm.Role.IDENTIFIER),
            pm.Column("ill", pm.Role.SENSITIVE),
            pm.Column("weight", pm.Role.WEIGHT),
        ),
        tables=(("sex",), ("area",), *((("pay",),) if binned else ())),
    )


@pytest.mark.parametrize("binned", [True, False], ids=["bins", "categories"])
def test_releases_by_reports_are_audited_by_set(binned, tmp_path, run):
    """With and without the original, from Python and from the command line alike."""
    truth = people()
    plan = pm.design(
        schema(binned=binned), pm.PkAnonymity(k=20), data=truth, method="attribute-sampling"
    )
    pm.protect(truth, plan, seed=1).save(tmp_path / "release")
    pa.csv.write_csv(truth, tmp_path / "people.csv")
    release = pm.load(tmp_path / "release")

    alone, beside = pm.audit(release), pm.audit(release, original=truth)
    assert [own.column for own in alone.diversity] == ["ill"]
    assert alone.by_set
    assert alone.population is None
    assert "whole records" in alone.sentences()[-1]
    assert beside.after.by_set
    assert not beside.before.by_set
    assert (beside.after.uniques, beside.after.k) == (alone.uniques, alone.k)
    assert alone.k > 20  # one key a record: a cell of hundreds

    shown = " ".join(run(f"audit {tmp_path}/release").out.split())
    assert "their reported columns of sex, area" in shown
    assert "'reported'" not in shown
    shown = " ".join(run(f"audit {tmp_path}/release --original {tmp_path}/people.csv").out.split())
    assert "among the records with the same attribute set" in shown
    with pytest.raises(pm.PramanaError, match="no attribute of a person"):
        pm.audit(release, sensitive=["reported"])
