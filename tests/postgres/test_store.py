"""Answers in PostgreSQL: counted once, tied to nothing, shared by several collectors."""

from __future__ import annotations

import asyncio
import itertools
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pramana.collect.closing import close_survey, live
from pramana.collect.definition import respond
from pramana.collect.store import Outcome, PostgresStore, Sent, open_store
from pramana.collect.survey_folder import invite, new_survey, opened_store
from pramana.errors import InputError
from pramana.studio.app import studio_application
from pramana.studio.serving import Origin
from pramana.studio.session import StudioSession
from pramana.verification.verify import verify_folder
from tests.collect.collectors import Collector, Nursery
from tests.collect.conftest import PERSON, survey_text
from tests.postgres.conftest import Database
from tests.studio.conftest import ORIGIN, TOKEN

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


def test_two_collectors_serve_one_survey(postgres: str, tmp_path: Path) -> None:
    """As processes, through HTTP: each answer is sent to both at once, and counts once."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("attribute-sampling", extra='language = "fr"\n'))
    definition, _ = new_survey(source, tmp_path / "survey")
    nurseries = [Nursery(), Nursery()]
    both = [Collector(tmp_path / "survey", own, database=postgres) for own in nurseries]

    async def sent(first: int) -> list[int]:
        bodies = [both[0].body(first + at) for at in range(50)]
        return await asyncio.gather(*(one.post(body) for body in bodies for one in both))

    try:
        for one in both:
            one.start()
        for first in range(0, 200, 50):
            assert asyncio.run(sent(first)) == [200] * 100
    finally:
        for one, own in zip(both, nurseries, strict=True):
            one.kill(signal.SIGTERM)
            own.close()
    assert store(postgres, identity=definition.identity).count() == 200


def tied(kept: PostgresStore) -> dict[str, list[str]]:
    """What an administrator reads off the rows of each table: where they lie, and who wrote them.

    A token whose transaction wrote one record is tied to it.
    """
    queries = {
        "records": "SELECT xmin::text FROM {}records ORDER BY ctid",
        "tokens": "SELECT xmin::text FROM {}tokens ORDER BY ctid",
    }
    return {
        table: [str(row[0]) for row in kept._run(query).fetchall()]
        for table, query in queries.items()
    }


@pytest.mark.parametrize("how", ["stir", "close", "finish"])
@pytest.mark.parametrize("codes", [False, True])
def test_stirring_hides_the_order_of_arrival(postgres: str, how: str, codes: bool) -> None:
    """Rows lie in the order of their random numbers; each table has one transaction of its own."""
    identity = f"{next(NUMBERS):064x}"[::-1]
    kept = store(postgres, identity=identity, codes=codes)
    if codes:
        kept.invite(f"{at:064x}" for at in range(100))
    for at in range(100):
        kept.accept([Sent(f"{at:03d}", f"{at:064x}")])
    before = tied(kept)
    assert sorted(before["records"]) == sorted(before["tokens"])  # one by one, all are tied
    getattr(kept, how)()
    looked = store(postgres, identity=identity, codes=codes)
    after = tied(looked)
    assert [len(set(own)) for own in after.values()] == [1, 1]
    assert set(after["records"]).isdisjoint(after["tokens"])
    for query in ("SELECT place FROM {}records ORDER BY ctid",
                  "SELECT hash FROM {}tokens ORDER BY ctid"):  # fmt: skip
        rows = looked._run(query).fetchall()
        assert len(rows) == 100
        assert rows == sorted(rows)
    assert sorted(looked.records()) == [f"{at:03d}" for at in range(100)]


def test_one_batch_does_not_tell_its_order(postgres: str) -> None:
    """Random numbers do not rise as the answers of a batch came."""
    kept = store(postgres)
    kept.accept([Sent(f"{at:03d}", f"{at:064x}") for at in range(200)])
    found = [int(record) for record in kept.records()]
    rises = sum(a < b for a, b in itertools.pairwise(found))
    assert 70 < rises < 130  # 199 would be the order of arrival


def test_closing_stops_every_collector_and_stirs(postgres: str, tmp_path: Path) -> None:
    """Another collector has the survey open: it takes no more, and what is there lies stirred."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("attribute-sampling", extra='language = "de"\n'))
    definition, _ = new_survey(source, tmp_path / "survey")
    one, other = (store(postgres, identity=definition.identity) for _ in range(2))
    widths = definition.channel.widths
    for at in range(20):
        other.accept([Sent(respond(definition, PERSON).spelled(widths=widths), f"{at:064x}")])
    release = close_survey(definition, one, tmp_path / "release")
    assert release.records == 20
    assert other.accept([Sent("0.0", "f" * 64)]) == [Outcome.CLOSED]
    assert [len(set(own)) for own in tied(one).values()] == [1, 1]


def test_a_connection_that_broke_is_made_anew(postgres: str) -> None:
    """The database was restarted: the next answer is taken, and counts once."""
    identity = "d" * 64
    kept, other = store(postgres, identity=identity), store(postgres, identity=identity)
    kept.accept([Sent("0.1", "a" * 64)])
    other._run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    assert kept.look_up("a" * 64) is Outcome.AGAIN
    other._run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    sent = [Sent("0.1", "a" * 64), Sent("0.2", "b" * 64)]
    assert kept.accept(sent) == [Outcome.AGAIN, Outcome.ACCEPTED]


def test_no_code_is_unknown_while_it_is_stirred(postgres: str) -> None:
    """Who asks in the very moment in which the table is written anew hears the same."""
    kept = store(postgres, codes=True)
    codes = [f"CODE{at}" for at in range(20_000)]
    kept.invite(codes)
    heard, done = set[Outcome](), threading.Event()

    def ask() -> None:
        while not done.is_set():
            heard.add(kept.look_up(codes[7]))

    people = [threading.Thread(target=ask) for _ in range(3)]
    for one in people:
        one.start()
    for _ in range(4):
        kept.stir()
    done.set()
    for one in people:
        one.join(timeout=60)
    assert heard == {Outcome.FREE}


def test_a_database_that_crashed_loses_nothing(database: Database, tmp_path: Path) -> None:
    """Away: people are told to send it again later, the office why. Back: all is there once."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("attribute-sampling", extra='language = "nl"\n'))
    definition, _ = new_survey(source, tmp_path / "survey")
    nursery = Nursery()
    one = Collector(tmp_path / "survey", nursery, database=database.url)
    heard: dict[int, int] = {}

    async def sent(numbers: range) -> list[int]:
        found = await asyncio.gather(*(one.post(one.body(at)) for at in numbers))
        heard.update(zip(numbers, found, strict=True))
        return found

    try:
        one.start()
        assert asyncio.run(sent(range(40))) == [200] * 40
        database.crash()
        assert set(asyncio.run(sent(range(40, 60)))) == {503}
        assert asyncio.run(sent(range(60, 61))) == [503]
        database.start()
        assert asyncio.run(sent(range(20, 80))) == [200] * 60
    finally:
        one.kill(signal.SIGTERM)
        nursery.close()
    assert set(heard.values()) == {200}
    assert store(database.url, identity=definition.identity).count() == 80
    said = one.said.read_text()
    assert (
        said == "Answers cannot be kept. The PostgreSQL database cannot be reached by this URL.\n"
    )


def test_a_survey_in_postgres_becomes_a_release(postgres: str, tmp_path: Path) -> None:
    """The folder verifies as any other."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("attribute-sampling"))
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


def test_a_folder_knows_that_its_answers_are_elsewhere(postgres: str, tmp_path: Path) -> None:
    """No empty store is looked at, invited into or closed instead; the studio is told where."""
    source, folder = tmp_path / "survey.toml", tmp_path / "survey"
    source.write_text(survey_text("retention", extra='codes = true\nlanguage = "pt"\n'))
    definition, _ = new_survey(source, folder)
    invite(folder, definition, 40, tmp_path / "codes.txt", database=postgres)
    codes = (tmp_path / "codes.txt").read_text().split()
    widths = definition.channel.widths
    sent = [Sent(respond(definition, PERSON).spelled(widths=widths), code) for code in codes]
    with opened_store(folder, definition, postgres) as kept:
        assert set(kept.accept(sent)) == {Outcome.ACCEPTED}
    left = sorted(folder.iterdir())
    for verb in (
        lambda: invite(folder, definition, 1, tmp_path / "more.txt"),
        lambda: live(folder),
        lambda: opened_store(folder, definition).__enter__(),
    ):
        with pytest.raises(InputError, match="kept in a database: name it"):
            verb()
    assert sorted(folder.iterdir()) == left
    assert live(folder, database=postgres).status.answers == 40
    for known, said in ((None, "kept in a database"), (postgres, "</strong> of 5,000")):
        session = StudioSession(tmp_path)
        app = studio_application(
            session, token=TOKEN, origin=Origin.of("127.0.0.1", 8123), database=known
        )
        with TestClient(app, base_url=ORIGIN) as client:
            client.get(f"/?token={TOKEN}")
            client.headers["sec-fetch-site"] = "same-origin"
            assert said in client.get("/surveys/0/live", headers={"hx-request": "true"}).text
            page = client.get("/surveys/0").text
            assert "--database postgresql://..." in page
            assert postgres not in page


@pytest.mark.parametrize("end", ["127.0.0.1:9/x", "127.0.0.1:9/x?odd=1", "%zz", "h:\u00e9/x"])
def test_a_database_that_is_not_there_is_said_in_one_line(end: str) -> None:
    """No word of the URL, which may hold a password."""
    with pytest.raises(InputError, match="cannot be reached") as caught:
        open_store(f"postgresql://office:secret@{end}", identity="a" * 64, codes=False)
    assert "secret" not in str(caught.value)


def test_what_the_database_refuses_is_said_in_one_line(postgres: str, tmp_path: Path) -> None:
    """Somebody who may make no table, and a table that is gone: by its kind, without a row."""
    source, folder = tmp_path / "survey.toml", tmp_path / "survey"
    source.write_text(survey_text("attribute-sampling", extra='language = "it"\n'))
    definition, _ = new_survey(source, folder)
    with opened_store(folder, definition, postgres) as kept:
        assert isinstance(kept, PostgresStore)
        kept._run("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        kept._run("CREATE ROLE poor LOGIN")
    poor = postgres.replace("office@", "poor@")
    with (
        pytest.raises(InputError, match="the database cannot be read or written: Insufficient"),
        opened_store(folder, definition, poor),
    ):
        pass
    with (
        pytest.raises(InputError, match="cannot be read or written: UndefinedTable"),
        opened_store(folder, definition, postgres) as kept,
    ):
        kept._run("SELECT * FROM {}_nothing")
