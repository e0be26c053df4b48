"""Regressions from a release: a formula, and a table of coefficients with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pramana.errors import InputError
from pramana.studio import analyst
from pramana.studio.exports import Exported
from pramana.studio.pages.release import folder_word, release_of
from pramana.studio.pages.tables import (
    LEVELS,
    Asking,
    exported,
    form_in,
    poll_of,
    query_of,
)
from pramana.studio.view import Entry, Form, SameWork, page, part, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ENTRY", "ROUTES"]

ENTRY: Final = Entry("/model", "Model", needs="release", group="analyst")
FAMILIES: Final = {
    "linear": "Linear: a number",
    "logistic": "Logistic: yes or no",
    "poisson": "Poisson: a count",
}
MOST_LETTERS: Final = 1000


async def show(request: Request) -> Response:
    """The page; the columns to choose from come when they are read."""
    form = form_in(request)
    name = studio_of(request).session.now.analysed
    same = _same(form, name) if form.get("formula") and name else None
    return page(request, "model.html", query=query_of(request), same=same)


async def choices(request: Request) -> Response:
    """The columns to choose from, and below them the coefficients."""
    studio = studio_of(request)
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(
        request, job, "parts/modelling.html", poll=poll_of(request),
        form=form_in(request), asking=_asking(form_in(request)), families=FAMILIES, levels=LEVELS,
        query=query_of(request),
    )  # fmt: skip


async def found(request: Request) -> Response:
    """The coefficients."""
    job, poll = _job(request), poll_of(request)
    return await part(request, job, "parts/modelled.html", poll=poll, query=query_of(request))


async def export(request: Request) -> Response:
    """The coefficients as a file."""
    form = form_in(request)
    return await exported(request, _job(request), Exported.of_model, lambda name: _same(form, name))


def _asking(form: Form) -> Asking:
    return Asking.of(form, infer="population")


def _job(request: Request) -> Any:
    studio, form = studio_of(request), form_in(request)
    formula, family = form.get("formula"), form.get("family") or "linear"
    if not formula or len(formula) > MOST_LETTERS:
        raise InputError(f"Write a formula of at most {MOST_LETTERS:,} letters.")
    if family not in FAMILIES:
        raise InputError(f"The family must be one of {', '.join(FAMILIES)}.")
    own = {"formula": formula, "family": family, **_asking(form).arguments()}
    return studio.jobs.ask(analyst.model, lane="analyst", **release_of(studio), **own)


def _same(form: Form, name: str) -> SameWork:
    asking = _asking(form)
    formula, family = form.get("formula"), form.get("family") or "linear"
    other = family != "linear"
    told = [*(("--family", family) if other else ()), *asking.words(infer="population")]
    last = [*told, "--", formula] if formula.startswith("-") else [formula, *told]
    words = ("pramana", "regress", folder_word(name), *last)
    own = f", family={family!r}" if other else ""
    call = f"release.regress({formula!r}{own}{asking.python(infer='population')})"
    python = f"import pramana as pm\n\nrelease = pm.load({name!r})\nmodel = {call}\nprint(model)"
    return SameWork((words,), python)


ROUTES: Final = (
    ("GET", "/model", show),
    ("GET", "/model/choices", choices),
    ("GET", "/model/found", found),
    ("GET", "/model/export.{ending}", export),
)
