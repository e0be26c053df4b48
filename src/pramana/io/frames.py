"""Data frames in and the same kind out."""

from __future__ import annotations

from os import PathLike
from typing import Any

import pyarrow as pa

from pramana.errors import InvalidTable
from pramana.io.base import BROKEN, require_distinct_names, whole
from pramana.schema.opened_table import OpenedTable


def open_frame(frame: Any) -> OpenedTable:
    """Open a pandas, Polars or PyArrow object, or anything that streams Arrow data."""
    names = [str(name) for name in getattr(frame, "columns", ())] if _is_pandas(frame) else []
    require_distinct_names(names, where="the data frame")
    table = _whole(_to_arrow(frame))
    require_distinct_names(table.column_names, where="the table")
    return OpenedTable.of_arrow(table, source=frame)


def _whole(table: pa.Table) -> pa.Table:
    """The table, if its buffers hold what they say."""
    try:
        return whole(table)
    except BROKEN:
        raise InvalidTable("The table is broken: its buffers do not hold what they say.") from None


def _comes_from(frame: Any, package: str) -> bool:
    return type(frame).__module__.split(".")[0] in (package, f"_{package}")


def _is_pandas(frame: Any) -> bool:
    return _comes_from(frame, "pandas") and hasattr(frame, "columns")


def _is_lazy(frame: Any) -> bool:
    return hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__")


def _to_arrow(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all()  # it can be read once only
    if _is_pandas(frame):
        return _from_pandas(frame)
    if _comes_from(frame, "pyarrow") and hasattr(frame, "to_table"):
        return frame.to_table()  # a dataset
    frame = frame.collect() if _is_lazy(frame) else frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InvalidTable(
            "A table must be a path, or a pandas, Polars, PyArrow or DuckDB object, "
            f"got {type(frame).__name__}."
        )
    return pa.table(frame)


def _from_pandas(frame: Any) -> pa.Table:
    """The frame without its index; its errors would show cells, so they are replaced."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        bad = next((name for name in frame.columns if not _converts(frame[[name]])), None)
        raise InvalidTable(
            f"Column '{bad}' holds values of different kinds. Give it one.", column=bad
        ) from None


def _converts(frame: Any) -> bool:
    try:
        pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return False
    return True


def empty_like(frame: Any) -> Any:
    """An object of the same kind and types without a single record: what ``to_kind`` needs.

    A release remembers the kind of table that went in, and must not hold on to its records.
    """
    if isinstance(frame, str | PathLike):
        return frame  # a place; no records are held
    if _is_pandas(frame):
        return _without_truth(frame.iloc[:0].copy())
    if isinstance(frame, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(frame.schema.remove_metadata(), [])
    if isinstance(frame, pa.Table):
        return frame.schema.remove_metadata().empty_table()
    return frame.clear() if hasattr(frame, "clear") and hasattr(frame, "lazy") else None


def _without_truth(frame: Any) -> Any:
    """The empty frame without the attributes and categories of the one it was."""
    frame.attrs = {}
    for name in frame.columns:
        if frame[name].dtype == "category":
            frame[name] = frame[name].cat.set_categories([])
    return frame


def to_kind(table: pa.Table, like: Any) -> Any:
    """The table as the same kind of object as ``like``; PyArrow where there is no such kind.

    Text that was plain text in ``like`` comes back as plain text and not as categories.
    """
    if isinstance(like, pa.RecordBatchReader):
        return undressed(table, like.schema).to_reader()
    if _comes_from(like, "pyarrow") or not hasattr(like, "head"):
        return undressed(table, like.schema) if isinstance(like, pa.Table) else table
    import narwhals as nw

    head = like.head(0).collect() if _is_lazy(like) else like.head(0)
    made = nw.from_arrow(
        undressed(table, _to_arrow(head).schema), backend=nw.from_native(head).implementation
    ).to_native()
    return made.lazy() if _is_lazy(like) else made


def undressed(table: pa.Table, original: pa.Schema) -> pa.Table:
    """Dictionary columns as plain ones where the original was plain."""
    for at, name in enumerate(table.column_names):
        kind = table.schema.field(at).type
        was = original.field(name).type if name in original.names else None
        if was is not None and pa.types.is_dictionary(kind) and not pa.types.is_dictionary(was):
            table = table.set_column(at, name, table.column(at).cast(kind.value_type))
    return table
