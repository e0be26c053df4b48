"""What was promised about which table, and what all releases promise together."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.engines.choose import open_source
from pramana.ledger.prints import column_prints

SEX = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
AGE = pm.Column("age", pm.Role.KEY, pm.Categories((1, 2, 3)), missing="refuse")
TOWN = pm.Column("town", pm.Role.PLAIN, pm.Categories(("x", "y")), missing="refuse")
RECORDS = 500


@pytest.fixture
def people() -> pa.Table:
    """Five hundred, in two towns."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], RECORDS),
            "age": rng.integers(1, 4, RECORDS),
            "town": rng.choice(["x", "y"], RECORDS),
        }
    )


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Where the ledger will be."""
    return tmp_path / "book"


def protect(table, book, *columns, k=5.0, **options):
    table = table.select([column.name for column in columns])
    plan = pm.design(pm.Schema(columns), pm.PkAnonymity(k=k), data=table)
    return pm.protect(table, plan, ledger=book, **options)


def test_releases_that_are_apart_add(people, book):
    """Nothing kept: the least k stays, central epsilons and deltas add."""
    first, second = protect(people, book, SEX), protect(people, book, SEX, AGE, k=9)
    ledger = pm.Ledger.load(book)
    central = [
        claim.attained
        for release in (first, second)
        for claim in release.certificate.claims
        if claim.name == "shuffled-privacy"
    ]

    assert ledger.tables == ((0, 1),)
    found = ledger.together()
    assert found.rule == "apart"
    assert found.k == pytest.approx(5)
    assert found.every == pytest.approx(45)
    assert found.central.epsilon <= sum(one.epsilon for one in central) * (1 + 1e-12)
    assert found.central.delta <= 2e-6 * (1 + 1e-12)


def test_releases_that_share_a_kept_column_are_one(people, book):
    """k = 1 + (n - 1) m1 m2 in the smaller town, local epsilons add."""
    for _ in range(2):
        made = protect(people, book, SEX, TOWN)
    found = pm.Ledger.load(book).together()
    crowd = made.certificate.crowd

    assert found.rule == "tied"
    assert found.tied_by == ("town",)
    assert found.k == pytest.approx(1 + 4**2 / (crowd - 1))
    assert found.local == pytest.approx(math.log((crowd - 1) / 4))


def test_no_truth_stands_in_it(people, book):
    """Names of columns, numbers that are published, digests; no value, and no plain digest."""
    protect(people, book, SEX, AGE)
    text = book.read_text()

    assert '"F"' not in text
    assert column_prints(open_source(people), ["sex"], key=b"")["sex"] not in text
    assert pm.Ledger.load(book).entries[0].plan["asked"] == {"pk-anonymity": {"k": 5.0}}


def test_a_table_is_known_again_however_it_is_stored(people, book, tmp_path):
    """CSV, Parquet, a data frame, in other batches; not if it was sorted anew."""
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=7)
    pa_csv.write_csv(people, tmp_path / "people.csv")
    schema = pm.Schema((SEX, AGE))
    for table in (people, tmp_path / "people.csv", tmp_path / "people.parquet"):
        kept = table.select(["sex", "age"]) if table is people else table
        wide = schema if table is people else pm.Schema((SEX, AGE, TOWN))
        plan = pm.design(wide, pm.PkAnonymity(k=5), data=kept)
        pm.protect(kept, plan, ledger=book)
    protect(people.take(list(range(RECORDS - 1, -1, -1))), book, SEX, AGE)
    ledger = pm.Ledger.load(book)

    assert ledger.tables == ((0, 1, 2), (3,))
    assert ledger.together(0, 1, 2).releases == 3


def test_people_that_were_named_are_known_though_the_table_changed(people, book):
    """By the name alone."""
    protect(people, book, SEX, people="panel")
    protect(people.slice(100), book, SEX, people="panel")

    assert pm.Ledger.load(book).tables == ((0, 1),)


def test_beyond_the_budget_nothing_is_written(people, book, tmp_path):
    """The release that would exceed it is refused, and neither folder nor entry appears."""
    budget = pm.Budget(k=4, epsilon=100)
    protect(people, book, SEX, TOWN, to=tmp_path / "one", budget=budget)
    with pytest.raises(pm.DoesNotHold, match="below the budget of 4. Nothing was written"):
        protect(people, book, SEX, TOWN, to=tmp_path / "two", budget=budget)
    with pytest.raises(pm.DoesNotHold, match="above the budget of 0.001"):
        protect(people, book, SEX, to=tmp_path / "two", budget=pm.Budget(epsilon=0.001))

    assert not (tmp_path / "two").exists()
    assert len(pm.Ledger.load(book).entries) == 1
    protect(people, book, AGE, to=tmp_path / "two", budget=budget)
    assert len(pm.Ledger.load(book).entries) == 2


def test_what_no_rule_covers_counts_as_exceeded(people, book):
    """Groups: refused with the reason, unless told otherwise; alone its own k counts."""
    schema, method = pm.Schema((SEX, AGE, TOWN)), pm.Resample(allow_verbatim=True)
    plan = pm.design(schema, pm.KAnonymity(k=5), data=people, method=method)
    pm.protect(people, plan, ledger=book, budget=pm.Budget(k=5))
    with pytest.raises(pm.DoesNotHold, match="counts as exceeded.*resample publishes no matrices"):
        pm.protect(people, plan, ledger=book, budget=pm.Budget(k=2))
    pm.protect(people, plan, ledger=book, budget=pm.Budget(k=2, allow_uncovered=True))

    assert pm.Ledger.load(book).together().rule == "none"


def test_a_release_that_fails_is_not_entered(people, book, tmp_path):
    """A key to sign with that is none: nothing stands, nothing is entered."""
    (tmp_path / "no.key").write_text("none")
    with pytest.raises(pm.InputError, match="Ed25519"):
        protect(people, book, SEX, to=tmp_path / "one", sign_with=tmp_path / "no.key")

    assert not (tmp_path / "one").exists()
    assert not book.exists()


def test_an_altered_ledger_stops_a_release(people, book, tmp_path):
    """Before anything is written."""
    protect(people, book, SEX)
    book.write_text(book.read_text().replace("retention", "Retention"))
    with pytest.raises(pm.DoesNotHold, match="line 2 is not what was entered"):
        protect(people, book, SEX, to=tmp_path / "one")

    assert not (tmp_path / "one").exists()


def test_seeds_and_budgets_without_a_ledger_are_refused(people, book):
    """A seeded release is not for publication; a budget is kept by a ledger."""
    with pytest.raises(pm.InputError, match="leave out the seed or the ledger"):
        protect(people, book, SEX, seed=1)
    with pytest.raises(pm.InputError, match="go with a ledger"):
        protect(people, None, SEX, budget=pm.Budget(k=2))
    with pytest.raises(pm.InvalidNumber, match="budget of k"):
        pm.Budget(k=0.5)


def test_reports_are_counted_too(people, book):
    """By the law of the sets that records are asked for."""
    schema = pm.Schema((SEX, AGE))
    table = people.select(["sex", "age"])
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=table, method="reports")
    for _ in range(2):
        pm.protect(table, plan, ledger=book)
    found = pm.Ledger.load(book).together()

    assert found.rule == "apart"
    assert found.k == pytest.approx(5, rel=0.01)
    assert math.isfinite(found.central.epsilon)
