"""A survey from its first question to its release, by the pages of the studio."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from pramana import collect
from pramana.collect.survey import read_survey
from pramana.studio.pages.survey_builder import STARTER
from tests.studio.conftest import Visitor, words

QUESTION = {"kind": "answers", "name": "", "text": "", "values": "yes\nno"}
WHOLE = {
    "title": "Travel", "office": "Office", "about": "", "contact": "us", "retention": "a year",
    "language": "en", "other": "", "expected": "400", "minimum": "20", "target": "k",
    "number": "10", "survey_file": "travel.toml",
}  # fmt: skip


def form(*questions: dict[str, Any], **changed: str) -> dict[str, Any]:
    """What the page sends for these questions."""
    sent: dict[str, Any] = {**WHOLE, "questions": str(len(questions)), **changed}
    for at, question in enumerate(questions):
        sent |= {f"{name}-{at}": value for name, value in (QUESTION | question).items()}
    return sent


WORK = {"name": "work", "text": "Do you work?", "values": "1 = Yes\n2 = No", "optional": "1"}
TRAVEL = {"name": "travel", "text": "How do you get there?", "values": "bus\ncar"}
OWN = {"survey": "travel"}
AGE = {"name": "age", "text": "How old are you?", "kind": "bins", "values": "0, 18, 65, 120"}


@pytest.fixture
def draft(visitor: Visitor) -> Visitor:
    """Someone who has begun a survey."""
    assert visitor.post("/surveys/new").url.path == "/surveys/edit"
    return visitor


def entries(visitor: Visitor) -> dict[str, Any]:
    return tomllib.loads(visitor.session.now.survey)


def asked(address: str, sent: dict[str, str] | None = None) -> str:
    """What the collector answers."""
    body = None if sent is None else json.dumps(sent).encode()
    with urlopen(Request(address, body, {"content-type": "application/json"})) as answer:  # noqa: S310
        return str(answer.read().decode())


def test_a_form_is_the_survey_file(draft: Visitor) -> None:
    """Codes with texts, bins, an answer that may be refused, and a question for some people."""
    draft.post("/surveys/edit", form(AGE, WORK, TRAVEL | {"if": ["1.0"]}))
    survey = read_survey(draft.session.now.survey)
    assert (survey.title, survey.expected, survey.minimum, survey.target) == (
        "Travel", 400, 20, {"k": 10},
    )  # fmt: skip
    age, work, travel = survey.questions
    assert age.bins == (0, 18, 65, 120)
    assert dict(work.labels) == {"1": "Yes", "2": "No"}
    assert work.optional
    assert travel.conditions() == {"work": ["1"]}
    page = draft.get("/surveys/edit").text
    assert 'name="if-2" value="1.0" checked' in page
    assert 'name="if-2" value="1.1" >' in page
    assert "1 = Yes" in page


def test_the_starter_is_a_survey(draft: Visitor) -> None:
    """Its page can be tried at once."""
    assert read_survey(STARTER).questions
    assert 'class="phone"' in draft.part("/surveys/preview")


def test_questions_are_added_moved_and_removed(draft: Visitor) -> None:
    """By buttons that keep all that was typed; a condition follows the answers it names."""
    typed = (WORK, TRAVEL | {"if": ["0.1"]})
    draft.post("/surveys/edit", form(*typed, do="add"))
    assert [one["name"] for one in entries(draft)["questions"]] == ["work", "travel", "question_1"]
    draft.post("/surveys/edit", form(*typed, AGE, do="up-2"))
    questions = entries(draft)["questions"]
    assert [one["name"] for one in questions] == ["work", "age", "travel"]
    assert questions[2]["ask_if"] == {"work": ["2"]}
    draft.post("/surveys/edit", form(WORK, AGE, TRAVEL | {"if": ["0.1"]}, do="remove-1"))
    assert [one["name"] for one in entries(draft)["questions"]] == ["work", "travel"]
    draft.post("/undo")
    assert len(entries(draft)["questions"]) == 3


def test_a_second_language_has_texts_and_answers(draft: Visitor) -> None:
    """Lines of answers are in the order of the answers; an empty line stays as it is."""
    german = {
        "other": "de",
        "other-title": "Wege",
        "other-text-0": "Arbeiten Sie?",
        "other-values-0": "Ja\nNein",
        "other-values-1": "\nAuto",
    }
    draft.post("/surveys/edit", form(WORK, TRAVEL) | german)
    survey = read_survey(draft.session.now.survey).in_language("de")
    assert (survey.title, survey["work"].text) == ("Wege", "Arbeiten Sie?")
    assert survey["work"].labels == {"1": "Ja", "2": "Nein"}
    assert survey["travel"].labels == {"car": "Auto"}
    shown = draft.get("/surveys/edit").text
    assert ">\nJa\nNein\n</textarea>" in shown
    assert ">\n\nAuto\n</textarea>" in shown
    quiet = {"hx-request": "true"}
    again = draft.post("/surveys/edit", form(WORK, AGE) | german, **quiet)
    assert "HX-Refresh" in again.headers  # another kind of question has other fields
    again = draft.post("/surveys/edit", form(WORK, AGE, title="t") | german, **quiet)
    assert "HX-Refresh" not in again.headers
    draft.post("/surveys/edit", form(WORK, TRAVEL) | german | {"other": ""})
    assert "translations" not in entries(draft)


def test_entries_that_the_form_does_not_show_stay(visitor: Visitor, folder: Path) -> None:
    """Planned tables, words of the office and the unit of a number."""
    (folder / "whole.toml").write_text(
        'title = "t"\nexpected = 100\nk = 5\ntables = ["a"]\n[words]\nbegin = "Go"\n'
        '[[questions]]\nname = "a"\ntext = "a?"\npoints = [0, 10]\nstep = 5\n'
    )
    assert "whole.toml" in visitor.get("/surveys").text
    visitor.post("/surveys/new", {"file": "whole.toml"})
    typed = {"name": "b", "text": "b?", "kind": "points", "values": "0, 20"}
    visitor.post("/surveys/edit", form(typed))
    kept = entries(visitor)
    assert (kept["tables"], kept["words"]) == (["a"], {"begin": "Go"})
    assert kept["questions"] == [{"name": "b", "text": "b?", "points": [0, 20], "step": 5}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number": "much"}, "target"),
        ({"expected": "1"}, "expected must lie between 2"),
        ({"minimum": "500"}, "minimum must lie between 2 and 400"),
        ({"values-0": "yes"}, "'work' must have at least two answers"),
        ({"name-0": "my work"}, "name must be a word of letters"),
    ],
)
def test_what_is_no_survey_stays_typed_and_says_why(
    draft: Visitor, folder: Path, change: dict[str, str], said: str
) -> None:
    """The preview names what is missing; nothing is written."""
    draft.post("/surveys/edit", form(WORK) | change)
    page = draft.get("/surveys/edit").text
    assert all(value in page for value in change.values())
    assert said in words(draft.part("/surveys/preview"))
    draft.post("/surveys/edit", form(WORK, do="make") | change)
    assert not (folder / "travel").exists()
    assert not (folder / "travel.toml").exists()


@pytest.mark.parametrize("kind", ["points", "bins"])
def test_numbers_typed_wrong_are_named_with_what_to_type(draft: Visitor, kind: str) -> None:
    """The message names the question and gives an example; it shows no type of the program."""
    age = AGE | {"kind": kind}
    draft.post("/surveys/edit", form(age))
    draft.post("/surveys/edit", form(age | {"values": "0, ten, 20"}))
    assert "ten" in draft.get("/surveys/edit").text
    said = words(draft.part("/surveys/preview"))
    assert f"{kind} of 'age' must be numbers in rising order, such as 0, 10, 20." in said
    assert "float" not in said


def test_hostile_texts_are_escaped(draft: Visitor) -> None:
    """In the form, in the list of conditions, and in the page that is framed."""
    bad = "</textarea><script>alert(1)</script>"
    draft.post("/surveys/edit", form(WORK | {"text": bad, "values": f"{bad}\nno"}, TRAVEL))
    assert bad not in draft.get("/surveys/edit").text
    preview = draft.part("/surveys/preview")
    assert bad not in preview
    framed = draft.get(re.findall(r'src="(/surveys/preview/\w+)"', preview)[0])
    assert bad not in framed.text
    assert "sandbox allow-scripts;" in framed.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in framed.headers["content-security-policy"]


def test_a_survey_runs_in_the_studio(draft: Visitor, folder: Path) -> None:
    """Make it, start it, answer, stop it, and close it into a release that verifies."""
    made = draft.post("/surveys/edit", form(WORK, AGE, do="make"))
    assert "Its questions are fixed now" in made.text
    assert (folder / "travel.toml").exists()
    here = made.url.path
    started = draft.post(f"{here}/start", OWN).text
    address = re.findall(r'href="(http://127[^"]+)"', started)[0]
    assert "Travel" in asked(address)
    assert draft.post(f"{here}/start", OWN).text.count(address) == started.count(address)
    definition = collect.load(folder / "travel")
    for number in range(25):
        record = collect.respond(definition, {"work": "1", "age": "[18, 65)"})
        spelled = record.spelled(widths=definition.channel.widths)
        token = f"{number:064x}"
        sent = {"survey": definition.key, "record": spelled, "token": token, "work": ""}
        assert "accepted" in asked(f"{address}answer", sent)
    assert "25 of 400 expected have answered" in words(draft.get(f"{here}/live").text)
    other = draft.post(f"{here}/close", {"survey": "other", "release": "out", "final": "yes"})
    assert "no longer there" in other.text  # the address is of another survey by now
    assert address not in draft.post(f"{here}/stop", OWN).text
    with pytest.raises(URLError):
        asked(address)
    assert "Confirm" in draft.post(f"{here}/close", OWN | {"release": "out"}).text
    closed = draft.post(f"{here}/close", OWN | {"release": "out", "final": "yes"})
    assert "out holds 25 answers" in closed.text
    assert "passed" in words(draft.part("/release/checked"))


def test_codes_are_drawn_into_a_file(draft: Visitor, folder: Path) -> None:
    """For a survey that takes codes; others say that they take none."""
    here = draft.post("/surveys/edit", form(WORK, do="make", codes="1",
                                            survey_file="coded.toml")).url.path  # fmt: skip
    told = draft.post(
        f"{here}/invite", {"survey": "coded", "number": "30", "file": "codes.txt"}
    ).text
    assert "30 codes are in codes.txt" in told
    assert len((folder / "codes.txt").read_text().split()) == 30
    assert (
        "exists already"
        in draft.post(
            f"{here}/invite", {"survey": "coded", "number": "3", "file": "codes.txt"}
        ).text
    )
    assert (
        draft.post(
            f"{here}/invite", {"survey": "coded", "number": "3", "file": "../no-codes.txt"}
        ).status_code
        == 200
    )
    assert not (folder.parent / "no-codes.txt").exists()
