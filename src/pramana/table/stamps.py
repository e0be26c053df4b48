"""Detect files that change while they are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pramana.errors import InvalidTable

__all__ = ["FileStamp", "require_unchanged"]


@dataclass(frozen=True)
class FileStamp:
    """Size, modification time and inode of a file at one moment.

    Some changes that keep the size stay unseen: two within the resolution of the file system's
    times (milliseconds on Linux, two seconds on FAT), one whose time is set back, one through a
    memory map that has not been flushed, and one that the cache of a network file system hides.
    Readers also compare the number of records of every pass.
    """

    path: Path
    size: int
    modified_ns: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        """Return the stamp of a file as it is now."""
        try:
            with path.open("rb"):  # a file that may not be read is refused here
                stat = path.stat()
        except OSError:
            raise InvalidTable(f"{path} cannot be read. Check the permissions.") from None
        return cls(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def require_unchanged(self) -> None:
        """Refuse a file that changed: what was counted must be what is released."""
        if FileStamp.of(self.path) != self:
            raise InvalidTable(
                f"{self.path} changed while it was read. Start again when it is complete."
            )


def require_unchanged(stamps: Iterable[FileStamp]) -> None:
    """Refuse files that changed since they were stamped."""
    for stamp in stamps:
        stamp.require_unchanged()
