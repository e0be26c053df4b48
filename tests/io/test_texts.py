"""What is written is read back as what it was, for every writer and every text, or refused."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pramana as pm
from pramana.errors import InvalidTable
from pramana.io.base import FORMATS
from pramana.io.opening import checked, open_written
from pramana.io.output import write_table
from pramana.schema.domains import Categories
from pramana.schema.roles import Role
from pramana.schema.schema import Column, Schema

AWKWARD = ("\\", '"', '""', "'", ",", ";", "\t", "|", "\n", "\r", "\r\n", "\x00", "\ufeff", "NA",
           "nan", "1", "01", "2.50", "1e5", " ", "-", "+1", "1,5", "\\N", "\u2028", "\x85", "\x0b",
           "\x1b[2J", "=1+1", "ü", "e\u0301", "\U0001f600", "#", "true")  # fmt: skip
texts = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=3), max_size=4).map("".join)
columns = st.lists(st.none() | texts, min_size=3, max_size=3)
names = texts.filter(bool)
tables = st.dictionaries(names, columns, min_size=1, max_size=3)


def again(form, file_format):
    """The texts as they are read back; nothing where they were refused beforehand."""
    table = pa.table({name: pa.array(own, pa.string()) for name, own in form.items()})
    schema = Schema(tuple(Column(name, Role.PUBLIC) for name in form))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{FORMATS[file_format].endings[0]}"
        try:
            write_table(table, path, file_format=file_format)
        except InvalidTable:
            assert not list(Path(folder).iterdir())
            return None
        opened = checked(open_written(path, schema=schema))
        return {name: opened.to_arrow().column(name).cast(pa.string()).to_pylist() for name in form}


@given(tables)
@settings(max_examples=150, deadline=None)
@example({"a": ["x\\", "y", "z"], "b": ["1", "2", "3"]})
@example({"a": [None, None, None]})
@example({"a": ["", None, ""]})
def test_every_text_comes_back_from_csv(form):
    """Quotes, separators, escapes, line ends, digits, names: only a zero byte cannot be kept."""
    found = again(form, "csv")
    if found is None:
        assert "\x00" in "".join(map(str, itertools.chain(form, *form.values())))
    else:
        assert found == form


@pytest.mark.parametrize("file_format", ["parquet", "feather"])
@given(tables)
@settings(max_examples=40, deadline=None)
def test_every_text_comes_back_from_arrow_files(file_format, form):
    """They keep all."""
    assert again(form, file_format) == form


@pytest.mark.parametrize("file_format", ["sav", "dta"])
@given(columns)
@settings(max_examples=25, deadline=None)
def test_texts_of_statistical_packages_come_back_or_are_refused(file_format, values):
    """Their texts have no zero byte, no blank at the end, no difference of empty and missing."""
    found = again({"a": values}, file_format)
    assert found is None or found == {"a": values}


@pytest.mark.parametrize("file_format", ["csv", "parquet", "feather", "sav", "dta"])
def test_a_release_with_every_awkward_text_verifies(tmp_path, file_format):
    """Kept columns hold whatever people wrote; what a format cannot keep is left out here."""
    lost = ("\x00", *((" ", "\r", "\n", "\r\n", "\t", "\x0b", "\x85", "\u2028")
                      if file_format in ("sav", "dta") else ()))  # fmt: skip
    kept = [f"x{text}" for text in AWKWARD if text not in lost and text[-1] not in lost]
    truth = pa.table({"sex": ["F", "M"] * len(kept), "note": kept * 2})
    schema = Schema(
        (Column("sex", Role.KEY, Categories(("F", "M"))), Column("note", Role.SENSITIVE))
    )
    plan = pm.design(schema, pm.PkAnonymity(k=2), data=truth, method="retention")
    pm.protect(truth, plan, to=tmp_path / "r", file_format=file_format)
    verdict = pm.verify(tmp_path / "r", original=truth)
    assert verdict.valid, [check for check in verdict.checks if not check.ok]
