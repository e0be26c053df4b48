"""Work in its own process: progress, cancel, results that are found again."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from multiprocessing import Pipe
from pathlib import Path

import pytest

from pramana.studio import worker
from pramana.studio.jobs import Job, Jobs
from tests.studio.conftest import no_room
from tests.studio.tasks import (
    break_down,
    double,
    fill,
    held,
    left_off,
    linger,
    refuse,
    search,
    slow,
    speak,
    telling,
    trials,
)


@pytest.fixture(scope="module", autouse=True)
def brief_workers() -> None:
    """Nothing here takes long for the sake of figures: workers are what they are for everybody."""


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    (tmp_path / "results").mkdir()
    made = Jobs(tmp_path / "results", tmp_path)
    yield made
    made.close()


def finished(job: Job) -> Job:
    assert job.ended.wait(20)
    return job


def searching(job: Job) -> None:
    for _ in range(400):
        if job.condition == "running" and job.yields:
            return
        time.sleep(0.05)
    raise AssertionError("It never began.")


def running(job: Job) -> None:
    for _ in range(400):
        if job.condition == "running" and job.words == "Writing" and job.done:
            return
        time.sleep(0.05)
    raise AssertionError("It never began.")


def test_work_is_done_elsewhere_once_and_found_again(jobs: Jobs, tmp_path: Path) -> None:
    """Asked again it is the same job; another studio on the folder finds what is kept."""
    job = finished(jobs.ask(double, number=21))
    assert job.result["number"] == 42
    assert job.result["process"] != os.getpid()
    assert jobs.ask(double, number=21) is job
    other = Jobs(tmp_path / "results", tmp_path)
    assert other.ask(double, number=21).result == job.result
    other.close()


def test_a_full_disk_loses_no_result(jobs: Jobs) -> None:
    """It is not kept for another day, and neither the job nor the worker is taken for lost."""
    first = finished(jobs.ask(double, number=1))
    with no_room():
        job = finished(jobs.ask(double, number=3))
    assert job.condition == "done"
    assert job.result == {"number": 6, "process": first.result["process"]}


def test_what_is_told_is_of_the_work_at_hand(jobs: Jobs) -> None:
    """Not of a trial that still runs beside it, as nobody waited for its end."""
    assert jobs.ask(left_off).ended.wait(30)
    job = jobs.ask(telling)
    assert job.ended.wait(30)
    assert job.notices == ["of the release"]


def test_what_is_refused_is_told_and_what_breaks_is_not_quoted(jobs: Jobs) -> None:
    """The words of a fault may show a record; the worker goes on after it."""
    assert finished(jobs.ask(refuse)).words == "The worker says no."
    broken = finished(jobs.ask(break_down))
    assert broken.condition == "refused"
    assert "RuntimeError" in broken.words
    assert "Secret" not in broken.words
    assert finished(jobs.ask(double, number=1)).result["number"] == 2


def test_the_time_left_follows_from_what_is_done() -> None:
    """A quarter in ten seconds leaves thirty; nothing is said before anything is known."""
    job = Job("x", double, {}, done=25, total=100, since=time.monotonic() - 10)
    assert job.left == pytest.approx(30, rel=0.05)
    assert Job("x", double, {}, done=0, total=100, since=time.monotonic() - 10).left is None
    assert Job("x", double, {}).left is None


def test_cancelled_work_leaves_nothing_and_can_be_done_again(jobs: Jobs, tmp_path: Path) -> None:
    """The process ends, its half-written folder goes, and the next job has a new process."""
    job = jobs.ask(slow, folder=str(tmp_path / "release"))
    running(job)
    assert job.share is not None
    began = time.monotonic()
    jobs.cancel(job.key)
    assert time.monotonic() - began < 6
    assert job.condition == "cancelled"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
    assert finished(jobs.ask(double, number=3)).result["number"] == 6
    jobs.again(job.key)
    running(job)
    jobs.cancel(job.key)


def test_of_work_in_one_lane_only_the_last_waits(jobs: Jobs, tmp_path: Path) -> None:
    """Counts that nobody looks at any more are not made."""
    first = jobs.ask(slow, folder=str(tmp_path / "release"))
    running(first)
    waiting = [jobs.ask(double, lane="count", number=number) for number in (1, 2, 3)]
    assert [job.condition for job in waiting] == ["cancelled", "cancelled", "waiting"]
    jobs.cancel(first.key)
    assert finished(waiting[2]).result["number"] == 6


def test_a_search_gives_way_to_the_next_one_of_its_lane(jobs: Jobs) -> None:
    """Its process goes on with all that it has; what gave way is done anew when asked for again."""
    first = jobs.ask(search, lane="foresee", number=1)
    searching(first)
    other = jobs.ask(search, lane="foresee", number=3)
    assert finished(first).condition == "cancelled"
    found = finished(other).result
    assert found["searched"] == [1, 3]
    assert found["process"] == jobs._process.pid
    again = jobs.ask(search, lane="foresee", number=1)
    assert again is not first
    searching(again)
    jobs.cancel(again.key)


def test_a_search_waits_again_where_other_work_goes_before_it(jobs: Jobs) -> None:
    """Whoever asked for it still gets it."""
    first = jobs.ask(search, lane="foresee", patient=1, number=1)
    searching(first)
    assert finished(jobs.ask(double, number=5)).result["number"] == 10
    assert not first.ended.is_set()
    assert jobs.find(first.key) is first
    searching(first)
    jobs.cancel(first.key)


def test_what_is_asked_for_now_goes_before_what_is_tried(jobs: Jobs) -> None:
    """Trials go on afterwards where they were; one that waits goes behind all that is wanted."""
    first = jobs.ask(trials, patient=2)
    for _ in range(400):
        if first.so_far == 1 and first.yields:
            break
        time.sleep(0.05)
    later = jobs.ask(double, patient=2, number=1)
    wanted = finished(jobs.ask(double, number=2))
    found = finished(first).result
    assert found == {"made": [0, 1, 1, 2], "process": wanted.result["process"]}
    assert wanted.since < first.since < finished(later).since


def test_what_is_quick_waits_for_nothing(jobs: Jobs, tmp_path: Path) -> None:
    """It is answered by the same process beside what takes long, and again by the next process."""
    first = jobs.ask(slow, folder=str(tmp_path / "release"))
    running(first)
    answer = finished(jobs.ask(double, quick=True, keep=False, number=6))
    assert answer.result["process"] == jobs._process.pid
    assert first.condition == "running"
    assert jobs.busy is first
    held = jobs.ask(linger, quick=True, keep=False)
    while held.condition != "running":
        time.sleep(0.05)
    jobs.cancel(held.key)
    assert first.condition == "running"
    jobs.cancel(first.key)
    assert first.condition == "cancelled"
    assert finished(held).condition == "done"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells what is held")
@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.deep(every=2)
def test_memory_that_a_task_no_longer_needs_is_given_back(jobs: Jobs, quick: bool) -> None:
    """The next task, which may need much, begins with what the system gives to any command."""
    before = finished(jobs.ask(fill, quick=quick, keep=False, pieces=1)).result
    meanwhile = finished(jobs.ask(fill, quick=quick, keep=False, pieces=1_000)).result
    assert meanwhile > before + 150
    finished(jobs.ask(double, quick=quick, keep=False, number=1))  # by then it is given back
    assert held(jobs._process.pid) < before + 40


def test_a_worker_that_was_killed_is_told_and_replaced(jobs: Jobs, tmp_path: Path) -> None:
    """As the system does when memory runs out."""
    job = jobs.ask(slow, folder=str(tmp_path / "release"))
    running(job)
    os.kill(jobs._process.pid, signal.SIGKILL)
    assert finished(job).condition == "refused"
    assert "Try again" in job.words
    assert finished(jobs.ask(double, number=4)).result["number"] == 8


def test_a_worker_that_cannot_begin_is_told(jobs: Jobs) -> None:
    """Where the system has no room for it; with room again the next job is done."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        job = finished(jobs.ask(double, number=4))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (job.condition, job.result) == ("refused", None)
    assert "cannot begin" in job.words
    assert finished(jobs.ask(double, number=5)).result["number"] == 10


def test_the_worker_hears_its_terminal_never_and_says_nothing(
    jobs: Jobs, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not even while it is loaded: the studio hears, and tells it."""
    job = jobs.ask(double, number=4)
    while not job.ended.wait(0.01):
        for one in (signal.SIGINT, signal.SIGHUP):
            os.kill(worker_of(jobs), one)
    assert job.result["number"] == 8
    assert jobs.ask(speak).ended.wait(30)
    os.kill(worker_of(jobs), signal.SIGTERM)
    assert jobs.ask(double, number=5).ended.wait(30)
    assert capfd.readouterr().err == ""


def worker_of(jobs: Jobs) -> int:
    """The number of its process, when it has one."""
    while jobs._process is None or jobs._process.pid is None:
        time.sleep(0.001)
    return int(jobs._process.pid)


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_worker_that_is_loading_something_gives_way_when_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Else what it is loading may never be loaded by any thread of it again."""
    body = f"import os, time; os.kill(os.getpid(), {number:d}); time.sleep(0.001); whole = True"
    (tmp_path / "loaded_while_asked.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    before = {one: signal.getsignal(one) for one in (signal.SIGUSR1, signal.SIGTERM)}
    raised = worker.Superseded if number == signal.SIGUSR1 else KeyboardInterrupt
    ours, theirs = Pipe()

    def load() -> None:
        with worker.Workbench(theirs, worker.Shelf()).giving_way():
            assert import_module("loaded_while_asked").whole
            time.sleep(10)

    signal.signal(signal.SIGTERM, worker._ended)
    try:
        with pytest.raises(raised):
            load()
        assert ours.recv() == ("yields",)
        assert sys.modules.pop("loaded_while_asked").whole
    finally:
        for one, how in before.items():
            signal.signal(one, how)
