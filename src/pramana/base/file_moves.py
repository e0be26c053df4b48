"""Names that change in one step: into a free place, or in exchange for what stands there.

Linux has one call for both (renameat2), macOS another (renamex_np). Where the system or the file
system has neither, the same is done in two steps that still destroy nothing of anybody else's:

- a file gets a second name, which fails where the name is taken (link); where there are no second
  names, the name is taken by an empty file first, and then replaced;
- a folder's name is taken by an empty folder first: a folder may take the place of an empty one;
- an exchange moves what stands there aside first, so that for a moment there is nothing.

Callers defer signals around these steps (:func:`pramana.base.processes.defer_signals`).

Small files that are read at once: regular ones, so that nothing waits for a pipe.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from pramana.errors import InputError

AT_FDCWD: Final = -100
NO_REPLACE: Final = 1
EXCHANGE: Final = 2
ON_MACOS: Final = {NO_REPLACE: 4, EXCHANGE: 2}
UNSUPPORTED: Final = {
    errno.ENOSYS,
    errno.EINVAL,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EPERM,  # containers that do not know the call; where nothing may be moved, steps fail too
}
NO_LINKS: Final = {errno.EMLINK, errno.EXDEV, *UNSUPPORTED}
FORMER: Final = "former"
"""As what something is put aside where it cannot be exchanged in one step."""


def move_new(place: Path, path: Path) -> None:
    """Give what lies at ``place`` the name ``path``; FileExistsError where that is taken."""
    if _renamed(place, path, NO_REPLACE):
        return
    if place.is_dir():
        claim_folder(place, path)
    else:
        claim_file(place, path)


def exchange(place: Path, path: Path) -> None:
    """Exchange what lies at two places; neither name is ever without something."""
    if not _renamed(place, path, EXCHANGE):
        exchange_by_steps(place, path)


def claim_file(place: Path, path: Path) -> None:
    """As ``move_new`` for a file, without a call for it."""
    try:
        os.link(place, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            place.replace(path)
        except BaseException:
            path.unlink()
            raise
    else:
        place.unlink()


def claim_folder(place: Path, path: Path) -> None:
    """As ``move_new`` for a folder, without a call for it."""
    path.mkdir()
    try:
        place.rename(path)  # fails where somebody has put something into it meanwhile
    except BaseException:
        path.rmdir()
        raise


def exchange_by_steps(place: Path, path: Path) -> None:
    """As ``exchange``, without a call for it; what stood there is put back if that fails."""
    aside = place.with_name(former_name(place.name))
    path.rename(aside)
    try:
        move_new(place, path)
    except BaseException:
        move_new(aside, path)
        raise
    aside.rename(place)


def former_name(name: str) -> str:
    """As what something of a name is put aside, beside the new one."""
    return FORMER if name != FORMER else f"{FORMER} one"


def _renamed(place: Path, path: Path, flag: int) -> bool:
    """Whether the system did it; ``False`` where it has no such call for this file system."""
    call = _call()
    if call is None:
        return False
    if call(os.fsencode(place), os.fsencode(path), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(path))


@cache
def _call() -> Any:
    """The system's own call, as a function of two names and a flag."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return lambda old, new, flag: library.renamex_np(old, new, ON_MACOS[flag])
    if hasattr(library, "renameat2"):
        return lambda old, new, flag: library.renameat2(AT_FDCWD, old, AT_FDCWD, new, flag)
    return None


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
