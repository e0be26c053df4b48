"""Tables of a DuckDB database file, which is opened for reading alone."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.formats.base import RecordStream
from pramana.formats.child import read_in_child
from pramana.formats.part_of import PartOf, chosen
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, TableFormat

__all__ = ["DUCKDB_FILE", "DuckdbFileFormat", "read_here"]


class DuckdbFileFormat:
    """One table of a database in a file."""

    name: ClassVar[TableFormat] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")
    marks: ClassVar[tuple[bytes, ...]] = ()
    writes: ClassVar[bool] = False

    def open(self, path: Path) -> OpenedTable:
        """Open a table or a view of it, by the name behind the mark."""
        part = PartOf.of(path)
        held, _ = read_in_child(
            __name__, part.file, title="a DuckDB database", marked=str(path.absolute())
        )
        return OpenedTable.of_arrow(held, kind=self.name, source=path)

    def write(self, path: Path, records: RecordStream) -> None:
        """Refused: a release is files that anyone can read."""
        del path, records
        raise InvalidTable("Databases can be read but not written. Write csv or parquet.")


def read_here(path: Path, *, marked: str) -> tuple[pa.Table, Labels]:
    """A table of a database, read by this process."""
    import duckdb

    part = PartOf.of(Path(marked))
    try:
        with duckdb.connect(str(path), read_only=True) as database:
            named = "select table_name from information_schema.tables order by table_name"
            names = [name for (name,) in database.execute(named).fetchall()]
            table = chosen(part, names, what="table")
            held = database.table(f'"{table.replace(chr(34), chr(34) * 2)}"').to_arrow_table()
    except duckdb.Error:
        raise InvalidTable(
            f"{path} cannot be read as a DuckDB database: it is broken, in use, or made by "
            "another version."
        ) from None
    return held, Labels()


DUCKDB_FILE: Final = DuckdbFileFormat()
