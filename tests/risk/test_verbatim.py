"""Records that stand in a release word for word: by hand, by counting, at scale, and in words."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.base.rounding import SHARES, share_up
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.io.opening import open_table
from pramana.risk.unchanged import (
    UnchangedRecords,
    measure_unchanged,
    numbers_of,
    unchanged_of,
)
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("id", Role.IDENTIFIER),
        Column("sex", Role.KEY, Categories(("F", "M")), missing="category"),
        Column("age", Role.KEY, Bins((0.0, 30.0, 60.0))),
        Column("income", Role.SENSITIVE),
        Column("town", Role.PUBLIC),
    )
)


def table(rows, *, released=False):
    """Rows of sex, age, income, town as a table; a release has no identifiers."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    made = {
        "sex": pa.array(columns[0], pa.string()),
        "age": pa.array(columns[1], pa.string() if released else pa.int64()),
        "income": pa.array(columns[2], pa.float64()),
        "town": pa.array(columns[3], pa.string()),
    }
    return open_table(pa.table(made if released else {"id": list(range(len(rows))), **made}))


def test_by_hand():
    """Ages stand in their bins; two alike in the truth and one in the release are one pair."""
    young, old = SCHEMA.column("age").labels[:2]
    truth = table([("F", 20, 1, "a"), ("F", 25, 1, "a"), ("M", 40, 2, None), ("M", 41, None, "b")])
    released = table(
        [("F", young, 1, "a"), ("M", old, 2, None), ("F", old, None, "b"), ("M", young, 2, None)],
        released=True,
    )

    assert measure_unchanged(SCHEMA, truth, released) == UnchangedRecords(4, 2, 2, 1)


values = st.lists(
    st.tuples(
        st.sampled_from(["F", "M", None]),
        st.integers(0, 1),
        st.sampled_from([0.0, -0.0, 1.5, 2.0, None]),
        st.sampled_from(["a", "b", "", None]),
    ),
    min_size=1,
    max_size=30,
)


@given(values, values)
def test_the_same_as_counting_records(one, two):
    """A second road: tuples in a counter."""
    labels = SCHEMA.column("age").labels
    truth = table([(s, 15 if a == 0 else 45, i, t) for s, a, i, t in one])
    released = table([(s, labels[a], i, t) for s, a, i, t in two], released=True)
    own, seen = Counter(one), Counter(two)
    alone = [record for record, times in own.items() if times == 1]

    found = measure_unchanged(SCHEMA, truth, released)

    assert found == UnchangedRecords(
        len(one),
        sum(min(times, seen[record]) for record, times in own.items()),
        len(alone),
        sum(seen[record] > 0 for record in alone),
    )


def test_records_that_swap_their_values_are_others():
    """A sum of numbers a value tells which column a value stands in."""
    keys = tuple(Column(name, Role.KEY, Categories(tuple(range(50)))) for name in "xyz")
    cells = np.stack(np.meshgrid(*[np.arange(50)] * 3), axis=-1).reshape(-1, 3)
    batch = pa.record_batch({name: cells[:, at] for at, name in enumerate("xyz")})

    assert len(set(numbers_of(keys, batch, released=False).tolist())) == 50**3


def test_how_a_value_is_stored_does_not_matter():
    """Integers, floats, dictionaries and chunks of equal values are equal."""
    schema = Schema((Column("a", Role.SENSITIVE), Column("b", Role.SENSITIVE)))
    one = pa.table({"a": pa.array([1, 2, None], pa.int16()), "b": ["x", "y", None]})
    two = pa.table(
        {
            "a": pa.chunked_array([[None], [2.0, 1.0]], pa.float32()),
            "b": pa.array([None, "y", "x"]).dictionary_encode(),
        }
    )

    found = measure_unchanged(schema, open_table(one), open_table(two))

    assert (found.matched, found.uniques_matched) == (3, 3)


def test_a_sample_by_number_estimates_the_same_shares():
    """Half of the records are copied: 20,000 of a million pairs show it within 5 standard errors.

    Seed fixed; error level below 1e-6.
    """
    schema = Schema((Column("a", Role.SENSITIVE),))
    numbers = np.arange(1_000_000)
    changed = np.where(numbers % 2 == 0, numbers, -1 - numbers)

    found = measure_unchanged(
        schema,
        open_table(pa.table({"a": numbers})),
        open_table(pa.table({"a": changed})),
        most=20_000,
    )

    assert found.records == pytest.approx(20_000, abs=5 * 20_000**0.5)
    assert found.unique_share == pytest.approx(0.5, abs=5 * 0.5 / 20_000**0.5)


def test_millions_of_records_take_seconds():
    """One number a record: two million records with three columns well within ten seconds."""
    rng = np.random.default_rng(1)
    schema = Schema(tuple(Column(name, Role.SENSITIVE) for name in "abc"))
    made = pa.table({name: rng.integers(0, 1000, 2_000_000) for name in "abc"})

    start = time.process_time()
    found = measure_unchanged(schema, open_table(made), open_table(made))

    assert time.process_time() - start < 10
    assert found.share == found.unique_share == 1


@given(st.integers(0, 100), st.integers(0, 100))
def test_what_is_published_is_never_below_what_was_measured(found, uniques_matched):
    """Rounded outward, to the next step of the grid."""
    seen = UnchangedRecords(100, found, 100, uniques_matched)

    assert seen.coarse[0] >= seen.share
    assert seen.coarse[1] >= seen.unique_share
    assert set(seen.coarse) <= set(SHARES)
    public = seen.public()
    assert (public["records_at_most"], public["unique_records_at_most"]) == seen.coarse


def test_a_reader_of_one_in_k_is_warned_above_it():
    """1/k, xi, alpha; promises that say nothing about linking suggest nothing."""
    seen = UnchangedRecords(1000, 300, 100, 30)

    assert KAnonymity(k=5).suggests == pytest.approx(0.2)
    assert CorrectMatch(xi=0.5).suggests == 0.5
    assert DifferentialPrivacy(epsilon=1.0).suggests is None
    assert "30 %" in str(seen.warning(0.2))
    assert seen.warning(0.3) is None
    assert seen.warning(None) is None


def test_nothing_to_compare():
    """The limit case of no records: shares of nothing are nothing."""
    nothing = unchanged_of(np.zeros(0, np.uint64), np.zeros(0, np.uint64))

    assert nothing.share == nothing.unique_share == 0


def test_one_count_is_no_bound_on_the_average():
    """What is published says "at most": with room for what chance left out of this count."""
    counted = UnchangedRecords(records=10_000, matched=4_000, uniques=10_000, uniques_matched=0)
    assert counted.coarse == (share_up(0.4 + 0.0379 + 0.0036), share_up(0.0036))
    assert min(counted.coarse) > 0
    assert replace(counted, uniques=0).coarse[1] == 1.0


def test_a_share_far_above_the_average_is_no_chance():
    """Six standard deviations are; a hundred of them are not."""
    assert UnchangedRecords(10_000, 4_300, 10_000, 4_300).within((0.4, 0.4))
    assert not UnchangedRecords(10_000, 4_500, 10_000, 4_300).within((0.4, 0.4))
    assert not UnchangedRecords(10_000, 4_300, 10_000, 4_500).within((0.4, 0.4))
    assert UnchangedRecords(5, 5, 0, 0).within((0.0, 0.0))  # of five records nothing can be said
