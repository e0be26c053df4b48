"""Where randomised records are kept: what was sent, that a token was used, and nothing else.

Two tables that share no key. A record has a random number of 63 bits and is kept in the order of
these numbers, so that neither the order of arrival nor a time can be read off the table. A token is
kept as its keyed hash, so that the same answer counts once when it is sent again; nothing says
which record came with which token. Both are written in one transaction, together with the answers
of all others who sent at about the same time, and answers are acknowledged after it is on the disk.

A database lays down rows where there is room, so that its file tells in which order they came, and
which token came with which record, whatever the rows say. ``stir`` writes all of them anew in the
order of their random numbers. It runs every minute while answers come, at the end, whenever a store
is opened by a collector, and after anybody found a log that a collector which was killed has left.

A PostgreSQL database may be shared by several collectors. It keeps the number of its transaction
with each row, so that a token could be tied to the record that came with it: ``stir`` writes each
table in a separate transaction. The log of the database keeps what was before until it is recycled:
let nobody copy or archive it while a survey is under way.
"""

from __future__ import annotations

import hashlib
import hmac
import shutil
import sqlite3
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pramana.base.randomness import Keystream
from pramana.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import psycopg


ROOM: Final = 2**16
"""Bytes without which a database finds no room on a disk."""

IN_MEMORY: Final = Path(":memory:")
"""As the place of a store: nothing is kept, and no file is made."""

DAMAGED: Final = (sqlite3.Error, UnicodeDecodeError)
"""What the library raises on a file that is full, locked, or damaged."""

Done = TypeVar("Done")


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


class Store(ABC):
    """A database of one survey: the tables records, tokens and settings."""

    prefix = ""
    """Begins the names of its tables, for ``{}`` in a query."""

    def __init__(self, *, codes: bool) -> None:
        self._codes = codes
        self._fresh = False
        self._keystream = Keystream.from_system()
        self._drawn = 0
        self._turns = threading.RLock()
        self._secret = b""

    @abstractmethod
    def _run(self, query: str, values: Sequence[object] = ()) -> Any:
        """The cursor of a query."""

    @abstractmethod
    def _writing(self, *, shared: bool = False) -> AbstractContextManager[None]:
        """A transaction; others of the same survey wait, or share it."""

    @abstractmethod
    def _use(self, hashes: Sequence[bytes]) -> list[Outcome]:
        """Mark tokens as used; of the same token in one batch the first counts."""

    @abstractmethod
    def _insert(self, rows: list[tuple[int, str]]) -> None:
        """Keep records by their random numbers."""

    @abstractmethod
    def stir(self) -> bool:
        """Write everything anew in the order of random numbers; whether nothing else is left."""

    @abstractmethod
    def close(self) -> None:
        """Write the records of this process in random order, and close the database."""

    def _retried(self, do: Callable[[], Done]) -> Done:
        with self._turns:
            return do()

    def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Keep the records whose tokens are new; all of it is on the disk when this returns."""
        return self._retried(lambda: self._accept(batch))

    def _accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        with self._writing(shared=True):
            if self.finished():
                return [Outcome.CLOSED] * len(batch)
            outcomes = self._use([self._hash(sent.token) for sent in batch])
            records = [
                sent.record
                for sent, outcome in zip(batch, outcomes, strict=True)
                if outcome is Outcome.ACCEPTED
            ]
            words = self._keystream.words("places", self._drawn, len(records)).tolist()
            self._drawn += len(records)
            self._insert(sorted(zip([word >> 1 for word in words], records, strict=True)))
        self._fresh = self._fresh or bool(records)
        return outcomes

    def _hash(self, token: str) -> bytes:
        """Under a secret of the store, so that a list of tokens cannot be tried on it.

        A code is the same code in small letters, and with other spaces or hyphens.
        """
        text = "".join(token.upper().replace("-", " ").split()) if self._codes else token
        return hmac.digest(self._secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def _setting(self, name: str, value: bytes) -> bytes:
        """A value that is written once and then stays."""
        self._run("INSERT INTO {}settings VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
        return bytes(
            self._run("SELECT value FROM {}settings WHERE name = ?", (name,)).fetchone()[0]
        )

    def invite(self, codes: Iterable[str]) -> None:
        """Let these codes answer, each once."""
        if not self._codes:
            raise InputError("This survey takes no codes: its file must say codes = true.")
        hashes = sorted({self._hash(code) for code in codes})  # an order that tells nothing
        self._invite(hashes)

    @abstractmethod
    def _invite(self, hashes: list[bytes]) -> None: ...

    def finish(self) -> None:
        """Take no more answers, ever; what is kept is stirred once more."""
        with self._writing():
            self._setting("finished", b"1")
        self.stir()

    def finished(self) -> bool:
        """Whether no more answers are taken."""
        return self._run("SELECT 1 FROM {}settings WHERE name = 'finished'").fetchone() is not None

    def look_up(self, token: str) -> Outcome:
        """What would become of an answer with this token, after pending writes."""
        return self._retried(lambda: self._outcome_of(self._hash(token)))

    def _outcome_of(self, token_hash: bytes) -> Outcome:
        if self.finished():
            return Outcome.CLOSED
        row = self._run("SELECT used FROM {}tokens WHERE hash = ?", (token_hash,)).fetchone()
        if row is None:
            return Outcome.UNKNOWN if self._codes else Outcome.FREE
        return Outcome.AGAIN if row[0] else Outcome.FREE

    def records(self) -> Iterator[str]:
        """All records, in the order of their random numbers."""
        for (record,) in self._run("SELECT record FROM {}records ORDER BY place"):
            yield _text(record)

    def count(self) -> int:
        """How many records there are."""
        return int(self._run("SELECT count(*) FROM {}records").fetchone()[0])

    def tally(self) -> dict[str, int]:
        """How often each record was sent."""
        rows = self._run("SELECT record, count(*) FROM {}records GROUP BY record ORDER BY record")
        return {_text(record): int(times) for record, times in rows.fetchall()}


def _text(record: object) -> str:
    if not isinstance(record, str):
        raise InputError("The store of answers is damaged: it holds a record that is no text.")
    return record


SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY, record TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tokens (hash BLOB PRIMARY KEY, used INTEGER NOT NULL) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) "
    "WITHOUT ROWID",
)


class SqliteStore(Store):
    """One file. ``place`` is the number of the row itself, so that the file is in its order."""

    def __init__(self, path: Path, *, identity: str, codes: bool) -> None:
        super().__init__(codes=codes)
        # A log that nobody has open holds the order of the last answers of a killed collector.
        self._found_log = Path(f"{path}-wal").exists()
        if path.exists() and not path.is_file():
            raise InputError(f"{path} cannot be opened as a store of answers: it is no file.")
        try:
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            if path != IN_MEMORY:
                path.chmod(0o600)
            self._database.execute("PRAGMA schema_version").fetchone()
        except (OSError, *DAMAGED) as error:
            why = reason_of(error, path.parent)
            raise InputError(f"{path} cannot be opened as a store of answers: {why}.") from None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON",
                       "busy_timeout=10000"):  # fmt: skip
            self._run(f"PRAGMA {pragma}")
        with self._writing():
            for statement in SCHEMA:
                self._run(statement)
            self._secret = self._setting("secret", bytes(self._keystream.words("secret", 0, 4)))
            known = self._setting("identity", identity.encode())
        if known != identity.encode():
            raise InputError(f"{path} holds the answers to another survey.")

    def _run(self, query: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self._database.execute(query.replace("{}", ""), tuple(values))

    @contextmanager
    def _writing(self, *, shared: bool = False) -> Iterator[None]:
        del shared  # one process writes at a time
        with self._turns:
            self._run("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._run("ROLLBACK")
                raise
            self._run("COMMIT")

    def _use(self, hashes: Sequence[bytes]) -> list[Outcome]:
        query = "INSERT INTO tokens VALUES (?, 1) ON CONFLICT DO NOTHING"
        if self._codes:
            query = "UPDATE tokens SET used = 1 WHERE hash = ? AND used = 0"
        outcomes = []
        for token_hash in hashes:
            is_new = self._run(query, (token_hash,)).rowcount
            outcomes.append(Outcome.ACCEPTED if is_new else self._outcome_of(token_hash))
        return outcomes

    def _insert(self, rows: list[tuple[int, str]]) -> None:
        self._database.executemany("INSERT INTO records VALUES (?, ?)", rows)

    def _invite(self, hashes: list[bytes]) -> None:
        with self._writing():
            query = "INSERT INTO tokens VALUES (?, 0) ON CONFLICT DO NOTHING"
            self._database.executemany(query, [(token_hash,) for token_hash in hashes])

    def stir(self) -> bool:
        """Write the file anew, and empty the log of transactions, which has their order.

        The log stays for as long as another process reads: then it is not done yet.
        """
        with self._turns:
            self._run("VACUUM")
            (busy, *_) = self._run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._fresh = bool(busy)
            return not busy

    def close(self) -> None:
        """Write records of this process in random order, merge the log into the file, and close.

        After a killed collector, merging would store the order of answers that the log has.
        """
        with suppress(sqlite3.OperationalError):  # another process has it open, and will stir
            if not self._fresh and self._found_log:
                for statement in ("PRAGMA busy_timeout=0", "PRAGMA locking_mode=EXCLUSIVE",
                                  "BEGIN IMMEDIATE", "COMMIT"):  # fmt: skip
                    self._run(statement)
                self._fresh = True
            if self._fresh:
                self.stir()
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()


def database_errors() -> tuple[type[Exception], ...]:
    """The errors of PostgreSQL, if it is used at all."""
    library = sys.modules.get("psycopg")
    return () if library is None else (library.Error,)


def reason_of(error: Exception, folder: Path) -> str:
    """Why a database failed, without a cell; SQLite does not recognise a full disk."""
    if isinstance(error, database_errors()):
        return type(error).__name__  # its words may hold a row
    full = folder.is_dir() and shutil.disk_usage(folder).free < ROOM
    return "No space left on device" if full else str(error).partition(" with text ")[0]


def open_store(place: str | Path, *, identity: str, codes: bool) -> Store:
    """The store at a path, or at the URL of a PostgreSQL database."""
    if str(place).startswith(("postgres://", "postgresql://")):
        return PostgresStore(str(place), identity=identity, codes=codes)
    if "://" in str(place) or "\0" in str(place) or Path(place) == IN_MEMORY:
        raise InputError("--database must be the URL of a PostgreSQL database: postgresql://...")
    return SqliteStore(Path(place), identity=identity, codes=codes)


POSTGRES_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS {}records (place bigint PRIMARY KEY, record text NOT NULL);
CREATE TABLE IF NOT EXISTS {}tokens (hash bytea PRIMARY KEY, used boolean NOT NULL);
CREATE TABLE IF NOT EXISTS {}settings (name text PRIMARY KEY, value bytea NOT NULL);
"""


STIR: Final = (
    "LOCK TABLE {table}",
    "CREATE TEMP TABLE stirred ON COMMIT DROP AS SELECT * FROM {table}",
    "TRUNCATE {table}",
    "INSERT INTO {table} SELECT * FROM stirred ORDER BY {key}",
)


class PostgresStore(Store):
    """Tables named after the survey, in a database that may hold others."""

    def __init__(self, url: str, *, identity: str, codes: bool) -> None:
        super().__init__(codes=codes)
        self._name = f"survey_{identity[:16]}"
        self.prefix = f"{self._name}_"
        self._url = url
        self._database = _connected(url)
        try:
            with self._writing():
                self._run(POSTGRES_SCHEMA)
                self._secret = self._setting("secret", bytes(self._keystream.words("secret", 0, 4)))
        except BaseException:
            self._database.close()
            raise

    def _run(self, query: str, values: Sequence[object] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        # The prefix is a name of our own, no word of a user.
        text = query.replace("{}", self.prefix).replace("?", "%s").encode()
        return self._database.execute(text, values or None)

    @contextmanager
    def _writing(self, *, shared: bool = False) -> Iterator[None]:
        lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        with self._turns, self._database.transaction():
            self._run(f"SELECT {lock}(hashtext(?))", (self._name,))
            yield

    def _retried(self, do: Callable[[], Done]) -> Done:
        """Once more by a new connection if the old one broke: what was kept counts once."""
        import psycopg

        with self._turns:
            try:
                return do()
            except psycopg.OperationalError:
                self._database.close()
                self._database = _connected(self._url)
                return do()

    def _use(self, hashes: Sequence[bytes]) -> list[Outcome]:
        distinct = sorted({*hashes})  # in one order, so that collectors do not wait for each other
        query = (
            "INSERT INTO {}tokens SELECT *, true FROM unnest(?::bytea[]) "
            "ON CONFLICT DO NOTHING RETURNING hash"
        )
        if self._codes:
            query = (
                "UPDATE {}tokens SET used = true FROM (SELECT hash AS free_hash FROM {}tokens "
                "WHERE hash = ANY(?) AND NOT used ORDER BY hash FOR UPDATE) AS free "
                "WHERE hash = free_hash RETURNING hash"
            )
        fresh = {bytes(row[0]) for row in self._run(query, (distinct,))}
        rows = self._run("SELECT hash FROM {}tokens WHERE hash = ANY(?)", (distinct,))
        known = {bytes(row[0]) for row in rows}
        outcomes = []
        for token_hash in hashes:
            if token_hash in fresh:
                fresh.remove(token_hash)
                outcomes.append(Outcome.ACCEPTED)
            else:
                outcomes.append(Outcome.AGAIN if token_hash in known else Outcome.UNKNOWN)
        return outcomes

    def _insert(self, rows: list[tuple[int, str]]) -> None:
        query = "INSERT INTO {}records SELECT * FROM unnest(?::bigint[], ?::text[]) ORDER BY 1"
        self._run(query, ([place for place, _ in rows], [record for _, record in rows]))

    def _invite(self, hashes: list[bytes]) -> None:
        query = (
            "INSERT INTO {}tokens SELECT *, false FROM unnest(?::bytea[]) ON CONFLICT DO NOTHING"
        )
        self._run(query, (hashes,))

    def stir(self) -> bool:
        """Write all rows anew in the order of their random numbers, each table by itself.

        On another connection a code is known all the time: the table is locked while it is empty.
        """
        for table, key in (("records", "place"), ("tokens", "hash")):
            with self._turns, self._database.transaction():
                for statement in STIR:
                    self._run(statement.format(table=self.prefix + table, key=key))
        self._fresh = False
        return True

    def close(self) -> None:
        """Write the records of this process in random order, and close the connection."""
        if self._fresh and not self._database.closed:
            self.stir()
        self._database.close()


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("PostgreSQL needs psycopg: pip install 'pramana[collect]'.") from None
    try:
        connection = psycopg.connect(url, autocommit=True)
        connection.execute("SET synchronous_commit = on")
        return connection
    except (psycopg.Error, UnicodeError):
        raise InputError("The PostgreSQL database cannot be reached by this URL.") from None
