"""A release to analyse, and its codebook."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pramana.errors import InputError
from pramana.studio import analyst
from pramana.studio.session import StudioSession
from pramana.studio.view import Entry, SameWork, Studio, form_of, goto, page, part, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ENTRIES: Final = (
    Entry("/release", "Release", group="analyst"),
    Entry("/codebook", "Codebook", needs="release", group="analyst"),
)
CERTIFICATE: Final = "certificate.json"
HERE: Final = "."
DEPTH: Final = 3
MOST_FOLDERS: Final = 200

STATES: Final = (
    ("failed", "bad", "Failed", "What was looked at does not hold."),
    ("asserted", "warn", "Asserted by the owner", "Nothing at hand shows or contradicts it."),
    ("passed", "good", "Passed", "Computed again from the folder alone."),
)


async def show(request: Request) -> Response:
    """The release folders, and what was found in the chosen one."""
    studio = studio_of(request)
    folder = studio.session.folder
    name = studio.session.now.analysed
    return page(
        request,
        "release.html",
        folders=_folders(folder),
        folder=folder.name,
        same=_same(name) if name else None,
    )


async def choose(request: Request) -> Response:
    """Open a release folder."""
    session = studio_of(request).session
    form = await form_of(request)
    name = form.last("folder")
    if not (_place(session, name) / CERTIFICATE).is_file():
        raise InputError("That folder holds no release: there is no certificate in it.")
    session.change(f"Opened the release {name}", analysed=name)
    return goto("/release")


async def checked(request: Request) -> Response:
    """The checks, in their three states."""
    studio = studio_of(request)
    job = studio.jobs.ask(analyst.check, **release_of(studio))
    return await part(request, job, "parts/checks.html", states=STATES)


async def style(request: Request) -> Response:
    """How charts are laid out, as in reports."""
    from starlette.responses import Response as Plain

    from pramana import api

    del request
    return Plain(await asyncio.to_thread(lambda: api.CHART_STYLE), media_type="text/css")


def release_of(studio: Studio) -> dict[str, Any]:
    """The release as tasks take it: where it lies, and when it was changed."""
    session = studio.session
    if not session.now.analysed:
        raise InputError("Open a release first.")
    place = _place(session, session.now.analysed)
    if not (place / CERTIFICATE).is_file():
        raise InputError("The release is no longer there. Open another one.")
    stamp = max(one.lstat().st_mtime_ns for one in place.iterdir())
    return {"path": str(place), "stamp": stamp}


def _place(session: StudioSession, name: str) -> Path:
    """A folder inside, or the very folder that the studio was opened on."""
    return session.folder if name == HERE else session.place(name)


def _folders(folder: Path) -> list[str]:
    """The release folders here and below."""
    found = []
    for base, folders, names in os.walk(folder):
        here = Path(base)
        inside = len(here.relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if inside < DEPTH else []
        if CERTIFICATE in names:
            found.append(str(here.relative_to(folder)))
            folders[:] = []
        if len(found) >= MOST_FOLDERS:
            break
    return found


def folder_word(name: str) -> str:
    """A release folder as commands name it: none is taken for an option."""
    return f"./{name}" if name.startswith("-") else name


def _same(name: str) -> SameWork:
    return SameWork(
        (("pramana", "verify", folder_word(name)),),
        f"import pramana as pm\n\nverdict = pm.verify({name!r})\nprint(verdict)\n"
        "for check in verdict.checks:\n    print(check.state, check.name, check.detail)",
    )


async def show_codebook(request: Request) -> Response:
    """The page; the columns come when they are read."""
    name = studio_of(request).session.now.analysed
    return page(request, "codebook.html", same=_codebook_same(name) if name else None)


def _codebook_same(name: str) -> SameWork:
    python = (
        f"import pramana as pm\n\nrelease = pm.load({name!r})\n"
        "print(release)\nprint(release.certificate.labels)"
    )
    return SameWork((("cat", f"{folder_word(name)}/codebook.csv"),), python)


async def listed(request: Request) -> Response:
    """The columns and their values."""
    studio = studio_of(request)
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(request, job, "parts/codebook.html")


ROUTES: Final = (
    ("GET", "/release", show),
    ("POST", "/release", choose),
    ("GET", "/release/checked", checked),
    ("GET", "/charts.css", style),
    ("GET", "/codebook", show_codebook),
    ("GET", "/codebook/listed", listed),
)
