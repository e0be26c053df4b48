"""Counts of texts in memory: what the database answers to the same question."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana.engine.base import Condition, Operator, SumsAsked, open_source, sum_name
from pramana.engine.duckdb import grouped_sums
from pramana.engine.local import counted
from pramana.errors import InvalidNumber
from pramana.schema.opened_table import OpenedTable

TEXTS = ("a", "b", "", "missing", "x'y", "é", "1", chr(0) + "z", None)


def kinds(values: list[str | None]) -> list[pa.Array | pa.ChunkedArray]:
    """The same texts in every way that a table may hold them."""
    half = len(values) // 2
    parts = [pa.array(own, pa.string()).dictionary_encode() for own in (values[:half], values)]
    return [
        pa.array(values, pa.string()),
        pa.array(values, pa.large_string()),
        pa.chunked_array([parts[0], parts[1][half:]]),
        pa.array(values, pa.string()).dictionary_encode(null_encoding="encode"),
    ]


def people(records: int, kind: int) -> OpenedTable:
    drawn = np.random.default_rng(records).integers(0, len(TEXTS), (3, records))
    columns = [[TEXTS[at] for at in own] for own in drawn.tolist()]
    return open_source(pa.table([kinds(own)[kind] for own in columns], names=["a", "b", "c"]))


def rows(answer: pa.Table) -> list[str]:
    return sorted(map(repr, answer.to_pylist()))


@pytest.mark.parametrize("records", [1, 2, 200])
@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize(
    "where",
    [
        (),
        (Condition("a", "=", ("b", "x'y")),),
        (Condition("b", "!=", ("", None)), Condition("a", "!=", ("missing",))),
        (Condition("c", "=", (None,)),),
    ],
)
def test_the_database_counts_the_same(
    records: int, kind: int, where: tuple[Condition, ...]
) -> None:
    opened = people(records, kind)
    for columns in (("a",), ("c", "b"), ("a", "b", "c")):
        asked = SumsAsked(columns, where=where)
        ours, theirs = counted(opened, asked), grouped_sums(opened, asked)
        assert ours is not None
        assert ours.schema == theirs.schema
        assert rows(ours) == rows(theirs)


def numbers(records: int) -> OpenedTable:
    """Groups of texts and whole numbers, and numbers to sum up, each missing here and there."""
    random = np.random.default_rng(records)
    gone = random.random((3, records)) < 0.1
    x = np.where(random.random(records) < 0.1, np.nan, random.normal(0, 3, records).round(2))
    columns = {
        "a": [TEXTS[at] for at in random.integers(0, len(TEXTS), records)],
        "i": pa.array(random.integers(-2, 3, records), pa.int16(), mask=gone[0]),
        "x": pa.array(x, mask=gone[1]),
        "u": pa.array(random.integers(0, 9, records), pa.uint8(), mask=gone[2]),
        "w": random.choice([0.5, 1.0, 2.25], records),
    }
    return open_source(pa.table(columns))


def by_group(answer: pa.Table, columns: tuple[str, ...]) -> dict[str, float]:
    """Every sum, by the values of its group and by its name."""
    return {
        repr([row[own] for own in columns] + [name]): row[name]
        for row in answer.to_pylist()
        for name in answer.column_names[len(columns) :]
    }


BEYOND = [None, *(Condition("x", own, (0.5,)) for own in ("=", "!=", "<", "<=", ">", ">="))]


@pytest.mark.parametrize("records", [2, 200])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("value", [None, "x", "u"])
@pytest.mark.parametrize(
    "where",
    [
        (),
        (Condition("i", "=", (1, "-2")),),
        (Condition("i", "!=", (0, None)), Condition("a", "!=", ("b",))),
        (Condition("i", "<", (1,)), Condition("i", ">=", ("-1",))),
        (Condition("i", "<=", (0.5,)), Condition("i", ">", (-5,))),
    ],
)
def test_the_database_sums_up_the_same(
    records: int, weight: str | None, value: str | None, where: tuple[Condition, ...]
) -> None:
    """By no column, by texts, by whole numbers; values, weights, shares beyond a number."""
    opened = numbers(records)
    for columns in ((), ("a",), ("i",), ("i", "a")):
        for beyond in BEYOND if value == "x" and not where else [None]:
            asked = SumsAsked(columns, value=value, weight=weight, where=where, beyond=beyond)
            ours, theirs = counted(opened, asked), grouped_sums(opened, asked)
            if ours is None:  # nobody, and no groups that could be missing from the answer
                assert not columns
                assert theirs.column(sum_name("n")).to_pylist() == [0.0]
                continue
            assert ours.schema == theirs.schema
            assert by_group(ours, columns) == pytest.approx(by_group(theirs, columns), rel=1e-12)


@pytest.mark.parametrize("comparison", ["=", "<"])
def test_a_filter_of_numbers_by_a_word_is_refused_as_the_database_refuses_it(
    comparison: Operator,
) -> None:
    asked = SumsAsked(("a",), where=(Condition("i", comparison, ("many",)),))
    for road in (counted, grouped_sums):
        with pytest.raises(InvalidNumber, match="'i' holds numbers"):
            road(numbers(20), asked)


def test_other_questions_are_left_to_the_database() -> None:
    """Groups and filters of fractions and truth values, weights that are missing."""
    table = pa.table({"a": ["x", "y"], "f": [1.5, 2], "t": [True, False], "w": [1.0, None]})
    opened = open_source(table)
    for asked in (
        SumsAsked(("f",)),
        SumsAsked(("t",)),
        SumsAsked(("a",), value="t"),
        SumsAsked(("a",), weight="w"),
        SumsAsked(("a",), where=(Condition("f", ">", (1,)),)),
        SumsAsked(("a",), where=(Condition("a", ">", ("x",)),)),
        SumsAsked(("a",), where=(Condition("a", "=", ("x",)), Condition("a", ">", ("x",)))),
    ):
        assert counted(opened, asked) is None
    found = counted(opened, SumsAsked(("a",)))
    assert found is not None
    assert found.column(sum_name("n")).to_pylist() == [1.0, 1.0]
