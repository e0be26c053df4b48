"""Processes: signals that end them, servers that stop at a signal, and isolated child processes.

``python -c`` and ``python -m`` put the working folder first on the import path. Inside the release
of a stranger, a file named ``json.py`` would then be executed in place of the standard library's.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, Protocol

from pramana.errors import InputError, InvalidNumber

ENDING: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C, a request to terminate, and a closed terminal; not every system has all three."""

IMPORTING: Final = "<frozen importlib._bootstrap>"
RETRY_SECONDS: Final = 0.01


class Interruption(KeyboardInterrupt):
    """A signal asked the process to end.

    A class of its own: where a plain ``KeyboardInterrupt`` passes through ``exec`` (dataclasses use
    it), the interpreter ends by SIGINT, whatever exit code the program chose.
    """


@contextmanager
def handle_ending_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a handler of the ending signals, in the main thread; ignored ones stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, previous_handler in previous.items():
            signal.signal(number, previous_handler)


@contextmanager
def interrupt_on_signals(received: list[int]) -> Iterator[None]:
    """Raise :class:`Interruption` at an ending signal, and append its number to ``received``."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not defer_during_import(number, frame):
            received.append(number)
            raise Interruption

    with handle_ending_signals(interrupt):
        yield


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver signals that end the process, or that have a handler, after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in signal.valid_signals()}
    deferred = {
        number: handler
        for number, handler in previous.items()
        if callable(handler) or (number in ENDING and handler is signal.SIG_DFL)
    }
    for number in deferred:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in deferred.items():
            signal.signal(number, handler)
        for pending in sorted(set(received), key=lambda pending: pending not in ENDING):
            signal.raise_signal(pending)


def defer_during_import(number: int, frame: FrameType | None) -> bool:
    """Whether the signal arrived during an import; it is then sent again a moment later.

    An exception raised inside the import system may leave its lock held, and every other thread
    that imports anything then waits forever.
    """
    while frame is not None and frame.f_code.co_filename != IMPORTING:
        frame = frame.f_back
    if frame is None:
        return False
    retry = threading.Timer(RETRY_SECONDS, os.kill, (os.getpid(), number))
    retry.daemon = True
    retry.start()
    return True


PORTS: Final = 2**16


class Stoppable(Protocol):
    """A server that checks a flag from time to time."""

    should_exit: bool


@contextmanager
def stop_on_signals(server: Stoppable) -> Iterator[None]:
    """Stop a server at a signal, also before it listens.

    Uvicorn installs its own handlers only once it listens; an exception raised while it builds its
    event loop would end in complaints about what was left half done.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    with handle_ending_signals(stop):
        yield


def listener_at(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one."""
    if not 0 <= port < PORTS:
        raise InvalidNumber(f"A port is a number from 0 to {PORTS - 1}, got {port}.")
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        return socket.create_server((name, port), family=family)
    except OSError as error:
        raise InputError(f"Cannot listen at {host}:{port}: {error.strerror}.") from None


INSTALLED: Final = Path(__file__).resolve().parents[1]
"""The folder from which this package was imported."""


def isolate_children() -> None:
    """Keep the working folder off the import path of all Python processes started from now on."""
    os.environ["PYTHONSAFEPATH"] = "1"


def import_path() -> list[str]:
    """The import path of this process without the working folder, for a process started with -I.

    Relative entries depend on the working folder and are left out. The working folder itself stays
    only if this package was imported from there, as in a checkout of the sources.
    """
    absolute = [place for place in map(str, sys.path) if Path(place).is_absolute()]
    try:
        working = Path.cwd().resolve()
    except OSError:  # the working folder has been removed
        return absolute
    left_out = {working} - {INSTALLED}
    return [place for place in absolute if Path(place).resolve() not in left_out]
