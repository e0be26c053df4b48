"""Variables: roles, recodings and impossible combinations; re-identification risk by the keys.

The list is a table in which roles are changed and saved at once. A panel and a page of each column
recode it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from pramana import Bins, Categories, Column, Impossible, NumberGrid, Recoding, Role, Schema, api
from pramana.api import Provenance
from pramana.base.text import as_part, parts_of
from pramana.base.translation import gettext, noop
from pramana.errors import InputError, PramanaError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.data import file_words, read_words, source_code, table_of
from pramana.studio.view import (
    OUT_OF_DATE,
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    fragment,
    goto,
    local_page,
    number_in,
    page,
    part,
    place_in,
    saved,
    schema_of,
    studio_of,
    waiting,
)

PAGES: Final = Pages(
    Entry("/columns", "Variables", needs="file"),
    Entry("/risk", "Re-identification risk", needs="schema"),
)
MOST_LOOKED: Final = 20_000
HOUSEHOLD: Final = "household"
ROLES: Final = {str(role): f"{role.capitalize()}: {role.traits.words}" for role in Role} | {
    str(Role.IDENTIFIER): noop("Dropped: numbers of persons, and columns that are not released"),
    HOUSEHOLD: noop("Household: its number; dropped, and guarantees are stated for households too"),
}
MISSING: Final = {
    "": noop("decided by the data"),
    "category": noop("a value like others, randomised"),
    "keep": noop("stays missing"),
    "refuse": noop("must not occur"),
}
ORIGINS: Final = {
    Provenance.DECLARED: noop("Declared: known without these data"),
    Provenance.READ_OFF: noop("Taken from these data, or merged after looking at them"),
    Provenance.TRIALS: noop("Chosen by trials on these data"),
}
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
        roles={role: words.partition(":") for role, words in ROLES.items()},
        role_of=role_of,
    )


@PAGES.get("/columns/contributions")
async def contributions(request: Request, studio: Studio) -> Response:
    """How many people each key makes unique: cells of the list, filled in when they are counted."""
    session = studio.session
    about: dict[str, Any] = {"schema": session.now.schema, "table": table_of(studio)}
    job = studio.jobs.ask(tasks.contributions, lane="risk", keep=False, quick=True, **about)
    names = schema_of(session.now.schema).names
    return await part(request, job, "parts/contributions.html", names=names)


@PAGES.post("/columns/roles")
async def roles(request: Request, studio: Studio, form: Form) -> Response:
    """Save the roles as soon as one is changed, and count who is unique then."""
    before = require_schema(studio.session.now.schema)
    asked = [
        form.get(f"role-{at}", role_of(before, column)) for at, column in enumerate(before.columns)
    ]
    if form.get("selected-role"):
        for place in form.all("selected"):
            asked[place_in(place, len(asked))] = form["selected-role"]
    after = with_roles(before, asked)
    studio.session.change("Changed roles", schema=after.to_toml(), acknowledged="")
    if not request.headers.get("hx-request"):
        return goto(local_page(form.get("next"), "/columns"))
    return saved(studio, await _counted(request, studio, {"then": after, "now": before}))


def with_roles(schema: Schema, roles: Sequence[str]) -> Schema:
    """The schema with these roles; rules and tables that need other roles are dropped."""
    if roles.count(HOUSEHOLD) > 1:
        raise InputError("One column at most can number the households.")
    columns = tuple(
        column if role == role_of(schema, column) else _in_role(column, role_named(role))
        for column, role in zip(schema.columns, roles, strict=True)
    )
    gone = {column.name for column in columns if not column.randomised}
    known = {column.name: column.role for column in columns}
    return replace(
        schema,
        columns=columns,
        impossible=tuple(rule for rule in schema.impossible if not gone & set(rule.columns)),
        strata=tuple(
            name for name in schema.strata if known[name].traits.released and name in gone
        ),
        choices=tuple(choice for choice in schema.choices if not gone & set(choice)),
        tables=tuple(table for table in schema.tables if not gone & set(table)),
        household=schema.names[roles.index(HOUSEHOLD)] if HOUSEHOLD in roles else None,
    )


def _in_role(column: Column, role: Role) -> Column:
    """The column in another role.

    What its values mean stays. Coarsening was chosen for the former role, and is dropped.
    """
    if not role.traits.released:
        return Column(column.name, role)
    before = column.recoding
    kept = Recoding(
        missing_codes=before.missing_codes, date=before.date, date_format=before.date_format
    )
    keeps_domain = role in (Role.KEY, Role.SENSITIVE) and not before.merged
    domain = column.domain if keeps_domain else None
    return replace(column, role=role, domain=domain, recoding=kept, exempt=(), randomise=None)


def role_of(schema: Schema, column: Column) -> str:
    """The role of a column as pages name it; the column of household numbers has its own."""
    return HOUSEHOLD if column.name == schema.household else str(column.role)


def role_named(word: str) -> Role:
    """The role of a schema for a role of a page."""
    if word not in ROLES:
        raise InputError(OUT_OF_DATE)
    return Role.IDENTIFIER if word == HOUSEHOLD else Role(word)


# -- one column ------------------------------------------------------------------------------------


@PAGES.get("/columns/{place}")
async def one(request: Request, studio: Studio) -> Response:
    """The page of one column."""
    _propose(studio, described(studio))
    about = _form_of(request, studio)
    total = len(schema_of(studio.session.now.schema).columns)
    return page(request, "column.html", same=_same(studio), total=total, **about)


@PAGES.get("/columns/{place}/panel")
async def panel(request: Request, studio: Studio) -> Response:
    """The form of one column, next to the list."""
    return fragment(request, "parts/column_panel.html", **_form_of(request, studio))


def _form_of(request: Request, studio: Studio) -> dict[str, Any]:
    """All that the form of a column shows."""
    looked = described(studio)
    schema, place = _column_at(request)
    column = schema.columns[place]
    profiles = looked.result["columns"] if looked.condition == "done" else []
    recoding, domain = column.recoding, column.domain
    return {
        "place": place,
        "column": column,
        "profile": next((entry for entry in profiles if entry["column"] == column.name), None),
        "role": role_of(schema, column),
        "texts": _texts(looked, column.name),
        "roles": ROLES,
        "missing": MISSING,
        "origins": ORIGINS,
        "edges": ", ".join(map(_text, domain.edges)) if isinstance(domain, Bins) else "",
        "categories": list(map(_text, domain.values))
        if isinstance(domain, Categories) and not column.gridded
        else [],
        "grid": domain if isinstance(domain, NumberGrid) else None,
        "merged": [(new, list(map(_text, old))) for new, old in recoding.merged],
        "codes": list(map(_text, recoding.missing_codes)),
        "code_lines": "\n".join(as_part(_text(code), "\n") for code in recoding.missing_codes),
    }


@PAGES.get("/columns/{place}/shape")
async def shape(request: Request, studio: Studio) -> Response:
    """The bars of one column, as it is saved."""
    schema, place = _column_at(request)
    job = _shapes(studio)
    return await part(request, job, "parts/values.html", name=schema.columns[place].name)


@PAGES.post("/columns/{place}/count")
async def count_one(request: Request, studio: Studio, form: Form) -> Response:
    """How many people would be unique if the form were saved."""
    schema, place = _column_at(request)
    then = _with_column(schema, changed_column(schema.columns[place], form), form.get("role"))
    return await _counted(request, studio, _compared(schema, then, place))


def _compared(before: Schema, after: Schema, place: int) -> dict[str, Schema]:
    """Schemas to compare: with the change, before it, and without any recoding of the column."""
    compared = {"then": after, "now": before}
    column = before.columns[place]
    if column.randomised and (column.recoding or isinstance(column.domain, Bins)):
        bare = Column(column.name, column.role)  # bins and categories may be of recoded values
        compared["bare"] = _with_column(before, bare, str(column.role))
    return compared


@PAGES.post("/columns/{place}")
async def save_one(request: Request, studio: Studio, form: Form) -> Response:
    """Take the form of a column; fields are saved as they are changed, merges by a button."""
    schema, place = _column_at(request)
    column = schema.columns[place]
    auto = bool(request.headers.get("hx-request"))
    try:
        new = changed_column(column, form, merge=not auto)
        changed = _with_column(schema, new, form.get("role"))
    except ValueError as error:
        raise InputError(str(error)) from None
    did = gettext("Changed '{column}'", column=column.name)
    studio.session.change(did, schema=changed.to_toml(), acknowledged="")
    if not auto:
        studio.session.notice = gettext("Saved.")
        return goto(local_page(form.get("next"), f"/columns/{place}"))
    if role_of(schema, column) != role_of(changed, changed.columns[place]):
        return Response(status_code=204, headers={"HX-Refresh": "true"})  # the form is another one
    return saved(studio, await _counted(request, studio, _compared(schema, changed, place)))


def changed_column(column: Column, form: Form, *, merge: bool = True) -> Column:
    """The column as the form states it."""
    role = role_named(form.get("role", str(column.role)))
    if not role.traits.released:
        return Column(column.name, role)
    if role is not column.role:
        return _in_role(column, role)
    missing: Any = form.get("missing") or None
    word = form.get("origin")
    origin = Provenance(word) if word in ORIGINS else column.origin
    before = column.recoding
    date: Any = form.get("date") or None
    lines = form.get("codes").replace("\r\n", "\n")
    codes = dict.fromkeys([*parts_of(lines, "\n"), *form.exact("code")])
    recoding = replace(
        before,
        missing_codes=tuple(_code(text, before.missing_codes) for text in codes),
        date=date,
        date_format=before.date_format if date else None,
        bottom=form.number("bottom"),
        top=form.number("top"),
        round=form.number("round"),
    )
    domain = _domain(column, form)
    if isinstance(domain, NumberGrid):
        low, high = form.number("grid_low"), form.number("grid_high")
        recoding = replace(recoding, bottom=low, top=high, round=None)
        missing = missing or "category"  # whether values are missing is not read off the data
    new = replace(column, missing=missing, recoding=recoding, domain=domain, origin=origin)
    ticked = form.all("tick") if merge else []
    if len(ticked) > 1 and isinstance(new.domain, Categories):
        values = [new.domain.values[place_in(at, len(new.domain.values))] for at in ticked]
        # The page shows how many records have each value: whoever merges here has looked.
        looked = Provenance.weakest(new.origin, Provenance.READ_OFF)
        new = replace(
            api.merge_values(new, values, form.get("into") or gettext("other")), origin=looked
        )
    return new


def _domain(column: Column, form: Form) -> Bins | Categories | None:
    domain, text = column.domain, form.get("edges")
    low, high = form.number("grid_low"), form.number("grid_high")
    if low is not None and high is not None:
        step = form.number("grid_step") or 1
        return NumberGrid.even(low, high, int(form.number("grid_points") or 5), step=step)
    if isinstance(domain, NumberGrid):
        domain = None
    if not text:
        return domain if isinstance(domain, Categories) else None
    wrong = "Edges of bins must be numbers, such as 0, 18, 65, 120."
    edges = tuple(number_in(word, wrong) for word in re.split(r"[\s,;]+", text) if word)
    if not isinstance(domain, Bins):
        return Bins(edges)
    names = domain.names if len(domain.names) == len(edges) - 1 else ()
    release: Any = form.get("release") or domain.release
    return replace(domain, edges=edges, names=names, release=release)


def _code(text: str, known: tuple[Any, ...]) -> Any:
    """A code as the data have it: a number where it reads as one."""
    for code in known:
        if _text(code) == text:
            return code
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@PAGES.post("/columns/{place}/coarser")
async def coarsen_one(request: Request, studio: Studio, form: Form) -> Response:
    """A number rounded and cut at the top, as a refusal has proposed."""
    schema, place = _column_at(request)
    column = schema.columns[place]
    recoding = replace(column.recoding, round=form.number("round"), top=form.number("top"))
    origin = Provenance.weakest(column.origin, Provenance.READ_OFF)
    changed = schema.replace_columns([replace(column, recoding=recoding, origin=origin)])
    did = gettext("Rounded and cut column {number}", number=place + 1)
    studio.session.change(did, schema=changed.to_toml(), acknowledged="")
    studio.session.notice = gettext(
        "{column} is rounded and cut at the top. Undo takes it back.", column=column.name
    )
    return goto(local_page(form.get("here"), f"/columns/{place}"))


@PAGES.post("/columns/{place}/reset")
async def reset_one(request: Request, studio: Studio) -> Response:
    """A column as it was proposed."""
    schema, place = _column_at(request)
    looked = described(studio)
    if looked.condition != "done":
        raise InputError("The columns are still being read.")
    first = schema_of(looked.result["schema"])
    proposed = first.column(schema.columns[place].name)
    changed = _with_column(schema, proposed, role_of(first, proposed))
    did = gettext("Accepted the proposal for column {number}", number=place + 1)
    studio.session.change(did, schema=changed.to_toml())
    return goto(f"/columns/{place}")


@PAGES.get("/columns/rules")
async def rules(request: Request, studio: Studio) -> Response:
    """Combinations that cannot exist: two columns, then their values."""
    schema = require_schema(studio.session.now.schema)
    pairs = [
        schema.names.index(column.name) for column in schema.randomised if column.domain is not None
    ]
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
    session.change("Removed a combination", schema=replace(schema, impossible=left).to_toml())
    return goto("/columns/rules")


@PAGES.post("/columns/use")
async def use_file(studio: Studio, form: Form) -> Response:
    """Take a schema file of the folder."""
    session = studio.session
    schema = Schema.load(session.place(form.get("schema")))
    did = gettext("Opened the schema {name}", name=form.get("schema"))
    session.change(did, schema=schema.to_toml(), acknowledged="")
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
        raise InputError("Set the role of each column first.")
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
    texts = {name: schema.to_toml() for name, schema in schemas.items()}
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
    texts: dict[str, str] = looked.result["labels"].get(name, {}) if looked.result else {}
    return texts


def _column_at(request: Request) -> tuple[Schema, int]:
    schema = require_schema(studio_of(request).session.now.schema)
    words = "There is no such column."
    return schema, place_in(request.path_params["place"], len(schema.columns), words)


def _files(studio: Studio) -> list[str]:
    folder = studio.session.folder
    candidates = (one for one in folder.glob("*.toml") if one.is_file() and _describes(one))
    return sorted(one.name for one in candidates)[:50]


def _describes(path: Path) -> bool:
    """Whether a file is a schema, and no plan or survey; a large one may be."""
    try:
        return path.stat().st_size > MOST_LOOKED or bool(Schema.load(path).columns)
    except (PramanaError, OSError):  # it may also be gone meanwhile
        return False


def _same(studio: Studio) -> SameWork:
    """The schema as it is here; only one that is as proposed is proposed again."""
    file, read = schema_words(studio)
    toml = studio.session.now.schema
    looked = described(studio).result
    code = 'import pramana as pm\n\nschema = {}\nschema.save("schema.toml")'
    if not toml or (looked and toml == looked["schema"]):
        made = code.format(f"pm.describe({source_code(studio)})")
        return SameWork((("pramana", "describe", file, *read, "-o", "schema.toml"),), made)
    text = toml.replace("\\", "\\\\").replace("'", "\\'")
    made = code.format(f"pm.Schema.from_toml('''\n{text}''')")
    return SameWork((("pramana", "schema", "schema.toml"),), made, (("schema.toml", toml),))


ALIKE: Final = 5.0
"""Fewer alike than these count as few."""


@PAGES.get("/risk")
async def show_risk(request: Request, studio: Studio) -> Response:
    """The page; the figures come when they are measured."""
    schema = require_schema(studio.session.now.schema)
    if not schema.keys:
        raise InputError("No column is a key: first choose the columns that identify people.")
    file, read = schema_words(studio)
    same_risk = SameWork(
        (("pramana", "audit", file, *read, "--schema", "schema.toml", "--k", f"{ALIKE:g}"),),
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
    did = gettext("Recoded: {what}", what=way["what"])
    studio.session.change(did, schema=way["schema"], acknowledged="")
    studio.session.notice = gettext("Done. Undo takes it back.")
    return goto("/risk")


def _job_risk(studio: Studio) -> Job:
    schema = studio.session.now.schema
    return studio.jobs.ask(tasks.audit, schema=schema, k=ALIKE, table=table_of(studio))
