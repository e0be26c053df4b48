"""Relations of the embedded database, opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.table.opened import OpenedTable, require_distinct_names

__all__ = ["open_relation", "relation_schema"]


def open_relation(relation: Any) -> OpenedTable:
    """A DuckDB relation, which stays in the database and runs again for every pass."""
    require_distinct_names(relation.columns, where="the relation")

    def batches(columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        del size  # the database cuts its own batches
        quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
        with _quiet_database():
            yield from pa.RecordBatchReader.from_stream(relation.project(", ".join(quoted)))

    with _quiet_database():
        rows = int(relation.aggregate("count(*)").fetchall()[0][0])
    return OpenedTable(relation_schema(relation), rows, "frame", relation, batches)


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
