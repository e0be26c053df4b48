"""Pages in another language: by the browser or by a setting; files of a release stay English."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from pramana.base.translation import gettext, in_language
from pramana.errors import InputError
from tests.architecture.catalogue import marked
from tests.studio.conftest import Visitor, words

GERMAN = {"accept-language": "de-AT, de;q=0.9, en;q=0.5"}
PAGES = {"/": "Daten", "/columns": "Merkmale", "/asked": "Geplante Auswertungen",
         "/choose": "Schutzniveau", "/protect": "Prüfen und veröffentlichen", "/report": "Bericht",
         "/code": "Code", "/surveys": "Umfragen", "/release": "Eine Freigabe öffnen"}  # fmt: skip


@pytest.fixture
def opened(visitor: Visitor) -> Visitor:
    """Someone who has opened a table."""
    visitor.post("/open", {"file": "people.csv"})
    visitor.part("/columns/list")
    return visitor


def test_pages_are_in_the_language_of_the_browser(opened: Visitor) -> None:
    """None shows a text in English that the catalogue has in German."""
    with in_language("de"):
        english = [t for t in marked() if len(t) > 12 and gettext(t) != t and "%" not in t]
    for path, title in PAGES.items():
        answer = opened.get(path, **GERMAN)
        shown = _read(answer.text)
        assert '<html lang="de">' in answer.text, path
        assert title in shown, path
        assert [text for text in english if text in shown] == [], path


def test_other_browsers_get_english(opened: Visitor) -> None:
    """Where there is no catalogue for any language that they ask for."""
    text = opened.get("/columns", **{"accept-language": "fr"}).text
    assert '<html lang="en">' in text
    assert "Variables" in words(text)


def test_numbers_have_the_marks_of_the_language() -> None:
    """What is 1,234.5 in English is 1.234,5 in German."""
    from pramana.studio.view import percent, size

    with in_language("de"):
        assert percent(0.1234) == "12,3 %"
        assert size(5_300_000) == "5,3 MB"


def test_refusals_of_pages_are_translated(opened: Visitor) -> None:
    """Texts in which nothing is filled in."""
    shown = words(opened.get("/nowhere", **GERMAN).text)
    assert "Diese Seite gibt es hier nicht." in shown


def test_an_unknown_language_is_refused() -> None:
    """And those that are known are listed."""
    with pytest.raises(InputError, match="en, de"), in_language("xx"):
        pass


def test_a_value_in_a_translated_text_is_escaped() -> None:
    """Names are hostile; characters that turn the direction of text are made visible."""
    from pramana.studio.view import _templates

    template = _templates().from_string("{% trans name %}<b>{{ name }}</b> is{% endtrans %}")
    assert template.render(name="<i>\u202ea") == "<b>&lt;i&gt;\ufffda</b> is"


def _read(html: Any) -> str:
    """All that a page shows or reads aloud, without its code."""
    shown = re.sub(r"<pre.*?</pre>", "", html, flags=re.DOTALL)
    aloud = re.findall(r'(?:aria-label|title|placeholder)="([^"]*)"', shown)
    return " ".join([words(shown), *map(unescape, aloud)])
