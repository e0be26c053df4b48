"""Servers that end when they are told to, from their first moment on."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Protocol

from pramana.errors import InputError, InvalidNumber

__all__ = ["Stoppable", "ends_when_told", "listener_at"]

TOLD: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""An interruption, a request to end, and a terminal that is closed."""


PORTS: Final = 2**16


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


def listener_at(host: str, port: int) -> socket.socket:
    """What hears at an address; 0 takes a free port, and an address in use is told in a line."""
    if not 0 <= port < PORTS:
        raise InvalidNumber(f"A port is a number from 0 to {PORTS - 1}, got {port}.")
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        return socket.create_server((name, port), family=family)
    except OSError as error:
        raise InputError(f"Cannot listen at {host}:{port}: {error.strerror}.") from None
