"""The page that people open: one file, with all that it needs inside.

Its script and its style are allowed by their digests, so that a page that was changed on its way
does not run; the digest of the whole file stands in the signed definition.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pramana.collect.definition import Definition
from pramana.collect.survey import NOT_SAID, SKIPPED, SurveyQuestion
from pramana.table.domains import label_text

__all__ = ["WORDS", "page_of", "questionnaire"]

WORDS: Final = {
    "promise": "What is promised to you",
    "more": "The promise in numbers",
    "identity": "This survey:",
    "code": "Your invitation code",
    "code_needed": "Enter the code from your invitation.",
    "code_unknown": "This code is not known here. Look at your invitation again.",
    "code_used": "This code has answered before. It answers once, and nothing more is sent.",
    "begin": "Begin",
    "question": "Question",
    "of": "of",
    "next": "Next",
    "back": "Back",
    "choose": "Choose one answer.",
    "number": "Enter a number from",
    "to": "to",
    "review": "This will be sent",
    "review_words": "Chance has changed your answers, or left them as they are. Only what stands "
    "in the last column leaves this device. Chance decides once: it cannot be tried again.",
    "chance": "The probability that it is sent as you said it was at most",
    "said": "You said",
    "sent": "Will be sent",
    "exactly": "Letter by letter:",
    "send": "Send",
    "save": "Save it as a file and send it later",
    "upload": "I have saved an answer as a file",
    "upload_file": "The file",
    "offline": "There is no connection. Try again, or save it as a file and send it later.",
    "offline_wave": "There is no connection to ask which wave it is. Try again later.",
    "refused": "It was not accepted. Try again later.",
    "closed": "The survey is closed: no more answers are taken.",
    "trial": "This page is for trying out: nothing is kept, and nothing is sent.",
    "thanks": "Thank you",
    "done": "Your changed answers have arrived.",
    "again": "You have answered before, and this device would only send the same again.",
    SKIPPED: "Does not apply to me",
    NOT_SAID: "I prefer not to say",
}
"""All that a page says; an office may say it in another language."""


def page_of(definition: Definition, *, trial: bool = False) -> bytes:
    """The page of a survey, which depends on nothing but its definition.

    The one for trying out is the same, and sends nothing.
    """
    survey = definition.survey
    style, script = _asset("page.css"), _asset("sampler.js") + _asset("page.js")
    known = questionnaire(definition) | {"trial": trial}
    content = json.dumps(known, ensure_ascii=False, sort_keys=True, allow_nan=False)
    parts = {
        "language": html.escape(survey.language),
        "direction": survey.direction,
        "title": html.escape(survey.title),
        "script_hash": _digest(script),
        "style_hash": _digest(style),
        "style": style,
        # No text of the survey can end the element that holds it.
        "survey": content.replace("<", "\\u003c"),
        "script": script,
    }
    page = _asset("page.html")
    head, *rest = page.split("{{")
    filled = [head]
    for part in rest:
        name, after = part.split("}}", 1)
        filled += [parts[name], after]
    return "".join(filled).encode()


def questionnaire(definition: Definition) -> dict[str, Any]:
    """All that the page knows."""
    survey = definition.survey
    return {
        "identity": definition.identity,
        "title": survey.title,
        "office": survey.office,
        "about": survey.about,
        "codes": survey.codes,
        "keys": definition.keys,
        "panel": survey.waves > 1,
        "work": survey.work,
        "file": f"answer-{definition.identity[:8]}",
        "skipped": SKIPPED,
        "not_said": NOT_SAID,
        "consent": definition.consent(),
        "questions": [_question(one) for one in survey.questions],
        "channel": definition.channel.to_json(),
        "words": WORDS | dict(survey.words),
    }


def _question(one: SurveyQuestion) -> dict[str, Any]:
    return {
        "name": one.name,
        "text": one.text,
        "answers": [label_text(answer) for answer in one.domain.labels],
        "labels": dict(one.labels),
        "bins": list(one.bins) or None,
    }


@cache
def _asset(name: str) -> str:
    return files("pramana.collect").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
