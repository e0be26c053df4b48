"""Counts of texts in memory: what the database answers to the same question."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pramana.engines.choose import open_source
from pramana.engines.duckdb.sums import grouped_sums
from pramana.engines.local.counts import counted
from pramana.engines.sums import Condition, SumsAsked, sum_name
from pramana.table.opened import OpenedTable

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


def test_other_questions_are_left_to_the_database() -> None:
    """Numbers, weights, values, comparisons and tables without groups."""
    table = pa.table({"a": ["x", "y"], "n": [1, 2]})
    opened = open_source(table)
    for asked in (
        SumsAsked(("n",)),
        SumsAsked(()),
        SumsAsked(("a",), value="n"),
        SumsAsked(("a",), weight="n"),
        SumsAsked(("a",), where=(Condition("n", ">", (1,)),)),
        SumsAsked(("a",), where=(Condition("a", ">", ("x",)),)),
    ):
        assert counted(opened, asked) is None
    found = counted(opened, SumsAsked(("a",)))
    assert found is not None
    assert found.column(sum_name("n")).to_pylist() == [1.0, 1.0]
