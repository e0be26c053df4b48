"""Files and folders that appear whole or not at all, and never in the place of something else."""

from __future__ import annotations

import ast
import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pramana
from pramana.base import atomic_files as whole
from pramana.base.atomic_files import (
    claim_file,
    claim_folder,
    exchange,
    exchange_by_steps,
    forget_written_outputs,
    leftovers,
    move_new,
    read_file,
    remove_leftovers,
    whole_file,
    whole_folder,
    write_whole,
    written_outputs,
)
from pramana.cli.app import main
from pramana.errors import InputError, Notice, OutputExists

SOURCE = Path(pramana.__file__).parent
FILES = {whole.__file__}


def anything(folder):
    """Lets every folder go."""


def test_a_file_appears_when_it_is_complete(tmp_path):
    """Not before; what stood there stays until then, and nothing is left beside it."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(path, force=True) as place:
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(IsADirectoryError), whole_file(path, force=True) as place:
        place.parent.write_text("half")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_when_it_is_complete(tmp_path):
    """With all of its files, in the place of the one that stood there."""
    path = tmp_path / "release"
    for content in ("old", "new"):
        with whole_folder(path, may_go=anything) as place:
            (place / content).write_text(content)
            assert content == "old" or (path / "old").exists()
        assert [file.name for file in path.iterdir()] == [content]
    with pytest.raises(ValueError, match="stop"), whole_folder(path, may_go=anything):
        raise ValueError("stop")
    assert [file.name for file in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", ["file", "folder", "link", "full folder"])
@pytest.mark.parametrize("writer", [whole_file, whole_folder])
def test_what_appears_meanwhile_is_left_alone(tmp_path, writer, there):
    """Whatever it is: the second says so, and nothing of it is left."""
    path = tmp_path / "a"
    with pytest.raises(OutputExists, match="appeared while"), writer(path) as place:
        new_and_theirs(place, path, there)
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
    assert path.is_symlink() if there == "link" else path.exists()


def new_and_theirs(place, path, there):
    """Something new, and meanwhile something of somebody else's."""
    (place / "x" if place.is_dir() else place).write_text("new")
    if there == "link":
        path.symlink_to("nowhere")
    elif there == "file":
        path.write_text("learn")
    else:
        path.mkdir()
        if there == "full folder":
            (path / "diary").write_text("learn")


@pytest.mark.parametrize("there", ["link", "file"])
def test_what_is_no_folder_is_not_exchanged_for_one(tmp_path, there):
    """It came while the new one was being written, and it was no release that was to go."""
    path = tmp_path / "release"
    replaced = whole_folder(path, may_go=anything)
    with pytest.raises(OutputExists, match="appeared"), replaced as place:
        new_and_theirs(place, path, there)
    assert [one.name for one in tmp_path.iterdir()] == ["release"]
    assert path.is_symlink() if there == "link" else path.read_text() == "learn"


def test_a_folder_that_changes_while_it_is_replaced_is_put_back(tmp_path):
    """A file that came after the look is not lost."""
    path = tmp_path / "release"
    path.mkdir()
    (path / "own").write_text("1")

    def looked(folder):
        (folder / "diary").write_text("written after the look")

    with pytest.raises(OutputExists, match="changed while"), whole_folder(path, may_go=looked) as w:
        (w / "new").write_text("2")
    assert sorted(one.name for one in path.iterdir()) == ["diary", "own"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EBUSY])
def test_a_folder_that_must_stay_where_it_is_is_said_to_be_one(tmp_path, monkeypatch, number):
    """One of a container's image, or a mounted one: the system's own words would tell nobody."""
    path = tmp_path / "release"
    path.mkdir()

    def refused(place, path):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(whole, "exchange", refused)
    told = pytest.raises(OutputExists, match="mounted volume or part of a container's image")
    with told, whole_folder(path, may_go=anything) as place:
        (place / "new").write_text("new")
    assert list(tmp_path.iterdir()) == [path]
    assert not list(path.iterdir())


@pytest.mark.parametrize("move", [move_new, claim_file, claim_folder])
def test_a_name_is_taken_in_one_step_or_in_steps_that_destroy_nothing(tmp_path, move):
    """The system's call, and what stands in for it where there is none."""
    place, path = tmp_path / "place", tmp_path / "path"
    make(place, "new", folder=move is claim_folder)
    move(place, path)
    assert not place.exists()
    make(place, "newer", folder=move is claim_folder)
    with pytest.raises(FileExistsError):
        move(place, path)
    assert content(path) == "new"
    assert content(place) == "newer"


@pytest.mark.parametrize("swap", [exchange, exchange_by_steps])
def test_two_places_are_exchanged(tmp_path, swap):
    """Folders too, also where it takes three steps; if a step fails, all is as it was."""
    (tmp_path / "hidden").mkdir()
    place, path = tmp_path / "hidden" / "release", tmp_path / "release"
    make(place, "new", folder=True)
    make(path, "old", folder=True)
    swap(place, path)
    assert (content(place), content(path)) == ("old", "new")
    with pytest.raises(FileNotFoundError):
        swap(tmp_path / "nothing", path)
    assert content(path) == "new"


def make(path, text, *, folder):
    """A file, or a folder with one."""
    if folder:
        path.mkdir()
    (path / "x" if folder else path).write_text(text)


def content(path):
    """What ``make`` put there."""
    return (path / "x" if path.is_dir() else path).read_text()


def test_small_files_have_the_permissions_asked_for(tmp_path):
    """A private key is nobody else's, and stays so when it is replaced; devices get their bytes."""
    write_whole(tmp_path / "key", b"secret", mode=0o600)
    write_whole(tmp_path / "text", "ü")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "text").read_bytes() == "ü".encode()
    write_whole(tmp_path / "key", b"other", force=True)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    write_whole(Path("/dev/null"), "nowhere", force=True)


def test_a_file_replaces_a_file_and_nothing_else(tmp_path):
    """Neither without force, nor a link or a folder with it; and places must have names."""
    (tmp_path / "a").write_text("learn")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "folder").mkdir()
    for name, force in (("a", False), ("link", True), ("broken", True), ("folder", True)):
        with pytest.raises(OutputExists):
            write_whole(tmp_path / name, "new", force=force)
    with pytest.raises(InputError, match="must exist"):
        write_whole(tmp_path / "nowhere" / "a", "new")
    with pytest.raises(InputError, match="name"), whole_folder(Path()):
        pass
    assert (tmp_path / "a").read_text() == "learn"


KILLED = """
import sys, time
from pathlib import Path
from pramana.base.atomic_files import whole_file
with whole_file(Path(sys.argv[1])) as place:
    place.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_named_and_removed_when_told(tmp_path):
    """The next one who writes there says so; one that still runs is left in peace."""
    writers = [started(tmp_path / name) for name in ("a", "b")]
    writers[0].send_signal(signal.SIGKILL)
    writers[0].wait()
    assert [one.name for one in leftovers(tmp_path)] == ["a"]
    with pytest.warns(Notice, match="left when a was being written.*pramana clean"):
        write_whole(tmp_path / "c", "whole")
    assert [one.name for one in remove_leftovers(tmp_path)] == ["a"]
    hidden = [one for one in tmp_path.iterdir() if one.name.startswith(".")]
    assert [[file.name for file in one.iterdir()] for one in hidden] == [["b"]]
    writers[1].kill()
    writers[1].wait()
    for one in writers:
        one.stdout.close()


def started(path):
    """A process in the middle of writing."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.parametrize("name_taken", [False, True])
def test_what_an_exchange_moved_aside_is_put_back(tmp_path, name_taken):
    """Where the process died between two steps, the former folder is the only one.

    Its name may have been taken already, by an empty folder.
    """
    if name_taken:
        (tmp_path / "release").mkdir()
    hidden = tmp_path / ".pramana-1-0"
    hidden.mkdir()
    make(hidden / "release.former", "old", folder=True)
    make(hidden / "release", "new", folder=True)
    os.utime(hidden, (0, 0))
    (found,) = leftovers(tmp_path)
    assert found.former
    assert found.name == "release"
    remove_leftovers(tmp_path)
    assert content(tmp_path / "release") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["release"]


def test_a_name_taken_during_an_exchange_in_steps_loses_nothing(tmp_path, monkeypatch):
    """What stood there stays in the hidden folder, and is put beside it when told."""
    monkeypatch.setattr(whole, "_rename_call", lambda: None)
    path = tmp_path / "release"
    make(path, "old", folder=True)
    monkeypatch.setattr(whole, "claim_folder", taken_by_another(whole.claim_folder))
    with pytest.raises(OutputExists, match="appeared"), whole_folder(path, may_go=anything) as work:
        (work / "x").write_text("new")
    assert content(path) == "theirs"
    (hidden,) = tmp_path.glob(".pramana-*")
    os.utime(hidden, (0, 0))
    monkeypatch.undo()
    assert [one.former for one in remove_leftovers(tmp_path)] == [True]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["release", "release.former"]
    assert content(tmp_path / "release.former") == "old"


def taken_by_another(claim):
    """Somebody is quicker."""

    def slow(place, path):
        if not path.exists():
            make(path, "theirs", folder=True)
        claim(place, path)

    return slow


@pytest.mark.parametrize(
    ("name", "steps", "there"),
    [
        ("release", False, False),
        ("release", False, True),
        ("release", True, False),
        ("release.former", True, True),
    ],
)
def test_told_to_end_at_any_line_all_or_nothing_stands(tmp_path, monkeypatch, steps, name, there):
    """By a signal at every line that is passed: nothing partial, gone or left; and it is said."""
    if steps:
        monkeypatch.setattr(whole, "_rename_call", lambda: None)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # as soon as possible
    ends, number = set(), 0
    while len(ends) < 3:
        number += 1
        assert number < 5_000, "a signal was never seen"
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        if there:
            make(path, "old", folder=True)
        forget_written_outputs()
        done = told_to_end_at(number, path)
        stands = content(path) if path.exists() else None
        assert stands in ("new", "old" if there else None), number
        assert (stands == "new") == (path in written_outputs()), number
        assert [one.name for one in path.parent.iterdir()] == ([name] if stands else []), number
        ends.add((done, stands))
    assert len(ends) == 3  # before it stood, when it stood, and not told any more


def told_to_end_at(number, path):
    """Replace a folder, and be told to end at such a line of the package; whether it was."""
    left = number

    def line(_frame, event, _):
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGTERM)
        return line

    def call(frame, *_):
        return line if frame.f_code.co_filename in FILES else None

    def end(*_):
        raise KeyboardInterrupt

    usual, watching = signal.signal(signal.SIGTERM, end), sys.gettrace()
    sys.settrace(call)
    try:
        with whole_folder(path, may_go=anything) as work:
            (work / "x").write_text("new")
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(watching)
        signal.signal(signal.SIGTERM, usual)
    return False


def test_a_lock_that_is_looked_at_is_taken_all_the_same(tmp_path):
    """Whoever looks for leftovers holds it for a moment; the folder must not be without it then."""
    import fcntl

    path, taken = tmp_path / "a", []

    def look(*_):
        for folder in tmp_path.glob(".pramana-*"):
            if not taken:
                handle = os.open(folder, os.O_RDONLY)
                fcntl.flock(handle, fcntl.LOCK_EX)
                taken.append(threading.Timer(0.05, os.close, (handle,)))
                taken[0].start()

    sys.settrace(lambda *told: look(*told))
    try:
        whole = whole_file(path)
        place = whole.__enter__()
    finally:
        sys.settrace(None)
    taken[0].join()
    os.utime(place.parent, (0, 0))
    assert leftovers(tmp_path) == []
    place.write_text("x")
    whole.__exit__(None, None, None)
    assert path.read_text() == "x"


def test_nothing_waits_for_a_pipe(tmp_path):
    """A file is read if it is one."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nobody"):
        with pytest.raises(InputError, match=path.name):
            read_file(path)


def test_every_writer_goes_through_here():
    """No other module writes files, moves them into place, or makes folders to do so.

    What lies inside a folder that is not there yet may be written as it comes.
    """
    verbs = {"write_text", "write_bytes", "rename", "mkdtemp", "savefig"}
    inside = {
        "release/folder.py": {"write_bytes", "write_text"},
        "collect/survey_folder.py": {"write_bytes"},
        "experiments/harness.py": {"write_text"},
        "base/charts.py": {"write_text"},
        "evaluation/report.py": {"write_text"},
    }
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if str(path) in FILES:
            continue
        calls = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        found[name] = (calls & verbs) - inside.get(name, set())
    assert {name: calls for name, calls in found.items() if calls} == {}


@pytest.mark.parametrize("verb", ["describe", "compare", "report", "synthesize"])
def test_nothing_replaces_what_is_read_nor_a_part_of_a_release(tmp_path, verb, capsys):
    """With --force too: tables, schemas, records of a release; nor is a pipe waited for."""
    truth, schema, release = tmp_path / "t.csv", tmp_path / "s.toml", tmp_path / "release"
    truth.write_text("sex,age\n" + "f,1\nm,2\nf,2\nm,1\n" * 20)
    run(["describe", truth, "--keys", "sex,age", "-o", schema])
    run(["protect", truth, "--schema", schema, "--k", "2", "-o", release])
    (data,) = (own for own in release.iterdir() if own.name.startswith("data"))
    os.mkfifo(pipe := tmp_path / "pipe.csv")
    asked = {
        "describe": ([truth], [truth, data, pipe]),
        "compare": ([truth, "--schema", schema, "--k", "2"], [truth, schema, data, pipe]),
        "report": ([release, "--original", truth], [truth, data, pipe]),
        "synthesize": ([release], [data, pipe]),
    }
    inputs, forbidden = asked[verb]
    capsys.readouterr()
    for place in forbidden:
        before = None if place is pipe else place.read_bytes()
        assert run([verb, *inputs, "-o", place, "--force"]) == 2
        assert before is None or place.read_bytes() == before
        assert "unforeseen" not in capsys.readouterr().err


def run(command):
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in command])
    return left.value.code or 0
