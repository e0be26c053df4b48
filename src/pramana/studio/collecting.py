"""Surveys that take answers: each is served by a separate process, to this machine alone."""

from __future__ import annotations

import threading
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeAlias

from pramana import api
from pramana.base.processes import isolate_children, listener_at
from pramana.errors import InputError, PramanaError
from pramana.studio.worker import end_with_parent

HERE: Final = "127.0.0.1"
PATIENCE: Final = 60.0
"""Seconds for a collector to begin, and to end."""

Collected: TypeAlias = tuple[Path, int | None]
"""A survey folder, in a panel with a wave."""


class Collectors:
    """The processes that take answers, and their addresses."""

    def __init__(self) -> None:
        self._running: dict[Collected, tuple[Any, str]] = {}
        self._turn = threading.Lock()

    def address(self, survey: Collected) -> str:
        """Where people answer; empty where no answers are taken."""
        process, address = self._running.get(survey, (None, ""))
        return address if process is not None and process.is_alive() else ""

    def start(self, survey: Collected, database: str | None) -> None:
        """Take answers."""
        with self._turn:
            if self.address(survey):
                return
            isolate_children()
            context = get_context("spawn")
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(
                target=_collect, args=(theirs, *survey, database), daemon=True
            )
            process.start()
            theirs.close()
            try:
                said = ours.recv() if ours.poll(PATIENCE) else "The survey could not be started."
            except EOFError:
                said = "The survey could not be started."
            if isinstance(said, str):
                process.terminate()
                raise InputError(said)
            self._running[survey] = (process, f"http://{HERE}:{said}/")

    def stop(self, survey: Collected) -> None:
        """Take no more answers for now."""
        with self._turn:
            process, _ = self._running.pop(survey, (None, ""))
            if process is not None:
                process.terminate()
                process.join(PATIENCE)

    def close(self) -> None:
        """Stop all."""
        for survey in list(self._running):
            self.stop(survey)


def _collect(pipe: Connection, folder: Path, wave: int | None, database: str | None) -> None:
    """Serve a survey, and say at which port; or why not."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        with listener_at(HERE, 0) as at:
            ready = partial(pipe.send, at.getsockname()[1])
            api.serve_folder(folder, at, wave=wave, database=database, ready=ready)
    except PramanaError as error:
        pipe.send(str(error))
