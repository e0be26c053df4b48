"""Data: the files of the folder, uploads, and a preview of the chosen file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from pramana import api, experiments
from pramana.base.translation import gettext
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.session import HOME, UPLOADED, Choices, StudioSession
from pramana.studio.view import (
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    fragment,
    goto,
    page,
    part,
    waiting,
)
from pramana.studio.worker import TableAt

PAGES: Final = Pages(
    Entry("/", "Data"),
)
EXAMPLE: Final = "example-people.parquet"
MOST_RECENT: Final = 5
MOST_FILES: Final = 300
DEPTH: Final = 2
MOST_UPLOAD: Final = 2 * 2**30
TEXTS: Final = tuple(
    f".{text}{packed}"
    for text in ("csv", "tsv", "tab", "txt")
    for packed in ("", ".gz", ".bz2", ".zst")
)
ENCODINGS: Final = ("utf-8", "cp1252", "latin-1", "cp1250", "cp1251", "utf-16", "shift_jis")


@PAGES.get("/")
async def show(request: Request, studio: Studio) -> Response:
    """The files, and a preview of the chosen one."""
    now = studio.session.now
    return page(
        request,
        "data.html",
        files=list(_files(studio.session.folder)),
        uploads=[f"{UPLOADED}{one.name}" for one in sorted(studio.session.uploads.iterdir())],
        folder=studio.session.folder.name,
        endings=_endings(),
        encodings=ENCODINGS,
        recent=_recent(studio.session),
        same=_same(studio) if now.file else None,
    )


@PAGES.post("/open")
async def choose(studio: Studio, form: Form) -> Response:
    """Choose a file, or another sheet or encoding of it; another table begins anew."""
    session = studio.session
    name = form.last("file") or session.now.file
    if not session.place(name).exists():
        raise InputError("The file is no longer there. Choose another one.")
    other = {"file": name, "part": form.last("part"), "encoding": form.get("encoding")}
    now = session.now
    if (now.file, now.part, now.encoding) != tuple(other.values()):
        _begin(session, name, **other, rename=now.rename and name == now.file)
        if now.schema:
            session.notice = gettext(
                "This is another table. Undo restores the choices for the former one."
            )
    return goto("/")


@PAGES.post("/open/example")
async def example(studio: Studio) -> Response:
    """Write a synthetic population into the folder, and open it."""
    session = studio.session
    place = session.target(EXAMPLE)
    if not place.exists():
        await asyncio.to_thread(experiments.write_example, place)
    _begin(session, EXAMPLE, file=EXAMPLE, part="", encoding="")
    return goto("/")


@PAGES.get("/open/found")
async def preview(request: Request, studio: Studio) -> Response:
    """The preview of the file."""
    if not studio.session.now.file:
        raise InputError("Choose a file first.")
    job = look_job(studio)
    unfinished = await waiting(request, job)
    if job.condition == "refused":  # also where that came in this moment
        return await _unread(request, studio, job)
    if unfinished is not None:
        return unfinished
    return await part(request, job, "parts/preview.html", encodings=ENCODINGS)


async def _unread(request: Request, studio: Studio, refused: Job) -> Response:
    """Why a table cannot be read, and buttons that help."""
    now = studio.session.now
    if refused.code == "several-tables":
        job = studio.jobs.ask(tasks.parts, keep=False, table=table_of(studio))
        return await part(request, job, "parts/several_tables.html", several=refused.fields)
    place = studio.session.place(now.file)
    text = place.stat().st_size and place.name.lower().endswith(TEXTS)
    twice = refused.code == "duplicate-columns" and not now.rename
    return fragment(
        request,
        "parts/unreadable.html",
        words=refused.words,
        twice=twice,
        encodings=ENCODINGS if text else (),
    )


@PAGES.get("/open/codes")
async def codes(request: Request, studio: Studio) -> Response:
    """Values that look as if they meant missing, with their counts."""
    job = studio.jobs.ask(tasks.describe, table=table_of(studio))
    return await part(request, job, "parts/codes.html")


@PAGES.post("/open/mend")
async def mend(studio: Studio) -> Response:
    """Number duplicate column names; the file itself is not changed."""
    session = studio.session
    session.change("Numbered duplicate column names", rename=True)
    session.notice = gettext("Duplicate column names are numbered. The file itself is not changed.")
    return goto("/")


@PAGES.post("/open/upload", raw=True)
async def upload(request: Request, studio: Studio) -> Response:
    """Take an upload; its name comes in a header, so that no log shows it."""
    session = studio.session
    name = unquote(request.headers.get("x-name", ""))
    place = session.uploaded(name)
    if not place.name.lower().endswith(tuple(_endings())):
        raise InputError("The file must end in one of {endings}.", endings=", ".join(_endings()))
    size = 0
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MOST_UPLOAD:
                    raise InputError("The file is too large: put it into the folder instead.")
                file.write(chunk)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    _begin(session, place.name, file=f"{UPLOADED}{place.name}", part="", encoding="")
    return PlainTextResponse("/")


def _begin(session: StudioSession, name: str, **chosen: Any) -> None:
    """Open another table, without the decisions on the one before."""
    fresh = msgspec.structs.asdict(Choices())
    del fresh["did"]
    session.change(gettext("Opened {name}", name=name), **{**fresh, **chosen})


def look_job(studio: Studio) -> Job:
    """The job that reads the preview."""
    # Never kept: it shows records.
    return studio.jobs.ask(tasks.look, keep=False, table=table_of(studio))


def table_of(studio: Studio) -> TableAt:
    """The table as tasks take it; a changed file is another table."""
    session = studio.session
    path = session.table
    status = session.place(session.now.file).stat()
    return {
        "path": str(path),
        "encoding": session.now.encoding,
        "rename": session.now.rename,
        "stamp": f"{status.st_size} {status.st_mtime_ns}",
    }


def _endings() -> list[str]:
    return sorted({ending for one in api.FORMATS.values() for ending in one.endings} | set(TEXTS))


def _recent(session: StudioSession) -> list[str]:
    """The tables that were open before, the last one first."""
    names = dict.fromkeys(reversed([state.file for state in session.states if state.file]))
    return [name for name in names if session.place(name).exists()][:MOST_RECENT]


def _files(folder: Path) -> Iterator[dict[str, Any]]:
    """The tables of the folder and of the folders in it."""
    endings, number = tuple(_endings()), 0
    for base, folders, names in os.walk(folder):
        here = Path(base)
        depth = len(here.relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if depth < DEPTH else []
        if "certificate.json" in names:  # a release, for the analyst's side
            continue
        for name in sorted(names):
            if name.lower().endswith(endings) and not name.startswith("."):
                number += 1
                if number > MOST_FILES:
                    return
                file = here / name
                with suppress(OSError):  # a link to nothing, or gone meanwhile
                    yield {"name": str(file.relative_to(folder)), "size": file.stat().st_size}


def file_words(studio: Studio) -> str:
    """The table as commands name it; an upload is in the folder of the studio."""
    now = studio.session.now
    file = now.file
    if file.startswith(UPLOADED):
        file = f"{HOME}/{studio.session.uploads.name}/{file.removeprefix(UPLOADED)}"
    named = f"{file}#{now.part}" if now.part else file
    return f"./{named}" if named.startswith("-") else named


def source_code(studio: Studio) -> str:
    """The table in Python code, with its encoding."""
    now = studio.session.now
    options = f", encoding={now.encoding!r}" if now.encoding else ""
    options += ", rename=True" if now.rename else ""
    file = repr(file_words(studio))
    return f"pm.api.read({file}{options})" if options else file


def read_words(studio: Studio) -> tuple[str, ...]:
    """How it is read, as options of commands."""
    now = studio.session.now
    options = ("--encoding", now.encoding) if now.encoding else ()
    return (*options, "--rename") if now.rename else options


def _same(studio: Studio) -> SameWork:
    file = file_words(studio)
    return SameWork(
        (("pramana", "describe", file, *read_words(studio)),),
        f"import pramana as pm\n\nlook = pm.describe({source_code(studio)})\nprint(look)",
    )
