"""TOML of others: schemas, plans and surveys are refused before they take much memory."""

from __future__ import annotations

import tracemalloc

import pytest

import pramana as pm
from pramana.collect.survey import read_survey
from pramana.methods.plan import PlanFile

NESTED = ["a." * 20_000 + "a = 1", "x = {" + "a." * 20_000 + "a = 1}", "a." * 900 + "a = 1",
          "a = " + "[" * 40 + "]" * 40, "[" + "a." * 40 + "a]"]  # fmt: skip


@pytest.mark.parametrize("text", NESTED)
@pytest.mark.parametrize("read", [pm.Schema.from_toml, PlanFile.from_toml, read_survey])
def test_tables_without_end_are_refused(read, text):
    """Also 40 kB of one dotted key: parsing it takes less than 10 MB."""
    tracemalloc.start()
    with pytest.raises(pm.InvalidSchema, match="nested"):
        read(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7


@pytest.mark.parametrize("entry", ["points = [0, {}]", "top = {}", "categories = [{}]"])
def test_integers_without_end_are_refused(entry):
    """No float holds them, and no table has them."""
    text = f"[columns.a]\nrole = 'key'\n{entry.format(10**400)}\n"
    with pytest.raises(pm.InvalidSchema, match="64 bits"):
        pm.Schema.from_toml(text)
