"""A studio on a folder of its own, and someone who asks it."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pramana.studio.app import studio_application
from pramana.studio.serving import Origin
from pramana.studio.session import StudioSession
from tests.brief import work_briefly

TOKEN = "a" * 64
HOST = "127.0.0.1:8123"
ORIGIN = f"http://{HOST}"
PEOPLE = "sex,age,region,income\n" + "\n".join(
    f"{'FM'[at % 2]},{20 + at * at * 31 % 60},{'NESW'[at * 13 // 7 % 4]},{1000 + at * 37 % 191}"
    for at in range(400)
)


class Visitor:
    """Asks as a page of the studio does."""

    def __init__(self, client: TestClient, session: StudioSession) -> None:
        self.client = client
        self.session = session

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers={"sec-fetch-site": "same-origin", **headers})

    def post(self, path: str, data: dict[str, Any] | None = None, **headers: str) -> Any:
        known = {"origin": ORIGIN, "sec-fetch-site": "same-origin", **headers}
        return self.client.post(path, data=data or {}, headers=known)

    def part(self, path: str) -> str:
        """What a part of a page says once its work is done."""
        begun = time.monotonic()
        while time.monotonic() - begun < 120:
            before = self._conditions()
            text = str(self.get(path, **{"hx-request": "true"}).text)
            if 'class="working' not in text:
                return text
            asked = time.monotonic()
            while self._conditions() == before and time.monotonic() - asked < 1:
                time.sleep(0.01)
        raise AssertionError(f"{path} is never done.")

    def _conditions(self) -> list[str]:
        """How all work stands: the page has nothing new before that changes."""
        jobs = self.client.app._app.state.studio.jobs  # type: ignore[attr-defined]
        return [job.condition for job in [*jobs._jobs.values()]]


@contextmanager
def no_room() -> Iterator[None]:
    """As on a full disk: this process can write nothing to any file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def words(html: str) -> str:
    """The text of a page, its marks left out."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def same(html: str) -> tuple[str, str]:
    """What a page shows to paste: its commands and its Python."""
    shell, code = re.findall(r'<pre[^>]* aria-label="(?:Com|Py)[^>]*>(.*?)</pre>', html, re.DOTALL)
    return unescape(shell), unescape(code)


@pytest.fixture(scope="module", autouse=True)
def brief_workers() -> Iterator[None]:
    """Workers have processes of their own, and are told there; these have loaded everything."""
    born = get_context("forkserver")
    born.set_forkserver_preload(["tests.preloaded"])
    forkserver.ensure_running()  # now: what begins it later may be deaf to signals
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pramana.studio.jobs.work", work_briefly)
        patched.setattr("pramana.studio.jobs.get_context", lambda _: born)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tables, for all tests of a module: its worker is started once."""
    made = tmp_path_factory.mktemp("studio")
    (made / "people.csv").write_text(PEOPLE)
    (made / "other.csv").write_text("a,b\n1,2\n3,4\n")
    return made


@pytest.fixture(scope="module")
def session(folder: Path) -> StudioSession:
    return StudioSession(folder)


@pytest.fixture(scope="module")
def served(session: StudioSession) -> Iterator[TestClient]:
    """The studio itself."""
    app = studio_application(session, token=TOKEN, origin=Origin.of("127.0.0.1", 8123))
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def outsider(served: TestClient) -> TestClient:
    """Someone who does not have the token."""
    served.cookies.clear()
    return served


@pytest.fixture
def visitor(outsider: TestClient, session: StudioSession) -> Visitor:
    """Someone who came by the address that was printed; nothing is decided yet."""
    assert outsider.get(f"/?token={TOKEN}").status_code == 200
    made = Visitor(outsider, session)
    while session.undoes:
        session.undo()
    return made
