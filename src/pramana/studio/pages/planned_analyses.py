"""Planned analyses, and the protection level: methods compared on them, and targets by sliders."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from pramana import Schema, api
from pramana.base.translation import gettext, noop
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.columns import column_labels, described, require_schema, schema_words
from pramana.studio.pages.data import source_code, table_of
from pramana.studio.session import Choices
from pramana.studio.view import (
    GLANCE,
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    drawn,
    fragment,
    goto,
    nothing_new,
    number_in,
    page,
    part,
    place_in,
    studio_of,
    waiting,
)

PAGES: Final = Pages(
    Entry("/asked", "Planned analyses", needs="schema"),
    Entry("/choose", "Protection level", needs="schema"),
)
MOST_MODEL: Final = 4
TEXT: Final = "text"
Wish: TypeAlias = tuple[str, tuple[str, ...]]
"""A planned analysis: its kind (table, mean, model) and its columns."""


@PAGES.get("/asked")
async def show(request: Request, studio: Studio) -> Response:
    """The planned analyses, and lists to add more from."""
    schema = require_schema(studio.session.now.schema)
    labels, kinds = column_labels(studio), _kinds(studio)
    keys = [column.name for column in schema.randomised]
    numbers = [
        column.name
        for column in schema.columns
        if not column.role.traits.known and kinds.get(column.name) != TEXT
    ]
    others = [column.name for column in schema.released_as_is if column.role.traits.analysed]
    numeric = [name for name in keys if kinds.get(name) in ("integer", "number")]

    def options(names: Iterable[str]) -> list[tuple[int, str]]:
        return [
            (schema.names.index(name), f"{name} · {labels[name]}" if name in labels else name)
            for name in dict.fromkeys(names)
        ]

    outcomes = [*numbers, *keys, *others]
    return page(
        request,
        "planned_analyses.html",
        kinds=(
            ("table", noop("Table"), noop("of"), options(keys), options([*keys, *others]), 3),
            (
                "mean",
                noop("Mean"),
                noop("of"),
                options([*numbers, *numeric]),
                options([*keys, *others]),
                2,
            ),
            (
                "model",
                noop("Model"),
                noop("of"),
                options(outcomes),
                options([*keys, *outcomes]),
                MOST_MODEL,
            ),
        ),
        wishes=[(*wish, _rests_on(keys, wish[1])) for wish in studio.session.now.wishes],
        labels=labels,
        same=_same(studio),
    )


@PAGES.post("/asked/add")
async def add(studio: Studio, form: Form) -> Response:
    """A table, a mean by groups or a model; or all tables of one or two keys."""
    schema = require_schema(studio.session.now.schema)
    kind, known = form.get("kind"), studio.session.now.wishes
    if kind in ("singles", "pairs"):
        keys = [column.name for column in schema.randomised]
        tables = itertools.combinations(keys, 1 if kind == "singles" else 2)
        _keep(studio, "Planned tables", [*known, *(("table", names) for names in tables)])
        return goto("/asked")
    places = [place for place in [form.get("of"), *form.all("by")] if place]
    names = tuple(schema.names[place_in(place, len(schema.names))] for place in places)
    if kind not in ("mean", "model", "table") or len(names) < (1 if kind == "table" else 2):
        raise InputError("Choose the variables of the analysis.")
    if len(set(names)) < len(names) or len(names) > MOST_MODEL + 1:
        raise InputError(
            "Choose different variables, and at most {most_model} to group by.",
            most_model=MOST_MODEL,
        )
    if kind == "mean" and _kinds(studio).get(names[0]) == TEXT:
        raise InputError(
            "A mean is of numbers, and '{names}' is text. Ask for a table of it.", names=names[0]
        )
    did = {"mean": "Planned a mean", "model": "Planned a model", "table": "Planned a table"}
    _keep(studio, did[kind], [*known, (kind, names)])
    return goto("/asked")


@PAGES.post("/asked/drop")
async def drop(studio: Studio, form: Form) -> Response:
    """One planned analysis fewer, or none."""
    wishes = list(studio.session.now.wishes)
    if form.get("all"):
        wishes = []
    else:
        del wishes[form.place("wish", len(wishes))]
    _keep(studio, "Removed a planned analysis", wishes)
    return goto("/asked")


def wanted_tables(schema: Schema, wishes: Iterable[Wish]) -> list[list[str]]:
    """The tables of keys behind all planned analyses: a mean by age depends on the table of age."""
    keys = {column.name for column in schema.randomised}
    tables = [tuple(name for name in names if name in keys) for _, names in wishes]
    return [list(table) for table in dict.fromkeys(tables) if table]


def _kinds(studio: Studio) -> dict[str, str]:
    """What the columns hold, as far as that was looked at."""
    looked = described(studio).result
    return {row["column"]: row["kind"] for row in looked["columns"]} if looked else {}


def _rests_on(keys: list[str], names: tuple[str, ...]) -> str:
    """Which table of keys decides the error, in words."""
    among = [name for name in names if name in keys]
    if not among:
        return gettext("of columns released unchanged")
    return gettext("depends on {columns}", columns=" × ".join(among))


def _keep(studio: Studio, did: str, wishes: Iterable[Wish]) -> None:
    schema = require_schema(studio.session.now.schema)
    distinct = tuple(dict.fromkeys(wishes))
    tables = tuple(tuple(table) for table in wanted_tables(schema, distinct))
    text = replace(schema, tables=tables).to_toml()
    studio.session.change(did, wishes=distinct, schema=text)


def _same(studio: Studio) -> SameWork:
    file, read = schema_words(studio)
    schema = require_schema(studio.session.now.schema)
    asked = wish_texts(studio.session.now.wishes)
    known = (file, *read, "--schema", "schema.toml", "--k", "20")
    commands = [("pramana", "design", *known)]
    tables = ", ".join(repr("*".join(table)) for table in schema.tables)
    code = (
        'import pramana as pm\n\nschema = pm.Schema.load("schema.toml")'
        f"{f'  # tables = [{tables}]' if tables else ''}\n"
        f"print(pm.design(schema, pm.PkAnonymity(k=20), data={source_code(studio)}))"
    )
    if asked:
        flags = (word for text in asked for word in ("--ask", text))
        commands.append(("pramana", "compare", *known, *flags))
        code += (
            f'\nprint(pm.compare({source_code(studio)}, schema="schema.toml", k=[20], '
            f"asked={asked!r}))"
        )
    return SameWork(tuple(commands), code)


def wish_texts(wishes: Iterable[Wish]) -> list[str]:
    """Wishes as commands write them."""
    return [_text(kind, names) for kind, names in wishes]


def _text(kind: str, names: tuple[str, ...]) -> str:
    if kind == "table":
        return "*".join(names)
    of, *by = names
    return f"{of} by {'*'.join(by)}" if kind == "mean" else f"{of} ~ {' + '.join(by)}"


CHANCE: Final = 20.0
ELSEWHERE: Final = ("tables", "max-error", "retention")
"""Options that state the target, or the planned analyses."""


AT_ONCE: Final = 0.35
"""Seconds that an answer of the sliders is waited for before its progress is shown."""


@PAGES.get("/choose")
async def show_level(request: Request, studio: Studio) -> Response:
    """What is tried, what came of it, and the sliders."""
    now = studio.session.now
    require_schema(now.schema)
    names = _aiming()
    chances = now.chances or (CHANCE,)
    return page(
        request,
        "protection_level.html",
        methods=[(name, api.METHODS[name].when) for name in names],
        ticked=now.tried or [name for name in names if api.METHODS[name].quick_keys is None],
        chances=", ".join(f"{k:.12g}" for k in chances),
        begins={"k": chances[0]},  # what is tried above is foreseen below
        running=bool(now.chances),
        planned=len(now.wishes),
        sliders=[letter for letter in api.cli_options() if letter.slider],
        words=decision_words(now),
        same=_same_level(studio),
    )


@PAGES.post("/choose/try")
async def start(studio: Studio, form: Form) -> Response:
    """Say what to try."""
    session = studio.session
    names = [name for name in _aiming() if name in form.all("method")]
    if not names:
        raise InputError("Tick at least one method.")
    numbers = tuple(sorted({_chance(text) for text in form.get("chances").split(",") if text}))
    if not 0 < len(numbers) <= 6:
        raise InputError("State one to six targets, such as 20, 100.")
    session.change("Tried methods", chances=numbers, tried=tuple(names))
    return goto("/choose")


@PAGES.get("/choose/tried")
async def tried(request: Request, studio: Studio) -> Response:
    """Everything that was tried so far, and how far the rest is."""
    jobs = list(_jobs(studio))
    results = [result for result in (job.result or job.so_far for job in jobs) if result]
    for job in jobs:
        if job.condition in ("waiting", "running"):
            return await _so_far(request, job, results)
        if job.condition == "cancelled" and results:
            poll = "/choose/tried"
            sides = await _sides(results, whole=False)
            return fragment(request, "parts/comparison_stopped.html", job=job, poll=poll, **sides)
        unfinished = await waiting(request, job)
        if unfinished is not None:
            return unfinished
    return fragment(request, "parts/comparison_done.html", **await _sides(results, whole=True))


async def _so_far(request: Request, job: Job, results: list[dict[str, Any]]) -> Response:
    await asyncio.to_thread(job.ended.wait, 0.06)
    poll = "/choose/tried"
    sides = await _sides(results, whole=False)
    return fragment(request, "parts/comparison_pending.html", job=job, poll=poll, **sides)


@PAGES.post("/choose/foresee")
async def foresee(request: Request, studio: Studio, form: Form) -> Response:
    """What a target would guarantee and cost, computed at the same time as long tasks."""
    job = studio.jobs.ask(
        tasks.foresee,
        lane="foresee",
        keep=False,
        quick=True,
        schema=studio.session.now.schema,
        method=form.choice("method", ("", *_aiming()), "There is no such method."),
        options=_options(form),
        target=_target(form),
        table=table_of(studio),
    )
    return await _foreseen(request, job, AT_ONCE)


@PAGES.get("/choose/foreseen/{key}")
async def foreseen(request: Request, studio: Studio) -> Response:
    """An answer of the sliders that took longer than a moment."""
    job = studio.jobs.find(request.path_params["key"])
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
    answer = job
    if job.condition == "done" and not job.result["searched"]:
        answer = jobs.ask(tasks.search, lane="search", keep=False, patient=1, **job.arguments)
    poll = f"/choose/foreseen/{answer.key}"
    if answer.condition in ("waiting", "running"):
        about["poll"] = poll
        quick = jobs.find(jobs.key_of(tasks.foresee, **answer.arguments))
        soon = quick.result if quick is not None and quick.condition == "done" else None
        return fragment(request, "parts/target_pending.html", job=answer, soon=soon, **about)
    return await part(request, answer, "parts/target_cost.html", poll=poll, **about)


@PAGES.post("/choose")
async def choose(studio: Studio, form: Form) -> Response:
    """Take a method with its target."""
    session = studio.session
    method = form.choice("method", ("", *_aiming()), "There is no such method.")
    target = _of_chance(method, form) if form.get("chance") else _target(form)
    options = _options(form)
    usual = gettext("the usual method")
    did = gettext("Chose {method}, {target}", method=method or usual, target=target_words(target))
    schema = session.now.schema
    if form.get("chance"):  # taken from the methods that were tried on the table
        stated = require_schema(schema)
        origin = api.Provenance.weakest(stated.origin, api.Provenance.TRIALS)
        schema = replace(stated, origin=origin).to_toml()
    session.change(
        did, schema=schema, method=method, options=options, target=target, acknowledged=""
    )
    return goto("/protect")


@PAGES.get("/choose/options")
async def show_options(request: Request, studio: Studio) -> Response:
    """The options of the method that is chosen in the form."""
    method, now = request.query_params.get("method", ""), studio.session.now
    known = offered_options(method) if method in _aiming() else ()
    given = now.options if method == now.method else {}
    names = [column.name for column in require_schema(now.schema).released]
    return fragment(request, "parts/options.html", options=known, given=given, names=names)


def offered_options(method: str) -> list[tuple[str, Any]]:
    """The options that go with a target, by their flags without dashes."""
    options = ((item.flag[2:], item) for item in api.options_of(api.METHODS[method]))
    return [(flag, item) for flag, item in options if flag not in ELSEWHERE]


def _options(form: Form) -> dict[str, Any]:
    """The options of the method that the form states, without those that stay as they are."""
    method, given = form.get("method"), dict[str, Any]()
    for flag, item in offered_options(method) if method else ():
        text = form.get(f"option-{flag}")
        value: Any = text
        if item.kind is bool:
            value = bool(text)
        elif text and item.kind in (int, float):
            value = number_in(text, gettext("{name} must be a number.", name=flag))
        elif text and item.choices:
            value = form.choice(
                f"option-{flag}", item.choices, gettext("There is no such {name}.", name=flag)
            )
        if text and value != item.default:
            given[flag] = value
    return given


def decision_words(now: Choices) -> str:
    """The target and the options as they are written."""
    options = [
        f"{flag} {'' if value is True else value}".strip() for flag, value in now.options.items()
    ]
    return ", ".join([target_words(now.target), *options]) if now.target else ""


def target_words(target: dict[str, float]) -> str:
    """A target as it is written."""
    return ", ".join(f"{name.replace('_', ' ')} = {value:.12g}" for name, value in target.items())


def _target(form: Form) -> dict[str, float]:
    """The number of the slider that is chosen, with what belongs to it."""
    chosen = form.get("letter")
    kinds = [[x for x in kind.cli_options if x.slider] for kind in api.GUARANTEES.values()]
    options = next(
        (kind for kind in kinds if chosen in [x.field for x in kind if x.required]), None
    )
    if options is None:
        raise InputError("Choose a guarantee.")
    names = [letter.field for letter in options]
    target = {name: form.number(name) for name in names}
    if any(value is None for value in target.values()):
        raise InputError("Give the number of the target.")
    return {name: float(value) for name, value in target.items() if value is not None}


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
        raise InputError("Targets must be at least 2, for a probability of one in two.")
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


async def _sides(results: list[dict[str, Any]], *, whole: bool) -> dict[str, Any]:
    """All that was tried in one list, the best first, and a chart of it."""
    rows = [{**one, "k": result["k"]} for result in results for one in result["methods"]]
    # What is recommended comes first, then what answers everything.
    rows.sort(key=lambda row: (not row["best"], row["error"] is None, row["error"] or 0))
    best = noop("recommended") if whole else noop("best so far")
    points = tuple(
        (
            f"{row['method']} {row['target']}" if len(results) > 1 else row["method"],
            row["error"],
            row["exposure"],
            row["best"],
        )
        for row in rows
        if row["error"] is not None and row["exposure"] is not None
    )
    chances = tuple(result["chance"] for result in results)
    chart = {}
    if len(points) > 1:  # one point compares nothing
        planned = any(row["errors"] for row in rows)
        chart = await asyncio.to_thread(drawn, "drawn_methods", points, chances, best, planned)
    return {"found": results, "rows": rows, "best": best, "points": points, **chart}


def _same_level(studio: Studio) -> SameWork:
    file, read = schema_words(studio)
    now = studio.session.now
    chances = now.chances or (CHANCE,)
    asked = wish_texts(now.wishes)
    alone: tuple[str, ...] = ("--method", ",".join(now.tried)) if now.tried else ()
    alone += tuple(word for text in asked for word in ("--ask", text))
    commands = tuple(
        ("pramana", "advise", file, *read, "--schema", "schema.toml", "--k", f"{k:.12g}", *alone)
        for k in chances
    )
    tried = f", methods={list(now.tried)!r}" if now.tried else ""
    tried += f", asked={asked!r}" if asked else ""
    code = "\n".join(
        f'print(pm.advise({source_code(studio)}, "schema.toml", k={k:.12g}{tried}))'
        for k in chances
    )
    return SameWork(commands, f"import pramana as pm\n\n{code}")
