"""Truth and estimate side by side are the same quantity, weights or not; and words of audits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.evaluation.utility import assess_utility
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"pay", "w"}

PLAIN = Schema(
    (
        Column("sex", Role.KEY, Categories(("F", "M"))),
        Column("job", Role.KEY, Categories(tuple("abc"))),
        Column("pay", Role.SENSITIVE),
    )
)
WEIGHTED = Schema((*PLAIN.columns, Column("w", Role.WEIGHT)))


def people(records: int = 1_500) -> pa.Table:
    """Men weigh nine times as much as women: weighted shares are far from unweighted ones."""
    random = np.random.default_rng(1)
    man, job = random.random(records) < 0.5, random.integers(0, 3, records)
    return pa.table(
        {
            "sex": np.where(man, "M", "F"),
            "job": np.array(list("abc"))[job],
            "pay": (100 + 20 * job + random.normal(0, 5, records)).round(),
            "w": np.where(man, 9.0, 1.0),
        }
    )


@pytest.mark.parametrize(
    ("target", "method"), [(PkAnonymity(k=1), "retention"), (KAnonymity(k=3), "permute")]
)
def test_a_weight_is_no_loss(target, method):
    """Nothing is moved, or keys alone are handed round: their tables lose nothing."""
    truth = people()
    plan = api.design(WEIGHTED, target, data=truth, method=method)
    found = assess_utility(api.protect(truth, plan, seed=1), open_table(truth))

    assert found.losses["tables of one key"] == pytest.approx(0, abs=1e-9)
    assert found.losses["tables of two keys"] == pytest.approx(0, abs=1e-9)


def test_a_weight_changes_no_recommendation():
    """The same people with the column as weight and without it: the same losses."""
    truth = people()
    found = [
        api.compare(own, schema, methods=["retention", "resample"], k=[5])
        for own, schema in ((truth, WEIGHTED), (truth.drop_columns(["w"]), PLAIN))
    ]
    with_weight, without = ([round(own.loss, 3) for own in one.outcomes] for one in found)
    assert with_weight == pytest.approx(without, abs=0.02)


def test_every_answer_says_what_was_weighted():
    """In the object, in print, in JSON; and without the weight it is another number."""
    truth = people()
    plan = api.design(WEIGHTED, PkAnonymity(k=2), data=truth, method="retention")
    release = api.protect(truth, plan, seed=1)
    for ask in (
        lambda **how: release.crosstab("sex", share=True, **how),
        lambda **how: release.mean("pay", by=["sex"], **how),
        lambda **how: release.total("pay", by=["sex"], **how),
        lambda **how: release.proportion("pay>=120", by=["sex"], **how),
        lambda **how: release.quantile("pay", 0.5, by=["sex"], **how),
        lambda **how: release.regress("pay ~ sex", **how),
    ):
        found, plain = ask(), ask(weighted=False)
        assert found.weight == found.to_json()["weight"] == "w"
        assert "Weighted by w" in repr(found)
        assert plain.weight is None
        assert "eighted by" not in repr(plain)
    weighed, counted = (
        release.crosstab("sex", share=True, weighted=own).cell("M")["estimate"]
        for own in (True, False)
    )
    assert weighed > 0.8 > 0.6 > counted


def test_a_table_needs_no_argument_to_become_a_frame():
    """Of the kind that was released: pandas in, pandas out; one row a cell."""
    pandas = pytest.importorskip("pandas")
    truth = people().drop_columns(["w"]).to_pandas()
    plan = api.design(PLAIN, PkAnonymity(k=2), data=truth, method="retention")
    release = api.protect(truth, plan, seed=1)

    assert isinstance(release.crosstab("sex", "job").to_frame(), pandas.DataFrame)
    assert len(release.crosstab("sex", "job").to_frame()) == 6
    assert isinstance(release.regress("pay ~ sex").to_frame(), pandas.DataFrame)


def test_body_weight_weighs_nobody():
    """A column named after kilograms is no weight of the survey."""
    table = people().append_column("body_weight_kg", pa.array(np.linspace(50, 110, 1_500).round(1)))
    found = api.describe(table.drop_columns(["w"]))

    assert found.column("body_weight_kg").role is not Role.WEIGHT


def test_audits_say_each_thing_once_and_on_a_stated_scale():
    """Unique is not said again as fewer than two alike, and nothing is a multiple of chance."""
    truth = people().drop_columns(["w"])
    plan = api.design(PLAIN, PkAnonymity(k=2), data=truth, method="retention")
    release = api.protect(truth, plan, seed=1)
    table = " ".join(api.audit(truth, schema=PLAIN).sentences())
    both = " ".join(api.audit(release, original=truth).sentences())
    compared = " ".join(api.compare(truth, PLAIN, methods=["retention"], k=[2, 5]).sentences())

    assert "fewer than 2" not in table
    assert "times as well as chance" not in table + both + compared
    assert "on logarithmic scales" in compared
