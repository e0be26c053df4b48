"""Files of neighbouring tables: what is published follows from released values and schema alone.

At retention 0 released values do not depend on the original data. So releases of two tables with
one seed must be the same to the last byte, whatever types these tables have.
"""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pramana as pm
from pramana.schema.domains import Bins, Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

RECORDS = 200
COLUMNS = {
    "sex": (Categories((1, 2)), [1, 2]),
    "code": (Categories(("1", "2", "02")), [1, 2]),
    "job": (Categories((10, 20, "N")), [10, 20]),
    "share": (Categories((0.5, 1, 2)), [1, 2]),
    "age": (Bins((0, 18, 65, 120), release="draw", integers=True), [17, 70]),
    "pay": (Bins((0, 100, 500), release="draw"), [50, 200]),
    "size": (Bins((0, 10, 20), release="centre"), [5, 15]),
    "area": (Bins((0, 50, 100)), [1, 60]),
}
NEIGHBOURS = {
    "a missing value": dict.fromkeys(COLUMNS),
    "a text among numbers": {"job": "N", "code": "02"},
    "a fraction": {"share": 0.5, "age": 17.5, "pay": 7.5, "size": 7.5, "area": 7.5},
    "the last category": {"sex": 2, "job": 20, "share": 2},
}
SCHEMA = Schema(
    tuple(Column(name, Role.KEY, own, missing="category") for name, (own, _) in COLUMNS.items())
)


def table(other=None):
    """People of whole numbers, and in some columns one person of another value."""
    columns = {}
    for name, (_, values) in COLUMNS.items():
        cells = [*values * (RECORDS // 2)]
        if other and name in other:
            cells[0] = other[name]
        texts = any(isinstance(cell, str) for cell in cells)
        columns[name] = [str(cell) for cell in cells] if texts else cells
    return pa.table(columns)


def released(source, folder, file_format):
    """The bytes of all files of a release whose values do not depend on the data."""
    plan = pm.design(SCHEMA, data=source, method=pm.Retention(retention=0.0))
    pm.protect(source, plan, to=folder, file_format=file_format, seed=1)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("other", NEIGHBOURS)
@pytest.mark.parametrize("file_format", ["csv", "parquet", "feather", "dta", "sav"])
def test_neighbours_release_the_same_bytes(tmp_path, file_format, other):
    """One cell changes the type of a column of the original, and nothing of the release."""
    files = [
        released(source, tmp_path / str(at), file_format)
        for at, source in enumerate([table(), table(NEIGHBOURS[other])])
    ]
    assert files[0].keys() == files[1].keys()
    for name, content in files[0].items():
        if file_format not in ("dta", "sav") or not name.startswith("data."):  # these hold a time
            assert content == files[1][name], name


@pytest.mark.parametrize("other", NEIGHBOURS)
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_neighbouring_files_release_the_same_bytes(tmp_path, source, other):
    """Read from text, where the cells of a column decide its type, and from Parquet."""
    from pramana.io.output import write_table

    files = []
    for at, people in enumerate([table(), table(NEIGHBOURS[other])]):
        write_table(people, tmp_path / f"{at}.{source}", file_format=source)
        files.append(released(tmp_path / f"{at}.{source}", tmp_path / str(at), "csv"))
    assert files[0] == files[1]


@pytest.mark.parametrize("other", NEIGHBOURS)
@pytest.mark.parametrize("frame", [pa.Table.to_pandas, pl.from_arrow])
def test_neighbouring_frames_come_out_alike(frame, other):
    """In the same kind of frame, with the same types and values."""
    tables = []
    for people in (table(), table(NEIGHBOURS[other])):
        source = frame(people)
        plan = pm.design(SCHEMA, data=source, method=pm.Retention(retention=0.0))
        tables.append(pm.protect(source, plan, seed=1).table)
    assert type(tables[0]) is type(frame(table()))
    if isinstance(tables[0], pd.DataFrame):
        pd.testing.assert_frame_equal(*tables)
    else:
        assert tables[0].schema == tables[1].schema
        assert tables[0].equals(tables[1])
