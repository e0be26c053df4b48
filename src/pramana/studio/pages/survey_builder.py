"""The builder of a survey: its file as a form, and its page in the frame of a phone.

The draft is the text of the survey file, complete or not. Each change is saved in the session,
where it can be undone. Entries that the form does not show stay as they are.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pramana import api
from pramana.base.atomic_files import write_whole
from pramana.base.translation import gettext, noop
from pramana.errors import InputError
from pramana.studio import tasks
from pramana.studio.jobs import Job
from pramana.studio.view import (
    Form,
    Pages,
    SameWork,
    Studio,
    fragment,
    goto,
    page,
    part,
    saved,
    typed_number,
)

PAGES: Final = Pages()


class AnswerKind(NamedTuple):
    """A way to answer: its name, the field of its possible answers, and what a new one has."""

    words: str
    field: str
    hint: str
    begins: tuple[Any, ...]


KINDS: Final = {
    "answers": AnswerKind(
        noop("Choose an answer"),
        noop("Answer options"),
        noop("One answer a line. To store a code, write 1 = Yes."),
        ("yes", "no"),
    ),
    "bins": AnswerKind(
        noop("Type a number, kept as a group"),
        noop("Edges of the groups"),
        noop("Numbers in rising order. 0, 18, 65, 120 makes three groups."),
        (0, 18, 65, 120),
    ),
    "points": AnswerKind(
        noop("Type a number, rounded by chance"),
        noop("Points to round to"),
        noop(
            "Numbers in rising order. People can type any number from the first to the last. "
            "Means stay unbiased."
        ),
        (0, 1000, 2000, 5000),
    ),
    "months": AnswerKind(
        noop("Choose a month"),
        noop("The first and the last month"),
        noop("As 2020-01, 2026-12."),
        ("2020-01", "2026-12"),
    ),
}
TARGETS: Final = {
    "k": noop("Link an answer to its person with probability at most 1 in"),
    "epsilon": noop("Epsilon of each person's answers"),
    "central_epsilon": noop("Epsilon of all answers in random order"),
}
TEXTS: Final = {
    "title": noop("Title"),
    "office": noop("Office"),
    "about": noop("What the answers are for"),
    "contact": noop("Contact for questions and complaints"),
    "retention": noop("How long the answers are kept"),
}
LANGUAGES: Final = {"en": "English", "de": "German"}
STARTER: Final = """\
title = "New survey"
expected = 1000
minimum = 500
k = 20

[[questions]]
name = "question_1"
text = "Do you agree?"
answers = ["yes", "no"]
"""
BLANK: Final = {"name": "", "text": "", "optional": False, "ordered": False, "ask_if": {}}
FRAMED: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; img-src data:; sandbox allow-scripts; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
"""The page of a survey runs its script, and reaches neither the studio nor the network."""


@PAGES.post("/surveys/new")
async def begin(studio: Studio, form: Form) -> Response:
    """A draft from a survey file of the folder, or a new one."""
    name = form.get("file")
    text = STARTER
    if name:
        text = api.text_of(studio.session.place(name), what="survey file")
        _read(text)
    studio.session.change("Began a survey", survey=text, survey_file=name or "survey.toml")
    return goto("/surveys/edit")


@PAGES.get("/surveys/edit")
async def edit(request: Request, studio: Studio) -> Response:
    """The form, and the page of the survey."""
    now = studio.session.now
    if not now.survey:
        raise InputError("Begin a survey first.")
    draft = _read(now.survey)
    folder = now.survey_file.removesuffix(".toml")
    same = SameWork(
        (("pramana", "collect", "new", now.survey_file, "-o", f"{folder}/"),),
        "from pathlib import Path\n\nfrom pramana import collect\n\n"
        f"collect.new_survey(Path({now.survey_file!r}), Path({folder!r}))",
        ((now.survey_file, now.survey),),
    )
    return page(
        request,
        "survey_builder.html",
        draft=draft,
        questions=_forms(draft),
        target=next((name for name in TARGETS if name in draft), "k"),
        kinds=KINDS,
        targets=TARGETS,
        texts=TEXTS,
        languages=LANGUAGES,
        other=_other(draft),
        folder=folder,
        same=same,
    )


@PAGES.post("/surveys/edit")
async def change(request: Request, studio: Studio, form: Form) -> Response:
    """Keep what the form states; a button adds, moves or removes a question."""
    session = studio.session
    before = _read(session.now.survey)
    draft = _with_form(before, form)
    at = _arranged(draft["questions"], form.get("do"))
    name = form.get("survey_file")
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_. -]*\.toml", name):
        raise InputError("The name of a survey file must end in .toml.")
    session.change("Changed the survey", survey=api.survey_toml(draft), survey_file=name)
    if form.get("do") in ("save", "make"):
        return await _written(studio, make=form.get("do") == "make", force=bool(form.get("force")))
    if not request.headers.get("hx-request"):
        return goto("/surveys/edit" if at is None else f"/surveys/edit#question-{at}")
    shown = [(_other(one), *map(_kind, one["questions"])) for one in (before, draft)]
    if shown[0] != shown[1]:
        return Response(status_code=204, headers={"HX-Refresh": "true"})  # other fields
    return saved(studio, fragment(request, "parts/survey_conditions.html", questions=_forms(draft)))


async def _written(studio: Studio, *, make: bool, force: bool) -> Response:
    """The survey file, and the folder that is made of it."""
    session = studio.session
    name = session.now.survey_file
    api.read_survey(session.now.survey)  # refused before anything is written
    file, folder = session.target(name), session.target(name.removesuffix(".toml"))
    if make:
        api.require_free(folder, force=False)
    if not (make and file.exists() and file.read_text(encoding="utf-8") == session.now.survey):
        write_whole(file, session.now.survey, force=force)
    if not make:
        session.notice = f"{name} is written."
        return goto("/surveys/edit")
    await asyncio.to_thread(api.new_survey, file, folder)
    places = await asyncio.to_thread(api.surveys, session.folder)
    at = next(at for at, place in enumerate(places) if session.folder / place.name == folder)
    session.notice = gettext(
        "The survey is in the folder {folder}. Its questions are fixed now.", folder=folder.name
    )
    return goto(f"/surveys/{at}")


@PAGES.get("/surveys/preview")
async def preview(request: Request, studio: Studio) -> Response:
    """The texts for respondents, and the page in the frame of a phone; or what is missing."""
    job = _preview(studio)
    return await part(request, job, "parts/survey_preview.html", key=job.key)


@PAGES.get("/surveys/preview/{key}")
async def framed(request: Request, studio: Studio) -> Response:
    """The page itself, to try out: it sends nothing."""
    job = studio.jobs.find(request.path_params["key"])
    if job is None or job.function is not tasks.preview_survey or job.condition != "done":
        raise InputError("The survey was changed. Load the page again.")
    return HTMLResponse(job.result["page"], headers=FRAMED)


def _preview(studio: Studio) -> Job:
    text = studio.session.now.survey
    return studio.jobs.ask(tasks.preview_survey, lane="survey", keep=False, quick=True, text=text)


# -- the survey file as a form ---------------------------------------------------------------------


def _read(text: str) -> dict[str, Any]:
    """The entries of a survey file, of which only the outline must be right."""
    draft = api.read_toml(text, what="The survey")
    questions = draft.get("questions")
    if not isinstance(questions, list) or not all(isinstance(one, dict) for one in questions):
        raise InputError("This file is no survey: it has no list of questions.")
    of_tables = [(entry, name) for entry in questions for name in ("ask_if", "labels")]
    if not all(
        isinstance(at.get(name, {}), dict) for at, name in (*of_tables, (draft, "translations"))
    ):
        raise InputError("In a survey file ask_if, labels and translations must be tables.")
    if not all(isinstance(entry.get(_kind(entry), []), list | dict) for entry in questions):
        raise InputError("In a survey file the answers to a question must be a list or a table.")
    return draft


def _forms(draft: dict[str, Any]) -> list[dict[str, Any]]:
    """Each question as the form shows it, with the answers to earlier ones as conditions."""
    forms: list[dict[str, Any]] = []
    for question in draft["questions"]:
        kind = _kind(question)
        conditions = question.get("ask_if", {})
        forms.append(
            {
                **BLANK,
                **question,
                "kind": kind,
                "values": _values(question, kind),
                "answers": _codes(question),
                "earlier": [
                    (at, one["name"], one["text"], [
                        (place, text, code in map(str, conditions.get(one["name"], ())))
                        for place, (code, text) in enumerate(one["answers"].items())
                    ])
                    for at, one in enumerate(forms) if one["answers"]
                ],
            }
        )  # fmt: skip
    return forms


def _kind(question: dict[str, Any]) -> str:
    return next((kind for kind in KINDS if kind in question), "answers")


def _codes(question: dict[str, Any]) -> dict[str, str]:
    """The listed answers by their codes, as people read them."""
    listed = question.get("answers", ())
    texts = (listed if isinstance(listed, dict) else {}) | question.get("labels", {})
    return {str(code): str(texts.get(str(code), code)) for code in listed}


def _values(question: dict[str, Any], kind: str) -> str:
    """The possible answers, in the spelling of the form."""
    if kind != "answers":
        return ", ".join(map(str, question[kind]))
    codes = _codes(question).items()
    return "\n".join(code if code == text else f"{code} = {text}" for code, text in codes)


def _other(draft: dict[str, Any]) -> str:
    """The second language of the form."""
    stated = draft.get("translations", {})
    return next((language for language in LANGUAGES if language in stated), "")


def _translated(old: dict[str, Any], form: Form, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """The texts in the second language: answers are a line each, in the order of the answers."""
    texts = {name: form.get(f"other-{name}") for name in TEXTS}
    asked = {one["name"]: form.get(f"other-text-{at}") for at, one in enumerate(questions)}
    answers = {
        one["name"]: {
            code: line.strip()
            for code, line in zip(
                _codes(one), form.last(f"other-values-{at}").splitlines(), strict=False
            )
            if line.strip()
        }
        for at, one in enumerate(questions)
    }
    kept = {name: value for name, value in old.items() if name in ("words", "direction")}
    stated = {**texts, "questions": {n: t for n, t in asked.items() if t},
              "answers": {n: t for n, t in answers.items() if t}}  # fmt: skip
    return kept | {name: value for name, value in stated.items() if value}


def _with_form(draft: dict[str, Any], form: Form) -> dict[str, Any]:
    """The entries of the draft with what the form says; an empty field is no entry."""
    target = form.choice("target", TARGETS, "Choose a guarantee.")
    new = {name: value for name, value in draft.items() if name not in (*TARGETS, "questions")}
    stated: dict[str, Any] = {name: form.get(name) for name in TEXTS}
    stated |= {name: _number(form.get(name)) for name in ("expected", "minimum")}
    stated |= {"language": form.get("language"), "codes": bool(form.get("codes"))}
    stated[target] = _number(form.get("number"))
    new = {
        name: value for name, value in (new | stated).items() if value != "" and value is not False
    }
    before = draft["questions"]
    new["questions"] = []
    for at in range(int(form.number("questions") or 0)):
        old = before[at] if at < len(before) else {}
        new["questions"].append(_question(old, form, at, new["questions"]))
    other = form.choice("other", ("", *LANGUAGES), "There is no such language.")
    translations = dict(new.pop("translations", {}))
    texts = translations.pop(_other(draft), {})
    if other and other != form.get("language"):
        translations = {other: _translated(texts, form, new["questions"]), **translations}
    if translations:
        new["translations"] = translations
    return new


def _question(
    old: dict[str, Any], form: Form, at: int, before: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A question as the form says it."""
    kind = form.choice(f"kind-{at}", KINDS, "Choose how people answer.")
    typed = form.get(f"values-{at}")
    values: Any
    if old and kind != _kind(old):  # the answers of another kind are of no use
        values = list(KINDS[kind].begins)
    elif kind == "answers":
        pairs = [line.partition(" = ") for line in typed.splitlines() if line.strip()]
        values = [code.strip() for code, _, _ in pairs]
        if any(text for _, _, text in pairs) and len({*values}) == len(values):
            values = {code.strip(): text.strip() or code.strip() for code, _, text in pairs}
    else:
        words = [word for word in re.split(r"[\s,;]+", typed) if word]
        values = words if kind == "months" else list(map(_number, words))
    shown = ("name", "text", *KINDS, "labels", "optional", "ordered", "ask_if")
    kept = {name: value for name, value in old.items() if name not in shown}
    new = {"name": form.get(f"name-{at}"), "text": form.get(f"text-{at}"), kind: values, **kept}
    flags = {name: True for name in ("optional", "ordered") if form.get(f"{name}-{at}")}
    conditions = _conditions(old, form.all(f"if-{at}"), before) if kind != "points" else {}
    return new | flags | ({"ask_if": conditions} if conditions else {})


def _conditions(
    old: dict[str, Any], ticked: Sequence[str], before: Sequence[dict[str, Any]]
) -> dict[str, list[str]]:
    """The answers to earlier questions with which it is asked; questions about numbers stay."""
    listed = {question["name"]: list(_codes(question)) for question in before}
    unlisted = [name for name, answers in listed.items() if not answers]
    stated: dict[str, list[str]] = {
        name: answers for name, answers in old.get("ask_if", {}).items() if name in unlisted
    }
    for word in ticked:
        at, _, place = word.partition(".")
        name = before[int(at)]["name"] if at.isdigit() and int(at) < len(before) else ""
        if place.isdigit() and int(place) < len(listed.get(name, ())):
            stated.setdefault(name, []).append(listed[name][int(place)])
    return stated


def _arranged(questions: list[dict[str, Any]], do: str) -> int | None:
    """Add, move or remove a question; which one to look at then."""
    word, _, number = do.partition("-")
    at = int(number) if number.isdigit() and int(number) < len(questions) else None
    if word == "add":
        names = {question["name"] for question in questions}
        free = next(n for n in range(1, len(questions) + 2) if f"question_{n}" not in names)
        questions.append(
            {"name": f"question_{free}", "text": "Question?", "answers": ["yes", "no"]}
        )
        return len(questions) - 1
    if at is None:
        return None
    if word == "remove":
        del questions[at]
        return None
    other = at + {"up": -1, "down": 1}.get(word, 0)
    if 0 <= other < len(questions):
        questions[at], questions[other] = questions[other], questions[at]
    return other


def _number(text: str) -> int | float | str:
    """A number where it reads as one; what else was typed stays for the check of the survey."""
    digits = typed_number(text)
    try:
        return int(digits) if re.fullmatch(r"-?\d{1,15}", digits) else float(digits)
    except ValueError:
        return text
