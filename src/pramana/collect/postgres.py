"""The store in a PostgreSQL database, which several collectors may share.

The database keeps rows where there is room, so that their order tells when they came. ``stir``
writes them anew in the order of their random numbers; it runs when a survey is closed, and whenever
the office wants.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pramana.collect.store import Outcome, Sent
from pramana.errors import InputError, MissingExtra
from pramana.randomness import Keystream

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresStore"]

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
        self._keystream = Keystream.from_system()
        self._drawn = 0
        self._name = f"survey_{identity[:16]}"
        self._database = _connected(url)
        with self._database.transaction():
            self._run("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._name,))
            self._run(SCHEMA.format(name=self._name))
            self._secret = self._setting("secret", bytes(self._keystream.words("secret", 0, 4)))

    def _run(self, query: str, values: Sequence[object] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        text = query.replace("{}", self._name).encode()  # a name of our own, no word of a user
        return self._database.execute(text, values or None)

    def _setting(self, name: str, value: bytes) -> bytes:
        self._run("INSERT INTO {}_settings VALUES (%s, %s) ON CONFLICT DO NOTHING", (name, value))
        found = self._run("SELECT value FROM {}_settings WHERE name = %s", (name,)).fetchone()
        assert found is not None  # noqa: S101 - it was written above, or before
        return bytes(found[0])

    def _hash(self, token: str) -> bytes:
        return hmac.digest(self._secret, token.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def accept(self, batch: Sequence[Sent]) -> list[Outcome]:
        """Keep the records whose tokens are new; all of it is on the disk when this returns."""
        with self._database.transaction():
            found = self._use([self._hash(sent.token) for sent in batch])
            kept = [one.record for one, own in zip(batch, found, strict=True)
                    if own is Outcome.ACCEPTED]  # fmt: skip
            words = self._keystream.words("places", self._drawn, len(kept))
            self._drawn += len(kept)
            places = sorted(int(word) >> 1 for word in words.tolist())
            self._run(
                "INSERT INTO {}_records SELECT * FROM unnest(%s::bigint[], %s::text[])",
                (places, kept),
            )
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
        own = sorted(self._hash(code) for code in codes)
        self._run(
            "INSERT INTO {}_tokens SELECT *, false FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING",
            (own,),
        )

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

    def stir(self) -> None:
        """Write all rows anew in the order of their random numbers."""
        for table, key in (("records", "place"), ("tokens", "hash")):
            name = f"{self._name}_{table}"
            with self._database.transaction():
                for statement in STIR:
                    self._run(statement.format(table=name, key=key))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("PostgreSQL needs psycopg: pip install 'pramana[collect]'.") from None
    try:
        return psycopg.connect(url, autocommit=True)
    except psycopg.OperationalError:
        raise InputError("The PostgreSQL database cannot be reached by this URL.") from None
