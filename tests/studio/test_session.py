"""What was chosen is kept, undone, brought back, and never half written."""

from __future__ import annotations

from pathlib import Path

import pytest

from pramana.errors import InputError
from pramana.studio.session import HOME, StudioSession
from tests.studio.conftest import PEOPLE, Visitor


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder that no other test uses."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def test_a_session_is_closed_and_opened_again(own: Path) -> None:
    """All states, and which is the present one."""
    first = StudioSession(own)
    first.change("Opened", file="people.csv")
    first.change("Aimed", target={"k": 100})
    first.undo()
    first.close()
    second = StudioSession(own)
    assert second.now.file == "people.csv"
    assert second.now.target == {}
    assert second.redoes == "Aimed"
    second.redo()
    assert second.now.target == {"k": 100}


def test_a_change_forgets_what_was_undone(own: Path) -> None:
    """And a change that changes nothing is none."""
    session = StudioSession(own)
    session.change("One", method="retention")
    session.change("Two", method="attribute-sampling")
    session.undo()
    session.change("Three", method="optimal")
    assert session.redoes == ""
    session.change("Again", method="optimal")
    assert session.undoes == "Three"


def test_only_the_owner_may_look(own: Path) -> None:
    """The folder is 0700, the files are 0600."""
    session = StudioSession(own)
    session.change("Opened", file="people.csv")
    assert (own / HOME).stat().st_mode & 0o777 == 0o700
    assert (own / HOME / "session.json").stat().st_mode & 0o777 == 0o600


def test_a_session_that_cannot_be_read_is_put_aside(own: Path) -> None:
    """It is kept under another name, and the studio begins anew."""
    StudioSession(own).close()
    (own / HOME / "session.json").write_text("{")
    assert StudioSession(own).now.file == ""
    assert (own / HOME / "session.unreadable").exists()


def test_one_folder_has_one_studio(own: Path) -> None:
    """A second one would write over the states of the first."""
    session = StudioSession(own)
    with pytest.raises(InputError, match="open on this folder already"):
        StudioSession(own)
    session.close()
    StudioSession(own)


def test_a_form_of_an_older_page_is_not_taken(visitor: Visitor) -> None:
    """Two tabs: the second one is told that something changed, and loses nothing."""
    shown = visitor.session.number
    visitor.post("/open", {"file": "people.csv", "state": shown})
    answer = visitor.post("/open", {"file": "other.csv", "state": shown})
    assert "changed meanwhile" in answer.text
    assert visitor.session.now.file == "people.csv"


def test_undo_of_an_older_page_is_not_taken(visitor: Visitor) -> None:
    """What another tab has done meanwhile is not taken back unseen, nor brought back."""
    visitor.post("/open", {"file": "people.csv"})
    shown = visitor.session.number
    assert f'action="/undo"><input type="hidden" name="state" value="{shown}">' in (
        visitor.get("/").text
    )
    visitor.post("/open", {"file": "other.csv", "state": shown})
    assert "changed meanwhile" in visitor.post("/undo", {"state": shown, "here": "/"}).text
    assert visitor.session.now.file == "other.csv"
    shown = visitor.session.number
    visitor.post("/undo", {"state": shown, "here": "/"})
    assert "changed meanwhile" in visitor.post("/redo", {"state": shown, "here": "/"}).text
    assert visitor.session.now.file == "people.csv"


def test_what_is_filled_in_makes_no_page_old(own: Path) -> None:
    """Nobody has changed anything: what a page showed can still be taken back."""
    session = StudioSession(own)
    session.change("Opened", file="a.csv")
    shown = session.number
    session.settle(schema="proposed")
    assert session.number == shown
    session.close()
    assert StudioSession(own).now.schema == "proposed"


def test_undo_leads_back_to_the_page_and_nowhere_else(visitor: Visitor) -> None:
    """An address of another place is not followed."""
    visitor.post("/open", {"file": "people.csv"})
    answer = visitor.client.post(
        "/undo",
        data={"here": "//evil.example/"},
        headers={"origin": "http://127.0.0.1:8123"},
        follow_redirects=False,
    )
    assert answer.headers["location"] == "/"
    assert visitor.session.now.file == ""


@pytest.mark.parametrize("name", [".pramana-studio", ".pramana-studio/results"])
def test_no_link_stands_for_a_folder_of_the_studio(own: Path, name: str) -> None:
    """What a folder that somebody else has packed points to is neither emptied nor opened."""
    other = own / "private"
    (other / "results").mkdir(parents=True)
    (other / "results" / "kept.csv").write_text("a")
    (own / name).parent.mkdir(exist_ok=True)
    (own / name).symlink_to(other)
    with pytest.raises(InputError, match="is a link or a file"):
        StudioSession(own)
    assert (other / "results" / "kept.csv").exists()
