"""Protect: what will be released as it is, acknowledged; then the work, its checks and attacks."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pramana import Schema, api
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.columns import column_labels, require_schema, schema_words
from pramana.studio.pages.data import source_code, table_of
from pramana.studio.pages.planned_analyses import wish_texts
from pramana.studio.pages.protection_level import target_words
from pramana.studio.view import (
    GLANCE,
    Entry,
    SameWork,
    Studio,
    form_of,
    fragment,
    goto,
    page,
    part,
    studio_of,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pramana.api import PlanFile

ENTRIES: Final = (Entry("/protect", "Review and publish", needs="schema"),)
COPIES: Final = {"csv": "CSV", "dta": "Stata", "sav": "SPSS"}


async def show(request: Request) -> Response:
    """What is about to be released, and what has been."""
    studio = studio_of(request)
    now = studio.session.now
    schema = require_schema(now.schema)
    job = _made(studio) if _acknowledged(studio) else None
    return page(
        request,
        "publish.html",
        schema=schema,
        words=target_words(now.target),
        formats=COPIES,
        labels=column_labels(studio),
        begun=job is not None,
        same=same_release(studio),
    )


async def planned(request: Request) -> Response:
    """What will be done, promised and expected."""
    studio = studio_of(request)
    now = studio.session.now
    if not now.target:
        raise InputError("Choose a method and a target first.")
    job = studio.jobs.ask(tasks.plan, **_asked(studio))
    return await part(request, job, "parts/plan.html")


async def foretold(request: Request) -> Response:
    """What its tables would be off by on these data, and what would do better, as it is found."""
    studio = studio_of(request)
    if not studio.session.now.target:
        raise InputError("Choose a method and a target first.")
    job = studio.jobs.ask(tasks.beforehand, patient=1, **_asked(studio))
    await asyncio.to_thread(job.ended.wait, GLANCE)
    said = (job.result if job.condition == "done" else job.so_far) or []
    return fragment(request, "parts/plan_preview.html", job=job, said=said, poll=request.url.path)


async def start(request: Request) -> Response:
    """Begin, if everything that is released as it is was acknowledged."""
    studio = studio_of(request)
    session = studio.session
    form = await form_of(request)
    schema = require_schema(session.now.schema)
    if not session.now.target:
        raise InputError("Choose a method and a target first.")
    if form.get("acknowledged") != "yes":
        raise InputError("Acknowledge first what is released as it is.")
    place = session.target(form.get("release") or "release")
    name = str(place.relative_to(session.folder))  # what is written beside it never lies in it
    copies = tuple(own for own in COPIES if own in form.all("copy"))
    unchanged = [column.name for column in schema.released_as_is]
    accepted = tuple(column for column in unchanged if column in form.all("accept"))
    _begin(studio, release=name, copies=copies, accepted=accepted, acknowledged=_digest(schema))
    return goto("/protect#done")


async def without(request: Request) -> Response:
    """The release that was begun, without a copy that cannot be written."""
    studio = studio_of(request)
    form = await form_of(request)
    if not _acknowledged(studio):
        raise InputError("Acknowledge first what is released as it is.")
    copies = tuple(own for own in studio.session.now.copies if own != form.get("copy"))
    _begin(studio, copies=copies)
    return goto("/protect#done")


def _begin(studio: Studio, **chosen: Any) -> None:
    """Write a release, or find the one that was written; nothing else that is there is touched."""
    before = studio.jobs.find(studio.jobs.key_of(tasks.protect, **_arguments(studio, **chosen)))
    place = studio.session.place(chosen.get("release", studio.session.now.release))
    if before is None or before.condition != "done":
        api.require_free(place, force=False)
    name = place.relative_to(studio.session.folder)
    studio.session.change(f"Protected into {name}", **chosen)
    if before is not None and before.condition in ("cancelled", "refused"):
        studio.jobs.again(before.key)
    elif before is None or (before.condition == "done" and not place.exists()):
        studio.jobs.forget(tasks.protect, **_arguments(studio))
        studio.jobs.ask(tasks.protect, **_arguments(studio))


async def made(request: Request) -> Response:
    """How far it is, or what came of it."""
    studio = studio_of(request)
    job = _made(studio)
    if job is None:
        raise InputError("Nothing has been begun.")
    return await part(request, job, "parts/release.html")


async def checked(request: Request) -> Response:
    """What checks found."""
    studio = studio_of(request)
    job = studio.jobs.ask(tasks.check, **_written(studio))
    return await part(request, job, "parts/attack_results.html")


async def attacked(request: Request) -> Response:
    """What attacks found."""
    studio = studio_of(request)
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
    job = studio.jobs.find(_key(studio))
    if job is not None:
        return job
    place = studio.session.place(studio.session.now.release)
    return studio.jobs.recalled(tasks.protect, **_arguments(studio)) if place.exists() else None


def _acknowledged(studio: Studio) -> bool:
    now = studio.session.now
    return bool(now.target) and now.acknowledged == _digest(require_schema(now.schema))


def _key(studio: Studio) -> str:
    return studio.jobs.key_of(tasks.protect, **_arguments(studio))


def _asked(studio: Studio) -> dict[str, Any]:
    now = studio.session.now
    return {
        "schema": now.schema,
        "method": now.method,
        "target": now.target,
        "table": table_of(studio),
    }


def _arguments(studio: Studio, **chosen: Any) -> dict[str, Any]:
    now = replace(studio.session.now, **chosen)
    to = str(studio.session.place(now.release))
    return {
        **_asked(studio), "to": to, "copies": list(now.copies), "accept_risk": list(now.accepted)
    }  # fmt: skip


def _digest(schema: Schema) -> str:
    """Of what is released as it is: another list must be acknowledged anew."""
    told = [f"{own.name}\0{own.role}\0{own.recoding}" for own in schema.released_as_is]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def plan_file(studio: Studio) -> PlanFile:
    """What was decided, as the command line takes it."""
    now = studio.session.now
    asked = tuple(wish_texts(now.wishes))
    return api.PlanFile("schema.toml", now.target, now.method, {}, asked, now.copies)


def same_by_plan(studio: Studio) -> SameWork:
    """The same with a plan file in place of options."""
    file, told = schema_words(studio)
    first, *rest = same_release(studio).commands
    to = first[first.index("-o") :]
    short = ("pramana", "protect", file, *told, "--plan", "plan.toml", *to)
    return SameWork((short, *rest), same_release(studio).python)


def same_release(studio: Studio) -> SameWork:
    """The commands and the Python that make the release."""
    file, told = schema_words(studio)
    now = studio.session.now
    flags: list[str] = []
    for name, value in now.target.items():
        flags += [f"--{name.replace('_', '-')}", f"{value:.12g}"]
    how = ["--method", now.method] if now.method else []
    also = [{"csv": "--csv", "dta": "--stata", "sav": "--spss"}[own] for own in now.copies]
    words = ("pramana", "protect", file, *told, "--schema", "schema.toml", *flags, *how, *also)
    target = ", ".join(f"{name!r}: {value:.12g}" for name, value in now.target.items())
    aims = f", aims=api.METHODS[{now.method!r}].aims" if now.method else ""
    code = (
        "import pramana as pm\nfrom pramana import api\n\n"
        'schema = pm.Schema.load("schema.toml")\n'
        f"asked = api.guarantees_from_options({{{target}}}{aims}, schema=schema)\n"
        f"truth = {source_code(studio)}\n"
        f"plan = pm.design(schema, *asked, data=truth, method={now.method or None!r})\n"
        f"pm.protect(truth, plan, to={now.release!r}, copies={list(now.copies)!r})\n"
        f"print(pm.verify({now.release!r}, original=truth))"
    )
    return SameWork(
        (
            (*words, "-o", now.release),
            ("pramana", "verify", now.release, "--original", file, *told),
            ("pramana", "audit", now.release, "--original", file, *told),
        ),
        code,
    )


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/protect", show),
    ("GET", "/protect/plan", planned),
    ("GET", "/protect/foretold", foretold),
    ("POST", "/protect", start),
    ("POST", "/protect/without", without),
    ("GET", "/protect/made", made),
    ("GET", "/protect/checked", checked),
    ("GET", "/protect/attacked", attacked),
)
