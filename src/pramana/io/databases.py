"""Tables of DuckDB files and PostgreSQL databases, opened read-only.

A PostgreSQL table has an address: ``postgres://user@host/base#table``. It is read once, a batch at
a time, in a read-only transaction. Passwords belong in the address, the environment or a password
file. No message repeats a password or the server's text, which may quote a row.
"""

from __future__ import annotations

import atexit
import decimal
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import pyarrow as pa

from pramana.errors import InvalidTable, MissingExtra
from pramana.io.base import Format, PartOf, names_alone
from pramana.io.subprocess_reader import read_in_child
from pramana.schema.domains import Labels
from pramana.schema.opened_table import OpenedTable, TableFormat

TITLE: Final = "a DuckDB database"
ISOLATED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "temp_directory": "",
}
"""The views of an untrusted database may read other files of this machine, and sorting could write
original data to a file next to it."""


class DuckdbFileFormat(Format):
    """One table of a database in a file."""

    name: ClassVar[TableFormat] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")

    def open(self, path: Path) -> OpenedTable:
        """Open a table or a view of it, by the name behind the mark."""
        part = PartOf.of(path)
        held, _ = read_in_child(__name__, part.file, title=TITLE, marked=str(path.absolute()))
        return OpenedTable.of_arrow(held, kind=self.name, source=path)

    def parts(self, path: Path) -> tuple[str, ...]:
        """The tables and views of it."""
        file = PartOf.of(path).file
        held, _ = read_in_child(__name__, file, title=TITLE, marked=str(file), names="yes")
        return tuple(held.column_names)


@cache
def process_database() -> Any:
    """One database in memory for the process: opening one costs more than most queries."""
    import duckdb

    # Else it may leave files in the folder of the command.
    database = duckdb.connect(":memory:", config={"temp_directory": ""})
    # A connection that outlives the interpreter makes the library complain when Python leaves.
    atexit.register(process_database.cache_clear)
    atexit.register(database.close)
    return database


def read_here(path: Path, *, marked: str, names: str = "") -> tuple[pa.Table, Labels]:
    """A table of a database, read by this process, or the ``names`` of all of them."""
    import duckdb

    part = PartOf.of(Path(marked))
    try:
        with duckdb.connect(str(path), read_only=True, config=ISOLATED) as database:
            named = "select table_name from information_schema.tables order by table_name"
            there = [name for (name,) in database.execute(named).fetchall()]
            if names:
                return names_alone(there), Labels()
            table = part.choose(there, what="table")
            held = database.table(f'"{table.replace(chr(34), chr(34) * 2)}"').to_arrow_table()
    except duckdb.Error:
        raise InvalidTable(
            f"{path} cannot be read as a DuckDB database: it is broken, in use, made by another "
            "version, or a view of it reads other files, which is refused."
        ) from None
    return held, Labels()


DUCKDB_FILE: Final = DuckdbFileFormat()


FETCHED: Final = 50_000
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
    # The address without user and password, for messages
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise InvalidTable(
            "The address of a database must read postgres://HOST/BASE#TABLE."
        ) from None
    where = f"postgres://{parts.hostname or ''}{port}{parts.path}"
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


def _read(connection: Any, table: str, where: str) -> pa.Table:
    from psycopg import sql

    name = sql.Identifier(*table.split("."))
    with connection.cursor(name="pramana") as cursor:
        cursor.itersize = FETCHED
        cursor.execute(sql.SQL("SELECT * FROM {}").format(name))
        batches = list(_batches(cursor))
    if not batches:
        raise InvalidTable(f"Table '{table}' of {where} has no records.")
    return pa.concat_tables(batches, promote_options="permissive")


def _batches(cursor: Any) -> Iterator[pa.Table]:
    while rows := cursor.fetchmany(FETCHED):
        names = [column.name for column in cursor.description]
        yield pa.table(
            {name: pa.array([_value(row[at]) for row in rows]) for at, name in enumerate(names)}
        )


def _value(value: Any) -> Any:
    """Numbers of any precision as numbers of a table; other values as text."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if value is None or isinstance(value, bool | int | float | str) or hasattr(value, "isoformat"):
        return value
    return str(value)
