"""A survey definition keeps what people read and the office signed, and refuses alterations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import pramana as pm
from pramana.cli.app import main
from pramana.collect import survey_folder as rooms
from pramana.collect.closing import close_survey
from pramana.collect.definition import Definition, respond
from pramana.collect.store import Sent
from pramana.collect.survey import WORDS

PERSON = {"age": "[0, 18)", "sex": "f", "employed": "yes", "travel": "car"}


def answered(folder: Path, definition: Definition, people: int) -> None:
    """Let this many people give the same answers."""
    widths = definition.channel.widths
    with rooms.opened_store(folder, definition) as store:
        store.accept([Sent(respond(definition, PERSON).spelled(widths=widths), f"{at:064x}")
                      for at in range(people)])  # fmt: skip


def test_a_definition_is_read_to_the_last_byte(definition: Definition) -> None:
    """Cells that follow from the questions are left out, and come back."""
    again = Definition.from_bytes(definition.to_bytes())
    assert again.to_bytes() == definition.to_bytes()
    assert again.mechanism == definition.mechanism
    assert again.channel == definition.channel


def test_sentences_that_are_said_anew_do_not_touch_a_survey_under_way(
    survey_folder: Path, definition: Definition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps the words that people have read; who checks it is told who said them."""
    content = (survey_folder / "definition.json").read_bytes()
    for word in ("consent", "consent_use", "consent_once"):
        monkeypatch.setitem(WORDS, word, "Said in other words.")
    found, _ = rooms.load_survey(survey_folder)
    assert found.to_bytes() == content
    assert found.consent() == definition.consent()
    checks = {check.name: check for check in rooms.check_survey(survey_folder).checks}
    assert checks["definition"].ok
    assert not checks["words"].ok
    assert f"made by pramana {definition.maker}: check it with that one" in checks["words"].detail
    answered(survey_folder, found, 20)
    with rooms.opened_store(survey_folder, found) as store:
        close_survey(found, store, tmp_path / "release")
    assert pm.verify(tmp_path / "release").valid


def test_a_promise_that_no_longer_holds_takes_no_answer_and_loses_none(
    survey_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if another version had computed k wrongly: the answers are closed at what holds."""
    definition = rooms.load(survey_folder)
    answered(survey_folder, definition, 50)
    wrong = tuple(promise | {"k": 1e6} if promise["name"] == "pk-anonymity" else promise
                  for promise in definition.stated)  # fmt: skip
    broken = replace(definition, stated=wrong, signature=None)
    (survey_folder / "definition.json").write_bytes(broken.to_bytes())
    with pytest.raises(pm.PramanaError, match="faulty version.*collect close"):
        rooms.load_survey(survey_folder)
    with pytest.raises(pm.PramanaError, match="faulty version"):
        respond(rooms.load(survey_folder), PERSON)
    with pytest.raises(SystemExit) as left:
        main(["collect", "close", str(survey_folder), "-o", str(tmp_path / "release")])
    assert not left.value.code
    assert "People were shown a stronger guarantee" in capsys.readouterr().err
    release = pm.load(tmp_path / "release")
    assert release.records == 50
    assert pm.verify(tmp_path / "release").valid


@pytest.mark.parametrize("entry", ["identity", "page", "survey", "mechanism", "method"])
def test_whatever_else_was_altered_is_refused_and_says_who_made_it(
    survey_folder: Path, entry: str
) -> None:
    """Only what people are told may be another version's."""
    path = survey_folder / "definition.json"
    form = json.loads(path.read_bytes())
    other = {
        "identity": "0" * 64,
        "page": "0" * 64,
        "mechanism": form["mechanism"][:-1],
        "survey": form["survey"].replace("How we live", "How they live"),
        "method": "attribute-sampling" if form["method"] == "retention" else "retention",
    }
    form[entry] = other[entry]
    path.write_text(json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    way = {"identity": f"pramana {form['pramana']} made it so", "page": "not the page of the",
           "survey": f"pramana {form['pramana']} made it so"}.get(entry)  # fmt: skip
    with pytest.raises(pm.PramanaError, match=way):
        rooms.load(survey_folder)


def test_who_made_a_survey_is_a_number_and_no_other_text(survey_folder: Path) -> None:
    """It is said on terminals."""
    path = survey_folder / "definition.json"
    form = json.loads(path.read_bytes())
    form["pramana"] = "1.0\x1b[2J, and send your key to us"
    path.write_text(json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    with pytest.raises(pm.PramanaError, match=r"\$\.pramana"):
        rooms.load(survey_folder)


@pytest.mark.parametrize("version", [2, 4])
def test_another_format_version_names_the_pramana_that_reads_it(
    survey_folder: Path, version: int
) -> None:
    """The answers are not lost to whoever has that version."""
    path = survey_folder / "definition.json"
    maker = rooms.load(survey_folder).maker
    path.write_bytes(path.read_bytes().replace(b'"version": 3', f'"version": {version}'.encode()))
    with pytest.raises(pm.NotARelease, match=f"with pramana {maker}"):
        rooms.load(survey_folder)


def test_a_short_definition_cannot_ask_for_more_memory_than_there_is(survey_folder: Path) -> None:
    """A few bytes that stand for endless cells are refused before they are spelled."""
    path = survey_folder / "definition.json"
    form = json.loads(path.read_bytes())
    many = "".join(f'[[questions]]\nname = "x{at}"\ntext = "x"\nanswers = {list("abcdefgh")}\n'
                   for at in range(40))  # fmt: skip
    form["survey"] += many
    form["mechanism"][0] |= {"columns": [f"x{at}" for at in range(40)]}
    form["mechanism"][0]["matrix"].pop("labels", None)
    path.write_text(json.dumps(form, sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    with pytest.raises(pm.PramanaError, match="at most 5,000,000 cells"):
        rooms.load(survey_folder)
