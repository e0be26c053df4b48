"""Surveys under way: how many answered, what holds for them, and what they say so far."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pramana.errors import InputError, PramanaError
from pramana.studio.view import Entry, SameWork, Studio, fragment, page, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ENTRY", "ROUTES"]

ENTRY: Final = Entry("/surveys", "Surveys", step=False)
MOST: Final = 100


async def show(request: Request) -> Response:
    """The surveys of the folder."""
    found = await asyncio.to_thread(_surveys, studio_of(request))
    return page(request, "collecting.html", surveys=found, place=None)


async def watch(request: Request) -> Response:
    """One of them; its figures come, and come again."""
    studio = studio_of(request)
    found = await asyncio.to_thread(_surveys, studio)
    place = _place(request, len(found))
    return page(request, "collecting.html", surveys=found, place=place, same=_same(found[place]))


async def figures(request: Request) -> Response:
    """The figures at this moment."""
    from pramana import collect

    studio = studio_of(request)
    found = await asyncio.to_thread(_surveys, studio)
    place = _place(request, len(found))
    own = found[place]
    folder = studio.session.folder / own["name"]
    seen = await asyncio.to_thread(collect.live, folder, wave=own["wave"])
    return fragment(request, "parts/live.html", live=seen, place=place)


def _surveys(studio: Studio) -> list[dict[str, Any]]:
    """Folders with a definition that can be read, and each wave of a panel."""
    from pramana import collect

    base: Path = studio.session.folder
    found = []
    for path in sorted([*base.glob("*/definition.json"), *base.glob("*/*/definition.json")])[:MOST]:
        try:
            survey = collect.load(path.parent).survey
        except PramanaError:
            continue
        waves = [None] if survey.waves == 1 else list(range(1, survey.waves + 1))
        name = str(path.parent.relative_to(base))
        found += [{"name": name, "title": survey.title, "wave": wave} for wave in waves]
    return found


def _place(request: Request, size: int) -> int:
    place = int(request.path_params["place"])
    if not 0 <= place < size:
        raise InputError("The survey is no longer there. Load the page again.")
    return place


def _same(survey: dict[str, Any]) -> SameWork:
    name, wave = survey["name"], survey["wave"]
    told = () if wave is None else ("--wave", str(wave))
    given = "" if wave is None else f", wave={wave}"
    return SameWork(
        (("pramana", "collect", "status", name, *told),),
        f"from pramana import collect\n\nprint(collect.live({name!r}{given}))",
    )


ROUTES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", "/surveys", show),
    ("GET", "/surveys/{place:int}", watch),
    ("GET", "/surveys/{place:int}/live", figures),
)
