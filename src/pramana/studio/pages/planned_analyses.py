"""Planned analyses: tables, means and models that must come out well."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pramana import Role, Schema
from pramana.errors import InputError
from pramana.studio.pages.columns import (
    column_labels,
    described,
    require_schema,
    schema_words,
)
from pramana.studio.pages.data import source_code
from pramana.studio.view import (
    Entry,
    Form,
    SameWork,
    Studio,
    form_of,
    goto,
    page,
    place_in,
    studio_of,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ENTRIES: Final = (Entry("/asked", "Planned analyses", needs="schema"),)
MOST_PAIRS: Final = 60
MOST_MODEL: Final = 4
TEXT: Final = "text"
Wish: TypeAlias = tuple[str, tuple[str, ...]]
"""Its kind (table, mean, model), and its columns."""


async def show(request: Request) -> Response:
    """What can be ticked, and what is."""
    studio = studio_of(request)
    schema = require_schema(studio.session.now.schema)
    keys = [column.name for column in schema.randomised]
    singles = [(name,) for name in keys]
    pairs = list(itertools.combinations(keys, 2))[:MOST_PAIRS]
    kinds = _kinds(studio)
    numbers = [column.name for column in schema.columns if column.role is Role.SENSITIVE]
    numbers.sort(key=lambda name: kinds.get(name) == TEXT)  # what has a mean comes first
    others = [column.name for column in schema.released_as_is if column.role is not Role.WEIGHT]
    chosen = studio.session.now.wishes
    extra = [own for kind, own in chosen if kind == "table" and own not in (*singles, *pairs)]
    return page(
        request,
        "planned_analyses.html",
        singles=singles,
        pairs=[*pairs, *extra],
        numbers=numbers,
        names=schema.names,
        labels=column_labels(studio),
        keys=keys,
        others=others,
        wishes=chosen,
        asked=[(*own, _rests_on(keys, own[1])) for own in _others(studio)],
        same=_same(studio),
    )


async def save(request: Request) -> Response:
    """Take what is ticked."""
    studio = studio_of(request)
    form = await form_of(request)
    _keep(studio, "Ticked what will be asked", [*_ticked(studio, form), *_others(studio)])
    return goto("/choose" if form.get("next") else "/asked")


async def add(request: Request) -> Response:
    """A mean by group, or a model; what is ticked beside it is taken too."""
    studio = studio_of(request)
    schema = require_schema(studio.session.now.schema)
    form = await form_of(request)
    kind = form.get("kind")
    names = _names(".".join([form.get("of"), *form.all("by")]), schema)
    if kind not in ("mean", "model", "table") or len(names) < 2:
        raise InputError("Choose what is asked for, and by what.")
    if len(set(names)) < len(names) or len(names) > MOST_MODEL + 1:
        raise InputError(f"Choose different columns, and at most {MOST_MODEL} to ask by.")
    if kind == "mean" and _kinds(studio).get(names[0]) == TEXT:
        raise InputError(f"A mean is of numbers, and '{names[0]}' is text. Ask for a table of it.")
    wishes = [*_ticked(studio, form), *_others(studio), (kind, names)]
    _keep(studio, f"Asked for a {kind}", list(dict.fromkeys(wishes)))
    return goto("/asked")


async def drop(request: Request) -> Response:
    """One mean or model fewer."""
    studio = studio_of(request)
    form = await form_of(request)
    others = _others(studio)
    del others[form.place("wish", len(others))]
    _keep(studio, "Took a wish back", [*_ticked(studio, form), *others])
    return goto("/asked")


def _ticked(studio: Studio, form: Form) -> list[Wish]:
    """The tables that are ticked, as wishes."""
    schema = require_schema(studio.session.now.schema)
    return [("table", own) for own in sorted({_names(text, schema) for text in form.all("table")})]


def _others(studio: Studio) -> list[Wish]:
    """The means and models that are wished for."""
    return [own for own in studio.session.now.wishes if own[0] != "table"]


def wanted_tables(schema: Schema, wishes: Iterable[Wish]) -> list[list[str]]:
    """The tables of keys that all wishes rest on: a mean by age rests on the table of age."""
    keys = {column.name for column in schema.randomised}
    found = [tuple(name for name in names if name in keys) for _, names in wishes]
    return [list(own) for own in dict.fromkeys(found) if own]


def _kinds(studio: Studio) -> dict[str, str]:
    """What the columns hold, as far as that was looked at."""
    looked = described(studio).result
    return {own["column"]: own["kind"] for own in looked["columns"]} if looked else {}


def _rests_on(keys: list[str], names: tuple[str, ...]) -> str:
    """Which table of keys decides how well a wish comes out, in words."""
    own = [name for name in names if name in keys]
    return f"rests on {' by '.join(own)}" if own else "of columns that are released as they are"


def _keep(studio: Studio, did: str, wishes: list[Wish]) -> None:
    schema = require_schema(studio.session.now.schema)
    tables = tuple(tuple(own) for own in wanted_tables(schema, wishes))
    text = replace(schema, tables=tables).to_toml()
    studio.session.change(did, wishes=tuple(wishes), schema=text)


def _names(text: str, schema: Schema) -> tuple[str, ...]:
    """Columns by their numbers, joined by dots."""
    places = [part for part in text.split(".") if part]
    return tuple(schema.names[place_in(place, len(schema.names))] for place in places)


def _same(studio: Studio) -> SameWork:
    file, told = schema_words(studio)
    schema = require_schema(studio.session.now.schema)
    asked = wish_texts(studio.session.now.wishes)
    known = (file, *told, "--schema", "schema.toml", "--k", "20")
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


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/asked", show),
    ("POST", "/asked", save),
    ("POST", "/asked/add", add),
    ("POST", "/asked/drop", drop),
)
