"""The studio as a process that listens, and who may ask it.

A page elsewhere may send requests to this machine: through a link, a form, or a name that it lets
point here. So every request must carry the token, in a cookie that other sites cannot send along,
and name one of our hosts. Another port of this machine is the same site to a browser, which sends
the cookie, but another origin: every request must also come from a page of this origin, or from the
user who typed the address. This holds for reading as well, because pages compute what they show.
"""

from __future__ import annotations

import hmac
import os
import threading
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from pramana.base.atomic_files import write_whole
from pramana.base.processes import listener_at, stop_on_signals
from pramana.errors import InputError, MissingExtra
from pramana.studio.session import StudioSession

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
READING: Final = ("GET", "HEAD")
STATIC: Final = "/assets/"
KEPT: Final = (200, 206, 304)
"""Answers that are a file of ours, or say that it is the same; a browser may keep them."""

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    # Other sites are told nothing; with no referrer at all, browsers hide the Origin of our forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""A page that needs another policy, such as a report with its own style, states its own."""

ENTRANCE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pramana studio</title>'
    '<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url=/">'
    '<p><a href="/">Open the studio</a></p></html>'
)
"""Leads on from a page of ours, so that the browser sends the cookie and forgets the token."""


def new_token() -> str:
    """256 random bits, spelled."""
    from pramana.base.randomness import Keystream

    return Keystream.from_system().words("studio", 0, 4).tobytes().hex()


@dataclass(frozen=True)
class Origin:
    """Under which addresses this studio is known.

    Attributes:
        hosts: What may stand in the header Host.
        scheme: http, or https where it has a certificate.
    """

    hosts: tuple[str, ...]
    scheme: str = "http"

    @classmethod
    def of(cls, host: str, port: int, *, tls: bool = False) -> Origin:
        """Of a server that listens there; one on this machine has three names.

        Browsers leave out the usual port.
        """
        own = f"[{host}]" if ":" in host and not host.startswith("[") else host
        names = dict.fromkeys([own, *LOOPBACK] if own in LOOPBACK else [own])
        usual = port == (443 if tls else 80)
        hosts = (*(f"{name}:{port}" for name in names), *(names if usual else ()))
        return cls(hosts, "https" if tls else "http")

    def __contains__(self, origin: str) -> bool:
        return origin in (f"{self.scheme}://{host}" for host in self.hosts)


class Guard:
    """Stands before the application."""

    def __init__(self, app: Application, *, token: str, origin: Origin, cookie: str) -> None:
        self._app = app
        self._token = token
        self._origin = origin
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what may pass."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        twice = len(headers) < len(scope["headers"]) and _stated_twice(scope["headers"])
        if twice or headers.get("host") not in self._origin.hosts:
            await _answer(send, 403, "This address is not ours.", {})
        elif self._entering(scope):
            secure = "; Secure" if self._origin.scheme == "https" else ""
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict{secure}"
            await _answer(send, 200, ENTRANCE, {"Set-Cookie": cookie})
        elif not self._is_of_this_origin(scope, headers):
            words = "Only a page of the studio may ask for this. Open the studio's first page."
            await _answer(send, 403, words, {})
        elif not self._knows(headers):
            words = "Open the studio by the address that the command has printed."
            await _answer(send, 403, words, {})
        else:
            await self._handed_on(
                scope, receive, _with_headers(send, static=bool(scope["path"].startswith(STATIC)))
            )

    async def _handed_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What fails is told on the page; its words may show data and are for no log."""
        try:
            await self._app(scope, receive, send)
        except Exception:
            if os.environ.get("PRAMANA_TRACEBACK"):
                raise

    def _is_of_this_origin(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether a page of ours sent a request, or, for reading, the user typed its address."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if scope["method"] not in READING:
            return origin is not None and origin in self._origin and site in (None, "same-origin")
        if origin is not None and origin not in self._origin:
            return False
        if site is not None:
            return site in ("same-origin", "none")
        # A browser from before Sec-Fetch-Site: our pages send a referrer, a typed address has none.
        referrer = urlsplit(headers.get("referer", ""))
        return f"{referrer.scheme}://{referrer.netloc}" in self._origin or (
            scope["path"] == "/" and not referrer.netloc
        )

    def _entering(self, scope: Scope) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET" or not scope["query_string"]:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return _same(given, self._token)

    def _knows(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and _same(cookie.value, self._token)


def _stated_twice(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether it is left open which of two hosts, origins or cookies is meant."""
    names = [name for name, _ in headers]
    return any(
        names.count(name) > 1
        for name in (b"host", b"origin", b"cookie", b"sec-fetch-site", b"referer")
    )


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _with_headers(send: Send, *, static: bool) -> Send:
    """Adds what every answer says; an answer that says it itself is left alone."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            stated = {name.lower() for name, _ in message["headers"]}
            kept = static and message["status"] in KEPT
            added = {**HEADERS, "Cache-Control": "private, max-age=3600"} if kept else HEADERS
            message["headers"] = [
                *message["headers"],
                *(
                    (name.lower().encode(), value.encode())
                    for name, value in added.items()
                    if name.lower().encode() not in stated
                ),
            ]
        await send(message)

    return sending


async def _answer(send: Send, status: int, words: str, more: dict[str, str]) -> None:
    kind = "text/html" if words.startswith("<") else "text/plain"
    headers = {**HEADERS, "Content-Type": f"{kind}; charset=utf-8", **more}
    await send({
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    })  # fmt: skip
    await send({"type": "http.response.body", "body": words.encode()})


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
