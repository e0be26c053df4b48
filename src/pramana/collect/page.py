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

from pramana.collect.channel import follow
from pramana.collect.consent import NOT_SAID, SKIPPED, WORDS
from pramana.collect.definition import Definition
from pramana.collect.survey import SurveyQuestion
from pramana.schema.domains import label_text
from pramana.types import Form


def pages_of(definition: Definition) -> tuple[bytes, bytes]:
    """The page of a survey, which depends on nothing but its definition, and one to try it out.

    The latter is the same, and sends nothing.
    """
    known = questionnaire(definition)
    return _page(definition, known), _page(definition, known | {"trial": True})


def _page(definition: Definition, known: Form) -> bytes:
    survey = definition.survey
    style, script = _asset("page.css"), _asset("sampler.js") + _asset("page.js")
    content = json.dumps(known, ensure_ascii=False, sort_keys=True, allow_nan=False)
    parts = {
        "language": html.escape(survey.language),
        "direction": survey.direction,
        "title": html.escape(survey.title),
        "noscript": html.escape(survey.said("noscript")),
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


def questionnaire(definition: Definition) -> Form:
    """All that the page knows."""
    survey = definition.survey
    return {
        "trial": False,
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
        "channel": _channel(definition),
        "words": {word: survey.said(word) for word in WORDS if not word.startswith("consent")},
    }


def _channel(definition: Definition) -> Form:
    """The channel; cells that are all combinations of answers are left to the page to spell."""
    form, answers = definition.channel.to_json(), definition.answers
    for asked, one in zip(form["asked"], definition.channel.asked, strict=True):
        for told, draw in zip(asked["draws"], one.draws, strict=True):
            if not follow(draw.columns, draw.cells, answers):
                told["cells"] = [list(cell) for cell in draw.cells]
    return form


def _question(one: SurveyQuestion) -> Form:
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
