"""One question has one answer: a cell of a table is what a filter on its values gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramana as pm
from tests.analysis.releases import SCHEMA, released

UNDONE = ("retention", "attribute-sampling", "optimal")
COLUMNS = ("a", "b", "c", "region", "ill")
FIGURES = ("estimate", "unbiased", "se", "low", "high")


def same(one: dict, other: dict) -> bool:
    """Whether two cells have the same numbers; one that was not shrunk shows ``unbiased`` once."""
    one, other = ({"unbiased": cell["estimate"]} | cell for cell in (one, other))
    return np.allclose([one[name] for name in FIGURES], [other[name] for name in FIGURES])


@st.composite
def questions(draw):
    """A release, the columns of a table, those that are filtered instead, and options."""
    method = draw(st.sampled_from(UNDONE))
    columns = draw(st.permutations(COLUMNS))[: draw(st.integers(1, 3))]
    filtered = draw(st.sets(st.sampled_from(columns), min_size=1))
    options = {
        "infer": draw(st.sampled_from(["records", "population"])),
        "level": draw(st.sampled_from([0.8, 0.95])),
        "method": draw(st.sampled_from(["auto", "unbiased", "shrunk"])),
    }
    return released(method, draw(st.integers(0, 2))), list(columns), sorted(filtered), options


@given(questions(), st.data())
def test_a_cell_of_a_table_is_the_same_question_with_a_filter(question, data):
    """The same estimate, unbiased estimate, error and interval, whichever columns are filtered."""
    release, columns, filtered, options = question
    try:
        table = release.crosstab(*columns, **options)
    except NotImplementedError:
        return  # no report holds the columns together
    if table.method == "model":
        return
    cell = {name: data.draw(st.sampled_from(SCHEMA.column(name).labels)) for name in columns}
    by = [name for name in columns if name not in filtered]
    where = {name: cell[name] for name in filtered}
    asked = release.crosstab(*by, where=where, **options)

    assert asked.method == table.method
    assert same(asked.cell(*(cell[name] for name in by)), table.cell(*cell.values()))


@given(questions(), st.booleans())
def test_numbers_stand_inside_their_own_intervals(question, share):
    """Also unbiased numbers below 0, and shrunken ones far from the unbiased."""
    release, columns, filtered, options = question
    by = [name for name in columns if name not in filtered]
    where = {name: SCHEMA.column(name).labels[-1] for name in filtered}
    try:
        table = release.crosstab(*by, where=where, share=share, **options)
    except (NotImplementedError, ValueError):
        return  # not told by this release, or a share of nobody
    known = ~np.isnan(table.estimate) & ~np.isnan(table.low)

    assert (table.low[known] <= table.estimate[known]).all()
    assert (table.estimate[known] <= table.high[known]).all()


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_a_filter_by_several_values_is_the_sum_of_their_cells(method):
    """And one that leaves a value out is the sum of the others."""
    release = released(method)
    table = release.crosstab("a", "b")
    two = release.crosstab("a", where={"b": ["b0", "b2"]})
    other = release.crosstab("a", where=["b!=b1"])

    assert two.estimate == pytest.approx(table.estimate[:, [0, 2]].sum(axis=1))
    assert other.estimate == pytest.approx(two.estimate)


@pytest.mark.parametrize("method", ["retention", "attribute-sampling"])
def test_shares_of_a_row_are_the_shares_of_its_filter(method):
    """``share="row"`` and ``where`` with ``share=True`` ask the same."""
    release = released(method)
    rows = release.crosstab("a", "b", share="row")
    alone = release.crosstab("b", where={"a": "a1"}, share=True)

    for label in SCHEMA.column("b").labels:
        assert same(rows.cell("a1", label), alone.cell(label))


@pytest.mark.parametrize("share", [False, "total", "row"])
def test_a_shrunken_table_has_the_rows_that_a_filter_on_an_unchanged_column_keeps(share):
    """The region is released unchanged, and is a column of the table and of the filter."""
    records = 600
    rng = np.random.default_rng(3)
    status, region = rng.integers(0, 4, records), rng.integers(0, 3, records)
    people = pa.table({"status": status, "region": region})
    columns = (
        pm.Column("status", pm.Role.KEY, pm.Categories((0, 1, 2, 3))),
        pm.Column("region", pm.Role.PUBLIC),
    )
    plan = pm.design(pm.Schema(columns), pm.PkAnonymity(k=20), data=people, method="retention")
    release = pm.protect(people, plan, seed=1)
    whole = release.crosstab("region", "status", method="shrunk", share=share)
    kept = release.crosstab("region", "status", method="shrunk", share=share, where={"region": 1})
    assert kept.labels == ((1,), (0, 1, 2, 3))
    assert kept.estimate.shape == (1, 4)
    assert len(list(kept.cells)) == 4
    row = whole.estimate[1:2]
    assert kept.estimate == pytest.approx(row / row.sum() if share else row)
