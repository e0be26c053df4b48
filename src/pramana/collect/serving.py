"""The collector as a process that listens."""

from __future__ import annotations

from pramana.collect.definition import Definition
from pramana.collect.server import application
from pramana.collect.store import Store
from pramana.errors import MissingExtra

__all__ = ["require_server", "serve_survey"]

MOST_CONNECTIONS = 2000
KEEP_SECONDS = 15


def require_server() -> None:
    """Refuse before anything is written where what serves is not installed."""
    try:
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
