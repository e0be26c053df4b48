"""Folders of Parquet files: one table, or one line that says why not."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.engines.duckdb.sums import grouped_sums
from pramana.engines.local.table import LocalTable
from pramana.engines.sums import SumsAsked
from pramana.errors import InvalidTable
from pramana.formats.opening import open_table
from pramana.table.domains import Categories
from pramana.table.schema import Column, Role, Schema

SCHEMA = Schema((Column("sex", Role.KEY, Categories(("F", "M"))), Column("x", Role.SENSITIVE)))


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "data.parquet"
    place.mkdir()
    for number, sexes in enumerate((["F", "M"], ["M"], ["F", "F", "F"])):
        pq.write_table(
            pa.table({"sex": sexes, "x": [float(number)] * len(sexes)}),
            place / f"part-{number:05}.parquet",
        )
    (place / "_SUCCESS").touch()
    return place


def test_files_follow_each_other_by_name(folder):
    """All records, in the order of the names; files that are not Parquet are no data."""
    opened = open_table(folder)

    assert opened.rows == 6
    assert opened.to_arrow()["x"].to_pylist() == [0, 0, 1, 2, 2, 2]
    assert [len(batch) for batch in opened.batches(["sex"], size=2)] == [2, 1, 2, 1]


def test_randomised_text_comes_as_dictionaries(folder):
    """As from a single file, and the engine takes it."""
    opened = open_table(folder, schema=SCHEMA)

    assert pa.types.is_dictionary(opened.schema.field("sex").type)
    assert LocalTable.of(opened).count([SCHEMA.column("sex")]).numbers.tolist() == [4, 2]


def test_sums_read_the_folder_where_it_lies(folder):
    """The database takes the Parquet files and nothing else."""
    sums = grouped_sums(open_table(folder), SumsAsked(("sex",), value="x")).sort_by("sex")

    assert sums["n"].to_pylist() == [4, 2]
    assert sums["wy"].to_pylist() == [6, 1]


@pytest.mark.parametrize(
    ("other", "match"),
    [
        ({"sex": ["F"], "x": [1]}, "'x' is int64 in part-1.parquet where it was double before"),
        ({"sex": ["F"]}, "part-1.parquet lacks 'x'"),
        ({"sex": ["F"], "x": [1.0], "y": [1]}, "part-1.parquet has others"),
    ],
)
def test_files_that_disagree_are_refused(tmp_path, other, match):
    """Which file, which column, what to do; one line."""
    pq.write_table(pa.table({"sex": ["M"], "x": [0.5]}), tmp_path / "part-0.parquet")
    pq.write_table(pa.table(other), tmp_path / "part-1.parquet")

    with pytest.raises(InvalidTable, match=match) as error:
        open_table(tmp_path)
    assert "\n" not in str(error.value)


def test_broken_files_and_empty_folders_are_refused(folder, tmp_path):
    """A file cut short, a folder without tables."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidTable, match="is a folder without Parquet files"):
        open_table(tmp_path / "empty")
    part = folder / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(InvalidTable, match="broken or cut short"):
        open_table(folder)
