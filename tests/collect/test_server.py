"""The collector as a process: what it takes, what it refuses, and what survives its death."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from pramana.base.randomness import Keystream
from pramana.collect.definition import respond
from pramana.collect.store import Outcome
from pramana.collect.survey_folder import new_survey, opened_store
from tests.collect.collectors import JSON, Collector, Nursery
from tests.collect.conftest import PERSON, survey_text

AT_ONCE = 20


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Where collectors come from."""
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def collector(tmp_path: Path, nursery: Nursery) -> Iterator[Collector]:
    """A collector that listens."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("attribute-sampling"))
    new_survey(source, tmp_path / "survey")
    found = Collector(tmp_path / "survey", nursery)
    found.start()
    yield found
    found.kill()


def test_what_no_page_sends_is_refused(collector: Collector) -> None:
    """Malformed, foreign, nested, long, outside the channel; the next answer is taken."""
    wrong = [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 4000, b"x" * 5000,
        collector.body(1, survey="0" * 64), collector.body(1, record="9.999"),
        collector.body(1, record="<script>"), collector.body(1, token="g" * 64),
        collector.body(1, token=""), collector.body(1, work="1"),
        collector.body(1, more="x"), collector.body(1).replace(b'"work": ""', b'"work": 1'),
    ]  # fmt: skip
    assert [collector.posted(body) for body in wrong] == [400] * len(wrong)
    assert collector.posted(collector.body(1)) == 200
    assert collector.kept() == 1


@pytest.mark.parametrize("codes", [False, True])
def test_whoever_sends_at_the_same_moment_counts_once(
    tmp_path: Path, nursery: Nursery, codes: bool
) -> None:
    """Forty requests at once for each of five tokens or codes, each with a record of its own."""
    source, folder = tmp_path / "survey.toml", tmp_path / "survey"
    source.write_text(survey_text("attribute-sampling", extra="codes = true\n" if codes else ""))
    definition, _ = new_survey(source, folder)
    tokens = ["AAAAA", "BBBBB", "CCCCC", "DDDDD", "EEEEE"] if codes else [c * 64 for c in "abcde"]
    if codes:
        with opened_store(folder, definition) as store:
            store.invite(tokens)
    found = Collector(folder, nursery)
    found.start()

    async def all_at_once() -> list[int]:
        bodies = [found.body(0, token=token) for token in tokens * 40]
        return await asyncio.gather(*map(found.post, bodies))

    try:
        assert asyncio.run(all_at_once()) == [200] * 200
        assert found.kept() == 5
    finally:
        found.kill()


def test_no_other_page_lets_its_visitors_answer(collector: Collector) -> None:
    """A browser says who made it send; the page of the survey and what is no browser are heard."""
    kinds = {b"cross-site": 400, b"same-site": 400, b"same-origin": 200, b"none": 200}
    for number, (kind, status) in enumerate(kinds.items()):
        line = b"Sec-Fetch-Site: " + kind + b"\r\n"
        assert collector.posted(collector.body(number), line) == status
    assert collector.kept() == 2


def test_an_answer_from_the_page_of_another_origin_is_refused(collector: Collector) -> None:
    """Over plain HTTP a browser sends no Sec-Fetch-Site: the origin must be the host."""
    origins = {b"http://x": 200, b"http://X": 200, b"http://evil.example": 400, b"null": 400}
    for number, (origin, status) in enumerate(origins.items()):
        line = b"Origin: " + origin + b"\r\n"
        assert collector.posted(collector.body(number), line) == status
    assert collector.kept() == 2


@pytest.mark.parametrize("kind", [b"", b"Content-Type: text/plain\r\n"])
def test_an_answer_that_a_form_can_send_is_refused(collector: Collector, kind: bytes) -> None:
    """A page of another site can send these types without asking the collector first."""
    assert collector.posted(collector.body(1), kind=kind) == 415
    assert collector.kept() == 0


def test_behind_a_proxy_the_origin_is_the_public_address() -> None:
    """The proxy names its own host to the collector, whatever the browser asked for."""
    from pramana.collect.server import from_survey_page

    address = "https://survey.example.org/2026/"
    for origin, host, public, good in (
        ("https://survey.example.org", "127.0.0.1:8000", address, True),
        ("https://survey.example.org", "127.0.0.1:8000", None, False),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", address, False),
        ("https://survey.example.org.evil.example", "127.0.0.1:8000", address, False),
    ):
        assert from_survey_page({"origin": origin, "host": host}, public) is good


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"host": "0.0.0.0"}, "unencrypted"),  # noqa: S104
        ({"host": "192.0.2.1"}, "unencrypted"),
        ({"host": "127.0.0.1"}, None),
        ({"host": "0.0.0.0", "public_address": "https://a.example"}, None),  # noqa: S104
        ({"host": "127.0.0.1", "public_address": "http://a.example"}, "not-https"),
        ({"host": "0.0.0.0", "certificate": Path(__file__)}, "incomplete-tls"),  # noqa: S104
        ({"host": "::", "certificate": Path(__file__), "key": Path(__file__)}, None),
    ],
)
def test_other_machines_answer_over_https_alone(words: dict[str, str], code: str | None) -> None:
    """By TLS of the collector or of a stated proxy; nothing is opened otherwise."""
    from pramana.collect.server import Encryption
    from pramana.errors import InputError

    host = words.pop("host")
    found = None
    try:
        Encryption(**words).require_for(host)
    except InputError as error:
        found = error.code
    assert found == code


def test_who_serves_a_closed_survey_is_told(collector: Collector) -> None:
    """It goes on, so that who comes late hears it."""
    assert collector.posted(collector.body(1)) == 200
    with opened_store(collector.folder, collector.definition) as store:
        store.finish()
    assert collector.posted(collector.body(2)) == 410
    assert collector.said.read_text() == ""
    collector.kill()
    collector.start()
    assert collector.posted(collector.body(2)) == 410
    assert "This survey is closed" in collector.said.read_text()
    assert collector.kept() == 1


def test_a_slow_sender_holds_nobody_up(collector: Collector) -> None:
    """A body that never comes is given up; others are answered meanwhile."""
    slow = [socket.create_connection(("127.0.0.1", collector.port)) for _ in range(50)]
    for one in slow:
        one.sendall(b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert collector.posted(collector.body(1)) == 200
    for one in slow:
        one.close()


def test_the_collector_says_nothing_about_who_sends(collector: Collector) -> None:
    """Nothing but where it listens is printed, and no header names the server or the time."""
    with socket.create_connection(("127.0.0.1", collector.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        reply = b""
        while part := connection.recv(65536):
            reply += part
    head = reply.split(b"\r\n\r\n")[0].lower()
    assert b"server:" not in head
    assert b"date:" not in head
    assert b"set-cookie" not in head
    assert b"no-store" in head
    collector.posted(collector.body(1))
    where = f"The survey runs at http://127.0.0.1:{collector.port}/ until you stop this command.\n"
    assert collector.said.with_name("said.txt.out").read_text() == where
    collector.kill(signal.SIGTERM)
    assert collector.said.with_name("said.txt.out").read_text() == where
    assert collector.said.read_bytes() == b""


@pytest.mark.parametrize("kills", [int(os.environ.get("PRAMANA_KILLS", "4"))])
def test_every_acknowledged_answer_survives_a_kill_once(collector: Collector, kills: int) -> None:
    """Killed at random moments under load; what was acknowledged is there, retries count once.

    In the end every record is there as often as it was sent, and no other.
    """
    acknowledged: set[int] = set()
    sent: dict[int, bytes] = {}

    async def one(token: int) -> None:
        sent[token] = collector.body(token)
        if await collector.post(sent[token]) == 200:
            acknowledged.add(token)

    async def load(first: int, seconds: float) -> int:
        token, end = first, time.monotonic() + seconds
        tasks: set[asyncio.Task[None]] = set()
        while time.monotonic() < end:
            while len(tasks) < AT_ONCE:
                tasks.add(asyncio.create_task(one(token)))
                token += 1
            _, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        collector.kill()
        await asyncio.gather(*tasks)
        return token

    async def again() -> list[int]:
        bodies, found = list(sent.values()), []
        for begin in range(0, len(bodies), AT_ONCE):
            found += await asyncio.gather(*map(collector.post, bodies[begin : begin + AT_ONCE]))
        return found

    token, looked = 0, set[int]()
    moments = Keystream.from_system().uniforms("kills", 0, kills).tolist()
    for moment in moments:
        token = asyncio.run(load(token, 0.02 + 0.4 * moment))
        with opened_store(collector.folder, collector.definition) as store:
            kept = store.count()
            fresh = {store.look_up(f"{one:064x}") for one in acknowledged - looked}
            used = sqlite3.connect(collector.folder / "answers.sqlite")
            assert used.execute("SELECT count(*) FROM tokens").fetchone() == (kept,)
            used.close()
        assert fresh <= {Outcome.AGAIN}
        assert len(acknowledged) <= kept <= len(sent)
        looked |= acknowledged
        collector.start()
    # Everybody sends again, also who was acknowledged: each counts once in the end.
    assert asyncio.run(again()) == [200] * len(sent)
    records = Counter(json.loads(body)["record"] for body in sent.values())
    with opened_store(collector.folder, collector.definition) as store:
        assert store.tally() == records
    assert len(acknowledged) > 0


def test_proof_of_work_is_asked_for(tmp_path: Path) -> None:
    """Without it an answer is refused; with it taken; by hand, bits counted from the left."""
    import hashlib
    import itertools

    from pramana.collect.server import read_answer
    from pramana.errors import InputError

    source = tmp_path / "survey.toml"
    source.write_text(survey_text("attribute-sampling", extra="work = 8\n"))
    definition, _ = new_survey(source, tmp_path / "survey")
    record = respond(definition, PERSON).spelled(widths=definition.channel.widths)
    form = {"survey": definition.identity, "record": record, "token": "0" * 64, "work": ""}
    text = f"{definition.identity}.{form['token']}.{record}."
    good = next(
        number
        for number in itertools.count()
        if hashlib.sha256(f"{text}{number}".encode()).hexdigest().startswith("00")
    )
    with pytest.raises(InputError, match="proof of work"):
        read_answer(definition, json.dumps(form).encode())
    body = json.dumps(form | {"work": str(good)})
    read_answer(definition, body.encode())
    for wrong in (body.encode("utf-16"), body.replace("{", '{"record": "", ', 1).encode()):
        with pytest.raises(InputError, match="not JSON|exactly"):
            read_answer(definition, wrong)
    if good:
        with pytest.raises(InputError, match="proof of work"):
            read_answer(definition, json.dumps(form | {"work": "0"}).encode())


@contextlib.asynccontextmanager
async def listening_at(
    app: object, *, most: int, per_client: int | None = None
) -> AsyncIterator[int]:
    """An application that listens in this process, to so many at once; gives its port."""
    from uvicorn import Config, Server

    from pramana.collect.server import LimitedConnection

    class Held(LimitedConnection):
        """The same for this test."""

        held: ClassVar[Counter[str]] = Counter()

    Held.most, Held.most_per_client = most, most if per_client is None else per_client
    server = Server(Config(app, port=0, http=Held, log_level="critical"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


def test_a_head_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever connects and says nothing, or half a head, or a second half, is let go."""
    from starlette.applications import Starlette

    from pramana.collect import server as connections

    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    heads = [b"", b"POST /answer HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTT"]

    async def waited() -> list[bytes]:
        ends = []
        async with listening_at(Starlette(), most=9) as port:
            for head in heads:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head)
                try:
                    ends.append((await asyncio.wait_for(reader.read(), 5))[:12])
                except ConnectionResetError:
                    ends.append(b"")
                writer.close()
        return ends

    found = asyncio.run(waited())
    assert [end in (b"", b"HTTP/1.1 404") for end in found] == [True] * 3


def test_a_body_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told that it took too long, and is not counted; who sent all of it is."""
    from pramana.collect import server

    monkeypatch.setattr(server, "BODY_SECONDS", 0.3)
    (tmp_path / "survey.toml").write_text(survey_text("attribute-sampling"))
    definition, _ = new_survey(tmp_path / "survey.toml", tmp_path / "survey")
    record = respond(definition, PERSON).spelled(widths=definition.channel.widths)
    body = json.dumps({"survey": definition.key, "record": record, "token": "a" * 64, "work": ""})
    head = f"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{JSON.decode()}\r\n"

    async def sent(port: int, text: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write((head + text).encode())
        found = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        return found.split()[1]

    async def both() -> list[bytes]:
        with opened_store(tmp_path / "survey", definition) as store:
            app = server.application(definition, store, b"")
            async with listening_at(app, most=9) as port:
                return [await sent(port, body[:-1]), await sent(port, body)]

    assert asyncio.run(both()) == [b"408", b"200"]
    with opened_store(tmp_path / "survey", definition) as store:
        assert store.count() == 1


def request_of(body: bytes, path: str = "/answer") -> bytes:
    """A request that leaves the connection open."""
    head = f"POST {path} HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: {len(body)}\r\n"
    head += JSON.decode() + "\r\n"
    return head.encode() + body


def test_who_sends_nothing_more_hears_the_reply(collector: Collector) -> None:
    """All of a request and then the end of what is sent, as some relays do; nobody is sent away."""
    for path, said in (("/answer", b"HTTP/1.1 200"), ("/answer/", b"HTTP/1.1 404")):
        with socket.create_connection(("127.0.0.1", collector.port), timeout=20) as connection:
            connection.sendall(request_of(collector.body(1), path))
            connection.shutdown(socket.SHUT_WR)
            reply = b""
            while part := connection.recv(65536):
                reply += part
        assert reply.startswith(said)
        assert b"elsewhere" not in reply
    assert collector.kept() == 1


def test_noise_is_not_written_down(collector: Collector) -> None:
    """What is no HTTP, and who hangs up in the middle: no line about it, and the next is taken.

    Who sends requests ahead and leaves is answered into nothing, which the library would tell of.
    """
    half = b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"
    whole = request_of(collector.body(2))
    for noise in (b"\x00\xff" * 100, b"GET / HTTP/9.9\r\n\r\n", half, whole * 5, whole + half):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", collector.port)) as connection:
                connection.sendall(noise)
    assert collector.posted(collector.body(1)) == 200
    collector.kill(signal.SIGTERM)
    assert collector.said.read_bytes() == b""


def test_what_is_kept_is_stirred_while_answers_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Again and again, without anybody closing the store; never in the way of an answer."""
    from pramana.collect import server
    from pramana.collect.store import Sent, SqliteStore

    class Counting(SqliteStore):
        stirs = 0

        def stir(self) -> None:
            self.stirs += 1
            super().stir()

    monkeypatch.setattr(server, "STIR_SHARE", 0)
    store = Counting(tmp_path / "answers.sqlite", identity="a" * 64, codes=False)

    async def fed() -> list[Outcome]:
        inbox = server.Inbox(store, stir_seconds=0.05)
        task = asyncio.create_task(inbox.run())
        found = []
        for number in range(30):
            found.append(await inbox.take(Sent("0.1", f"{number:064x}")))
            await asyncio.sleep(0.01)
        end = time.monotonic() + 20
        while (store.stirs < 2 or store._fresh) and time.monotonic() < end:
            await asyncio.sleep(0.01)
        task.cancel()
        return found

    assert asyncio.run(fed()) == [Outcome.ACCEPTED] * 30
    assert store.stirs >= 2
    assert not store._fresh
    store.close()


def test_an_inbox_grows_with_no_answer() -> None:
    """Thousands of batches leave nothing in memory, and each is in an order of its own."""
    import tracemalloc

    from pramana.collect import server
    from pramana.collect.store import Sent

    orders = set()

    class Forgetful:
        def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
            orders.add("".join(one.record for one in batch))
            return [Outcome.ACCEPTED] * len(batch)

        def stir(self) -> bool:
            return True

    async def fed(inbox: server.Inbox, batches: int) -> None:
        for _ in range(batches):
            await asyncio.gather(*(inbox.take(Sent(own, own)) for own in "abc"))

    async def grown() -> int:
        inbox = server.Inbox(Forgetful())  # type: ignore[arg-type]
        task = asyncio.create_task(inbox.run())
        await fed(inbox, 50)
        tracemalloc.start()
        await fed(inbox, 500)
        found = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        task.cancel()
        return found

    assert asyncio.run(grown()) < 80_000  # a key for each batch would be twice that
    assert len([own for own in orders if len(own) == 3]) == 6


def test_answers_that_cannot_be_kept_are_told_of_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that fails: every sender hears it, the office in one line without the answer."""
    from pramana.collect import server
    from pramana.collect.store import Sent, SqliteStore

    class Failing(SqliteStore):
        broken = True

        def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
            if self.broken:
                raise OSError("disk full near 0.123")
            return super().accept(batch)

    store = Failing(tmp_path / "answers.sqlite", identity="a" * 64, codes=False)

    async def fed() -> list[object]:
        inbox = server.Inbox(store)
        task = asyncio.create_task(inbox.run())
        found: list[object] = []
        for number in range(4):
            store.broken = number < 3
            try:
                found.append(await inbox.take(Sent("0.123", f"{number:064x}")))
            except OSError:
                found.append("told")
        task.cancel()
        return found

    assert asyncio.run(fed()) == ["told", "told", "told", Outcome.ACCEPTED]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "OSError" in said
    assert "0.123" not in said
    store.close()


HOST = b"Host: x\r\n"
FLOODS = {
    "headers": (b"POST /answer HTTP/1.1\r\n" + HOST, b"X: " + b"a" * 1000 + b"\r\n"),
    "one header": (b"POST /answer HTTP/1.1\r\nX: ", b"a" * 1000),
    "address": (b"GET /", b"a" * 1000),
    "trailers": (
        b"POST /answer HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
        b"X: " + b"a" * 1000 + b"\r\n",
    ),
    "body": (b"POST /x HTTP/1.1\r\n" + HOST + b"Content-Length: 999999999\r\n\r\n", b"a" * 1000),
    "requests": (b"", b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"),
}


def test_a_request_that_never_ends_is_cut(collector: Collector) -> None:
    """Whatever part of it grows; a head or requests ahead would be kept in memory to the end."""
    for kind, (first, more) in FLOODS.items():
        block, sent = more * (100_000 // len(more)), 0
        with socket.create_connection(("127.0.0.1", collector.port), timeout=20) as connection:
            connection.sendall(first)
            with contextlib.suppress(ConnectionError, TimeoutError):
                while sent < 50_000_000:
                    connection.sendall(block)
                    sent += len(block)
        assert sent < 20_000_000, kind  # what lies in the buffers of the system
    assert collector.posted(collector.body(1)) == 200


def test_connections_beyond_the_most_are_let_go() -> None:
    """Two may be held: the third hears nothing, and who comes after they have left does."""
    from starlette.applications import Starlette

    async def tried() -> list[bytes]:
        async with listening_at(Starlette(), most=2) as port:
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            found = [await asked(port)]
            for _, writer in idle:
                writer.close()
                await writer.wait_closed()
            await asyncio.sleep(0.05)
            return [*found, await asked(port)]

    async def asked(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        said = b""
        with contextlib.suppress(ConnectionError):
            said = (await reader.read())[:12]
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        return said

    assert asyncio.run(tried()) == [b"", b"HTTP/1.1 404"]


def test_one_address_cannot_shut_out_the_others() -> None:
    """Of 20 half-sent posts from one address 4 are held; another address is answered."""
    from starlette.applications import Starlette

    async def tried() -> tuple[int, bytes, bytes]:
        async with listening_at(Starlette(), most=9, per_client=4) as port:
            half = []
            for _ in range(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
                half.append((reader, writer))
            await asyncio.sleep(0.2)
            held = sum(not reader.at_eof() and reader.exception() is None for reader, _ in half)
            found = await asked(port, "127.0.0.1"), await asked(port, "127.0.0.2")
            for _, writer in half:
                writer.close()
            return held, *found

    async def asked(port: int, source: str) -> bytes:
        said = b""
        with contextlib.suppress(ConnectionError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(source, 0)
            )
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            said = (await reader.read())[:12]
            writer.close()
        return said

    assert asyncio.run(tried()) == (4, b"", b"HTTP/1.1 404")


@pytest.mark.parametrize(
    ("soft", "hard", "files"),
    [(1024, 4096, 2064), (1024, 1024, 1024), (50_000, 50_000, 50_000), (256, None, 2064)],
)
def test_a_collector_asks_the_system_for_room(soft: int, hard: int | None, files: int) -> None:
    """For as many connections as there may be and its own files, and for no more than it gives."""
    from pramana.collect.server import needed_files

    assert needed_files(2000, soft, hard) == files
