"""The process that does the work: tables stay open here, and pages answer meanwhile.

One thread does what takes long. Another one, next to it, answers what is quickly computed from what
was read already: live counts and sliders never wait for a release that is being written.

It ends when its parent does, however that ends, and when it is told to: what it was writing is then
taken away, as after an interruption of a command.
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
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, Final, TypedDict

from pramana import api
from pramana.base.processes import defer_during_import, give_back, load_for_threads
from pramana.errors import Notice, PramanaError, is_heard

TOLD_EVERY: Final = 0.1
"""Seconds between two words about how far it is."""


GIVE_WAY: Final = getattr(signal, "SIGUSR1", None)
"""Tells the worker that another question has taken the place of the one that it is at."""


_HEARD: Final = ContextVar[list[str] | None]("heard", default=None)
"""What the steward must know about the task at hand; a thread of an older task has another one."""


class Superseded(BaseException):
    """Nobody waits for this any more."""


class TableAt(TypedDict):
    """The original data as tasks take them: their file, how it is read, and its state."""

    path: str
    encoding: str
    rename: bool
    stamp: str


class Shelf:
    """The table that is open, and what one task leaves for the next one about it, by name."""

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
        """What was made under this name before, or what is made now."""
        with self._one_at_a_time:
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]

    def let_go(self, name: str) -> None:
        """What is made anew when it is asked for again, where memory is short."""
        with self._one_at_a_time:
            self._kept.pop(name, None)


class Workbench:
    """What a task works with: a table that stays open, and someone to tell how far it is."""

    def __init__(self, pipe: Connection, shelf: Shelf) -> None:
        self._pipe = pipe
        self._told = 0.0
        self._done = self._total = 0
        self.table = shelf.table
        self.keep = shelf.keep
        self.let_go = shelf.let_go

    def say(self, words: str) -> None:
        """What is being done."""
        self._pipe.send(("said", words))

    def show(self, so_far: Any) -> None:
        """What has come of it so far, for the page that waits."""
        self._pipe.send(("so far", so_far))

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """What is done in here ends when nobody waits for it any more."""
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
        """What is made now, or was before it had to give way; nobody waits for its being made."""
        trials = self.keep("trials", dict)
        if name not in trials:
            with self.giving_way():
                trials[name] = make()
        return trials[name]

    def expect(self, total: int) -> Callable[[int], None]:
        """Is told how many more of ``total`` are done."""
        self._done, self._total = 0, max(total, 1)
        return self._advance

    def _advance(self, more: int) -> None:
        self._done += more
        now = time.monotonic()
        if now - self._told > TOLD_EVERY:
            self._told = now
            self._pipe.send(("progress", self._done, self._total))


def work(pipe: Connection, quick_pipe: Connection) -> None:
    """Do one task after the other, until the pipe is closed; quick ones come by the other pipe.

    It says nothing but by its pipes: what libraries print may show data.
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
    threading.Thread(target=_end_with_parent, daemon=True).start()
    shelf = Shelf()
    load_for_threads()
    threading.Thread(target=_serve, args=(quick_pipe, shelf, _quietly), daemon=True).start()
    _serve(pipe, shelf, _with_notices)


def _serve(pipe: Connection, shelf: Shelf, do: Callable[..., tuple[Any, list[str]]]) -> None:
    """Answer what comes by one pipe."""
    bench = Workbench(pipe, shelf)
    try:
        while True:
            function, arguments = pipe.recv()
            pipe.send(_outcome(partial(do, function, bench, arguments)))
            give_back()  # the next task may be one that needs much
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _with_notices(
    function: Callable[..., Any], bench: Workbench, arguments: dict[str, Any]
) -> tuple[Any, list[str]]:
    heard: list[str] = []
    token = _HEARD.set(heard)
    try:
        return function(bench, **arguments), heard
    finally:
        _HEARD.reset(token)


def _hear(
    message: Warning | str, category: type[Warning] | None = None, *_: Any, **__: Any
) -> None:
    """Notices go to the task that they are of: not by filters, which all threads share.

    A trial that nobody waits for any more runs out next to the release that is written, and what
    it would say of itself is no word about that release.
    """
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    heard = _HEARD.get()
    if heard is not None and issubclass(kind, Notice) and is_heard(kind):
        heard.append(str(message))


def _quietly(
    function: Callable[..., Any], bench: Workbench, arguments: dict[str, Any]
) -> tuple[Any, list[str]]:
    """What is quickly computed says nothing that was not said when its table was opened."""
    return function(bench, **arguments), []


def _outcome(do: Callable[[], tuple[Any, list[str]]]) -> tuple[str, Any]:
    """What came of a task; words of libraries may quote a record and are not passed on."""
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
        words = f"An unforeseen {type(error).__name__}: a fault in pramana. Report it."
        return "refused", (words, "fault", {})


def _ended(number: int, frame: FrameType | None) -> None:
    """What is being written is cleared away on the way out, and nothing interrupts that."""
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


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
