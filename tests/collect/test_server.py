"""The collector as a process: what it takes, what it refuses, and what survives its death."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pramana.collect.definition import Definition, respond
from pramana.collect.folder import new_survey, opened_store
from pramana.collect.store import Outcome
from tests.collect.conftest import PERSON, survey_text

COMMAND = [sys.executable, "-c", "from pramana.cli.app import main; main()"]
AT_ONCE = 20


class Collector:
    """A collector on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.definition = Definition.load(folder)
        self.said = folder.with_name("said.txt")
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                [*COMMAND, "collect", "serve", str(self.folder), "--port", str(self.port)],
                stderr=said,
            )
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("The collector does not answer.")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(timeout=30)

    def body(self, number: int, **other: str) -> bytes:
        """An answer as a page sends it."""
        record = respond(self.definition, PERSON).spelled(widths=self.definition.channel.widths)
        form = {"survey": self.definition.identity, "record": record, "token": f"{number:064x}",
                "work": ""}  # fmt: skip
        return json.dumps(form | other).encode()

    async def post(self, body: bytes) -> int:
        """The status of the reply; 0 where there is none."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            head = f"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
            await writer.drain()
            line = await reader.readline()
            writer.close()
        except OSError:
            return 0
        return int(line.split()[1]) if line else 0

    def posted(self, body: bytes) -> int:
        return asyncio.run(self.post(body))

    def tokens(self) -> int:
        """How many records are kept; the folder is opened as the office would."""
        with opened_store(self.folder, self.definition) as store:
            return store.count()


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    """A collector that listens."""
    source = tmp_path / "survey.toml"
    source.write_text(survey_text("reports"))
    new_survey(source, tmp_path / "survey")
    found = Collector(tmp_path / "survey")
    found.start()
    yield found
    if found.process is not None and found.process.poll() is None:
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
    assert collector.tokens() == 1


def test_a_slow_sender_holds_nobody_up(collector: Collector) -> None:
    """A body that never comes is given up; others are answered meanwhile."""
    slow = [socket.create_connection(("127.0.0.1", collector.port)) for _ in range(50)]
    for one in slow:
        one.sendall(b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert collector.posted(collector.body(1)) == 200
    for one in slow:
        one.close()


def test_the_collector_says_nothing_about_who_sends(collector: Collector) -> None:
    """Nothing is printed, and no header names the server or the time."""
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
    collector.kill(signal.SIGTERM)
    assert collector.said.read_bytes() == b""


@pytest.mark.parametrize("kills", [int(os.environ.get("PRAMANA_KILLS", "4"))])
def test_every_acknowledged_answer_survives_a_kill_once(collector: Collector, kills: int) -> None:
    """Killed at random moments under load; what was acknowledged is there, retries count once."""
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
    for round_ in range(kills):
        token = asyncio.run(load(token, 0.2 + 0.37 * round_ % 0.5))
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
    assert collector.tokens() == len(sent)
    assert len(acknowledged) > 0


def test_proof_of_work_is_asked_for(tmp_path: Path) -> None:
    """Without it an answer is refused; with it taken; by hand, bits counted from the left."""
    import hashlib
    import itertools

    from pramana.collect.server import read_answer
    from pramana.errors import InputError

    source = tmp_path / "survey.toml"
    source.write_text(survey_text("reports", extra="work = 8\n"))
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
    read_answer(definition, json.dumps(form | {"work": str(good)}).encode())
    if good:
        with pytest.raises(InputError, match="proof of work"):
            read_answer(definition, json.dumps(form | {"work": "0"}).encode())


def test_a_head_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever connects and says nothing, or half a head, or a second half, is let go."""
    from starlette.applications import Starlette
    from uvicorn import Config, Server

    from pramana.collect import serving

    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.3)
    heads = [b"", b"POST /answer HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTT"]

    async def waited() -> list[bytes]:
        config = Config(Starlette(), port=0, http=serving._impatient(), log_level="critical")
        server = Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        ends = []
        for head in heads:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            try:
                ends.append((await asyncio.wait_for(reader.read(), 5))[:12])
            except ConnectionResetError:
                ends.append(b"")
            writer.close()
        server.should_exit = True
        await task
        return ends

    found = asyncio.run(waited())
    assert [end in (b"", b"HTTP/1.1 404") for end in found] == [True] * 3


def test_noise_is_not_written_down(collector: Collector) -> None:
    """What is no HTTP, and who hangs up in the middle: no line about it, and the next is taken."""
    half = b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"
    for noise in (b"\x00\xff" * 100, b"GET / HTTP/9.9\r\n\r\n", half):
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
