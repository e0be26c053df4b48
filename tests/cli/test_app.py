"""The command as a process: help, exit codes, interruptions, a full disk."""

from __future__ import annotations

import os
import pty
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pramana.cli.app import LINES, app
from tests.cli.conftest import MARKER, Run, people_csv

COMMAND = [sys.executable, "-c", "from pramana.cli.app import main; main()"]
VERBS = sorted(LINES)
LEAVES = [verb for verb in VERBS if verb != "collect"]
LEAVES += [f"collect {own}" for own in ("new", "serve", "invite", "status", "close", "demo")]


def process(command: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*COMMAND, *command.split()], capture_output=True, text=True, timeout=120, **options
    )


@pytest.mark.parametrize(("said", "used"), [(None, "1"), ("2", "2")])
def test_matrices_are_not_shared_out_among_threads_of_their_own(
    said: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads of ours with two of the library's each wait for one another; unless asked for."""
    from pramana import __main__ as program
    from pramana.cli import app as shell

    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if said is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", said)
    found: list[str | None] = []
    monkeypatch.setattr(shell, "main", lambda: found.append(os.environ["OPENBLAS_NUM_THREADS"]))
    before = signal.getsignal(signal.SIGINT)
    try:
        program.main()
    finally:
        signal.signal(signal.SIGINT, before)
        if said is None:
            os.environ.pop("OPENBLAS_NUM_THREADS")
    assert found == [used]


def test_help_teaches_the_way_from_table_to_release(run: Run) -> None:
    """With and without --help, on stdout, with the exit codes."""
    shown = run("--help")
    assert shown == run()
    assert shown.code == 0
    for word in ("describe", "design", "protect", "verify", "Exit codes"):
        assert word in shown.out


@pytest.mark.parametrize("verb", LEAVES)
def test_the_help_of_each_verb_has_an_example(run: Run, verb: str) -> None:
    """An example is a line that can be typed; every verb gives JSON on request."""
    shown = run(f"{verb} --help")
    assert shown.code == 0
    assert f"\n    pramana {verb}" in shown.out.split("Example:")[1]
    assert "--json" in shown.out or verb in ("collect serve", "studio")  # until stopped


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_has_the_first_line_of_each(run: Run, verb: str) -> None:
    """It is written down once more so that showing the list loads no verb."""
    first = run(f"{verb} --help").out.split("\n\n")[1]
    assert " ".join(first.split()) == LINES[verb]
    assert f" {verb} " in run("--help").out


def test_the_version_is_that_of_the_package(run: Run) -> None:
    """One line."""
    assert run("--version").out.startswith("pramana 0.")


def test_an_interrupted_release_leaves_nothing(tmp_path: Path) -> None:
    """Control-C while a large table is being protected: one line, exit 130, no folder."""
    head, _, body = people_csv(2_000).partition("\n")
    (tmp_path / "people.csv").write_text(head + "\n" + body * 300)
    (tmp_path / "s.toml").write_text(
        '[columns.name]\nrole = "identifier"\n[columns.sex]\nrole = "key"\n'
        '[columns.age]\nrole = "key"\n[columns.region]\nrole = "key"\n'
        '[columns.income]\nrole = "sensitive"\n'
    )
    arguments = ["protect", "people.csv", "--schema", "s.toml", "--k", "2", "-o", "release"]
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # or unheard
    ) as running:  # fmt: skip
        while running.poll() is None and not list(tmp_path.glob(".pramana-*")):
            time.sleep(0.002)  # until it has begun to write
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err == "pramana: Interrupted. Unfinished output was removed.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv", "s.toml"]


def test_a_terminal_gets_a_progress_bar_and_a_pipe_does_not(steward: Path) -> None:
    """On stderr; the result on stdout is the same."""
    ours, theirs = pty.openpty()
    command = "protect people.csv --schema schema.toml --k 2 -o release --seed 1 --force"
    watched = subprocess.run(
        [*COMMAND, *shlex.split(command)], stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    seen = os.read(ours, 100_000).decode(errors="ignore")  # a read may end inside a letter
    os.close(ours)
    piped = process(command)
    assert watched.returncode == piped.returncode == 0
    assert "Protecting" in seen
    assert "Protecting" not in piped.stderr
    assert watched.stdout == piped.stdout


def test_a_disk_that_is_full_gives_one_line_and_no_folder(steward: Path) -> None:
    """Files may not grow beyond a few bytes here, as on a disk without room."""

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    done = process(
        "protect people.csv --schema schema.toml --k 2 -o release",
        preexec_fn=no_room,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("pramana: ")
    assert MARKER not in done.stderr
    assert sorted(path.name for path in steward.iterdir()) == ["people.csv", "schema.toml"]


def test_a_place_that_cannot_be_written_is_named(run: Run) -> None:
    """What the operating system refuses is one line as well."""
    outcome = run("keygen /proc/office.key")
    assert outcome.code == 2
    assert "/proc/office.key" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_reader_who_leaves_early_is_no_error(steward: Path) -> None:
    """``pramana ... | head -1`` ends quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "describe", "people.csv"], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_fault_of_ours_does_not_show_data(steward: Path, run: Run) -> None:
    """An exception that nobody foresaw is named by its kind; its message stays inside."""

    @app.command(name="fault")
    def fault() -> None:
        raise RuntimeError(f"a cell: {MARKER}")

    try:
        outcome = run("fault")
    finally:
        app.registered_commands.pop()
    assert outcome.code == 2
    assert "RuntimeError" in outcome.err
    assert MARKER not in outcome.err
    assert "PRAMANA_TRACEBACK=1" in outcome.err


@pytest.mark.parametrize("command", ["", "collect"])
def test_a_name_alone_teaches_what_can_follow(run: Run, command: str) -> None:
    """Without a verb the help is shown as it was written, line by line."""
    outcome = run(command)
    assert outcome.code == 0
    assert outcome.err == ""
    assert f"Usage: {' '.join(['pramana', *command.split()])} [OPTIONS] COMMAND" in outcome.out
    assert outcome.out.count("\n") > 10
