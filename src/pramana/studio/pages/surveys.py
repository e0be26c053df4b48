"""Surveys: start, invite, watch and close them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from pramana import api
from pramana.base.translation import gettext, numeral
from pramana.errors import InputError, PramanaError
from pramana.studio.view import (
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    fragment,
    goto,
    page,
    place_in,
    studio_of,
)

PAGES: Final = Pages(Entry("/surveys", "Surveys", step=False))
MOST_FILES: Final = 100
MOVED: Final = "The survey is no longer there. Load the page again."
ADDRESS: Final = "postgresql://..."
"""Of a database, where a page tells how to use it: the true one may hold a password."""


@PAGES.get("/surveys")
async def show(request: Request, studio: Studio) -> Response:
    """The surveys of the folder, and survey files."""
    surveys, files = await _surveys(request), await asyncio.to_thread(_files, studio)
    return page(request, "surveys.html", surveys=surveys, files=files, place=None)


@PAGES.get("/surveys/{place}")
async def watch(request: Request, studio: Studio) -> Response:
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
    public = ("--public-address", "https://survey.example.org")
    same = SameWork(
        (
            ("pramana", "collect", "serve", name, *public, *options),
            ("pramana", "collect", "status", name, *options),
            ("pramana", "collect", "close", name, "-o", f"{name}-release", *options),
        ),
        f"from pramana import api\n\nprint(api.live({name!r}{given}))",
    )
    address = studio.collectors.address((studio.session.folder / name, wave))
    return page(
        request, "surveys.html", surveys=surveys, files=(), place=place, address=address, same=same
    )


@PAGES.get("/surveys/{place}/live")
async def figures(request: Request, studio: Studio) -> Response:
    """The figures at this moment."""
    survey, database = await _chosen(request, studio)
    folder = studio.session.folder / survey.name
    seen = await asyncio.to_thread(api.live, folder, wave=survey.wave, database=database)
    return fragment(request, "parts/survey.html", live=seen, place=request.path_params["place"])


@PAGES.post("/surveys/{place}/start")
async def start(request: Request, studio: Studio, form: Form) -> Response:
    """Take answers on this machine."""
    survey, database = await _chosen(request, studio, form)
    place = (studio.session.folder / survey.name, survey.wave)
    await asyncio.to_thread(studio.collectors.start, place, database)
    return goto(f"/surveys/{request.path_params['place']}")


@PAGES.post("/surveys/{place}/stop")
async def stop(request: Request, studio: Studio, form: Form) -> Response:
    """Take none for now."""
    survey, _ = await _chosen(request, studio, form)
    place = (studio.session.folder / survey.name, survey.wave)
    await asyncio.to_thread(studio.collectors.stop, place)
    return goto(f"/surveys/{request.path_params['place']}")


@PAGES.post("/surveys/{place}/invite")
async def invite(request: Request, studio: Studio, form: Form) -> Response:
    """Draw invitation codes into a file."""
    survey, database = await _chosen(request, studio, form)
    folder, file = studio.session.folder / survey.name, studio.session.target(form.get("file"))
    number = int(form.number("number") or 0)
    definition, _ = await asyncio.to_thread(api.load_survey, folder)
    await asyncio.to_thread(api.invite, folder, definition, number, file, database=database)
    studio.session.notice = gettext(
        "{number} codes are in {file}. Send one to each person, then remove the file.",
        number=numeral(f"{number:,}"), file=file.name,
    )  # fmt: skip
    return goto(f"/surveys/{request.path_params['place']}")


@PAGES.post("/surveys/{place}/close")
async def close(request: Request, studio: Studio, form: Form) -> Response:
    """Take no more answers, and write the release."""
    survey, database = await _chosen(request, studio, form)
    folder, to = studio.session.folder / survey.name, studio.session.target(form.get("release"))
    if form.get("final") != "yes":
        raise InputError("Confirm that no more answers are wanted.")
    release = await asyncio.to_thread(
        api.close_folder, folder, to, database=database, wave=survey.wave,
        accept_failed=bool(form.get("accept")),
    )  # fmt: skip
    await asyncio.to_thread(studio.collectors.stop, (folder, survey.wave))
    name = str(to.relative_to(studio.session.folder))
    did = gettext("Closed a survey into {name}", name=name)
    studio.session.change(did, analysed=name)
    studio.session.notice = gettext(
        "The survey is closed. {folder} holds {answers} answers.",
        folder=name, answers=numeral(f"{release.records:,}"),
    )  # fmt: skip
    return goto("/release")


async def _chosen(
    request: Request, studio: Studio, form: Form | None = None
) -> tuple[api.SurveyPlace, str | None]:
    """The survey of an address, and the database that holds its answers.

    A form also names it: a survey that was added meanwhile moves the others to other addresses.
    """
    surveys = await _surveys(request)
    survey = surveys[_place(request, len(surveys))]
    if form is not None and form.last("survey") != survey.name:
        raise InputError(MOVED)
    if survey.elsewhere and studio.database is None:
        raise InputError(
            "The answers to this survey are kept in a database. Open the studio with its address "
            "to see them here, or use the command below."
        )
    return survey, studio.database if survey.elsewhere else None


async def _surveys(request: Request) -> list[api.SurveyPlace]:
    return await asyncio.to_thread(api.surveys, studio_of(request).session.folder)


def _files(studio: Studio) -> list[str]:
    """The survey files of the folder."""
    files = []
    for file in sorted(studio.session.folder.glob("*.toml"))[:MOST_FILES]:
        with suppress(PramanaError, OSError):  # another file, or gone meanwhile
            api.read_survey(api.text_of(file, what="survey file"))
            files.append(file.name)
    return files


def _place(request: Request, size: int) -> int:
    return place_in(request.path_params["place"], size, MOVED)
