"""The queue of jobs before the worker process: progress, cancelling, kept results.

A job is identified by its task and arguments. Asked for again it is the same job, so that a page
that is reloaded, a second tab and a reopened studio find its result.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pramana.base.atomic_files import remove_leftovers, write_whole
from pramana.base.processes import isolate_children
from pramana.base.translation import language as current_language
from pramana.base.translation import noop
from pramana.studio.session import plainly
from pramana.studio.worker import GIVE_WAY, work

Condition: TypeAlias = Literal["waiting", "running", "done", "refused", "cancelled"]
GRACE: Final = 5.0
"""Seconds for the worker to take away what it was writing."""

MOST_KEPT: Final = 300
"""Results, the newest ones."""

LOST: Final = noop("The worker has ended or cannot begin, perhaps for lack of memory. Try again.")
FORM: Final = 5
"""Of kept results: another one is not read."""


@dataclass
class Job:
    """One call of a task in the worker.

    Attributes:
        key: Of the task and its arguments.
        function, arguments: The task.
        condition: Its state.
        result: Of a job that is done.
        so_far: A partial result while it runs.
        words: The current stage, or why it was refused.
        values: Filled into the words.
        language: In which its texts are.
        code, fields: Of the error by which it was refused.
        notices: Warnings for the steward.
        done, total: Progress, in whatever is counted.
        since: When it began, on the monotonic clock.
        lane: Of the jobs waiting in one lane, only the last is wanted.
        keep: Whether the result is kept on disk.
        quick: Whether it runs at the same time as long jobs.
        patient: Its priority: what is asked for now (0), what is searched for while a slider moves
            (1), what is tried in the background (2).
        yields: Whether it can be interrupted now by a job that goes first.
    """

    key: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    condition: Condition = "waiting"
    result: Any = None
    so_far: Any = None
    words: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    language: str = field(default_factory=current_language)
    code: str = ""
    fields: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    done: int = 0
    total: int = 0
    since: float = 0.0
    lane: str = ""
    keep: bool = True
    quick: bool = False
    patient: int = 0
    yields: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def share(self) -> float | None:
        """The share that is done, if known."""
        return min(self.done / self.total, 1.0) if self.total else None

    @property
    def seconds(self) -> float:
        """Seconds that it has been running."""
        return time.monotonic() - self.since if self.since else 0.0

    @property
    def left(self) -> float | None:
        """Seconds left, by the time it took so far."""
        share = self.share
        if share is None or share < 0.02 or self.seconds < 1:
            return None
        return self.seconds * (1 - share) / share


class Jobs:
    """Two queues before one worker, of long and of quick jobs, and their results."""

    def __init__(self, results: Path, folder: Path) -> None:
        self._results = results
        self._folder = folder
        self._jobs: dict[str, Job] = {}
        self._queue: list[Job] = []
        self._quick: list[Job] = []
        self._turn = threading.Condition()
        self._process: Any = None
        self._pipes: tuple[Any, Any] = (None, None)
        self._closed = False
        self._forget_old()
        self._threads = [
            threading.Thread(target=self._run, args=(quick,), daemon=True) for quick in (0, 1)
        ]
        for thread in self._threads:
            thread.start()

    def ask(
        self,
        function: Callable[..., Any],
        *,
        lane: str = "",
        keep: bool = True,
        quick: bool = False,
        patient: int = 0,
        **arguments: Any,
    ) -> Job:
        """The job of a task with these arguments: a new one, or the one that was asked for before.

        A job in a lane replaces those that wait in it. A quick job waits for no long one.
        """
        key = _key(function, arguments)
        with self._turn:
            job = self._jobs.get(key)
            if job is not None and job.condition != "cancelled":
                return job
            if job is None:
                job = Job(key, function, arguments, lane=lane, keep=keep, quick=quick,
                          patient=patient)  # fmt: skip
                self._jobs[key] = job
                self._recall(job)
        if job.condition == "waiting":
            self._enter(job)
        return job

    def again(self, key: str) -> None:
        """Do a job that was cancelled or refused once more."""
        job = self._jobs.get(key)
        if job is not None and job.condition in ("cancelled", "refused"):
            job.ended.clear()
            job.condition, job.words, job.done, job.total = "waiting", "", 0, 0
            self._enter(job)

    def forget(self, function: Callable[..., Any], **arguments: Any) -> None:
        """Let a task be done anew when it is asked for again."""
        key = _key(function, arguments)
        with self._turn:
            self._jobs.pop(key, None)
        self._path(key).unlink(missing_ok=True)

    def also(self, job: Job, result: Any, **arguments: Any) -> None:
        """Keep the result of a job under these arguments too."""
        known = job.arguments | arguments
        key = _key(job.function, known)
        other = Job(key, job.function, known, result=result, notices=job.notices, keep=job.keep)
        self._remember(other)
        _end(other, "done")
        with self._turn:
            self._jobs[key] = other

    def key_of(self, function: Callable[..., Any], **arguments: Any) -> str:
        """The key of a task with these arguments."""
        return _key(function, arguments)

    def recalled(self, function: Callable[..., Any], **arguments: Any) -> Job | None:
        """A kept result of an earlier session; nothing is begun."""
        job = Job(_key(function, arguments), function, arguments)
        self._recall(job)
        if job.condition != "done":
            return None
        return self._jobs.setdefault(job.key, job)

    def find(self, key: str) -> Job | None:
        """The job of that key."""
        return self._jobs.get(key)

    @property
    def busy(self) -> Job | None:
        """The long job that is running."""
        running = (job for job in self._jobs.values() if job.condition == "running")
        return next((job for job in running if not job.quick), None)

    def cancel(self, key: str) -> None:
        """Stop a job: one that waits is taken out, one that runs ends with its process."""
        job = self._jobs.get(key)
        if job is None:
            return
        with self._turn:
            if job in self._line(job):
                self._line(job).remove(job)
                _end(job, "cancelled")
                return
            running = job.condition == "running" and not job.quick  # others need its process
            process = self._process if running else None
            if process is not None:
                job.condition = "cancelled"
        if process is not None:
            self._stop(process)
            job.ended.wait(GRACE)

    def close(self) -> None:
        """End the worker; nothing goes on."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()
            process = self._process
        if process is not None:
            self._stop(process)
        for thread in self._threads:
            thread.join(GRACE)

    def _line(self, job: Job) -> list[Job]:
        return self._quick if job.quick else self._queue

    def _enter(self, job: Job) -> None:
        with self._turn:
            line = self._line(job)
            for other in [one for one in line if job.lane and one.lane == job.lane]:
                line.remove(other)
                self._jobs.pop(other.key, None)
                _end(other, "cancelled")
            if job not in line:
                line.append(job)
                line.sort(key=lambda waiting: waiting.patient)
            self._interrupt_if_outranked()
            self._turn.notify_all()

    def _interrupt_if_outranked(self) -> None:
        """Interrupt a job that yields if a waiting one is more urgent, or replaces it."""
        busy = self.busy
        if busy is None or not busy.yields or GIVE_WAY is None or self._process is None:
            return
        outranked = any(
            job.patient < busy.patient or (busy.lane and job.lane == busy.lane)
            for job in self._queue
        )
        if outranked and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, GIVE_WAY)

    def _stop(self, process: Any) -> None:
        process.terminate()
        process.join(GRACE)
        if process.is_alive():
            process.kill()
            process.join()
            remove_leftovers(self._folder)

    # -- the threads that talk to the worker -------------------------------------------------------

    def _run(self, quick: int) -> None:
        line = self._quick if quick else self._queue
        while True:
            with self._turn:
                while not line and not self._closed:
                    self._turn.wait()
                if self._closed:
                    return
                job = line.pop(0)
                try:
                    process, pipe = self._connected(), self._pipes[quick]
                except OSError:  # no memory for one more process
                    _lost(job)
                    continue
                job.condition, job.since = "running", time.monotonic()
            try:
                pipe.send((job.function, job.arguments, job.language))
                while not self._take(job, pipe.recv()):
                    pass
            except (EOFError, OSError):  # it was ended, or has died
                with self._turn:
                    if self._process is process:
                        self._process = None
                    again = bool(quick) and not job.words
                    if again:
                        job.words = noop("Once more")  # what takes long was cancelled beside it
                        line.insert(0, job)
                if not again:
                    _lost(job)

    def _connected(self) -> Any:
        """The worker, started where there is none."""
        if self._process is None or not self._process.is_alive():
            isolate_children()  # the worker, and the resource tracker that multiprocessing starts
            context = get_context("spawn")
            ours, theirs = zip(context.Pipe(), context.Pipe(), strict=True)
            self._process = context.Process(target=work, args=theirs, daemon=False)
            with _terminal_signals_blocked():
                self._process.start()
            for pipe in theirs:
                pipe.close()
            self._pipes = ours
        return self._process

    def _take(self, job: Job, message: tuple[Any, ...]) -> bool:
        """Take a message of the worker; whether the job is over."""
        kind = message[0]
        if kind == "progress":
            job.done, job.total = message[1], message[2]
        elif kind == "so far":
            job.so_far = json.loads(json.dumps(message[1]))
        elif kind == "said":
            job.words, job.values = message[1]
        elif kind == "refused":
            words, job.code, job.fields = message[1]
            job.values = {}
            job.words = plainly(words, self._folder)
            _end(job, "refused")
        elif kind == "yields":
            with self._turn:
                job.yields = True
                self._interrupt_if_outranked()
        elif kind == "superseded":
            self._requeue(job)
        elif kind == "done":
            result, notices = message[1]
            job.notices = list(dict.fromkeys(plainly(notice, self._folder) for notice in notices))
            job.result = json.loads(json.dumps(result))  # as it is found again
            self._remember(job)
            _end(job, "done")
        return kind in ("refused", "superseded", "done")

    def _requeue(self, job: Job) -> None:
        """An interrupted job waits again, unless another one of its lane is wanted."""
        with self._turn:
            if any(job.lane and one.lane == job.lane for one in self._queue):
                self._jobs.pop(job.key, None)  # asked for again, it is done anew
                _end(job, "cancelled")
            else:
                job.condition, job.yields, job.since = "waiting", False, 0.0
                self._queue.insert(0, job)
                self._queue.sort(key=lambda waiting: waiting.patient)

    # -- results that are kept ---------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self._results / f"{key}.json"

    def _forget_old(self) -> None:
        """Keep the newest results only."""
        with suppress(OSError):  # one is gone meanwhile
            newest = sorted(self._results.glob("*.json"), key=lambda path: -path.stat().st_mtime)
            for path in newest[MOST_KEPT:]:
                path.unlink(missing_ok=True)

    def _remember(self, job: Job) -> None:
        if job.keep:
            form = {"form": FORM, "result": job.result, "notices": job.notices}
            with suppress(OSError):  # on a full disk it is found anew, and the result is one
                write_whole(self._path(job.key), json.dumps(form), force=True, mode=0o600)

    def _recall(self, job: Job) -> None:
        if not job.keep:
            return
        try:
            form = json.loads(self._path(job.key).read_text(encoding="utf-8"))
            if form["form"] != FORM:
                return
            job.result, job.notices = form["result"], form["notices"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        _end(job, "done")


@contextmanager
def _terminal_signals_blocked() -> Iterator[None]:
    """The process that is started in here does not react to its terminal, not even at its start."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # which would unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _lost(job: Job) -> None:
    """The process of a job has ended: because it was cancelled, or by itself."""
    if job.condition == "cancelled":
        _end(job, "cancelled")
        return
    job.words, job.values, job.code = LOST, {}, "lost"
    _end(job, "refused")


def _end(job: Job, condition: Condition) -> None:
    job.condition = condition
    job.ended.set()


def _key(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    name = f"{function.__module__}.{function.__qualname__}"
    text = json.dumps([name, arguments, current_language()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
