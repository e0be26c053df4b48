"""Refuse values that a file format would not return unchanged.

Parquet and Feather keep every value. Text has no types, so that it is foreseen what would be read
otherwise. Of SPSS and Stata files, which are held in memory, every value is read again and compared
with what was to be written.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable
from pramana.io.base import FORMATS
from pramana.schema.lookup import comparable
from pramana.schema.opened_table import TableFormat

__all__ = ["lost_in_text", "require_kept", "require_same"]


def require_kept(table: pa.Table, file_format: TableFormat) -> None:
    """Refuse what a file of text, or of a statistical package, would not hold as it is."""
    lost = FORMATS[file_format].lost
    for name in table.column_names:
        reason = lost(table.column(name))
        if reason is not None:
            raise _refused(name, reason, file_format)


def require_same(written: pa.Table, found: pa.Table, file_format: TableFormat) -> None:
    """Refuse a file from which other values are read than were to be written."""
    for name in written.column_names:
        if not _same(comparable(written.column(name)), comparable(found.column(name))):
            raise _refused(name, "values", file_format)


def _refused(name: str, reason: str, file_format: TableFormat) -> InvalidTable:
    return InvalidTable(
        f"Column '{name}' holds {reason} that {file_format} cannot keep as they are: change the "
        "column, or write parquet or feather.",
        column=name,
    )


def lost_in_text(
    column: pa.ChunkedArray, *, truth: bool = True, limit: float = float("inf")
) -> str | None:
    """What values would be lost in a file of text, or of a package that has texts and numbers.

    ``truth`` says whether truth values are kept; numbers from ``limit`` on are not.
    """
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        listed = pa.chunked_array([part.dictionary for part in column.chunks], kind.value_type)
        if lost_in_text(listed, truth=truth, limit=limit) is None:  # of all that could be there
            return None
        return lost_in_text(column.cast(kind.value_type), truth=truth, limit=limit)
    if types.is_decimal(kind):
        return "decimal numbers"
    if types.is_boolean(kind) and not truth:
        return "truth values"
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return None if _is_text(column) else "bytes"
    if types.is_string(kind):
        gone = pc.any(pc.match_substring(column, "\x00")).as_py()
        return "texts with a zero byte" if gone else None
    if types.is_floating(kind):
        most = pc.max(pc.abs(column.cast(pa.float64()))).as_py() or 0.0
        return "infinite or very large numbers" if most >= limit else None
    return None


def _is_text(column: pa.ChunkedArray) -> bool:
    try:
        return "\x00" not in "".join(column.unique().cast(pa.string()).drop_null().to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False


def _same(written: pa.ChunkedArray, found: pa.ChunkedArray) -> bool:
    if written.null_count != found.null_count or len(written) != len(found):
        return False
    if written.null_count == len(written):
        return True
    try:
        return bool(found.cast(written.type).equals(written))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        try:
            return bool(found.cast(pa.string()).equals(written.cast(pa.string())))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
