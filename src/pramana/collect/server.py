"""The collector: gives out the page, and takes records that are randomised already.

It keeps no address, no time and no header of who sends. Answers that arrive while a transaction is
being written wait for the next one and go in together, in random order, so that a disk that can
confirm a hundred writes a second still takes thousands of answers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pramana.collect.definition import Definition
from pramana.collect.store import Outcome, Sent, Store
from pramana.errors import InputError
from pramana.randomness import Keystream, Stream

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["Inbox", "application", "read_answer"]

MOST_BODY: Final = 4096
"""Bytes of an answer; all of one survey are of the same length, far below it."""

BODY_SECONDS: Final = 10
MOST_BATCH: Final = 2000
MOST_WAITING: Final = 20_000
TOKEN: Final = 64
"""Hexadecimal digits of a token that a page draws for itself."""

MOST_CODE: Final = 64

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

STATUS: Final = {Outcome.ACCEPTED: 200, Outcome.AGAIN: 200, Outcome.UNKNOWN: 403}


def read_answer(definition: Definition, body: bytes) -> Sent:
    """The record and the token of a request; whatever a page of this survey never sends is refused.

    What is refused is never quoted.
    """
    if len(body) > MOST_BODY:
        raise InputError("The answer is too long.")
    try:
        form = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("The answer is not JSON.") from None
    names = {"survey", "record", "token", "work"}
    if not isinstance(form, dict) or set(form) != names:
        raise InputError(f"The answer must have exactly {', '.join(sorted(names))}.")
    if not all(isinstance(own, str) for own in form.values()):
        raise InputError("Everything in an answer is a text.")
    if form["survey"] != definition.identity:
        raise InputError("The answer is to another survey, or to another version of this one.")
    definition.channel.read(form["record"])
    token = form["token"]
    if definition.survey.codes:
        good = 0 < len(token) <= MOST_CODE and token.isascii()
    else:
        good = len(token) == TOKEN and all(letter in "0123456789abcdef" for letter in token)
    if not good:
        raise InputError("The token is not one that this survey uses.")
    if not worked(definition, form["record"], token, form["work"]):
        raise InputError("The proof of work is missing or wrong.")
    return Sent(form["record"], token)


def worked(definition: Definition, record: str, token: str, work: str) -> bool:
    """Whether the digest of the answer begins with as many zero bits as the survey asks for."""
    bits = definition.survey.work
    if not bits:
        return work == ""
    if not work.isascii() or not work.isdigit() or len(work) > 20:
        return False
    text = f"{definition.identity}.{token}.{record}.{work}"
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return digest >> (32 - bits) == 0


@dataclass(frozen=True)
class _Waiting:
    sent: Sent
    done: asyncio.Future[Outcome]


class Inbox:
    """Answers on their way to the store, in batches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Waiting] = []
        self._some = asyncio.Event()
        self._keystream = Keystream.from_system()
        self._batches = 0

    async def take(self, sent: Sent) -> Outcome:
        """Keep an answer; returns when it is on the disk."""
        if len(self._waiting) >= MOST_WAITING:
            raise InputError("Too many answers at once. Send it again in a minute.")
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(sent, done))
        self._some.set()
        return await done

    async def run(self) -> None:
        """Write batch after batch, for ever."""
        while True:
            await self._some.wait()
            batch, self._waiting = self._waiting[:MOST_BATCH], self._waiting[MOST_BATCH:]
            if not self._waiting:
                self._some.clear()
            self._batches += 1
            order = self._keystream.permutation(len(batch), Stream("batch", self._batches)).tolist()
            stirred = [batch[place] for place in order]
            try:
                found = await asyncio.to_thread(
                    self._store.accept, [waiting.sent for waiting in stirred]
                )
            except Exception as error:  # the disk is full, the database away: everyone is told
                for waiting in stirred:
                    if not waiting.done.done():
                        waiting.done.set_exception(error)
                continue
            for waiting, outcome in zip(stirred, found, strict=True):
                if not waiting.done.done():
                    waiting.done.set_result(outcome)


class _Desk:
    """What is done with each request of a survey."""

    def __init__(self, definition: Definition, store: Store, page: bytes) -> None:
        self._definition = definition
        self._store = store
        self._page = page
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

    async def show(self, request: Request) -> Response:
        """The page."""
        del request
        return _response(self._page, "text/html; charset=utf-8")

    async def tell(self, request: Request) -> Response:
        """The definition."""
        del request
        return _response(self._definition.to_bytes(), "application/json")

    async def answer(self, request: Request) -> Response:
        """A record that is randomised already."""
        assert self._inbox is not None  # noqa: S101 - made when the application began
        try:
            body = await asyncio.wait_for(_body(request), BODY_SECONDS)
            sent = read_answer(self._definition, body)
        except TimeoutError:
            return _said(408, error="The answer took too long to arrive.")
        except InputError as error:
            return _said(400, error=str(error))
        try:
            outcome = await self._inbox.take(sent)
        except InputError as error:
            return _said(503, error=str(error))
        except Exception:  # whatever the database says is for the office, not for the world
            return _said(503, error="The answer could not be kept. Send it again later.")
        return _said(STATUS[outcome], outcome=str(outcome))


def application(definition: Definition, store: Store, page: bytes) -> Starlette:
    """The web application of one survey."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    desk = _Desk(definition, store, page)
    return Starlette(
        routes=[
            Route("/", desk.show, methods=["GET"]),
            Route("/definition.json", desk.tell, methods=["GET"]),
            Route("/answer", desk.answer, methods=["POST"]),
        ],
        lifespan=desk.life,
    )


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
