"""Tables of a DuckDB database file, which is opened for reading alone."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.formats.base import Format, PartOf, chosen, names_alone
from pramana.formats.child import read_in_child
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, TableFormat

__all__ = ["DUCKDB_FILE", "DuckdbFileFormat", "read_here"]


TITLE: Final = "a DuckDB database"
ALONE: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "temp_directory": "",
}
"""A database that a stranger made may have views that read files of this machine; and a view that
sorts would lay the truth down beside the file, for all to read, where a kill leaves it."""


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


def read_here(path: Path, *, marked: str, names: str = "") -> tuple[pa.Table, Labels]:
    """A table of a database, read by this process; or of all of them the ``names`` alone.

    What a view of it does with other files and the network is refused.
    """
    import duckdb

    part = PartOf.of(Path(marked))
    try:
        with duckdb.connect(str(path), read_only=True, config=ALONE) as database:
            named = "select table_name from information_schema.tables order by table_name"
            there = [name for (name,) in database.execute(named).fetchall()]
            if names:
                return names_alone(there), Labels()
            table = chosen(part, there, what="table")
            held = database.table(f'"{table.replace(chr(34), chr(34) * 2)}"').to_arrow_table()
    except duckdb.Error:
        raise InvalidTable(
            f"{path} cannot be read as a DuckDB database: it is broken, in use, made by another "
            "version, or a view of it reads other files, which is refused."
        ) from None
    return held, Labels()


DUCKDB_FILE: Final = DuckdbFileFormat()
