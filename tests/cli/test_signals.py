"""Commands that are told to end leave nothing behind, and say so in one line."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pramana.base.atomic_files import leftovers
from pramana.base.processes import interrupt_on_signals
from pramana.collect import simulated_survey
from pramana.collect import survey_folder as survey_folders
from pramana.collect.simulated_survey import SURVEY
from pramana.collect.survey_folder import new_survey
from tests.cli.conftest import Run, people_csv

COMMAND = [sys.executable, "-c", "from pramana.cli.app import main; main()"]


def names() -> list[str]:
    """What lies in the present folder."""
    return sorted(path.name for path in Path().iterdir())


def started(words: list[str], **pipes: Any) -> subprocess.Popen[str]:
    """A command that hears signals, also where the tests themselves do not (in the background)."""

    def hear() -> None:
        for one in (signal.SIGHUP, signal.SIGINT):
            signal.signal(one, signal.SIG_DFL)

    return subprocess.Popen([*COMMAND, *words], text=True, preexec_fn=hear, **pipes)


@pytest.mark.deep
def test_a_command_told_to_end_leaves_nothing(steward: Path) -> None:
    """One line, 128 and the number of the signal, and the folder as it was."""
    Path("people.csv").write_text(people_csv(60_000))
    before = names()
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process, told = told_while_it_writes(one)
        assert process.returncode == 128 + one
        assert told.count("\n") == 1
        assert "Unfinished output was removed" in told
    assert names() == before


def told_while_it_writes(number: signal.Signals) -> tuple[subprocess.Popen[str], str]:
    """A command told to end as soon as it wrote, and its words; done again if it was quicker."""
    words = ["protect", "people.csv", "--schema", "schema.toml", "--k", "2", "-o", "release"]
    for _ in range(5):
        process = started(words, stderr=subprocess.PIPE)
        while process.poll() is None and not list(Path().glob(f".pramana-{process.pid}-*")):
            time.sleep(0.001)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
        if process.returncode:
            break
        shutil.rmtree("release")
    return process, told


def test_leftovers_are_shown_and_removed_when_told(steward: Path, run: Run) -> None:
    """Not those of a process that still runs, nor what only looks alike."""
    for name in (".pramana-999999999-0", ".pramana-mine", f".pramana-{os.getpid()}-0"):
        Path(name).mkdir()
    Path(".pramana-999999999-0/release").mkdir()
    assert run("clean --json").json["leftovers"] == [".pramana-999999999-0"]
    assert "release was being written" in run("keygen office").err
    outcome = run("clean . --remove")
    assert outcome.out.endswith("1 removed.\n")
    assert run("clean").out == "No leftover files.\n"
    assert [name for name in names() if name[0] == "."] == [
        f".pramana-{os.getpid()}-0",
        ".pramana-mine",
    ]
    assert run("clean nowhere").code == 2


@pytest.mark.deep
def test_servers_close_with_their_terminal(steward: Path) -> None:
    """Told to end in any way, the studio and a survey close without a traceback."""
    Path("survey.toml").write_text(SURVEY.format(expected=500))
    new_survey(Path("survey.toml"), Path("survey"))
    servers = {
        one: started(words.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for one, words in (
            ("studio", "studio --no-browser"),
            ("collect", "collect serve survey --port 0"),
        )
    }
    assert servers["studio"].stdout is not None
    assert servers["studio"].stdout.readline().startswith("Pramana studio")
    wait_for(Path("survey/answers.sqlite"))
    for server in servers.values():
        server.send_signal(signal.SIGHUP)
    for server in servers.values():
        _, told = server.communicate(timeout=60)
        assert server.returncode in (0, 128 + signal.SIGHUP)
        assert told.count("\n") <= 1
        assert "Traceback" not in told


def wait_for(path: Path) -> None:
    """Until it is there."""
    end = time.monotonic() + 30
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


def told_by(script: str) -> subprocess.CompletedProcess[str]:
    """What becomes of a program that is told to end at a chosen moment."""
    begin = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", f"{begin}{script}", "clean"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_interruption_while_it_is_loaded_shows_no_trace() -> None:
    """It ends by the signal, without a word."""
    done = told_by(
        "from pramana import __main__ as program\n"
        "class Tell:\n"
        "    def find_spec(self, name, *_):\n"
        "        name == 'pramana.cli.app' and os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Tell())\n"
        "program.main()\n"
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def told_to_end(*_: object, **__: object) -> None:
    """In the middle of something."""
    signal.raise_signal(signal.SIGTERM)


def test_leftovers_are_removed_to_the_end(
    steward: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever says that nothing is left behind has left nothing."""
    for number in "01":
        Path(f".pramana-999999999-{number}/release").mkdir(parents=True)
    usual = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda place: (told_to_end(), usual(place)))
    outcome = run("clean . --remove")
    assert outcome.code == 143
    assert not leftovers(Path())


def test_codes_that_may_answer_are_told_of(
    steward: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their file has no name yet, and the store knows them."""
    Path("survey.toml").write_text(f"codes = true\n{SURVEY.format(expected=500)}")
    new_survey(Path("survey.toml"), Path("survey"))
    usual = survey_folders.note_written
    monkeypatch.setattr(survey_folders, "note_written", lambda path: (told_to_end(), usual(path)))
    outcome = run("collect invite survey 5 -o codes")
    assert outcome.code == 143
    assert "Files written before the failure: survey." in outcome.err


class Survey:
    """Told to end while the survey's file is written."""

    format = staticmethod(told_to_end)


def test_a_demonstration_leaves_nothing_or_is_told_of(
    steward: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder stands when it holds the survey's file, and not before."""
    monkeypatch.setattr(simulated_survey, "SURVEY", Survey)
    outcome = run("collect demo -o demo")
    assert "Unfinished output was removed" in outcome.err
    assert not Path("demo").exists()
    monkeypatch.setattr(simulated_survey, "SURVEY", SURVEY)
    monkeypatch.setattr(simulated_survey, "new_survey", told_to_end)
    outcome = run("collect demo -o demo")
    assert outcome.code == 143
    assert "Files written before the failure: " in outcome.err
    assert [path.name for path in Path("demo").iterdir()] == ["survey.toml"]


@pytest.mark.parametrize("one", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.deep(every=3)
def test_who_works_for_a_command_does_not_speak_for_itself(
    steward: Path, one: signal.Signals
) -> None:
    """A terminal tells all at once, here while the collector of a demonstration begins."""
    words = ["collect", "demo", "--people", "100", "-o", "demo"]
    process = started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_for(Path("demo/survey/answers.sqlite"))
    os.killpg(process.pid, one)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + one
    assert told.count("\n") == 1
    assert "Files written before the failure: " in told


@pytest.mark.parametrize("one", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_exit_code_tells_the_signal_wherever_it_came(
    steward: Path, one: signal.Signals
) -> None:
    """Through text that Python runs, too: as a module the interpreter would end by SIGINT."""
    Path("told.py").write_text(
        "import os, signal\n"
        "from pramana.cli import app, rendering\n"
        f"app.app = lambda **_: exec('os.kill(os.getpid(), {one.value}); signal.pause()')\n"
        f"signal.signal({one.value}, signal.SIG_DFL)\n"
        "app.main()\n"
    )
    command = [sys.executable, "told.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + one
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("stream", [1, 2])
def test_a_full_stream_does_not_undo_the_command(steward: Path, stream: int) -> None:
    """A full stdout is an error that names what was written; a full stderr is none."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(
        [*COMMAND, "keygen", "office"],
        preexec_fn=lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), stream),
        check=False,
        **pipes,
    )  # type: ignore[call-overload]
    if stream == 1:
        assert done.returncode == 2
        assert b"Files written before the failure: " in done.stderr
    else:
        assert (done.returncode, done.stderr.count(b"pramana: ")) == (0, 0)
    assert b"PRIVATE" in Path("office").read_bytes()
    assert b"PUBLIC" in Path("office.pub").read_bytes()


def test_a_signal_while_something_is_loaded_is_heard_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the middle of loading may leave its lock held: threads would wait for ever."""
    body = "import os, time; os.kill(os.getpid(), 15); time.sleep(0.001); whole = True"
    (tmp_path / "loaded_while_told.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    told: list[int] = []

    def load() -> None:
        assert import_module("loaded_while_told").whole
        assert not told
        time.sleep(10)

    with pytest.raises(KeyboardInterrupt), interrupt_on_signals(told):
        load()
    assert told == [signal.SIGTERM]
    assert sys.modules.pop("loaded_while_told").whole
