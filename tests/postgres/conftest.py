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


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of an empty database; the server never runs as root."""
    programs = _programs()
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    base = Path(tempfile.mkdtemp(prefix="pramana-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(base, user)

    def run(*command: str) -> None:
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        prefix = as_user if os.geteuid() == 0 else []
        subprocess.run([*prefix, *command], check=True, cwd=base, stdout=subprocess.DEVNULL)

    data = str(base / "data")
    run(str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "office", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {base}"
    run(str(programs / "pg_ctl"), "-D", data, "-o", options, "-l", str(base / "log"), "-w", "start")
    try:
        yield f"postgresql://office@127.0.0.1:{port}/postgres"
    finally:
        run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(base, ignore_errors=True)
