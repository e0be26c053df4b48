"""Time and peak memory of child processes, and tables of what came out."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One child process from start to end: seconds on the clock and of all processors, memory.

    Those of processes that it starts itself count with it.
    """

    seconds: float
    processor: float
    peak: int


@dataclass
class Result:
    """A titled table with notes under it."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wrong: int = 0
    """How many things did not hold that must: the command then leaves with 1."""

    def text(self) -> str:
        table = [self.head, *self.rows]
        widths = [max(len(row[at]) for row in table) for at in range(len(self.head))]
        lines = [
            "  ".join(
                cell.ljust(width) if not at else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([self.title, "", lines[0], rule, *lines[1:], *self.notes, ""])


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except OSError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def held_by(process: int) -> int:
    """Bytes that a process and those it has started hold now; what they share counts once."""
    held = 0
    with suppress(OSError):  # not Linux, or ended by now
        own = Path(f"/proc/{process}")
        lines = (own / "smaps_rollup").read_text().splitlines()
        held = next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024
        for children in own.glob("task/*/children"):
            held += sum(held_by(int(child)) for child in children.read_text().split())
    return held


class _Watched:
    """The most that a process and those it has started were seen to hold, ten times a second."""

    def __init__(self, process: int) -> None:
        self.peak = 0
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.peak = max(self.peak, held_by(self._process))

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return self.peak


def in_child(module: str, *arguments: str) -> Run:
    """Run ``python -m module arguments``, start-up included, in a process of its own.

    Modules are compiled once, as those of an installed package are, whatever the caller says.
    """
    root = Path(__file__).parent.parent
    own = {name: said for name, said in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.NamedTemporaryFile() as told:
        command = [sys.executable, "-m", "benchmarks._child", told.name, module, *arguments]
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=root, env=own)
        watched = _Watched(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        peak = watched.end()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{module} {' '.join(arguments)} failed with {child.returncode}.")
        peak = max(peak, int(Path(told.name).read_text()))
        return Run(seconds, usage.ru_utime + usage.ru_stime, peak)
