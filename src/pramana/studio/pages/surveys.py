"""Surveys under way: how many answered, what holds for them, and what they say so far."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from pramana import api
from pramana.errors import InputError
from pramana.studio.view import (
    Entry,
    Pages,
    SameWork,
    Studio,
    fragment,
    page,
    place_in,
    studio_of,
)

PAGES: Final = Pages(Entry("/surveys", "Surveys", step=False))
ADDRESS: Final = "postgresql://..."
"""Of a database, where a page tells how to use it: the true one may hold a password."""


@PAGES.get("/surveys")
async def show(request: Request) -> Response:
    """The surveys of the folder."""
    return page(request, "surveys.html", surveys=await _surveys(request), place=None)


@PAGES.get("/surveys/{place}")
async def watch(request: Request) -> Response:
    """One of them; its figures come, and come again."""
    surveys = await _surveys(request)
    place = _place(request, len(surveys))
    survey = surveys[place]
    name, wave = survey.name, survey.wave
    options = () if wave is None else ("--wave", str(wave))
    given = "" if wave is None else f", wave={wave}"
    if survey.elsewhere:
        options = (*options, "--database", ADDRESS)
        given += f", database={ADDRESS!r}"
    same = SameWork(
        (("pramana", "collect", "status", name, *options),),
        f"from pramana import api\n\nprint(api.live({name!r}{given}))",
    )
    return page(request, "surveys.html", surveys=surveys, place=place, same=same)


@PAGES.get("/surveys/{place}/live")
async def figures(request: Request, studio: Studio) -> Response:
    """The figures at this moment."""
    studio, surveys = studio, await _surveys(request)
    place = _place(request, len(surveys))
    survey = surveys[place]
    if survey.elsewhere and studio.database is None:
        raise InputError(
            "The answers to this survey are kept in a database. Open the studio with its address "
            "to see them here, or use the command below."
        )
    folder, database = (
        studio.session.folder / survey.name,
        studio.database if survey.elsewhere else None,
    )
    seen = await asyncio.to_thread(api.live, folder, wave=survey.wave, database=database)
    return fragment(request, "parts/survey.html", live=seen, place=place)


async def _surveys(request: Request) -> list[api.SurveyPlace]:
    return await asyncio.to_thread(api.surveys, studio_of(request).session.folder)


def _place(request: Request, size: int) -> int:
    words = "The survey is no longer there. Load the page again."
    return place_in(request.path_params["place"], size, words)
