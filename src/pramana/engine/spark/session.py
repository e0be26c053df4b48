"""Start a Spark session, send this package to a cluster, and put Spark's failures in one line.

A failed job reports pages of Java and Python, with paths, plans and sometimes values. An error that
pramana raised in a worker is found in there and raised again; any other is named by its condition
and never shown.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pramana import errors
from pramana.base.processes import INSTALLED
from pramana.errors import InputError, InvalidTable, MissingExtra, PramanaError
from pramana.io.parquet import open_parts
from pramana.types import Entries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


OURS: Final = re.compile(r"pramana\.errors\.(\w+): ([^\n]+)")
NO_PACKAGE: Final = re.compile(r"No module named '(\w+)[.']")
DIFFERENT: Final = (
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
    "CANNOT_MERGE_SCHEMAS",
    "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE",
    "SchemaColumnConvertNotSupportedException",
)
LOST: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure", "crashed")


@contextmanager
def one_line() -> Iterator[None]:
    """Replace what Spark raises inside the block."""
    try:
        yield
    except PramanaError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise _translated(error) from None


def _translated(error: Exception) -> PramanaError:
    text = str(error)
    if match := OURS.search(text):
        kind = getattr(errors, match[1], InputError)
        return kind(match[2].strip()) if issubclass(kind, PramanaError) else InputError(match[2])
    if match := NO_PACKAGE.search(text):
        return MissingExtra(
            f"Spark's workers lack {match[1]}. Install 'pramana[spark]' in the Python that "
            "PYSPARK_PYTHON names, on every machine."
        )
    condition = _condition(error)
    if any(name in condition or name in text for name in DIFFERENT):
        column = _column(error, text)
        return InvalidTable(
            f"All parts of the table must agree on the type of every column, and {column} differs "
            "between partitions. Write them again with one schema."
        )
    if "PATH_NOT_FOUND" in condition or "PATH_NOT_FOUND" in text:
        return InvalidTable("The path does not exist, as Spark sees it.")
    if any(sign in text for sign in LOST):
        return InputError(
            "A Spark worker was lost and its task not repeated often enough. Nothing was written: "
            "run again, with more memory or spark.task.maxFailures."
        )
    name = condition or type(error).__name__
    return InputError(
        f"Spark failed with {name}. Nothing was written; Spark's own log says why (it may show "
        "data)."
    )


def _condition(error: Exception) -> str:
    read = getattr(error, "getCondition", None)
    try:
        return str(read() or "") if read is not None else ""
    except Exception:  # the JVM may be gone
        return ""


def _column(error: Exception, text: str) -> str:
    """The column that differs, if Spark says which."""
    parameters: Entries = {}
    read = getattr(error, "getMessageParameters", None)
    if read is not None:
        parameters = read() or {}
    name = parameters.get("column")
    if name is None and (match := re.search(r"[Cc]olumn:? ?[\[`]+([\w ]+)[\]`]", text)):
        name = match[1]
    return f"'{str(name).strip('[]`')}'" if name else "one"


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
    # Refuse what no cluster answers to; Spark itself would try for minutes
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
    from pyspark.sql import SparkSession

    if master.startswith("local"):  # workers on this machine are to be this very Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("pramana")
    for name, value in {**_defaults(master), **(settings or {})}.items():
        builder = builder.config(name, value)
    with _quietly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _interruptions_as_they_were():
                session = builder.getOrCreate()
            session.sparkContext.setLogLevel("WARN" if os.environ.get(SHOW) else "OFF")
            if not master.startswith("local"):
                _send_package(session)
        except Exception as error:
            raise InputError(
                f"Spark must start on the master it is given, and does not on '{master}' "
                f"({type(error).__name__}). Give local[2], or the address of a cluster."
            ) from None
    return session


def active_session() -> SparkSession | None:
    """The session of this process, if there is one."""
    require_pyspark()
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


_SENT: Final[dict[str, tempfile.TemporaryDirectory[str]]] = {}
"""The archive of this package that each Spark application was sent, until the process ends."""


def _send_package(session: SparkSession) -> None:
    """Send this package to the workers of a cluster, which so run the version of the driver.

    They need Python, pyarrow, numpy, msgspec and cryptography, and no pramana.
    """
    application = str(session.sparkContext.applicationId)
    if application in _SENT:
        return
    _SENT[application] = tempfile.TemporaryDirectory(prefix="pramana-spark-")
    archive = Path(_SENT[application].name) / "pramana.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for place in sorted([*INSTALLED.rglob("*.py"), *INSTALLED.rglob("*.pyi")]):
            target.write(place, Path(INSTALLED.name) / place.relative_to(INSTALLED))
    session.sparkContext.addPyFile(str(archive))


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


def read_path(path: str, *, master: str | None = None) -> DataFrame:
    """A file or a folder of Parquet or CSV files, wherever Spark can read."""
    local = Path(path)
    if "://" not in path:
        if not local.exists():
            raise InvalidTable(f"{path} does not exist.")
        if local.is_dir() and any(place.suffix == ".parquet" for place in local.iterdir()):
            open_parts(local)
        path = local.absolute().as_uri()
    session = start_session(master=master)
    with one_line():
        if ".csv" in path.rsplit("/", 1)[-1].lower():
            return session.read.option("header", True).option("mode", "FAILFAST").csv(path)
        return session.read.parquet(path)


def require_pyspark() -> None:
    """Refuse to go on without the library."""
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtra("Spark needs an extra: pip install 'pramana[spark]'.")


def require_java() -> None:
    """Refuse to go on without a JVM that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version_text = ""
    if java is not None and Path(java).exists():
        try:
            run = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the java of this machine
            version_text = run.stderr
        except OSError:
            version_text = ""
    match = re.search(r'version "(?:1\.)?(\d+)', version_text)
    if match is None or int(match[1]) < OLDEST_JAVA:
        there = "and none was found" if match is None else f"found {match[1]}"
        raise MissingExtra(
            f"Spark needs a Java runtime of version {OLDEST_JAVA} or later, {there}. Install one, "
            "or set JAVA_HOME."
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
