"""Files and folders that appear whole or not at all, and what interrupted writing leaves behind.

Everything is written into a hidden folder next to its place, flushed to the disk, and renamed in
one step that replaces nothing. With ``force`` the new and the former output are exchanged, and the
former one is compared with what was checked. docs/durability.md says what survives which fault.

Linux has one system call for both (renameat2), macOS another (renamex_np). Where the file system
supports neither, steps take their place that never replace another's files:

- a file is linked to the free name; without links, an empty file takes the name first;
- an empty folder takes the name first: a folder may replace an empty one;
- an exchange moves the former output aside, as ``NAME.former`` in the hidden folder.

A process holds a lock on its hidden folder. A folder without a lock is a leftover of a kill, a
crash or a power failure: the next writer names it, and ``pramana clean --remove`` removes it. The
studio keeps uploaded tables in such a folder.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import stat
import sys
import time
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from pramana.base.processes import defer_signals
from pramana.errors import InputError, Notice, OutputExists, PramanaError

NAME_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR)
IMMOVABLE = (errno.EXDEV, errno.EBUSY)
"""Errors of a mounted folder, or of a folder of a container image."""

UNSUPPORTED: Final = {
    errno.ENOSYS,
    errno.EINVAL,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EPERM,  # containers that do not know the call; where nothing may be moved, steps fail too
}

RELEASE_FILE: Final = "certificate.json"
"""A folder that holds it is a release."""

HIDDEN_NAME: Final = re.compile(r"\.pramana-(\d+)-[0-9a-f]+")
STUDIO: Final = ".pramana-studio"
"""The folder in which the studio keeps its files."""

LEFTOVERS_NAMED = 3
FLUSHING_THREADS = 4
LOCK_TRIES: Final = 100
"""A process that looks for leftovers holds the lock of a new folder for a moment."""

JUST_NOW: Final = 10
"""Seconds in which a new folder may not have its lock yet."""

LONG_AGO: Final = 24 * 3600
"""Seconds after which a folder is a leftover where the file system has no locks."""

LARGEST_SMALL_FILE: Final = 2**28
"""Bytes: no schema, key or matrix is longer."""

_WRITTEN: list[Path] = []


def written_outputs() -> list[Path]:
    """The outputs that this process has completed: an error afterwards must name them."""
    return list(_WRITTEN)


def note_written(path: Path) -> None:
    """Add an output to :func:`written_outputs`."""
    if path not in _WRITTEN:
        _WRITTEN.append(path)


def forget_written_outputs() -> None:
    """Begin anew: another command runs in this process."""
    _WRITTEN.clear()


# -- places to write to -------------------------------------------------------------------------


def require_name(path: Path) -> None:
    """Refuse a place without a proper name, or with control characters, which mislead readers."""
    if any(unicodedata.category(letter) == "Cc" for letter in path.name):
        raise InputError(
            "{path!r} must be a name without line breaks or control characters.", path=path.name
        )
    if path.name in ("", ".."):
        raise InputError("{path} must end in the name of what is to be written.", path=path)


def require_free(path: Path, *, force: bool, reads: Iterable[Path | None] = ()) -> None:
    """Refuse a place for a file that is taken, part of a release, or what the command ``reads``."""
    require_name(path)
    if not path.absolute().parent.is_dir():
        raise InputError(
            "The folder {parent} must exist to hold {path}.",
            parent=path.absolute().parent,
            path=path.name,
        )
    if not os.path.lexists(path):
        return
    if not force:
        raise OutputExists(
            "{path} exists already. Choose another name, or replace it (--force).", path=path
        )
    if path.is_dir():
        raise OutputExists(
            "{path} is a folder, and no file replaces one. Choose another name.", path=path
        )
    if path.is_symlink() and (path.is_file() or not path.exists()):
        raise OutputExists(
            "{path} is a link, and no file replaces one. Name the file itself.", path=path
        )
    if path.is_fifo() and str(path.parent) not in ("/dev", "/dev/fd"):
        raise OutputExists(
            "{path} is a pipe, and no file replaces one. Write to /dev/stdout.", path=path
        )
    if any((folder / RELEASE_FILE).is_file() for folder in list(path.absolute().parents)[:2]):
        raise OutputExists("{path} belongs to a release. Choose another name.", path=path)
    for source in reads:
        file = Path(str(source).partition("#")[0])  # without the sheet or table in it
        if source is not None and file.exists() and path.exists() and path.samefile(file):
            raise OutputExists(
                "{path} is an input of this command. Choose another name.", path=path
            )


def require_not_here(folder: Path) -> None:
    """Refuse to replace the folder in which the command runs, or one that holds it."""
    if Path.cwd().is_relative_to(folder.resolve()):
        raise OutputExists(
            "{folder} is or holds the working folder of this command. Run it from elsewhere.",
            folder=folder,
        )


def free_name(stem: str, ending: str = "", *, taken: Collection[str] = ()) -> str:
    """A name that is free here, numbered if need be; upper and lower case are the same."""
    name, number = f"{stem}{ending}", 1
    while os.path.lexists(name) or name.casefold() in {other.casefold() for other in taken}:
        number += 1
        name = f"{stem}-{number}{ending}"
    return name


# -- writing ------------------------------------------------------------------------------------


@contextmanager
def whole_file(path: Path, *, force: bool = False, mode: int | None = None) -> Iterator[Path]:
    """A place to write a file to; it is renamed to ``path`` when the block ends."""
    require_name(path)
    path = path.absolute()
    with _hidden_place(path) as place:
        yield place
        if mode is None and force and path.is_file():
            mode = stat.S_IMODE(path.stat().st_mode)
        if mode is not None:
            place.chmod(mode)
        if not _is_in_hidden_folder(path):
            _flush(place)
        with defer_signals():
            if force:
                require_free(path, force=True)
                place.replace(path)
            else:
                _rename(place, path)
            _confirm(path)


@contextmanager
def whole_folder(path: Path, *, may_go: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """An empty folder to write to; it is renamed to ``path`` when the block ends.

    An existing folder is replaced if ``may_go`` is given and accepts it, unless it changed since.
    """
    require_name(path)
    path = path.absolute()
    with _hidden_place(path) as place:
        place.mkdir()
        yield place

        with ThreadPoolExecutor(FLUSHING_THREADS) as pool:
            list(pool.map(_flush, sorted(place.rglob("*"))))
        _flush(place)
        if may_go is not None and os.path.lexists(path):
            _replace_folder(place, path, may_go)
            return
        with defer_signals():
            _rename(place, path)
            _confirm(path)


def write_whole(
    path: Path, content: str | bytes, *, force: bool = False, mode: int | None = None
) -> None:
    """Write a small file, with these permissions if given; a device is written to directly."""
    data = content.encode() if isinstance(content, str) else content
    require_free(path, force=force)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with whole_file(path, force=force, mode=mode) as place:
        place.write_bytes(data)


@contextmanager
def _hidden_place(path: Path) -> Iterator[Path]:
    """A place of the same name in a new hidden folder; leftovers of others are named."""
    abandoned = leftovers(path.parent)
    if abandoned:
        named = "; ".join(leftover.sentence() for leftover in abandoned[:LEFTOVERS_NAMED])
        if len(abandoned) > LEFTOVERS_NAMED:
            named += f"; and {len(abandoned) - LEFTOVERS_NAMED:,} more"
        warnings.warn(
            f"Writing was interrupted here before: {named}. 'pramana clean {path.parent}' lists "
            "them, and --remove removes them.",
            Notice,
            stacklevel=4,
        )
    try:
        with hidden_folder(path.parent) as folder:
            yield folder / path.name
    except OSError as error:
        if error.filename is not None and ".pramana-" in str(error.filename):
            error.filename, error.filename2 = str(path), None  # the place that was asked for
        raise


def _replace_folder(place: Path, path: Path, may_go: Callable[[Path], None]) -> None:
    """Exchange the two folders; the former one must be what ``may_go`` accepted."""
    if path.is_symlink() or not path.is_dir():
        raise _appeared(path)
    require_not_here(path)
    before = _listing(path)
    may_go(path)
    with defer_signals():
        _rename(place, path, by=exchange)
        if _listing(place) != before:
            exchange(place, path)
            raise OutputExists(
                "{path} changed while this was being written, and is left unchanged. Nothing was "
                "written; try again.",
                path=path,
            )
        _confirm(path)


def _listing(folder: Path) -> list[tuple[str, int, int, int]]:
    """All files below a folder: name, inode, size and time of change."""
    listing = []
    for place in sorted(folder.rglob("*")):
        info = place.lstat()
        changed = (info.st_size, info.st_mtime_ns) if stat.S_ISREG(info.st_mode) else (0, 0)
        listing.append((str(place.relative_to(folder)), info.st_ino, *changed))
    return listing


def _confirm(path: Path) -> None:
    """Wait until the new name would survive a power failure."""
    if _is_in_hidden_folder(path):
        return
    note_written(path)
    try:
        _flush(path.parent)
    except OSError as error:
        raise PramanaError(
            "{path} is complete, but the disk did not confirm it ({strerror}): check it after the "
            "next start of the machine.",
            path=path,
            strerror=error.strerror,
        ) from None


def _is_in_hidden_folder(path: Path) -> bool:
    """Whether it is part of a folder that is flushed as a whole later."""
    return any(map(HIDDEN_NAME.fullmatch, path.parent.parts))


def _flush(place: Path) -> None:
    """Wait until the file, or the entries of the folder, would survive a power failure."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL or not place.is_dir():
            raise  # some file systems cannot flush folders
    finally:
        os.close(handle)


# -- renaming -----------------------------------------------------------------------------------


def _rename(place: Path, path: Path, *, by: Callable[[Path, Path], None] | None = None) -> None:
    """Rename to a free name, or exchange; a failure is one line."""
    try:
        (by or move_new)(place, path)
    except OSError as error:
        if error.errno in NAME_TAKEN:
            raise _appeared(path) from None
        if error.errno in IMMOVABLE:
            raise OutputExists(
                "{path} is a mounted volume or part of a container's image, which cannot be "
                "replaced. Nothing was written; choose another name.",
                path=path,
            ) from None
        raise


def _appeared(path: Path) -> OutputExists:
    return OutputExists(
        "{path} appeared while this was being written, and is left unchanged. Nothing was "
        "written; choose another name.",
        path=path,
    )


def move_new(place: Path, path: Path) -> None:
    """Rename ``place`` to ``path``; FileExistsError where that name is taken."""
    if _system_rename(place, path, exchanged=False):
        return
    if place.is_dir():
        claim_folder(place, path)
    else:
        claim_file(place, path)


def claim_file(place: Path, path: Path) -> None:
    """``move_new`` for a file, in steps."""
    try:
        os.link(place, path)
    except OSError as error:
        if error.errno not in {errno.EMLINK, errno.EXDEV, *UNSUPPORTED}:
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
    """``move_new`` for a folder, in steps."""
    path.mkdir()
    try:
        place.rename(path)  # fails where another process has put something into it meanwhile
    except BaseException:
        path.rmdir()
        raise


def exchange(place: Path, path: Path) -> None:
    """Exchange two places; neither name is ever free."""
    if not _system_rename(place, path, exchanged=True):
        exchange_by_steps(place, path)


def exchange_by_steps(place: Path, path: Path) -> None:
    """``exchange`` in steps; the former output is put back if one fails."""
    aside = _aside(place)
    path.rename(aside)
    try:
        move_new(place, path)
    except BaseException:
        move_new(aside, path)
        raise
    aside.rename(place)


def _aside(place: Path) -> Path:
    return place.with_name(f"{place.name}.former")


def _system_rename(place: Path, path: Path, *, exchanged: bool) -> bool:
    """Whether the system renamed in one step; ``False`` where the file system has no such call."""
    call = _rename_call()
    if call is None:
        return False
    if call(os.fsencode(place), os.fsencode(path), exchanged) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(path))


@cache
def _rename_call() -> Any:
    """The system's call, as a function of two names and whether they are exchanged."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return lambda old, new, exchanged: library.renamex_np(old, new, 2 if exchanged else 4)
    if hasattr(library, "renameat2"):
        here = -100  # AT_FDCWD
        return lambda old, new, exchanged: library.renameat2(
            here, old, here, new, 2 if exchanged else 1
        )
    return None


# -- hidden folders, and leftovers --------------------------------------------------------------


@dataclass(frozen=True)
class Leftover:
    """A hidden folder of a process that has ended.

    Attributes:
        folder: the hidden folder.
        name: what was being written.
        former: whether the former output, moved aside, is still in it.
    """

    folder: Path
    name: str | None
    former: bool

    def sentence(self) -> str:
        """What it is."""
        what, folder = self.name or "something", self.folder.name
        if self.former:
            return f"{folder} holds the former {what}, which an exchange left there"
        if self.folder.parent.name == STUDIO:
            return f"{STUDIO}/{folder} holds {what}, left when the studio was interrupted"
        return f"{folder} is what was left when {what} was being written"


@contextmanager
def hidden_folder(parent: Path) -> Iterator[Path]:
    """A new hidden folder, locked, that is removed at the end."""
    folder = parent / f".pramana-{os.getpid()}-{time.time_ns():x}"
    handle = None
    try:
        try:
            folder.mkdir(0o700)
            handle = os.open(folder, os.O_RDONLY)
            for _ in range(LOCK_TRIES):
                if _lock(handle) is not False:
                    break
                time.sleep(0.01)
            yield folder
        finally:
            _remove(folder)
    finally:
        with defer_signals():
            if handle is not None:
                os.close(handle)
            _remove(folder)  # again, if a signal interrupted it, or the process had no handle left


def _remove(folder: Path) -> None:
    """Remove a hidden folder, unless a former output is in it that was not put back."""
    with suppress(OSError):
        folder.rmdir()  # mostly empty: its content was renamed
    try:
        if _leftover(folder).former:
            return
    except FileNotFoundError:
        return
    except OSError:
        pass
    shutil.rmtree(folder, ignore_errors=True)


def leftovers(parent: Path) -> list[Leftover]:
    """Hidden folders of ended processes in a folder, and in the studio's folder there."""
    abandoned = []
    for place in (parent, parent / STUDIO):
        if place != parent and place.is_symlink():
            continue
        with suppress(OSError), os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if HIDDEN_NAME.fullmatch(entry.name))
            abandoned += [_leftover(place / name) for name in names if _is_abandoned(place / name)]
    return abandoned


def remove_leftovers(parent: Path) -> list[Leftover]:
    """Remove them, put former outputs back, and return what was found; signals wait."""
    with defer_signals():
        abandoned = leftovers(parent)
        for leftover in abandoned:
            if leftover.former and leftover.name is not None:
                aside = _aside(leftover.folder / leftover.name)
                target = leftover.folder.with_name(leftover.name)
                with suppress(OSError):  # an empty folder with which the exchange took the name
                    target.rmdir()
                try:
                    move_new(aside, target)
                except OSError:
                    move_new(aside, _aside(target))
            shutil.rmtree(leftover.folder)
    return abandoned


def _leftover(folder: Path) -> Leftover:
    names = sorted(place.name for place in folder.iterdir())
    for name in names:
        if _aside(folder / name).name in names:
            return Leftover(folder, name, former=True)
    return Leftover(folder, names[0] if names else None, former=False)


def _is_abandoned(folder: Path) -> bool:
    """Whether no process writes there any more."""
    try:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_DIRECTORY)
    except OSError:
        return False  # not a folder, not ours, or gone meanwhile
    try:
        age = time.time() - folder.stat().st_mtime
        locked = _lock(handle)
    finally:
        os.close(handle)
    if locked is None:
        return age > LONG_AGO
    return locked and (age > JUST_NOW or not _owner_runs(folder))


def _lock(handle: int) -> bool | None:
    """Whether the lock of a folder was free; ``None`` where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def _owner_runs(folder: Path) -> bool:
    """Whether the process in the name of a hidden folder runs."""
    matched = HIDDEN_NAME.fullmatch(folder.name)
    try:
        os.kill(int(matched[1]) if matched else 0, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


# -- reading small files ------------------------------------------------------------------------


def read_file(path: Path, *, what: str = "file") -> bytes:
    """The content of a regular file; anything else is refused, without waiting for a pipe."""
    handle = None
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise InputError(
                "The {what} {path} must be a file, not a folder, pipe or device.",
                what=what,
                path=path,
            )
        if info.st_size > LARGEST_SMALL_FILE:
            raise InputError(
                "The {what} {path} must have at most {largest_small_file:,} bytes.",
                what=what,
                path=path,
                largest_small_file=LARGEST_SMALL_FILE,
            )
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(LARGEST_SMALL_FILE)
    except OSError as error:
        reason = error.strerror or "the operating system refused"
        raise InputError(
            "The {what} {path} cannot be read: {reason}.", what=what, path=path, reason=reason
        ) from None
    finally:
        if handle is not None:
            os.close(handle)
