"""The worker process: tables stay open here, and pages answer meanwhile.

One thread runs long tasks. A second one computes quick answers from what was read
already: live counts and sliders never wait for a release that is being written.

It ends when its parent does, however that ends, and on request: what it was writing is then
removed, as after an interruption of a command.

Surveys that take answers are served by further processes, to this machine alone (``Collectors``).
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias, TypedDict

from pramana import api
from pramana.base.processes import (
    defer_during_import,
    give_back,
    isolate_children,
    listener_at,
    load_for_threads,
)
from pramana.base.translation import in_language
from pramana.errors import InputError, Notice, PramanaError, is_heard

PROGRESS_EVERY: Final = 0.1
"""Seconds between two messages about progress."""


GIVE_WAY: Final = getattr(signal, "SIGUSR1", None)
"""Interrupts a task that yields."""


_NOTICES: Final = ContextVar[list[str] | None]("notices", default=None)
"""Of the current task; a thread of an older task has its own list."""


class Superseded(BaseException):
    """The task was interrupted by a more urgent one."""


class TableAt(TypedDict):
    """The original data as tasks take them: their file, how it is read, and its state."""

    path: str
    encoding: str
    rename: bool
    stamp: str


class Shelf:
    """The open table, and values that tasks keep for later tasks on it, by name."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.RLock()
        self._opened: dict[tuple[str, str, bool, str], Any] = {}
        self._kept: dict[str, Any] = {}

    def table(self, path: str, encoding: str, rename: bool, stamp: str) -> Any:
        """The table there, opened once; another one takes its place."""
        key = (path, encoding, rename, stamp)
        with self._one_at_a_time:
            if key not in self._opened:
                self._opened, self._kept = {}, {}
                declared = bool(encoding or rename)
                source = (
                    api.read(path, encoding=encoding or None, rename=rename) if declared else path
                )
                self._opened = {key: api.open_source(source)}
            return self._opened[key]

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """The value kept under this name, made now if there is none."""
        with self._one_at_a_time:
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]

    def let_go(self, name: str) -> None:
        """Forget a kept value, to free memory."""
        with self._one_at_a_time:
            self._kept.pop(name, None)


class Workbench:
    """What a task works with: the open table, kept values, and messages to the page."""

    def __init__(self, pipe: Connection, shelf: Shelf) -> None:
        self._pipe = pipe
        self._told = 0.0
        self._done = self._total = 0
        self.table = shelf.table
        self.keep = shelf.keep
        self.let_go = shelf.let_go

    def say(self, words: str, **values: object) -> None:
        """Report the current stage: a text with the values in it."""
        self._pipe.send(("said", (words, values)))

    def show(self, so_far: Any) -> None:
        """Send a partial result."""
        self._pipe.send(("so far", so_far))

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """Work in here can be interrupted by a more urgent task."""
        if GIVE_WAY is None:  # no such signal on this system
            yield
            return
        received: list[int] = []
        signal.signal(GIVE_WAY, partial(_superseded, received))
        try:
            self._pipe.send(("yields",))
            yield
        except Exception:
            if received:  # a library has made an error of its own of it
                raise Superseded from None
            raise
        finally:
            signal.signal(GIVE_WAY, signal.SIG_IGN)

    def patiently(self, name: str, make: Callable[[], Any]) -> Any:
        """Make a value that survives an interruption of the task after it is made."""
        trials = self.keep("trials", dict)
        if name not in trials:
            with self.giving_way():
                trials[name] = make()
        return trials[name]

    def expect(self, total: int) -> Callable[[int], None]:
        """A function that is called with the number of further steps done, of ``total``."""
        self._done, self._total = 0, max(total, 1)
        return self._advance

    def _advance(self, more: int) -> None:
        self._done += more
        now = time.monotonic()
        if now - self._told > PROGRESS_EVERY:
            self._told = now
            self._pipe.send(("progress", self._done, self._total))


def work(pipe: Connection, quick_pipe: Connection) -> None:
    """Run one task after the other, until the pipe is closed; quick ones come by the other pipe.

    All output goes through the pipes: what libraries print may show data.
    """
    if not os.environ.get("PRAMANA_TRACEBACK"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.signal(signal.SIGTERM, _ended)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server is interrupted, and tells us
    logging.getLogger().addHandler(logging.NullHandler())  # what libraries log may show data
    if GIVE_WAY is not None:
        signal.signal(GIVE_WAY, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    warnings.warn = _hear
    threading.Thread(target=end_with_parent, daemon=True).start()
    shelf = Shelf()
    load_for_threads()
    threading.Thread(target=_serve, args=(quick_pipe, shelf, _quietly), daemon=True).start()
    _serve(pipe, shelf, _with_notices)


def _serve(pipe: Connection, shelf: Shelf, do: Callable[..., tuple[Any, list[str]]]) -> None:
    """Run the tasks that come by one pipe."""
    bench = Workbench(pipe, shelf)
    try:
        while True:
            function, arguments, language = pipe.recv()
            with in_language(language):
                pipe.send(_outcome(partial(do, function, bench, arguments)))
            give_back()  # the next task may be one that needs much
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _with_notices(
    function: Callable[..., Any], bench: Workbench, arguments: dict[str, Any]
) -> tuple[Any, list[str]]:
    heard: list[str] = []
    token = _NOTICES.set(heard)
    try:
        return function(bench, **arguments), heard
    finally:
        _NOTICES.reset(token)


def _hear(
    message: Warning | str, category: type[Warning] | None = None, *_: Any, **__: Any
) -> None:
    """Notices go to their task, not by filters, which all threads share.

    An interrupted trial may still run while a release is written; its notices are not
    about that release.
    """
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    heard = _NOTICES.get()
    if heard is not None and issubclass(kind, Notice) and is_heard(kind):
        heard.append(str(message))


def _quietly(
    function: Callable[..., Any], bench: Workbench, arguments: dict[str, Any]
) -> tuple[Any, list[str]]:
    """Quick answers have no notices beyond those given when the table was opened."""
    return function(bench, **arguments), []


def _outcome(do: Callable[[], tuple[Any, list[str]]]) -> tuple[str, Any]:
    """The result of a task; messages of libraries may quote a record and are not passed on."""
    try:
        return "done", do()
    except Superseded:
        return "superseded", None
    except PramanaError as error:
        return "refused", (str(error), error.code, error.fields)
    except MemoryError:
        return "refused", ("There is not enough memory for this.", "memory", {})
    except OSError as error:
        words = error.strerror or "The operating system refused to read or write."
        return "refused", (words, "system", {})
    except Exception as error:  # a fault of ours, whose message could show cells
        if os.environ.get("PRAMANA_TRACEBACK"):
            raise
        words = f"An unexpected {type(error).__name__}: a fault in pramana. Report it."
        return "refused", (words, "fault", {})


def _ended(number: int, frame: FrameType | None) -> None:
    """Remove what is being written on the way out, uninterrupted."""
    if defer_during_import(number, frame):
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _superseded(received: list[int], number: int, frame: FrameType | None) -> None:
    if defer_during_import(number, frame):
        return
    received.append(number)
    signal.signal(number, signal.SIG_IGN)
    raise Superseded


def end_with_parent() -> None:
    """Ask this process to end as soon as its parent has ended, however that ends."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


HERE: Final = "127.0.0.1"
PATIENCE: Final = 60.0
"""Seconds for a collector to begin, and to end."""

Collected: TypeAlias = tuple[Path, int | None]
"""A survey folder, in a panel with a wave."""


class Collectors:
    """The processes that take answers, and their addresses."""

    def __init__(self) -> None:
        self._running: dict[Collected, tuple[Any, str]] = {}
        self._turn = threading.Lock()

    def address(self, survey: Collected) -> str:
        """Where people answer; empty where no answers are taken."""
        process, address = self._running.get(survey, (None, ""))
        return address if process is not None and process.is_alive() else ""

    def start(self, survey: Collected, database: str | None) -> None:
        """Take answers."""
        with self._turn:
            if self.address(survey):
                return
            isolate_children()
            context = get_context("spawn")
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=_collect, args=(theirs, *survey, database), daemon=True
            )
            process.start()
            theirs.close()
            try:
                said = ours.recv() if ours.poll(PATIENCE) else "The survey could not be started."
            except EOFError:
                said = "The survey could not be started."
            if isinstance(said, str):
                process.terminate()
                raise InputError(said)
            self._running[survey] = (process, f"http://{HERE}:{said}/")

    def stop(self, survey: Collected) -> None:
        """Take no more answers for now."""
        with self._turn:
            process, _ = self._running.pop(survey, (None, ""))
            if process is not None:
                process.terminate()
                process.join(PATIENCE)

    def close(self) -> None:
        """Stop all."""
        for survey in list(self._running):
            self.stop(survey)


def _collect(pipe: Connection, folder: Path, wave: int | None, database: str | None) -> None:
    """Serve a survey, and say at which port; or why not."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        with listener_at(HERE, 0) as at:
            ready = partial(pipe.send, at.getsockname()[1])
            api.serve_folder(folder, at, wave=wave, database=database, ready=ready)
    except PramanaError as error:
        pipe.send(str(error))
