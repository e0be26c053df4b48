"""Code: everything that was decided as a schema, a script and a program, for a colleague."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pramana.files import write_whole
from pramana.studio.pages.columns import require_schema
from pramana.studio.pages.protecting import same_release
from pramana.studio.view import Entry, form_of, goto, page, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ENTRY", "ROUTES"]

ENTRY: Final = Entry("/code", "Code", needs="schema")


async def show(request: Request) -> Response:
    """The files as they would be written, and the states of the session."""
    studio = studio_of(request)
    schema = require_schema(studio.session.now.schema)
    made = same_release(studio)
    return page(
        request,
        "handing.html",
        files={
            "schema.toml": schema.to_toml(),
            "protect.sh": f"{made.shell}\n",
            "protect.py": f"{made.python}\n",
        },
        ready=bool(studio.session.now.target),
        states=studio.session.told(),
    )


async def save(request: Request) -> Response:
    """Write them into the folder."""
    studio = studio_of(request)
    session = studio.session
    form = await form_of(request)
    schema = require_schema(session.now.schema)
    made = same_release(studio)
    force = bool(form.get("force"))
    schema.save(session.place("schema.toml"), force=force)
    for name, text in (("protect.sh", f"#!/bin/sh\nset -e\n{made.shell}\n"),
                       ("protect.py", f"{made.python}\n")):  # fmt: skip
        write_whole(session.place(name), text, force=force)
    session.notice = "schema.toml, protect.sh and protect.py are written."
    return goto("/code")


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
