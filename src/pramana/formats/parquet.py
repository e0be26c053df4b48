"""A folder of Parquet files that together are one table, as clusters write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.table.opened import OpenedTable, require_distinct_names

__all__ = ["open_parts", "parts_of"]

BROKEN: Final = (pa.ArrowException, OSError, EOFError, ValueError)


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder in the order of their names; other files are not data."""
    return sorted(place for place in folder.iterdir() if place.suffix in (".parquet", ".pq"))


def open_parts(folder: Path, *, coded: Sequence[str] = ()) -> OpenedTable:
    """Open the files of a folder one after the other; all must have the same columns and types."""
    parts = parts_of(folder)
    if not parts:
        raise InvalidTable(
            f"{folder} must be a file that holds a table, and is a folder without Parquet files."
        )
    schema, rows = _agreed(parts)
    require_distinct_names(schema.names, where=str(folder))
    coded = [name for name in schema.names if name in set(coded)]

    def batches(columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        for part in parts:
            with _opened(part, coded) as file:
                try:
                    for batch in file.iter_batches(batch_size=size, columns=list(columns)):
                        yield batch.select(list(columns))
                except BROKEN:
                    raise _broken(part) from None

    with _opened(parts[0], coded) as first:
        arrow = first.schema_arrow.remove_metadata()
    return OpenedTable(arrow, rows, "parquet", folder, batches)


def _agreed(parts: Sequence[Path]) -> tuple[pa.Schema, int]:
    """The schema that all parts have, and the number of records in them."""
    schema, rows = None, 0
    for part in parts:
        with _opened(part, []) as file:
            own = file.schema_arrow.remove_metadata()
            rows += file.metadata.num_rows
        schema = own if schema is None else schema
        if own != schema:
            raise InvalidTable(_difference(schema, own, part))
    assert schema is not None  # noqa: S101 - there is at least one part
    return schema, rows


def _difference(first: pa.Schema, own: pa.Schema, part: Path) -> str:
    """Where two parts disagree, in one line."""
    told = f"All files of {part.parent} must have the same columns and types"
    for name in first.names:
        if name not in own.names:
            return f"{told}, and {part.name} lacks '{name}'. Write them again with one schema."
        if own.field(name).type != first.field(name).type:
            return (
                f"{told}, and '{name}' is {own.field(name).type} in {part.name} where it was "
                f"{first.field(name).type} before. Write them again with one schema."
            )
    return f"{told}, and {part.name} has others. Write them again with one schema."


def _opened(part: Path, coded: Sequence[str]) -> Any:
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(part, read_dictionary=list(coded))
    except BROKEN:
        raise _broken(part) from None


def _broken(part: Path) -> InvalidTable:
    return InvalidTable(f"{part} cannot be read to its end: it is broken or cut short.")
