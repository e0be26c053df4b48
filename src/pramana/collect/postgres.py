"""The store in a PostgreSQL database, which several collectors may share.

The database keeps rows where there is room, and beside each row the number of its transaction, so
that a token could be tied to the record that came with it. ``stir`` writes both tables anew, each
by a transaction of its own, in the order of their random numbers. The log of the database keeps
what was before until it is recycled: let nobody copy or archive it while a survey is under way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pramana.base.randomness import Keystream
from pramana.collect.store import Outcome, Sent, TokenHash
from pramana.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import psycopg

Done = TypeVar("Done")

SCHEMA: Final = """
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
                self._run(SCHEMA.format(name=self._name))
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
