"""The reference of the schema file: every entry is there, and every example is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pramana as pm
from pramana.table.toml_form import ENTRIES, TOP

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "schema.md").read_text()
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_schema(number):
    """As it stands, and written out again."""
    schema = pm.Schema.from_toml(EXAMPLES[number])
    assert pm.Schema.from_toml(schema.to_toml()) == schema


def test_every_entry_is_on_the_page_and_in_an_example():
    """With its type and default in a table."""
    for entry in {*ENTRIES, *TOP} - {"columns"}:
        assert re.search(rf"^\| .*`{entry}`", PAGE, re.MULTILINE), entry
    shown = "\n".join(EXAMPLES)
    for entry in {*ENTRIES, *TOP} - {"columns", "declared", "plain", "weight", "release"}:
        assert re.search(rf"^{entry} = ", shown, re.MULTILINE), entry
