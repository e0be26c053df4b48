"""Answers in PostgreSQL: counted once, tied to nothing, shared by several collectors."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pramana.collect.closing import close_survey
from pramana.collect.definition import respond
from pramana.collect.folder import new_survey
from pramana.collect.postgres import PostgresStore
from pramana.collect.store import Outcome, Sent, open_store
from pramana.errors import InputError
from pramana.release.verify import verify_folder
from tests.collect.conftest import PERSON, survey_text

NUMBERS = itertools.count()
OPENED: list[PostgresStore] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Every store that a test opens is closed after it."""
    yield
    while OPENED:
        OPENED.pop().close()


def store(url: str, *, codes: bool = False, identity: str | None = None) -> PostgresStore:
    own = identity or f"{next(NUMBERS):064x}"[::-1]
    found = open_store(url, identity=own, codes=codes)
    assert isinstance(found, PostgresStore)
    OPENED.append(found)
    return found


def test_the_same_answer_counts_once(postgres: str) -> None:
    """In one batch, in another one, and for another collector."""
    identity = "f" * 64
    one, other = store(postgres, identity=identity), store(postgres, identity=identity)
    sent = Sent("0.1", "t" * 64)
    assert one.accept([sent, sent]) == [Outcome.ACCEPTED, Outcome.AGAIN]
    assert other.accept([sent]) == [Outcome.AGAIN]
    assert list(one.records()) == ["0.1"]


def test_codes_answer_once(postgres: str) -> None:
    """An unknown one never."""
    kept = store(postgres, codes=True)
    kept.invite(["AAAAA", "BBBBB"])
    sent = [Sent("0.1", "AAAAA"), Sent("0.2", "CCCCC"), Sent("0.3", "AAAAA"), Sent("4", "BBBBB")]
    assert kept.accept(sent) == [
        Outcome.ACCEPTED, Outcome.UNKNOWN, Outcome.AGAIN, Outcome.ACCEPTED
    ]  # fmt: skip
    assert kept.tally() == {"0.1": 1, "4": 1}


def test_several_collectors_share_a_survey(postgres: str) -> None:
    """Four at once, each answer sent by two of them: every one is there once."""
    identity = "e" * 64
    stores = [store(postgres, identity=identity) for _ in range(4)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for begin in range(0, 400, 20):
                own = [Sent(f"{at:04d}", f"{at:064x}") for at in range(begin, begin + 20)]
                stores[number].accept(own if number % 2 else own[::-1])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not errors
    assert sorted(stores[0].records()) == [f"{at:04d}" for at in range(400)]


def test_stirring_hides_the_order_of_arrival(postgres: str) -> None:
    """Rows lie in the order of their random numbers, written by one transaction."""
    kept = store(postgres)
    for at in range(100):
        kept.accept([Sent(f"{at:03d}", f"{at:064x}")])
    kept.stir()
    rows = kept._run("SELECT record, place, xmin::text FROM {}_records ORDER BY ctid").fetchall()
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)
    assert len({row[2] for row in rows}) == 1
    assert sorted(row[0] for row in rows) == [f"{at:03d}" for at in range(100)]


def test_a_survey_in_postgres_becomes_a_release(postgres: str, tmp_path: Path) -> None:
    """The folder verifies as any other."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("reports"))
    definition, _ = new_survey(source, tmp_path / "survey")
    kept = store(postgres, identity=definition.identity)
    widths = definition.channel.widths
    kept.accept(
        [
            Sent(respond(definition, PERSON).spelled(widths=widths), f"{at:064x}")
            for at in range(900)
        ]
    )
    close_survey(definition, kept, tmp_path / "release")
    assert verify_folder(tmp_path / "release").valid


def test_a_database_that_is_not_there_is_said_in_one_line() -> None:
    """No word of the URL, which may hold a password."""
    with pytest.raises(InputError, match="cannot be reached") as caught:
        open_store("postgresql://office:secret@127.0.0.1:9/x", identity="a" * 64, codes=False)
    assert "secret" not in str(caught.value)
