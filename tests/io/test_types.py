"""Every Arrow type of numbers, truth values and days: what is kept at retention one comes out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.errors import InvalidTable
from pramana.io.opening import open_table
from pramana.schema.codec import encode
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

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
    table = pm.protect(truth, plan, seed=1, accept_risk=["n"]).opened.to_arrow().sort_by("n")
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
    """Days as their texts, for the schema lists texts; truth as truth."""
    dates = [EPOCH + dt.timedelta(days=day) for day in days]
    labels = tuple(sorted({date.isoformat() for date in dates}))
    for kind in (pa.date32(), pa.date64()):
        assert kept(dates, kind, Categories(labels)) == [date.isoformat() for date in dates]
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


@pytest.mark.parametrize("release", ["label", "centre", "draw"])
def test_the_original_type_leaves_no_trace_in_bins(release):
    """Whole numbers, fractions, texts or a gap in the original: released types are the same."""
    columns = [
        pa.array([1, 50, 9, 70], pa.int16()),
        pa.array([1, 50, 9, 7.5]),
        pa.array(["1", "50", "9", "70"]),
        pa.array([1, 50, 9, None]),
        pa.array([1, 50, 9, 70]).dictionary_encode(),
    ]
    released = [released_table(a, Bins((0, 9, 100), release=release)).schema for a in columns]
    assert all(schema.equals(released[0], check_metadata=True) for schema in released)


@pytest.mark.parametrize("labels", [(1, 2, 3), ("1", "2", "3"), (1, 2.5, 3), (1, 2, 3, "N")])
def test_the_original_type_leaves_no_trace_in_categories(labels):
    """One missing value, or one letter among numbers, changes the type of the original only."""
    columns = [pa.array([1, 3, 1, 3]), pa.array([1, 3, None, 3.0]), pa.array(["1", "3", "1", "3"])]
    columns += [pa.array(["1", "3", "1", "N"])] if "N" in labels else []
    released = [released_table(a, Categories(labels)).schema for a in columns]
    assert all(schema.equals(released[0], check_metadata=True) for schema in released)


def released_table(values, domain):
    """The release of one key, randomised for epsilon 1; a missing value is one more value."""
    schema = Schema((Column("a", Role.KEY, domain, missing="category"),))
    truth = pa.table({"a": values})
    plan = pm.design(schema, pm.DifferentialPrivacy(epsilon=1), data=truth)
    return pm.protect(truth, plan, seed=1).opened.to_arrow()


def test_codes_with_a_zero_before_them_stay_apart_from_numbers():
    """Categories 1, 2 and 02 as texts beside integers: 2 is not 02, and 2 is what comes back."""
    truth = [1, 2] * 50
    assert kept(truth, pa.int64(), Categories(("1", "2", "02"))) == [str(v) for v in truth]


def test_extension_types_are_refused_by_name():
    """They have values of their own making: nothing counts or sorts them."""
    table = pa.table({"u": pa.array([b"0" * 16], pa.binary(16)).cast(pa.uuid())})
    with pytest.raises(InvalidTable, match="'u' holds values of an extension type"):
        open_table(table)
