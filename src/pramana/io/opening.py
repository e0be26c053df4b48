"""Open files, data frames and database tables; return tables as the kind of object that was given.

Unreadable sources are refused in one line. Messages of libraries may show rows of the file, so none
of them is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    whole,
)
from pramana.io.csv import CSV
from pramana.io.databases import is_address, open_postgres
from pramana.io.parquet import open_parts
from pramana.schema.domains import Categories, label_text
from pramana.schema.opened_table import FileStamp, OpenedTable, is_number, steady
from pramana.schema.schema import Schema

ARCHIVES: Final = {b"\x1f\x8b": "gzip-compressed", b"PK\x03\x04": "zip-compressed"}


def open_table(
    source: Any, *, schema: Schema | None = None, encoding: str | None = None
) -> OpenedTable:
    """Open a file or a data frame; what is open already is handed on.

    Args:
        source: A path, a pandas, Polars or PyArrow object, or a table that is open already.
        schema: If given, the table must have exactly its columns, columns with categories that
            are texts stay text, and randomised columns of text come as dictionaries.
        encoding: Of a text file, where it is not to be found out.
    """
    if encoding is not None:
        if format_of(source) != CSV.name:
            raise InvalidTable(f"An encoding can be told of a text file, and {source} is none.")
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
    """Refuse columns whose values are no values of a table."""
    for item in schema:
        kind, types = item.type, pa.types
        for wrong, what in (
            (types.is_nested(kind), "lists or records. Flatten it"),
            (
                types.is_duration(kind) or types.is_interval(kind),
                "spans of time. Make them numbers",
            ),
            (
                isinstance(kind, pa.BaseExtensionType),
                "values of an extension type. Make them texts",
            ),
            (not _zone_is_known(kind), "times of a zone that is not known here. Make it UTC"),
        ):
            if wrong:
                raise InvalidTable(f"Column '{item.name}' holds {what}.", column=item.name)


def _zone_is_known(kind: pa.DataType) -> bool:
    """Whether times of this type can be read at all: their zone may be any text."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not pa.types.is_timestamp(plain) or plain.tz is None:
        return True
    try:
        pc.strftime(pa.scalar(0, plain))
    except pa.ArrowInvalid:
        return False
    return True


def require_columns(schema: Schema, names: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the schema or has others."""
    lacking = [name for name in schema.names if name not in set(names)]
    if lacking:
        raise UnknownColumn(
            f"The table lacks {len(lacking)} of the schema's columns: {listed(lacking)}. "
            "Correct the names or take them out of the schema."
        )
    extra = [name for name in names if name not in set(schema.names)]
    if extra and not schema.drops_rest:
        raise InvalidSchema(
            f"The schema does not describe {len(extra)} of the table's columns: "
            f"{listed(extra)}. Give each a role, leave it out of the table, or state "
            'rest = "drop" at the top of the schema.'
        )


def open_own(path: Path, *, schema: Schema) -> OpenedTable:
    """Open a file that this program wrote, by what it knows of that."""
    own = None if path.is_dir() else FORMATS[format_of(path)].open_own
    return checked(_open_file(path, own), schema=schema)


def _open_file(path: Path, opener: Callable[[Path], OpenedTable] | None = None) -> OpenedTable:
    file = PartOf.of(path).file  # without the name of a sheet, an object or a table in it
    if not file.exists():
        raise InvalidTable(f"{file} does not exist.")
    if file.is_dir():
        return open_parts(file)
    member = FORMATS[format_of(file)]
    if not file.is_file():
        raise InvalidTable(f"{file} must be a file that holds a table, and is a pipe or a device.")
    before = FileStamp.of(file)
    _require_content(file, member)
    try:
        opened = member.open(path) if opener is None else opener(path)
        ours = type(member).__module__.startswith("pramana.")
        return opened if ours else steady(opened)  # a format of another package may read anything
    finally:  # also where it could not be read: that may be why
        before.require_unchanged()


def _require_content(path: Path, expected: Format) -> None:
    """Refuse a file whose first bytes are those of another format."""
    told = {mark: member.title for member in FORMATS.values() for mark in member.marks} | ARCHIVES
    try:
        with path.open("rb") as file:
            beginning = file.read(max(map(len, told)))
    except OSError:
        raise InvalidTable(f"{path} cannot be read. Check the permissions.") from None
    if not beginning:
        raise InvalidTable(f"{path} is empty.")
    if beginning.startswith(expected.marks):
        return
    found = next((title for mark, title in told.items() if beginning.startswith(mark)), None)
    if found is not None and not (path.suffix.lower() in COMPRESSED and "gzip" in found):
        raise InvalidTable(f"{path} holds {found} data, whatever its ending says. Rename it.")
    if found is None and expected.marks:
        raise InvalidTable(f"{path} is not {expected.title} data, whatever its ending says.")


@dataclass(frozen=True)
class Preview:
    """Format and first records of a table, as texts, for its owner."""

    title: str
    records: int
    found: tuple[tuple[str, str], ...]
    parts: tuple[str, ...]
    part: str
    columns: tuple[str, ...]
    numbers: tuple[bool, ...]
    labels: tuple[str | None, ...]
    rows: tuple[tuple[str | None, ...], ...]


def preview_of(opened: OpenedTable, *, rows: int, encoding: str | None = None) -> Preview:
    """What an opened table looks like; nothing is read beyond its first records."""
    path = Path(str(opened.source)) if opened.files or isinstance(opened.source, Path) else None
    member = FORMATS.get(opened.format)
    parts = () if path is None or member is None else member.parts(path)
    asked = PartOf.of(path).name if path is not None else None
    names = opened.schema.names
    return Preview(
        title=opened.format if member is None else member.title,
        records=opened.rows,
        found=tuple(_found(path, opened, encoding)),
        parts=parts,
        part=asked or (parts[0] if parts else ""),
        columns=tuple(names),
        numbers=tuple(is_number(field.type) for field in opened.schema),
        labels=tuple(opened.labels.variables.get(name) for name in names),
        rows=tuple(islice(_texts(opened, rows), rows)),
    )


def parts_of(path: Path) -> tuple[str, ...]:
    """The tables that a file holds by their names, where its format has names for them."""
    return FORMATS[format_of(PartOf.of(path).file)].parts(path)


def _found(
    path: Path | None, opened: OpenedTable, encoding: str | None
) -> Iterator[tuple[str, str]]:
    member = FORMATS.get(opened.format)
    if member is not None and path is not None:
        yield from member.found(path, encoding)
    if opened.labels.variables:
        yield "Labels", counted(len(opened.labels.variables), "column has one", "columns have one")
    if opened.labels.values:
        yield (
            "Value labels",
            counted(len(opened.labels.values), "column has them", "columns have them"),
        )


def _texts(opened: OpenedTable, rows: int) -> Iterator[tuple[str | None, ...]]:
    for batch in opened.batches(size=rows):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield tuple(None if value is None else label_text(value) for value in row)


def open_frame(frame: Any) -> OpenedTable:
    """Open a pandas, Polars or PyArrow object, or anything that streams Arrow data."""
    names = [str(name) for name in getattr(frame, "columns", ())] if _is_pandas(frame) else []
    require_distinct_names(names, where="the data frame")
    table = _to_arrow(frame)
    try:
        whole(table)
    except BROKEN:
        raise InvalidTable("The table is broken: its buffers do not hold what they say.") from None
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
        # The frame without its index; its errors would show cells, so they are replaced
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            bad = next((name for name in frame.columns if not _converts(frame[[name]])), None)
            raise InvalidTable(
                f"Column '{bad}' holds values of different kinds. Give it one.", column=bad
            ) from None
    if _comes_from(frame, "pyarrow") and hasattr(frame, "to_table"):
        return frame.to_table()  # a dataset
    frame = frame.collect() if _is_lazy(frame) else frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InvalidTable(
            "A table must be a path, or a pandas, Polars, PyArrow or DuckDB object, "
            f"got {type(frame).__name__}."
        )
    return pa.table(frame)


def _converts(frame: Any) -> bool:
    try:
        pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return False
    return True


def empty_like(frame: Any) -> Any:
    """An object of the same kind and types without records, which ``to_kind`` needs."""
    if isinstance(frame, str | PathLike):
        return frame  # a place; no records are held
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
    """The table as the same kind of object as ``like``, else PyArrow; text stays plain."""
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
