"""The collector as a process that listens."""

from __future__ import annotations

import socket
from typing import Final

from pramana.base.servers import stop_on_signals
from pramana.collect.definition import Definition
from pramana.collect.server import application
from pramana.collect.store import Store
from pramana.errors import MissingExtra

MOST_CONNECTIONS: Final = 2000
SPARE_FILES: Final = 64
"""What else a process has open: the store, the log of transactions, libraries."""

KEEP_SECONDS: Final = 15


def require_server() -> None:
    """Refuse before anything is written where what serves is not installed."""
    try:
        import httptools  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("The collector needs more: pip install 'pramana[collect]'.") from None


def serve_survey(definition: Definition, store: Store, page: bytes, at: socket.socket) -> None:
    """Listen until the process is told to stop; nothing about who sends is written anywhere."""
    require_server()
    import uvicorn

    from pramana.collect.connections import Impatient

    Impatient.most = _room_for(MOST_CONNECTIONS)
    config = uvicorn.Config(
        application(definition, store, page),
        http=Impatient,
        ws="none",
        access_log=False,
        log_level="critical",  # whoever hangs up in the middle would have pages written down
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
    )
    server = uvicorn.Server(config)
    with stop_on_signals(server):
        server.run(sockets=[at])


def _room_for(connections: int) -> int:
    """How many connections a process may hold, after it has asked the system for room."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return connections
    asked = _files(connections, soft, hard if hard != resource.RLIM_INFINITY else None)
    if asked > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (asked, hard))
    return max(1, min(connections, asked - SPARE_FILES))


def _files(connections: int, soft: int, hard: int | None) -> int:
    """How many files may be open: what is needed, where the system gives as many."""
    needed = max(soft, connections + SPARE_FILES)
    return needed if hard is None else min(needed, hard)
