"""Limits on connections: time, size, number, and number from one address.

The library keeps the head of a request in memory to its end, however long, and all requests that
were sent ahead. A connection that is too slow or sends too much is closed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from ipaddress import IPv6Address, ip_address
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from pramana.errors import InputError

HEAD_SECONDS: Final = 10
REQUEST_SECONDS: Final = 60
MOST_REQUEST: Final = 2**16
"""Bytes of a request with its head; a page sends a hundredth of it."""

MOST_AHEAD: Final = 8
"""Requests that a connection may send before it has heard the reply to the first."""

MOST_CONNECTIONS: Final = 2000
MOST_PER_CLIENT: Final = 200
"""Connections from one address: a tenth of all, so that one client cannot shut out the others."""

SPARE_FILES: Final = 64
"""Other open files of the process: the store, its log, libraries."""


class LimitedConnection(HttpToolsProtocol):
    """A connection with a clock: for the head of a request, and then for all of it.

    Attributes:
        most: connections that a collector holds at once.
        most_per_client: connections from one address; all of them where a proxy stands in front.
        held: how many connections each address holds now.
    """

    most: ClassVar[int] = 1
    most_per_client: ClassVar[int] = 1
    held: ClassVar[Counter[str]] = Counter()

    _clock: asyncio.TimerHandle | None = None
    _in_head = False
    _taken = 0
    _address = ""

    def _wind(self, seconds: float | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = (
            None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
        )

    def connection_made(self, transport: Any) -> None:
        """Hold the connection, unless there are too many already."""
        super().connection_made(transport)
        self._address = network_of(self.client[0] if self.client else "")
        self.held[self._address] += 1
        crowded = self.held[self._address] > self.most_per_client
        if crowded or len(self.connections) > self.most:
            transport.abort()
        else:
            self._wind(HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        """A part of a request."""
        if self._taken > MOST_REQUEST:
            self.transport.abort()
            return
        super().data_received(data)
        self._taken += len(data)

    def on_message_begin(self) -> None:
        """A request begins."""
        if len(self.pipeline) > MOST_AHEAD:
            raise InputError("Too many requests ahead.")  # heard by the parser, which ends
        super().on_message_begin()
        self._in_head = True
        self._taken = 0
        if self._clock is None:
            self._wind(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        """Its head has come."""
        self._in_head = False
        self._wind(REQUEST_SECONDS)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """It was answered."""
        self._wind(HEAD_SECONDS if self._in_head else None)
        super().on_response_complete()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio asks whether to stay open
        """Nothing more will come: who has sent a whole request hears the reply before the end."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return False
        cycle.keep_alive = False
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock and forget the address."""
        self._wind(None)
        self.held[self._address] -= 1
        if not self.held[self._address]:
            del self.held[self._address]
        super().connection_lost(exc)


def network_of(address: str) -> str:
    """The address that a limit counts; of IPv6 the first 64 bits, which one customer gets.

    >>> network_of("2001:db8::1") == network_of("2001:db8::ffff")
    True
    """
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    return str(known.ipv4_mapped or IPv6Address(int(known) >> 64 << 64))


def available_connections(connections: int = MOST_CONNECTIONS) -> int:
    """How many connections this process may hold, after asking the system for more files."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return connections
    files = needed_files(connections, soft, None if hard == resource.RLIM_INFINITY else hard)
    if files > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(1, min(connections, files - SPARE_FILES))


def needed_files(connections: int, soft: int, hard: int | None) -> int:
    """The limit of open files to ask for: what is needed, up to what the system gives."""
    needed = max(soft, connections + SPARE_FILES)
    return needed if hard is None else min(needed, hard)
