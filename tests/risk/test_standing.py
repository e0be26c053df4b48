"""Who stands out, counted from codes: against plain counting of the records themselves."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana import Bins, Categories, Column, OutsideDomain, Recoding, Role, Schema
from pramana.evaluation.schema_suggestions import recoding_gains
from pramana.risk.frequencies import UniquenessCounter
from pramana.schema.opened_table import OpenedTable
from pramana.schema.recoded_table import merge_values
from pramana.schema.tally import shapes_of

records = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 9) | st.none(), st.sampled_from("xy")),
    min_size=1,
    max_size=40,
)


def table(rows: list[tuple[str, int | None, str]]) -> OpenedTable:
    names = ("way", "age", "sex")
    return OpenedTable.of_arrow(
        pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    )


WAY = Column("way", Role.KEY, Categories(("a", "b", "c", "d")))
AGE = Column("age", Role.KEY, Bins((0, 5, 10)))
SEX = Column("sex", Role.SENSITIVE)


@given(records)
def test_counts_are_those_of_the_recoded_records(rows: list[tuple[str, int | None, str]]) -> None:
    """Merged, binned, one after the other on the same codes; missing is a value like others."""
    standing = UniquenessCounter(table(rows))
    merged = merge_values(WAY, ["a", "b"], "ab")
    for way, same in ((WAY, lambda own: own), (merged, lambda own: "ab" if own in "ab" else own)):
        for age, cut in ((AGE, 5), (Column("age", Role.KEY), 1)):
            expected = Counter(
                (same(one), None if years is None else years // cut) for one, years, _ in rows
            )
            found = standing.of(Schema((way, age, SEX)))
            assert found.unique == sum(number == 1 for number in expected.values())
            assert found.few == sum(number for number in expected.values() if number < 5)
            assert found.combinations == len(expected)
            assert found.records == len(rows)


def test_values_outside_of_the_bins_are_named_by_their_column_alone() -> None:
    """No cell is told."""
    standing = UniquenessCounter(table([("a", 77, "x")]))
    with pytest.raises(OutsideDomain, match="'age'") as caught:
        standing.of(Schema((AGE,)))
    assert "77" not in str(caught.value)


def test_what_lowers_it_is_counted_as_if_it_were_saved() -> None:
    """Each change carries its schema, and the best stands first."""
    rows = [("abcd"[at % 4], at % 10, "xy"[at % 2]) for at in range(60)]
    standing, schema = UniquenessCounter(table(rows)), Schema((WAY, AGE, SEX))
    found = recoding_gains(standing, schema, table(rows))
    assert [one.unique for one in found] == sorted(one.unique for one in found)
    for one in found:
        assert UniquenessCounter(table(rows)).of(one.schema).unique == one.unique
    assert {one.column for one in found} == {"way", "age"}


@given(records)
def test_bars_hold_every_record_once(rows: list[tuple[str, int | None, str]]) -> None:
    """Bars, other values and missing ones add up to the records."""
    schema = Schema((WAY, AGE, Column("sex", Role.SENSITIVE, recoding=Recoding(merge={"z": "xy"}))))
    for shape in shapes_of(table(rows), schema):
        assert sum(number for _, number in shape.bars) + shape.other + shape.missing == len(rows)
    by_name = {shape.name: dict(shape.bars) for shape in shapes_of(table(rows), schema)}
    assert by_name["way"]["a"] == sum(one == "a" for one, _, _ in rows)
    assert by_name["age"]["[5, 10]"] == sum(y is not None and y >= 5 for _, y, _ in rows)


def test_numbers_are_counted_between_edges_that_can_be_said() -> None:
    """A few values far away leave the others their bars; an edge begins a bar, and all count."""
    incomes = [(100 * at, 10) for at in range(1, 600)] + [(1_400_000, 1), (-90_000, 1)]
    rows = [("a", income, "x") for income, times in incomes for _ in range(times)]
    (shape,) = shapes_of(table(rows), Schema((Column("age", Role.SENSITIVE),)), ["age"])
    bars = dict(shape.bars)
    assert list(bars) == [
        "below 5,000",
        *(f"{low:,} to {low + 5_000:,}" for low in range(5_000, 55_000, 5_000)),
        "55,000 or more",
    ]
    assert bars["5,000 to 10,000"] == 500
    assert sum(bars.values()) == len(rows)


def test_numbers_that_are_one_when_they_are_floating_have_a_bar() -> None:
    """Nineteen digits, one after the other, as services number what is written there."""
    rows = [("a", 1_600_000_000_000_000_000 + at, "x") for at in range(30)]
    (shape,) = shapes_of(table(rows), Schema((Column("age", Role.SENSITIVE),)), ["age"])
    assert sum(number for _, number in shape.bars) == 30


@pytest.mark.parametrize("scale", [1e-310, 1e-20, 0.1, 1.0, 1e15, 1e307])
def test_numbers_of_any_size_have_bars(scale: float) -> None:
    """Each once, and no label is longer than a line."""
    numbers = pa.table({"x": [at * scale for at in range(-15, 16)] + [math.inf, 0.3]})
    schema = Schema((Column("x", Role.SENSITIVE),))
    (shape,) = shapes_of(OpenedTable.of_arrow(numbers), schema)
    assert sum(number for _, number in shape.bars) == 32
    assert all(len(text) < 40 for text, _ in shape.bars)
