"""Servers: a listening socket, and an orderly stop at a signal."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Protocol

from pramana.base.signals import handle_ending_signals
from pramana.errors import InputError, InvalidNumber

__all__ = ["Stoppable", "listener_at", "stop_on_signals"]

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
