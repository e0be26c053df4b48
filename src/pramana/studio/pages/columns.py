"""Columns: what each is, how it is recoded, and how many people stand out by the keys.

Re-identification risk: by which keys, as a chart, and how far each recoding would lower it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from pramana import Bins, Column, Impossible, Recoding, Role, Schema, api
from pramana.errors import InputError, PramanaError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.data import file_words, read_words, source_code, table_of
from pramana.studio.schema_form import (
    HOUSEHOLD,
    MISSING,
    ORIGINS,
    ROLES,
    changed_column,
    entries_of,
    role_named,
    role_of,
)
from pramana.studio.view import (
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    drawn,
    fragment,
    goto,
    nothing_new,
    own_page,
    page,
    part,
    place_in,
    schema_of,
    studio_of,
    waiting,
)

PAGES: Final = Pages(
    Entry("/columns", "Variables", needs="file"),
    Entry("/risk", "Re-identification risk", needs="schema"),
)
MOST_LOOKED: Final = 20_000
PATIENCE: Final = 1.5
"""Seconds that a live count is waited for before its progress is shown."""


@PAGES.get("/columns")
async def show(request: Request, studio: Studio) -> Response:
    """All columns; what is proposed comes as a part of the page."""
    _ = studio.session.table  # a file that is gone is told here
    return page(request, "columns.html", same=_same(studio), schemas=_files(studio))


@PAGES.get("/columns/list")
async def listed(request: Request, studio: Studio) -> Response:
    """A row a column, once it has been looked at."""
    session = studio.session
    looked = described(studio)
    unfinished = await waiting(request, looked)
    if unfinished is not None:
        return unfinished
    _propose(studio, looked)
    job = _shapes(studio)
    unfinished = await waiting(request, job)
    if unfinished is not None:
        return unfinished
    whole = job.result["completed"]
    if whole:  # domains that the data had to tell become part of the schema; its bars are the same
        studio.jobs.also(job, job.result | {"completed": ""}, schema=whole)
        session.settle(schema=whole)
    return await part(
        request,
        job,
        "parts/columns.html",
        schema=schema_of(session.now.schema),
        profiles={one["column"]: one for one in looked.result["columns"]},
        roles=ROLES,
        role_of=role_of,
    )


@PAGES.post("/columns/roles")
async def roles(request: Request, studio: Studio, form: Form) -> Response:
    """Save what the columns are, as soon as one is changed, and count who is unique then."""
    before = require_schema(studio.session.now.schema)
    after = _with_roles(before, form)
    studio.session.change("Changed what columns are", schema=after.to_toml(), acknowledged="")
    if not request.headers.get("hx-request"):
        return goto(own_page(form.get("next"), "/columns"))
    answer = await _counted(request, studio, {"then": after, "now": before})
    answer.headers["HX-Trigger"] = json.dumps({"saved": studio.session.number})
    return answer


def _with_roles(schema: Schema, form: Form) -> Schema:
    asked = [form.get(f"role-{at}", role_of(schema, own)) for at, own in enumerate(schema.columns)]
    if asked.count(HOUSEHOLD) > 1:
        raise InputError("One column at most can number the households.")
    columns = tuple(
        column if role == role_of(schema, column) else _in_role(column, role_named(role))
        for column, role in zip(schema.columns, asked, strict=True)
    )
    gone = {column.name for column in columns if not column.randomised}
    known = {column.name: column.role for column in columns}
    return replace(
        schema,
        columns=columns,
        impossible=tuple(rule for rule in schema.impossible if not gone & set(rule.columns)),
        strata=tuple(
            own for own in schema.strata if known[own] is not Role.IDENTIFIER and own in gone
        ),
        choices=tuple(choice for choice in schema.choices if not gone & set(choice)),
        tables=tuple(table for table in schema.tables if not gone & set(table)),
        household=schema.names[asked.index(HOUSEHOLD)] if HOUSEHOLD in asked else None,
    )


def _in_role(column: Column, role: Role) -> Column:
    """The column in another role; what it no longer needs goes."""
    if role is Role.IDENTIFIER:
        return Column(column.name, role)
    if column.role is Role.WEIGHT:  # rounded and cut as a weight
        kept = Recoding(missing_codes=column.recoding.missing_codes)
    else:
        kept = replace(column.recoding, noise=None) if column.recoding else Recoding()
    domain = column.domain if role in (Role.KEY, Role.SENSITIVE) else None
    return replace(column, role=role, domain=domain, recoding=kept, exempt=(), randomise=None)


@PAGES.get("/columns/{place}")
async def one(request: Request, studio: Studio) -> Response:
    """The form of one column."""
    looked = described(studio)
    _propose(studio, looked)
    schema, place = _column_at(request)
    column = schema.columns[place]
    profiles = looked.result["columns"] if looked.condition == "done" else []
    profile = next((profile for profile in profiles if profile["column"] == column.name), None)
    return page(
        request,
        "column.html",
        place=place,
        column=column,
        profile=profile,
        own=entries_of(column),
        role=role_of(schema, column),
        texts=_texts(looked, column.name),
        roles=ROLES,
        missing=MISSING,
        origins=ORIGINS,
        total=len(schema.columns),
        same=_same(studio),
    )


@PAGES.get("/columns/{place}/shape")
async def shape(request: Request, studio: Studio) -> Response:
    """The bars of one column, as it is saved."""
    schema, place = _column_at(request)
    job = _shapes(studio)
    return await part(request, job, "parts/values.html", name=schema.columns[place].name)


@PAGES.get("/columns/{place}/drawn")
async def shape_drawn(request: Request, studio: Studio) -> Response:
    """The bars of one column as a small chart."""
    schema, place = _column_at(request)
    job = _shapes(studio)
    name = schema.columns[place].name
    if job.condition in ("waiting", "running"):
        return fragment(request, "parts/chart_pending.html", place=place)
    if job.condition != "done" or name not in job.result["shapes"]:
        return nothing_new()
    bars = tuple(tuple(own) for own in job.result["shapes"][name]["bars"])
    identity = f"shape-{place}"
    chart = await asyncio.to_thread(drawn, "drawn_shape", name, bars, identity=identity)
    return fragment(request, "parts/chart.html", **chart)


@PAGES.post("/columns/{place}/count")
async def count_one(request: Request, studio: Studio, form: Form) -> Response:
    """How many people would stand out if the form were saved; beside now, and without recoding."""
    schema, place = _column_at(request)
    column = schema.columns[place]
    then = _with_column(schema, changed_column(column, form), form.get("role"))
    asked = {"then": then, "now": schema}
    if column.randomised and (column.recoding or isinstance(column.domain, Bins)):
        bare = Column(column.name, column.role)  # bins and categories may be of what was recoded
        asked["bare"] = _with_column(schema, bare, str(column.role))
    return await _counted(request, studio, asked)


@PAGES.post("/columns/{place}")
async def save_one(request: Request, studio: Studio, form: Form) -> Response:
    """Take the form of a column."""
    schema, place = _column_at(request)
    column = schema.columns[place]
    try:
        new = changed_column(column, form)
        changed = _with_column(schema, new, form.get("role"))
    except ValueError as error:
        raise InputError(str(error)) from None
    studio.session.change(f"Changed column {place + 1}", schema=changed.to_toml(), acknowledged="")
    studio.session.notice = "Saved."
    return goto(own_page(form.get("next"), f"/columns/{place}"))


@PAGES.post("/columns/{place}/coarser")
async def coarsen_one(request: Request, studio: Studio, form: Form) -> Response:
    """A number rounded and cut at the top, as a refusal has proposed."""
    schema, place = _column_at(request)
    column = schema.columns[place]
    own = replace(column.recoding, round=form.number("round"), top=form.number("top"))
    origin = api.Provenance.weakest(column.origin, api.Provenance.READ_OFF)
    changed = schema.replace_columns([replace(column, recoding=own, origin=origin)])
    did = f"Rounded and cut column {place + 1}"
    studio.session.change(did, schema=changed.to_toml(), acknowledged="")
    studio.session.notice = f"'{column.name}' is rounded and cut at the top. Undo takes it back."
    return goto(own_page(form.get("here"), f"/columns/{place}"))


@PAGES.post("/columns/{place}/reset")
async def reset_one(request: Request, studio: Studio) -> Response:
    """A column as it was proposed."""
    schema, place = _column_at(request)
    looked = described(studio)
    if looked.condition != "done":
        raise InputError("The columns are still being looked at.")
    first = schema_of(looked.result["schema"])
    proposed = first.column(schema.columns[place].name)
    changed = _with_column(schema, proposed, role_of(first, proposed))
    studio.session.change(f"Took column {place + 1} as proposed", schema=changed.to_toml())
    return goto(f"/columns/{place}")


@PAGES.get("/columns/rules")
async def rules(request: Request, studio: Studio) -> Response:
    """Combinations that cannot exist: two columns, then their values."""
    schema = require_schema(studio.session.now.schema)
    pairs = [schema.names.index(own.name) for own in schema.randomised if own.domain is not None]
    chosen = []
    for name in ("a", "b"):
        text = request.query_params.get(name, "")
        chosen.append(next((place for place in pairs if text == str(place)), None))
    both = None not in chosen and chosen[0] != chosen[1]
    return page(
        request,
        "impossible_combinations.html",
        schema=schema,
        places=pairs,
        texts={name: _texts(described(studio), name) for name in schema.names},
        labels=column_labels(studio),
        chosen=chosen,
        both=both,
        same=_same(studio),
    )


@PAGES.post("/columns/rules/add")
async def add_rule(studio: Studio, form: Form) -> Response:
    """One more combination that cannot exist."""
    session = studio.session
    schema = require_schema(session.now.schema)
    cells = {}
    for name in ("a", "b"):
        column = schema.columns[form.place(name, len(schema.columns))]
        labels = column.labels
        cells[column.name] = [labels[place_in(at, len(labels))] for at in form.all(f"value-{name}")]
    rule = Impossible.of(cells)
    session.change(
        "Stated an impossible combination",
        schema=replace(schema, impossible=(*schema.impossible, rule)).to_toml(),
    )
    return goto("/columns/rules")


@PAGES.post("/columns/rules/drop")
async def drop_rule(studio: Studio, form: Form) -> Response:
    """One fewer."""
    session = studio.session
    schema = require_schema(session.now.schema)
    place = form.place("rule", len(schema.impossible))
    left = tuple(rule for at, rule in enumerate(schema.impossible) if at != place)
    session.change("Took a combination back", schema=replace(schema, impossible=left).to_toml())
    return goto("/columns/rules")


@PAGES.post("/columns/use")
async def use_file(studio: Studio, form: Form) -> Response:
    """Take a schema file of the folder."""
    session = studio.session
    schema = Schema.load(session.place(form.get("schema")))
    session.change(
        f"Took the schema {form.get('schema')}", schema=schema.to_toml(), acknowledged=""
    )
    return goto("/columns")


@PAGES.post("/columns/save")
async def save_file(studio: Studio, form: Form) -> Response:
    """Write the schema into the folder, where the command line finds it."""
    session = studio.session
    schema = require_schema(session.now.schema)
    name = form.get("name") or "schema.toml"
    if not name.endswith(".toml"):
        raise InputError("The name of a schema file must end in .toml.")
    schema.save(session.target(name), force=bool(form.get("force")))
    session.notice = f"{name} is written."
    return goto("/columns")


# -- what other pages use too ----------------------------------------------------------------------


def described(studio: Studio) -> Job:
    """The job that looks at the columns."""
    return studio.jobs.ask(tasks.describe, table=table_of(studio))


def column_labels(studio: Studio) -> dict[str, str]:
    """What the file calls its columns, as far as that was looked at."""
    looked = described(studio).result
    rows = looked["columns"] if looked else ()
    return {row["column"]: row["label"] for row in rows if row["label"]}


def require_schema(toml: str) -> Schema:
    """The schema, or what to do to get one."""
    if not toml:
        raise InputError("Say first what each column is.")
    return schema_of(toml)


def schema_words(studio: Studio) -> tuple[str, tuple[str, ...]]:
    """The file as commands name it, and how it is read."""
    return file_words(studio), read_words(studio)


def _propose(studio: Studio, looked: Job) -> None:
    """What the columns seem to be is the schema where none is stated yet."""
    if not studio.session.now.schema and looked.condition == "done":
        studio.session.settle(schema=looked.result["schema"])


def _shapes(studio: Studio) -> Job:
    return studio.jobs.ask(tasks.shapes, schema=studio.session.now.schema, table=table_of(studio))


async def _counted(request: Request, studio: Studio, schemas: dict[str, Schema]) -> Response:
    texts = {name: own.to_toml() for name, own in schemas.items()}
    about: dict[str, Any] = {"schemas": texts, "table": table_of(studio)}
    job = studio.jobs.ask(tasks.standing, lane="count", keep=False, quick=True, **about)
    poll = f"/columns/counted/{job.key}"
    return await part(request, job, "parts/uniqueness_change.html", patience=PATIENCE, poll=poll)


@PAGES.get("/columns/counted/{key}")
async def counted(request: Request, studio: Studio) -> Response:
    """A count that took longer than a moment."""
    job = studio.jobs.find(request.path_params["key"])
    if job is None:
        return fragment(request, "parts/refused.html", words="Change something again.", job=None)
    return await part(request, job, "parts/uniqueness_change.html")


def _with_column(schema: Schema, column: Column, role: str) -> Schema:
    """The schema with another column; rules that name values it no longer has go."""
    household = None if schema.household == column.name else schema.household
    bare = replace(schema, household=None)
    try:
        new = bare.replace_columns([column])
    except ValueError:
        left = tuple(rule for rule in schema.impossible if column.name not in rule.columns)
        tables = tuple(
            table for table in schema.tables if column.randomised or column.name not in table
        )
        new = replace(bare, impossible=left, tables=tables).replace_columns([column])
    return replace(new, household=column.name if role == HOUSEHOLD else household)


def _texts(looked: Job, name: str) -> dict[str, str]:
    """What the values of a column mean, where its file says so."""
    found: dict[str, str] = looked.result["labels"].get(name, {}) if looked.result else {}
    return found


def _column_at(request: Request) -> tuple[Schema, int]:
    schema = require_schema(studio_of(request).session.now.schema)
    words = "There is no such column."
    return schema, place_in(request.path_params["place"], len(schema.columns), words)


def _files(studio: Studio) -> list[str]:
    folder = studio.session.folder
    found = (one for one in folder.glob("*.toml") if one.is_file() and _describes(one))
    return sorted(one.name for one in found)[:50]


def _describes(path: Path) -> bool:
    """Whether a file is a schema, and no plan or survey; a large one may be."""
    try:
        return path.stat().st_size > MOST_LOOKED or bool(Schema.load(path).columns)
    except (PramanaError, OSError):  # it may also be gone meanwhile
        return False


def _same(studio: Studio) -> SameWork:
    """The schema as it is here; only one that is as proposed is proposed again."""
    file, told = schema_words(studio)
    toml = studio.session.now.schema
    looked = described(studio).result
    code = 'import pramana as pm\n\nschema = {}\nschema.save("schema.toml")'
    if not toml or (looked and toml == looked["schema"]):
        made = code.format(f"pm.describe({source_code(studio)})")
        return SameWork((("pramana", "describe", file, *told, "-o", "schema.toml"),), made)
    text = toml.replace("\\", "\\\\").replace("'", "\\'")
    made = code.format(f"pm.Schema.from_toml('''\n{text}''')")
    return SameWork((("pramana", "schema", "schema.toml"),), made, (("schema.toml", toml),))


ALIKE: Final = 3.0
"""Fewer alike than these count as few."""


@PAGES.get("/risk")
async def show_risk(request: Request, studio: Studio) -> Response:
    """The page; the figures come when they are measured."""
    schema = require_schema(studio.session.now.schema)
    if not schema.keys:
        raise InputError("No column is a key: say first by what people are recognised.")
    file, told = schema_words(studio)
    same_risk = SameWork(
        (("pramana", "audit", file, *told, "--schema", "schema.toml", "--k", f"{ALIKE:g}"),),
        f"import pramana as pm\n\nprint(pm.audit({source_code(studio)}, "
        f'schema="schema.toml", k={ALIKE:g}))',
    )
    return page(request, "risk.html", same=same_risk)


@PAGES.get("/risk/measured")
async def measured(request: Request, studio: Studio) -> Response:
    """The figures."""
    return await part(request, _job_risk(studio), "parts/risk.html", labels=column_labels(studio))


@PAGES.post("/risk/apply")
async def apply_risk(studio: Studio, form: Form) -> Response:
    """Take one of the recodings that were tried."""
    job = _job_risk(studio)
    if job.condition != "done":
        raise InputError("The recodings are still being tried.")
    ways = job.result["lowerings"]
    way = ways[form.place("way", len(ways))]
    studio.session.change(f"Recoded: {way['what']}", schema=way["schema"], acknowledged="")
    studio.session.notice = "Done. Undo takes it back."
    return goto("/risk")


def _job_risk(studio: Studio) -> Job:
    schema = studio.session.now.schema
    return studio.jobs.ask(tasks.audit, schema=schema, k=ALIKE, table=table_of(studio))
