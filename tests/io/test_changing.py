"""Tables that change while they are read are refused, and nothing waits for a pipe."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.errors import InvalidTable
from pramana.io.opening import open_table
from pramana.schema.schema import Schema

pytestmark = pytest.mark.usefixtures("risk_accepted")
RISK_ACCEPTED = {"kept"}

SCHEMA = """
[columns.sex]
role = "key"
categories = ["F", "M"]
[columns.kept]
role = "sensitive"
"""
LINES = "".join(f"{at % 7},{at % 3}\n" for at in range(400_000))


def test_a_text_cut_at_a_row_while_it_is_read_is_refused(tmp_path):
    """Whatever was read of it by then would be a table, and not the one that was meant."""
    path = tmp_path / "people.csv"
    path.write_text("a,b\n" + LINES)
    seen = threading.Event()
    cutter = threading.Thread(target=cut_until, args=(path, seen))
    cutter.start()
    try:
        with pytest.raises(InvalidTable, match="changed while it was read"):
            read_until(path, time.monotonic() + 30)
    finally:
        seen.set()
        cutter.join()


def cut_until(path, seen):
    """Take away a row at the end, again and again: some cut falls into a reading."""
    size = path.stat().st_size
    while not seen.wait(0.03):
        size -= len("0,0\n")
        os.truncate(path, size)


def read_until(path, end):
    """Again and again."""
    while time.monotonic() < end:
        open_table(path)


@pytest.mark.parametrize("change", ["longer", "same length", "other file"])
def test_a_parquet_file_that_changes_between_two_passes_is_refused(tmp_path, change):
    """Every pass reads it again: size, modification time and inode must be the same."""
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"a": np.arange(1000) % 3}), path)
    opened, before = open_table(path), path.stat()
    content = path.read_bytes()
    later = before.st_mtime_ns + (10**9 if change == "same length" else 0)
    if change == "other file":
        (tmp_path / "other").write_bytes(content)
        (tmp_path / "other").rename(path)
    else:
        path.write_bytes(content + (b"" if change == "same length" else b" "))
    os.utime(path, ns=(before.st_atime_ns, later))
    with pytest.raises(InvalidTable):
        list(opened.batches())


def test_a_change_between_passes_stops_the_release(tmp_path):
    """Nothing is written where another table was counted than is read now."""
    path = tmp_path / "people.parquet"
    table = pa.table({"sex": ["F", "M"] * 250, "kept": np.arange(500)})
    pq.write_table(table, path)
    plan = pm.design(Schema.from_toml(SCHEMA), pm.PkAnonymity(k=2), data=path)

    def change(_):
        pq.write_table(table.slice(0, 499), path)

    with pytest.raises(InvalidTable):
        pm.protect(path, plan, to=tmp_path / "release", progress=change)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sav"])
def test_a_pipe_is_no_table(tmp_path, ending):
    """It may never say anything."""
    os.mkfifo(tmp_path / f"people.{ending}")
    with pytest.raises(InvalidTable, match="not a pipe"):
        pm.describe(tmp_path / f"people.{ending}")
