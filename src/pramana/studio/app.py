"""The application: the pages, what they share, and the guard before them.

A page of another site may send requests to this machine: by a link, a form, or a name that points
here. So every request must carry the token, in a cookie that other sites cannot send along, and
name one of our hosts. Another port of this machine is the same site to a browser, which sends the
cookie, but another origin: every request must also come from a page of this origin, or from the
user who typed the address. This holds for reading as well, because pages compute what they show.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pramana import api
from pramana.base.charts import tokens
from pramana.base.processes import load_for_threads
from pramana.base.translation import accepted, gettext, in_language
from pramana.errors import InputError, PramanaError
from pramana.studio import tasks
from pramana.studio.jobs import Jobs
from pramana.studio.pages import (
    columns,
    data,
    planned_analyses,
    publish,
    release,
    survey_builder,
    surveys,
)
from pramana.studio.serving import Origin
from pramana.studio.session import StudioSession, plainly
from pramana.studio.view import (
    Form,
    Pages,
    Studio,
    fragment,
    goto,
    load_templates,
    local_page,
    page,
    studio_of,
)

STEPS: Final = (data, columns, planned_analyses, publish, surveys, survey_builder, release)
"""Modules of pages, in the order of work."""

PAGES: Final = Pages()
"""Actions of all pages."""


HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
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

ONCE: Final = ("host", "origin", "cookie", "sec-fetch-site", "referer")
"""Headers that must not occur twice: it would be open which one counts."""

KEPT: Final = "private, max-age=3600"
"""How long browsers keep styles and scripts."""

ENTRANCE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pramana studio</title>'
    '<link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url=/">'
    '<p><a href="/">Open the studio</a></p></html>'
)
"""Leads on from a page of ours, so that the browser sends the cookie and forgets the token."""


class Guard:
    """Lets requests of the studio's own pages pass to the application."""

    def __init__(
        self, app: ASGIApp, *, token: str, origin: Origin, cookie: str, language: str | None
    ) -> None:
        self._app = app
        self._token = token
        self._origin = origin
        self._cookie = cookie
        self._language = language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        twice = any(len(headers.getlist(name)) > 1 for name in ONCE)
        refusal = ""
        if twice or headers.get("host") not in self._origin.hosts:
            refusal = "This is not an address of the studio."
        elif self._is_entrance(scope):
            secure = "; Secure" if self._origin.scheme == "https" else ""
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict{secure}"
            entrance = HTMLResponse(ENTRANCE, headers={**HEADERS, "Set-Cookie": cookie})
            await entrance(scope, receive, send)
            return
        elif not self._is_studio_page(scope, headers):
            refusal = "Only a page of the studio may ask for this. Open the studio's first page."
        elif not self._has_token(headers):
            refusal = "Open the studio by the address that the command has printed."
        if refusal:
            await PlainTextResponse(refusal, 403, headers=HEADERS)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                if scope["path"].startswith("/assets/") and message["status"] in (200, 206, 304):
                    answer.setdefault("Cache-Control", KEPT)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        language = self._language or accepted(headers.get("accept-language", ""))
        try:
            with in_language(language):
                await self._app(scope, receive, send_with_headers)
        except Exception:  # it is shown on the page; its words may show data and are for no log
            if os.environ.get("PRAMANA_TRACEBACK"):
                raise

    def _is_entrance(self, scope: Scope) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET" or not scope["query_string"]:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return self._is_token(given)

    def _is_studio_page(self, scope: Scope, headers: Headers) -> bool:
        """Whether a page of ours sent a request, or, for reading, the user typed its address."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if scope["method"] not in ("GET", "HEAD"):
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

    def _has_token(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return cookie is not None and self._is_token(cookie.value)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def studio_application(
    session: StudioSession,
    *,
    token: str,
    origin: Origin,
    cookie: str = "pramana-studio",
    database: str | None = None,
    language: str | None = None,
) -> Guard:
    """The studio of one folder, behind its guard; some surveys keep their answers in a database.

    Without a ``language``, pages are in that of the browser.
    """
    jobs = Jobs(session.results, session.folder)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        del app
        load_for_threads()
        threading.Thread(target=_load_ahead, args=(jobs,), daemon=True).start()
        try:
            yield
        finally:
            studio.collectors.close()
            jobs.close()
            session.close()

    pages = (*(module.PAGES for module in STEPS), PAGES)
    assets = Mount("/assets", StaticFiles(directory=str(files("pramana.studio") / "assets")))
    # Addresses with a placeholder come last: they match others too.
    routes = [route for group in pages for route in group.routes]
    routes.sort(key=lambda route: (route.path.count("{"), -len(route.path)))
    app = Starlette(
        routes=[*routes, assets],
        lifespan=life,
        exception_handlers={
            PramanaError: _refused,
            OSError: _system_error,
            HTTPException: _missing_page,
            Exception: _fault,
        },
    )
    entries = tuple(entry for group in pages for entry in group.entries)
    studio = app.state.studio = Studio(session, jobs, entries, database)
    return Guard(app, token=token, origin=origin, cookie=cookie, language=language)


def _load_ahead(jobs: Jobs) -> None:
    """Load what pages and the worker need, while the steward looks at the first page."""
    jobs.ask(tasks.load_ahead, keep=False, quick=True)
    load_templates()
    list(api.METHODS.values())


async def _refused(request: Request, error: Exception) -> Response:
    """A refusal is shown on the page from which it was asked."""
    words = plainly(str(error), studio_of(request).session.folder)
    if request.headers.get("hx-request"):
        return fragment(request, "parts/refused.html", words=words, job=None)
    if request.method == "POST":
        studio_of(request).session.notice = words
        # The page that a form belongs to: the longest beginning of its address in the menu.
        here = request.url.path
        paths = [entry.path for entry in studio_of(request).entries]
        page_of = max((path for path in paths if here.startswith(path)), key=len, default="/")
        return goto(page_of)
    return page(request, "error.html", status=400, words=words)


async def _system_error(request: Request, error: Exception) -> Response:
    """A full disk, or another refusal of the system."""
    why = getattr(error, "strerror", None) or "The operating system refused to read or write"
    return await _refused(
        request,
        InputError("{why}. {value}", why=why, value=gettext("Your last change was not saved.")),
    )


async def _missing_page(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return page(request, "error.html", status=status, words=gettext("There is no such page here."))


async def _fault(request: Request, error: Exception) -> Response:
    """A fault of ours: only its kind is shown, its words may show data."""
    words = f"An unexpected {type(error).__name__}: this is a fault in pramana. Report it."
    return page(request, "error.html", status=500, words=words)


@PAGES.get("/tokens.css")
async def style() -> Response:
    """Colours and sizes, as on all pages of the package."""
    return Response(tokens(), media_type="text/css", headers={"Cache-Control": KEPT})


@PAGES.post("/jobs/{key}/cancel")
async def cancel(request: Request, studio: Studio, form: Form) -> Response:
    """Stop a job, and remove what it has written."""
    jobs = studio.jobs
    key = request.path_params["key"]
    await asyncio.to_thread(jobs.cancel, key)
    job = jobs.find(key)
    poll = form.get("poll")
    if job is None or not request.headers.get("hx-request"):
        return goto("/")
    part = "plan_preview_kept" if job.so_far else "cancelled"
    return fragment(request, f"parts/{part}.html", job=job, poll=local_page(poll))


@PAGES.post("/jobs/{key}/again")
async def again(request: Request, studio: Studio, form: Form) -> Response:
    """Do a job again that was cancelled."""
    jobs = studio.jobs
    key = request.path_params["key"]
    jobs.again(key)
    job = jobs.find(key)
    if job is None or not request.headers.get("hx-request"):
        return goto("/")
    return fragment(request, "parts/progress.html", job=job, poll=local_page(form.get("poll")))


@PAGES.post("/undo")
async def undo(studio: Studio, form: Form) -> Response:
    """Take the last change back."""
    studio.session.undo()
    return goto(local_page(form.get("here")))


@PAGES.post("/redo")
async def redo(studio: Studio, form: Form) -> Response:
    """Bring back what was taken back."""
    studio.session.redo()
    return goto(local_page(form.get("here")))
