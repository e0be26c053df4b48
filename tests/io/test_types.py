"""Every Arrow type of numbers, truth values and days: what is kept at retention one comes out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.errors import InvalidTable
from pramana.io.opening import open_table
from pramana.schema.codec import decode, encode
from pramana.schema.domains import Bins, Categories
from pramana.schema.schema import Column, Role, Schema

WIDTHS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint16(): (0, 2**16 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
}
EPOCH = dt.date(1970, 1, 1)


def kept(values, kind, domain):
    """The released values of a column of one type, every value kept."""
    schema = Schema((Column("a", Role.KEY, domain), Column("n", Role.SENSITIVE)))
    truth = pa.table({"a": pa.array(values, kind), "n": range(len(values))})
    plan = pm.design(schema, data=truth, method=pm.Retention(retention=1.0))
    table = pm.protect(truth, plan, seed=1).opened.to_arrow().sort_by("n")
    return table["a"].to_pylist()


@given(data=st.data(), kind=st.sampled_from(list(WIDTHS)))
@settings(max_examples=60, deadline=None)
def test_whole_numbers_of_every_width(data, kind):
    """Narrow and wide spans, at both ends of the type, beside a code far away."""
    low, high = WIDTHS[kind]
    ends = st.sampled_from([low, low + 1, 0, 1, high - 1, high])
    numbers = st.one_of(ends, st.integers(max(low, -99), min(high, 99)), st.integers(low, high))
    values = data.draw(st.lists(numbers, min_size=2, max_size=60, unique=True))
    values = data.draw(st.lists(st.sampled_from(values), min_size=70, max_size=90)) + values
    assert kept(values, kind, Categories(tuple(sorted(set(values))))) == values


def test_ages_beside_a_code_for_missing():
    """Ages to 99 and -99 in eight bits: their span does not fit into eight bits."""
    ages = [*range(100), -99] * 20
    for kind in (pa.int8(), pa.int16()):
        assert kept(ages, kind, Categories(tuple(sorted(set(ages))))) == ages


@given(
    values=st.lists(st.integers(-500, 500), min_size=2, max_size=40, unique=True),
    kind=st.sampled_from([pa.float16(), pa.float32(), pa.float64()]),
)
@settings(max_examples=30, deadline=None)
def test_floating_numbers_of_every_width(values, kind):
    """Quarters are exact in all of them."""
    quarters = [value / 4 for value in values]
    assert kept(quarters, kind, Categories(tuple(sorted(set(quarters))))) == quarters


@given(values=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=40, unique=True))
@settings(max_examples=20, deadline=None)
def test_decimal_numbers(values):
    """With and without places after the point."""
    whole = tuple(sorted(set(values)))
    assert kept([Decimal(v) for v in values], pa.decimal128(12, 0), Categories(whole)) == values
    parts = [Decimal(value) / 4 for value in values]
    labels = tuple(sorted({float(part) for part in parts}))
    assert kept(parts, pa.decimal128(12, 2), Categories(labels)) == parts


@given(days=st.lists(st.integers(-40000, 40000), min_size=2, max_size=40, unique=True))
@settings(max_examples=20, deadline=None)
def test_days_and_truth_values(days):
    """Days as days, truth as truth."""
    dates = [EPOCH + dt.timedelta(days=day) for day in days]
    labels = tuple(sorted({date.isoformat() for date in dates}))
    for kind in (pa.date32(), pa.date64()):
        assert kept(dates, kind, Categories(labels)) == dates
    truths = [day % 2 == 0 for day in days]
    assert kept(truths, pa.bool_(), Categories((False, True))) == truths


@given(data=st.data(), kind=st.sampled_from(list(WIDTHS)))
@settings(max_examples=80, deadline=None)
def test_bins_hold_what_lies_between_their_edges(data, kind):
    """Exactly, also where a floating number could not tell a value from an edge."""
    low, high = WIDTHS[kind]
    edge = data.draw(st.sampled_from([0, 100, 2**14, 2**54, 2**62]))
    edge = edge if low + 1 < edge < high - 1 else 1
    near = [edge - 1, edge, edge + 1]
    column = Column("a", Role.KEY, Bins((low, edge, high)))
    assert encode(column, pa.array(near, kind)).tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", WIDTHS)
def test_numbers_drawn_inside_bins_are_whole_behind_a_dictionary_too(kind):
    """What a column was kept in tells nothing: the same whole numbers come out."""
    column = Column("a", Role.KEY, Bins((0, 9, 100), release="draw"))
    codes, words = np.array([0, 1, 1]), np.array([1, 2**60, 2**63], np.uint64)
    plain = decode(column, codes, words, like=kind)
    assert decode(column, codes, words, like=pa.dictionary(pa.int8(), kind)).equals(plain)
    assert pa.types.is_integer(plain.type)


def test_extension_types_are_refused_by_name():
    """They have values of their own making: nothing counts or sorts them."""
    table = pa.table({"u": pa.array([b"0" * 16], pa.binary(16)).cast(pa.uuid())})
    with pytest.raises(InvalidTable, match="'u' holds values of an extension type"):
        open_table(table)
