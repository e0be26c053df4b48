"""A studio on a folder of its own, and someone who asks it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pramana.studio.app import studio_application
from pramana.studio.guard import Origin
from pramana.studio.session import StudioSession

TOKEN = "a" * 64
HOST = "127.0.0.1:8123"
ORIGIN = f"http://{HOST}"
PEOPLE = "sex,age,region,income\n" + "\n".join(
    f"{'FM'[at % 2]},{20 + at % 7 * 10},{'NESW'[at * at % 4]},{1000 + at * 37 % 900}"
    for at in range(400)
)


class Visitor:
    """Asks as a page of the studio does."""

    def __init__(self, client: TestClient, session: StudioSession) -> None:
        self.client = client
        self.session = session

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers=headers)

    def post(self, path: str, data: dict[str, Any] | None = None, **headers: str) -> Any:
        known = {"origin": ORIGIN, **headers}
        return self.client.post(path, data=data or {}, headers=known)

    def part(self, path: str) -> str:
        """What a part of a page says once its work is done."""
        for _ in range(400):
            text = str(self.get(path, **{"hx-request": "true"}).text)
            if 'class="working"' not in text:
                return text
            time.sleep(0.05)
        raise AssertionError(f"{path} is never done.")


def words(html: str) -> str:
    """The text of a page, its marks left out."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one table."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


@pytest.fixture
def session(folder: Path) -> StudioSession:
    return StudioSession(folder)


@pytest.fixture
def outsider(session: StudioSession) -> Iterator[TestClient]:
    """Someone who does not have the token."""
    app = studio_application(session, token=TOKEN, origin=Origin.of("127.0.0.1", 8123))
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def visitor(outsider: TestClient, session: StudioSession) -> Visitor:
    """Someone who came by the address that was printed."""
    assert outsider.get(f"/?token={TOKEN}").status_code == 200
    return Visitor(outsider, session)
