"""A Spark session for the command line, or one line that says why there is none."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pramana.engines.spark.errors import one_line
from pramana.errors import InputError, InvalidTable, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_path", "require_java", "start_session"]

OLDEST_JAVA: Final = 17
MASTER: Final = "local[*]"
PATIENCE: Final = 10.0
SHOW: Final = "PRAMANA_TRACEBACK"
"""With this variable in the environment Spark's own words are shown; they may hold data."""


def start_session(
    *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session on a master; an active session with the same master is taken up."""
    require_pyspark()
    require_java()
    master = master or MASTER
    _require_master(master)
    from pyspark.sql import SparkSession

    if master.startswith("local"):  # workers on this machine are to be this very Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("pramana")
    for name, value in {**_defaults(master), **(settings or {})}.items():
        builder = builder.config(name, value)
    with _quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _interruptions_as_they_were(), _ended_if_cut_off():
                session = builder.getOrCreate()
            session.sparkContext.setLogLevel("WARN" if os.environ.get(SHOW) else "OFF")
        except Exception as error:
            raise InputError(
                f"Spark must start on the master it is given, and does not on '{master}' "
                f"({type(error).__name__}). Give local[2], or the address of a cluster."
            ) from None
    return session


@contextmanager
def _interruptions_as_they_were() -> Iterator[None]:
    """Spark would ask its jobs to end inside the handler, and fail there with tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ended_if_cut_off() -> Iterator[None]:
    """The process that Spark starts would live on if we are told to end before it answers."""
    from pyspark import java_gateway

    usual, started = java_gateway.Popen, []

    def noted(*words: Any, **more: Any) -> Any:
        started.append(usual(*words, **more))
        return started[-1]

    java_gateway.Popen = noted
    try:
        yield
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        java_gateway.Popen = usual


def read_path(path: str, *, master: str | None = None) -> DataFrame:
    """A file or a folder of Parquet or CSV files, wherever Spark can read."""
    local = Path(path)
    if "://" not in path:
        if not local.exists():
            raise InvalidTable(f"{path} does not exist.")
        _require_agreement(local)
        path = local.absolute().as_uri()
    session = start_session(master=master)
    with one_line():
        if ".csv" in path.rsplit("/", 1)[-1].lower():
            return session.read.option("header", True).option("mode", "FAILFAST").csv(path)
        return session.read.parquet(path)


def require_pyspark() -> None:
    """Refuse to go on without the library."""
    import importlib.util

    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtra("Spark needs an extra: pip install 'pramana[spark]'.")


def require_java() -> None:
    """Refuse to go on without a JVM that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    told = ""
    if java is not None and Path(java).exists():
        try:
            run = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the java of this machine
            told = run.stderr
        except OSError:
            told = ""
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    if found is None:
        raise MissingExtra(
            f"Spark needs a Java runtime of version {OLDEST_JAVA} or later, and none was found. "
            "Install one, or set JAVA_HOME."
        )
    if int(found[1]) < OLDEST_JAVA:
        raise MissingExtra(
            f"Spark needs a Java runtime of version {OLDEST_JAVA} or later, found {found[1]}. "
            "Install one, or set JAVA_HOME."
        )


def _require_master(master: str) -> None:
    """Refuse what no cluster answers to; Spark itself would try for minutes."""
    known = r"local(\[.+\])?|yarn|spark://.+|k8s://.+"
    if not re.fullmatch(known, master):
        raise InputError(
            "A master must read like local[2], spark://host:7077, yarn or k8s://https://host, "
            f"got '{master}'."
        )
    addresses = re.findall(r"([\w.-]+):(\d+)", master.removeprefix("spark://"))
    if master.startswith("spark://") and not any(_answers(*address) for address in addresses):
        raise InputError(
            f"No Spark master answers at {master}. Check the address, and that it runs."
        )


def _answers(host: str, port: str) -> bool:
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            return True
    except (OSError, OverflowError):
        return False


def _defaults(master: str) -> dict[str, str]:
    """Quiet, what goes to local disks encrypted, and what goes over a network as well."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.io.encryption.enabled": "true",
        "spark.executorEnv.PYTHONSAFEPATH": "1",  # workers import nothing from the working folder
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    elif not master.startswith("spark://"):  # there a secret must be shared by hand
        settings |= {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    return settings


def _require_agreement(path: Path) -> None:
    """Files that disagree: Spark would fill up silently what some of them lack."""
    if path.is_dir() and any(place.suffix == ".parquet" for place in path.iterdir()):
        from pramana.formats.parquet import open_parts

        open_parts(path)


@contextmanager
def _quietly() -> Iterator[None]:
    """Let the JVM inherit an error stream that nobody reads: its log may show data."""
    if os.environ.get(SHOW):
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
