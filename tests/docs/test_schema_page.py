"""The pages on the schema file: every entry is there, and every example is read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest

import pramana as pm
from pramana.cli.app import main
from pramana.schema.schema_entries import COLUMN_ENTRIES, TOP_ENTRIES, json_schema

PAGES = (Path(__file__).parents[2] / "docs" / "reference").glob("schema*.md")
PAGE = "\n".join(page.read_text() for page in sorted(PAGES))
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def regions(tmp_path, monkeypatch):
    """The file of levels that an example names."""
    (tmp_path / "regions.csv").write_text("town,district,state\nBonn,Rhein-Sieg,NRW\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_schema(number):
    """As it stands, and written out again."""
    schema = pm.Schema.from_toml(EXAMPLES[number])
    assert pm.Schema.from_toml(schema.to_toml()) == schema


def test_every_entry_is_on_a_page_and_in_an_example():
    """With its type and default in a table."""
    for entry in {*COLUMN_ENTRIES, *TOP_ENTRIES}:
        assert re.search(rf"^\| .*`{entry}`", PAGE, re.MULTILINE), entry
    shown = "\n".join(EXAMPLES)
    for entry in {*COLUMN_ENTRIES, *TOP_ENTRIES} - {"declared", "public", "weight", "release"}:
        assert re.search(rf"^{entry} = ", shown, re.MULTILINE), entry


def test_the_form_for_editors_has_every_entry_and_takes_every_example():
    """What it refuses is refused on reading too."""
    form = json_schema()
    column = form["properties"]["columns"]["additionalProperties"]

    assert set(column["properties"]) == set(COLUMN_ENTRIES)
    assert set(form["properties"]) == {"columns", *TOP_ENTRIES}
    for example in EXAMPLES:
        jsonschema.validate(tomllib.loads(example), form)
    wrong = tomllib.loads('[columns.age]\nrole = "key"\nround = 0')
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, form)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("[columns.age]\nrole = 'key'\nbins = [3, 1]\n", ", bins", "rise strictly"),
        ("[columns.age]\nrol = 'key'\n", ", rol", "unknown entry"),
        ("[columns.\"a b\"]\nrole = 'kye'\n", ", role", "must be one of"),
        ("keyz = ['age']\n", ", keyz", "unknown entry"),
        ("[columns.sex]\nrole = 'key'\n\n[columns.pay]\nrole = 'key'\nnoise = 3\n",
         ", noise", "must state noise"),
        ("[columns.sex]\ncategories = ['F', 'M']\n", "", "must have a role"),
        ("[columns.sex]\nrole = 'key'\nmerge = {'o' = ['a']}\nmissing_codes = ['a']\n",
         ", merge", "every value once"),
        ("strata = ['x']\n[columns.sex]\nrole = 'key'\n", ", strata", "must name columns"),
    ],
)  # fmt: skip
def test_errors_of_a_schema_file_name_file_and_key(tmp_path, capsys, text, place, what):
    """One line, exit 2."""
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(SystemExit) as left:
        main(["schema", str(path)])
    said = capsys.readouterr().err

    assert left.value.code == 2
    assert said.count("\n") == 1
    assert f"{path}{place}: " in said
    assert what in said


def test_design_refuses_what_protect_would_refuse(tmp_path):
    """Values outside the domain, and noise on what is no number; with the number of records."""
    people = pa.table({"sex": ["F", "M", "x", "y"] * 5, "pay": ["a"] * 20})
    sex = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M")), missing="refuse")
    asked = pm.DifferentialPrivacy(epsilon=2)
    with pytest.raises(pm.OutsideDomain, match="10 records of 'sex'"):
        pm.design(pm.Schema((sex, pm.Column("pay", pm.Role.SENSITIVE))), asked, data=people)
    noise = pm.Recoding(noise=pm.Noise("normal", 1))
    fine = pm.Column("sex", pm.Role.KEY, pm.Categories(("F", "M", "x", "y")), missing="refuse")
    noisy = pm.Schema((fine, pm.Column("pay", pm.Role.SENSITIVE, recoding=noise)))
    with pytest.raises(pm.InvalidTable, match="'pay' must be a number"):
        pm.design(noisy, asked, data=people)
