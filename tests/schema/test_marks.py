"""Marks of columns: the same for the same values in the same places, however they are cut."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pramana.errors import InvalidTable
from pramana.schema.opened_table import OpenedTable, mark_of, placed, steady

COLUMNS = {
    "text": pa.array(["", "a", None, "ab", "ba", "a" * 2000] * 50),
    "dictionary": pa.array(["x", None, "y", "x", "", "z"] * 50).dictionary_encode(),
    "large": pa.array(["x", None, "y"] * 100, pa.large_string()),
    "int8": pa.array([1, None, -3] * 100, pa.int8()),
    "uint64": pa.array([1, None, 2**64 - 1] * 100, pa.uint64()),
    "float": pa.array([1.5, None, float("nan")] * 100),
    "half": pa.array([1.5, None, 2.0] * 100, pa.float32()),
    "bool": pa.array([True, None, False] * 100),
    "date": pa.array([dt.date(2020, 1, 1), None, dt.date(1960, 5, 5)] * 100),
    "time": pa.array([dt.datetime(2020, 1, 1, 3), None, dt.datetime(1960, 5, 5)] * 100),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("2.25")] * 100, pa.decimal128(10, 2)),
    "binary": pa.array([b"\x00", None, b""] * 100),
    "null": pa.nulls(300),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_mark_does_not_depend_on_how_records_are_cut(name):
    """Slices add up, in any order; what lies below a missing value does not count."""
    values = COLUMNS[name]
    cuts = [(200, 100), (0, 7), (7, 193)]
    parts = sum(mark_of(values.slice(at, number), at) for at, number in cuts)
    assert parts % 2**64 == mark_of(values, 0)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "null"])
def test_another_value_or_another_place_is_another_mark(name):
    """One value changed, two exchanged, one missing."""
    values = COLUMNS[name]
    rows = np.arange(len(values))
    for at, other in ((0, 1), (1, 0), (3, 2)):
        changed = rows.copy()
        changed[at] = other
        exchanged = rows.copy()
        exchanged[[at, other]] = exchanged[[other, at]]
        for order in (changed, exchanged):
            assert mark_of(values.take(pa.array(order)), 0) != mark_of(values, 0)


def test_texts_and_dictionaries_of_the_same_values_have_one_mark():
    """And 8-bit integers that of 64-bit ones: types may follow the schema."""
    text = COLUMNS["text"]
    assert mark_of(text.dictionary_encode(), 3) == mark_of(text, 3)
    assert mark_of(COLUMNS["int8"].cast(pa.int64()), 0) == mark_of(COLUMNS["int8"], 0)
    assert mark_of(COLUMNS["half"].cast(pa.float64()), 0) == mark_of(COLUMNS["half"], 0)


def test_a_table_that_answers_otherwise_is_refused_at_the_end_of_the_second_pass():
    """As many records as before, one of them another; a pass over other columns says nothing."""
    answers = iter([["a", "b"], ["a", "b"], ["a", "c"]])
    schema = pa.schema([("x", pa.string()), ("y", pa.int64())])

    def parts(columns):
        full = pa.table({"x": next(answers), "y": [1, 2]}).select(list(columns))
        return placed(full.to_batches(max_chunksize=1))

    table = steady(OpenedTable(schema, 2, "frame", None, parts))
    assert table.to_arrow(["x"])["x"].to_pylist() == ["a", "b"]
    assert table.to_arrow(["y"]).num_rows == 2
    with pytest.raises(InvalidTable, match="'x' held others"):
        table.to_arrow(["x", "y"])
