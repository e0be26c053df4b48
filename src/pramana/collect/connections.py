"""Connections that are let go where a request does not come, or a reply is not fetched.

So are those beyond the most that there may be, and those that send more than a page would: the
library keeps a head in memory to its end, however long, and all requests that were sent ahead.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from pramana.errors import InputError

HEAD_SECONDS: Final = 10
REQUEST_SECONDS: Final = 60
MOST_REQUEST: Final = 2**16
"""Bytes of a request with its head; a page sends a hundredth of it."""

MOST_AHEAD: Final = 8
"""Requests that a connection may send before it has heard the reply to the first."""


class Impatient(HttpToolsProtocol):
    """One clock a connection: for the head of a request, and then for all of it.

    Attributes:
        most: connections that a collector holds at once.
    """

    most: ClassVar[int] = 1

    _clock: asyncio.TimerHandle | None = None
    _in_head = False
    _taken = 0

    def _wind(self, seconds: float | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = (
            None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
        )

    def connection_made(self, transport: Any) -> None:
        """One more, or one too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
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
        """Whoever it was has left."""
        self._wind(None)
        super().connection_lost(exc)
