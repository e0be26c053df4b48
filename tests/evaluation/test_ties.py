"""What ties keys to other columns: kept, cut, and counted where methods are compared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana import api
from pramana.evaluation.utility import assess_utility
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"income"}

SCHEMA = Schema(
    (
        Column("age", Role.KEY, Bins(tuple(float(edge) for edge in range(0, 101, 10)))),
        Column("job", Role.KEY, Categories(tuple("abcd"))),
        Column("income", Role.SENSITIVE),
        Column("ill", Role.SENSITIVE),
    )
)


def people(records=2000):
    """Income rises with age, illness goes with the job."""
    rng = np.random.default_rng(1)
    age, job = rng.uniform(0, 100, records), rng.integers(0, 4, records)
    return pa.table(
        {
            "age": age,
            "job": np.array(list("abcd"))[job],
            "income": 1000 * age + rng.normal(0, 3000, records),
            "ill": np.where(rng.random(records) < 0.1 + 0.2 * job, "yes", "no"),
        }
    )


def test_nothing_changed_loses_no_tie():
    """The limit case: retention 1."""
    truth = people()
    plan = api.design(SCHEMA, PkAnonymity(k=1), data=truth, method="retention")
    found = assess_utility(api.protect(truth, plan, seed=1), open_table(truth)).ties

    assert [(tie.key, tie.column, tie.kind) for tie in found] == [
        ("age", "income", "mean"), ("job", "income", "mean"),
        ("age", "ill", "table"), ("job", "ill", "table"),
    ]  # fmt: skip
    assert all(tie.loss == pytest.approx(0, abs=1e-9) for tie in found)
    assert all(tie.estimated for tie in found)


def test_a_method_that_keeps_all_tables_of_keys_is_not_free():
    """Handing keys round inside large groups keeps their tables and cuts what hangs on them."""
    truth = people()
    plan = api.design(SCHEMA, KAnonymity(k=200), data=truth, method="permute")
    found = assess_utility(api.protect(truth, plan, seed=1), open_table(truth))

    assert found.losses["tables of two keys"] == pytest.approx(0, abs=1e-9)
    assert found.losses["means by key"] > 0.02
    assert found.losses["keys with other columns"] > 0.01
    assert found.loss > 0.01


def test_a_group_that_nobody_was_asked_of_lacks_its_records():
    """Of a kept value that one person has chance asks hardly any key: all is told, and no nan."""
    rng = np.random.default_rng(2)
    keys = [f"q{at}" for at in range(5)]
    truth = pa.table({name: rng.choice(list("abcd"), 400) for name in keys} | {
        "ill": np.where(np.arange(400) == 7, "rarely", "no")})  # fmt: skip
    columns = [Column(name, Role.KEY, Categories(tuple("abcd"))) for name in keys]
    schema = Schema((*columns, Column("ill", Role.SENSITIVE)))
    plan = api.design(schema, PkAnonymity(k=20), data=truth, method="attribute-sampling")
    found = assess_utility(api.protect(truth, plan, seed=1), open_table(truth))

    assert len(found.ties) == len(keys)
    assert all(tie.kind == "table" and tie.estimated for tie in found.ties)
    assert all(1 / 400 <= tie.loss <= 1 for tie in found.ties)
    assert not any("nan" in sentence for sentence in found.sentences())


@pytest.mark.parametrize("release", ["label", "centre", "draw"])
def test_ties_to_a_sensitive_column_in_bins_are_counted(release):
    """Nothing changed loses none of their tables; keys handed round lose some."""
    truth = people()
    edges = (-20_000.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0, 130_000.0)
    columns = [
        Column(own.name, own.role, Bins(edges, release)) if own.name == "income" else own
        for own in SCHEMA.columns
    ]
    schema = Schema(tuple(columns))

    def lost(target, method):
        plan = api.design(schema, target, data=truth, method=method)
        found = assess_utility(api.protect(truth, plan, seed=1), open_table(truth)).ties
        return {(tie.key, tie.column): tie for tie in found}

    kept, cut = lost(PkAnonymity(k=1), "retention"), lost(KAnonymity(k=200), "permute")
    pairs = {(key, of) for key in ("age", "job") for of in ("income", "ill")}
    assert set(kept) == set(cut) == pairs
    at = ("age", "income")
    assert kept[at].kind == ("table" if release == "label" else "mean")
    if release == "label":  # else the bins themselves move means
        assert kept[at].loss == pytest.approx(0, abs=1e-9)
        assert cut[at].loss > 0.02


@pytest.mark.deep
def test_a_comparison_counts_ties_and_copies():
    """Links are the risk that k bounds, copies are stated; loss has a figure for each kind."""
    found = api.compare(people(600), SCHEMA, methods=["permute", "retention"], k=[5, 60])
    copied, permuted = found.outcomes[:2]

    # Groups of five inside the cells of ages and jobs: nothing moves, and five people are alike.
    assert copied.loss == pytest.approx(0, abs=1e-9)
    assert copied.unchanged.unique_share == 1
    assert copied.exposure == copied.risk.value <= 1 / 5

    assert 0 < permuted.unchanged.unique_share < 1
    assert set(permuted.losses) == {
        "tables of one key", "tables of two keys", "keys with other columns", "means by key",
    }  # fmt: skip
    assert permuted.loss > 1e-3
    assert "on logarithmic scales" in " ".join(found.sentences())
    assert "e-1" not in " ".join(" ".join(row) for row in found.rows()[1])


def test_an_audit_looks_at_values_as_they_would_be_released():
    """Ages in ten bins and four jobs: at most forty combinations, though no age occurs twice."""
    truth = people()

    plain = api.audit(truth, keys=["age", "job"])
    binned = api.audit(truth, schema=SCHEMA)

    assert plain.uniques == 2000
    assert binned.combinations <= 40
    assert binned.uniques == 0
    release = api.protect(
        truth, api.design(SCHEMA, PkAnonymity(k=1), data=truth, method="retention"), seed=1
    )
    assert api.audit(release, keys=["age", "job"]).combinations == binned.combinations


def test_an_audit_of_a_release_says_what_stands_in_it():
    """How many records, how many of the unique ones, beside what 1 in k suggests."""
    truth = people(300)
    plan = api.design(SCHEMA, KAnonymity(k=5), data=truth, method="permute")
    found = api.audit(api.protect(truth, plan, seed=1), original=truth)

    assert found.unchanged.records == 300
    assert found.suggested == pytest.approx(1 / plan.attained[0].k, rel=0.5)
    assert "an equal released record" in " ".join(found.sentences())
    assert found.to_json()["unchanged_records"]["uniques"] == found.unchanged.uniques
