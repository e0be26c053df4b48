"""The engine for relations of the embedded database."""

from __future__ import annotations

from typing import ClassVar, Final

import pyarrow as pa

from pramana.engines.duckdb.opening import open_relation, relation_schema
from pramana.engines.local.engine import LocalEngine
from pramana.formats.frames import undressed
from pramana.formats.opening import checked
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.types import TableLike

__all__ = ["DUCKDB", "DuckdbEngine"]


class DuckdbEngine(LocalEngine):
    """Relations of a DuckDB connection; their batches are worked on by the local engine."""

    name: ClassVar[str] = "duckdb"
    reads_files: ClassVar[bool] = False

    def serves(self, source: object) -> bool:
        """Whether it is a relation."""
        package = type(source).__module__.split(".")[0]
        return package in ("duckdb", "_duckdb") and hasattr(source, "__arrow_c_stream__")

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """The answer of the database."""
        opened = source if isinstance(source, OpenedTable) else open_relation(source)
        return checked(opened, schema=schema)

    def empty_like(self, source: TableLike) -> TableLike:
        """A relation without records."""
        import duckdb

        return duckdb.from_arrow(relation_schema(source).empty_table())

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """A relation over the records."""
        import duckdb

        table: pa.Table = undressed(opened.to_arrow(), relation_schema(like))
        return duckdb.from_arrow(table)


DUCKDB: Final = DuckdbEngine()
