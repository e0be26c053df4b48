"""The studio as a process that listens: its addresses, and what it removes at the end."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pramana.base.atomic_files import write_whole
from pramana.base.processes import listener_at, stop_on_signals
from pramana.errors import InputError, MissingExtra
from pramana.studio.session import StudioSession

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def new_token() -> str:
    """256 random bits in hexadecimal digits."""
    from pramana.base.randomness import Keystream

    return Keystream.from_system().words("studio", 0, 4).tobytes().hex()


@dataclass(frozen=True)
class Origin:
    """The addresses of a studio.

    Attributes:
        hosts: Allowed values of the header Host.
        scheme: http, or https with a certificate.
    """

    hosts: tuple[str, ...]
    scheme: str = "http"

    @classmethod
    def of(cls, host: str, port: int, *, tls: bool = False) -> Origin:
        """Of a server that listens there; this machine has three names.

        Browsers leave out the usual port.
        """
        name = f"[{host}]" if ":" in host and not host.startswith("[") else host
        names = dict.fromkeys([name, *LOOPBACK] if name in LOOPBACK else [name])
        usual = port == (443 if tls else 80)
        hosts = (*(f"{name}:{port}" for name in names), *(names if usual else ()))
        return cls(hosts, "https" if tls else "http")

    def __contains__(self, origin: str) -> bool:
        return origin in (f"{self.scheme}://{host}" for host in self.hosts)


HERE: Final = "127.0.0.1"
ANYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104 - refused
DOOR: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pramana studio</title>'
    '<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Open the studio</a></p></html>'
)
"""A file for its owner alone leads the browser on: no list of processes shows the token."""


@dataclass(frozen=True)
class Listening:
    """Where to listen.

    Attributes:
        host: A name of this machine.
        port: 0 takes a free one.
        certificate, key: TLS files, if other machines can reach it.
        understood: Whether the user has confirmed that they can.
    """

    host: str = HERE
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None
    understood: bool = False

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--tls-cert and --tls-key need each other: give both, or neither.")
        if self.host in (*LOOPBACK, "::1"):
            return
        if not self.understood or self.certificate is None or self.key is None:
            raise InputError(
                f"--host {self.host} would show the original data to anyone who has the address "
                "and the token. If that is meant, give --tls-cert FILE, --tls-key FILE and "
                "--i-understand."
            )
        if self.host.strip("[]") in ANYWHERE:
            raise InputError(
                f"--host {self.host} is no address that others can open. Give the name or the IP "
                "address of this machine."
            )


def serve_studio(
    folder: Path,
    at: Listening,
    *,
    browser: bool,
    tell: Callable[[str], None],
    database: str | None = None,
    language: str | None = None,
) -> None:
    """Listen until the process is stopped, and leave only the session."""
    try:
        import uvicorn

        from pramana.studio.app import studio_application
    except ImportError:
        raise MissingExtra("The studio needs more: pip install 'pramana[studio]'.") from None
    if not folder.is_dir():
        raise InputError(f"{folder} must be a folder.")
    tls = at.certificate is not None and at.key is not None
    listener = listener_at(at.host, at.port)
    port = listener.getsockname()[1]
    session = StudioSession(folder)
    token, origin = new_token(), Origin.of(at.host, port, tls=tls)
    address = f"{origin.scheme}://{origin.hosts[0]}/?token={token}"
    cookie = f"pramana-studio-{port}"
    app = studio_application(
        session, token=token, origin=origin, cookie=cookie, database=database, language=language
    )
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
