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

The store in a PostgreSQL database, which several collectors may share.

The database keeps rows where there is room, and beside each row the number of its transaction, so
that a token could be tied to the record that came with it. ``stir`` writes both tables anew, each
by a transaction of its own, in the order of their random numbers. The log of the database keeps
what was before until it is recycled: let nobody copy or archive it while a survey is under way.
"""

from __future__ import annotations

import hashlib
import hmac
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pramana.base.randomness import Keystream
from pramana.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import psycopg


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
        from pramana.collect.store import PostgresStore

        return PostgresStore(str(place), identity=identity, codes=codes)
    if "://" in str(place) or "\0" in str(place) or Path(place) == IN_MEMORY:
        raise InputError("--database must be the URL of a PostgreSQL database: postgresql://...")
    return SqliteStore(Path(place), identity=identity, codes=codes)


Done = TypeVar("Done")

POSTGRES_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS {name}_records (place bigint PRIMARY KEY, record text NOT NULL);
CREATE TABLE IF NOT EXISTS {name}_tokens (hash bytea PRIMARY KEY, used boolean NOT NULL);
CREATE TABLE IF NOT EXISTS {name}_settings (name text PRIMARY KEY, value bytea NOT NULL);
"""

STIR: Final = (
    "LOCK TABLE {table}",
    "CREATE TEMP TABLE stirred ON COMMIT DROP AS SELECT * FROM {table}",
    "TRUNCATE {table}",
    "INSERT INTO {table} SELECT * FROM stirred ORDER BY {key}",
)


class PostgresStore:
    """Tables named after the survey, in a database that may hold others."""

    def __init__(self, url: str, *, identity: str, codes: bool) -> None:
        self._codes = codes
        self._fresh = False
        self._keystream = Keystream.from_system()
        self._drawn = 0
        self._name = f"survey_{identity[:16]}"
        self._url = url
        self._turns = threading.RLock()
        self._database = _connected(url)
        try:
            with self._alone():
                self._run(POSTGRES_SCHEMA.format(name=self._name))
                secret = self._setting("secret", bytes(self._keystream.words("secret", 0, 4)))
        except BaseException:
            self._database.close()
            raise
        self._hash = TokenHash(secret, codes)

    @contextmanager
    def _alone(self, how: str = "") -> Iterator[None]:
        """A transaction, with a lock that others of this survey wait for, or share."""
        with self._turns, self._database.transaction():
            self._run(f"SELECT pg_advisory_xact_lock{how}(hashtext(%s))", (self._name,))
            yield

    def _run(self, query: str, values: Sequence[object] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        text = query.replace("{}", self._name).encode()  # a name of our own, no word of a user
        return self._database.execute(text, values or None)

    def _setting(self, name: str, value: bytes) -> bytes:
        self._run("INSERT INTO {}_settings VALUES (%s, %s) ON CONFLICT DO NOTHING", (name, value))
        found = self._run("SELECT value FROM {}_settings WHERE name = %s", (name,)).fetchone()
        assert found is not None  # noqa: S101 - it was written above, or before
        return bytes(found[0])

    def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Keep the records whose tokens are new; all of it is on the disk when this returns.

        After a connection that broke, it is tried once more: what was kept already counts once.
        """
        return self._tried(lambda: self._accept(batch))

    def _tried(self, do: Callable[[], Done]) -> Done:
        """Do it, and once more by a new connection where the old one broke."""
        import psycopg

        with self._turns:
            try:
                return do()
            except psycopg.OperationalError:
                self._database.close()
                self._database = _connected(self._url)
                return do()

    def _accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        with self._alone("_shared"):
            if self.finished():
                return [Outcome.CLOSED] * len(batch)
            found = self._use([self._hash(sent.token) for sent in batch])
            kept = [one.record for one, own in zip(batch, found, strict=True)
                    if own is Outcome.ACCEPTED]  # fmt: skip
            words = self._keystream.words("places", self._drawn, len(kept))
            self._drawn += len(kept)
            places = [int(word) >> 1 for word in words.tolist()]
            self._run(
                "INSERT INTO {}_records SELECT * FROM unnest(%s::bigint[], %s::text[]) ORDER BY 1",
                (places, kept),
            )
        self._fresh = self._fresh or bool(kept)
        return found

    def _use(self, hashes: Sequence[bytes]) -> list[Outcome]:
        """Mark tokens as used; of the same token in one batch the first counts."""
        own = sorted(set(hashes))  # in one order, so that two collectors never wait for each other
        if self._codes:
            new = self._run(
                "UPDATE {0}_tokens SET used = true FROM (SELECT hash AS own FROM {0}_tokens WHERE "
                "hash = ANY(%s) AND NOT used ORDER BY hash FOR UPDATE) AS free WHERE hash = own "
                "RETURNING hash".replace("{0}", self._name),
                (own,),
            )
        else:
            new = self._run(
                "INSERT INTO {}_tokens SELECT *, true FROM unnest(%s::bytea[]) "
                "ON CONFLICT DO NOTHING RETURNING hash",
                (own,),
            )
        fresh = {bytes(row[0]) for row in new}
        known = self._run("SELECT hash FROM {}_tokens WHERE hash = ANY(%s)", (own,))
        invited = {bytes(row[0]) for row in known}
        found = []
        for one in hashes:
            if one in fresh:
                fresh.remove(one)
                found.append(Outcome.ACCEPTED)
            else:
                found.append(Outcome.AGAIN if one in invited else Outcome.UNKNOWN)
        return found

    def invite(self, codes: Iterable[str]) -> None:
        """Let these codes answer, each once."""
        own = self._hash.of_codes(codes)
        self._run(
            "INSERT INTO {}_tokens SELECT *, false FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING",
            (own,),
        )

    def finished(self) -> bool:
        """Whether no more answers are taken."""
        return self._run("SELECT 1 FROM {}_settings WHERE name = 'finished'").fetchone() is not None

    def look_up(self, token: str) -> Outcome:
        """What would become of an answer with this token, once what is being written stands."""
        return self._tried(lambda: self._looked_up(token))

    def _looked_up(self, token: str) -> Outcome:
        if self.finished():
            return Outcome.CLOSED
        own = (self._hash(token),)
        known = self._run("SELECT used FROM {}_tokens WHERE hash = %s", own).fetchone()
        if known is None:
            return Outcome.UNKNOWN if self._codes else Outcome.FREE
        return Outcome.AGAIN if known[0] else Outcome.FREE

    def finish(self) -> None:
        """Take no more answers, whichever collector they reach."""
        with self._alone():
            self._setting("finished", b"1")
        self.stir()

    def records(self) -> Iterator[str]:
        """All records, in the order of their random numbers."""
        for row in self._run("SELECT record FROM {}_records ORDER BY place"):
            yield str(row[0])

    def count(self) -> int:
        """How many records there are."""
        found = self._run("SELECT count(*) FROM {}_records").fetchone()
        return 0 if found is None else int(str(found[0]))

    def tally(self) -> dict[str, int]:
        """How often each record was sent."""
        rows = self._run("SELECT record, count(*) FROM {}_records GROUP BY record ORDER BY record")
        return {str(record): int(str(times)) for record, times in rows}

    def stir(self) -> bool:
        """Write all rows anew in the order of their random numbers, each table by itself.

        Nobody is told meanwhile that a code is not known: on this connection the table is empty.
        """
        for table, key in (("records", "place"), ("tokens", "hash")):
            name = f"{self._name}_{table}"
            with self._turns, self._database.transaction():
                for statement in STIR:
                    self._run(statement.format(table=name, key=key))
        self._fresh = False
        return True

    def close(self) -> None:
        """Stir what this one has kept, and let go of the database."""
        if self._fresh and not self._database.closed:
            self.stir()
        self._database.close()


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("PostgreSQL needs psycopg: pip install 'pramana[collect]'.") from None
    try:
        found = psycopg.connect(url, autocommit=True)
        found.execute("SET synchronous_commit = on")
        return found
    except (psycopg.Error, UnicodeError):
        raise InputError("The PostgreSQL database cannot be reached by this URL.") from None
