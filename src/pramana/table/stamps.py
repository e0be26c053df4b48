"""Whether files are still what they were when they were opened."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pramana.errors import InvalidTable

__all__ = ["FileStamp", "require_unchanged"]

GRAIN: Final = 10_000_000
"""Nanoseconds that times of files are apart at most on the usual file systems."""

SECOND: Final = 1_000_000_000

MOUNTS: Final = Path("/proc/self/mountinfo")

BY_TIMES: Final = {"ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "overlay"}
"""File systems whose times tell of every change, if they are not kept in whole seconds."""


@dataclass(frozen=True)
class FileStamp:
    """A file at one moment: its size, the times of its last change, its number on the disk.

    The second time is that of the system, which nobody can set back. Times have a grain: a file
    that was changed a moment ago is stamped when it is over, so that no later change has the same.
    Who writes through a map of the file changes no time while its pages wait to be written; so
    these are flushed first, and the next change is a change again (not on a disk in memory). Where
    times may not tell, the content does: a stamp that was ``sealed`` has its digest.
    """

    path: Path
    size: int
    written: int
    changed: int
    number: int
    digest: bytes | None = None

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

    def sealed(self) -> FileStamp:
        """The stamp, with a digest of the content where times may not tell of a change."""
        tell = self.changed % SECOND and _file_system(self.path) in BY_TIMES
        return self if tell else replace(self, digest=_digest(self.path))

    def require_same_times(self) -> None:
        """Refuse a file that is seen not to be what it was, without reading it."""
        if FileStamp._now(self.path) != replace(self, digest=None):
            raise self._changed()

    def require_unchanged(self) -> None:
        """Refuse a file that is not what it was: what was counted must be what is released."""
        self.require_same_times()
        if self.digest is not None and _digest(self.path) != self.digest:
            raise self._changed()

    def _changed(self) -> InvalidTable:
        return InvalidTable(
            f"{self.path} changed while it was read. Start again when it is complete."
        )


def require_unchanged(stamps: Iterable[FileStamp]) -> None:
    """Refuse files that are not what they were: what was counted must be what is released."""
    for stamp in stamps:
        stamp.require_unchanged()


def _digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        raise InvalidTable(f"{path} cannot be read. Check the permissions.") from None


def _file_system(path: Path) -> str | None:
    """The kind of the file system that holds a file; ``None`` where nobody says (not Linux)."""
    try:
        lines = os.fsdecode(MOUNTS.read_bytes()).splitlines()
    except OSError:
        return None
    place, kind, longest = f"{path.resolve()}/", None, -1
    for line in lines:
        before, _, after = line.partition(" - ")
        at = before.split(" ")[4]
        if "\\" in at:
            at = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), at)
        # Of two at one place the last counts.
        if len(at) >= longest and place.startswith(f"{at.rstrip('/')}/"):
            kind, longest = after.split(" ")[0], len(at)
    return kind
