"""Small files that are read at once: regular ones, so that nothing waits for a pipe."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from pramana.errors import InputError

__all__ = ["read_file", "require_regular"]

MOST: Final = 2**28
"""No schema, key or matrix is longer."""


def read_file(path: Path, *, what: str = "file") -> bytes:
    """The content of a regular file; anything else is refused, in one line, without waiting."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        reason = error.strerror or "the operating system refused"
        raise InputError(f"The {what} {path} cannot be read: {reason}.") from None
    try:
        found = os.fstat(handle)
        require_regular(found, path, what=what)
        if found.st_size > MOST:
            raise InputError(f"The {what} {path} must have at most {MOST:,} bytes.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(MOST)
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror}.") from None
    finally:
        os.close(handle)


def require_regular(found: os.stat_result, path: Path, *, what: str = "file") -> None:
    """Refuse a folder, a pipe or a device where a file is needed."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"The {what} {path} must be a file, and is a folder, a pipe or a device.")
