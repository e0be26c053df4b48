"""Code: everything that was decided as a schema, a script and a program, for a colleague."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pramana.base.atomic_files import write_whole
from pramana.studio.pages.columns import require_schema
from pramana.studio.pages.publish import plan_file, same_by_plan
from pramana.studio.session import require_all_free
from pramana.studio.view import Entry, Studio, form_of, goto, own_page, page, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ENTRIES: Final = (Entry("/code", "Code", needs="schema"),)


async def show(request: Request) -> Response:
    """The files as they would be written, and the states of the session."""
    studio = studio_of(request)
    return page(
        request,
        "code.html",
        files=_files(studio),
        ready=bool(studio.session.now.target),
        states=studio.session.told(),
    )


def _files(studio: Studio) -> dict[str, str]:
    """Everything by the name under which it is written."""
    made = same_by_plan(studio)
    return {
        "schema.toml": require_schema(studio.session.now.schema).to_toml(),
        "plan.toml": plan_file(studio).to_toml(),
        "protect.sh": f"#!/bin/sh\nset -e\n{made.shell}\n",
        "protect.py": f"{made.python}\n",
    }


async def save(request: Request) -> Response:
    """Save the files: all of them, or schema and plan for who is at another page."""
    studio = studio_of(request)
    session = studio.session
    form = await form_of(request)
    files = _files(studio)
    names = ("schema.toml", "plan.toml") if form.get("here") else tuple(files)
    force = bool(form.get("force"))
    require_all_free([session.place(name) for name in names], force=force)
    for name in names:
        write_whole(session.place(name), files[name], force=force)
    session.notice = f"{', '.join(names[:-1])} and {names[-1]} are written."
    return goto(own_page(form.get("here"), "/code"))


async def back(request: Request) -> Response:
    """To an earlier or later state."""
    session = studio_of(request).session
    form = await form_of(request)
    session.go(form.place("at", len(session.told())))
    return goto("/code")


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/code", show),
    ("POST", "/code", save),
    ("POST", "/code/back", back),
)
