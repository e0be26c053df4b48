"""The collector: gives out the page, and takes records that are randomised already.

It keeps no address, no time and no header of who sends. It reads three headers, so that no page of
another site can make its visitors answer: Content-Type, Origin and Sec-Fetch-Site.

Answers that arrive while a transaction is being written wait for the next one and go in together,
in random order, so that a disk that can confirm a hundred writes a second still takes thousands of
answers.

Limits on connections: time, size, number, and number from one address.

The library keeps the head of a request in memory to its end, however long, and all requests that
were sent ahead. A connection that is too slow or sends too much is closed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit

from pramana.base.processes import stop_on_signals
from pramana.base.randomness import Keystream
from pramana.collect.definition import Definition
from pramana.collect.store import Outcome, Sent, Store
from pramana.collect.survey_folder import load_survey, opened_store
from pramana.errors import InputError, MissingExtra

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
except ImportError:
    raise MissingExtra("The collector needs more: pip install 'pramana[collect]'.") from None

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


Read = TypeVar("Read")

MOST_BODY: Final = 4096
"""Bytes of an answer; all of one survey are of the same length, far below it."""

BODY_SECONDS: Final = 10
MOST_BATCH: Final = 2000
MOST_WAITING: Final = 20_000
TOKEN: Final = 64
"""Hexadecimal digits of a token that a page draws for itself."""

MOST_CODE: Final = 64

OTHER_SITES: Final = ("cross-site", "same-site")
"""Values of Sec-Fetch-Site where another page sends; other hosts of a domain are such pages."""

KEEP_SECONDS: Final = 15
"""How long an idle connection stays open."""

COMPLAIN_SECONDS: Final = 60
STIR_SECONDS: Final = 60
STIR_SHARE: Final = 20
"""Stirring waits this many times as long as the last one took, and at least this many seconds."""

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

STATUS: Final = {Outcome.ACCEPTED: 200, Outcome.AGAIN: 200, Outcome.FREE: 200,
                 Outcome.UNKNOWN: 403, Outcome.CLOSED: 410}  # fmt: skip


def read_answer(definition: Definition, body: bytes) -> Sent:
    """The record and the token of a request; whatever a page of this survey never sends is refused.

    What is refused is never quoted.
    """
    form = _form(definition, body, {"survey", "record", "token", "work"})
    definition.channel.read(form["record"])
    if not worked(definition, form["record"], form["token"], form["work"]):
        raise InputError("The proof of work is missing or wrong.")
    return Sent(form["record"], form["token"])


def read_token(definition: Definition, body: bytes) -> str:
    """The token of a request that asks whether it may answer."""
    return _form(definition, body, {"survey", "token"})["token"]


def _form(definition: Definition, body: bytes, names: set[str]) -> dict[str, str]:
    if len(body) > MOST_BODY:
        raise InputError("The answer is too long.")
    try:
        pairs = json.loads(body.decode("utf-8"), object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        raise InputError("The answer is not JSON.") from None
    form = dict(pairs) if isinstance(pairs, tuple) else {}
    if set(form) != names or len(pairs) > len(names):
        raise InputError(f"The answer must have exactly {', '.join(sorted(names))}.")
    if not all(isinstance(value, str) for value in form.values()):
        raise InputError("Every entry of an answer must be a text.")
    if form["survey"] != definition.key:
        raise InputError("The answer is to another survey, or to another version of this one.")
    token = form["token"]
    if definition.survey.codes:
        good = 0 < len(token) <= MOST_CODE and token.isascii()
    else:
        good = len(token) == TOKEN and all(letter in "0123456789abcdef" for letter in token)
    if not good:
        raise InputError("The token is not one that this survey uses.")
    return form


def worked(definition: Definition, record: str, token: str, work: str) -> bool:
    """Whether the digest of the answer begins with as many zero bits as the survey asks for."""
    bits = definition.survey.work
    if not bits:
        return work == ""
    if not work.isascii() or not work.isdigit() or len(work) > 20:
        return False
    text = f"{definition.key}.{token}.{record}.{work}"
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return digest >> (32 - bits) == 0


class Busy(InputError):
    """More is waiting than can be held."""


class Inbox:
    """Answers on their way to the store, in batches; between them, what is kept is stirred."""

    def __init__(self, store: Store, *, stir_seconds: float = STIR_SECONDS) -> None:
        self._store = store
        self._pause = stir_seconds
        self._fresh = True  # whoever was killed before may not have stirred
        self._next_stir = 0.0
        self._next_complaint = 0.0
        self._waiting: list[tuple[Sent, asyncio.Future[Outcome]]] = []
        self._some = asyncio.Event()
        self._keystream = Keystream.from_system()
        self._drawn = 0

    async def take(self, sent: Sent) -> Outcome:
        """Keep an answer; returns when it is on the disk."""
        if len(self._waiting) >= MOST_WAITING:
            raise Busy("Too many answers at once. Send it again in a minute.")
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((sent, done))
        self._some.set()
        return await done

    async def run(self) -> None:
        """Write batch after batch, for ever."""
        while True:
            await self._stirred()
            try:
                await asyncio.wait_for(self._some.wait(), self._pause if self._fresh else None)
            except TimeoutError:
                continue
            batch, self._waiting = self._waiting[:MOST_BATCH], self._waiting[MOST_BATCH:]
            if not self._waiting:
                self._some.clear()
            await self._write(batch)

    async def _write(self, batch: list[tuple[Sent, asyncio.Future[Outcome]]]) -> None:
        # In the order of fresh words, all of one stream: its keystream keeps a key for each.
        words = self._keystream.words("order", self._drawn, len(batch)).tolist()
        self._drawn += len(batch)
        batch = [batch[place] for place in sorted(range(len(batch)), key=words.__getitem__)]
        try:
            outcomes = await asyncio.to_thread(self._store.accept, [sent for sent, _ in batch])
        except Exception as error:  # the disk is full, the database away: every sender is told
            if time.monotonic() >= self._next_complaint:
                self._next_complaint = time.monotonic() + COMPLAIN_SECONDS
                known = isinstance(error, InputError)
                why = error if known else f"{type(error).__name__}: is the disk full, or locked?"
                sys.stderr.write(f"Answers cannot be kept. {why}\n")
            for _, done in batch:
                if not done.done():
                    done.set_exception(error)
            return
        self._fresh = self._fresh or Outcome.ACCEPTED in outcomes
        for (_, done), outcome in zip(batch, outcomes, strict=True):
            if not done.done():
                done.set_result(outcome)

    async def _stirred(self) -> None:
        """Hide the order of what is kept, every now and then."""
        started = time.monotonic()
        if not self._fresh or started < self._next_stir:
            return
        with suppress(Exception):  # who reads at this moment is in the way: at the next turn
            self._fresh = not await asyncio.to_thread(self._store.stir)
        ended = time.monotonic()
        self._next_stir = ended + max(self._pause, STIR_SHARE * (ended - started))

    async def end(self) -> None:
        """Stir what came last."""
        self._next_stir = 0.0
        await self._stirred()


class _Requests:
    """The answer to each request."""

    def __init__(
        self, definition: Definition, store: Store, page: bytes, public_address: str | None
    ) -> None:
        self._definition = definition
        self._store = store
        self._public_address = public_address
        self._page = page
        self._content = definition.to_bytes()
        self._inbox: Inbox | None = None

    @asynccontextmanager
    async def life(self, app: Starlette) -> AsyncIterator[None]:
        """From the first request to the last."""
        del app
        self._inbox = Inbox(self._store)
        task = asyncio.create_task(self._inbox.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self._inbox.end()

    async def show(self, request: Request) -> Response:
        """The page."""
        del request
        return _response(self._page, "text/html; charset=utf-8")

    async def definition(self, request: Request) -> Response:
        """The definition."""
        del request
        return _response(self._content, "application/json")

    async def wave(self, request: Request) -> Response:
        """Which wave of a panel is under way."""
        del request
        return _said(200, wave=str(self._definition.wave))

    async def answer(self, request: Request) -> Response:
        """A record that is randomised already."""
        inbox = self._inbox
        assert inbox is not None  # noqa: S101 - made when the application began
        return await self._answered(request, read_answer, inbox.take)

    async def look_up(self, request: Request) -> Response:
        """Whether a code may answer, before anything is asked."""

        async def look_up(token: str) -> Outcome:
            return await asyncio.to_thread(self._store.look_up, token)

        return await self._answered(request, read_token, look_up)

    async def _answered(
        self,
        request: Request,
        read: Callable[[Definition, bytes], Read],
        do: Callable[[Read], Awaitable[Outcome]],
    ) -> Response:
        from starlette.requests import ClientDisconnect

        if not from_survey_page(request.headers, self._public_address):
            return _said(400, error="This request does not come from the page of the survey.")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # a form of another page cannot send this type
            return _said(415, error="The content type of an answer must be application/json.")
        try:
            asked = read(self._definition, await asyncio.wait_for(_body(request), BODY_SECONDS))
        except (TimeoutError, ClientDisconnect):
            return _said(408, error="The answer took too long to arrive.")
        except InputError as error:
            return _said(400, error=str(error))
        try:
            outcome = await do(asked)
        except Busy as error:
            return _said(503, error=str(error))
        except Exception:  # whatever the database says is for the office, not for the world
            return _said(503, error="The answer could not be kept. Send it again later.")
        return _said(STATUS[outcome], outcome=str(outcome))


def from_survey_page(headers: Mapping[str, str], public_address: str | None) -> bool:
    """Whether a request comes from the page of the survey, or from no browser at all.

    A browser states the origin of the page that sends. It must be the host that the request names,
    or the public address where a reverse proxy is in front.
    """
    if headers.get("sec-fetch-site") in OTHER_SITES:
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    if public_address is not None:
        return origin.lower() == origin_of(public_address)
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, as browsers state them.

    >>> origin_of("https://Survey.example.org:443/2026/")
    'https://survey.example.org'
    """
    parts = urlsplit(address.lower())
    return f"{parts.scheme}://{parts.netloc.removesuffix(':443')}"


def application(
    definition: Definition, store: Store, page: bytes, *, public_address: str | None = None
) -> Starlette:
    """The web application of one survey."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    requests = _Requests(definition, store, page, public_address)
    app = Starlette(
        routes=[
            Route("/", requests.show, methods=["GET"]),
            Route("/definition.json", requests.definition, methods=["GET"]),
            Route("/wave", requests.wave, methods=["GET"]),
            Route("/answer", requests.answer, methods=["POST"]),
            Route("/code", requests.look_up, methods=["POST"]),
        ],
        lifespan=requests.life,
    )
    app.router.redirect_slashes = False  # an answer goes nowhere that a request names
    return app


def _response(content: bytes, kind: str, status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(content, status_code=status, media_type=kind, headers=HEADERS)


def _said(status: int, **what: str) -> Response:
    return _response(json.dumps(what).encode(), "application/json", status)


async def _body(request: Request) -> bytes:
    """The body of a request, not a byte more than an answer may have."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY:
            raise InputError("The answer is too long.")
        parts.append(part)
    return b"".join(parts)


def require_server() -> None:
    """Refuse before anything is written where what serves is not installed."""
    try:
        import httptools  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtra("The collector needs more: pip install 'pramana[collect]'.") from None


@dataclass(frozen=True)
class Encryption:
    """How answers are encrypted on their way.

    Attributes:
        certificate: the TLS certificate, where the collector speaks HTTPS itself.
        key: its private key.
        public_address: the address of the page, where a reverse proxy speaks HTTPS in front.
    """

    certificate: Path | None = None
    key: Path | None = None
    public_address: str | None = None

    def require_for(self, host: str) -> None:
        """Refuse to listen to other machines without encryption."""
        if (self.certificate is None) != (self.key is None):
            raise InputError("TLS needs both --tls-cert and --tls-key.", code="incomplete-tls")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise InputError(f"There is no file {path}.", code="no-file", path=str(path))
        address = self.public_address
        if address is not None and not (
            address.lower().startswith("https://") and urlsplit(address).netloc
        ):
            raise InputError(
                f"--public-address must begin with https://, got {address!r}.",
                code="not-https",
            )
        if self.certificate is None and address is None and not is_loopback(host):
            raise InputError(
                f"Answers to {host} would travel unencrypted. State the HTTPS address of the "
                "reverse proxy in front (--public-address), or give --tls-cert and "
                "--tls-key.",
                code="unencrypted",
                host=host,
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def serve_survey(
    definition: Definition,
    store: Store,
    page: bytes,
    at: socket.socket,
    *,
    encryption: Encryption | None = None,
) -> None:
    """Listen until the process is stopped; nothing about who sends is written anywhere."""
    require_server()
    import uvicorn

    encryption = encryption or Encryption()
    most = available_connections()
    behind_proxy = encryption.public_address is not None and encryption.certificate is None
    LimitedConnection.most = most
    # All connections of a proxy come from one address: the proxy limits its clients.
    LimitedConnection.most_per_client = most if behind_proxy else MOST_PER_CLIENT
    config = uvicorn.Config(
        application(definition, store, page, public_address=encryption.public_address),
        http=LimitedConnection,
        ws="none",
        access_log=False,
        log_level="critical",  # a client that hangs up in the middle would fill the terminal
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
        ssl_certfile=encryption.certificate,
        ssl_keyfile=encryption.key,
    )
    server = uvicorn.Server(config)
    with stop_on_signals(server):
        server.run(sockets=[at])


def serve_folder(
    folder: Path,
    at: socket.socket,
    *,
    database: str | None = None,
    wave: int | None = None,
    ready: Callable[[], None],
) -> None:
    """Serve the survey in a folder to this machine; ``ready`` is called once it can be served."""
    definition, page = load_survey(folder)
    definition = definition.of_wave(wave)
    with opened_store(folder, definition, database) as store:
        ready()
        serve_survey(definition, store, page, at)


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
        most_per_client: connections from one address; all of them where a proxy is in front.
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
