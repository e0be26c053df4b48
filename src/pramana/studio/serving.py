"""The studio as a process that listens, on this machine alone unless it is told otherwise."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pramana.base.atomic_files import write_whole
from pramana.base.servers import listener_at, stop_on_signals
from pramana.errors import InputError, MissingExtra
from pramana.studio.guard import LOOPBACK, Origin, new_token
from pramana.studio.session import StudioSession

HERE: Final = "127.0.0.1"
ANYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104 - refused
DOOR: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pramana studio</title>'
    '<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Open the studio</a></p></html>'
)
"""A file that only its owner reads leads the browser on: no list of processes shows the token."""


@dataclass(frozen=True)
class Listening:
    """Where to listen.

    Attributes:
        host: A name of this machine.
        port: 0 takes a free one.
        certificate, key: TLS files, where it is not this machine alone.
        understood: Whether whoever starts it knows what that means.
    """

    host: str = HERE
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    understood: bool = False

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--tls-cert and --tls-key belong together: give both, or neither.")
        if self.host in (*LOOPBACK, "::1"):
            return
        if not self.understood or self.certificate is None or self.key is None:
            raise InputError(
                f"--host {self.host} would show the true table to whoever has the address and "
                "the token. If that is meant, give --tls-cert FILE, --tls-key FILE and "
                "--i-understand."
            )
        if self.host.strip("[]") in ANYWHERE:
            raise InputError(
                f"--host {self.host} is no address that anybody can open. State the name or the "
                "number by which this machine is reached."
            )


def serve_studio(
    folder: Path,
    at: Listening,
    *,
    browser: bool,
    tell: Callable[[str], None],
    database: str | None = None,
) -> None:
    """Listen until the process is told to stop, and leave nothing but the session."""
    try:
        import uvicorn

        from pramana.studio.app import studio_application
    except ImportError:
        raise MissingExtra("The studio needs more: pip install 'pramana[studio]'.") from None
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder, and is none.")
    tls = at.certificate is not None and at.key is not None
    listener = listener_at(at.host, at.port)
    port = listener.getsockname()[1]
    session = StudioSession(folder)
    token, origin = new_token(), Origin.of(at.host, port, tls=tls)
    address = f"{origin.scheme}://{origin.hosts[0]}/?token={token}"
    cookie = f"pramana-studio-{port}"
    app = studio_application(session, token=token, origin=origin, cookie=cookie, database=database)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            ws="none",
            ssl_certfile=None if at.certificate is None else str(at.certificate),
            ssl_keyfile=None if at.key is None else str(at.key),
            timeout_graceful_shutdown=2,
        )
    )
    door = session.home / "open.html"
    write_whole(door, DOOR.format(address), force=True, mode=0o600)
    try:
        with stop_on_signals(server):
            tell(address)
            if browser:
                threading.Timer(0.3, webbrowser.open, [door.as_uri()]).start()
            server.run(sockets=[listener])
    finally:
        door.unlink(missing_ok=True)
