"""Sample frequencies, with missing values as a value and as a wildcard."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import InvalidNumber, UnknownColumn
from pramana.io.opening import open_table
from pramana.risk.coded_table import CodedTable, EquivalenceClasses
from pramana.risk.frequencies import Frequencies

values = st.sampled_from(["a", "b", "c", None])
rows = st.lists(st.tuples(values, values, values), min_size=1, max_size=25)


def coded(records, names=("x", "y", "z")) -> CodedTable:
    columns = list(zip(*records, strict=True))
    table = pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, columns, strict=True)})
    return CodedTable.of(open_table(table), list(names))


def by_record(found: Frequencies) -> np.ndarray:
    """fk of each record."""
    return found.sample[found.grouping.of_record]


def test_a_table_by_hand():
    """Two alike, one alone; a missing value is alone as a category and fits both as a wildcard."""
    table = coded([("a", "a", "a"), ("a", "a", "a"), ("b", "a", "a"), (None, "a", "a")])

    assert by_record(Frequencies.of(table)).tolist() == [2, 2, 1, 1]
    assert by_record(Frequencies.of(table, missing="wildcard")).tolist() == [3, 3, 2, 4]


@given(rows)
def test_frequencies_equal_a_comparison_of_all_pairs(records):
    """Brute force over pairs of records, for both policies."""
    table = coded(records)
    same = [[sum(a == b for b in records)] for a in records]
    fits = [
        sum(
            all(u == v or u is None or v is None for u, v in zip(a, b, strict=True))
            for b in records
        )
        for a in records
    ]

    assert by_record(Frequencies.of(table)).tolist() == [s[0] for s in same]
    assert by_record(Frequencies.of(table, missing="wildcard")).tolist() == fits


@given(rows, st.integers(1, 5))
def test_violations_count_records(records, k):
    """Records below k are those whose frequency is, and the histogram holds every record."""
    counted = Frequencies.of(coded(records))

    assert counted.below(k) == int((by_record(counted) < k).sum())
    assert sum(counted.histogram().values()) == len(records)


@given(rows)
def test_weights_are_summed_over_who_fits(records):
    """Fk is the sum of weights over the records that fit; it never falls below that of fk's own."""
    weights = np.arange(1.0, len(records) + 1)
    for missing in ("category", "wildcard"):
        counted = Frequencies.of(coded(records), weights=weights, missing=missing)
        fits = [
            sum(
                w
                for w, b in zip(weights, records, strict=True)
                if all(
                    u == v or (missing == "wildcard" and (u is None or v is None))
                    for u, v in zip(a, b, strict=True)
                )
            )
            for a in records
        ]

        assert counted.population[counted.grouping.of_record] == pytest.approx(fits)


def test_grouping_survives_more_combinations_than_integers():
    """Seven columns of a thousand values: 10**21 possible combinations."""
    random = np.random.default_rng(3)
    codes = [random.integers(0, 1000, 300) for _ in range(7)]
    doubled = [np.concatenate([c, c]) for c in codes]

    groups = EquivalenceClasses.of(doubled, [1000] * 7)

    assert (groups.of_record[:300] == groups.of_record[300:]).all()
    assert (groups.numbers == 2).all()
    assert len(groups.numbers) == 300


@pytest.mark.parametrize("sizes", [[3, 4], [3_000_000, 4_000_000]])
def test_both_roads_number_groups_alike(sizes):
    """Few combinations are numbered in an array and many by sorting: the same groups."""
    random = np.random.default_rng(4)
    codes = [random.integers(0, 3, 200), random.integers(0, 4, 200)]

    groups = EquivalenceClasses.of(codes, sizes)

    assert (codes[0][groups.first][groups.of_record] == codes[0]).all()
    assert (codes[1][groups.first][groups.of_record] == codes[1]).all()
    assert groups.numbers.sum() == 200


def test_numbers_text_and_missing_floats_are_coded():
    """nan is missing; a dictionary column is read by its values."""
    table = pa.table(
        {
            "x": pa.array([1.5, float("nan"), None, 1.5]),
            "y": pa.array(list("abab")).dictionary_encode(),
        }
    )
    made = CodedTable.of(open_table(table), ["x", "y"])

    assert made.missing == (1, -1)
    assert made.codes[0].tolist() == [0, 1, 1, 0]


def test_bad_input_is_refused():
    """Unknown and doubled columns, no columns, an unknown policy."""
    table = open_table(pa.table({"x": [1, 2]}))
    with pytest.raises(UnknownColumn, match="no column 'y'"):
        CodedTable.of(table, ["y"])
    with pytest.raises(InvalidNumber, match="named once"):
        CodedTable.of(table, ["x", "x"])
    with pytest.raises(InvalidNumber, match="at least one key"):
        CodedTable.of(table, [])
    with pytest.raises(InvalidNumber, match="category, wildcard"):
        Frequencies.of(CodedTable.of(table, ["x"]), missing="drop")
