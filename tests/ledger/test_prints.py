"""By what columns are known again."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pramana.engine.base import open_source
from pramana.ledger import fingerprints as prints
from pramana.ledger.fingerprints import ColumnPrint, _Column, table_prints

KEY = b"a key of thirty-two bytes, or so"


def printed(values: object, kind: pa.DataType | None = None, name: str = "a") -> ColumnPrint:
    """The fingerprints of one column."""
    table = pa.table({name: pa.array(values, kind)})
    return table_prints(open_source(table), key=KEY).columns[name]


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
    assert len(whole.sample) == 1024
    assert whole.overlaps(printed(numbers[::-1]), in_doubt=False)
    assert whole.overlaps(printed(numbers[:2000]), in_doubt=False)
    assert whole.same_people(printed(numbers[:3900]))
    assert not whole.overlaps(printed(numbers + 10**7), in_doubt=True)
    assert not whole.same_people(printed(numbers + 10**7))


@pytest.mark.parametrize("people", [3, 20, 100, 128, 129, 500, 1024, 1025, 1500])
def test_people_are_known_again_though_one_leaves(people):
    """Tables of any size, also where the sample holds all values; other people are not."""
    numbers = np.random.default_rng(people).permutation(10**6)[:people]
    assert printed(numbers).same_people(printed(numbers[1:]))
    assert printed(numbers[1:]).same_people(printed(numbers))
    assert not printed(numbers).same_people(printed(numbers + 10**7))


@pytest.mark.parametrize("values", [16, 100, 127, 128, 129, 130, 1023, 1024, 1025, 3000])
def test_a_column_with_a_value_more_or_less_is_alike(values):
    """Whichever side of any limit the number of its values is on; as many records, or not."""
    rng = np.random.default_rng(values)
    whole = np.concatenate([np.arange(values), rng.integers(0, values, 2 * values)])
    less = np.where(whole == values - 1, 0, whole)
    for same in (True, False):
        assert printed(whole).like(printed(less), same_records=same)
        assert printed(less).like(printed(whole), same_records=same)
    strangers = printed(less + 10**7)
    assert not printed(whole).like(strangers, same_records=True)


def test_a_few_values_beside_very_many_are_another_column():
    """None of the few can be compared; where both are a person's own, one may be a part."""
    many = printed(np.random.default_rng(2).permutation(10**6)[:200_000])
    few = printed(["north", "south", "west"] * 1000)
    assert not many.like(few, same_records=True)
    assert not few.like(many, same_records=False)


@pytest.mark.parametrize("share", [0.01, 0.02, 0.05])
@pytest.mark.deep(every=3)
def test_a_small_part_of_a_large_table_is_known_again(share):
    """A hundredth of it, twenty times: as often as the page on the ledger says."""
    rng = np.random.default_rng(7)
    numbers = rng.permutation(10**6)[:100_000]
    whole = printed(numbers)
    parts = [numbers[rng.permutation(len(numbers))[: int(share * len(numbers))]] for _ in range(20)]
    assert all(whole.same_people(printed(part)) for part in parts)


def test_a_print_is_read_back():
    """Its sample too."""
    one = printed(np.arange(5000))
    assert ColumnPrint.from_json(one.to_json()) == one


def test_rows_are_told_apart_where_columns_are_not():
    """Two people exchange their towns: both columns as before, another table."""
    table = pa.table({"town": ["n", "n", "s", "s"], "income": [10, 21, 3, 45]})
    moved = table.set_column(0, "town", pa.array(["n", "s", "n", "s"]))
    one, other = (table_prints(open_source(t), key=KEY) for t in (table, moved))
    assert one.columns == other.columns
    assert one.rows != other.rows
    again = table_prints(open_source(table.take([3, 1, 0, 2])), key=KEY)
    assert again.rows == one.rows
    towns = [table_prints(open_source(t), ["town"], key=KEY, extra=["income"])
             for t in (table, moved)]  # fmt: skip
    assert towns[0].rows == towns[1].rows
    assert towns[0].with_distinct != towns[1].with_distinct


@pytest.mark.parametrize(
    ("values", "own"),
    [
        ([31, 5, 77, 12], True),
        (["ann", "bob", "eve", None], True),
        (["7f1", "a22", "c93", "035"], True),
        ([31, 5, 77, 31], False),
        ([None, None, 77, 31], False),
        (["x", "X ", "y", "z"], False),
        ([3, 1, 4, 2], False),
        ([3, 1, 4, 7], False),
        ([40.5, 10.5, 30.5, 20.5], False),
        ([0.1, 0.3, 0.2, 0.4], False),
        (["row 3", "row 1", "row 2", "row 4"], False),
        (["0010", "0020", "0040", "0030"], False),
    ],
)
def test_a_column_is_everybodys_own_where_nobody_shares_a_value(values, own):
    """Numbers in equal steps are nobody's: any table can be numbered anew."""
    table = pa.table({"id": values, "town": ["n", "n", "s", "s"]})
    whole = table_prints(open_source(table), ["town"], key=KEY, extra=["id"])
    assert whole.distinct == (("id",) if own else ())
    assert set(whole.with_distinct) == set(whole.distinct)
    parts, merged = _Column(KEY), _Column(KEY)
    parts.add(table["id"].chunk(0).slice(0, 1))
    merged.add(table["id"].chunk(0).slice(1))
    merged.merge(parts)
    assert merged.distinct is own


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
    one, other = (table_prints(table, key=key).columns["a"] for key in (KEY, KEY[::-1]))
    assert one.values != other.values
    assert one.shape != other.shape
    assert not set(one.sample) & set(other.sample)
