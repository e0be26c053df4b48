"""Debian's Chromium, driven by Playwright; only ``make test-browser`` comes here.

With PRAMANA_TEST_BROWSER nothing is skipped: what is missing fails, and says what to install.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from pramana.cli.app import main
from pramana.collect.definition import Definition
from pramana.collect.survey_folder import new_survey
from tests.collect.conftest import survey_text

collect_ignore_glob = [] if os.environ.get("PRAMANA_TEST_BROWSER") else ["test_*.py"]

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
COMMAND = [sys.executable, "-c", "from pramana.cli.app import main; main()"]
COLLECTORS = get_context("forkserver")
COLLECTORS.set_forkserver_preload(
    ["pramana.cli.app", "pramana.cli.collect", "pramana.collect.server", "uvicorn.main"]
)
"""Commands in processes of their own, for which what they load was loaded once."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for all tests."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
    assert path is not None, "No Chromium was found. Install the package 'chromium'."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    """A browser without a past; a page that logs an error fails its test."""
    found = chromium.new_context(viewport={"width": 390, "height": 800})
    errors: list[str] = []
    found.on("weberror", lambda error: errors.append(str(error.error)))
    yield found
    found.close()
    assert not errors


@pytest.fixture
def page(context: Any) -> Any:
    """A page of that browser, of the width of a phone."""
    return context.new_page()


class Survey:
    """A survey that is being served."""

    def __init__(self, folder: Path, *, port: int, wave: int | None = None) -> None:
        self.folder = folder
        self.address = f"http://127.0.0.1:{port}/"
        self.port = port
        self.definition = Definition.load(folder).of_wave(wave)
        self._wave = [] if wave is None else ["--wave", str(wave)]
        self._process: ForkServerProcess | None = None

    def start(self) -> None:
        """Begin to listen, and wait until it does."""
        words = ["collect", "serve", str(self.folder), "--port", str(self.port), *self._wave]
        self._process = COLLECTORS.Process(target=main, args=(words,))
        self._process.start()
        while self._process.is_alive():  # however long a busy machine takes
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("The collector has ended.")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.join(timeout=300)
            assert self._process.exitcode is not None
            self._process = None

    def records(self) -> list[str]:
        """What was kept."""
        from pramana.collect.survey_folder import opened_store

        with opened_store(self.folder, self.definition) as store:
            return list(store.records())


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(params=["retention", "attribute-sampling"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Survey]:
    """A survey of whole records, and one of reports."""
    yield from serving(tmp_path, survey_text(request.param))


@pytest.fixture
def served_whole(tmp_path: Path) -> Iterator[Survey]:
    """A survey of whole records."""
    yield from serving(tmp_path, survey_text("retention"))


@pytest.fixture(scope="module", params=["retention", "attribute-sampling"])
def looked_at(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Survey]:
    """Both surveys, one server each for all tests of a module that send nothing."""
    yield from sending_nothing(tmp_path_factory, request.param)


@pytest.fixture(scope="module")
def looked_at_whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survey]:
    """The survey of whole records, in the same way."""
    yield from sending_nothing(tmp_path_factory, "retention")


def sending_nothing(places: pytest.TempPathFactory, method: str) -> Iterator[Survey]:
    """A survey whose store is as empty after all tests as before them."""
    for survey in serving(places.mktemp("survey"), survey_text(method)):
        yield survey
        assert survey.records() == []


def serving(folder: Path, text: str, *, wave: int | None = None) -> Iterator[Survey]:
    """A survey that is served until the test ends."""
    source = folder / "survey.toml"
    source.write_text(text)
    new_survey(source, folder / "survey")
    survey = Survey(folder / "survey", port=free_port(), wave=wave)
    survey.start()
    try:
        yield survey
    finally:
        survey.stop()
