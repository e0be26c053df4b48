"""Where randomised records are kept: what was sent, that a token was used, and nothing else.

Two tables that share no key. A record has a random number of 63 bits and is kept in the order of
these numbers, so that neither the order of arrival nor a time can be read off the table. A token is
kept as its keyed hash, so that the same answer counts once when it is sent again; nothing says
which record came with which token. Both are written in one transaction, together with those of all
others who sent at about the same time, and answers are acknowledged after it is on the disk.

A database lays down rows where there is room, so that its file tells in which order they came, and
which token came with which record, whatever the rows say. ``stir`` writes all of them anew in the
order of their random numbers. It runs every minute while answers come, at the end, whenever a store
is opened by a collector, and after anybody found a log that a collector which was killed has left.
"""

from __future__ import annotations

import hashlib
import hmac
import shutil
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from pramana.base.randomness import Keystream
from pramana.errors import InputError

ROOM: Final = 2**16
"""Bytes without which a database finds no room on a disk."""

IN_MEMORY: Final = Path(":memory:")
"""As the place of a store: nothing is kept, and no file is made."""


class Outcome(StrEnum):
    """What became of an answer."""

    ACCEPTED = "accepted"
    AGAIN = "accepted before"
    UNKNOWN = "unknown code"
    CLOSED = "closed"
    FREE = "free"


@dataclass(frozen=True)
class Sent:
    """An answer as it arrived: its record as spelled, and the token that makes it count once."""

    record: str
    token: str


class Store(Protocol):
    """A database of one survey."""

    def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Keep the records whose tokens are new; all of it is on the disk when this returns."""

    def invite(self, codes: Iterable[str]) -> None:
        """Let these codes answer, each once."""

    def look_up(self, token: str) -> Outcome:
        """What would become of an answer with this token."""

    def stir(self) -> bool:
        """Write everything anew in the order of random numbers; whether nothing else is left."""

    def finish(self) -> None:
        """Take no more answers, ever."""

    def finished(self) -> bool:
        """Whether no more answers are taken."""

    def records(self) -> Iterator[str]:
        """All records, in an order that tells nothing."""

    def count(self) -> int:
        """How many records there are."""

    def tally(self) -> dict[str, int]:
        """How often each record was sent."""

    def close(self) -> None:
        """Let go of the database."""


@dataclass(frozen=True)
class TokenHash:
    """Hashes of tokens under a secret of the store: a list of tokens cannot be tried on it.

    A code is the same code in small letters, and with other spaces or hyphens.
    """

    secret: bytes
    codes: bool

    def __call__(self, token: str) -> bytes:
        """The hash of a token."""
        own = "".join(token.upper().replace("-", " ").split()) if self.codes else token
        return hmac.digest(self.secret, own.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def of_codes(self, codes: Iterable[str]) -> list[bytes]:
        """The hashes of codes to be invited, in an order that tells nothing."""
        if not self.codes:
            raise InputError("This survey takes no codes: its file must say codes = true.")
        return sorted({self(code) for code in codes})


SCHEMA = (
    "CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY, record TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tokens (hash BLOB PRIMARY KEY, used INTEGER NOT NULL) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) "
    "WITHOUT ROWID",
)


DAMAGED: Final = (sqlite3.Error, UnicodeDecodeError)
"""What the library says of a file that is full, locked, or not what it was; in letters or not."""


class SqliteStore:
    """One file. ``place`` is the number of the row itself, so that the file is in its order."""

    def __init__(self, path: Path, *, identity: str, codes: bool) -> None:
        self._codes = codes
        self._fresh = False
        self._keystream = Keystream.from_system()
        self._drawn = 0
        self._turns = threading.RLock()
        self._found_log = _log_of(path).exists()
        self._database = _opened(path)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON",
                       "busy_timeout=10000"):  # fmt: skip
            self._database.execute(f"PRAGMA {pragma}")
        with self._transaction():
            for statement in SCHEMA:
                self._database.execute(statement)
            secret = self._setting("secret", self._keystream.words("secret", 0, 4))
            known = self._setting("identity", identity.encode())
        if known != identity.encode():
            raise InputError(f"{path} holds the answers to another survey.")
        self._hash = TokenHash(secret, codes)

    def _setting(self, name: str, value: Any) -> bytes:
        """A value that is written once and then stays."""
        self._database.execute(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", (name, bytes(value))
        )
        found = self._database.execute("SELECT value FROM settings WHERE name = ?", (name,))
        return bytes(found.fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._turns:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Keep the records whose tokens are new; all of it is on the disk when this returns."""
        places = self._places(len(batch))
        with self._transaction():
            if self.finished():
                return [Outcome.CLOSED] * len(batch)
            found = [self._use(sent.token) for sent in batch]
            kept = [
                (place, sent.record)
                for place, sent, outcome in zip(places, batch, found, strict=True)
                if outcome is Outcome.ACCEPTED
            ]
            self._database.executemany("INSERT INTO records VALUES (?, ?)", sorted(kept))
        self._fresh = self._fresh or bool(kept)
        return found

    def _use(self, token: str) -> Outcome:
        """Mark a token as used."""
        own = (self._hash(token),)
        if not self._codes:
            done = self._database.execute(
                "INSERT INTO tokens VALUES (?, 1) ON CONFLICT DO NOTHING", own
            )
            return Outcome.ACCEPTED if done.rowcount else Outcome.AGAIN
        done = self._database.execute("UPDATE tokens SET used = 1 WHERE hash = ? AND used = 0", own)
        return Outcome.ACCEPTED if done.rowcount else self.look_up(token)

    def finished(self) -> bool:
        """Whether no more answers are taken."""
        query = "SELECT 1 FROM settings WHERE name = 'finished'"
        return self._database.execute(query).fetchone() is not None

    def look_up(self, token: str) -> Outcome:
        """What would become of an answer with this token, once what is being written stands."""
        with self._turns:
            if self.finished():
                return Outcome.CLOSED
            query = "SELECT used FROM tokens WHERE hash = ?"
            known = self._database.execute(query, (self._hash(token),)).fetchone()
        if known is None:
            return Outcome.UNKNOWN if self._codes else Outcome.FREE
        return Outcome.AGAIN if known[0] else Outcome.FREE

    def _places(self, count: int) -> list[int]:
        """Random numbers of 63 bits that no record has."""
        places: set[int] = set()
        while len(places) < count:
            words = self._keystream.words("places", self._drawn, count - len(places))
            self._drawn += len(words)
            fresh = {int(word) >> 1 for word in words.tolist()} - places
            query = "SELECT 1 FROM records WHERE place = ?"
            places |= {one for one in fresh if not self._database.execute(query, (one,)).fetchone()}
        return list(places)

    def invite(self, codes: Iterable[str]) -> None:
        """Let these codes answer, each once."""
        rows = [(own,) for own in self._hash.of_codes(codes)]
        with self._transaction():
            self._database.executemany(
                "INSERT INTO tokens VALUES (?, 0) ON CONFLICT DO NOTHING", rows
            )

    def records(self) -> Iterator[str]:
        """All records, in the order of their random numbers."""
        query = "SELECT record FROM records ORDER BY place"
        with closing(self._database.execute(query)) as found:
            for (record,) in found:
                yield _text(record)

    def count(self) -> int:
        """How many records there are."""
        return int(self._database.execute("SELECT count(*) FROM records").fetchone()[0])

    def tally(self) -> dict[str, int]:
        """How often each record was sent."""
        query = "SELECT record, count(*) FROM records GROUP BY record ORDER BY record"
        found = self._database.execute(query).fetchall()
        return {_text(record): number for record, number in found}

    def stir(self) -> bool:
        """Write the file anew, and empty the log of transactions, which has their order.

        The log stays for as long as somebody reads what stood before: then it is not done yet.
        """
        with self._turns:
            self._database.execute("VACUUM")
            (busy, *_) = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._fresh = bool(busy)
            return not busy

    def finish(self) -> None:
        """Take no more answers, ever; what is kept is stirred once more."""
        with self._transaction():
            self._setting("finished", b"1")
        self.stir()

    def close(self) -> None:
        """Stir what this one has kept, fold the log of transactions into the file, and let go.

        The log of one that was killed has the order of its last answers, which folding would keep.
        """
        with suppress(sqlite3.OperationalError):  # another one reads or writes, and will stir
            if not self._fresh and self._found_log:
                self._require_alone()
                self._fresh = True
            if self._fresh:
                self.stir()
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()

    def _require_alone(self) -> None:
        """An error where another one has the file open, which then is not dead."""
        for statement in ("PRAGMA busy_timeout=0", "PRAGMA locking_mode=EXCLUSIVE",
                          "BEGIN IMMEDIATE", "COMMIT"):  # fmt: skip
            self._database.execute(statement)


def _log_of(path: Path) -> Path:
    """Where the database keeps what it has not folded into the file; gone with who closed last."""
    return Path(f"{path}-wal")


def _text(record: object) -> str:
    if not isinstance(record, str):
        raise InputError("The store of answers is damaged: it holds a record that is no text.")
    return record


def _opened(path: Path) -> sqlite3.Connection:
    """The database at a path, for its owner's eyes; a file that is none is said to be none."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} cannot be opened as a store of answers: it is no file.")
    try:
        found = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        if path != IN_MEMORY:
            path.chmod(0o600)
        found.execute("PRAGMA schema_version").fetchone()
    except (OSError, *DAMAGED) as error:
        why = reason_of(error, path.parent)
        raise InputError(f"{path} cannot be opened as a store of answers: {why}.") from None
    return found


def database_errors() -> tuple[type[Exception], ...]:
    """What PostgreSQL raises, where it is used at all."""
    library = sys.modules.get("psycopg")
    return () if library is None else (library.Error,)


def reason_of(error: Exception, folder: Path) -> str:
    """Why a database failed, in its own words, without a cell; it does not tell a full disk."""
    if isinstance(error, database_errors()):
        return type(error).__name__  # its words may hold a row
    full = folder.is_dir() and shutil.disk_usage(folder).free < ROOM
    return "No space left on device" if full else str(error).partition(" with text ")[0]


def open_store(place: str | Path, *, identity: str, codes: bool) -> Store:
    """The store at a path, or at the URL of a PostgreSQL database."""
    if str(place).startswith(("postgres://", "postgresql://")):
        from pramana.collect.postgres import PostgresStore

        return PostgresStore(str(place), identity=identity, codes=codes)
    if "://" in str(place) or "\0" in str(place) or Path(place) == IN_MEMORY:
        raise InputError("--database must be the URL of a PostgreSQL database: postgresql://...")
    return SqliteStore(Path(place), identity=identity, codes=codes)
