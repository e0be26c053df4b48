"""A survey that is under way when pramana is upgraded: no answer is lost, no word is changed.

``earlier`` is the folder of a survey that an earlier version made and signed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import pramana as pm
from pramana.cli.app import main
from pramana.collect import folder as rooms
from pramana.collect.closing import close_survey, status_of
from pramana.collect.definition import Definition, respond
from pramana.collect.store import Sent
from pramana.collect.texts import WORDS

EARLIER = Path(__file__).parent / "earlier"
WORKS = {"employed": "yes", "travel": "bus"}


def answered(folder: Path, definition: Definition, people: int, first: int = 0) -> None:
    """So many people answer alike."""
    widths = definition.channel.widths
    with rooms.opened_store(folder, definition) as store:
        store.accept([Sent(respond(definition, WORKS).spelled(widths=widths), f"{at:064x}")
                      for at in range(first, first + people)])  # fmt: skip


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A copy of the folder."""
    shutil.copytree(EARLIER, tmp_path / "survey")
    return tmp_path / "survey"


def test_a_survey_of_an_earlier_version_is_served_and_closed(earlier: Path, tmp_path: Path) -> None:
    """With its own bytes, its own page and its signature; the release verifies."""
    content = (earlier / "definition.json").read_bytes()
    form = json.loads(content)
    definition, page = rooms.load_survey(earlier)
    assert definition.to_bytes() == content
    assert definition.has_signature_of(earlier / "office.key.pub")
    assert (definition.identity, definition.consent()) == (form["identity"], form["consent"])
    assert hashlib.sha256(page).hexdigest() == form["page"]
    answered(earlier, definition, 300)
    with rooms.opened_store(earlier, definition) as store:
        assert status_of(definition, store).answers == 300
        release = close_survey(definition, store, tmp_path / "release")
    assert pm.verify(tmp_path / "release").valid
    assert release.certificate.collected is not None
    assert release.certificate.collected.survey == form["identity"]


def test_reports_of_an_earlier_version_are_read_to_the_last_byte() -> None:
    """Cells were spelled out then, also where they follow from the questions."""
    content = (EARLIER / "reports.json").read_bytes()
    definition = Definition.from_bytes(content)
    assert definition.to_bytes() == content
    now = replace(definition, version=2, maker="x", told=(), stated=())
    assert now.to_bytes().count(b"labels") < content.count(b"labels")
    again = Definition.from_bytes(now.to_bytes())
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
    with rooms.opened_store(survey_folder, found) as store:
        person = {"age": "[0, 18)", "sex": "f", "employed": "yes", "travel": "car"}
        store.accept([Sent(respond(found, person).spelled(widths=found.channel.widths),
                           f"{at:064x}") for at in range(20)])  # fmt: skip
        close_survey(found, store, tmp_path / "release")
    assert pm.verify(tmp_path / "release").valid


def test_a_promise_that_no_longer_holds_takes_no_answer_and_loses_none(
    earlier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if an earlier version had computed k wrongly: what came is closed at what holds."""
    definition = rooms.load(earlier)
    answered(earlier, definition, 50)
    wrong = tuple(own | {"k": 11.5} if own["name"] == "pk-anonymity" else own
                  for own in definition.stated)  # fmt: skip
    broken = replace(definition, stated=wrong, signature=None)
    (earlier / "definition.json").write_bytes(broken.to_bytes())
    with pytest.raises(pm.PramanaError, match="promised too much.*collect close"):
        rooms.load_survey(earlier)
    with pytest.raises(pm.PramanaError, match="promised too much"):
        respond(rooms.load(earlier), WORKS)
    with pytest.raises(SystemExit) as left:
        main(["collect", "close", str(earlier), "-o", str(tmp_path / "release")])
    assert not left.value.code
    assert "People were promised more than holds" in capsys.readouterr().err
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


def test_a_form_of_a_later_version_says_so(survey_folder: Path) -> None:
    """And that the answers are not lost to who has that version."""
    path = survey_folder / "definition.json"
    path.write_bytes(path.read_bytes().replace(b'"version": 2', b'"version": 3'))
    with pytest.raises(pm.PramanaError, match="a later one made it, which also serves and closes"):
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
