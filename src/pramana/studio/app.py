"""The application: the pages, what they share, and the guard before them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from pramana import api
from pramana.base.processes import load_for_threads
from pramana.errors import InputError, PramanaError
from pramana.studio import tasks
from pramana.studio.jobs import Jobs
from pramana.studio.pages import columns, data, planned_analyses, publish, release, surveys
from pramana.studio.serving import Guard, Origin
from pramana.studio.session import StudioSession, plainly
from pramana.studio.view import (
    Form,
    Pages,
    Studio,
    fragment,
    goto,
    load_templates,
    own_page,
    page,
    studio_of,
)

STEPS: Final = (data, columns, planned_analyses, publish, surveys, release)
"""Modules of pages, in the order of work."""

PAGES: Final = Pages()
"""What works on the session, from any page."""


def studio_application(
    session: StudioSession,
    *,
    token: str,
    origin: Origin,
    cookie: str = "pramana-studio",
    database: str | None = None,
) -> Guard:
    """The studio of one folder, behind its guard; some surveys keep their answers in a database."""
    jobs = Jobs(session.results, session.folder)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        del app
        load_for_threads()
        threading.Thread(target=_load_ahead, args=(jobs,), daemon=True).start()
        try:
            yield
        finally:
            jobs.close()
            session.close()

    pages = (*(module.PAGES for module in STEPS), PAGES)
    assets = Mount("/assets", StaticFiles(directory=str(files("pramana.studio") / "assets")))
    # Addresses with a placeholder come last: they match others too.
    routes = [route for own in pages for route in own.routes]
    routes.sort(key=lambda route: (route.path.count("{"), -len(route.path)))
    app = Starlette(
        routes=[*routes, assets],
        lifespan=life,
        exception_handlers={
            PramanaError: _refused,
            OSError: _not_kept,
            HTTPException: _not_there,
            Exception: _fault,
        },
    )
    entries = tuple(entry for own in pages for entry in own.entries)
    app.state.studio = Studio(session, jobs, entries, database)
    return Guard(app, token=token, origin=origin, cookie=cookie)


def _load_ahead(jobs: Jobs) -> None:
    """Load what pages and the worker need, while the steward looks at the first one."""
    jobs.ask(tasks.load_ahead, keep=False, quick=True)
    load_templates()
    list(api.METHODS.values())


async def _refused(request: Request, error: Exception) -> Response:
    """What cannot be done is said on the page from which it was asked."""
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


async def _not_kept(request: Request, error: Exception) -> Response:
    """A full disk, or what else the system refuses, is no fault of ours."""
    why = getattr(error, "strerror", None) or "The operating system refused to read or write"
    return await _refused(request, InputError(f"{why}. What was asked for is not kept."))


async def _not_there(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return page(request, "error.html", status=status, words="There is no such page here.")


async def _fault(request: Request, error: Exception) -> Response:
    """A fault of ours: its kind alone is told, for its words may show data."""
    words = f"An unforeseen {type(error).__name__}: this is a fault in pramana. Report it."
    return page(request, "error.html", status=500, words=words)


@PAGES.post("/jobs/{key}/cancel")
async def cancel(request: Request, studio: Studio, form: Form) -> Response:
    """Stop a job; nothing of it is left."""
    jobs = studio.jobs
    key = request.path_params["key"]
    await asyncio.to_thread(jobs.cancel, key)
    job = jobs.find(key)
    poll = form.get("poll")
    if job is None or not request.headers.get("hx-request"):
        return goto("/")
    part = "plan_preview_kept" if job.so_far else "cancelled"
    return fragment(request, f"parts/{part}.html", job=job, poll=own_page(poll))


@PAGES.post("/jobs/{key}/again")
async def again(request: Request, studio: Studio, form: Form) -> Response:
    """Do a job again that was cancelled."""
    jobs = studio.jobs
    key = request.path_params["key"]
    jobs.again(key)
    job = jobs.find(key)
    if job is None or not request.headers.get("hx-request"):
        return goto("/")
    return fragment(request, "parts/progress.html", job=job, poll=own_page(form.get("poll")))


@PAGES.post("/undo")
async def undo(studio: Studio, form: Form) -> Response:
    """Take the last change back."""
    studio.session.undo()
    return goto(own_page(form.get("here")))


@PAGES.post("/redo")
async def redo(studio: Studio, form: Form) -> Response:
    """Bring back what was taken back."""
    studio.session.redo()
    return goto(own_page(form.get("here")))
