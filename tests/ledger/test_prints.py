"""By what columns are known again."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pramana.engines.choose import open_source
from pramana.ledger import prints
from pramana.ledger.prints import ColumnPrint, _Column, column_prints

KEY = b"a key of thirty-two bytes, or so"


def printed(values: object, kind: pa.DataType | None = None, name: str = "a") -> ColumnPrint:
    """The fingerprints of one column."""
    table = pa.table({name: pa.array(values, kind)})
    return column_prints(open_source(table), key=KEY)[name]


SPELLINGS = {
    "whole": ([1, 2, 3, 10], ["01", "2", " 3 ", "1e1"], [1.0, 2.0, 3.0, 10.0]),
    "truth": ([True, False, False], ["True", "FALSE", "false"], [1, 0, 0]),
    "broken": ([0.1, 2.5, -0.3], ["0.10", "2.50", "-.3"], np.float32([0.1, 2.5, -0.3])),
    "exact": ([Decimal("1.50"), Decimal("2")], ["1.5", "2.00"], [1.5, 2.0]),
    "gaps": (["a", None, ""], ["a", "", " "], ["A", None, None]),
    "zeros": ([0.0, -0.0, float("nan")], ["0", "-0", ""], [0, 0, None]),
    "dates": (
        [datetime.date(2020, 1, 2), datetime.date(2021, 3, 4)],
        ["2020-01-02", "2021-03-04"],
        [datetime.datetime(2020, 1, 2), datetime.datetime(2021, 3, 4)],
    ),
    "times": (
        [datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.datetime(2021, 3, 4)],
        ["2020-01-02T03:04:05", "2021-03-04 00:00:00"],
        ["2020-01-02 03:04:05.000", "2021-03-04"],
    ),
    "letters": (["x", "y", "x"], pa.array(["x", "y", "x"]).dictionary_encode(), ["X", "Y ", "x"]),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_a_value_is_one_however_it_is_spelled_ordered_or_called(case):
    """Types, zeros, blanks, capitals, another order, another name."""
    first, *others = SPELLINGS[case]
    for other in others:
        assert printed(other) == printed(first)
        backwards = other.to_pylist() if isinstance(other, pa.Array) else list(other)
        assert printed(backwards[::-1], name="b") == printed(first)


def test_other_values_and_numbers_of_them_are_others():
    """One value, or how often it occurs."""
    same = printed(["x", "y", "y"])
    assert printed(["x", "z", "z"]).values != same.values
    assert printed(["x", "z", "z"]).shape == same.shape  # labels may be changed one by one
    assert printed(["x", "x", "y"]).values != same.values
    assert printed(["x", "y", "y", "y"]).shape != same.shape
    assert printed(["5", "5", "7"]).like(printed(["a", "b", "b"]), same_records=True)


def test_a_column_of_one_value_is_like_no_other():
    """It tells nobody apart; under the same name it is the same."""
    assert not printed(["x"] * 9).like(printed(["y"] * 9, name="b"), same_records=True)
    assert printed(["x"] * 9) == printed(["x"] * 9)


def test_samples_tell_how_much_is_shared():
    """All, most, the half that a part is of, and nothing."""
    numbers = np.random.default_rng(3).permutation(10**6)[:4000]
    whole = printed(numbers)
    assert len(whole.sample) == 128
    assert whole.overlaps(printed(numbers[::-1]))
    assert whole.overlaps(printed(numbers[:2000]))
    assert whole.same_people(printed(numbers[:3900]))
    assert not whole.overlaps(printed(numbers + 10**7))
    assert not whole.same_people(printed(numbers + 10**7))


def test_batches_and_partitions_do_not_matter():
    """Added at once, by parts, or merged; nor does it matter where there are very many values."""
    values = pa.array(np.random.default_rng(4).integers(0, 900, 5000))
    whole, parts, merged = _Column(KEY), _Column(KEY), _Column(KEY)
    whole.add(values)
    for start in range(0, 5000, 100):
        parts.add(values.slice(start, 100))
        one = _Column(KEY)
        one.add(values.slice(start, 100))
        merged.merge(one)
    assert parts.printed("a") == whole.printed("a") == merged.printed("a")


def test_very_many_values_have_no_shape(monkeypatch):
    """They are then like any other column of as many, and their number is estimated."""
    monkeypatch.setattr(prints, "MOST_VALUES", 1000)
    one, other = printed(np.arange(3000)), printed(np.arange(9000) // 3)
    assert one.shape is None is other.shape
    assert one.like(other, same_records=True)
    assert one.unique
    assert not other.unique


def test_nothing_is_told_without_the_key():
    """Another key, other fingerprints, in every part."""
    table = open_source(pa.table({"a": np.arange(500)}))
    one, other = (column_prints(table, key=key)["a"] for key in (KEY, KEY[::-1]))
    assert one.values != other.values
    assert one.shape != other.shape
    assert not set(one.sample) & set(other.sample)
