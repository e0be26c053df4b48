"""Report and code: what the owner and a colleague get of the session.

A report is for the owner or for everybody, as a page and PDF. Code is the session as files.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pramana.base.atomic_files import write_whole
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.columns import require_schema, schema_words
from pramana.studio.pages.data import source_code, table_of
from pramana.studio.pages.publish import plan_file, same_by_plan
from pramana.studio.session import require_all_free
from pramana.studio.view import (
    Entry,
    SameWork,
    Studio,
    form_of,
    goto,
    own_page,
    page,
    part,
    studio_of,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ENTRIES: Final = (
    Entry("/report", "Report", needs="schema"),
    Entry("/code", "Code", needs="schema"),
)
EDITIONS: Final = {
    "owner": "For us: with attacks and losses",
    "public": "For everybody: without the truth",
}
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups"
"""A report has its style inside, and no script; it runs nothing and reaches nothing."""


async def show(request: Request) -> Response:
    """What a report says of itself, and those that were written."""
    studio = studio_of(request)
    now = studio.session.now
    there = (studio.session.place(now.release) / "certificate.json").exists()
    return page(
        request,
        "report.html",
        there=there,
        editions=EDITIONS,
        written=[own for own in EDITIONS if there and _place(studio, own).exists()],
        begun=[own for own in EDITIONS if there and _begun(studio, own) is not None],
        same=_same(studio),
    )


async def write(request: Request) -> Response:
    """Write one."""
    studio = studio_of(request)
    form = await form_of(request)
    edition = form.get("edition")
    if edition not in EDITIONS:
        raise InputError("Choose for whom the report is.")
    studio.session.settle(name=form.get("name")[:200], office=form.get("office")[:200])
    before = _begun(studio, edition)
    if before is not None and before.condition in ("waiting", "running"):
        return goto("/report")
    force = bool(form.get("force"))
    require_all_free([_place(studio, edition, end) for end in (".html", ".pdf")], force=force)
    for own in (True, False):
        studio.jobs.forget(tasks.report, **_arguments(studio, edition, force=own))
    studio.jobs.ask(tasks.report, **_arguments(studio, edition, force=force))
    return goto("/report")


async def written(request: Request) -> Response:
    """How far it is."""
    studio = studio_of(request)
    edition = request.path_params["edition"]
    job = _begun(studio, edition)
    if job is None:
        raise InputError("Nothing has been begun.")
    return await part(request, job, "parts/report.html", edition=edition)


async def read(request: Request) -> Response:
    """The report itself, which runs nothing."""
    from starlette.responses import HTMLResponse

    studio = studio_of(request)
    edition = request.path_params["edition"]
    if edition not in EDITIONS or not _place(studio, edition).exists():
        raise InputError("There is no such report.")
    text = _place(studio, edition).read_text(encoding="utf-8")
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


async def download(request: Request) -> Response:
    """The report on paper."""
    from starlette.responses import FileResponse

    studio = studio_of(request)
    edition = request.path_params["edition"]
    if edition not in EDITIONS or not (found := _place(studio, edition, ".pdf")).exists():
        raise InputError("There is no such report.")
    return FileResponse(found, filename=f"report-{edition}.pdf", media_type="application/pdf")


def _begun(studio: Studio, edition: str) -> Job | None:
    keys = (
        studio.jobs.key_of(tasks.report, **_arguments(studio, edition, force=own))
        for own in (True, False)
    )
    return next((job for key in keys if (job := studio.jobs.find(key)) is not None), None)


def _place(studio: Studio, edition: str, ending: str = ".html") -> Path:
    """Beside the release, never in it: the owner's edition tells of the truth."""
    release = studio.session.place(studio.session.now.release)
    return release.with_name(f"{release.name}-report-{edition}{ending}")


def _arguments(studio: Studio, edition: str, *, force: bool) -> dict[str, Any]:
    now = studio.session.now
    release = studio.session.place(now.release)
    certificate = release / "certificate.json"
    if edition not in EDITIONS or not certificate.exists():
        raise InputError("Write a release first.")
    return {
        "table": table_of(studio),
        "release": str(release),
        "digest": hashlib.sha256(certificate.read_bytes()).hexdigest(),
        "to": str(_place(studio, edition)),
        "external": edition == "public",
        "name": now.name,
        "office": now.office,
        "force": force,
    }


def _same(studio: Studio) -> SameWork:
    file, told = schema_words(studio)
    now = studio.session.now
    about = [word for flag, own in (("--name", now.name), ("--office", now.office)) if own
             for word in (flag, own)]  # fmt: skip
    ways = {
        "public": (("--external",), "external=True"),
        "owner": (("--original", file, *told), f"original={source_code(studio)}"),
    }
    commands: list[tuple[str, ...]] = []
    code = "import pramana as pm\n"
    for edition, (flags, given) in ways.items():
        names = [f"{now.release}-report-{edition}{ending}" for ending in (".html", ".pdf")]
        commands += [("pramana", "report", now.release, *flags, *about, "-o", own) for own in names]
        saved = "".join(f"report.save({own!r})\n" for own in names)
        told_of = f"name={now.name!r}, office={now.office!r}"
        code += f"\nreport = pm.report({now.release!r}, {given}, {told_of})\n{saved}"
    return SameWork(tuple(commands), code)


async def show_code(request: Request) -> Response:
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


async def save_code(request: Request) -> Response:
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


async def go_to_state(request: Request) -> Response:
    """To an earlier or later state."""
    session = studio_of(request).session
    form = await form_of(request)
    session.go(form.place("at", len(session.told())))
    return goto("/code")


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/report", show),
    ("POST", "/report", write),
    ("GET", "/report/written/{edition}", written),
    ("GET", "/report/read/{edition}.pdf", download),
    ("GET", "/report/read/{edition}", read),
    ("GET", "/code", show_code),
    ("POST", "/code", save_code),
    ("POST", "/code/back", go_to_state),
)
