"""Describing a table and completing a schema."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pramana.api import describe, design, protect
from pramana.errors import (
    Infeasible,
    InvalidNumber,
    InvalidSchema,
    OutsideDomain,
    TooLarge,
    UnknownColumn,
)
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.io.opening import open_table
from pramana.io.output import write_table
from pramana.schema.codec import encode
from pramana.schema.describe import complete
from pramana.schema.domains import Bins, Categories, Labels
from pramana.schema.origins import DataChoices, Provenance
from pramana.schema.recoding import Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Impossible, Schema

RNG = np.random.default_rng(3)
N = 400
PEOPLE = pa.table(
    {
        "id": np.arange(N),
        "sex": pa.array(np.array(["M", "F"])[RNG.integers(0, 2, N)]),
        "age": pa.array(RNG.integers(17, 91, N), mask=RNG.random(N) < 0.1),
        "work": pa.array(np.array(["x", "y", "?"])[RNG.integers(0, 3, N)]),
        "income": RNG.lognormal(8, 1, N),
        "wgt": RNG.uniform(1, 2, N),
        "wgt2": RNG.uniform(1, 2, N),
    }
)


def test_every_column_gets_a_role_and_a_reason():
    """The schema is ready to use, the domains are marked as read off the data."""
    found = describe(PEOPLE)
    roles = {profile.name: str(profile.role) for profile in found.profiles}
    assert roles == {
        "id": "identifier", "sex": "key", "age": "key", "work": "key",
        "income": "dropped", "wgt": "weight", "wgt2": "dropped",
    }  # fmt: skip
    assert [profile.name for profile in found.profiles if profile.withheld] == ["income"]
    assert all(profile.why for profile in found.profiles)
    assert found.column("sex").domain == Categories(("F", "M"))
    assert isinstance(found.column("age").domain, Bins)
    assert found.column("age").missing == "category"
    assert found.column("sex").missing == "refuse"
    assert not any(column.declared for column in found.keys)
    assert "'?' may mean missing" in found.profiles[3].notes[0]
    assert found.records == N
    for column in found.keys:
        assert len(encode(column, PEOPLE[column.name])) == N


def test_given_roles_are_taken_as_given():
    """And said to be so."""
    found = describe(PEOPLE, keys=["income"], public=["sex"], weight="wgt2", identifiers=["age"])
    roles = {profile.name: (str(profile.role), profile.why) for profile in found.profiles}
    assert roles["income"] == ("key", "as given")
    assert roles["sex"] == ("public", "as given")
    role, why = roles["wgt2"]
    assert role == "weight"
    assert why.startswith(
        "as given; rounded and cut at the top, as few people share some weights: "
    )
    assert roles["wgt"][0] == "dropped"
    assert roles["age"] == ("identifier", "as given")
    assert isinstance(found.column("income").domain, Bins)


def test_unique_records_are_counted_on_the_keys():
    """By hand: one F of 1 and one M of 2 stand alone, and so does the missing one."""
    table = pa.table({"sex": ["F", "F", "F", "M", None], "area": [1, 2, 2, 2, 2]})
    assert describe(table).unique == 3
    assert describe(table, keys=["area"], public=["sex"]).unique == 1
    assert describe(table, public=["sex", "area"]).unique == 0


def test_unique_records_agree_with_pandas():
    """A second road on random data with many keys."""
    frame = pd.DataFrame({f"k{i}": RNG.integers(0, 4, 1_000) for i in range(5)})
    expected = int((~frame.duplicated(keep=False)).sum())
    assert 0 < describe(frame).unique == expected


def test_the_toml_can_be_read_and_says_what_to_check():
    """Reasons and the origin of domains are comments."""
    found = describe(PEOPLE)
    text = found.to_toml()
    assert Schema.from_toml(text) == found.schema
    assert "# read off the data: check that it lists every value that can occur" in text
    assert "# its name suggests an identifier" in text
    assert 'missing = "category"' in text


def test_rows_are_plain_data():
    """For a table in the terminal and for JSON."""
    row = describe(PEOPLE).rows()[1]
    assert row["column"] == "sex"
    assert row["distinct"] == 2
    assert row["domain"] == {"categories": ["F", "M"]}


def test_labels_of_a_file_complete_the_domain(tmp_path):
    """A labelled code that does not occur can occur; the variable's label is shown."""
    labels = Labels({"q": "Question"}, {"q": {1: "yes", 2: "no", 9: "refused"}})
    table = pa.table({"q": [1, 2] * 20})
    write_table(table, tmp_path / "t.sav", file_format="sav", labels=labels)
    found = describe(tmp_path / "t.sav")
    assert found.column("q").domain == Categories((1, 2, 9))
    assert found.profiles[0].label == "Question"


def test_bad_requests_are_refused():
    """Unknown columns, two roles, a text instead of a list, a constant key."""
    with pytest.raises(UnknownColumn, match="no column 'gender'"):
        describe(PEOPLE, keys=["gender"])
    with pytest.raises(InvalidSchema, match="'sex' has two roles"):
        describe(PEOPLE, keys=["sex"], public=["sex"])
    with pytest.raises(InvalidSchema, match="list of names"):
        describe(PEOPLE, keys="sex")
    with pytest.raises(InvalidSchema, match="'c' must have at least two values"):
        describe(pa.table({"c": [1, 1]}), keys=["c"])


@pytest.mark.deep
def test_a_million_texts_in_one_key_are_refused():
    """In one line with the number."""
    table = pa.table({"c": pa.array(range(10**6)).cast(pa.string())})
    with pytest.raises(TooLarge, match="'c' has 1,000,000 categories"):
        describe(table, keys=["c"])


def test_completing_fills_only_the_gaps():
    """Declared domains and stated policies stay; the schema given is not changed."""
    schema = Schema(
        (
            Column("id", Role.IDENTIFIER),
            Column("sex", Role.KEY),
            Column("age", Role.KEY, Bins((0, 50, 100))),
            Column("work", Role.KEY, Categories(("x", "y", "z", "?")), missing="keep"),
            Column("income", Role.SENSITIVE),
            Column("wgt", Role.WEIGHT),
            Column("wgt2", Role.PUBLIC),
        )
    )
    full = complete(schema, open_table(PEOPLE))
    assert full.column("sex") == Column(
        "sex", Role.KEY, Categories(("F", "M")), missing="refuse", origin=Provenance.READ_OFF
    )
    assert full.column("age") == Column("age", Role.KEY, Bins((0, 50, 100)), missing="refuse")
    assert full.column("work") == schema.column("work")
    assert full.column("income") == schema.column("income")
    assert schema.column("sex").domain is None
    assert complete(full, open_table(PEOPLE)) == full


def test_completing_a_stratum_lists_its_values():
    """A stratum needs labels, not bins, although it is released unchanged."""
    table = pa.table({"region": np.arange(100), "sex": ["F", "M"] * 50})
    schema = Schema((Column("region", Role.PUBLIC), Column("sex", Role.KEY)), strata=("region",))
    assert complete(schema, open_table(table)).column("region").labels == tuple(range(100))


def test_a_schema_that_speaks_of_missing_values_gets_them():
    """In an impossible combination or among the exempt."""
    schema = Schema(
        (Column("a", Role.KEY, exempt=(None,)), Column("b", Role.KEY)),
        impossible=(Impossible.of({"a": [1], "b": [None]}),),
    )
    full = complete(schema, open_table(pa.table({"a": [1, 2], "b": [1, 2]})))
    assert full.column("a").labels == full.column("b").labels == (1, 2, None)


def test_completing_does_not_hide_values_outside_a_declared_domain():
    """They are refused when the data are coded."""
    schema = Schema((Column("a", Role.KEY, Categories((1, 2))),))
    table = pa.table({"a": [1, 2, 3]})
    with pytest.raises(OutsideDomain, match="1 record of 'a'"):
        encode(complete(schema, open_table(table)).column("a"), table["a"])


def test_the_data_do_not_decide_whether_missing_is_a_value():
    """Where the schema declares a domain and says nothing of missing values, they are refused."""
    schema = Schema(
        (
            Column("sex", Role.KEY, Categories(("F", "M"))),
            Column(
                "job", Role.KEY, Categories(("x", "y")), recoding=Recoding(missing_codes=("?",))
            ),
            Column("area", Role.KEY, Categories((1, 2)), missing="keep"),
        )
    )
    whole = pa.table({"sex": ["F", "M"] * 50, "job": ["x", "y"] * 50, "area": [1, 2] * 50})
    gaps = pa.table({"sex": ["F", None] * 50, "job": ["x", "?"] * 50, "area": [1, None] * 50})
    for table in (whole, gaps):
        policies = [column.missing for column in complete(schema, open_table(table)).columns]
        assert policies == ["refuse", "category", "keep"]

    with pytest.raises(OutsideDomain) as refused:
        design(schema, DifferentialPrivacy(epsilon=1), data=gaps)
    assert refused.value.code == "missing-refused"
    assert {"column": "sex", "count": 50}.items() <= refused.value.fields.items()


def test_described_schemas_state_what_becomes_of_missing_values():
    """Also where none is missing."""
    found = describe(pa.table({"a": ["x", "y"] * 50, "b": ["x", None] * 50}), keys=["a", "b"])
    assert [column.missing for column in found.columns] == ["refuse", "category"]
    assert found.to_toml().count("missing = ") == 2


def people_of_homes(homes: int = 400, each: int = 3) -> pa.Table:
    """People of households, who have tenure, rooms, an income and a weight in common."""
    rng = np.random.default_rng(11)
    whose = np.repeat(np.arange(homes), each)
    return pa.table(
        {
            "home": whose + 5000,
            "tenure": np.array(["own", "rent"])[rng.integers(0, 2, homes)][whose],
            "rooms": rng.integers(1, 9, homes)[whose],
            "income": rng.lognormal(8, 1, homes).round(2)[whose],
            "wgt": rng.uniform(1, 2, homes).round(4)[whose],
            "sex": rng.choice(["F", "M"], len(whose)),
            "age": rng.integers(0, 90, len(whose)),
            "work": rng.choice(list("abcd"), len(whose)),
        }
    )


def test_what_a_household_has_in_common_is_given_roles_that_design_takes():
    """Once it is said what numbers them; without it, design refuses the roles one by one."""
    table = people_of_homes()
    found = describe(table, household="home")

    roles = {column.name: str(column.role) for column in found.columns}
    assert found.household == "home"
    assert roles == {
        "home": "identifier", "tenure": "public", "rooms": "dropped", "income": "dropped",
        "wgt": "dropped", "sex": "key", "age": "key", "work": "key",
    }  # fmt: skip
    assert Schema.from_toml(found.to_toml()) == found.schema
    assert design(found, PkAnonymity(k=5), data=table).anonymity_set >= 100

    without = replace(describe(table).schema, household="home")
    with pytest.raises(Infeasible, match="equal for all members of a household"):
        design(without, PkAnonymity(k=5), data=table)


def test_a_weight_is_shared_by_enough_of_those_who_share_what_leaves_beside_it():
    """Of a household's tenure, or what is given as plain: the usual design is made all the same."""
    table = people_of_homes(1_000).drop_columns("wgt")
    weights = np.random.default_rng(4).uniform(20, 200, len(table)).round(2)
    table = table.append_column("pwgt", pa.array(weights))
    area = pa.array(np.random.default_rng(5).choice(list("nswe"), len(table)))
    for own, given in (
        (table, {"household": "home"}),
        (
            table.append_column("area", area),
            {"public": ["area", "tenure"], "identifiers": ["home"]},
        ),
    ):
        found = describe(own, **given)
        assert found.column("tenure").role is Role.PUBLIC
        assert found.column("pwgt").role is Role.WEIGHT
        assert design(found, PkAnonymity(k=20), data=own).anonymity_set > 20


def test_roles_that_are_given_are_taken_beside_a_household():
    """What the steward says of a column of the household is said by the schema, too."""
    found = describe(people_of_homes(60), household="home", sensitive=["rooms"])

    assert found.column("rooms").role is Role.SENSITIVE
    with pytest.raises(UnknownColumn, match="no column 'hid'"):
        describe(PEOPLE, household="hid")
    with pytest.raises(InvalidSchema, match="two roles"):
        describe(PEOPLE, household="sex", keys=["sex"])


def test_an_amount_whose_range_is_stated_goes_on_a_grid():
    """The range is the steward's, nothing of it is read off; others stay as they were."""
    table = pa.table({"sex": ["F", "M"] * 50, "pay": [1_000.5 + 3 * at for at in range(100)]})
    found = describe(table, keys=["sex"], sensitive=["pay"], ranges={"pay": (0, 5_000)})
    column = found.column("pay")

    assert (column.role, column.randomised, column.declared) == ("sensitive", True, True)
    assert column.labels == (0, 1_250, 2_500, 3_750, 5_000)
    assert (column.recoding.bottom, column.recoding.top) == (0, 5_000)
    assert not describe(table, keys=["sex"], sensitive=["pay"]).column("pay").randomised
    plan = design(found, PkAnonymity(k=5), data=table)
    assert set(protect(table, plan, seed=1).opened.to_arrow()["pay"].to_pylist()) <= {
        None,
        *column.labels,
    }


@pytest.mark.parametrize("name", ["sex", "wage"])
def test_a_range_of_what_is_no_number_is_refused(name):
    """A column of texts, and one that is not there."""
    table = pa.table({"sex": ["F", "M"] * 5, "pay": list(range(10))})

    with pytest.raises(UnknownColumn, match="column of numbers"):
        describe(table, ranges={name: (0, 5)})


def test_a_grid_is_proposed_for_amounts_with_a_range_read_off_the_data() -> None:
    """Round ends of almost all amounts; codes, few numbers and texts have no such proposal."""
    rng = np.random.default_rng(4)
    pay = np.append(np.round(rng.gamma(4, 700, 1_999)), 987_654)
    zone = rng.integers(1, 4, 2_000)
    table = pa.table({"sex": ["f", "m"] * 1_000, "pay": pay, "zone": zone})
    first = describe(table, keys=["sex"], sensitive=["pay", "zone"])
    entries = {p.name: [entry for entry, _ in p.proposals] for p in first.profiles}
    assert "--range pay" in entries["pay"]
    assert not any("--range" in entry for entry in (*entries["sex"], *entries["zone"]))

    found = describe(table, keys=["sex"], sensitive=["pay"], ranges={"pay": None})
    column = found.column("pay")
    low, high = column.domain.values[0], column.domain.values[-1]
    assert (low, high) == (column.recoding.bottom, column.recoding.top) == (0, 7_000)
    assert np.quantile(pay, 0.99) < high < 1.5 * np.quantile(pay, 0.99)  # the largest says nothing
    assert column.origin is Provenance.READ_OFF
    with pytest.raises(InvalidNumber, match="too few different numbers"):
        describe(table, ranges={"zone": None})


def test_a_guarantee_says_that_a_range_was_read_off_the_data() -> None:
    """Epsilon does not cover it; k is that of the plan with the same range stated."""
    pay = np.round(np.random.default_rng(4).gamma(4, 700, 2_000))
    table = pa.table({"sex": ["f", "m"] * 1_000, "pay": pay})
    plans = []
    for ends in (None, (0, 7_000)):
        schema = describe(table, keys=["sex"], sensitive=["pay"], ranges={"pay": ends})
        plans.append(design(schema, DifferentialPrivacy(epsilon=4), records=2_000))
    read, stated = plans
    assert DataChoices.of(read.schema).read == ("sex", "pay")
    assert DataChoices.of(stated.schema).read == ("sex",)
    assert (
        "does not cover the lists of values of sex, pay"
        in read.to_json()["guarantees"][0]["sentence"]
    )
    assert read.mechanism == stated.mechanism
