"""Describing as an expert would: what follows from what, households, codes, few keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import pramana as pm
from pramana.io.opening import open_table
from pramana.schema.role_proposals import Follows, following, standing_together
from pramana.schema.tally import tally

RNG = np.random.default_rng(4)
N = 2_000
HOMES = np.repeat(np.arange(700), RNG.integers(1, 6, 700))


def opened(**columns):
    table = open_table(pa.table(columns))
    return table, tally(table)


def test_a_column_that_follows_from_another_is_named_and_dropped():
    """Age groups from ages, densities from areas, also where values are missing together."""
    age = RNG.integers(0, 90, N)
    area = RNG.integers(0, 5, N)
    table, seen = opened(
        area=area, age=age, density=area * 1.5 + 0.25, group=age // 10, other=RNG.integers(0, 5, N)
    )
    found = following(table, seen)
    assert found == {
        "density": (Follows("density", "area", both=True),),
        "group": (Follows("group", "age", both=False),),
    }
    described = pm.describe(table)
    roles = {column.name: str(column.role) for column in described.columns}
    assert roles["density"] == roles["group"] == "dropped"
    assert roles["area"] == roles["age"] == "key"
    assert "follows from 'age'" in described.profiles[3].why


def test_of_very_many_codes_and_their_groups_the_groups_are_the_key():
    """Tables of hundreds of codes are noise; what is merely measured of places is no group."""
    n = 6_000
    rng = np.random.default_rng(12)
    job, town = rng.integers(0, 240, n), rng.integers(0, 150, n)
    table = {
        "occupation": 11 * job + 1_000,
        "occupation_group": np.array([f"o{code}" for code in range(20)])[job // 12],
        "region": 13 * town + 500,
        "money": (town % 10) * 1_000 + 7,
        "sex": rng.integers(1, 3, n),
    }
    found = pm.describe(pa.table(table))
    why = "240 codes are too many for tables: dropped, since 'occupation_group' has their groups"
    assert role(found, "occupation") == ("dropped", why)
    assert [role(found, own)[0] for own in ("occupation_group", "region")] == ["key"] * 2
    assert role(found, "money")[0] == "dropped"

    asked = pm.describe(pa.table(table), keys=["occupation"])
    assert role(asked, "occupation")[0] == "key"
    assert role(asked, "occupation_group")[0] == "dropped"


def test_nothing_is_said_of_codes_in_a_column_that_goes():
    """What may mean missing matters where the column stays."""
    table = pa.table({"code": ["a", "b", "?", "d"] * 50, "kind": ["x", "y", "?", "z"] * 50})
    found = pm.describe(table, keys=["code"])
    notes = {own.name: own.notes for own in found.profiles}
    assert role(found, "kind")[0] == "dropped"
    assert any("may mean missing" in text for text in notes["code"])
    assert notes["kind"] == []


def test_many_exceptions_are_enough_to_follow_no_more():
    """Also where they stand after the records that are looked at first; a few are not enough."""
    n = 25_000
    age = RNG.integers(0, 90, n)
    group = age // 10
    group[-1] = (group[-1] + 1) % 9
    table, seen = opened(age=age, group=group)
    assert set(following(table, seen)) == {"group"}
    group[-500:] = (group[-500:] + 1) % 9
    table, seen = opened(age=age, group=group)
    assert following(table, seen) == {}


def test_households_are_known_by_how_records_stand():
    """Values that stand together, a few records each; shuffled they say nothing."""
    mixed = RNG.permutation(HOMES)
    table, seen = opened(a=HOMES, b=mixed)
    assert standing_together(table, "a", seen["a"])
    assert not standing_together(table, "b", seen["b"])
    assert "household" in pm.describe(table).profiles[0].why


def test_codes_are_categories_and_sort_as_numbers():
    """Occupations are no amounts; 10 comes after 2 also where codes are texts."""
    codes = RNG.choice(np.unique(RNG.integers(100, 9_000, 60)), N)
    dense = RNG.integers(0, 90, N)
    found = pm.describe(
        pa.table({"job": codes, "years": dense, "kind": ["1", "10", "2", "9"] * 500})
    )
    assert isinstance(found.column("job").domain, pm.Categories)
    assert isinstance(found.column("years").domain, pm.Bins)
    assert found.column("kind").domain.values == ("1", "2", "9", "10")


def test_eight_keys_are_proposed_and_the_others_told_why_not():
    """What all can see goes first; named keys are taken as named."""
    columns = {f"x{i}": RNG.integers(0, 3, N) for i in range(10)}
    table = pa.table({**columns, "sex": RNG.integers(0, 2, N), "age": RNG.integers(0, 15, N)})
    found = pm.describe(table)
    keys = [column.name for column in found.keys]
    assert len(keys) == 8
    assert {"sex", "age"} <= set(keys)
    others = [profile for profile in found.profiles if profile.name not in keys]
    assert all("outsiders hardly know it" in profile.why for profile in others)
    assert len(pm.describe(table, keys=list(table.column_names)).keys) == 12


def test_free_text_is_dropped():
    """Long texts that hardly repeat, whatever the column is called."""
    words = np.array(
        ["he", "said", "that", "nobody", "came", "home", "after", "the", "long", "winter"]
    )
    remark = [" ".join(RNG.choice(words, 7)) for _ in range(300)]
    found = pm.describe(pa.table({"remark": remark, "sex": ["F", "M"] * 150}))
    assert found.column("remark").role is pm.Role.IDENTIFIER
    assert "free text" in found.profiles[0].why


def role(found, name):
    """The role of a column and its reason."""
    profile = next(own for own in found.profiles if own.name == name)
    return str(profile.role), profile.why


def test_households_are_known_by_what_their_people_share():
    """In any order of the records; the reason names what is common. A sorted amount is none."""
    order = RNG.permutation(len(HOMES))
    homes = {f"c{i}": RNG.integers(0, 6, 700)[HOMES][order] for i in range(5)}
    amount = np.sort(RNG.lognormal(10, 1, len(HOMES)).astype(int) // 40 * 40)
    found = pm.describe(
        pa.table(
            {
                "v1": HOMES[order] * 37 + 5,
                "v2": amount,
                "v3": RNG.integers(0, 4, len(HOMES)),
                **homes,
            }
        )
    )
    own, why = role(found, "v1")
    assert own == "identifier"
    assert "'c0', 'c1', 'c2', 'c3' and 1 more in common" in why
    assert "household" not in role(found, "v2")[1]


def test_weights_are_known_by_how_they_behave():
    """Calibrated, scaled and whole ones under names that say nothing; at most one stays."""
    n = 4_000
    others = {"a": RNG.integers(0, 90, n), "b": RNG.integers(0, 3, n)}
    drawn = RNG.lognormal(6, 0.7, n)
    for weights in (drawn.round(5), drawn / drawn.mean(), np.ceil(drawn)):
        found = pm.describe(pa.table({**others, "v9": weights}))
        assert role(found, "v9")[0] == "weight", weights[:3]
        assert "like weights" in role(found, "v9")[1]
    both = pm.describe(pa.table({**others, "v8": drawn.round(5), "v9": (2 * drawn).round(5)}))
    assert [role(both, name)[0] for name in ("v8", "v9")] == ["weight", "dropped"]


def test_amounts_and_measures_are_no_weights():
    """Round sums, zeros, what goes with other numbers, what hardly varies, too many people."""
    n = 4_000
    age = RNG.integers(0, 90, n)
    for values in (
        np.round(RNG.lognormal(10, 0.7, n), -2),
        np.where(RNG.random(n) < 0.1, 0, RNG.lognormal(6, 0.7, n)),
        age * 7.123456 + RNG.lognormal(1, 0.5, n),
        RNG.normal(24, 3, n),
        RNG.lognormal(17, 0.7, n),
    ):
        found = pm.describe(pa.table({"age": age, "b": RNG.integers(0, 3, n), "v9": values}))
        assert role(found, "v9")[0] != "weight", values[:3]


def test_what_is_called_an_amount_is_no_weight():
    """Wages that are spread as weights are stay sensitive, and leave the anonymity set whole."""
    values = RNG.integers(100, 9_000, 400)
    for name in ("income", "yearly wage", "health_score"):
        found = pm.describe(pa.table({"sex": RNG.integers(0, 2, 400), name: values}))
        assert role(found, name)[0] == "sensitive", name
    assert role(pm.describe(pa.table({"sex": RNG.integers(0, 2, 400), "v9": values})), "v9")[0] == (
        "weight"
    )


def test_places_within_places_are_known_by_their_codes():
    """The finer one is a key before others, whatever it is called; the coarser one follows."""
    state = RNG.integers(1, 9, N)
    fine = state * 1_000 + RNG.integers(1, 6, N) * 10
    more = {f"x{i}": RNG.integers(0, 9, N) for i in range(9)}
    found = pm.describe(pa.table({"v1": state, "v2": fine, **more}))
    assert "codes of 'v2' begin with its codes" in role(found, "v1")[1]
    assert "v2" in [column.name for column in found.keys]
    assert role(found, "v1")[0] == "dropped"


MANY = {f"x{i}": RNG.integers(0, 9, N) for i in range(9)}


def test_what_follows_along_a_chain_follows_from_what_stays():
    """Regions of divisions of states: both are said to follow from the state."""
    state = RNG.integers(0, 40, N)
    found = pm.describe(
        pa.table({"region": state // 10, "division": state // 5, "state": state, "v": MANY["x1"]})
    )
    assert "follows from 'state'" in role(found, "region")[1]
    assert "follows from 'state'" in role(found, "division")[1]


def test_what_all_see_stays_and_what_tells_it_goes():
    """A question to women alone tells the sex: it must not leave beside the randomised sex."""
    sex = RNG.integers(0, 2, 3_000)
    births = np.where(sex == 1, RNG.integers(1, 4, 3_000), 0)
    found = pm.describe(pa.table({"SEX": sex, "V7": births, "age": RNG.integers(0, 15, 3_000)}))
    assert role(found, "SEX")[0] == "key"
    assert role(found, "V7") == ("key", "it has few values (4)")
    found = pm.describe(
        pa.table(
            {"SEX": sex, "V7": births, **{f"x{i}": RNG.integers(0, 9, 3_000) for i in range(9)}}
        )
    )
    own, why = role(found, "V7")
    assert own == "dropped"
    assert "discloses the key 'SEX'" in why


def test_of_two_keys_that_are_one_in_other_words_what_all_see_stays():
    """Or the one that was named: randomised each by itself they would contradict each other."""
    place = RNG.integers(1, 13, N)
    table = pa.table({"v1": place, "zip": [f"{10_000 + 37 * own}" for own in place], **MANY})
    found = pm.describe(table)
    assert role(found, "zip")[0] == "key"
    assert role(found, "v1")[0] == "dropped"
    assert "'zip' with other labels" in role(found, "v1")[1]
    found = pm.describe(table, keys=["v1", "zip"])
    assert {role(found, name)[0] for name in ("v1", "zip")} == {"key"}


def test_households_are_found_by_numbers_with_a_gap():
    """One record without a number makes all of them floats, and stands between others."""
    home = np.repeat(np.arange(1, 1_001), 3).astype(float)
    home[4] = np.nan
    own = {"size": np.nan_to_num(home) % 5, "age": RNG.integers(0, 90, 3_000)}
    found = pm.describe(pa.table({"v1": pa.array(home, from_pandas=True), **own}))
    assert role(found, "v1")[0] == "identifier"
    assert "household" in role(found, "v1")[1]


def test_two_keys_that_say_nearly_the_same_are_one():
    """Age and year of birth, a birthday apart."""
    age = RNG.integers(0, 90, N)
    born = 2019 - age - RNG.integers(0, 2, N)
    found = pm.describe(pa.table({"v1": born, "age": age}))
    assert role(found, "age")[0] == "key"
    assert "nearly the same information as 'age'" in role(found, "v1")[1]


def test_amounts_that_nobody_shares_are_near_keys():
    """They are no keys with bins, and a step to round them to is proposed."""
    found = pm.describe(
        pa.table({"v1": RNG.lognormal(10, 1, N).round(2), "sex": ["F", "M"] * (N // 2)})
    )
    profile = found.profiles[0]
    assert str(profile.role) == "sensitive"
    assert "rounded to multiples of 2000" in profile.why
    given = pm.describe(
        pa.table({"v1": RNG.lognormal(10, 1, N).round(2), "sex": ["F", "M"] * (N // 2)}),
        sensitive=["v1"],
    )
    assert (
        "round = 1000",
        "nearly every value is unique, and identifies its person",
    ) in given.profiles[0].proposals


def test_strata_of_the_sample_tell_places():
    """They are dropped, and the reason said."""
    found = pm.describe(
        pa.table({"VARSTR": RNG.integers(2000, 2100, N), "sex": ["F", "M"] * (N // 2)})
    )
    assert role(found, "VARSTR")[0] == "dropped"


def test_parts_of_an_identifier_go_with_it():
    """First names under any heading, where full names stand beside them."""
    first = RNG.choice(["ann", "bob", "cid", "dan"], N)
    last = RNG.choice([f"{a}{b}son" for a in "bcdfg" for b in ("ar", "el", "im")], N)
    full = [f"{b.upper()}, {a.title()}" for a, b in zip(first, last, strict=True)]
    found = pm.describe(
        pa.table({"name": full, "v1": first, "v2": last, "sex": ["F", "M"] * (N // 2)})
    )
    assert role(found, "v1") == ("identifier", "it is a part of 'name': dropped with it")
    assert role(found, "v2")[0] == "identifier"
    assert role(found, "sex")[0] == "key"
