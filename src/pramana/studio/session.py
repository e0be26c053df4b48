"""The steward's decisions, state after state, so that they can be undone, closed and reopened.

They are kept in ``FOLDER/.pramana-studio``, which no other user of the machine can read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from pramana.base.atomic_files import (
    STUDIO,
    hidden_folder,
    remove_leftovers,
    require_free,
    write_whole,
)
from pramana.base.translation import gettext
from pramana.errors import InputError, OutputExists

HOME: Final = STUDIO
PRIVATE: Final = 0o700
MOST_STATES: Final = 200
MOST_NAME: Final = 255
MOST_PATH: Final = 1000
"""Bytes in the name of a file and letters with its folders, for which every system has room."""

METHOD: Final = re.compile("--method (?=[a-z])")
BRACKETS: Final = re.compile(r" \((?:--[a-z]|(?:role|round) = )[^()]*\)")
BY_FLAG: Final = re.compile(r"(?:;|\.)(?=[^;.]*--[a-z])[^;.]*")
"""What a message says about an option of the command line: a page has its own ways."""

UPLOADED: Final = "uploaded//"
"""Begins the name of a file that was dropped on the page and is gone when the studio ends.

No file of the folder has two strokes in its name.
"""


class Choices(msgspec.Struct, frozen=True):
    """All that the steward has decided.

    Attributes:
        file: The original data, by its name in the folder.
        part: The sheet, object or table in it, if it has several.
        encoding: Of a text file, if it is not detected.
        rename: Whether duplicate column names are numbered.
        schema: Variables, as TOML.
        wishes: Planned analyses: kind (table, mean, model) and columns.
        chances: The targets that methods are tried at, as one in this many.
        tried: The methods that are tried.
        method: The method chosen; the usual one if empty.
        options: Of that method, by their flags without dashes.
        target: Numbers of guarantees, such as ``{"k": 100}``.
        release: The name of the folder to write.
        name: Of the data, on reports.
        office: Who releases them, on reports.
        copies: Further formats of the released data.
        accepted: Columns whose risk the owner accepts although they identify people.
        acknowledged: The digest of the list of unchanged columns that was acknowledged.
        analysed: The release folder that an analyst has opened.
        survey: The text of the survey file that is being written.
        survey_file: Its name.
        did: The last change, in words.
    """

    file: str = ""
    part: str = ""
    encoding: str = ""
    rename: bool = False
    schema: str = ""
    wishes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    chances: tuple[int | float, ...] = ()
    tried: tuple[str, ...] = ()
    method: str = ""
    options: dict[str, Any] = {}
    target: dict[str, int | float] = {}
    release: str = "release"
    name: str = ""
    office: str = ""
    copies: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    acknowledged: str = ""
    analysed: str = ""
    survey: str = ""
    survey_file: str = ""
    did: str = "Opened the studio"


class SavedSession(msgspec.Struct):
    """The file of a session; entries of another version are ignored."""

    states: list[Choices]
    at: int
    number: int


class StudioSession:
    """The states of one folder, and which of them is the present one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.home = self.folder / HOME
        self.results = self.home / "results"
        for place in (self.home, self.results):
            _require_studio_folder(place)
            place.mkdir(mode=PRIVATE, exist_ok=True)
            place.chmod(PRIVATE)
        self._lock: int | None = _locked(self.home / "lock")
        for place in (self.home, self.results):
            remove_leftovers(place)
        self._held = ExitStack()
        self.uploads = self._held.enter_context(hidden_folder(self.home))
        self._states, self._at, self.number = self._load()
        self.notice = ""
        """Shown on the next page, once."""

    @property
    def now(self) -> Choices:
        """The present state."""
        return self._states[self._at]

    @property
    def states(self) -> list[Choices]:
        """Every state that is kept, the first one first."""
        return self._states

    @property
    def dropped(self) -> bool:
        """Whether the table was dropped on the page, and is gone when the studio ends."""
        return self.now.file.startswith(UPLOADED)

    @property
    def undoes(self) -> str:
        """What undo would take back; nothing where there is nothing."""
        return self.now.did if self._at else ""

    @property
    def redoes(self) -> str:
        """What redo would bring back."""
        return self._states[self._at + 1].did if self._at + 1 < len(self._states) else ""

    def change(self, did: str, **choices: Any) -> None:
        """One more state; those that were undone are gone."""
        if all(getattr(self.now, name) == value for name, value in choices.items()):
            return
        new = msgspec.structs.replace(self.now, did=did, **choices)
        kept = self._states[: self._at + 1][-MOST_STATES:]
        self._states, self._at = [*kept, new], len(kept)
        self._step()

    def settle(self, **choices: Any) -> None:
        """Fill in what follows from the present state, as part of it: no page is out of date."""
        self._states[self._at] = msgspec.structs.replace(self.now, **choices)
        self._save()

    def undo(self) -> None:
        """Back to the state before."""
        self._move(max(self._at - 1, 0))

    def redo(self) -> None:
        """Forward again."""
        self._move(min(self._at + 1, len(self._states) - 1))

    def go(self, at: int) -> None:
        """To any state that is kept."""
        self._move(max(0, min(at, len(self._states) - 1)))

    def history(self) -> list[dict[str, Any]]:
        """Every state by what was done, and which is the present one."""
        return [{"did": state.did, "now": at == self._at} for at, state in enumerate(self._states)]

    def _move(self, at: int) -> None:
        if at != self._at:
            self._at = at
            self._step()

    def place(self, name: str) -> Path:
        """A file of the folder, or one that was uploaded, by the name that a page gave it."""
        if name.startswith(UPLOADED):
            return _inside(self.uploads, name.removeprefix(UPLOADED))
        place = _inside(self.folder, name)
        if place.is_relative_to(self.home):
            raise InputError("Files in the studio's own folder cannot be opened.")
        return place

    def target(self, name: str) -> Path:
        """Where something is to be written: in the folder, under a name that commands take."""
        if name.startswith((UPLOADED, "-", ".")):
            raise InputError("Choose a name in the folder that begins with a letter or a number.")
        return self.place(name)

    def uploaded(self, name: str) -> Path:
        """A free place for a file that is dropped on the page."""
        bare = Path(name.replace("\\", "/")).name
        if not bare or bare.startswith("."):
            raise InputError("The file must have a name that does not begin with a dot.")
        return _inside(self.uploads, bare)

    @property
    def table(self) -> Path:
        """The path of the original data; a chosen part of the file follows ``#``."""
        now = self.now
        if not now.file:
            raise InputError("Choose a file first.")
        place = self.place(now.file)
        if not place.exists():
            gone = " Files that were dropped on the page are removed when the studio ends."
            hint = gone if self.dropped else ""
            raise InputError("The file is no longer there.{hint} Choose it again.", hint=hint)
        if not now.part:
            return place
        if "/" in now.part or "\0" in now.part:
            raise InputError("There is no such sheet.")
        return place.with_name(f"{place.name}#{now.part}")

    def close(self) -> None:
        """Remove what must not stay."""
        self._held.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _load(self) -> tuple[list[Choices], int, int]:
        path = self.home / "session.json"
        try:
            saved = msgspec.json.decode(path.read_bytes(), type=SavedSession)
            if 0 <= saved.at < len(saved.states):
                return saved.states, saved.at, saved.number
            path.replace(path.with_suffix(".unreadable"))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError):
            path.replace(path.with_suffix(".unreadable"))
        return [Choices()], 0, 0

    def _step(self) -> None:
        """Pages that were shown before are out of date."""
        self.number += 1
        self._save()

    def _save(self) -> None:
        content = msgspec.json.encode(SavedSession(self._states, self._at, self.number))
        write_whole(self.home / "session.json", content.decode(), force=True, mode=0o600)


def _require_studio_folder(folder: Path) -> None:
    """Refuse a link where a folder of the studio belongs: what is emptied would be another one."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(
            "{folder} must be a folder of the studio's own, and is a link or a file. Remove it, "
            "and open the studio again.",
            folder=folder.name,
        )


def _inside(folder: Path, name: str) -> Path:
    """A path in a folder; one that leads out of it, also by a link, is refused."""
    if not name or "\0" in name or Path(name).is_absolute():
        raise InputError("The name of the file must be its name in the folder.")
    longest = max((len(part.encode("utf-8", "replace")) for part in Path(name).parts), default=0)
    if longest > MOST_NAME or len(name) > MOST_PATH:
        raise InputError("The name of a file must be shorter.")
    place = (folder / name).resolve()
    if place == folder or not place.is_relative_to(folder):
        raise InputError("Only files inside of the folder can be opened or written.")
    return place


def require_all_free(places: Sequence[Path], *, force: bool) -> None:
    """Refuse to write any of several files where one cannot be written; existing ones are named.

    Without ``force`` nothing is replaced, whoever has written it.
    """
    there = [place.name for place in places if os.path.lexists(place)]
    if there and not force:
        words = "{names} already exist, and nothing was written. Tick 'replace' to replace them."
        if len(there) == 1:
            words = "{names} already exists, and nothing was written. Tick 'replace' to replace it."
        raise OutputExists(words, names=gettext(" and ").join(there))
    for place in places:
        require_free(place, force=True)


def plainly(words: str, folder: Path) -> str:
    """A message for a page: files by their names in the folder, and no options of commands.

    >>> plainly("/data/a.csv exists already. Replace it with --force.", Path("/data"))
    'a.csv exists already.'
    """
    return without_options(words.replace(f"{folder}{os.sep}", ""))


def without_options(words: str) -> str:
    """A sentence without what it says to people who type commands.

    >>> without_options('Ask for it (--tables "a,b"), or leave it out (role = "identifier").')
    'Ask for it, or leave it out.'
    >>> without_options("Its error is 3 % with --method retention. Raise --k.")
    'Its error is 3 % with method retention.'
    """
    return BY_FLAG.sub("", BRACKETS.sub("", METHOD.sub("method ", words)))


def _locked(path: Path) -> int:
    """A lock that ends with the process; a second studio on one folder is refused."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on this system
        return handle
    except OSError:
        os.close(handle)
        raise InputError(
            "A studio is open on this folder already. Close it, or open another folder."
        ) from None
    return handle
