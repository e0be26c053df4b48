"""Codes that look missing, and values that too few hold: found, counted, with reasons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pramana as pm
from pramana.io.opening import open_table
from pramana.schema.domains import Categories
from pramana.schema.suggestions import Suspect, looks_missing, merge_of_rare, top_of
from pramana.schema.tally import tally


def seen(values):
    return tally(open_table(pa.table({"v": values})))["v"]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["a", "?", "?"], [Suspect("?", 2, "a usual spelling of missing values")]),
        (["a", " NA "], [Suspect(" NA ", 1, "a usual spelling of missing values")]),
        (["a", "b"], []),
        ([1, 2, 3, -8, -8, -9], [Suspect(-8, 2, "the only numbers below zero"),
                                 Suspect(-9, 1, "the only numbers below zero")]),
        ([*range(13), 99, 99], [Suspect(99, 2, "is far from the others, above 12")]),
        ([1, 2, 3, 9], [Suspect(9, 1, "is far from the others, above 3")]),
        ([*range(100)], []),
        ([-3, -2, 0, 4], []),
        ([7, 8, 9], []),
        ([1.5, 2.5, 999.0], [Suspect(999.0, 1, "is far from the others, above 2.5")]),
    ],
)  # fmt: skip
def test_codes_that_look_missing_have_counts_and_reasons(values, found):
    """Spelled so, below zero, or far above all others; plain values are left alone."""
    assert looks_missing(seen(values)) == found


def test_a_code_that_keeps_numbers_from_being_numbers_is_taken_out():
    """Also in a column of two numbers, once another column has told the code."""
    rng = np.random.default_rng(1)
    income = ["N", *map(str, rng.integers(0, 9_000, 400))]
    table = pa.table(
        {"pincp": income, "dphy": ["1", "2", "N", *["1"] * 398], "grade": ["A1"] * 401}
    )
    found = pm.describe(table)
    profile = found.profiles[0]

    assert found.column("pincp").recoding.missing_codes == ("N",)
    assert found.column("dphy").recoding == pm.Recoding(missing_codes=("N",))
    assert (profile.kind, profile.missing) == ("integer", 1)
    assert "all but 'N' are numbers: taken as missing (1)" in profile.why
    assert not found.column("grade").recoding
    assert pm.Schema.from_toml(found.to_toml()) == found.schema


def test_dates_in_text_become_years(tmp_path):
    """ISO dates in a CSV file are recognised, and cut into bins of years."""
    days = np.datetime64("1940-01-01") + np.arange(0, 20_000, 50)
    path = tmp_path / "people.csv"
    path.write_text("born\n" + "\n".join(map(str, days)))
    found = pm.describe(path)
    assert found.column("born").recoding.date == "year"
    assert found.column("born").role is pm.Role.KEY
    assert isinstance(found.column("born").domain, pm.Bins)


def test_merging_is_suggested_where_too_few_hold_a_value():
    """Rare values go together, with the next one until k hold them; never all of them."""
    some = seen(["a"] * 9 + ["b"] * 6 + ["c"] * 2 + ["d"])
    domain = Categories(("a", "b", "c", "d"))
    assert merge_of_rare(some, domain, 3) == (2, {"other": ("c", "d")})
    assert merge_of_rare(some, domain, 5) == (2, {"other": ("b", "c", "d")})
    assert merge_of_rare(some, domain, 1) is None
    assert merge_of_rare(seen(["a", "b"]), Categories(("a", "b")), 5) is None


def test_a_top_code_is_a_round_number_that_k_reach():
    """And is not suggested where k hold the highest value anyway."""
    assert top_of(seen(list(range(1_000))), 5) == 990
    assert top_of(seen([*range(100), *[500] * 5]), 5) is None


def test_rare_numbers_are_merged_with_their_neighbours():
    """The tail becomes one category, a gap in the middle goes to a neighbour; never "other"."""
    values = [*[1] * 9, *[2] * 2, *[3] * 8, *[4] * 7, 5, 5, 6, 7, 12]
    domain = Categories(tuple(sorted(set(values))))
    rare, merged = merge_of_rare(seen(values), domain, 5, ordered=True)
    assert rare == 5
    assert merged == {"2 to 3": (2, 3), "5+": (5, 6, 7, 12)}
    assert merge_of_rare(seen([1, 2, 2]), Categories((1, 2)), 5, ordered=True) is None

    (profile,) = pm.describe(pa.table({"children": values}), keys=["children"], k=5).profiles
    assert profile.proposals[0][0] == 'merge = {"2 to 3" = [2, 3], "5+" = [5, 6, 7, 12]}'
