"""The collector as a process that listens."""

from __future__ import annotations

from pramana.collect.definition import Definition
from pramana.collect.server import application
from pramana.collect.store import Store
from pramana.errors import MissingExtra

__all__ = ["serve_survey"]

MOST_CONNECTIONS = 2000
KEEP_SECONDS = 15


def serve_survey(
    definition: Definition, store: Store, page: bytes, *, host: str, port: int
) -> None:
    """Listen until the process is told to stop; nothing about who sends is written anywhere."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("The collector needs more: pip install 'pramana[collect]'.") from None
    uvicorn.run(
        application(definition, store, page),
        host=host,
        port=port,
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
    )
