"""Re-identification risk: by which keys, as a chart, and how far each recoding would lower it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.pages.columns import column_labels, require_schema, schema_words
from pramana.studio.pages.data import source_code, table_of
from pramana.studio.view import Entry, SameWork, Studio, form_of, goto, page, part, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ENTRIES: Final = (Entry("/risk", "Re-identification risk", needs="schema"),)
ALIKE: Final = 3.0
"""Fewer alike than these count as few."""


async def show(request: Request) -> Response:
    """The page; the figures come when they are measured."""
    studio = studio_of(request)
    schema = require_schema(studio.session.now.schema)
    if not schema.keys:
        raise InputError("No column is a key: say first by what people are recognised.")
    return page(request, "risk.html", same=_same(studio))


async def measured(request: Request) -> Response:
    """The figures."""
    studio = studio_of(request)
    return await part(request, _job(studio), "parts/risk.html", labels=column_labels(studio))


async def apply(request: Request) -> Response:
    """Take one of the recodings that were tried."""
    studio = studio_of(request)
    form = await form_of(request)
    job = _job(studio)
    if job.condition != "done":
        raise InputError("The recodings are still being tried.")
    ways = job.result["lowerings"]
    way = ways[form.place("way", len(ways))]
    studio.session.change(f"Recoded: {way['what']}", schema=way["schema"], acknowledged="")
    studio.session.notice = "Done. Undo takes it back."
    return goto("/risk")


def _job(studio: Studio) -> Job:
    schema = studio.session.now.schema
    return studio.jobs.ask(tasks.audit, schema=schema, k=ALIKE, table=table_of(studio))


def _same(studio: Studio) -> SameWork:
    file, told = schema_words(studio)
    return SameWork(
        (("pramana", "audit", file, *told, "--schema", "schema.toml", "--k", f"{ALIKE:g}"),),
        f"import pramana as pm\n\nprint(pm.audit({source_code(studio)}, "
        f'schema="schema.toml", k={ALIKE:g}))',
    )


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/risk", show),
    ("GET", "/risk/measured", measured),
    ("POST", "/risk/apply", apply),
)
