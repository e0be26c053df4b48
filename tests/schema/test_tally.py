"""Counting values."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.io.opening import open_table
from pramana.schema import tally as module
from pramana.schema.tally import tally


def test_values_are_counted_by_kind():
    """Missing is counted apart, nan included; dates become text."""
    table = pa.table(
        {
            "text": ["b", "a", None, "b"],
            "coded": pa.array(["b", "a", None, "b"]).dictionary_encode(),
            "whole": pa.array([3, None, 1, 3], pa.int8()),
            "real": [0.5, float("nan"), None, 0.5],
            "truth": [True, False, True, None],
            "day": [dt.date(2020, 1, 1), None, dt.date(2019, 1, 1), dt.date(2020, 1, 1)],
            "none": pa.nulls(4),
        }
    )
    seen = tally(open_table(table))
    found = {n: (t.kind, t.labels(), t.missing) for n, t in seen.items()}
    assert found == {
        "text": ("text", ("a", "b"), 1),
        "coded": ("text", ("a", "b"), 1),
        "whole": ("integer", (1, 3), 1),
        "real": ("number", (0.5,), 2),
        "truth": ("truth", (False, True), 1),
        "day": ("date", ("2019-01-01", "2020-01-01"), 1),
        "none": ("none", (), 4),
    }
    assert (seen["whole"].lowest, seen["whole"].highest) == (1, 3)


def test_ordered_categories_keep_their_order_and_those_unseen():
    """Where the type says that there is an order."""
    frame = pd.DataFrame(
        {"a": pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True)}
    )
    assert tally(open_table(frame))["a"].labels() == ("low", "mid", "high")


@given(st.lists(st.lists(st.none() | st.sampled_from("abcdef"), max_size=30), min_size=1))
def test_batches_add_up_to_the_whole(parts):
    """Against the counter of the standard library."""
    values = [value for part in parts for value in part]
    if not values:
        values, parts = ["a"], [["a"]]
    table = pa.table({"v": pa.chunked_array(parts, pa.string())})
    seen = tally(open_table(table))["v"]
    expected = Counter(value for value in values if value is not None)
    assert dict(zip(seen.values.to_pylist(), seen.numbers.tolist(), strict=True)) == expected
    assert seen.missing == values.count(None)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_counting_is_given_up_beyond_a_limit(monkeypatch, kind):
    """The number is then a lower bound, and says so; missing values are counted on."""
    monkeypatch.setattr(module, "MOST_VALUES", 1_000)
    monkeypatch.setattr(module, "COMPACT", 500)
    array = pa.concat_arrays([pa.array(range(5_000)), pa.nulls(5, pa.int64())]).cast(kind)
    table = pa.Table.from_batches(
        [pa.record_batch({"v": array.slice(i, 100)}) for i in range(0, 5_005, 100)]
    )
    seen = tally(open_table(table))["v"]
    assert not seen.complete
    assert 1_000 < seen.distinct < 5_000
    assert seen.missing == 5
    if kind == pa.int64():
        assert (seen.lowest, seen.highest) == (0, 4_999)
