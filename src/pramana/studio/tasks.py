"""What the worker does: each function calls ``api`` and gives back plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pramana.studio.worker import Workbench

__all__ = ["look"]

ROWS = 100


def look(bench: Workbench, *, path: str, encoding: str, stamp: int) -> dict[str, Any]:
    """The outside of a table and its first records."""
    from pramana import api

    del stamp  # another one makes it another job
    bench.say("Reading the file")
    opened = bench.table(path, encoding)
    return asdict(api.look(opened, rows=ROWS, encoding=encoding or None))
