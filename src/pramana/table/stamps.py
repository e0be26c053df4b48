"""Whether files are still what they were when they were opened."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pramana.errors import InvalidTable

__all__ = ["FileStamp", "require_unchanged"]

GRAIN: Final = 10_000_000
"""Nanoseconds that times of files are apart at most on the usual file systems."""


@dataclass(frozen=True)
class FileStamp:
    """A file at one moment: its size, the times of its last change, its number on the disk.

    The second time is that of the system, which nobody can set back. Times have a grain: a file
    that was changed a moment ago is stamped when it is over, so that no later change has the same.
    Who writes through a map of the file changes no time while its pages wait to be written; so
    these are flushed first, and the next change is a change again (not on a disk in memory).
    """

    path: Path
    size: int
    written: int
    changed: int
    number: int

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        """The stamp of a file as it is now."""
        found = cls._now(path, flushed=True)
        age = time.time_ns() - found.changed
        if not 0 <= age < GRAIN:
            return found
        time.sleep((GRAIN - age) / 1e9)
        return cls._now(path)

    @classmethod
    def _now(cls, path: Path, *, flushed: bool = False) -> FileStamp:
        try:
            with path.open("rb") as file:  # an open file has no old times from a network's cache
                if flushed:
                    with suppress(OSError):  # a file system that cannot be written to
                        os.fsync(file.fileno())
                stat = os.fstat(file.fileno())
        except OSError:
            raise InvalidTable(f"{path} cannot be read. Check the permissions.") from None
        return cls(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)

    def require_unchanged(self) -> None:
        """Refuse a file that is not what it was: what was counted must be what is released."""
        if FileStamp._now(self.path) != self:
            raise InvalidTable(
                f"{self.path} changed while it was read. Start again when it is complete."
            )


def require_unchanged(stamps: Iterable[FileStamp]) -> None:
    """Refuse files that are not what they were: what was counted must be what is released."""
    for stamp in stamps:
        stamp.require_unchanged()
