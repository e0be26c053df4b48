"""Signals that end a process: raised as an interruption, or deferred while files are renamed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = [
    "ENDING",
    "Interruption",
    "defer_during_import",
    "defer_signals",
    "handle_ending_signals",
    "interrupt_on_signals",
]

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
    """Install a handler of the ending signals; what the caller ignores stays ignored.

    Without effect outside the main thread, which alone may install handlers.
    """
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
    """Raise :class:`Interruption` at an ending signal, and append its number to ``received``.

    Libraries may replace the exception by one of their own; the list still says what happened.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if not defer_during_import(number, frame):
            received.append(number)
            raise Interruption

    with handle_ending_signals(interrupt):
        yield


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver signals that end the process, or that have a handler, after the block.

    Without effect outside the main thread, in which Python runs all handlers.
    """
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
