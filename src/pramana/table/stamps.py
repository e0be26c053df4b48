"""Whether files are still what they were when they were opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pramana.errors import InvalidTable

__all__ = ["FileStamp", "require_unchanged"]


@dataclass(frozen=True)
class FileStamp:
    """A file at one moment: its size, the time of its last change, its number on the disk."""

    path: Path
    size: int
    changed: int
    number: int

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        """The stamp of a file as it is now."""
        try:
            stat = path.stat()
        except OSError:
            raise InvalidTable(f"{path} cannot be read. Check the permissions.") from None
        return cls(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)


def require_unchanged(stamps: Iterable[FileStamp]) -> None:
    """Refuse files that are not what they were: what was counted must be what is released."""
    for stamp in stamps:
        if FileStamp.of(stamp.path) != stamp:
            raise InvalidTable(
                f"{stamp.path} changed while it was read. Start again when it is complete."
            )
