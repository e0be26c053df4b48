"""Collectors as processes of their own, which begin in an instant.

A process that starts from nothing spends a second on loading libraries. One that has loaded them
gives birth to all collectors of a test run: each is a process by itself, and runs the command from
its first word on.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from pramana.collect.definition import Definition, respond
from pramana.collect.survey_folder import opened_store
from tests.collect.conftest import PERSON

NURSERY = """
import json, os, sys
import pramana.collect.store, pramana.collect.server, pramana.collect.closing
import pramana.verification.consistency
import starlette.applications, starlette.requests, starlette.responses
import uvicorn, uvicorn.lifespan.on, uvicorn.loops.auto, uvicorn.protocols.http.httptools_impl
from pramana.cli.app import main
for line in sys.stdin:
    said, *words = json.loads(line)
    child = os.fork()
    if not child:
        for stream, name in ((1, said + ".out"), (2, said)):
            os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT), stream)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        main(words)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""

JSON = b"Content-Type: application/json\r\n"


class Nursery:
    """One process that has loaded everything, and one collector of it at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def born(self, said: Path, *words: str) -> int:
        """The number of a new process that runs this command; what it says is in two files."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(said), *words]).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._line())

    def gone(self) -> None:
        """Wait until it has ended."""
        assert self._line() == "gone"

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


class Collector:
    """A collector on a port of its own."""

    def __init__(self, folder: Path, nursery: Nursery, *, database: str | None = None) -> None:
        self.folder = folder
        self.definition = Definition.load(folder)
        self.said = folder.with_name("said.txt")
        self._nursery = nursery
        self._database = [] if database is None else ["--database", database]
        self._process: int | None = None
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])

    def start(self) -> None:
        words = ["collect", "serve", str(self.folder), "--port", str(self.port), *self._database]
        self._process = self._nursery.born(self.said, *words)
        while _alive(self._process):  # however long a busy machine takes
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError("The collector has ended.")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, if it lives."""
        if self._process is not None:
            os.kill(self._process, how)
            self._process = None
            self._nursery.gone()

    def body(self, number: int, **other: str) -> bytes:
        """An answer as a page sends it."""
        record = respond(self.definition, PERSON).spelled(widths=self.definition.channel.widths)
        form = {"survey": self.definition.identity, "record": record, "token": f"{number:064x}",
                "work": ""}  # fmt: skip
        return json.dumps(form | other).encode()

    async def post(self, body: bytes, more: bytes = b"", kind: bytes = JSON) -> int:
        """The status of the reply; 0 where there is none."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            head = f"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            writer.write(head.encode() + kind + more + b"Connection: close\r\n\r\n" + body)
            await writer.drain()
            line = await reader.readline()
            writer.close()
        except OSError:
            return 0
        return int(line.split()[1]) if line else 0

    def posted(self, body: bytes, more: bytes = b"", kind: bytes = JSON) -> int:
        return asyncio.run(self.post(body, more, kind))

    def kept(self) -> int:
        """How many records are kept; the folder is opened as the office would."""
        with opened_store(self.folder, self.definition) as store:
            return store.count()
