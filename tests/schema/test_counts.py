"""Counts: cells that occur, margins, the dense form, batches, and tables too large to write out."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidTable, TooLarge, UnknownColumn
from pramana.schema.joint_cells import DENSE_LIMIT, Counter, Counts

NAMES = ("a", "b", "c")
SMALL, LARGE, HUGE = (2, 3, 4), (70_000, 300, 4), (2**32, 2**31, 5)


def test_counts_by_hand():
    """Three records in two cells."""
    codes = [np.array([1, 0, 1], np.uint8), np.array([2, 0, 2], np.uint8)]
    counts = Counts.of_codes(("sex", "age"), (("F", "M"), (20, 30, 40)), codes)

    assert counts.cells.tolist() == [[0, 0], [1, 2]]
    assert counts.numbers.tolist() == [1, 2]
    assert counts.total == 3
    assert counts.dense().tolist() == [[1, 0, 0], [0, 0, 2]]


records = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), max_size=40)


@given(records, st.integers(0, 40))
def test_every_way_of_counting_agrees(rows, cut):
    """Dense and sparse keys, and any split into batches, equal a tally in Python."""
    cut = min(cut, len(rows))
    table = np.array(rows, dtype=np.uint8).reshape(-1, 3)
    tally = sorted(Tally(rows).items())
    batches = [list(part.T) for part in (table[:cut], table[cut:])]

    for sizes in (SMALL, LARGE):
        counter = Counter(NAMES, [tuple(range(size)) for size in sizes])
        for batch in batches:
            counter.add(batch)
        counts = counter.result()
        assert [tuple(cell) for cell in counts.cells.tolist()] == [cell for cell, _ in tally]
        assert counts.numbers.tolist() == [number for _, number in tally]


def test_more_combinations_than_integers_hold():
    """2**32 x 2**31 x 5 combinations: keys are bytes, in the same order."""
    rng = np.random.default_rng(1)
    codes = [rng.choice([0, 3, size - 1], 200).astype(np.uint32) for size in HUGE]
    counter = Counter(NAMES, (("x",),) * 3)
    counter._sizes, counter._dense = list(HUGE), None
    counter.add([column[:90] for column in codes])
    counter.add([column[90:] for column in codes])
    counts = counter.result()

    tally = sorted(Tally(zip(*(column.tolist() for column in codes), strict=True)).items())
    assert [tuple(cell) for cell in counts.cells.tolist()] == [cell for cell, _ in tally]
    assert counts.numbers.tolist() == [number for _, number in tally]


@given(records)
def test_a_margin_is_a_sum_of_the_dense_table(rows):
    """Second road: summing axes, also in another order of columns."""
    codes = list(np.array(rows, dtype=np.uint8).reshape(-1, 3).T)
    counts = Counts.of_codes(NAMES, [tuple(range(size)) for size in SMALL], codes)

    assert (counts.margin("b").dense() == counts.dense().sum(axis=(0, 2))).all()
    assert (counts.margin("c", "a").dense() == counts.dense().sum(axis=1).T).all()
    assert counts.margin(*NAMES) == counts
    assert counts.margin("a").total == counts.total


@given(records)
def test_dense_and_back(rows):
    """from_dense undoes dense."""
    codes = list(np.array(rows, dtype=np.uint8).reshape(-1, 3).T)
    counts = Counts.of_codes(NAMES, [tuple(range(size)) for size in SMALL], codes)

    assert Counts.from_dense(counts.columns, counts.labels, counts.dense()) == counts


def test_margins_of_large_tables_keep_numbers():
    """Sums of sparse cells, without writing the table out."""
    labels = [tuple(range(size)) for size in LARGE]
    codes = [np.array([5, 69_999, 5, 5], np.uint32), np.array([7, 299, 7, 8]), np.zeros(4, int)]
    counts = Counts.of_codes(NAMES, labels, codes)

    pair = counts.margin("a", "b")
    assert pair.cells.tolist() == [[5, 7], [5, 8], [69_999, 299]]
    assert pair.numbers.tolist() == [2, 1, 1]


def test_no_records_is_an_empty_table():
    """In both ways of counting."""
    for sizes in (SMALL, LARGE):
        none = [np.zeros(0, np.uint8)] * 3
        counts = Counts.of_codes(NAMES, [tuple(range(size)) for size in sizes], none)
        assert counts.total == 0
        assert counts.cells.shape == (0, 3)


def test_many_batches_of_a_large_table_are_merged_on_the_way(monkeypatch):
    """Memory follows the cells that occur: parts are merged once they outgrow the limit."""
    counter = Counter(NAMES, [tuple(range(size)) for size in LARGE])
    monkeypatch.setattr("pramana.schema.joint_cells.DENSE_LIMIT", 10)
    for _ in range(20):
        counter.add([np.arange(5), np.arange(5), np.zeros(5, int)])
        assert len(counter._parts) <= 5
    assert counter.result().numbers.tolist() == [20] * 5


def test_refusals():
    """Too many cells to write out, unknown columns, shapes that do not fit, no columns."""
    labels = [tuple(range(size)) for size in LARGE]
    counts = Counts.of_codes(NAMES, labels, [np.zeros(1, int)] * 3)
    with pytest.raises(TooLarge, match="84,000,000 cells"):
        counts.dense()
    assert DENSE_LIMIT < 84_000_000
    with pytest.raises(UnknownColumn, match="not d"):
        counts.margin("d")
    with pytest.raises(InvalidTable, match="3 columns"):
        Counts(NAMES, tuple(labels), np.zeros((1, 2), int), np.zeros(1, np.int64))
    with pytest.raises(InvalidTable, match="3 columns are counted, got 1"):
        Counter(NAMES, labels).add([np.zeros(1, int)])
    with pytest.raises(InvalidTable, match="at least one column"):
        counts.margin()


def test_counts_cannot_be_changed():
    """They are values: arrays are read-only, equality is by content."""
    one, two = (Counts.of_codes(("a",), (("x", "y"),), [np.array([0, 1, 1])]) for _ in range(2))

    assert one == two
    assert hash(one) == hash(two)
    assert one != Counts.of_codes(("a",), (("x", "y"),), [np.array([0, 0, 1])])
    with pytest.raises(ValueError, match="read-only"):
        one.numbers[0] = 5
