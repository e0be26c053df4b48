"""Formats and engines that come from outside the package."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.outside.toys import LINES, ROWS, Rows

import pramana as pm
from pramana.engine.base import ENGINES, engine_for
from pramana.engine.local import LocalEngine
from pramana.errors import InvalidTable
from pramana.io.base import FORMATS
from pramana.schema.domains import Categories
from pramana.schema.opened_table import OpenedTable, placed
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

SCHEMA = Schema((Column("sex", Role.KEY, Categories(("F", "M"))), Column("x", Role.SENSITIVE)))
TRUTH = {"sex": ["F", "M"] * 100, "x": list(range(200))}


@pytest.fixture
def lines():
    """The format is known while the test runs."""
    FORMATS.register("lines", LINES)
    yield
    FORMATS.unregister("lines")


@pytest.fixture
def rows():
    """The engine is known while the test runs."""
    ENGINES.register("rows", ROWS)
    yield
    ENGINES.unregister("rows")


def test_a_format_from_outside_is_read_written_and_verified(lines, tmp_path):
    """Found by its ending; a release of it is one like any other."""
    table = [dict(zip(TRUTH, row, strict=True)) for row in zip(*TRUTH.values(), strict=True)]
    people = tmp_path / "people.jsonl"
    people.write_text("".join(json.dumps(row) + "\n" for row in table))
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=5), data=people, method="retention")
    release = pm.protect(people, plan, to=tmp_path / "release", seed=1, accept_risk=["x"])

    assert (tmp_path / "release" / "data.jsonl").is_file()
    assert pm.verify(tmp_path / "release").valid
    assert sorted(release.opened.to_arrow()["x"].to_pylist()) == TRUTH["x"]
    again = pm.protect(pa.table(TRUTH), plan, seed=1, accept_risk=["x"]).save(
        tmp_path / "b", file_format="lines"
    )
    assert (tmp_path / "b" / "data.jsonl").read_bytes() == (
        tmp_path / "release" / "data.jsonl"
    ).read_bytes()
    assert again.records == 200


def test_an_engine_from_outside_serves_its_own_tables(rows):
    """Asked before the local one; what it gives back is its own kind."""
    assert engine_for(Rows(TRUTH)).name == "rows"
    assert engine_for(pa.table(TRUTH)).name == "local"
    plan = pm.design(SCHEMA, pm.PkAnonymity(k=5), data=Rows(TRUTH), method="retention")
    release = pm.protect(Rows(TRUTH), plan, seed=1, accept_risk=["x"])

    assert isinstance(release.table, Rows)
    assert sorted(release.table.columns["x"]) == TRUTH["x"]
    assert (
        release.opened.to_arrow()
        == pm.protect(pa.table(TRUTH), plan, seed=1, accept_risk=["x"]).opened.to_arrow()
    )


class Moody(LocalEngine):
    """Answers with another number of records each time it is read."""

    name = "moody"

    def serves(self, source):
        """Its own tables."""
        return isinstance(source, Rows)

    def open(self, source, *, schema=None):
        """Counts once, and answers otherwise."""
        del schema
        if isinstance(source, OpenedTable):
            return source
        table, draw = pa.table(source.columns), np.random.default_rng(1)

        def parts(columns):
            keep = draw.random(table.num_rows) < 0.9
            return placed(table.select(list(columns)).filter(pa.array(keep)).to_batches())

        return OpenedTable(table.schema, table.num_rows, "frame", source, parts)


class Fickle(Moody):
    """Answers with as many records each time, and other values."""

    name = "fickle"

    def open(self, source, *, schema=None):
        """Counts once, and answers otherwise."""
        del schema
        if isinstance(source, OpenedTable):
            return source
        table, draw = pa.table(source.columns), np.random.default_rng(1)

        def parts(columns):
            order = pa.array(draw.permutation(table.num_rows))
            return placed(table.take(order).select(list(columns)).to_batches())

        return OpenedTable(table.schema, table.num_rows, "frame", source, parts)


def test_other_values_than_were_counted_are_refused(tmp_path):
    """Their number is right, and what the promise rests on was read from other records."""
    ENGINES.register("fickle", Fickle())
    columns = tuple(replace(c, role=pm.Role.PUBLIC) if c.name == "x" else c for c in SCHEMA.columns)
    schema = pm.Schema(columns)
    try:
        rows = Rows(TRUTH | {"x": [value % 2 for value in range(len(TRUTH["x"]))]})
        plan = pm.design(
            schema, pm.PkAnonymity(k=2), data=pa.table(rows.columns), method="retention"
        )
        for place in (None, tmp_path / "release"):
            with pytest.raises(InvalidTable, match="held others"):
                pm.protect(rows, plan, to=place, seed=1, accept_risk=["x"])
    finally:
        ENGINES.unregister("fickle")
    assert list(tmp_path.iterdir()) == []


def test_other_records_than_were_counted_are_refused(tmp_path):
    """Whether they would go to a folder or stay in memory; nothing is written."""
    ENGINES.register("moody", Moody())
    try:
        plan = pm.design(SCHEMA, pm.PkAnonymity(k=5), records=200, method="retention")
        for place in (None, tmp_path / "release"):
            with pytest.raises(InvalidTable, match="held another number of them"):
                pm.protect(Rows(TRUTH), plan, to=place, seed=1, accept_risk=["x"])
    finally:
        ENGINES.unregister("moody")
    assert list(tmp_path.iterdir()) == []
