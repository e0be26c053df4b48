"""Time and peak memory of child processes, and tables of what came out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One child process from start to end: seconds on the clock and of all processors, memory."""

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


def in_child(module: str, *arguments: str) -> Run:
    """Run ``python -m module arguments`` and measure it from outside, start-up included."""
    root = Path(__file__).parent.parent
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=root)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{module} {' '.join(arguments)} failed with {child.returncode}.")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
