"""Tables of a DuckDB database file, which is opened for reading alone."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

from pramana.errors import InvalidTable
from pramana.formats.base import RecordStream
from pramana.formats.part_of import PartOf, chosen
from pramana.table.opened import OpenedTable, TableFormat

__all__ = ["DUCKDB_FILE", "DuckdbFileFormat"]


class DuckdbFileFormat:
    """One table of a database in a file."""

    name: ClassVar[TableFormat] = "duckdb"
    title: ClassVar[str] = "DuckDB"
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")
    marks: ClassVar[tuple[bytes, ...]] = ()
    writes: ClassVar[bool] = False

    def open(self, path: Path) -> OpenedTable:
        """Open a table or a view of it, by the name behind the mark."""
        import duckdb

        part = PartOf.of(path)
        try:
            with duckdb.connect(str(part.file), read_only=True) as database:
                named = "select table_name from information_schema.tables order by table_name"
                names = [name for (name,) in database.execute(named).fetchall()]
                table = chosen(part, names, what="table")
                held = database.table(f'"{table.replace(chr(34), chr(34) * 2)}"').to_arrow_table()
        except duckdb.Error:
            raise InvalidTable(
                f"{part.file} cannot be read as a DuckDB database: it is broken, in use, or made "
                "by another version."
            ) from None
        return OpenedTable.of_arrow(held, kind=self.name, source=path)

    def write(self, path: Path, records: RecordStream) -> None:
        """Refused: a release is files that anyone can read."""
        del path, records
        raise InvalidTable("Databases can be read but not written. Write csv or parquet.")


DUCKDB_FILE: Final = DuckdbFileFormat()
