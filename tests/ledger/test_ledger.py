"""What was promised about which table, and what all releases promise together."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.engine.base import open_source
from pramana.ledger.chain import Chain
from pramana.ledger.fingerprints import table_prints
from pramana.ledger.ledger import booked

SEX = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
AGE = pm.Column("age", pm.Role.KEY, pm.Categories((1, 2, 3)), missing="refuse")
TOWN = pm.Column("town", pm.Role.PUBLIC, pm.Categories(("x", "y")), missing="refuse")
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


def accepting(table, plan, **options) -> pm.Release:
    """A release whose unchanged columns may identify people: the ledger is what is tested."""
    unchanged = [column.name for column in plan.schema.released_as_is]
    return pm.protect(table, plan, accept_risk=unchanged, **options)


def protect(table, book, *columns, k=5.0, **options):
    table = table.select([column.name for column in columns])
    plan = pm.design(pm.Schema(columns), pm.PkAnonymity(k=k), data=table, method="retention")
    return accepting(table, plan, ledger=book, **options)


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
    anonymity_set = made.certificate.anonymity_set

    assert found.rule == "tied"
    assert found.tied_by == ("town",)
    assert found.k == pytest.approx(1 + 4**2 / (anonymity_set - 1))
    assert found.local == pytest.approx(math.log((anonymity_set - 1) / 4))


def test_no_truth_stands_in_it(people, book):
    """Names of columns, numbers that are published, digests; no value, and no plain digest."""
    protect(people, book, SEX, AGE)
    text = book.read_text()

    assert '"F"' not in text
    bare = table_prints(open_source(people), key=b"").columns["sex"]
    assert bare.values not in text
    assert bare.shape not in text
    assert pm.Ledger.load(book).entries[0].plan["asked"] == {"pk-anonymity": {"k": 5.0}}


SAME = ("income", "again")


def test_without_the_key_no_line_tells_one_value_from_another(people, tmp_path):
    """Columns with the same values share no digest, and neighbours give lines of one length."""
    texts = []
    for values in (3, RECORDS):
        path = tmp_path / f"{values} values"
        income = pa.array(np.arange(RECORDS) % values * 1001)
        table = people.append_column("income", income).append_column("again", income)
        protect(table, path, SEX, AGE, *(pm.Column(name, pm.Role.SENSITIVE) for name in SAME))
        entry = pm.Ledger.load(path).entries[0]
        assert entry.columns["income"].sample == entry.columns["again"].sample
        for column in entry.columns.values():
            assert column.values not in path.read_text()
            assert column.to_json()["sample"] not in path.read_text()
        texts.append(json.loads(path.read_text().splitlines()[1])["sealed"])
    assert len(texts[0]) == len(texts[1])
    assert all(len(set(re.findall("." * 8, text))) > len(text) // 8 - 3 for text in texts)


def test_entries_of_an_earlier_version_are_read(people, book):
    """Their fingerprints stand in the open, and count as those of later entries do."""
    protect(people, book, SEX, AGE)
    entry = pm.Ledger.load(book).entries[0]
    chain = Chain.new(book.with_name("earlier"))
    chain = chain.grown(entry.to_json() | entry.secret())
    assert pm.Ledger.load(chain.path).entries == (replace(entry, release=None),)


def test_a_table_is_known_again_however_it_is_stored(people, book, tmp_path):
    """CSV, Parquet, a data frame, in other batches, sorted anew."""
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=7)
    pa_csv.write_csv(people, tmp_path / "people.csv")
    schema = pm.Schema((SEX, AGE))
    for table in (people, tmp_path / "people.csv", tmp_path / "people.parquet"):
        kept = table.select(["sex", "age"]) if table is people else table
        wide = schema if table is people else pm.Schema((SEX, AGE, TOWN))
        plan = pm.design(wide, pm.PkAnonymity(k=5), data=kept, method="retention")
        accepting(kept, plan, ledger=book)
    protect(people.take(list(range(RECORDS - 1, -1, -1))), book, SEX, AGE)
    ledger = pm.Ledger.load(book)

    assert ledger.tables == ((0, 1, 2, 3),)
    assert ledger.together().releases == 4


def test_people_that_were_named_are_known_though_the_table_changed(people, book):
    """By the name alone."""
    protect(people, book, SEX, people="panel")
    protect(people.slice(100), book, SEX, people="panel")

    assert pm.Ledger.load(book).tables == ((0, 1),)


def test_beyond_the_budget_nothing_is_written(people, book, tmp_path):
    """The release that would exceed it is refused, and neither folder nor entry appears."""
    budget = pm.Budget(k=4, epsilon=100)
    protect(people, book, SEX, TOWN, to=tmp_path / "one", budget=budget)
    with pytest.raises(pm.DoesNotHold, match="both releases .* below the budget of 4. Nothing"):
        protect(people, book, SEX, TOWN, to=tmp_path / "two", budget=budget)
    with pytest.raises(pm.DoesNotHold, match="above the budget of 0.001"):
        protect(people, book, SEX, to=tmp_path / "two", budget=pm.Budget(epsilon=0.001))

    assert not (tmp_path / "two").exists()
    assert len(pm.Ledger.load(book).entries) == 1
    protect(people, book, AGE, to=tmp_path / "two", budget=budget)
    assert len(pm.Ledger.load(book).entries) == 2


def test_what_no_rule_covers_counts_as_exceeded(people, book):
    """Groups: refused with the reason, unless told otherwise; alone its own k counts."""
    schema, method = pm.Schema((SEX, AGE, TOWN)), pm.Resample(allow_unchanged=True)
    plan = pm.design(schema, pm.KAnonymity(k=5), data=people, method=method)
    accepting(people, plan, ledger=book, budget=pm.Budget(k=5))
    with pytest.raises(pm.DoesNotHold, match="counts as exceeded.*resample publishes no matrices"):
        accepting(people, plan, ledger=book, budget=pm.Budget(k=2))
    accepting(people, plan, ledger=book, budget=pm.Budget(k=2, allow_uncovered=True))

    assert pm.Ledger.load(book).together().rule == "none"


def test_a_release_that_fails_is_not_entered(people, book, tmp_path):
    """A key to sign with that is none: nothing stands, and the entry is withdrawn."""
    (tmp_path / "no.key").write_text("none")
    with pytest.raises(pm.InputError, match="Ed25519"):
        protect(people, book, SEX, to=tmp_path / "one", sign_with=tmp_path / "no.key")

    assert not (tmp_path / "one").exists()
    assert pm.Ledger.load(book).entries == ()


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
    with pytest.raises(pm.InputError, match="need a ledger"):
        protect(people, None, SEX, budget=pm.Budget(k=2))
    with pytest.raises(pm.InvalidNumber, match="budget of k"):
        pm.Budget(k=0.5)


def test_reports_are_counted_too(people, book):
    """By the law of the sets that records are asked for."""
    schema = pm.Schema((SEX, AGE))
    table = people.select(["sex", "age"])
    plan = pm.design(schema, pm.PkAnonymity(k=5), data=table, method="attribute-sampling")
    for _ in range(2):
        accepting(table, plan, ledger=book)
    found = pm.Ledger.load(book).together()

    assert found.rule == "apart"
    assert found.k == pytest.approx(5, rel=0.01)
    assert math.isfinite(found.central.epsilon)
    whole = accepting(table, pm.design(schema, pm.PkAnonymity(k=5), data=table, method="retention"))
    reports = accepting(table, plan)
    for together in ((reports, reports), (reports, whole)):
        assert pm.attack("composition", *together).figures["promised"]["rule"] == "apart"


# -- other names, other tables ---------------------------------------------------------------------

INCOME = pm.Column("income", pm.Role.SENSITIVE)
DISGUISES = {
    "another name": lambda table: table.rename_columns(["sex", "age", "town", "salary"]),
    "numbers as text": lambda table: table.set_column(
        3, "salary", pc.binary_join_element_wise("0", table["income"].cast(pa.string()), "")
    ),
    "broken numbers": lambda table: table.set_column(
        3, "salary", table["income"].cast(pa.float32())
    ),
    "another order": lambda table: DISGUISES["another name"](table.sort_by("income")),
    "other units": lambda table: table.set_column(3, "salary", pc.multiply(table["income"], 7)),
    "rounded": lambda table: table.set_column(
        3, "salary", pc.divide(table["income"], 100).cast(pa.int64())
    ),
    "five people fewer": lambda table: DISGUISES["another name"](table.slice(5)),
}


@pytest.fixture
def earners(people) -> pa.Table:
    """The same, each with an income of their own."""
    rng = np.random.default_rng(6)
    return people.append_column("income", pa.array(rng.permutation(90_000)[:RECORDS] + 10_000))


@pytest.mark.parametrize("how", DISGUISES)
@pytest.mark.parametrize("role", [pm.Role.SENSITIVE, pm.Role.PUBLIC])
def test_a_kept_column_in_disguise_ties_all_the_same(earners, book, how, role):
    """A sensitive one shown by both: never apart. A plain one: its anonymity set of one leaves no
    k.
    """
    first = pm.Schema((SEX, pm.Column("income", role)))
    second = pm.Schema((AGE, pm.Column("salary", role)))
    for schema, table in ((first, earners), (second, DISGUISES[how](earners))):
        table = table.select(schema.names)
        k = 5 if role is pm.Role.SENSITIVE else 1
        accepting(
            table,
            pm.design(schema, pm.PkAnonymity(k=k), data=table, method="retention"),
            ledger=book,
        )
    ledger = pm.Ledger.load(book)

    found = ledger.together()
    assert ledger.tables == ((0, 1),)
    assert found.k < 1.2
    if role is pm.Role.SENSITIVE:
        assert found.rule == "tied"


def test_a_column_that_one_keeps_and_the_other_randomises_under_another_name_ties(people, book):
    """Categories that were given other labels, too: only how often they occur is the same."""
    protect(people, book, SEX, TOWN)
    place = pc.if_else(pc.equal(people["town"], "x"), "here", "there")
    other = people.append_column("place", place)
    column = pm.Column("place", pm.Role.KEY, pm.Categories(("here", "there")), missing="refuse")
    protect(other, book, AGE, column)

    found = pm.Ledger.load(book).together()
    assert found.rule == "tied"
    assert "town" in found.tied_by


def test_other_columns_of_the_same_people_one_after_another_are_one_table(people, book):
    """Nothing in common but the people: each release of one column, from a file of its own."""
    for column in (SEX, AGE, TOWN):
        protect(people, book, column) if column.randomised else protect(people, book, SEX, column)

    assert pm.Ledger.load(book).tables == ((0, 1, 2),)


def test_people_are_known_by_a_column_that_is_never_released(earners, book):
    """A part of them, with other columns, beside the same identifiers under another name."""
    number = pm.Column("number", pm.Role.IDENTIFIER)
    code = pm.Column("code", pm.Role.IDENTIFIER)
    table = earners.append_column("number", pc.add(earners["income"], 10**7))
    protect(table, book, SEX, number)
    part = table.slice(0, 300).rename_columns(["sex", "age", "town", "income", "code"])
    protect(part, book, AGE, code)

    assert pm.Ledger.load(book).tables == ((0, 1),)


def test_other_people_are_another_table(people, book):
    """Other numbers of records and other values; or as many, where both are named."""
    rng = np.random.default_rng(8)
    other = pa.table({"sex": rng.choice(["F", "M"], 400), "age": rng.integers(1, 4, 400)})
    protect(people, book, SEX, AGE, people="north")
    protect(other, book, SEX, AGE)
    again = pa.table({"sex": rng.choice(["F", "M"], RECORDS), "age": rng.integers(1, 4, RECORDS)})
    protect(again, book, SEX, AGE, people="south")
    protect(again, book, SEX, AGE)  # nobody said whose: in doubt everybody's

    assert pm.Ledger.load(book).tables == ((0, 2, 3), (1,))


# -- what tied releases show together --------------------------------------------------------------


def tied_twice(book, first, second, town=TOWN, other_town=TOWN):
    """What two releases promise that show town and income as they are."""
    for table, place in ((first, town), (second, other_town)):
        schema = pm.Schema((SEX, place, INCOME))
        plan = pm.design(schema, pm.PkAnonymity(k=5), data=table, method="retention")
        accepting(table, plan, ledger=book)
    found = pm.Ledger.load(book).together()
    assert found.rule == "tied"
    return found


def moved(table, *places):
    """The same people a year later, of whom some have moved."""
    towns = table["town"].to_pylist()
    for place in places:
        towns[place] = "x" if towns[place] == "y" else "y"
    return table.set_column(table.schema.get_field_index("town"), "town", pa.array(towns))


def test_tied_releases_of_one_table_keep_their_anonymity_set(earners, book):
    """The limit case: the same file twice, the second time in another order."""
    found = tied_twice(
        book, earners.drop_columns(["age"]), earners.drop_columns(["age"]).sort_by("income")
    )

    assert found.k > 1
    assert found.anonymity_set > 200


def test_whoever_moved_is_alone_in_two_yearly_waves(earners, book):
    """Joined by income, one record has changed its town: whoever knows who moved has it."""
    first, second = earners.drop_columns(["age"]), moved(earners.drop_columns(["age"]), 7)
    ways = list(zip(first["town"].to_pylist(), second["town"].to_pylist(), strict=True))
    assert min(ways.count(way) for way in set(ways)) == 1

    assert tied_twice(book, first, second).k == 1
    releases = [
        accepting(
            t,
            pm.design(
                pm.Schema((SEX, TOWN, INCOME)), pm.PkAnonymity(k=5), data=t, method="retention"
            ),
        )
        for t in (first, second)
    ]
    attacked = pm.attack("composition", *releases).figures
    assert attacked["together"]["k"] == attacked["promised"]["k"] == 1
    again = pm.attack("composition", releases[0], releases[0]).figures
    assert again["together"]["anonymity_set"] > 200


@pytest.mark.parametrize("spelled", [("x", "X"), ("1", "01"), ("100", "1E2"), ("x", "x ")])
def test_what_a_release_tells_apart_counts_as_different(earners, book, spelled):
    """Columns are known again in any spelling; whoever changed from code to code is alone."""
    first = earners.drop_columns(["age"])
    place = first.schema.get_field_index("town")
    codes = [spelled[at % 2] for at in range(first.num_rows)]
    later = [spelled[1], *codes[1:]]
    waves = [first.set_column(place, "town", pa.array(own)) for own in (codes, later)]

    assert tied_twice(book, *waves).k == 1


def test_two_who_exchange_their_towns_are_found_too(earners, book):
    """Every column has the values that it had, as often: only the rows tell."""
    first = earners.drop_columns(["age"])
    towns = first["town"].to_pylist()
    second = moved(first, towns.index("x"), towns.index("y"))

    assert tied_twice(book, first, second).k == 1


def exchanged(table):
    """Two people have exchanged their towns, and everybody has answered anew."""
    towns = table["town"].to_pylist()
    later = moved(table, towns.index("x"), towns.index("y"))
    answers = pa.array(np.random.default_rng(8).choice(["F", "M"], len(towns)))
    return later.set_column(0, "sex", answers)


def numbered(table, name, values):
    return table.append_column(name, pa.array(values))


NUMBERS = np.random.default_rng(7).permutation(90_000)[:RECORDS]
EXCHANGES = {
    "nothing is anybody's own": lambda a, b: (a, b),
    "in the first year only": lambda a, b: (numbered(a, "id", NUMBERS), b),
    "another number each year": lambda a, b: (
        numbered(a, "id", NUMBERS), numbered(b, "id", NUMBERS[::-1] + 100_000)),
    "a number that two share": lambda a, b: tuple(
        numbered(t, "id", [0, 0, *NUMBERS[2:]]) for t in (
            a.sort_by("town").take([0, RECORDS - 1, *range(1, RECORDS - 1)]),
            b.sort_by("town").take([RECORDS - 1, 0, *range(1, RECORDS - 1)]))),
    "the places in a sorted table": lambda a, b: tuple(
        numbered(t.sort_by("town"), "id", range(RECORDS)) for t in (a, b)),
    "places of which some are left out": lambda a, b: tuple(
        numbered(t.sort_by("town"), "id", [*range(9), *range(300, RECORDS + 291)]) for t in (a, b)),
    "a number of their own": lambda a, b: tuple(numbered(t, "id", NUMBERS) for t in (a, b)),
}  # fmt: skip


@pytest.mark.parametrize("how", EXCHANGES)
@pytest.mark.parametrize("recoded", [False, True])
def test_two_who_exchange_towns_are_alone_whatever_stands_beside(people, book, how, recoded):
    """Nothing that is shown has changed in any count: only who it is of."""
    first = people.select(["sex", "town"]).append_column(
        "income", pa.array(["low"] * RECORDS)
    )  # all alike: it ties nobody to anybody by itself
    number = pm.Column("id", pm.Role.IDENTIFIER)
    if recoded:  # rounded, it is nobody's own any more
        number = pm.Column("id", pm.Role.SENSITIVE, recoding=pm.Recoding(round=1_000_000))
    for table in EXCHANGES[how](first, exchanged(first)):
        columns = (SEX, TOWN, INCOME, *[number] * ("id" in table.column_names))
        plan = pm.design(pm.Schema(columns), pm.PkAnonymity(k=5), data=table, method="retention")
        accepting(table, plan, ledger=book)

    assert pm.Ledger.load(book).together().k == 1


def test_everybody_is_known_again_by_a_number_though_answers_changed(people, book):
    """Nobody has moved, and a number of everybody's own says so."""
    first = numbered(people.select(["sex", "town"]), "id", NUMBERS)
    answers = pa.array(np.random.default_rng(8).choice(["F", "M"], RECORDS))
    for table in (first, first.set_column(0, "sex", answers).sort_by("id")):
        schema = pm.Schema((SEX, TOWN, pm.Column("id", pm.Role.IDENTIFIER)))
        plan = pm.design(schema, pm.PkAnonymity(k=5), data=table, method="retention")
        accepting(table, plan, ledger=book)

    found = pm.Ledger.load(book).together()
    assert found.anonymity_set > 200
    assert found.k > 1


@pytest.mark.parametrize("sensitive", [True, False])
def test_one_column_recoded_in_two_ways_shows_more_than_each(earners, book, sensitive):
    """Four quarters merged into two halves, twice: together they are the quarters."""
    rng = np.random.default_rng(9)
    quarters = pa.array(rng.choice(["a", "b", "c", "d"], RECORDS))
    table = earners.drop_columns(["age", "town"]).append_column("town", quarters)
    ways = [{"low": ["a", "b"], "high": ["c", "d"]}, {"low": ["a", "c"], "high": ["b", "d"]}]
    towns = [pm.Column("town", pm.Role.PUBLIC, recoding=pm.Recoding(merge=way)) for way in ways]
    income = pm.Column("income", pm.Role.SENSITIVE if sensitive else pm.Role.IDENTIFIER)
    for town in towns:
        plan = pm.design(
            pm.Schema((SEX, town, income)), pm.PkAnonymity(k=5), data=table, method="retention"
        )
        accepting(table, plan, ledger=book)

    found = pm.Ledger.load(book).together()
    assert found.rule == "tied"
    assert found.k == 1
    assert found.central.delta == 0


def test_numbers_rounded_in_two_ways_show_more_than_each(earners, book):
    """To tens and to fifteens."""
    ages = pa.array(np.random.default_rng(3).integers(0, 30, RECORDS))
    table = earners.drop_columns(["age", "town"]).append_column("town", ages)
    towns = [
        pm.Column("town", pm.Role.PUBLIC, recoding=pm.Recoding(round=width)) for width in (10, 15)
    ]

    assert tied_twice(book, table, table, *towns).k == 1


def test_somebody_replaced_is_found_though_nothing_known_is_shown(earners, book):
    """As many people, one of them another: the record that ties to none is that one's."""
    first = earners.select(["sex", "income"])
    incomes = first["income"].to_pylist()
    second = first.set_column(1, "income", pa.array([5, *incomes[1:]]))
    for table in (first, second):
        plan = pm.design(
            pm.Schema((SEX, INCOME)), pm.PkAnonymity(k=5), data=table, method="retention"
        )
        accepting(table, plan, ledger=book)

    assert pm.Ledger.load(book).together().k == 1


@pytest.mark.parametrize("number", [40, 128, 129])
def test_a_small_table_is_known_again_though_one_leaves(earners, book, number):
    """By the incomes of all others."""
    for table in (earners.slice(0, number), earners.slice(1, number - 1)):
        protect(table, book, SEX, pm.Column("income", pm.Role.IDENTIFIER), k=2)

    assert pm.Ledger.load(book).tables == ((0, 1),)


# -- delta -----------------------------------------------------------------------------------------


def central(table, book, epsilon, delta, **options):
    asked = pm.ShuffledPrivacy(epsilon, delta)
    table = table.select(["sex", "age"])
    plan = pm.design(pm.Schema((SEX, AGE)), asked, data=table, method="retention")
    return accepting(table, plan, ledger=book, **options)


def test_a_delta_is_weighed(people, book):
    """An epsilon of nothing at a delta of nearly one is no bargain; ten usual ones are allowed."""
    with pytest.raises(pm.DoesNotHold, match="a delta of 0.99.*above the budget of"):
        central(people, book, 0.0, 0.99, budget=pm.Budget(epsilon=1))
    with pytest.raises(
        pm.DoesNotHold, match="alone would have a delta of 1e-6, above the budget of 1e-7"
    ):
        central(people, book, 0.5, 1e-6, budget=pm.Budget(epsilon=0.6, delta=1e-7))
    for _ in range(3):
        central(people, book, 0.1, 1e-6, budget=pm.Budget(epsilon=1))
    central(people, book, 0.1, 0.3, budget=pm.Budget(delta=0.5))
    with pytest.raises(pm.DoesNotHold, match="above the budget of 0.5"):
        central(people, book, 0.1, 0.3, budget=pm.Budget(delta=0.5))


def test_deltas_that_come_to_one_leave_the_local_epsilon(people, book):
    """Two halves and more: what is left needs no delta."""
    for _ in range(3):
        central(people, book, 0.1, 0.5)
    found = pm.Ledger.load(book).together()

    assert found.central.delta == 0
    assert found.central.epsilon == found.local
    assert math.isfinite(found.local)


# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ledger", "to"),
    [
        ("one", "one"), ("one/book", "one"), ("one/deep/../book", "one"), ("book", "book.key"),
        ("book", "book.lock"), ("book", "book/one"), ("", "one"), (".", "one"), ("..", "one"),
        ("old/book", "one"),
    ],
)  # fmt: skip
def test_a_ledger_that_would_be_published_is_refused(people, tmp_path, monkeypatch, ledger, to):
    """In the folder, on it, under it, in that of another release; and what is no file."""
    monkeypatch.chdir(tmp_path)
    protect(people, None, SEX, to="old")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(pm.InputError, match=r"must (be in different|not be in|be a file|exist)"):
        protect(people, ledger, SEX, to=to)

    assert sorted(tmp_path.rglob("*")) == before


def test_a_ledger_behind_a_link_into_the_folder_is_refused(people, tmp_path):
    """By where it really is."""
    protect(people, None, SEX, to=tmp_path / "one")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "one")
    with pytest.raises(pm.InputError, match="must"):
        protect(people, tmp_path / "elsewhere" / "book", SEX, to=tmp_path / "one", force=True)


@pytest.mark.parametrize(
    ("ledger", "words"),
    [
        ("old/sub/deep/book", "must not be in the folder of a release"),
        ("old/link.ledger", "must not be in the folder of a release"),
        ("old/dangling.ledger", "is a link to a file that is not there"),
        ("dangling.ledger", "is a link to a file that is not there"),
        ("keyless", "is a link to a file that is not there"),
    ],
)
def test_neither_depth_nor_links_bring_a_ledger_into_a_release(people, tmp_path, ledger, words):
    """Below a release, linked from within it, and by a link that leads nowhere: nothing is made."""
    protect(people, None, SEX, to=tmp_path / "old")
    (tmp_path / "old" / "sub" / "deep").mkdir(parents=True)
    protect(people, tmp_path / "book", SEX)
    (tmp_path / "old" / "link.ledger").symlink_to(tmp_path / "book")
    for link in ("old/dangling.ledger", "dangling.ledger", "keyless.key"):
        (tmp_path / link).symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(pm.InputError, match=words):
        protect(people, tmp_path / ledger, SEX, to=tmp_path / "new")

    assert sorted(tmp_path.rglob("*")) == before


# -- what stops in the middle ----------------------------------------------------------------------

STOPPED = """
import os, sys
from contextlib import contextmanager
import pyarrow as pa
import pramana as pm
import pramana.protecting as protecting
real = protecting.release_folder
@contextmanager
def stopped(*given, **named):
    if sys.argv[2] == "before":
        os._exit(9)
    with real(*given, **named) as work:
        yield work
    os._exit(9)
protecting.release_folder = stopped
column = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
table = pa.table({"sex": ["F", "M"] * 250})
plan = pm.design(pm.Schema((column,)), pm.PkAnonymity(k=5), data=table)
pm.protect(table, plan, ledger=sys.argv[1] + "/book", to=sys.argv[1] + "/one")
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.deep(every=2)
def test_a_release_that_is_stopped_counts_and_is_told_of(people, book, tmp_path, when):
    """The machine stops before the release stands, or after it and before it is confirmed."""
    stopped = subprocess.run([sys.executable, "-c", STOPPED, str(tmp_path), when], check=False)
    assert stopped.returncode == 9
    assert (tmp_path / "one").exists() == (when == "after")
    words = "it is there" if when == "after" else "it is not there"
    with pytest.warns(pm.errors.Unconfirmed, match=words):
        protect(people, book, SEX)
    ledger = pm.Ledger.load(book)

    assert [entry.release is None for entry in ledger.entries] == [True, False]
    assert ledger.together().releases == 2
    assert "never confirmed" in ledger.unconfirmed[0]


def test_a_release_that_stands_and_whose_end_fails_stays_entered(people, book, tmp_path):
    """An error when all was written: nobody confirms, nobody withdraws."""
    place = tmp_path / "one"
    made = protect(people, None, SEX, to=place)

    def late() -> None:
        with (
            booked(book, open_source(people), people=None, folder=place) as booking,
            booking.entered(made.certificate),
        ):
            protect(people, None, SEX, to=place, force=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        late()
    assert [entry.release for entry in pm.Ledger.load(book).entries] == [None]
