"""Files and folders that appear whole or not at all, and what interrupted writing leaves behind.

Everything is written into a hidden folder beside its place, flushed to the disk, and moved there in
one step. Whatever stops the process before leaves nothing under the name. The step replaces
nothing, unless that is asked: then the two are exchanged in one step, and what comes out is
compared with what was looked at. docs/durability.md says what survives which fault.

A process holds a lock on the hidden folder it writes in, which ends with the process. A folder
without a lock is a leftover of a kill, a crash or a power cut: the next one who writes beside it
says so, and it is removed when asked. What an interrupted exchange has moved aside (if the file
system has no exchange in one step) is put back. The studio keeps copies of dropped tables there.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pramana.base.file_moves import FORMER, exchange, former_name, move_new
from pramana.base.processes import defer_signals
from pramana.errors import InputError, Notice, OutputExists, PramanaError

TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR)
"""What the system says where a name has been taken."""

FIXED = (errno.EXDEV, errno.EBUSY)
"""What it says of a folder that must stay where it is: a mounted one, or of a layer below."""

MOST_NAMED = 3
"""So many leftovers are named."""

AT_ONCE = 4
"""So many files wait for the disk together."""

RELEASED: Final = "certificate.json"
"""A folder that holds it is a release."""

_PLACED: list[Path] = []


def placed() -> list[Path]:
    """What this process has put into place so far: an error afterwards must not deny it."""
    return list(_PLACED)


def stands(path: Path) -> None:
    """Take note of what was changed by other means: by a database."""
    if path not in _PLACED:
        _PLACED.append(path)


def forget_placed() -> None:
    """Begin anew: another command runs in this process."""
    _PLACED.clear()


def require_free(path: Path, *, force: bool, reads: Iterable[Path | None] = ()) -> None:
    """Refuse a place for a file that is taken, part of a release, or what the command ``reads``."""
    require_name(path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"The folder {path.absolute().parent} must exist to hold {path.name}.")
    if not os.path.lexists(path):
        return
    if not force:
        raise OutputExists(f"{path} exists already. Choose another name, or replace it (--force).")
    if path.is_dir():
        raise OutputExists(f"{path} is a folder, and no file replaces one. Choose another name.")
    if path.is_symlink() and (path.is_file() or not path.exists()):
        raise OutputExists(f"{path} is a link, and no file replaces one. Name the file itself.")
    if path.is_fifo() and not path.is_relative_to("/dev"):
        raise OutputExists(f"{path} is a pipe, and no file replaces one. Write to /dev/stdout.")
    if any((above / RELEASED).is_file() for above in list(path.absolute().parents)[:2]):
        raise OutputExists(f"{path} belongs to a release: other data would be under its promise.")
    if any(source is not None and _same(path, source) for source in reads):
        raise OutputExists(f"{path} is what this command reads. Choose another name.")


def free_name(stem: str, ending: str = "", *, taken: Collection[str] = ()) -> str:
    """A name that nothing has here (capitals do not differ), numbered if need be."""
    name, number = f"{stem}{ending}", 1
    while os.path.lexists(name) or name.casefold() in {own.casefold() for own in taken}:
        number += 1
        name = f"{stem}-{number}{ending}"
    return name


def _same(path: Path, source: Path) -> bool:
    """Whether it is this source: a file, or a sheet or table of it (``book.xlsx#sheet``)."""
    own = Path(str(source).partition("#")[0])
    return own.exists() and path.exists() and path.samefile(own)


def require_not_here(folder: Path) -> None:
    """Refuse to replace the folder in which the command runs, or one that holds it."""
    if Path.cwd().is_relative_to(folder.resolve()):
        raise OutputExists(
            f"{folder} is the folder that this command runs in, or holds it. Run it from elsewhere."
        )


@contextmanager
def whole_file(path: Path, *, force: bool = False, mode: int | None = None) -> Iterator[Path]:
    """A place to write to, beside ``path``; it gets the name when all has been written."""
    require_name(path)
    path = path.absolute()
    with _beside(path) as place:
        yield place
        if mode is None and force and path.is_file():
            mode = stat.S_IMODE(path.stat().st_mode)
        if mode is not None:
            place.chmod(mode)
        if not _hidden(path):
            _to_disk(place)
        with defer_signals():
            if force:
                require_free(path, force=True)
                place.replace(path)
            else:
                _move(place, path)
            _confirm(path)


@contextmanager
def whole_folder(path: Path, *, may_go: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """An empty folder to write to, beside ``path``; it gets the name when all has been written.

    An existing folder is replaced if ``may_go`` is given and accepts it, unless it changed since.
    """
    require_name(path)
    path = path.absolute()
    with _beside(path) as place:
        place.mkdir()
        yield place

        with ThreadPoolExecutor(AT_ONCE) as waiting:
            list(waiting.map(_to_disk, sorted(place.rglob("*"))))
        _to_disk(place)
        if may_go is not None and os.path.lexists(path):
            _take_turns(place, path, may_go)
            return
        with defer_signals():
            _move(place, path)
            _confirm(path)


def write_whole(
    path: Path, content: str | bytes, *, force: bool = False, mode: int | None = None
) -> None:
    """Write a small file, with these permissions if any are given; a device gets it as it is."""
    data = content.encode() if isinstance(content, str) else content
    require_free(path, force=force)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with whole_file(path, force=force, mode=mode) as place:
        place.write_bytes(data)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A place of the same name in a hidden folder; whoever left such folders is named."""
    _name_leftovers(path.parent)
    try:
        with hidden_folder(path.parent) as folder:
            yield folder / path.name
    except OSError as error:
        if error.filename is not None and ".pramana-" in str(error.filename):
            error.filename, error.filename2 = str(path), None  # the place that was asked for
        raise


def _name_leftovers(parent: Path) -> None:
    found = leftovers(parent)
    if not found:
        return
    told = "; ".join(one.sentence() for one in found[:MOST_NAMED])
    more = f"; and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
    warnings.warn(
        f"Writing was cut off here before: {told}{more}. 'pramana clean {parent}' shows them, and "
        "--remove removes them.",
        Notice,
        stacklevel=4,
    )


def require_name(path: Path) -> None:
    """Refuse a place without a proper name, or with control characters, which mislead readers."""
    if any(unicodedata.category(own) == "Cc" for own in path.name):
        raise InputError(f"{path.name!r} must be a name without line breaks or control characters.")
    if path.name in ("", ".."):
        raise InputError(f"{path} must end in a name: that of what is to be written.")


def _move(place: Path, path: Path, *, how: Callable[[Path, Path], None] = move_new) -> None:
    try:
        how(place, path)
    except OSError as error:
        if error.errno in TAKEN:
            raise _appeared(path) from None
        if error.errno in FIXED:
            raise OutputExists(
                f"{path} is a mounted volume or part of a container's image, which nothing can be "
                "exchanged for. Nothing was written; choose another name."
            ) from None
        raise


def _appeared(path: Path) -> OutputExists:
    return OutputExists(
        f"{path} appeared while this was being written, and is left as it is. Nothing was written; "
        "choose another name."
    )


def _take_turns(place: Path, path: Path, may_go: Callable[[Path], None]) -> None:
    """Exchange the two; what is taken out must be what was looked at."""
    if path.is_symlink() or not path.is_dir():
        raise _appeared(path)
    require_not_here(path)
    before = _listing(path)
    may_go(path)
    with defer_signals():
        _move(place, path, how=exchange)
        if _listing(place) != before:
            exchange(place, path)
            raise OutputExists(
                f"{path} changed while this was being written, and is left as it is. Nothing was "
                "written; try again."
            )
        _confirm(path)


def _listing(folder: Path) -> list[tuple[str, int, int, int]]:
    """Everything in a folder: names, numbers on the disk, sizes and times of change."""
    found = []
    for place in sorted(folder.rglob("*")):
        own = place.lstat()
        told = (own.st_size, own.st_mtime_ns) if stat.S_ISREG(own.st_mode) else (0, 0)
        found.append((str(place.relative_to(folder)), own.st_ino, *told))
    return found


def _confirm(path: Path) -> None:
    """Wait until the name would survive a power cut."""
    if _hidden(path):
        return
    stands(path)
    try:
        _to_disk(path.parent)
    except OSError as error:
        raise PramanaError(
            f"{path} stands, and the disk did not confirm it ({error.strerror}): look at it after "
            "the next start of the machine."
        ) from None


def _hidden(path: Path) -> bool:
    """Whether it is part of a folder yet to get its name, for all of which it is waited then."""
    return any(map(NAME.fullmatch, path.parent.parts))


def _to_disk(place: Path) -> None:
    """Wait until the file, or the entries of the folder, would survive a power cut."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL or not place.is_dir():
            raise  # some file systems have no such thing for folders
    finally:
        os.close(handle)


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
        if _leftover(folder).former:
            return
    except FileNotFoundError:
        return
    except OSError:
        pass
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
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
