"""Coarser categories from a file of levels."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pramana as pm

LEVELS = "town,district,state\n1,north,A\n2,north,A\n3,south,A\n4,,B\n5,south,\n"
SCHEMA = """
[columns.town]
role = "key"
missing = "refuse"
hierarchy = {file = "regions.csv", level = "LEVEL"}
[columns.sex]
role = "key"
"""


def load(folder, level, levels=LEVELS, schema=SCHEMA):
    """The schema in a folder with the file of levels."""
    (folder / "regions.csv").write_text(levels)
    (folder / "s.toml").write_text(schema.replace("LEVEL", level))
    return pm.Schema.load(folder / "s.toml")


def test_a_level_merges_values(tmp_path):
    """By hand; a value without a category at the level stays, and the schema written again too."""
    schema = load(tmp_path, "state")
    merged = (("A", ("1", "2", "3")), ("B", ("4",)))
    assert schema.column("town").recoding.merged == merged
    assert pm.Schema.from_toml(schema.to_toml()) == schema
    assert dict(load(tmp_path, "district").column("town").recoding.merged) == {
        "north": ("1", "2"),
        "south": ("3", "5"),
    }


def test_the_release_has_the_categories_of_the_level(tmp_path):
    """Numbers in the table are found by their text."""
    table = pa.table({"town": [1, 2, 3, 4, 5] * 40, "sex": ["F", "M"] * 100})
    plan = pm.design(load(tmp_path, "state"), pm.DifferentialPrivacy(2), data=table)
    records = pm.protect(table, plan, seed=1).table
    assert set(records["town"].to_pylist()) <= {"A", "B", "5"}


@pytest.mark.parametrize(
    ("level", "levels", "what"),
    [
        ("country", LEVELS, "a column 'country'"),
        ("town", LEVELS, "a column 'town'"),
        ("state", "", "must have a column"),
        ("state", "town,state\n1\n", "a cell for each heading"),
        ("state", "town,state\n1,A\n1,B\n", "line 3: the value of line 2 is listed again"),
    ],
)
def test_files_that_are_no_levels_are_refused_by_their_entry(tmp_path, level, levels, what):
    """With file and entry, and no cell."""
    with pytest.raises(pm.InvalidSchema, match=what) as caught:
        load(tmp_path, level, levels)
    assert caught.value.fields["column"] == "town"
    assert "s.toml, " in str(caught.value)


@pytest.mark.parametrize("path", ["../regions.csv", "ABSOLUTE"])
def test_a_schema_reads_files_of_its_own_folder_only(tmp_path, path):
    """A schema of somebody else must not publish another file of the machine."""
    (tmp_path / "regions.csv").write_text(LEVELS)
    inner = tmp_path / "inner"
    inner.mkdir()
    path = path.replace("ABSOLUTE", str(tmp_path / "regions.csv"))
    with pytest.raises(pm.InvalidSchema, match="must be in the folder of the schema"):
        load(inner, "state", schema=SCHEMA.replace("regions.csv", path))
