"""Surveys under way: how many answered, what holds for them, and what they say so far."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pramana.errors import InputError
from pramana.studio.view import Entry, SameWork, fragment, page, place_in, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pramana.api import SurveyPlace

ENTRIES: Final = (Entry("/surveys", "Surveys", step=False),)
ADDRESS: Final = "postgresql://..."
"""Of a database, where a page tells how to use it: the true one may hold a password."""


async def show(request: Request) -> Response:
    """The surveys of the folder."""
    return page(request, "surveys.html", surveys=await _surveys(request), place=None)


async def watch(request: Request) -> Response:
    """One of them; its figures come, and come again."""
    found = await _surveys(request)
    place = _place(request, len(found))
    return page(request, "surveys.html", surveys=found, place=place, same=_same(found[place]))


async def figures(request: Request) -> Response:
    """The figures at this moment."""
    from pramana import api

    studio, found = studio_of(request), await _surveys(request)
    place = _place(request, len(found))
    own = found[place]
    if own.elsewhere and studio.database is None:
        raise InputError(
            "The answers to this survey are kept in a database. Open the studio with its address "
            "to see them here, or use the command below."
        )
    folder, database = studio.session.folder / own.name, studio.database if own.elsewhere else None
    seen = await asyncio.to_thread(api.live, folder, wave=own.wave, database=database)
    return fragment(request, "parts/survey.html", live=seen, place=place)


async def _surveys(request: Request) -> list[SurveyPlace]:
    from pramana import api

    return await asyncio.to_thread(api.surveys, studio_of(request).session.folder)


def _place(request: Request, size: int) -> int:
    words = "The survey is no longer there. Load the page again."
    return place_in(request.path_params["place"], size, words)


def _same(survey: SurveyPlace) -> SameWork:
    name, wave = survey.name, survey.wave
    told = () if wave is None else ("--wave", str(wave))
    given = "" if wave is None else f", wave={wave}"
    if survey.elsewhere:
        told = (*told, "--database", ADDRESS)
        given += f", database={ADDRESS!r}"
    return SameWork(
        (("pramana", "collect", "status", name, *told),),
        f"from pramana import api\n\nprint(api.live({name!r}{given}))",
    )


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/surveys", show),
    ("GET", "/surveys/{place}", watch),
    ("GET", "/surveys/{place}/live", figures),
)
