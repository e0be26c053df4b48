"""Names of columns are numbered where two are the same."""

from __future__ import annotations

import time

import pytest

from pramana.errors import InvalidTable
from pramana.io.base import numbered_names, require_distinct_names


def test_tens_of_thousands_of_columns_of_one_name_take_a_moment():
    """A damaged text may have them; each looked at all before it, and 306 bytes took minutes."""
    begin = time.process_time()
    made = numbered_names(["a", "a_3"] * 20_000)
    assert time.process_time() - begin < 5
    assert len(set(made)) == len(made) == 40_000
    assert made[:4] == ("a", "a_3", "a_2", "a_3_2")
    assert made[4] == "a_4"


def test_all_names_that_are_there_twice_are_told_or_how_many_more():
    """Each with its number, and what they would be called."""
    told = r"has 'a' 2 times, 'b' 3 times\. .* called a, b, a_2, b_2, b_3\.$"
    with pytest.raises(InvalidTable, match=told):
        require_distinct_names(["a", "b", "a", "c", "b", "b"], where="t.csv", offer=True)
    many = [f"n{number}" for number in range(9)] * 2
    with pytest.raises(InvalidTable, match=r"'n5' 2 times and 3 more\. .*, n5 and 12 more\.$"):
        require_distinct_names(many, where="t.csv", offer=True)
