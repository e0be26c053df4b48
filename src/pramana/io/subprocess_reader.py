"""Read files in a subprocess, where a broken file may crash a library.

The libraries behind SPSS, Stata and SAS files, spreadsheets, databases, files of R and Feather
trust the lengths that a file states. Over a damaged file they may crash, or unpack it
without end. They run in a subprocess with limited memory and processor time, which is started once
and kept, and returns what it read as Arrow data. Its death or silence is one error here, and the
next file gets a new subprocess.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pramana.base.processes import import_path, limit_memory, limit_processor, memory_bound
from pramana.errors import InvalidTable, PramanaError
from pramana.io.base import BROKEN, validated
from pramana.schema.domains import Labels
from pramana.types import Form

PATIENCE: Final = 60.0
"""Seconds of processor time for a file; one more is added for each megabyte."""

WAITED: Final = 20.0
"""Multiple of that time after which a subprocess that does nothing is killed."""

MOMENT: Final = 1.0
SPENT: Final = getattr(signal, "SIGXCPU", 0)
"""The signal by which the system ends a process whose processor time is spent."""

SERVE: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from pramana.io.subprocess_reader import serve; serve()"
)
MODULES: Final = tuple(
    f"pramana.io.{name}" for name in ("labelled", "parquet", "spreadsheet", "databases", "rdata")
)


def read_in_child(module: str, path: Path, *, title: str, **how: str) -> tuple[pa.Table, Labels]:
    """The result of ``read_here`` of a module on a file, computed by the subprocess."""
    with _LOCK, _child() as process:
        patience = PATIENCE + path.stat().st_size / 1e6
        too_late = threading.Event()
        late = threading.Timer(WAITED * patience, _give_up, (process, too_late))
        late.start()
        asked = {"module": module, "path": str(path.absolute()), "how": how, "seconds": patience}
        try:
            assert process.stdin is not None  # noqa: S101
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            if "refused" in answer:
                kind = getattr(import_module("pramana.errors"), answer["kind"], InvalidTable)
                raise kind(answer["refused"], code=answer["code"], **answer["fields"])
            with pa.ipc.open_stream(pa.PythonFile(process.stdout, "r")) as stream:
                table = validated(stream.read_all(), count=answer["records"])
            return table, _labels(answer["labels"])
        except BROKEN as error:
            if isinstance(error, PramanaError):
                raise
            ended = _ended(process)  # so that the next file is not given to a dying subprocess
            if too_late.is_set() or ended == -SPENT:
                raise InvalidTable(
                    "{path} cannot be read as {title} within {patience:.0f} seconds of processor "
                    "time. It is broken, or too large for its format: write it as Parquet or CSV.",
                    path=path,
                    title=title,
                    patience=patience,
                ) from None
            raise InvalidTable(
                "{path} cannot be read as {title}: the library that reads such files failed. The "
                "file is broken, truncated, of another format than its extension, or unpacks to "
                "more than the {gigabytes:.1f} GiB of memory that are allowed (PRAMANA_MEMORY).",
                path=path,
                title=title,
                gigabytes=memory_bound() / 2**30,
            ) from None
        finally:
            late.cancel()


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a subprocess whose answer broke off; it is killed if it still runs."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(timeout=MOMENT)
    process.kill()
    return process.wait()


def _give_up(process: subprocess.Popen[bytes], too_late: threading.Event) -> None:
    """Kill a subprocess that does not answer; ``too_late`` says so before it ends."""
    too_late.set()
    process.kill()


_LOCK: Final = threading.Lock()
_RUNNING: dict[int, subprocess.Popen[bytes]] = {}
"""The subprocess of each process id: a forked process has none yet."""


@contextmanager
def _child() -> Iterator[subprocess.Popen[bytes]]:
    process = _RUNNING.get(os.getpid())
    if process is not None and process.poll() is not None:
        _end(process)
        process = None
    if process is None:
        process = _RUNNING[os.getpid()] = _started()
    try:
        yield process
    except PramanaError:
        if process.poll() is not None:
            _end(process)
        raise
    except BaseException:  # half an answer may be in the pipe
        _end(process)
        raise


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-c", SERVE, json.dumps(import_path())]
    process = subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # libraries print messages
        start_new_session=True,  # signals of the terminal are for the parent
    )
    atexit.register(_end_at_exit, os.getpid())
    return process


def _end_at_exit(number: int) -> None:
    """End the subprocess with the process that started it, not with a fork of that."""
    if os.getpid() == number and number in _RUNNING:
        _end(_RUNNING[number])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()
    for owner, running in list(_RUNNING.items()):
        if running is process:
            del _RUNNING[owner]


def serve() -> None:
    """Read the requested files, one request a line, until the pipe is closed."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries print to stdout, too
    limit_memory()
    warnings.simplefilter("ignore")
    for line in source:
        asked = json.loads(line)
        limit_processor(asked["seconds"])
        _serve_one(asked, sink)
        sink.flush()


def _serve_one(asked: Form, sink: Any) -> None:
    if asked["module"] not in MODULES:
        raise ValueError("not a reading module")
    read: Callable[..., tuple[pa.Table, Labels]] = import_module(asked["module"]).read_here
    try:
        table, labels = read(Path(asked["path"]), **asked["how"])
    except PramanaError as error:
        refusal = {
            "refused": error.args[0],
            "kind": type(error).__name__,
            "code": error.code,
            "fields": error.fields,
        }
        sink.write(json.dumps(refusal, default=str).encode() + b"\n")
        return
    answer = {"records": table.num_rows, "labels": _spelled(labels)}
    sink.write(json.dumps(answer).encode() + b"\n")
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), table.schema) as writer:
        writer.write_table(table)


def _spelled(labels: Labels) -> Form:
    """Labels for JSON; labels of values as pairs, since values may be numbers."""
    return {
        "variables": dict(labels.variables),
        "values": {name: list(texts.items()) for name, texts in labels.values.items()},
        "measures": dict(labels.measures),
        "missing": {name: list(codes) for name, codes in labels.missing.items()},
    }


def _labels(form: Form) -> Labels:
    return Labels(
        form["variables"],
        {name: dict(texts) for name, texts in form["values"].items()},
        form["measures"],
        {name: tuple(codes) for name, codes in form["missing"].items()},
    )
