"""Hidden folders in which something is being written, and those whose process has ended.

A process holds a lock on the folder it writes in, and the lock ends with the process, however that
ends. So a folder without a lock is a leftover: of a kill, a crash or a power cut. The next one who
writes beside it says so, and it is removed when asked. What an interrupted exchange has moved aside
(only where the file system has no exchange in one step) is put back instead.

In such a folder the studio has copies of the tables that were dropped on its pages, too.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pramana.base.file_moves import FORMER, former_name, move_new
from pramana.base.processes import defer_signals

NAME: Final = re.compile(r"\.pramana-(\d+)-[0-9a-f]+")

STUDIO: Final = ".pramana-studio"
"""What the studio keeps in a folder that it was opened in."""

TRIES: Final = 100
"""Whoever looks for leftovers has the lock of a new folder for a moment."""

JUST_NOW: Final = 10
"""Seconds in which a folder may not have its lock yet."""

LONG_AGO: Final = 24 * 3600
"""Seconds after which a folder is a leftover where there are no locks."""


@dataclass(frozen=True)
class Leftover:
    """A folder of a process that has ended; what it holds (as it was before, if ``former``)."""

    folder: Path
    name: str | None
    former: bool

    def sentence(self) -> str:
        """What it is."""
        what, own = self.name or "something", self.folder.name
        if self.former:
            return f"{own} holds {what} as it was before, which an exchange left there"
        if self.folder.parent.name == STUDIO:
            return f"{STUDIO}/{own} is what was left of {what} when the studio was cut off"
        return f"{own} is what was left when {what} was being written"


@contextmanager
def hidden_folder(parent: Path) -> Iterator[Path]:
    """A folder of one's own, under lock, that is gone at the end."""
    folder = parent / f".pramana-{os.getpid()}-{time.time_ns():x}"
    handle = None
    try:
        try:
            folder.mkdir(0o700)
            handle = os.open(folder, os.O_RDONLY)
            for _ in range(TRIES):
                if _take(handle) is not False:
                    break
                time.sleep(0.01)
            yield folder
        finally:
            _clear(folder)
    finally:
        with defer_signals():
            if handle is not None:
                os.close(handle)
            _clear(folder)  # again, if a signal interrupted it, or the process had no handle left


def _clear(folder: Path) -> None:
    """Remove what was made there, and nothing that was put aside and not put back."""
    with suppress(OSError):
        folder.rmdir()  # mostly: what it held has its name by now
    try:
        kept = _leftover(folder).former
    except FileNotFoundError:
        return
    except OSError:
        kept = False
    if kept:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        _clear_by_names(folder)  # where that has not enough handles


def _clear_by_names(folder: Path) -> None:
    """Remove a folder with one open handle at a time."""
    for place in list(folder.iterdir()):
        if place.is_dir() and not place.is_symlink():
            _clear_by_names(place)
        else:
            place.unlink()
    folder.rmdir()


def leftovers(parent: Path) -> list[Leftover]:
    """What processes that have ended left in a folder, and the studio in its own part of it."""
    studio = parent / STUDIO
    return _left_in(parent) + ([] if studio.is_symlink() else _left_in(studio))


def _left_in(parent: Path) -> list[Leftover]:
    try:
        with os.scandir(parent) as entries:
            names = sorted(entry.name for entry in entries if NAME.fullmatch(entry.name))
    except OSError:
        return []
    return [_leftover(parent / name) for name in names if _is_abandoned(parent / name)]


def remove_leftovers(parent: Path) -> list[Leftover]:
    """Remove them, put back what had been moved aside, and say what there was; signals wait."""
    with defer_signals():
        found = leftovers(parent)
        for one in found:
            if one.former and one.name is not None:
                _put_back(one.folder / former_name(one.name), one.folder.with_name(one.name))
            shutil.rmtree(one.folder)
    return found


def _put_back(aside: Path, own: Path) -> None:
    with suppress(OSError):  # the empty folder that an exchange in steps takes the name by
        own.rmdir()
    try:
        move_new(aside, own)
    except OSError:
        move_new(aside, own.with_name(f"{own.name}.former"))


def _leftover(folder: Path) -> Leftover:
    inside = sorted(place.name for place in folder.iterdir())
    both = next((name for name in inside if former_name(name) in inside), None)
    alone = next((name for name in inside if name != FORMER), None)
    return Leftover(folder, both or alone, both is not None)


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody writes there any more."""
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_DIRECTORY)
    except OSError:
        return False  # not a folder, not ours, or gone meanwhile
    try:
        age = time.time() - folder.stat().st_mtime
        taken = _take(handle)
    finally:
        os.close(handle)
    if taken is None:
        return age > LONG_AGO
    return taken and (age > JUST_NOW or not _runs(folder))


def _take(handle: int) -> bool | None:
    """Whether the lock of a folder could be had; ``None`` where there are none."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _runs(folder: Path) -> bool:
    """Whether there is a process of the number that the folder carries."""
    found = NAME.fullmatch(folder.name)
    try:
        os.kill(int(found[1]) if found else 0, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
