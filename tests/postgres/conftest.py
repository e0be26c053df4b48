"""A PostgreSQL of our own; only ``make test-postgres`` comes here, and there nothing is skipped."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("PRAMANA_TEST_POSTGRES") else ["test_*.py"]


def _programs() -> Path:
    """Where the server's programs are: Debian keeps them apart, by version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    assert found or on_path, "No PostgreSQL was found. Install the package 'postgresql'."
    return found[-1].parent if found else Path(str(on_path)).parent


class Database:
    """A server of our own, which never runs as root."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._port = int(found.getsockname()[1])
        self._base = Path(tempfile.mkdtemp(prefix="pramana-postgres-"))
        if os.geteuid() == 0:
            shutil.chown(self._base, self._user)
        self.url = f"postgresql://office@127.0.0.1:{self._port}/postgres"
        self._run("initdb", "-A", "trust", "-U", "office", "--no-sync")

    def _run(self, program: str, *words: str) -> None:
        as_user = ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--clear-groups"]
        command = [str(self._programs / program), "-D", str(self._base / "data"), *words]
        prefix = as_user if os.geteuid() == 0 else []
        subprocess.run([*prefix, *command], check=True, cwd=self._base, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -k {self._base}"
        self._run("pg_ctl", "-o", options, "-l", str(self._base / "log"), "-w", "start")

    def crash(self) -> None:
        """Without a word to anybody, and without writing what is in memory."""
        self._run("pg_ctl", "-m", "immediate", "-w", "stop")

    def close(self) -> None:
        self.crash()
        shutil.rmtree(self._base, ignore_errors=True)


@pytest.fixture(scope="session")
def database() -> Iterator[Database]:
    """A server that is running."""
    found = Database()
    found.start()
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def postgres(database: Database) -> str:
    """The URL of its database."""
    return database.url
