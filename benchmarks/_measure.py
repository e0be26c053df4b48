"""Time and peak memory of child processes, and tables of what came out."""

from __future__ import annotations

import os
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
        held, ended = [0], threading.Event()

        def watch() -> None:
            while not ended.wait(0.1):
                held.append(held_by(child.pid))

        watching = threading.Thread(target=watch)
        watching.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
        ended.set()
        watching.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{module} {' '.join(arguments)} failed with {child.returncode}.")
        peak = max(*held, int(Path(told.name).read_text()))
        return Run(seconds, usage.ru_utime + usage.ru_stime, peak)
