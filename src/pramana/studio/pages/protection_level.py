"""Choose: every method and target side by side, and sliders that foresee what a target costs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pramana import api
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.charts import drawn
from pramana.studio.jobs import Job
from pramana.studio.pages.columns import require_schema, schema_words
from pramana.studio.pages.data import source_code, table_of
from pramana.studio.pages.planned_analyses import wanted_tables, wish_texts
from pramana.studio.view import (
    GLANCE,
    Entry,
    Form,
    SameWork,
    Studio,
    form_of,
    fragment,
    goto,
    nothing_new,
    number_in,
    page,
    part,
    studio_of,
    waiting,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ENTRIES: Final = (Entry("/choose", "Protection level", needs="schema"),)
CHANCE: Final = 20.0

AT_ONCE: Final = 0.35
"""Seconds that an answer of the sliders is waited for before its progress is shown."""


async def show(request: Request) -> Response:
    """What is tried, what came of it, and the sliders."""
    studio = studio_of(request)
    now = studio.session.now
    require_schema(now.schema)
    names = _aiming()
    chances = now.chances or (CHANCE,)
    return page(
        request,
        "protection_level.html",
        methods=[(name, api.METHODS[name].when) for name in names],
        ticked=now.tried or [own for own in names if api.METHODS[own].quick_keys is None],
        chances=", ".join(f"{k:.12g}" for k in chances),
        begins={"k": chances[0]},  # what is tried above is foreseen below
        running=bool(now.chances),
        wished=bool(now.chances) and any(kind != "table" for kind, _ in now.wishes),
        sliders=[letter for letter in api.cli_options() if letter.slider],
        words=target_words(now.target),
        same=_same(studio),
    )


async def start(request: Request) -> Response:
    """Say what to try."""
    session = studio_of(request).session
    form = await form_of(request)
    names = [name for name in _aiming() if name in form.all("method")]
    if not names:
        raise InputError("Tick at least one method.")
    numbers = tuple(sorted({_chance(text) for text in form.get("chances").split(",") if text}))
    if not 0 < len(numbers) <= 6:
        raise InputError("State one to six targets, such as 20, 100.")
    session.change("Tried methods", chances=numbers, tried=tuple(names))
    return goto("/choose")


async def tried(request: Request) -> Response:
    """Everything that was tried so far, and how far the rest is."""
    studio = studio_of(request)
    jobs = list(_jobs(studio))
    found = [own for own in (one.result or one.so_far for one in jobs) if own]
    for job in jobs:
        if job.condition in ("waiting", "running"):
            return await _so_far(request, job, found)
        if job.condition == "cancelled" and found:
            poll = "/choose/tried"
            sides = await _sides(found, whole=False)
            return fragment(request, "parts/comparison_stopped.html", job=job, poll=poll, **sides)
        unfinished = await waiting(request, job)
        if unfinished is not None:
            return unfinished
    return fragment(request, "parts/comparison_done.html", **await _sides(found, whole=True))


async def wished(request: Request) -> Response:
    """What each method that was tried loses of the means and models that will be asked."""
    studio = studio_of(request)
    now = studio.session.now
    if not now.chances:
        raise InputError("Try methods first.")
    job = studio.jobs.ask(
        tasks.wishes,
        patient=2,
        schema=now.schema,
        k=now.chances[0],
        methods=list(now.tried),
        asked=wish_texts(now.wishes),
        table=table_of(studio),
    )
    return await part(request, job, "parts/planned_losses.html")


async def _so_far(request: Request, job: Job, found: list[dict[str, Any]]) -> Response:
    await asyncio.to_thread(job.ended.wait, 0.06)
    poll = "/choose/tried"
    sides = await _sides(found, whole=False)
    return fragment(request, "parts/comparison_pending.html", job=job, poll=poll, **sides)


async def foresee(request: Request) -> Response:
    """What a target would promise and cost, answered beside whatever else is being done."""
    studio = studio_of(request)
    form = await form_of(request)
    job = studio.jobs.ask(
        tasks.foresee,
        lane="foresee",
        keep=False,
        quick=True,
        schema=studio.session.now.schema,
        method=form.choice("method", ("", *_aiming()), "There is no such method."),
        target=_target(form),
        table=table_of(studio),
    )
    return await _foreseen(request, job, AT_ONCE)


async def foreseen(request: Request) -> Response:
    """An answer of the sliders that took longer than a moment."""
    job = studio_of(request).jobs.find(request.path_params["key"])
    if job is None or job.condition == "cancelled":
        return fragment(request, "parts/refused.html", words="Move a slider again.", job=None)
    await asyncio.to_thread(job.ended.wait, GLANCE)
    if job.function is tasks.search and job.condition in ("waiting", "running"):
        return nothing_new()
    return await _foreseen(request, job, 0)


async def _foreseen(request: Request, job: Job, patience: float) -> Response:
    """What a target costs: at once by a rule of thumb where the plan itself is searched for."""
    await asyncio.to_thread(job.ended.wait, patience)
    about: dict[str, Any] = {"words": target_words(job.arguments["target"])}
    jobs = studio_of(request).jobs
    found = job
    if job.condition == "done" and not job.result["searched"]:
        found = jobs.ask(tasks.search, lane="search", keep=False, patient=1, **job.arguments)
    poll = f"/choose/foreseen/{found.key}"
    if found.condition in ("waiting", "running"):
        about |= {"around": _around(jobs.alike(found, "target"), found), "poll": poll}
        quick = jobs.find(jobs.key_of(tasks.foresee, **found.arguments))
        soon = quick.result if quick is not None and quick.condition == "done" else None
        return fragment(request, "parts/target_pending.html", job=found, soon=soon, **about)
    return await part(request, found, "parts/target_cost.html", poll=poll, **about)


def _around(known: list[Job], job: Job) -> list[tuple[str, str]]:
    """The nearest targets of the same kind that were searched for before, with what they cost.

    A stricter target never costs less, so that what is asked for lies between the two.
    """
    letter, value = next(iter(job.arguments["target"].items()))
    points = sorted((own.arguments["target"].get(letter, math.nan), own.key, own) for own in known)
    below = [own for at, _, own in points if at < value][-1:]
    above = [own for at, _, own in points if at > value][:1]
    return [
        (target_words(own.arguments["target"]), own.result["error"] or own.result["changes"])
        for own in (*below, *above)
    ]


async def choose(request: Request) -> Response:
    """Take a method with its target."""
    session = studio_of(request).session
    form = await form_of(request)
    method = form.choice("method", ("", *_aiming()), "There is no such method.")
    target = _of_chance(method, form) if form.get("chance") else _target(form)
    did = f"Chose {method or 'the usual method'}, {target_words(target)}"
    schema = session.now.schema
    if form.get("chance"):  # taken from the methods that were tried on the table
        stated = require_schema(schema)
        origin = api.Provenance.weakest(stated.origin, api.Provenance.TRIALS)
        schema = replace(stated, origin=origin).to_toml()
    session.change(did, schema=schema, method=method, target=target, acknowledged="")
    return goto("/protect")


def target_words(target: dict[str, float]) -> str:
    """A target as it is written."""
    return ", ".join(f"{name.replace('_', ' ')} = {value:.12g}" for name, value in target.items())


def _target(form: Form) -> dict[str, float]:
    """The number of the slider that is chosen, with what belongs to it."""
    chosen = form.get("letter")
    kinds = [[x for x in kind.cli_options if x.slider] for kind in api.GUARANTEES.values()]
    own = next((own for own in kinds if chosen in [x.field for x in own if x.required]), None)
    if own is None:
        raise InputError("Choose what is promised.")
    names = [letter.field for letter in own]
    found = {name: form.number(name) for name in names}
    if any(value is None for value in found.values()):
        raise InputError("State the number of the target.")
    return {name: float(value) for name, value in found.items() if value is not None}


def _of_chance(method: str, form: Form) -> dict[str, float]:
    """One in k as the guarantee of a method says it."""
    k = _chance(form.get("chance"))
    if not method:
        return {"k": k}
    kind = api.GUARANTEES[api.METHODS[method].aims[0]]
    letter = kind.cli_options[0]
    return {letter.field: getattr(kind.one_in(k), letter.entry)}


def _aiming() -> list[str]:
    """The methods that aim at a target."""
    return [name for name, method in api.METHODS.items() if method.aims]


def _chance(text: str) -> float:
    k = number_in(text, "Targets must be numbers, such as 20, 100.")
    if not 2 <= k <= 1e9:
        raise InputError("Targets must be at least 2: one in so many.")
    return k


def _jobs(studio: Studio) -> Iterator[Job]:
    now = studio.session.now
    tables = wanted_tables(require_schema(now.schema), now.wishes)
    for k in now.chances:
        yield studio.jobs.ask(
            tasks.advise,
            patient=2,
            schema=now.schema,
            tables=tables,
            k=k,
            methods=list(now.tried),
            asked=wish_texts(now.wishes),
            table=table_of(studio),
        )


async def _sides(found: list[dict[str, Any]], *, whole: bool) -> dict[str, Any]:
    """All that was tried in one list, the best first, and a chart of it."""
    rows = [{**one, "k": own["k"]} for own in found for one in own["methods"]]
    rows.sort(key=lambda row: not row["best"])  # what is recommended comes first
    best = "recommended" if whole else "best so far"
    points = tuple(
        (
            f"{row['method']} {row['target']}" if len(found) > 1 else row["method"],
            row["error"],
            row["exposure"],
            row["best"],
        )
        for row in rows
        if row["error"] is not None and row["exposure"] is not None
    )
    chances = tuple(own["chance"] for own in found)
    chart = await asyncio.to_thread(drawn, "drawn_methods", points, chances, best) if points else {}
    return {"found": found, "rows": rows, "best": best, "points": points, **chart}


def _same(studio: Studio) -> SameWork:
    file, told = schema_words(studio)
    now = studio.session.now
    chances = now.chances or (CHANCE,)
    asked = wish_texts(now.wishes)
    alone: tuple[str, ...] = ("--method", ",".join(now.tried)) if now.tried else ()
    alone += tuple(word for text in asked for word in ("--ask", text))
    commands = tuple(
        ("pramana", "advise", file, *told, "--schema", "schema.toml", "--k", f"{k:.12g}", *alone)
        for k in chances
    )
    tried = f", methods={list(now.tried)!r}" if now.tried else ""
    tried += f", asked={asked!r}" if asked else ""
    code = "\n".join(
        f'print(pm.advise({source_code(studio)}, "schema.toml", k={k:.12g}{tried}))'
        for k in chances
    )
    return SameWork(commands, f"import pramana as pm\n\n{code}")


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/choose", show),
    ("POST", "/choose/try", start),
    ("GET", "/choose/tried", tried),
    ("GET", "/choose/wished", wished),
    ("POST", "/choose/foresee", foresee),
    ("GET", "/choose/foreseen/{key}", foreseen),
    ("POST", "/choose", choose),
)
