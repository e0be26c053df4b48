"""Relations of the embedded database, opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.formats.column_names import require_distinct_names
from pramana.formats.disk_buffer import DiskBuffer
from pramana.table.opened import OpenedTable

__all__ = ["open_relation", "relation_schema"]


def open_relation(relation: Any) -> OpenedTable:
    """The answer of a relation, asked for once: another time it may be another."""
    require_distinct_names(relation.columns, where="the relation")

    with _quiet_database():
        stream = pa.RecordBatchReader.from_stream(relation)
        held = DiskBuffer(stream)
    return OpenedTable(stream.schema.remove_metadata(), held.rows, "frame", relation, held.parts)


def relation_schema(relation: Any) -> pa.Schema:
    """The columns of a relation and their types."""
    with _quiet_database():
        return pa.RecordBatchReader.from_stream(relation.limit(0)).schema


@contextmanager
def _quiet_database() -> Iterator[None]:
    """Replace the database's errors, which may show cells."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        busy = type(error).__name__ == "ResourceInUseException"
        why = "its connection is busy with another result" if busy else "its query fails"
        raise InvalidTable(f"The DuckDB relation cannot be read: {why}.") from None
