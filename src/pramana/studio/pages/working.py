"""Not a page of its own: cancelling work, doing it again, undo and redo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pramana.studio.view import Entry, form_of, fragment, goto, own_page, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ENTRY", "ROUTES"]

ENTRY: Final[Entry | None] = None


async def cancel(request: Request) -> Response:
    """Stop a job; nothing of it is left."""
    import asyncio

    jobs = studio_of(request).jobs
    key = request.path_params["key"]
    await asyncio.to_thread(jobs.cancel, key)
    job = jobs.find(key)
    form = await form_of(request)
    poll = form.get("poll")
    if job is None or not request.headers.get("hx-request"):
        return goto("/")
    part = "kept" if job.so_far else "cancelled"
    return fragment(request, f"parts/{part}.html", job=job, poll=own_page(poll))


async def again(request: Request) -> Response:
    """Do a job again that was cancelled."""
    jobs = studio_of(request).jobs
    key = request.path_params["key"]
    jobs.again(key)
    job = jobs.find(key)
    form = await form_of(request)
    if job is None or not request.headers.get("hx-request"):
        return goto("/")
    return fragment(request, "parts/progress.html", job=job, poll=own_page(form.get("poll")))


async def undo(request: Request) -> Response:
    """Take the last change back."""
    form = await form_of(request)
    studio_of(request).session.undo()
    return goto(own_page(form.get("here")))


async def redo(request: Request) -> Response:
    """Bring back what was taken back."""
    form = await form_of(request)
    studio_of(request).session.redo()
    return goto(own_page(form.get("here")))


ROUTES: Final = (
    ("POST", "/jobs/{key}/cancel", cancel),
    ("POST", "/jobs/{key}/again", again),
    ("POST", "/undo", undo),
    ("POST", "/redo", redo),
)
