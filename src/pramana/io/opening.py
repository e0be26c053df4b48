"""Open files, data frames and database tables; return tables as the kind of object that was given.

Unreadable sources are refused in one line. Messages of libraries may show rows and are not passed
on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import counted, listed
from pramana.errors import InvalidSchema, InvalidTable, UnknownColumn
from pramana.io.base import (
    BROKEN,
    COMPRESSED,
    FORMATS,
    Format,
    PartOf,
    format_of,
    require_distinct_names,
    validated,
)
from pramana.io.csv import CSV
from pramana.io.databases import is_address, open_postgres
from pramana.io.parquet import open_parts
from pramana.schema.domains import Categories, label_text
from pramana.schema.opened_table import FileStamp, OpenedTable, is_number, steady, value_type
from pramana.schema.schema import Schema

ARCHIVES: Final = {b"\x1f\x8b": "gzip-compressed", b"PK\x03\x04": "zip-compressed"}


def open_table(
    source: Any, *, schema: Schema | None = None, encoding: str | None = None
) -> OpenedTable:
    """Open a file or a data frame; an open table is returned as it was given.

    Args:
        source: A path, a pandas, Polars or PyArrow object, or a table that is open already.
        schema: If given, the table must have exactly its columns, columns with categories that
            are texts stay text, and randomised columns of text come as dictionaries.
        encoding: Of a text file, where it is not detected.
    """
    if encoding is not None:
        if format_of(source) != CSV.name:
            raise InvalidTable("--encoding is for text files, and {source} is none.", source=source)
        opened = _open_file(Path(source), partial(CSV.open, encoding=encoding))
    elif isinstance(source, OpenedTable):
        opened = source
    elif isinstance(source, str | PathLike):
        opened = open_postgres(str(source)) if is_address(str(source)) else _open_file(Path(source))
    else:
        opened = open_frame(source)
    return checked(opened, schema=schema)


def checked(opened: OpenedTable, *, schema: Schema | None = None) -> OpenedTable:
    """The table, if it has records, types that can be released, and the columns of a schema."""
    if not opened.rows:
        raise InvalidTable("The table has no records.")
    require_types(opened.schema)
    if schema is None:
        return opened
    require_columns(schema, opened.schema.names)
    text = {
        column.name
        for column in schema.columns
        if isinstance(column.domain, Categories)
        and any(isinstance(value, str) for value in column.domain.values)
    }
    return opened.fitted(text=text, coded=schema.apart)


def require_types(schema: pa.Schema) -> None:
    """Refuse columns whose values are not values of a table."""
    for item in schema:
        kind, types = item.type, pa.types
        wrong = ""
        if types.is_nested(kind):
            wrong = "lists or records. Flatten it"
        elif types.is_duration(kind) or types.is_interval(kind):
            wrong = "spans of time. Make them numbers"
        elif isinstance(kind, pa.BaseExtensionType):
            wrong = "values of an extension type. Make them texts"
        elif not _zone_is_known(kind):
            wrong = "times of an unknown time zone. Make it UTC"
        if wrong:
            raise InvalidTable("Column '{column}' holds {wrong}.", column=item.name, wrong=wrong)


def _zone_is_known(kind: pa.DataType) -> bool:
    kind = value_type(kind)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            pc.strftime(pa.scalar(0, kind))
        except pa.ArrowInvalid:
            return False
    return True


def require_columns(schema: Schema, names: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the schema or has others."""
    lacking = [name for name in schema.names if name not in set(names)]
    if lacking:
        raise UnknownColumn(
            "The table lacks {count} of the schema's columns: {lacking}. Correct the names or "
            "take them out of the schema.",
            count=len(lacking),
            lacking=listed(lacking),
        )
    extra = [name for name in names if name not in set(schema.names)]
    if extra and not schema.drops_rest:
        raise InvalidSchema(
            "The schema does not describe {count} of the table's columns: "
            "{extra}. Give each a role, leave it out of the table, or state "
            'rest = "drop" at the top of the schema.',
            count=len(extra),
            extra=listed(extra),
        )


def open_written(path: Path, *, schema: Schema) -> OpenedTable:
    """Open a file that this program wrote."""
    opener = None if path.is_dir() else FORMATS[format_of(path)].open_written
    return checked(_open_file(path, opener), schema=schema)


def _open_file(path: Path, opener: Callable[[Path], OpenedTable] | None = None) -> OpenedTable:
    file = PartOf.of(path).file  # without the name of a sheet, an object or a table in it
    if not file.exists():
        raise InvalidTable("{file} does not exist.", file=file)
    if file.is_dir():
        return open_parts(file)
    member = FORMATS[format_of(file)]
    if not file.is_file():
        raise InvalidTable(
            "{file} must be a file that holds a table, not a pipe or a device.", file=file
        )
    before = FileStamp.of(file)
    _require_first_bytes(file, member)
    try:
        opened = (opener or member.open)(path)
        # A format of another package may read anything anew at each pass.
        return opened if type(member).__module__.startswith("pramana.") else steady(opened)
    finally:  # also after a failure: a change of the file may be its cause
        before.require_unchanged()


def _require_first_bytes(path: Path, expected: Format) -> None:
    """Refuse a file whose first bytes are those of another format."""
    titles = {mark: form.title for form in FORMATS.values() for mark in form.marks} | ARCHIVES
    try:
        with path.open("rb") as file:
            beginning = file.read(max(map(len, titles)))
    except OSError:
        raise InvalidTable("{path} cannot be read. Check the permissions.", path=path) from None
    if not beginning:
        raise InvalidTable("{path} is empty.", path=path)
    if beginning.startswith(expected.marks):
        return
    title = next((title for mark, title in titles.items() if beginning.startswith(mark)), None)
    if title is not None and not (path.suffix.lower() in COMPRESSED and "gzip" in title):
        raise InvalidTable(
            "{path} holds {title} data, despite its extension. Rename it.", path=path, title=title
        )
    if title is None and expected.marks:
        raise InvalidTable(
            "{path} is not {title} data, despite its extension.", path=path, title=expected.title
        )


@dataclass(frozen=True)
class Preview:
    """Format and first records of a table, as texts, for its owner."""

    title: str
    records: int
    details: tuple[tuple[str, str], ...]
    parts: tuple[str, ...]
    part: str
    columns: tuple[str, ...]
    numbers: tuple[bool, ...]
    labels: tuple[str | None, ...]
    rows: tuple[tuple[str | None, ...], ...]


def preview_of(opened: OpenedTable, *, rows: int, encoding: str | None = None) -> Preview:
    """Format, columns and first records of an opened table; no other records are read."""
    path = Path(str(opened.source)) if opened.files or isinstance(opened.source, Path) else None
    member = FORMATS.get(opened.format)
    parts: tuple[str, ...] = ()
    details: list[tuple[str, str]] = []
    if member is not None and path is not None:
        parts, details = member.parts(path), list(member.details(path, encoding))
    asked = PartOf.of(path).name if path is not None else None
    names, labels = opened.schema.names, opened.labels
    if labels.variables:
        with_label = counted(len(labels.variables), "column has one", "columns have one")
        details.append(("Labels", with_label))
    if labels.values:
        with_labels = counted(len(labels.values), "column has them", "columns have them")
        details.append(("Value labels", with_labels))
    texts = (
        tuple(None if value is None else label_text(value) for value in row)
        for batch in opened.batches(size=rows)
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    return Preview(
        title=opened.format if member is None else member.title,
        records=opened.rows,
        details=tuple(details),
        parts=parts,
        part=asked or (parts[0] if parts else ""),
        columns=tuple(names),
        numbers=tuple(is_number(field.type) for field in opened.schema),
        labels=tuple(labels.variables.get(name) for name in names),
        rows=tuple(islice(texts, rows)),
    )


def parts_of(path: Path) -> tuple[str, ...]:
    """The names of the tables that a file holds, if its format has names for them."""
    return FORMATS[format_of(PartOf.of(path).file)].parts(path)


# -- data frames --------------------------------------------------------------------------------


def open_frame(frame: Any) -> OpenedTable:
    """Open a pandas, Polars or PyArrow object, or anything that streams Arrow data."""
    names = [str(name) for name in getattr(frame, "columns", ())] if _is_pandas(frame) else []
    require_distinct_names(names, where="the data frame")
    table = _to_arrow(frame)
    try:
        validated(table)
    except BROKEN:
        raise InvalidTable("The table is broken: its buffers have wrong sizes.") from None
    require_distinct_names(table.column_names, where="the table")
    return OpenedTable.of_arrow(table, source=frame)


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
            "A table must be a path, or a pandas, Polars, PyArrow or DuckDB object, got {kind}.",
            kind=type(frame).__name__,
        )
    return pa.table(frame)


def _from_pandas(frame: Any) -> pa.Table:
    """The frame without its index; the library's error, which shows a cell, is replaced."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        pass
    for name in frame.columns if len(frame.columns) > 1 else ():
        _from_pandas(frame[[name]])
    bad = frame.columns[0]
    raise InvalidTable(
        "Column '{column}' holds values of different kinds. Give it one.", column=bad
    )


def empty_like(frame: Any) -> Any:
    """An object of the same kind and types without records, for :func:`to_kind`."""
    if isinstance(frame, str | PathLike):
        return frame
    if _is_pandas(frame):
        frame = frame.iloc[:0].copy()
        frame.attrs = {}  # attributes and categories are part of the original data
        for name in frame.columns:
            if frame[name].dtype == "category":
                frame[name] = frame[name].cat.set_categories([])
        return frame
    if isinstance(frame, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(frame.schema.remove_metadata(), [])
    if isinstance(frame, pa.Table):
        return frame.schema.remove_metadata().empty_table()
    return frame.clear() if hasattr(frame, "clear") and hasattr(frame, "lazy") else None


def to_kind(table: pa.Table, like: Any) -> Any:
    """The table as the same kind of object as ``like``, else PyArrow; text stays text."""
    if isinstance(like, pa.RecordBatchReader):
        return without_dictionaries(table, like.schema).to_reader()
    if _comes_from(like, "pyarrow") or not hasattr(like, "head"):
        return without_dictionaries(table, like.schema) if isinstance(like, pa.Table) else table
    import narwhals as nw

    head = like.head(0).collect() if _is_lazy(like) else like.head(0)
    made = nw.from_arrow(
        without_dictionaries(table, _to_arrow(head).schema),
        backend=nw.from_native(head).implementation,
    ).to_native()
    return made.lazy() if _is_lazy(like) else made


def without_dictionaries(table: pa.Table, original: pa.Schema) -> pa.Table:
    """Dictionary columns decoded where the original had none."""
    for at, name in enumerate(table.column_names):
        kind = table.schema.field(at).type
        was = original.field(name).type if name in original.names else None
        if was is not None and pa.types.is_dictionary(kind) and not pa.types.is_dictionary(was):
            table = table.set_column(at, name, table.column(at).cast(kind.value_type))
    return table
