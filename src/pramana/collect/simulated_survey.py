"""A survey of simulated people: they answer through HTTP, and only this module knows them.

Each simulated person opens a connection, randomises by the channel of the definition as a page
would, and sends the record. Then the survey is closed, and the estimates are shown next to the
simulated data.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final

from pramana.analysis.estimates import Estimate
from pramana.base.atomic_files import whole_folder, write_whole
from pramana.base.randomness import Keystream
from pramana.collect.closing import Live, close_survey, live
from pramana.collect.definition import Definition, respond
from pramana.collect.server import require_server
from pramana.collect.survey import SKIPPED
from pramana.collect.survey_folder import new_survey, opened_store
from pramana.errors import InputError, OutputExists
from pramana.verification.verify import verify_folder

SURVEY: Final = """title = "How we live"
office = "Office of a town that does not exist"
about = "To plan buses and cycle paths."
contact = "the town hall"
retention = "until the demonstration ends"
expected = {expected}
k = 20

[[questions]]
name = "age"
text = "How old are you?"
bins = [0, 18, 30, 45, 65, 120]

[[questions]]
name = "employed"
text = "Are you employed?"
answers = ["yes", "no"]

[[questions]]
name = "travel"
text = "How do you get to work?"
answers = ["on foot", "bicycle", "bus", "car"]
ask_if = {{ employed = ["yes"] }}
"""

CONNECTIONS: Final = 16
PATIENCE: Final = 120
"""Seconds for a collector to begin and to end: on a busy machine loading alone takes long."""

FEWEST: Final = 100
MOST: Final = 1_000_000
AGES: Final = ("[0, 18)", "[18, 30)", "[30, 45)", "[45, 65)", "[65, 120]")
TRAVEL: Final = ("on foot", "bicycle", "bus", "car")
SHARES: Final = {"age": (0.18, 0.33, 0.52, 0.8), "travel": (0.15, 0.4, 0.7)}


@dataclass(frozen=True)
class Demonstrated:
    """A survey from its file to its release, and the original data of the simulation.

    Attributes:
        accepted: how many answers were taken.
        half: what an office saw when half of the people had answered.
        release: the folder.
        valid: whether it verifies.
        original: how many people travel how.
        estimate: the same, from the release.
    """

    accepted: int
    half: Live
    release: Path
    valid: bool
    original: Mapping[str, int]
    estimate: Estimate


def demonstrate(
    number: int,
    to: Path,
    *,
    begun: Callable[[Definition, int], None] | None = None,
    half_way: Callable[[Live], None] | None = None,
) -> Demonstrated:
    """Make a survey in a new folder, let people answer it through HTTP, close and verify it."""
    require_server()
    # Refuse a demonstration whose promise so few people cannot be given.
    if not FEWEST <= number <= MOST:
        raise InputError(f"A demonstration needs between {FEWEST} and {MOST:,} people.")
    source, survey, release = to / "survey.toml", to / "survey", to / "release"
    if os.path.lexists(to):
        raise OutputExists(f"{to} exists already. Choose another place.")
    with whole_folder(to) as place:
        write_whole(place / source.name, SURVEY.format(expected=number))
    definition, _ = new_survey(source, survey)
    simulated = people(number, seed=2026)
    with serving(survey) as (port, _):
        if begun is not None:
            begun(definition, port)
        statuses = answer_all(definition, simulated[: number // 2], port=port)
        half = live(survey, questions=["travel"])
        if half_way is not None:
            half_way(half)
        statuses += answer_all(definition, simulated[number // 2 :], port=port)
    with opened_store(survey, definition) as store:
        closed = close_survey(definition, store, release)
    return Demonstrated(
        accepted=statuses.count(HTTPStatus.OK),
        half=half,
        release=release,
        valid=verify_folder(release).valid,
        original=Counter(person["travel"] for person in simulated),
        estimate=closed.crosstab("travel"),
    )


def people(number: int, *, seed: int) -> list[dict[str, str]]:
    """The original data: who works, and how they get there, depends on their age."""
    drawn = Keystream.from_seed(seed).uniforms("survey", 0, 3 * number).reshape(number, 3)
    simulated = []
    for age, work, way in drawn.tolist():
        group = sum(age >= bound for bound in SHARES["age"])
        employed = work < (0.1, 0.7, 0.85, 0.75, 0.1)[group]
        shift = 1.2 if group < 2 else 0.8
        travel = TRAVEL[sum(way >= bound * shift for bound in SHARES["travel"])]
        simulated.append(
            {
                "age": AGES[group],
                "employed": "yes" if employed else "no",
                "travel": travel if employed else SKIPPED,
            }
        )
    return simulated


PROGRAM: Final = """
import os, signal, threading
def end_with_parent():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_parent, daemon=True).start()
from pramana.cli.app import main
main()
"""
"""The program, which ends when nobody holds the other end of its input, however that one ended."""


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, int]]:
    """A collector in a separate process; gives its port and the number of the process.

    What its terminal says to us it does not hear, and what it says nobody hears but we.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = ["collect", "serve", str(folder), "--port", str(port)]
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(  # noqa: S603 - our own
            [sys.executable, "-P", "-c", PROGRAM, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        try:
            _wait_for(port, process, output)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


def _wait_for(port: int, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
    """Until it listens, however long a busy machine takes, or has ended."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    output.seek(0)
    why = output.read().decode(errors="replace").strip().removeprefix("pramana: ")
    raise InputError(f"The collector could not be started. {why}")


def answer_all(
    definition: Definition, simulated: Sequence[Mapping[str, str]], *, port: int
) -> list[int]:
    """Everybody answers through HTTP, on a few connections; the status of each reply."""

    async def answer() -> list[list[int]]:
        parts = [simulated[at::CONNECTIONS] for at in range(CONNECTIONS)]
        return await asyncio.gather(*(_answer_in_turn(definition, part, port) for part in parts))

    return [status for statuses in asyncio.run(answer()) for status in statuses]


async def _answer_in_turn(
    definition: Definition, simulated: Sequence[Mapping[str, str]], port: int
) -> list[int]:
    """One connection, one person after the other."""
    if not simulated:
        return []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    tokens = Keystream.from_system()
    statuses = []
    for number, person in enumerate(simulated):
        form = {
            "survey": definition.identity,
            "record": respond(definition, person).spelled(widths=definition.channel.widths),
            "token": tokens.words("tokens", 4 * number, 4).tobytes().hex(),
            "work": "",
        }
        body = json.dumps(form).encode()
        head = "POST /answer HTTP/1.1\r\nHost: demo\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        length = next(line for line in lines if line.startswith("content-length:"))
        await reader.readexactly(int(length.partition(":")[2]))
        statuses.append(int(lines[0].split()[1]))
    writer.close()
    await writer.wait_closed()
    return statuses
