"""A release to analyse: its checks, its codebook, tables and regressions.

The question is in the address: it can be bookmarked, gone back to, and asked in two tabs at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from pramana import api
from pramana.base.text import as_part, parts_of
from pramana.base.translation import gettext, noop
from pramana.errors import InputError
from pramana.studio import analyst
from pramana.studio.analyst import MEDIA, Exported
from pramana.studio.jobs import Job
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
IMPORT: Final = "import pramana as pm\n\n"

STATES: Final = (
    ("failed", "bad", noop("Failed"), noop("The check does not hold.")),
    (
        "asserted",
        "warn",
        noop("Asserted by the owner"),
        noop("Cannot be verified from the folder."),
    ),
    ("passed", "good", noop("Passed"), noop("Recomputed from the folder alone.")),
)


@PAGES.get("/release")
async def show(request: Request, studio: Studio) -> Response:
    """The release folders, and the checks of the chosen one."""
    folder = studio.session.folder
    name = studio.session.now.analysed
    places: list[str] = []
    for base, folders, names in os.walk(folder):
        here = Path(base).relative_to(folder)
        if CERTIFICATE in names:
            places.append(str(here))
        deep = CERTIFICATE in names or len(here.parts) >= DEPTH
        folders[:] = [] if deep else sorted(f for f in folders if not f.startswith("."))
        if len(places) >= MOST_FOLDERS:
            break
    same = None
    if name:
        python = (
            f"verdict = pm.verify({name!r})\nprint(verdict)\nfor check in verdict.checks:\n"
            "    print(check.state, check.name, check.detail)"
        )
        same = SameWork((("pramana", "verify", folder_word(name)),), f"{IMPORT}{python}")
    return page(request, "release.html", folders=places, folder=folder.name, same=same)


@PAGES.post("/release")
async def choose(studio: Studio, form: Form) -> Response:
    """Open a release folder."""
    session = studio.session
    name = form.last("folder")
    if not (_place(session, name) / CERTIFICATE).is_file():
        raise InputError("That folder holds no release: there is no certificate in it.")
    session.change(gettext("Opened the release {name}", name=name), analysed=name)
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


@PAGES.get("/codebook")
async def show_codebook(request: Request, studio: Studio) -> Response:
    """The page; the columns come when they are read."""
    name = studio.session.now.analysed
    python = f"release = pm.load({name!r})\nprint(release)\nprint(release.certificate.labels)"
    same = SameWork((("cat", f"{folder_word(name)}/codebook.csv"),), f"{IMPORT}{python}")
    return page(request, "codebook.html", same=same if name else None)


@PAGES.get("/codebook/listed")
async def listed(request: Request, studio: Studio) -> Response:
    """The columns and their values."""
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(request, job, "parts/codebook.html")


LEVELS: Final = (0.9, 0.95, 0.99)
PLACES: Final = (("row", noop("Rows")), ("inner", noop("Rows within")), ("column", noop("Columns")))
WHAT: Final = {
    "count": noop("Number of people"),
    "share": noop("Percentages of the total"),
    "row": noop("Row percentages"),
    "column": noop("Column percentages"),
    "mean": noop("Mean of a number"),
    "total": noop("Total of a number"),
}
FAMILIES: Final = {
    "linear": noop("Linear: a number"),
    "logistic": noop("Logistic: yes or no"),
    "poisson": noop("Poisson: a count"),
    "multinomial": noop("Multinomial: three or more categories"),
    "ordered": noop("Ordered: three or more ordered categories"),
}
MOST_LETTERS: Final = 1000
MOST_EXPLANATORY: Final = 6
PICKED: Final = ("family", "formula")
EXPORT_SECONDS: Final = 60.0


@dataclass(frozen=True)
class RecordChoice:
    """The records and intervals of a question.

    Attributes:
        only: Conditions, with semicolons between them.
        level: Of the intervals.
        infer: What intervals are about: ``records`` or ``population``.
        weighted: Whether weights are used.
        usual: What intervals are about if nothing is chosen.
    """

    only: str
    level: float
    infer: str
    weighted: bool
    usual: str

    @classmethod
    def of(cls, form: Form, *, usual: str) -> RecordChoice:
        """From the address of a page."""
        level = form.number("level") or 0.95
        if level not in LEVELS:
            raise InputError(
                "The level must be one of {levels}.", levels=", ".join(map(str, LEVELS))
            )
        infer = form.get("infer") or usual
        if infer not in ("records", "population"):
            raise InputError("Intervals are about these records or about the population.")
        return cls(form.get("only"), level, infer, not form.get("unweighted"), usual)

    def arguments(self) -> dict[str, Any]:
        """As tasks take them."""
        conditions = parts_of(self.only, ";")
        return {
            "only": conditions, "level": self.level, "infer": self.infer, "weighted": self.weighted
        }  # fmt: skip

    def words(self) -> list[str]:
        """Options of the command line, without defaults."""
        words = [word for one in parts_of(self.only, ";") for word in ("--where", one)]
        words += ["--level", f"{self.level:g}"] if self.level != 0.95 else []
        words += ["--infer", self.infer] if self.infer != self.usual else []
        return words + ([] if self.weighted else ["--unweighted"])

    def python(self) -> str:
        """Arguments in Python, without defaults."""
        code = f", where={parts_of(self.only, ';')!r}" if self.only else ""
        code += f", level={self.level:g}" if self.level != 0.95 else ""
        code += f", infer={self.infer!r}" if self.infer != self.usual else ""
        return code + ("" if self.weighted else ", weighted=False")


@dataclass(frozen=True)
class TableQuestion:
    """A table: its columns, the kind of numbers, the column of a mean or total, the records."""

    by: tuple[str, ...]
    what: str
    of: str
    records: RecordChoice

    @classmethod
    def of_form(cls, form: Form) -> TableQuestion:
        """From the address of a page."""
        what = form.get("what") or "count"
        if what not in WHAT:
            raise InputError("The numbers must be one of {what}.", what=", ".join(WHAT))
        by = tuple(name for place, _ in PLACES for name in form.exact(place)[-1:] if name)
        if len(set(by)) < len(by):
            raise InputError("A table has every column once. Choose another one.")
        numbers = form.last("of") if what in ("mean", "total") else ""
        return cls(by, what, numbers, RecordChoice.of(form, usual="records"))

    @property
    def complete(self) -> bool:
        """Whether it can be answered."""
        return bool(self.by) or (self.what in ("mean", "total") and bool(self.of))

    def same(self, name: str) -> SameWork:
        """The same by the command line and by Python."""
        words = ["pramana", "estimate", folder_word(name)]
        words += ["--by", ",".join(map(as_part, self.by))] if self.by else []
        share = {"share": "total", "row": "row", "column": "column"}.get(self.what)
        words += ["--share", share] if share else []
        words += [f"--{self.what}", self.of] if self.of else []
        more = self.records.python()
        if self.of:
            call = f"{self.what}({self.of!r}, by={list(self.by)!r}{more})"
        else:
            shares = f", share={share!r}" if share else ""
            call = f"crosstab({', '.join(map(repr, self.by))}{shares}{more})"
        python = (
            f"release = pm.load({name!r})\ntable = release.{call}\n"
            "print(release.in_words(table))\ntable.plot()"
        )
        return SameWork(((*words, *self.records.words()),), f"{IMPORT}{python}")


@PAGES.get("/table")
async def show_table(request: Request, studio: Studio) -> Response:
    """The page; the columns to choose from come when they are read."""
    question = TableQuestion.of_form(form_in(request))
    name = studio.session.now.analysed
    same = question.same(name) if question.complete and name else None
    return page(request, "table.html", query=query_of(request), same=same)


@PAGES.get("/table/choices")
async def choices(request: Request, studio: Studio) -> Response:
    """The columns to choose from, and below them the table."""
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    form = form_in(request)
    return await part(
        request, job, "parts/table_form.html", poll=poll_of(request), form=form,
        asked=TableQuestion.of_form(form), places=PLACES, what=WHAT, levels=LEVELS,
        query=query_of(request),
    )  # fmt: skip


@PAGES.get("/table/found")
async def table_result(request: Request, studio: Studio) -> Response:
    """The table."""
    job = _table_job(request, studio)
    return await part(
        request, job, "parts/table.html", poll=poll_of(request), query=query_of(request),
        limit=analyst.UNRELIABLE,
    )  # fmt: skip


@PAGES.get("/table/export.{ending}")
async def export(request: Request, studio: Studio) -> Response:
    """The table as a file."""
    question = TableQuestion.of_form(form_in(request))
    return await _exported(request, _table_job(request, studio), Exported.of_table, question.same)


def _table_job(request: Request, studio: Studio) -> Job:
    question = TableQuestion.of_form(form_in(request))
    if not question.complete:
        raise InputError("Choose a column first.")
    return studio.jobs.ask(
        analyst.tabulate,
        lane="analyst",
        by=list(question.by),
        what=question.what,
        of=question.of,
        **release_of(studio),
        **question.records.arguments(),
    )


async def _exported(
    request: Request,
    job: Job,
    make: Callable[[Any, Any], Exported],
    same: Callable[[str], SameWork],
) -> Response:
    """The result of a job as the file that the address ends in."""
    ending = request.path_params["ending"]
    if ending not in MEDIA:
        raise InputError("A table is exported as csv or as xlsx.")
    unfinished = await waiting(request, job, patience=EXPORT_SECONDS)
    if unfinished is not None:
        raise InputError(job.words or "The numbers are being computed. Try again in a moment.")
    name = studio_of(request).session.now.analysed
    file = make(job.result, [("Release", name), ("Show code", same(name).shell)]).write(ending)
    headers = {"Content-Disposition": f'attachment; filename="table.{ending}"'}
    return Response(file, media_type=MEDIA[ending], headers=headers)


def form_in(request: Request) -> Form:
    """The question in the address."""
    return Form(list(request.query_params.multi_items()))


def query_of(request: Request) -> str:
    """The same again, without empty fields."""
    return urlencode([(n, v) for n, v in request.query_params.multi_items() if v])


def poll_of(request: Request) -> str:
    """The address of a part with the whole question."""
    return f"{request.url.path}?{query_of(request)}"


@PAGES.get("/model")
async def show_model(request: Request, studio: Studio) -> Response:
    """The page; the columns to choose from come when they are read."""
    form, name = form_in(request), studio.session.now.analysed
    if form.last("outcome") and not form.get("formula"):
        job = studio.jobs.ask(analyst.describe, **release_of(studio))
        if await waiting(request, job, patience=EXPORT_SECONDS) is not None:
            raise InputError(job.words or "The columns are not read yet. Try again in a moment.")
        formula, family = _formula_of(form, job.result["columns"])
        kept = [
            pair for pair in request.query_params.multi_items() if pair[0] not in PICKED and pair[1]
        ]
        return goto(f"/model?{urlencode([('formula', formula), ('family', family), *kept])}")
    same = _same_model(form, name) if form.get("formula") and name else None
    return page(request, "model.html", query=query_of(request), same=same)


@PAGES.get("/model/choices")
async def choices_model(request: Request, studio: Studio) -> Response:
    """The columns to choose from, and below them the coefficients."""
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    form = form_in(request)
    return await part(
        request, job, "parts/model_form.html", poll=poll_of(request), form=form,
        asking=RecordChoice.of(form, usual="population"), families=FAMILIES, levels=LEVELS,
        most=MOST_EXPLANATORY,
        query=query_of(request),
    )  # fmt: skip


@PAGES.get("/model/found")
async def model_result(request: Request, studio: Studio) -> Response:
    """The coefficients."""
    job, poll = _model_job(request, studio), poll_of(request)
    return await part(request, job, "parts/model.html", poll=poll, query=query_of(request))


@PAGES.get("/model/export.{ending}")
async def export_model(request: Request, studio: Studio) -> Response:
    """The coefficients as a file."""
    form = form_in(request)
    job = _model_job(request, studio)
    return await _exported(request, job, Exported.of_model, lambda name: _same_model(form, name))


def _formula_of(form: Form, columns: list[dict[str, Any]]) -> tuple[str, str]:
    """The formula and the family of a model whose variables were chosen from lists.

    A variable that is no number enters with a coefficient for each of its values but the first. A
    number as outcome makes a linear model, two values make a logistic one.
    """
    known = {column["name"]: column for column in columns}
    outcome = form.last("outcome")
    explanatory = [name for name in dict.fromkeys(form.exact("x")) if name]
    if not {outcome, *explanatory} <= {*known} or not explanatory or outcome in explanatory:
        raise InputError("Choose an outcome, and other variables that explain it.")

    def term(name: str) -> str:
        quoted = name if name.isidentifier() else f"`{name}`"
        return quoted if known[name]["number"] else f"C({quoted})"

    left = outcome if outcome.isidentifier() else f"`{outcome}`"
    chosen = form.get("family")
    family = chosen if chosen in FAMILIES else "linear" if known[outcome]["number"] else "logistic"
    return f"{left} ~ {' + '.join(map(term, explanatory))}", family


def _model_job(request: Request, studio: Studio) -> Job:
    form = form_in(request)
    formula, family = form.get("formula"), form.get("family") or "linear"
    if not formula or len(formula) > MOST_LETTERS:
        raise InputError(
            "Write a formula of at most {most_letters:,} letters.", most_letters=MOST_LETTERS
        )
    if family not in FAMILIES:
        raise InputError("The family must be one of {families}.", families=", ".join(FAMILIES))
    records = RecordChoice.of(form, usual="population").arguments()
    return studio.jobs.ask(
        analyst.model, lane="analyst", **release_of(studio), formula=formula, family=family,
        **records,
    )  # fmt: skip


def _same_model(form: Form, name: str) -> SameWork:
    records = RecordChoice.of(form, usual="population")
    formula, family = form.get("formula"), form.get("family") or "linear"
    options = [*(("--family", family) if family != "linear" else ()), *records.words()]
    last = [*options, "--", formula] if formula.startswith("-") else [formula, *options]
    family_code = f", family={family!r}" if family != "linear" else ""
    call = f"release.regress({formula!r}{family_code}{records.python()})"
    python = f"{IMPORT}release = pm.load({name!r})\nmodel = {call}\nprint(model)"
    return SameWork((("pramana", "regress", folder_word(name), *last),), python)
