"""Names of columns are numbered where two are the same."""

from __future__ import annotations

import time

from pramana.formats.names import numbered_names


def test_tens_of_thousands_of_columns_of_one_name_take_a_moment():
    """A damaged text may have them; each looked at all before it, and 306 bytes took minutes."""
    begin = time.process_time()
    made = numbered_names(["a", "a_3"] * 20_000)
    assert time.process_time() - begin < 5
    assert len(set(made)) == len(made) == 40_000
    assert made[:4] == ("a", "a_3", "a_2", "a_3_2")
    assert made[4] == "a_4"
