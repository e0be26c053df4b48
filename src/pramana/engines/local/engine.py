"""The engine for files and for data frames in memory: all that no other engine serves."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Final

import pyarrow as pa

from pramana.engines.local.table import LocalTable
from pramana.engines.sums import SumsAsked
from pramana.errors import InputError
from pramana.formats.frames import empty_like, to_kind
from pramana.formats.opening import open_table
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.types import TableLike

__all__ = ["LOCAL", "LocalEngine"]


class LocalEngine:
    """Files and data frames on this machine."""

    name: ClassVar[str] = "local"
    on_one_machine: ClassVar[bool] = True
    reads_files: ClassVar[bool] = True

    def read(self, path: str, *, master: str | None = None) -> TableLike:
        """The file itself."""
        if master is not None:
            raise InputError(
                f"--master names a cluster, and engine {self.name} has none: add --engine spark."
            )
        return path

    def serves(self, source: object) -> bool:
        """Whatever no other engine serves."""
        del source
        return True

    def open(self, source: TableLike, *, schema: Schema | None = None) -> OpenedTable:
        """A file of a known format, a data frame, or a table that is open already."""
        return open_table(source, schema=schema)

    def table(self, opened: OpenedTable, *, coded: Collection[str] = ()) -> LocalTable:
        """Its batches, worked on by threads."""
        return LocalTable.of(opened, coded=coded)

    def sums(self, opened: OpenedTable, asked: SumsAsked) -> pa.Table:
        """By the embedded database, which reads Parquet files where they lie; few texts here."""
        from pramana.engines.duckdb.sums import grouped_sums
        from pramana.engines.local.counts import counted

        found = counted(opened, asked)
        return grouped_sums(opened, asked) if found is None else found

    def empty_like(self, source: TableLike) -> TableLike | None:
        """A frame of the same kind without records."""
        empty: TableLike | None = empty_like(source)
        return empty

    def as_kind(self, opened: OpenedTable, like: TableLike | None) -> TableLike:
        """A frame of the same kind with all records."""
        made: TableLike = to_kind(opened.to_arrow(), like)
        return made


LOCAL: Final = LocalEngine()
