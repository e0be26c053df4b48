"""Processes that begin in an instant: forked from one that has loaded what they use.

One that starts from nothing spends most of its time on loading libraries. These are processes by
themselves all the same, with numbers, signals, streams and exit codes of their own; whatever is
asked about how a program is loaded needs one that is started.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO

__all__ = ["Command", "nursery"]


def nursery() -> ForkServerContext:
    """Where processes are forked; it is begun where it is not there, and ends with this one."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    forkserver.ensure_running()  # now: what begins it later may be deaf to signals
    return context


class Command:
    """A command of the program in a process of its own, handled as one of ``subprocess`` is.

    It hears signals, also where the tests themselves do not (in the background).

    Args:
        words: What is typed after the name of the program.
        before: Is called in the process before the command begins.
        stderr: A file to write to, where it is not to be a pipe.
        leads: Whether it has a session of its own.
    """

    def __init__(
        self,
        words: Sequence[str | Path],
        *,
        before: Callable[[], None] | None = None,
        stderr: int | None = None,
        leads: bool = False,
    ) -> None:
        context = nursery()
        heard, out = context.Pipe(duplex=False)
        complained, err = context.Pipe(duplex=False)
        if stderr is not None:
            err.close()
            err = Connection(os.dup(stderr), readable=False)
        given = ([*map(str, words)], dict(os.environ), out, err, before, leads)
        self._process = context.Process(target=_run, args=given)
        self._process.start()
        out.close()
        err.close()
        self.stdout, self.stderr = _text(heard), _text(complained)

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended: its exit code, or the number of a signal, negative."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Tell it something, if it is there to hear it."""
        if self._process.is_alive():
            os.kill(self.pid, number)

    def communicate(self, timeout: float) -> tuple[str, str]:
        """All that it says until it ends, which it must within so many seconds."""
        said: dict[IO[str], str] = {}

        def listen(stream: IO[str]) -> None:
            said[stream] = stream.read()

        listeners = [Thread(target=listen, args=(one,)) for one in (self.stdout, self.stderr)]
        for one in listeners:
            one.start()
        self._process.join(timeout)
        if self._process.is_alive():
            self._process.kill()
            raise TimeoutError(f"The command has not ended within {timeout} seconds.")
        for one in listeners:
            one.join()
        self.stdout.close()
        self.stderr.close()
        return said[self.stdout], said[self.stderr]

    def __enter__(self) -> Command:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.is_alive():
            self._process.kill()


def _text(end: Connection) -> IO[str]:
    """What comes out of a pipe."""
    own = os.dup(end.fileno())
    end.close()
    return os.fdopen(own, encoding="utf-8")


def _run(
    words: list[str],
    environment: dict[str, str],
    out: Connection,
    err: Connection,
    before: Callable[[], None] | None,
    leads: bool,
) -> None:
    """What the program does from its first line on, where it is loaded already."""
    os.environ.clear()
    os.environ.update(environment)
    if leads:
        os.setsid()
    for number, stream in ((1, out), (2, err)):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if before is not None:
        before()
    sys.argv = ["pramana", *words]
    from pramana.__main__ import main

    main()
