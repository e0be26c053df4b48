"""Files are read by another process where a library may crash, and its death is one line."""

from __future__ import annotations

import os
import signal
import threading
import time
import zipfile

import pyarrow as pa
import pyarrow.feather
import pytest
from tests.io.test_more_formats import xlsx

from pramana.errors import InvalidTable
from pramana.io import subprocess_reader as child
from pramana.io.opening import open_table
from pramana.io.output import write_table
from pramana.schema.domains import Labels

PEOPLE = pa.table({"sex": ["F", "M"], "age": [3, 4]})


def test_what_the_child_reads_is_what_was_written(tmp_path):
    """Records, labels, values that stand for missing; one child reads file after file."""
    labels = Labels({"age": "in years"}, {"age": {3: "three"}}, missing={"age": (4,)})
    for number in range(2):
        path = tmp_path / f"{number}.sav"
        write_table(PEOPLE, path, file_format="sav", labels=labels)
        opened = open_table(path)
        assert opened.to_arrow().equals(PEOPLE)
        assert opened.labels.values == {"age": {3: "three"}}
        assert opened.labels.missing == {"age": (4,)}
    assert len(child._RUNNING) == 1


def test_a_child_that_does_nothing_is_given_up(tmp_path, monkeypatch):
    """Not for ever; the next file is read."""
    path = tmp_path / "a.sav"
    write_table(PEOPLE, path, file_format="sav")
    open_table(path)
    os.kill(child._RUNNING[os.getpid()].pid, signal.SIGSTOP)
    monkeypatch.setattr(child, "PATIENCE", 0.01)
    with pytest.raises(InvalidTable, match="within 0 seconds of processor time"):
        open_table(path)
    monkeypatch.undo()
    assert open_table(path).rows == PEOPLE.num_rows


def test_a_child_that_ended_by_itself_leaves_no_pipe_open(tmp_path):
    """As one that was told to end just before the next file is asked for."""
    path = tmp_path / "a.sav"
    write_table(PEOPLE, path, file_format="sav")
    open_table(path)
    before = child._RUNNING[os.getpid()]
    before.kill()
    before.wait()
    assert open_table(path).rows == PEOPLE.num_rows
    assert before.stdin.closed
    assert before.stdout.closed


def test_a_loaded_machine_refuses_no_sound_file(tmp_path, monkeypatch):
    """A child that has to wait, as for other work, may take longer than its time by far."""
    path = tmp_path / "a.sav"
    write_table(PEOPLE, path, file_format="sav")
    open_table(path)
    number = child._RUNNING[os.getpid()].pid
    os.kill(number, signal.SIGSTOP)
    monkeypatch.setattr(child, "PATIENCE", 1.0)
    threading.Timer(2.5, os.kill, (number, signal.SIGCONT)).start()
    assert open_table(path).rows == PEOPLE.num_rows


def test_a_library_that_works_without_end_is_one_line(tmp_path, monkeypatch):
    """Its processor time is spent, and nothing of its memory is left behind."""
    path = tmp_path / "a.sav"
    write_table(PEOPLE, path, file_format="sav")
    room = tmp_path / "endless.py"
    room.write_text("def read_here(path, **how):\n    while True: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(child, "PATIENCE", 0.5)
    monkeypatch.setattr(
        child, "SERVE", child.SERVE.replace("; serve()", "; child.MODULES = ('endless',); serve()")
        .replace("import serve", "import serve; from pramana.io import subprocess_reader as child")
    )  # fmt: skip
    if os.getpid() in child._RUNNING:
        child._end(child._RUNNING[os.getpid()])
    with pytest.raises(InvalidTable, match="broken, or too large for its format"):
        child.read_in_child("endless", path, title="SPSS")
    assert os.getpid() not in child._RUNNING or child._RUNNING[os.getpid()].poll() is not None
    monkeypatch.undo()
    assert open_table(path).rows == PEOPLE.num_rows


def test_a_death_of_the_child_is_one_line_and_the_next_file_is_read(tmp_path):
    """Whatever kills it: a fault in a library, the system, a person."""
    path = tmp_path / "a.sav"
    write_table(PEOPLE, path, file_format="sav")
    open_table(path)
    os.kill(child._RUNNING[os.getpid()].pid, signal.SIGSTOP)
    running = child._RUNNING[os.getpid()]
    stopper = threading.Timer(0.2, running.kill)
    stopper.start()
    with pytest.raises(InvalidTable, match="that reads such files failed"):
        open_table(path)
    assert open_table(path).rows == 2
    begin = time.monotonic()
    child._end(child._RUNNING[os.getpid()])
    assert time.monotonic() - begin < 5


def test_what_unpacks_without_end_is_one_line(tmp_path):
    """A sheet of a kilobyte with a cell in the last row would take six gigabytes."""
    path = tmp_path / "a.xlsx"
    xlsx(path, people=[("sex", "age"), ("F", 3)])
    with zipfile.ZipFile(path) as book:
        held = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, content in held.items():
            book.writestr(name, content.replace(b'row r="2"', b'row r="1048576"').replace(
                b'"B2"', b'"GR1048576"'))  # fmt: skip
    with pytest.raises(InvalidTable, match=r"a\.xlsx.*unpacks to more than the .* GiB of memory"):
        open_table(path)


@pytest.mark.filterwarnings("ignore:Feather V1")
def test_the_first_feather_is_read_there_too(tmp_path):
    """Its library believes every offset."""
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(PEOPLE, path, version=1)
    assert open_table(path).to_arrow().equals(PEOPLE)
    content = bytearray(path.read_bytes())
    content[-60:-20] = b"\xff" * 40
    path.write_bytes(bytes(content))
    with pytest.raises(InvalidTable, match="cannot be read"):
        open_table(path)
