"""Describing as an expert would: what follows from what, households, codes, few keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import pramana as pm
from pramana.formats.opening import open_table
from pramana.table.relations import Follows, following, standing_together
from pramana.table.tally import tally

RNG = np.random.default_rng(4)
N = 2_000


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
        "density": Follows("density", "area", both=True),
        "group": Follows("group", "age", both=False),
    }
    described = pm.describe(table)
    roles = {column.name: str(column.role) for column in described.columns}
    assert roles["density"] == roles["group"] == "identifier"
    assert roles["area"] == roles["age"] == "key"
    assert "follows from 'age'" in described.profiles[3].why


def test_one_exception_is_enough_to_follow_no_more():
    """Also where it stands after the records that are looked at first."""
    n = 25_000
    age = RNG.integers(0, 90, n)
    group = age // 10
    group[-1] = (group[-1] + 1) % 9
    table, seen = opened(age=age, group=group)
    assert following(table, seen) == {}


def test_households_are_known_by_how_records_stand():
    """Values that stand together, a few records each; shuffled they say nothing."""
    household = np.repeat(np.arange(700), RNG.integers(1, 6, 700))
    mixed = RNG.permutation(household)
    table, seen = opened(a=household, b=mixed)
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
    assert all("not among the 8" in profile.why for profile in others)
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
