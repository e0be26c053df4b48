"""The collector as a process that listens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pramana.collect.definition import Definition
from pramana.collect.server import application
from pramana.collect.store import Store
from pramana.errors import MissingExtra
from pramana.servers import ends_when_told, listener_at

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["require_server", "serve_survey"]

MOST_CONNECTIONS: Final = 2000
KEEP_SECONDS: Final = 15
HEAD_SECONDS: Final = 10
REQUEST_SECONDS: Final = 60


def require_server() -> None:
    """Refuse before anything is written where what serves is not installed."""
    try:
        import httptools  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("The collector needs more: pip install 'pramana[collect]'.") from None


def serve_survey(
    definition: Definition, store: Store, page: bytes, *, host: str, port: int
) -> None:
    """Listen until the process is told to stop; nothing about who sends is written anywhere."""
    require_server()
    import uvicorn

    config = uvicorn.Config(
        application(definition, store, page),
        http=_impatient(),
        host=host,
        port=port,
        access_log=False,
        log_level="error",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    with listener_at(host, port) as listener, ends_when_told(server):
        server.run(sockets=[listener])


def _impatient() -> type[HttpToolsProtocol]:
    """Connections that are let go where a request does not come, or a reply is not fetched."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Impatient(HttpToolsProtocol):
        """One clock a connection: for the head of a request, and then for all of it."""

        _clock: asyncio.TimerHandle | None = None
        _in_head = False

        def _wind(self, seconds: float | None) -> None:
            if self._clock is not None:
                self._clock.cancel()
            self._clock = (
                None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
            )

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wind(HEAD_SECONDS)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_head = True
            if self._clock is None:
                self._wind(HEAD_SECONDS)

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._wind(REQUEST_SECONDS)
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            self._wind(HEAD_SECONDS if self._in_head else None)
            super().on_response_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._wind(None)
            super().connection_lost(exc)

    return Impatient
