"""Servers that end when they are told to, from their first moment on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Protocol

__all__ = ["Stoppable", "ends_when_told"]

TOLD: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""An interruption, a request to end, and a terminal that is closed."""


class Stoppable(Protocol):
    """A server that looks from time to time whether it shall go on."""

    should_exit: bool


@contextmanager
def ends_when_told(server: Stoppable) -> Iterator[None]:
    """Let signals end a server in order, however early they come.

    Its library hears some of them, and only while it listens. An interruption that is raised before
    that, while its loop is made, leaves things half done, of which the library then complains.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    heard = [one for one in TOLD if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, end) for one in heard}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
