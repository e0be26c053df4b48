"""Review and publish a release; reports on it; the session as files.

A report is for the owner or for everybody, as a page and a PDF.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from pramana import Schema, api
from pramana.api import PlanFile
from pramana.base.atomic_files import write_whole
from pramana.base.translation import gettext, noop
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.columns import (
    column_labels,
    described,
    require_schema,
    schema_words,
)
from pramana.studio.pages.data import source_code, table_of
from pramana.studio.pages.planned_analyses import decision_words, wish_texts
from pramana.studio.session import Choices, require_all_free
from pramana.studio.view import (
    GLANCE,
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    fragment,
    goto,
    local_page,
    option_values,
    page,
    part,
)

PAGES: Final = Pages(
    Entry("/protect", "Review and publish", needs="schema"),
    Entry("/report", "Report", needs="schema"),
    Entry("/code", "Code", needs="schema"),
)
COPIES: Final = {"csv": "CSV", "dta": "Stata", "sav": "SPSS"}
ABOUT: Final = {
    "title": noop("Title of the data"),
    "version": noop("Version"),
    "publisher": noop("Office"),
    "contact": noop("Contact"),
    "purpose": noop("Purpose of the release"),
}
"""What certificates and reports say about the data set."""


@PAGES.get("/protect")
async def show(request: Request, studio: Studio) -> Response:
    """The release to be written, and the one that was written."""
    now = studio.session.now
    schema = require_schema(now.schema)
    job = _made(studio) if _acknowledged(studio) else None
    return page(
        request,
        "publish.html",
        schema=schema,
        words=decision_words(now),
        formats=COPIES,
        about=ABOUT,
        labels=column_labels(studio),
        unique=_added_unique(studio),
        begun=job is not None,
        same=same_release(studio),
    )


def _added_unique(studio: Studio) -> dict[str, int]:
    """How many people each unchanged column makes unique, where that was counted."""
    looked = described(studio).result
    rows = looked["columns"] if looked else ()
    return {row["column"]: row["adds_unique_people"] for row in rows if row["adds_unique_people"]}


@PAGES.get("/protect/plan")
async def planned(request: Request, studio: Studio) -> Response:
    """The plan: treatment, guarantees and expected error."""
    now = studio.session.now
    if not now.target:
        raise InputError("Choose a method and a target first.")
    job = studio.jobs.ask(tasks.plan, **_plan_of(studio))
    return await part(request, job, "parts/plan.html")


@PAGES.get("/protect/foretold")
async def foretold(request: Request, studio: Studio) -> Response:
    """Errors of its tables on these data, and better plans, as they are found."""
    if not studio.session.now.target:
        raise InputError("Choose a method and a target first.")
    job = studio.jobs.ask(tasks.beforehand, patient=1, **_plan_of(studio))
    await asyncio.to_thread(job.ended.wait, GLANCE)
    said = (job.result if job.condition == "done" else job.so_far) or []
    return fragment(request, "parts/plan_preview.html", job=job, said=said, poll=request.url.path)


@PAGES.post("/protect")
async def start(studio: Studio, form: Form) -> Response:
    """Begin, if the unchanged columns were acknowledged."""
    session = studio.session
    schema = require_schema(session.now.schema)
    if not session.now.target:
        raise InputError("Choose a method and a target first.")
    if form.get("acknowledged") != "yes":
        raise InputError("First acknowledge the columns released unchanged.")
    place = session.target(form.get("release") or "release")
    name = str(place.relative_to(session.folder))  # what is written beside it never lies in it
    copies = tuple(copy for copy in COPIES if copy in form.all("copy"))
    unchanged = [column.name for column in schema.released_as_is]
    accepted = tuple(column for column in unchanged if column in form.all("accept"))
    said = {word: form.get(word) for word in ABOUT if form.exact(word)}
    dataset = type(schema.dataset).of(schema.dataset.to_dict() | said)
    session.settle(schema=replace(schema, dataset=dataset).to_toml())
    _begin(studio, release=name, copies=copies, accepted=accepted, acknowledged=_digest(schema))
    return goto("/protect#done")


@PAGES.post("/protect/without")
async def without(studio: Studio, form: Form) -> Response:
    """The release that was begun, without a copy that cannot be written."""
    if not _acknowledged(studio):
        raise InputError("First acknowledge the columns released unchanged.")
    copies = tuple(copy for copy in studio.session.now.copies if copy != form.get("copy"))
    _begin(studio, copies=copies)
    return goto("/protect#done")


def _begin(studio: Studio, **chosen: Any) -> None:
    """Write a release, or find the one that was written; nothing else that is there is touched."""
    before = studio.jobs.find(studio.jobs.key_of(tasks.protect, **_arguments(studio, **chosen)))
    place = studio.session.place(chosen.get("release", studio.session.now.release))
    if before is None or before.condition != "done":
        api.require_free(place, force=False)
    name = place.relative_to(studio.session.folder)
    studio.session.change(gettext("Protected into {name}", name=name), **chosen)
    if before is not None and before.condition in ("cancelled", "refused"):
        studio.jobs.again(before.key)
    elif before is None or (before.condition == "done" and not place.exists()):
        studio.jobs.forget(tasks.protect, **_arguments(studio))
        studio.jobs.ask(tasks.protect, **_arguments(studio))


@PAGES.get("/protect/made")
async def made(request: Request, studio: Studio) -> Response:
    """Progress or result."""
    job = _made(studio)
    if job is None:
        raise InputError("Nothing was started.")
    return await part(request, job, "parts/release.html")


@PAGES.get("/protect/checked")
async def checked(request: Request, studio: Studio) -> Response:
    """What checks found."""
    job = studio.jobs.ask(tasks.check, **_written(studio))
    return await part(request, job, "parts/attack_results.html")


@PAGES.get("/protect/attacked")
async def attacked(request: Request, studio: Studio) -> Response:
    """What attacks found."""
    written = _written(studio)
    check = studio.jobs.find(studio.jobs.key_of(tasks.check, **written))
    checked = check is not None and check.condition == "done" and check.result["valid"]
    job = studio.jobs.ask(tasks.attack, patient=1, checked=checked, **written)
    return await part(request, job, "parts/attacks.html")


def _written(studio: Studio) -> dict[str, Any]:
    """The release as tasks take it, with the table that it was made of."""
    place = studio.session.place(studio.session.now.release)
    certificate = place / "certificate.json"
    if not certificate.exists():
        raise InputError("The release is no longer there.")
    digest = hashlib.sha256(certificate.read_bytes()).hexdigest()
    return {"release": str(place), "digest": digest, "table": table_of(studio)}


def _made(studio: Studio) -> Job | None:
    """The job of this very release, if it was begun; one that was done before is found again."""
    job = studio.jobs.find(studio.jobs.key_of(tasks.protect, **_arguments(studio)))
    if job is not None:
        return job
    place = studio.session.place(studio.session.now.release)
    return studio.jobs.recalled(tasks.protect, **_arguments(studio)) if place.exists() else None


def _acknowledged(studio: Studio) -> bool:
    now = studio.session.now
    return bool(now.target) and now.acknowledged == _digest(require_schema(now.schema))


def _plan_of(studio: Studio) -> dict[str, Any]:
    now = studio.session.now
    return {
        "schema": now.schema,
        "method": now.method,
        "options": now.options,
        "target": now.target,
        "table": table_of(studio),
    }


def _arguments(studio: Studio, **chosen: Any) -> dict[str, Any]:
    now = msgspec.structs.replace(studio.session.now, **chosen)
    to = str(studio.session.place(now.release))
    return {
        **_plan_of(studio), "to": to, "copies": list(now.copies), "accept_risk": list(now.accepted)
    }  # fmt: skip


def _digest(schema: Schema) -> str:
    """Of what is released unchanged: another list must be acknowledged anew."""
    lines = [f"{column.name}\0{column.role}\0{column.recoding}" for column in schema.released_as_is]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def plan_file(studio: Studio) -> PlanFile:
    """What was decided, as the command line takes it."""
    now = studio.session.now
    asked = tuple(wish_texts(now.wishes))
    return api.PlanFile("schema.toml", now.target, now.method, now.options, asked, now.copies)


def same_by_plan(studio: Studio) -> SameWork:
    """The same with a plan file in place of options."""
    file, read = schema_words(studio)
    made = same_release(studio)
    first, *rest = made.commands
    short = ("pramana", "protect", file, *read, "--plan", "plan.toml", *first[first.index("-o") :])
    return SameWork((short, *rest), made.python)


def same_release(studio: Studio) -> SameWork:
    """The commands and the Python that make the release."""
    file, read = schema_words(studio)
    now = studio.session.now
    flags: list[str] = []
    for name, value in now.target.items():
        flags += [f"--{name.replace('_', '-')}", f"{value:.12g}"]
    how = ["--method", now.method] if now.method else []
    for flag, value in now.options.items():
        how += [f"--{flag}", *([] if value is True else [str(value)])]
    also = [{"csv": "--csv", "dta": "--stata", "sav": "--spss"}[copy] for copy in now.copies]
    words = ("pramana", "protect", file, *read, "--schema", "schema.toml", *flags, *how, *also)
    target = ", ".join(f"{name!r}: {value:.12g}" for name, value in now.target.items())
    aims = f", aims=api.METHODS[{now.method!r}].aims" if now.method else ""
    code = (
        "import pramana as pm\nfrom pramana import api\n\n"
        'schema = pm.Schema.load("schema.toml")\n'
        f"target = api.guarantees_from_options({{{target}}}{aims}, schema=schema)\n"
        f"original = {source_code(studio)}\n"
        f"plan = pm.design(schema, *target, data=original, method={_method_code(now)})\n"
        f"pm.protect(original, plan, to={now.release!r}, copies={list(now.copies)!r})\n"
        f"print(pm.verify({now.release!r}, original=original))"
    )
    return SameWork(
        (
            (*words, "-o", now.release),
            ("pramana", "verify", now.release, "--original", file, *read),
            ("pramana", "audit", now.release, "--original", file, *read),
        ),
        code,
    )


def _method_code(now: Choices) -> str:
    """The method with its options in Python."""
    values = option_values(now.method, now.options)
    return f"api.METHODS[{now.method!r}](**{values!r})" if values else repr(now.method or None)


EDITIONS: Final = {
    "owner": noop("For the owner: with attacks and losses"),
    "public": noop("For publication: without the original data"),
}
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups"
"""A report has its style inside, and no script; it runs nothing and reaches nothing."""


@PAGES.get("/report")
async def show_report(request: Request, studio: Studio) -> Response:
    """What a report says of itself, and those that were written."""
    now = studio.session.now
    there = (studio.session.place(now.release) / "certificate.json").exists()
    return page(
        request,
        "report.html",
        there=there,
        editions=EDITIONS,
        written=[
            edition for edition in EDITIONS if there and _place_report(studio, edition).exists()
        ],
        begun=[
            edition for edition in EDITIONS if there and _begun_report(studio, edition) is not None
        ],
        same=_same_report(studio),
    )


@PAGES.post("/report")
async def write(studio: Studio, form: Form) -> Response:
    """Write one."""
    edition = form.choice("edition", EDITIONS, "Choose for whom the report is.")
    studio.session.settle(name=form.get("name")[:200], office=form.get("office")[:200])
    before = _begun_report(studio, edition)
    if before is not None and before.condition in ("waiting", "running"):
        return goto("/report")
    places = [_place_report(studio, edition, end) for end in (".html", ".pdf")]
    require_all_free(places, force=bool(form.get("force")))
    studio.jobs.forget(tasks.report, **_arguments_report(studio, edition))
    studio.jobs.ask(tasks.report, **_arguments_report(studio, edition))
    return goto("/report")


@PAGES.get("/report/written/{edition}")
async def written(request: Request, studio: Studio) -> Response:
    """How far it is."""
    edition = request.path_params["edition"]
    job = _begun_report(studio, edition)
    if job is None:
        raise InputError("Nothing was started.")
    return await part(request, job, "parts/report.html", edition=edition)


@PAGES.get("/report/read/{edition}")
async def read(request: Request, studio: Studio) -> Response:
    """The report itself, which runs nothing."""
    text = _report_in(request, studio, ".html").read_text(encoding="utf-8")
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


@PAGES.get("/report/read/{edition}.pdf")
async def download(request: Request, studio: Studio) -> Response:
    """The report on paper."""
    file = _report_in(request, studio, ".pdf")
    name = f"report-{request.path_params['edition']}.pdf"
    return FileResponse(file, filename=name, media_type="application/pdf")


def _report_in(request: Request, studio: Studio, ending: str) -> Path:
    edition = request.path_params["edition"]
    if edition in EDITIONS:
        file = _place_report(studio, edition, ending)
        if file.exists():
            return file
    raise InputError("There is no such report.")


def _begun_report(studio: Studio, edition: str) -> Job | None:
    key = studio.jobs.key_of(tasks.report, **_arguments_report(studio, edition))
    return studio.jobs.find(key)


def _place_report(studio: Studio, edition: str, ending: str = ".html") -> Path:
    """Next to the release, never in it: the owner's edition has statistics of the original."""
    release = studio.session.place(studio.session.now.release)
    return release.with_name(f"{release.name}-report-{edition}{ending}")


def _arguments_report(studio: Studio, edition: str) -> dict[str, Any]:
    now = studio.session.now
    release = studio.session.place(now.release)
    certificate = release / "certificate.json"
    if edition not in EDITIONS or not certificate.exists():
        raise InputError("Write a release first.")
    return {
        "table": table_of(studio),
        "release": str(release),
        "digest": hashlib.sha256(certificate.read_bytes()).hexdigest(),
        "to": str(_place_report(studio, edition)),
        "external": edition == "public",
        "name": now.name,
        "office": now.office,
    }


def _same_report(studio: Studio) -> SameWork:
    file, read = schema_words(studio)
    now = studio.session.now
    about = ["--name", now.name] if now.name else []
    about += ["--office", now.office] if now.office else []
    commands: list[tuple[str, ...]] = []
    code = "import pramana as pm\n"
    for edition, flags, given in (
        ("public", ("--external",), "external=True"),
        ("owner", ("--original", file, *read), f"original={source_code(studio)}"),
    ):
        code += (
            f"\nreport = pm.report({now.release!r}, {given}, name={now.name!r}, "
            f"office={now.office!r})\n"
        )
        for ending in (".html", ".pdf"):
            name = f"{now.release}-report-{edition}{ending}"
            commands.append(("pramana", "report", now.release, *flags, *about, "-o", name))
            code += f"report.save({name!r})\n"
    return SameWork(tuple(commands), code)


@PAGES.get("/code")
async def show_code(request: Request, studio: Studio) -> Response:
    """The files as they would be written, and the states of the session."""
    return page(
        request,
        "code.html",
        files=_files(studio),
        ready=bool(studio.session.now.target),
        states=studio.session.history(),
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


@PAGES.post("/code")
async def save_code(studio: Studio, form: Form) -> Response:
    """Save the files: all of them, or schema and plan for who is at another page."""
    session = studio.session
    files = _files(studio)
    names = ("schema.toml", "plan.toml") if form.get("here") else tuple(files)
    force = bool(form.get("force"))
    require_all_free([session.place(name) for name in names], force=force)
    for name in names:
        write_whole(session.place(name), files[name], force=force)
    session.notice = f"{', '.join(names[:-1])} and {names[-1]} are written."
    return goto(local_page(form.get("here"), "/code"))


@PAGES.post("/code/back")
async def go_to_state(studio: Studio, form: Form) -> Response:
    """To an earlier or later state."""
    session = studio.session
    session.go(form.place("at", len(session.history())))
    return goto("/code")
