"""A release to analyse, and its codebook.

Tables and regressions from a release.

What is asked is in the address: it can be kept, gone back to, and asked in two tabs at once.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from pramana import api
from pramana.base.text import as_part, parts_of
from pramana.errors import InputError
from pramana.studio import analyst
from pramana.studio.analyst import Exported, media_type
from pramana.studio.session import StudioSession
from pramana.studio.view import (
    Entry,
    Form,
    Pages,
    SameWork,
    Studio,
    goto,
    page,
    part,
    studio_of,
    waiting,
)

PAGES: Final = Pages(
    Entry("/release", "Release", group="analyst"),
    Entry("/codebook", "Codebook", needs="release", group="analyst"),
    Entry("/table", "Table", needs="release", group="analyst"),
    Entry("/model", "Model", needs="release", group="analyst"),
)
CERTIFICATE: Final = "certificate.json"
HERE: Final = "."
DEPTH: Final = 3
MOST_FOLDERS: Final = 200

STATES: Final = (
    ("failed", "bad", "Failed", "What was looked at does not hold."),
    ("asserted", "warn", "Asserted by the owner", "Nothing at hand shows or contradicts it."),
    ("passed", "good", "Passed", "Computed again from the folder alone."),
)


@PAGES.get("/release")
async def show(request: Request, studio: Studio) -> Response:
    """The release folders, and what was found in the chosen one."""
    folder = studio.session.folder
    name = studio.session.now.analysed
    # The release folders here and below.
    found = []
    for base, folders, names in os.walk(folder):
        here = Path(base)
        inside = len(here.relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if inside < DEPTH else []
        if CERTIFICATE in names:
            found.append(str(here.relative_to(folder)))
            folders[:] = []
        if len(found) >= MOST_FOLDERS:
            break
    return page(
        request,
        "release.html",
        folders=found,
        folder=folder.name,
        same=_same(name) if name else None,
    )


@PAGES.post("/release")
async def choose(studio: Studio, form: Form) -> Response:
    """Open a release folder."""
    session = studio.session
    name = form.last("folder")
    if not (_place(session, name) / CERTIFICATE).is_file():
        raise InputError("That folder holds no release: there is no certificate in it.")
    session.change(f"Opened the release {name}", analysed=name)
    return goto("/release")


@PAGES.get("/release/checked")
async def checked(request: Request, studio: Studio) -> Response:
    """The checks, in their three states."""
    job = studio.jobs.ask(analyst.check, **release_of(studio))
    return await part(request, job, "parts/checks.html", states=STATES)


@PAGES.get("/charts.css")
async def style() -> Response:
    """How charts are laid out, as in reports."""
    return Response(await asyncio.to_thread(lambda: api.CHART_STYLE), media_type="text/css")


def release_of(studio: Studio) -> dict[str, Any]:
    """The release as tasks take it: where it lies, and when it was changed."""
    session = studio.session
    if not session.now.analysed:
        raise InputError("Open a release first.")
    place = _place(session, session.now.analysed)
    if not (place / CERTIFICATE).is_file():
        raise InputError("The release is no longer there. Open another one.")
    stamp = max(one.lstat().st_mtime_ns for one in place.iterdir())
    return {"path": str(place), "stamp": stamp}


def _place(session: StudioSession, name: str) -> Path:
    """A folder inside, or the very folder that the studio was opened on."""
    return session.folder if name == HERE else session.place(name)


def folder_word(name: str) -> str:
    """A release folder as commands name it: none is taken for an option."""
    return f"./{name}" if name.startswith("-") else name


def _same(name: str) -> SameWork:
    return SameWork(
        (("pramana", "verify", folder_word(name)),),
        f"import pramana as pm\n\nverdict = pm.verify({name!r})\nprint(verdict)\n"
        "for check in verdict.checks:\n    print(check.state, check.name, check.detail)",
    )


@PAGES.get("/codebook")
async def show_codebook(request: Request, studio: Studio) -> Response:
    """The page; the columns come when they are read."""
    name = studio.session.now.analysed
    return page(request, "codebook.html", same=_codebook_same(name) if name else None)


def _codebook_same(name: str) -> SameWork:
    python = (
        f"import pramana as pm\n\nrelease = pm.load({name!r})\n"
        "print(release)\nprint(release.certificate.labels)"
    )
    return SameWork((("cat", f"{folder_word(name)}/codebook.csv"),), python)


@PAGES.get("/codebook/listed")
async def listed(request: Request, studio: Studio) -> Response:
    """The columns and their values."""
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(request, job, "parts/codebook.html")


LEVELS: Final = (0.9, 0.95, 0.99)
PLACES: Final = (("row", "Rows"), ("inner", "Rows within"), ("column", "Columns"))
WHAT: Final = {
    "count": "Number of people",
    "share": "Percentages of all",
    "row": "Percentages of each row",
    "column": "Percentages of each column",
    "mean": "Mean of a number",
    "total": "Total of a number",
}
PATIENCE: Final = 60.0


@dataclass(frozen=True)
class Asking:
    """What every question says beside its columns."""

    only: str = ""
    level: float = 0.95
    infer: str = "records"
    weighted: bool = True

    @classmethod
    def of(cls, form: Form, *, infer: str) -> Asking:
        """From the address of a page."""
        level = form.number("level") or 0.95
        if level not in LEVELS:
            raise InputError(f"The level must be one of {', '.join(map(str, LEVELS))}.")
        about = form.get("infer") or infer
        if about not in ("records", "population"):
            raise InputError("Intervals speak of these records or of the population behind them.")
        return cls(form.get("only"), level, about, not form.get("unweighted"))

    @property
    def conditions(self) -> list[str]:
        """Which records, one condition after the other."""
        return parts_of(self.only, ";")

    def arguments(self) -> dict[str, Any]:
        """As tasks take them."""
        rest = {"level": self.level, "infer": self.infer, "weighted": self.weighted}
        return {"only": self.conditions, **rest}

    def words(self, *, infer: str) -> list[str]:
        """As the command line takes them; what is usual is left out."""
        found = [word for one in self.conditions for word in ("--where", one)]
        found += ["--level", f"{self.level:g}"] if self.level != 0.95 else []
        found += ["--infer", self.infer] if self.infer != infer else []
        return found + ([] if self.weighted else ["--unweighted"])

    def python(self, *, infer: str) -> str:
        """As Python takes them."""
        found = f", where={self.conditions!r}" if self.conditions else ""
        found += f", level={self.level:g}" if self.level != 0.95 else ""
        found += f", infer={self.infer!r}" if self.infer != infer else ""
        return found + ("" if self.weighted else ", weighted=False")


@dataclass(frozen=True)
class TableAsked:
    """A table that is asked for."""

    by: tuple[str, ...]
    what: str
    of: str
    asking: Asking

    @classmethod
    def of_form(cls, form: Form) -> TableAsked:
        """From the address of a page."""
        what = form.get("what") or "count"
        if what not in WHAT:
            raise InputError(f"What is asked for must be one of {', '.join(WHAT)}.")
        by = tuple(name for place, _ in PLACES for name in form.exact(place)[-1:] if name)
        if len(set(by)) < len(by):
            raise InputError("A table has every column once. Choose another one.")
        numbers = form.exact("of")[-1:] if what in ("mean", "total") else []
        return cls(by, what, "".join(numbers), Asking.of(form, infer="records"))

    @property
    def whole(self) -> bool:
        """Whether enough is said to answer."""
        return bool(self.by) or (self.what in ("mean", "total") and bool(self.of))

    def arguments(self) -> dict[str, Any]:
        """As the task takes them."""
        own = {"by": list(self.by), "what": self.what, "of": self.of}
        return own | self.asking.arguments()

    def same(self, name: str) -> SameWork:
        """The same by the command line and by Python."""
        words = ["pramana", "estimate", folder_word(name)]
        words += ["--by", ",".join(map(as_part, self.by))] if self.by else []
        share = {"share": "total", "row": "row", "column": "column"}.get(self.what)
        words += ["--share", share] if share else []
        words += [f"--{self.what}", self.of] if self.of else []
        more = self.asking.python(infer="records")
        if self.of:
            call = f"{self.what}({self.of!r}, by={list(self.by)!r}{more})"
        else:
            told = f", share={share!r}" if share else ""
            call = f"crosstab({', '.join(map(repr, self.by))}{told}{more})"
        python = (
            f"import pramana as pm\n\nrelease = pm.load({name!r})\ntable = release.{call}\n"
            "print(release.in_words(table))\ntable.plot()"
        )
        return SameWork(((*words, *self.asking.words(infer="records")),), python)


@PAGES.get("/table")
async def show_table(request: Request, studio: Studio) -> Response:
    """The page; the columns to choose from come when they are read."""
    asked = _asked(request)
    name = studio.session.now.analysed
    same = asked.same(name) if asked.whole and name else None
    return page(request, "table.html", query=query_of(request), same=same)


@PAGES.get("/table/choices")
async def choices(request: Request, studio: Studio) -> Response:
    """The columns to choose from, and below them the table."""
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(
        request, job, "parts/table_form.html", poll=poll_of(request), asked=_asked(request),
        form=form_in(request), places=PLACES, what=WHAT, levels=LEVELS, query=query_of(request),
    )  # fmt: skip


@PAGES.get("/table/found")
async def found(request: Request) -> Response:
    """The table."""
    return await part(
        request, _job(request), "parts/table.html", poll=poll_of(request),
        query=query_of(request), limit=analyst.UNRELIABLE,
    )  # fmt: skip


@PAGES.get("/table/export.{ending}")
async def export(request: Request) -> Response:
    """The table as a file."""
    return await exported(request, _job(request), Exported.of_table, _asked(request).same)


async def exported(request: Request, job: Any, make: Any, same: Any) -> Response:
    """What came of a job as the file that the address ends in."""
    ending = request.path_params["ending"]
    if ending not in ("csv", "xlsx"):
        raise InputError("A table is exported as csv or as xlsx.")
    unfinished = await waiting(request, job, patience=PATIENCE)
    if unfinished is not None:
        raise InputError(job.words or "The numbers are not there yet. Try again in a moment.")
    name = studio_of(request).session.now.analysed
    about = [("Release", name), ("Show code", same(name).shell)]
    file = make(job.result, about).write(ending)
    headers = {"Content-Disposition": f'attachment; filename="table.{ending}"'}
    return Response(file, media_type=media_type(ending), headers=headers)


def form_in(request: Request) -> Form:
    """What the address asks."""
    return Form(list(request.query_params.multi_items()))


def _asked(request: Request) -> TableAsked:
    return TableAsked.of_form(form_in(request))


def _job(request: Request) -> Any:
    studio: Studio = studio_of(request)
    asked = _asked(request)
    if not asked.whole:
        raise InputError("Choose a column first.")
    return studio.jobs.ask(
        analyst.tabulate, lane="analyst", **release_of(studio), **asked.arguments()
    )


def query_of(request: Request) -> str:
    """The same again, without what is empty."""
    return urlencode([(n, v) for n, v in request.query_params.multi_items() if v])


def poll_of(request: Request) -> str:
    """Where a part asks again: with all that was asked."""
    return f"{request.url.path}?{query_of(request)}"


FAMILIES: Final = {
    "linear": "Linear: a number",
    "logistic": "Logistic: yes or no",
    "poisson": "Poisson: a count",
}
MOST_LETTERS: Final = 1000


@PAGES.get("/model")
async def show_model(request: Request, studio: Studio) -> Response:
    """The page; the columns to choose from come when they are read."""
    form = form_in(request)
    name = studio.session.now.analysed
    same = _same_table(form, name) if form.get("formula") and name else None
    return page(request, "model.html", query=query_of(request), same=same)


@PAGES.get("/model/choices")
async def choices_model(request: Request, studio: Studio) -> Response:
    """The columns to choose from, and below them the coefficients."""
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(
        request, job, "parts/model_form.html", poll=poll_of(request),
        form=form_in(request), asking=_asking(form_in(request)), families=FAMILIES, levels=LEVELS,
        query=query_of(request),
    )  # fmt: skip


@PAGES.get("/model/found")
async def found_model(request: Request) -> Response:
    """The coefficients."""
    job, poll = _model_job(request), poll_of(request)
    return await part(request, job, "parts/model.html", poll=poll, query=query_of(request))


@PAGES.get("/model/export.{ending}")
async def export_model(request: Request) -> Response:
    """The coefficients as a file."""
    form = form_in(request)
    return await exported(
        request, _model_job(request), Exported.of_model, lambda name: _same_table(form, name)
    )


def _asking(form: Form) -> Asking:
    return Asking.of(form, infer="population")


def _model_job(request: Request) -> Any:
    studio, form = studio_of(request), form_in(request)
    formula, family = form.get("formula"), form.get("family") or "linear"
    if not formula or len(formula) > MOST_LETTERS:
        raise InputError(f"Write a formula of at most {MOST_LETTERS:,} letters.")
    if family not in FAMILIES:
        raise InputError(f"The family must be one of {', '.join(FAMILIES)}.")
    own = {"formula": formula, "family": family, **_asking(form).arguments()}
    return studio.jobs.ask(analyst.model, lane="analyst", **release_of(studio), **own)


def _same_table(form: Form, name: str) -> SameWork:
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
