"""Tables that change while they are read are refused, and nothing waits for a pipe."""

from __future__ import annotations

import mmap
import os
import threading
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana as pm
from pramana.errors import InvalidTable
from pramana.formats.csv import CSV
from pramana.formats.opening import _open_file, open_table
from pramana.table import stamps
from pramana.table.schema import Schema
from pramana.table.stamps import FileStamp

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


@pytest.fixture
def timeless(monkeypatch):
    """A file system whose times stay as they are, as those of a map on a disk in memory do."""
    first = {}

    def unmoved(cls, path, **_):
        now = NOW(cls, path)
        return replace(first.setdefault(path, now), size=now.size)

    monkeypatch.setattr(FileStamp, "_now", classmethod(unmoved))
    monkeypatch.setattr(stamps, "_file_system", lambda _: "tmpfs")


NOW = FileStamp._now.__func__


@pytest.mark.usefixtures("timeless")
def test_where_times_do_not_tell_of_a_change_between_passes_the_content_does(tmp_path):
    """What was released would be of a table that nobody has ever seen whole."""
    path, other = (tmp_path / f"{name}.parquet" for name in ("people", "other"))
    for place, start in ((path, 0), (other, 1)):
        sex = pa.array(["F", "M"] * 300)[start : start + 500]
        pq.write_table(pa.table({"sex": sex, "kept": np.arange(500)}), place)
    assert path.stat().st_size == other.stat().st_size
    plan = pm.design(Schema.from_toml(SCHEMA), pm.PkAnonymity(k=2), data=path)

    def change(_):
        path.write_bytes(other.read_bytes())

    with pytest.raises(InvalidTable, match="changed while it was read"):
        pm.protect(path, plan, to=tmp_path / "release", progress=change)
    assert not (tmp_path / "release").exists()
    pm.protect(path, plan, to=tmp_path / "release")


@pytest.mark.usefixtures("timeless")
def test_where_times_do_not_tell_of_a_change_while_a_text_is_read_the_content_does(tmp_path):
    """It is read once; half of one text and half of another is none of them."""
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,2\n")

    def read(place):
        opened = CSV.open(place)
        place.write_text("a,b\n1,3\n")
        return opened

    with pytest.raises(InvalidTable, match="changed while it was read"):
        _open_file(path, read)


def test_the_kind_of_a_file_system_is_that_of_the_nearest_mount(tmp_path, monkeypatch):
    """Of several at one place the last one is seen; blanks in a name are spelled as octals."""
    inner, blank = tmp_path / "a", tmp_path / "a b"
    lines = [("/", "ext4"), (inner, "tmpfs"), (inner, "vfat"), (blank, "fuse.sshfs")]
    told = "".join(
        f"1 2 0:3 / {str(at).replace(' ', chr(92) + '040')} rw shared:1 - {kind} none rw\n"
        for at, kind in lines
    )
    (tmp_path / "mounts").write_text(told)
    monkeypatch.setattr(stamps, "MOUNTS", tmp_path / "mounts")
    beside = tmp_path / "ab"
    found = [stamps._file_system(one / "x.csv") for one in (tmp_path, inner, blank, beside)]
    assert found == ["ext4", "vfat", "fuse.sshfs", "ext4"]
    monkeypatch.setattr(stamps, "MOUNTS", tmp_path / "nobody")
    assert stamps._file_system(tmp_path) is None


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sav"])
def test_a_pipe_is_no_table(tmp_path, ending):
    """It may never say anything."""
    os.mkfifo(tmp_path / f"people.{ending}")
    with pytest.raises(InvalidTable, match="is a pipe"):
        pm.describe(tmp_path / f"people.{ending}")
