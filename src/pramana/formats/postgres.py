"""A table of a PostgreSQL database by its address: ``postgres://user@host/base#table``.

It is read once, a batch at a time, by a transaction that can read alone. Passwords belong in the
address, the environment or a password file, as everywhere with PostgreSQL; no message repeats one,
nor what the server says, which may quote a row.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

from pramana.errors import InvalidTable, MissingExtra
from pramana.table.opened import OpenedTable

__all__ = ["is_address", "open_postgres"]

AT_ONCE: Final = 50_000
ADDRESS: Final = re.compile(r"^postgres(ql)?:/{1,2}")
LIBRARY: Final = "Reading PostgreSQL needs an extra: pip install 'pramana[collect]'."


def is_address(source: str) -> bool:
    """Whether a text is the address of a PostgreSQL database.

    >>> is_address("postgres://office@host/base#people"), is_address("people.csv")
    (True, False)
    """
    return ADDRESS.match(source) is not None


def open_postgres(source: str) -> OpenedTable:
    """Read the table behind the mark of an address."""
    # A path object has made one slash of the two.
    address, _, table = ADDRESS.sub("postgresql://", source).partition("#")
    where = _without_password(address)
    try:
        import psycopg
    except ImportError:
        raise MissingExtra(LIBRARY) from None
    if not table:
        raise InvalidTable(f"Say which table of {where} is meant: end its address with #TABLE.")
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            connection.read_only = True
            held = _read(connection, table, where)
    except (psycopg.Error, UnicodeError):
        raise InvalidTable(
            f"Table '{table}' of {where} cannot be read. Check the address, the name of the table, "
            "the password, and that the server answers and lets this user read."
        ) from None
    return OpenedTable.of_arrow(held, kind="postgres", source=f"{where}#{table}")


def _without_password(address: str) -> str:
    """The address without user and password, for messages."""
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise InvalidTable(
            "The address of a database must read postgres://HOST/BASE#TABLE."
        ) from None
    return f"postgres://{parts.hostname or ''}{port}{parts.path}"


def _read(connection: Any, table: str, where: str) -> pa.Table:
    from psycopg import sql

    name = sql.Identifier(*table.split("."))
    with connection.cursor(name="pramana") as cursor:
        cursor.itersize = AT_ONCE
        cursor.execute(sql.SQL("SELECT * FROM {}").format(name))
        batches = list(_batches(cursor))
    if not batches:
        raise InvalidTable(f"Table '{table}' of {where} has no records.")
    return pa.concat_tables(batches, promote_options="permissive")


def _batches(cursor: Any) -> Iterator[pa.Table]:
    while rows := cursor.fetchmany(AT_ONCE):
        names = [column.name for column in cursor.description]
        yield pa.table(
            {name: pa.array([_value(row[at]) for row in rows]) for at, name in enumerate(names)}
        )


def _value(value: Any) -> Any:
    """Numbers of any precision as numbers of a table; what is no value of one as text."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if value is None or isinstance(value, bool | int | float | str) or hasattr(value, "isoformat"):
        return value
    return str(value)
