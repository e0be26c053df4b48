"""Tables that change while they are read are refused, and nothing waits for a pipe."""

from __future__ import annotations

import mmap
import os
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.errors import InvalidTable
from pramana.formats.opening import open_table
from pramana.table.stamps import FileStamp

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
    """Every pass reads it again: by size, by the system's own time, by its number on the disk."""
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"a": np.arange(1000) % 3}), path)
    opened, before = open_table(path), path.stat()
    content = path.read_bytes()
    if change == "other file":
        (tmp_path / "other").write_bytes(content)
        (tmp_path / "other").rename(path)
    else:
        path.write_bytes(content + (b"" if change == "same length" else b" "))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # set back
    with pytest.raises(InvalidTable, match="changed while it was read"):
        list(opened.batches())


def test_a_change_right_after_the_stamp_has_another_time(tmp_path):
    """Times have a grain: the stamp waits until it is over."""
    path = tmp_path / "a"
    for number in range(20):
        path.write_bytes(b"%02d" % number)
        stamp = FileStamp.of(path)
        path.write_bytes(b"xx")
        with pytest.raises(InvalidTable, match="changed"):
            stamp.require_unchanged()


def test_a_change_through_a_map_of_the_file_is_seen(tmp_path):
    """Its times would stay as they are while pages that were changed before wait for the disk."""
    path = tmp_path / "a"
    path.write_bytes(b"x" * 8192)
    time.sleep(0.02)
    before = path.stat().st_ctime_ns
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as pages:
        os.fsync(file.fileno())
        pages[0] = 1
        if path.stat().st_ctime_ns == before:
            pytest.skip("a disk in memory, whose maps change no times")
        stamp = FileStamp.of(path)
        pages[0] = 2
        with pytest.raises(InvalidTable, match="changed"):
            stamp.require_unchanged()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sav"])
def test_a_pipe_is_no_table(tmp_path, ending):
    """It may never say anything."""
    os.mkfifo(tmp_path / f"people.{ending}")
    with pytest.raises(InvalidTable, match="is a pipe"):
        pm.describe(tmp_path / f"people.{ending}")
